"""Traits, each of which is a criterion of the core, and rubrics, which are lists of them."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from rubricate._documents import validate
from rubricate._spelling import did_you_mean
from rubricate.dialects.karenina._settings import SettingsDocument
from rubricate.dialects.karenina._template import CORRECTNESS
from rubricate.errors import InputError
from rubricate.rubric import (
    CodeCriterion,
    Criterion,
    CriterionOption,
    Failure,
    MetricCriterion,
    Reading,
    RegexCriterion,
    ScaleCriterion,
    Verdict,
)

TraitKind = Literal["score", "binary", "literal", "regex", "callable", "metric", "stored"]
"""How a trait's outcome reads: a score, yes or no, a class, a pattern's yes or no, what code says,
metrics, or none."""
MOST_CLASSES = 20
"""The most classes of a literal trait."""


class Trait(SettingsDocument):
    """What the kinds of traits have in common."""

    kept: ClassVar[frozenset[str]] = frozenset({"summary"})

    name: str
    """Its name, unique among the traits that apply to a question."""
    description: str | None = None
    """What it looks for; the judge sees this. Default: its name."""
    weight: float = 1.0
    """Its weight in the score."""
    higher_is_better: bool | None = True
    """Whether a high score, or a yes, is good. Where a yes is bad the trait is a penalty
    criterion: it enters the score with a negative weight. With None it has no direction, and is
    not in the score."""
    node: Mapping[str, Any] | None = None
    """The trait as the file has it that it came from, where it says more than the settings here or
    says it in another form; written back as long as the settings are those."""

    @field_validator("name")
    @classmethod
    def _name_is_text(cls, name: str) -> str:
        if not name.strip():
            raise InputError("must not be empty")
        if name == CORRECTNESS:
            raise InputError(f"'{name}' is what results call correctness; choose another name")
        return name

    @model_validator(mode="after")
    def _is_a_criterion(self) -> Trait:
        self.criterion()
        return self

    @property
    def outcome(self) -> TraitKind:
        """How its outcome reads."""
        raise NotImplementedError

    def criterion(self) -> Criterion:
        """The criterion that this trait is."""
        raise NotImplementedError

    def criterion_for(self, right_answer: str) -> Criterion:
        """The criterion that this trait is for a question with this right answer."""
        return self.criterion()

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes that it chooses from, in their order; empty where it chooses from none."""
        return ()

    @property
    def shows_right_answer(self) -> bool:
        """Whether its judge is shown the question's right answer."""
        return False

    @property
    def _direction(self) -> bool | None:
        """Whether more is better; None where the trait is not in the score."""
        return self.higher_is_better

    def _common(self, *, turned: bool = False) -> dict[str, Any]:
        """The fields that all kinds of criteria have.

        Args:
            turned: whether the criterion's value turns with the direction, so that its weight
                need not.
        """
        weight = self.weight
        if self._direction is None:
            weight = 0.0
        elif not self._direction and not turned:
            weight = -abs(weight)
        return {
            "name": self.name,
            "requirement": (self.description or "").strip() or self.name,
            "weight": weight,
        }


class YesNoCriterion(Criterion):
    """A binary criterion whose judge may also answer with a Boolean, as the traits' page has it."""

    def read(self, answer: object) -> Reading:
        if isinstance(answer, bool):
            answer = "MET" if answer else "UNMET"
        elif isinstance(answer, str) and answer.strip().casefold() in ("true", "false"):
            answer = "MET" if answer.strip().casefold() == "true" else "UNMET"
        return super().read(answer)


