"""Traits, each of which is a criterion of the core, and rubrics, which are lists of them."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from rubricate._documents import did_you_mean, validate
from rubricate.dialects.karenina._settings import SettingsDocument
from rubricate.dialects.karenina._template import CORRECTNESS
from rubricate.errors import InputError
from rubricate.rubric import (
    CodeCriterion,
    Criterion,
    Failure,
    MetricCriterion,
    Reading,
    RegexCriterion,
    ScaleCriterion,
    Verdict,
)

__all__ = [
    "ManualRubricTrait",
    "MetricRubricTrait",
    "Rubric",
    "RubricTrait",
    "StoredTrait",
    "Trait",
    "TraitKind",
    "union",
]

TraitKind = Literal["score", "binary", "regex", "metric", "stored"]
"""How a trait's outcome reads: a score, yes or no, a pattern's yes or no, metrics, or none."""


class Trait(SettingsDocument):
    """What the kinds of traits have in common."""

    name: str
    """Its name, unique among the traits that apply to a question."""
    description: str | None = None
    """What it looks for; the judge sees this. Default: its name."""
    weight: float = 1.0
    """Its weight in the score."""

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

    def _common(self, *, penalty: bool = False) -> dict[str, Any]:
        return {
            "name": self.name,
            "requirement": (self.description or "").strip() or self.name,
            "weight": -abs(self.weight) if penalty else self.weight,
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
    """A quality that a model judges: by a score, or by yes or no.

    RubricTrait(name="Clarity", description="From 1 (confusing) to 5 (clear)", kind="score")
    """

    kind: Literal["score", "binary"]
    """`score` (a whole number between two bounds) or `binary`, also called `boolean`."""
    min_score: int | None = None
    """The lowest score. Default: 1."""
    max_score: int | None = None
    """The highest score. Default: 5."""
    higher_is_better: bool = True
    """Whether a high score, or a yes, is good. Where a yes is bad it is a penalty criterion:
    it enters the score with a negative weight."""

    @field_validator("kind", mode="before")
    @classmethod
    def _kind_is_known(cls, kind: object) -> object:
        if kind == "boolean":
            return "binary"
        if isinstance(kind, str) and kind not in ("score", "binary"):
            hint = did_you_mean(kind, ("score", "binary", "boolean"))
            raise InputError(f"unknown kind '{kind}' (known: score, binary){hint}")
        return kind

    @model_validator(mode="after")
    def _bounds_are_of_a_score(self) -> RubricTrait:
        if self.kind == "binary" and (self.min_score, self.max_score) != (None, None):
            raise InputError("min_score and max_score go with kind='score'")
        return self

    @property
    def outcome(self) -> TraitKind:
        return self.kind

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest score; 0 and 1 for yes or no."""
        if self.kind == "binary":
            return 0, 1
        low = 1 if self.min_score is None else self.min_score
        return low, 5 if self.max_score is None else self.max_score

    def criterion(self) -> Criterion:
        if self.kind == "binary":
            return validate(YesNoCriterion, self._common(penalty=not self.higher_is_better))
        low, high = self.bounds
        if low >= high:
            raise InputError(f"min_score must be less than max_score, found {low} and {high}")
        fields = {"low": low, "high": high, "higher_is_better": self.higher_is_better}
        return validate(ScaleCriterion, {**self._common(), **fields})


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
    higher_is_better: bool = True
    """Whether passing is good; otherwise the trait enters the score with a negative weight."""

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
        return validate(
            RegexCriterion, {**self._common(penalty=not self.higher_is_better), **fields}
        )


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

    Python code in a file is never run, so a trait that is code has no outcome: its verdicts are
    `failed` and say so.
    """

    node: dict[str, Any]
    """The trait as the file has it."""
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


@dataclass(frozen=True)
class Rubric:
    """A named list of traits.

    Raises:
        InputError: there are none, one is not a trait, or two have the same name.
    """

    name: str
    traits: Sequence[Trait]

    def __post_init__(self) -> None:
        if not isinstance(self.name, str):
            raise InputError(f"a rubric's name is text, found {type(self.name).__name__}")
        object.__setattr__(self, "traits", tuple(self.traits))
        if not self.traits:
            raise InputError(f"the rubric '{self.name}' needs at least one trait, found none")
        first: dict[str, int] = {}
        for index, trait in enumerate(self.traits, start=1):
            if not isinstance(trait, Trait):
                raise InputError(
                    f"the rubric '{self.name}': trait {index} is a {type(trait).__name__}, not a "
                    "RubricTrait, ManualRubricTrait or MetricRubricTrait"
                )
            if trait.name in first:
                raise InputError(
                    f"the rubric '{self.name}' has two traits with the name '{trait.name}': "
                    f"{first[trait.name]} and {index}"
                )
            first[trait.name] = index

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