class RubricTrait(Trait):
    """A quality that a model judges: by a score, by yes or no, or by one of several classes.

    RubricTrait(name="Clarity", description="From 1 (confusing) to 5 (clear)", kind="score")
    """

    # A judge may give any number of quotes; when one stands in a text is rubricate's own rule.
    kept: ClassVar[frozenset[str]] = Trait.kept | {
        "deep_judgment_max_excerpts",
        "deep_judgment_fuzzy_match_threshold",
    }

    kind: Literal["score", "binary", "boolean", "literal"]
    """`score` (a whole number between two bounds), `binary`, also called `boolean`, or `literal`
    (one of `classes`)."""
    min_score: int | None = None
    """The lowest score. Default: 1."""
    max_score: int | None = None
    """The highest score. Default: 5."""
    classes: Mapping[str, str] | None = Field(default=None, strict=False)
    """For `literal`, what each class means, by its name: 2 to 20 of them, the worst first. Where
    `higher_is_better` is False the best is first."""
    include_ground_truth: bool = False
    """Whether the judge of this trait is shown the question's right answer."""
    deep_judgment_enabled: bool = False
    """Whether the verdict must rest on quotes that stand in the answer, where
    `VerificationConfig.deep_judgment_rubric_mode` is `use_checkpoint`."""
    deep_judgment_excerpt_enabled: bool = True
    """Whether deep judgment asks for quotes; otherwise for the reason alone, as always."""
    deep_judgment_excerpt_retry_attempts: int | None = None
    """How often quotes that are not found are asked for again. Default: the configuration's."""
    deep_judgment_search_enabled: bool = False
    """Kept for Karenina; deep judgment of a trait that asks for a search is refused."""

    @field_validator("kind", mode="before")
    @classmethod
    def _kind_is_known(cls, kind: object) -> object:
        if kind == "boolean":
            return "binary"
        if isinstance(kind, str) and kind not in KINDS_OF_MODELS:
            hint = did_you_mean(kind, (*KINDS_OF_MODELS, "boolean"))
            known = ", ".join(KINDS_OF_MODELS)
            raise InputError(f"unknown kind '{kind}' (known: {known}){hint}")
        return kind

    @model_validator(mode="before")
    @classmethod
    def _bounds_of_classes_are_theirs(cls, data: Any) -> Any:
        return without_bounds_of_classes(data) if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _settings_are_of_the_kind(self) -> RubricTrait:
        if self.kind != "score" and (self.min_score, self.max_score) != (None, None):
            raise InputError("min_score and max_score go with kind='score'")
        if (self.deep_judgment_excerpt_retry_attempts or 0) < 0:
            raise InputError("deep_judgment_excerpt_retry_attempts must be 0 or more")
        return self

    @property
    def outcome(self) -> TraitKind:
        return "binary" if self.kind == "boolean" else self.kind

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self.classes or ())

    @property
    def shows_right_answer(self) -> bool:
        return self.include_ground_truth

    def get_class_names(self) -> list[str]:
        """The classes, in their order."""
        return list(self.class_names)

    def get_class_index(self, name: str) -> int:
        """Which class it is, from 0; -1 for none."""
        return self.class_names.index(name) if name in self.class_names else -1

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest score; 0 and 1 for yes or no, a class's index otherwise."""
        if self.kind == "binary":
            return 0, 1
        if self.kind == "literal":
            return 0, len(self.class_names) - 1
        low = 1 if self.min_score is None else self.min_score
        return low, 5 if self.max_score is None else self.max_score

    def criterion(self) -> Criterion:
        check_classes(self.kind, self.classes)
        if self.kind == "binary":
            return validate(YesNoCriterion, self._common())
        fields = self._common(turned=True)
        if self.classes is not None:
            fields["options"] = class_options(self.classes, self.higher_is_better)
            fields["scale_type"] = "nominal" if self.higher_is_better is None else "ordinal"
            return validate(Criterion, fields)
        low, high = self.bounds
        if low >= high:
            raise InputError(f"min_score must be less than max_score, found {low} and {high}")
        better = self.higher_is_better is not False
        return validate(
            ScaleCriterion, {**fields, "low": low, "high": high, "higher_is_better": better}
        )

    def criterion_for(self, right_answer: str) -> Criterion:
        if not self.include_ground_truth:
            return self.criterion()
        if not right_answer.strip():
            raise InputError(
                f"the trait '{self.name}' is judged by the right answer (include_ground_truth), "
                "and there is none"
            )
        shown = f"The right answer to the question is: {right_answer}"
        return self.criterion().model_copy(update={"note": shown})


KINDS_OF_MODELS = ("score", "binary", "literal")


def without_bounds_of_classes(data: dict[str, Any]) -> dict[str, Any]:
    """The settings of a literal trait without the bounds that Karenina derives from its classes."""
    classes = data.get("classes")
    if data.get("kind") != "literal" or not isinstance(classes, Mapping):
        return data
    for name, own in (("min_score", 0), ("max_score", len(classes) - 1)):
        if data.get(name) not in (None, own):
            raise InputError(f"{name}: the classes' is {own}, found {data[name]}; leave it out")
    return {name: value for name, value in data.items() if name not in ("min_score", "max_score")}


def check_classes(kind: str, classes: Mapping[str, str] | None) -> None:
    """Raise `InputError` unless a literal trait, and no other, has 2 to 20 classes."""
    if kind != "literal":
        if classes is not None:
            raise InputError("classes go with kind='literal'")
    elif not classes or not 2 <= len(classes) <= MOST_CLASSES:
        found = len(classes or ())
        raise InputError(f"classes: kind='literal' needs 2 to {MOST_CLASSES}, found {found}")


def class_options(
    classes: Mapping[str, str], higher_is_better: bool | None
) -> list[CriterionOption]:
    """The classes as options, evenly spaced from 0 to 1, the last one best where that is so."""
    last = len(classes) - 1
    shares = [index / last for index in range(last + 1)]
    if higher_is_better is False:
        shares.reverse()
    return [
        CriterionOption(label=name, value=share, description=text.strip() or None)
        for (name, text), share in zip(classes.items(), shares, strict=True)
    ]


class ManualRubricTrait(Trait):
    """Whether a pattern is found in the answer; no model is asked.

    ManualRubricTrait(name="Mentions BH3", pattern=r"\\bBH3\\b")
    """

    pattern: str
    """A Python regular expression, searched for anywhere in the answer."""
    case_sensitive: bool = False
    """Whether upper and lower case differ."""
    invert: bool = False
    """Whether the trait passes where the pattern is not found; also `invert_result`."""

    @model_validator(mode="before")
    @classmethod
    def _invert_by_either_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "invert_result" in data:
            data = dict(data)
            inverted = data.pop("invert_result")
            if data.setdefault("invert", inverted) != inverted:
                raise InputError("invert and invert_result are the same setting, and differ")
        return data

    @property
    def invert_result(self) -> bool:
        """The same as `invert`."""
        return self.invert

    @property
    def outcome(self) -> TraitKind:
        return "regex"

    def criterion(self) -> Criterion:
        fields = {
            "pattern": self.pattern,
            "case_sensitive": self.case_sensitive,
            "invert": self.invert,
        }
        return validate(RegexCriterion, {**self._common(), **fields})

    def __eq__(self, other: object) -> bool:  # under whichever name it was made
        if not isinstance(other, ManualRubricTrait):
            return NotImplemented
        return self.model_dump() == other.model_dump()

    def __hash__(self) -> int:
        return hash((self.name, self.pattern))

    def evaluate(self, text: str) -> bool:
        """Whether a text passes."""
        flags = re.NOFLAG if self.case_sensitive else re.IGNORECASE
        return (re.search(self.pattern, text, flags) is None) is self.invert


class RegexRubricTrait(ManualRubricTrait):
    """The same under its current name: upper and lower case differ, unless it is said."""

    case_sensitive: bool = True
    """Whether upper and lower case differ."""


class MetricRubricTrait(Trait):
    """How well the answer names, or classifies, a list of items.

    A model says of each item how the answer classifies it; code counts. The metric listed first
    enters the score.

        MetricRubricTrait(name="Diseases", metrics=["precision", "recall"],
                          tp_instructions=["asthma", "bronchitis"])
    """

    metrics: tuple[str, ...] = Field(default=("precision", "recall", "f1"), strict=False)
    """What is computed: `precision`, `recall`, `f1`, `accuracy`, `specificity`."""
    tp_instructions: tuple[str, ...] = Field(strict=False)
    """Items that the answer should name, or classify as positive."""
    tn_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Items that the answer should classify as negative."""
    fp_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Mistakes to be expected: items often wrongly named."""
    fn_instructions: tuple[str, ...] = Field(default=(), strict=False)
    """Mistakes to be expected: items often missed."""
    repeated_extraction: bool = True
    """Whether repeated mentions of an item count once."""
    evaluation_mode: Literal["tp_only", "full_matrix"] = "tp_only"
    """`full_matrix` where there are `tn_instructions`, else `tp_only`; need not be given."""
    higher_is_better: bool | None = None
    """Whether a high value is good; None, for metrics, says that it is."""

    @model_validator(mode="before")
    @classmethod
    def _mode_by_the_lists(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        mode = "full_matrix" if data.get("tn_instructions") else "tp_only"
        given = data.get("evaluation_mode") or mode
        if given != mode:
            how = "with" if mode == "full_matrix" else "without"
            raise InputError(f"evaluation_mode is '{mode}' {how} tn_instructions, found '{given}'")
        return {**data, "evaluation_mode": mode}

    @property
    def outcome(self) -> TraitKind:
        return "metric"

    @property
    def _direction(self) -> bool:
        return self.higher_is_better is not False

    def criterion(self) -> Criterion:
        fields = (
            "metrics",
            "tp_instructions",
            "tn_instructions",
            "fp_instructions",
            "fn_instructions",
            "repeated_extraction",
        )
        own = {name: getattr(self, name) for name in fields}
        return validate(MetricCriterion, {**self._common(), **own})


class StoredTrait(Trait):
    """A trait of a file that cannot be judged here: kept as it stands, and written back.

    Its verdicts are `failed` with the cause: a kind or a setting that `rubricate` does not have, or
    Python code, which is never run from a file.
    """

    node: Mapping[str, Any]
    """The trait as the file has it; written back as it is."""
    problem: str
    """Why it cannot be judged."""

    @property
    def outcome(self) -> TraitKind:
        return "stored"

    @property
    def code(self) -> str | None:
        """The Python code that the file has for it, to be read by people; it is never run."""
        for entry in self.node.get("additionalProperty") or ():
            if entry.get("name") == "callable_code" and isinstance(entry.get("value"), str):
                try:
                    return base64.b64decode(entry["value"], validate=True).decode()
                except (binascii.Error, UnicodeDecodeError):
                    return None
        return None

    def criterion(self) -> Criterion:
        failed = Verdict(self.name, "failed", error=Failure("cannot_be_judged", self.problem))
        return CodeCriterion(**self._common(), function=lambda submission, item: failed)


@dataclass(frozen=True, init=False)
class Rubric:
    """A list of traits, with a name if you like.

    Args:
        name: what errors and files call it.
        traits: its traits, of all kinds.
        llm_traits, regex_traits, callable_traits, metric_traits: more of them, by their kinds; the
            order is that of these arguments.

    Raises:
        InputError: there are none, one is not a trait, or two have the same name.
    """

    name: str
    traits: Sequence[Trait]

    def __init__(
        self,
        name: str = "rubric",
        traits: Sequence[Trait] = (),
        *,
        llm_traits: Sequence[Trait] = (),
        regex_traits: Sequence[Trait] = (),
        callable_traits: Sequence[Trait] = (),
        metric_traits: Sequence[Trait] = (),
    ) -> None:
        if not isinstance(name, str):
            raise InputError(f"a rubric's name is text, found {type(name).__name__}")
        listed = (*traits, *llm_traits, *regex_traits, *callable_traits, *metric_traits)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "traits", listed)
        self._check()

    def _check(self) -> None:
        if not self.traits:
            raise InputError(f"the rubric '{self.name}' needs at least one trait, found none")
        first: dict[str, int] = {}
        for index, trait in enumerate(self.traits, start=1):
            if not isinstance(trait, Trait):
                raise InputError(
                    f"the rubric '{self.name}': trait {index} is a {type(trait).__name__}, not a "
                    "trait such as RubricTrait"
                )
            if trait.name in first:
                raise InputError(
                    f"the rubric '{self.name}' has two traits with the name '{trait.name}': "
                    f"{first[trait.name]} and {index}"
                )
            first[trait.name] = index

    def of_kind(self, kind: type[Trait]) -> list[Trait]:
        """The traits of a class."""
        return [trait for trait in self.traits if isinstance(trait, kind)]

    @property
    def llm_traits(self) -> list[Trait]:
        """The traits that a model judges by score, yes or no, or classes."""
        return self.of_kind(RubricTrait)

    @property
    def regex_traits(self) -> list[Trait]:
        """The patterns."""
        return self.of_kind(ManualRubricTrait)

    @property
    def callable_traits(self) -> list[Trait]:
        """The functions."""
        from rubricate.dialects.karenina._callable import CallableRubricTrait

        return self.of_kind(CallableRubricTrait)

    @property
    def metric_traits(self) -> list[Trait]:
        """The metrics."""
        return self.of_kind(MetricRubricTrait)

    def __len__(self) -> int:
        return len(self.traits)

    def __iter__(self) -> Iterator[Trait]:
        return iter(self.traits)


def union(first: Rubric | None, second: Rubric | None, where: str = "") -> list[Trait]:
    """The traits of both rubrics, those of the first before those of the second.

    Raises:
        InputError: a name is in both; `where` says what the second one belongs to.
    """
    one, other = list(first or ()), list(second or ())
    names = {trait.name for trait in one}
    for trait in other:
        if first and second and trait.name in names:
            raise InputError(
                f"the trait '{trait.name}' is in both the rubric '{first.name}' and the rubric "
                f"'{second.name}'{where}: rename one of them"
            )
    return one + other
