"""Traits (criteria of the core), rubrics (lists of traits), and questions."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

from pydantic import Field, field_validator, model_validator

from rubricate._documents import validate
from rubricate.dialects.karenina._template import CORRECTNESS, Name, SettingsDocument, Template
from rubricate.errors import InputError, UnreadableReply
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
"""The kind of a trait's outcome: a score, yes or no, a class, whether a pattern matches, the result
of code, metrics, or none."""
NO_TEMPLATE_CODE = """class Answer(BaseAnswer):
    def verify(self) -> bool:
        raise NotImplementedError("no answer template has been written")
"""
"""The Python code that a file gets for a question created here, because Karenina's reader needs
some. It raises, because a template that returns False would make every answer wrong."""
MOST_CLASSES = 20
"""The maximum number of classes of a literal trait: Karenina's limit."""


class Trait(SettingsDocument):
    """What all kinds of traits have in common."""

    kept: ClassVar[tuple[str, ...]] = ("summary", "callable_code", "deep_judgment_")
    reads_as: ClassVar[TraitKind]

    name: Name
    """Its name, unique among the traits that apply to a question."""
    description: str | None = None
    """What it looks for, as shown to the judge. Default: its name."""
    weight: float = 1.0
    """Its weight in the score."""
    higher_is_better: bool | None = True
    """Whether a high score, or a yes, is good. If a yes is bad, the trait is a penalty criterion
    with a negative weight in the score. With None, it has no direction and is not part of the
    score."""
    node: Mapping[str, Any] | None = None
    """The trait in the file that it was read from; its other contents are written back."""

    @field_validator("name")
    @classmethod
    def _name_is_text(cls, name: str) -> str:
        if name == CORRECTNESS:
            raise InputError(f"'{name}' is the name of correctness in results; choose another name")
        return name

    @model_validator(mode="after")
    def _is_a_criterion(self) -> Trait:
        self.criterion()
        return self

    def __eq__(self, other: object) -> bool:  # under either name, from a file or not
        if not isinstance(other, Trait):
            return NotImplemented
        of_file = {"node"}
        same = self.model_dump(exclude=of_file) == other.model_dump(exclude=of_file)
        return same and self.outcome == other.outcome

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def outcome(self) -> TraitKind:
        """The kind of its outcome."""
        return self.reads_as

    @property
    def class_names(self) -> tuple[str, ...]:
        """The classes that it chooses from in order; empty for other kinds."""
        return ()

    def criterion(self) -> Criterion:
        """Convert the trait to a criterion."""
        raise NotImplementedError

    def criterion_for(self, right_answer: str) -> Criterion:
        """Convert the trait to the criterion for a question with this reference answer."""
        return self.criterion()

    def _common(self, *, reversed_value: bool = False) -> dict[str, Any]:
        """Return the fields that all kinds of criteria have.

        Args:
            reversed_value: whether the criterion's value is reversed if less is better, so that its
                weight stays positive.
        """
        weight = self.weight
        if self.higher_is_better is None:
            weight = 0.0
        elif not self.higher_is_better and not reversed_value:
            weight = -abs(weight)
        requirement = (self.description or "").strip() or self.name
        return {"name": self.name, "requirement": requirement, "weight": weight}


class GradedTrait(Trait):
    """A trait with a score, yes or no, or one of several classes, from a model or from code."""

    yes_or_no: ClassVar[str]
    """The `kind` of yes or no."""

    kind: Literal["score", "binary", "boolean", "literal"]
    """`score` (a number between two bounds), `binary`, also called `boolean`, or `literal` (one of
    `classes`)."""
    min_score: int | None = None
    """The lowest score, for `score`."""
    max_score: int | None = None
    """The highest score, for `score`."""
    classes: Mapping[str, str] | None = Field(default=None, strict=False)
    """For `literal`, the meaning of each class by name: 2 to 20 classes, the worst first. If
    `higher_is_better` is False, the best comes first."""

    @model_validator(mode="before")
    @classmethod
    def _bounds_are_of_scores(cls, data: Any) -> Any:
        """Ignore bounds except for scores, because Karenina writes them for every trait."""
        if not isinstance(data, dict) or data.get("kind", "score") == "score":
            return data
        return {key: value for key, value in data.items() if key not in ("min_score", "max_score")}

    @field_validator("kind", mode="before")
    @classmethod
    def _either_name_of_yes_or_no(cls, kind: object) -> object:
        return cls.yes_or_no if kind in ("binary", "boolean") else kind

    @property
    def class_names(self) -> tuple[str, ...]:
        return tuple(self.classes or ())

    @property
    def bounds(self) -> tuple[int, int]:
        """The lowest and the highest score: 0 and 1 for yes or no, indices for classes."""
        if self.kind == "score":
            low = 1 if self.min_score is None else self.min_score
            return low, 5 if self.max_score is None else self.max_score
        return 0, max(1, len(self.class_names) - 1)

    def validate_score(self, score: object) -> bool:
        """Whether this trait can have a score.

        Scores are True or False for yes or no, and otherwise integers within `bounds`.
        """
        if self.kind == self.yes_or_no:
            return isinstance(score, bool)
        low, high = self.bounds
        return isinstance(score, int) and not isinstance(score, bool) and low <= score <= high

    def _check_range(self) -> None:
        count = len(self.class_names)
        if self.kind == "literal" and not 2 <= count <= MOST_CLASSES:
            raise InputError(f"classes: kind='literal' needs 2 to {MOST_CLASSES}, found {count}")
        if self.kind != "literal" and self.classes is not None:
            raise InputError("classes are only allowed for kind='literal'")
        low, high = self.bounds
        if low >= high:
            raise InputError(f"min_score must be less than max_score, found {low} and {high}")


class YesNoCriterion(Criterion):
    """A binary criterion that also accepts a Boolean from the judge, as on the traits' page."""

    def read(self, answer: object) -> Reading:
        if isinstance(answer, bool):
            answer = "MET" if answer else "UNMET"
        elif isinstance(answer, str) and answer.strip().casefold() in ("true", "false"):
            answer = "MET" if answer.strip().casefold() == "true" else "UNMET"
        return super().read(answer)


class RubricTrait(GradedTrait):
    """A quality that a model judges by a score, yes or no, or one of several classes.

    RubricTrait(name="Clarity", description="From 1 (confusing) to 5 (clear)", kind="score")
    """

    yes_or_no: ClassVar[str] = "binary"

    include_ground_truth: bool = False
    """Whether the judge sees the question's reference answer."""

    @property
    def outcome(self) -> TraitKind:
        return self.kind  # type: ignore[return-value]

    def criterion(self) -> Criterion:
        self._check_range()
        if self.kind == "binary":
            return validate(YesNoCriterion, self._common())
        fields = self._common(reversed_value=True)
        if self.classes is not None:
            fields["options"] = _class_options(self.classes, self.higher_is_better)
            fields["scale_type"] = "nominal" if self.higher_is_better is None else "ordinal"
            return validate(Criterion, fields)
        low, high = self.bounds
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
        note = f"The right answer to the question is: {right_answer}"
        return self.criterion().model_copy(update={"note": note})


def _class_options(
    classes: Mapping[str, str], higher_is_better: bool | None
) -> list[CriterionOption]:
    """Convert the classes to options, evenly spaced from 0 to 1; the last one is best unless lower
    is better."""
    values = [index / (len(classes) - 1) for index in range(len(classes))]
    if higher_is_better is False:
        values.reverse()
    return [
        CriterionOption(label=name, value=value, description=text.strip() or None)
        for (name, text), value in zip(classes.items(), values, strict=True)
    ]


class ManualRubricTrait(Trait):
    """Whether a pattern occurs in the answer; no model is used.

    ManualRubricTrait(name="Mentions BH3", pattern=r"\\bBH3\\b")
    """

    reads_as: ClassVar[TraitKind] = "regex"

    pattern: str
    """A Python regular expression that may match anywhere in the answer."""
    case_sensitive: bool = False
    """Whether the case of letters matters."""
    invert: bool = False
    """Whether the trait passes if the pattern does not match; also `invert_result`."""

    @model_validator(mode="before")
    @classmethod
    def _invert_by_either_name(cls, data: Any) -> Any:
        if isinstance(data, dict) and "invert_result" in data:
            data = dict(data)
            inverted = data.pop("invert_result")
            if data.setdefault("invert", inverted) != inverted:
                raise InputError(
                    "invert and invert_result are the same setting, but have different values"
                )
        return data

    @property
    def invert_result(self) -> bool:
        """The same as `invert`."""
        return self.invert

    def criterion(self) -> Criterion:
        own = {name: getattr(self, name) for name in ("pattern", "case_sensitive", "invert")}
        return validate(RegexCriterion, {**self._common(), **own})


class RegexRubricTrait(ManualRubricTrait):
    """A pattern trait under its current name: the case of letters matters by default."""

    case_sensitive: bool = True
    """Whether the case of letters matters."""


_BUCKETS = {
    "precision": ("tp", "fp"),
    "recall": ("tp", "fn"),
    "f1": ("tp", "fp", "fn"),
    "accuracy": ("tp", "tn", "fp", "fn"),
    "specificity": ("tn", "fp"),
}
METRICS = tuple(_BUCKETS)
METRIC_SETTINGS = (
    *("metrics", "tp_instructions", "tn_instructions", "fp_instructions", "fn_instructions"),
    "repeated_extraction",
)
"""The settings of a metric trait, as in the core's `MetricCriterion`."""


class MetricRubricTrait(Trait):
    """How well the answer names or classifies a list of items.

    A model classifies each item according to the answer, and code counts. The score uses the first
    metric. The settings `metrics`, `tp_instructions`, `tn_instructions`, `fp_instructions`,
    `fn_instructions` and `repeated_extraction` are those of `rubricate.MetricCriterion`.

        MetricRubricTrait(name="Diseases", metrics=["precision", "recall"],
                          tp_instructions=["asthma", "bronchitis"])
    """

    reads_as: ClassVar[TraitKind] = "metric"
    kept: ClassVar[tuple[str, ...]] = (*Trait.kept, *METRIC_SETTINGS)

    evaluation_mode: Literal["tp_only", "full_matrix"] | None = None
    """Need not be set, because it follows from whether there are `tn_instructions`."""
    higher_is_better: bool | None = None
    """Whether a high value is good; for metrics, None means that it is."""

    @model_validator(mode="before")
    @classmethod
    def _mode_by_the_lists(cls, data: Any) -> Any:
        if not isinstance(data, dict):
            return data
        lists = {name: tuple(value) for name, value in data.items() if isinstance(value, list)}
        mode = "full_matrix" if data.get("tn_instructions") else "tp_only"
        named = data.get("evaluation_mode") or mode
        if named != mode:
            how = "with" if mode == "full_matrix" else "without"
            raise InputError(f"evaluation_mode is '{mode}' {how} tn_instructions, found '{named}'")
        usual = {"metrics": METRICS[:3], "repeated_extraction": True}
        return {**usual, **data, **lists, "evaluation_mode": mode}

    def get_required_buckets(self) -> set[str]:
        """Return the cells of the confusion matrix that its metrics need."""
        metrics = (self.model_extra or {}).get("metrics", ())
        return {bucket for metric in metrics for bucket in _BUCKETS[metric]}

    def criterion(self) -> Criterion:
        own = {
            name: value
            for name, value in (self.model_extra or {}).items()
            if name in METRIC_SETTINGS
        }
        weight = -abs(self.weight) if self.higher_is_better is False else self.weight
        return validate(MetricCriterion, {**self._common(), "weight": weight, **own})


class CallableRubricTrait(GradedTrait):
    """The result of a function of the answer's text; no model is used.

    CallableRubricTrait.from_callable("Short", lambda text: len(text.split()) < 150, kind="boolean")
    """

    yes_or_no: ClassVar[str] = "boolean"
    reads_as: ClassVar[TraitKind] = "callable"

    func: Callable[[str], Any]
    """The function from the text to True or False, a number, or the name of a class."""
    invert_result: bool = False
    """Whether to swap True and False, for `boolean`."""

    @classmethod
    def from_callable(cls, name: str, func: Callable[[str], Any], **settings: Any) -> Self:
        """Create a trait from a function.

        Args:
            name: the trait's name.
            func: the function of the answer's text.
            settings: `kind` and the other fields, by name.

        Raises:
            InputError: a setting cannot be used.
        """
        return cls(name=name, func=func, **settings)

    @field_validator("func")
    @classmethod
    def _takes_the_text(cls, func: Callable[[str], Any]) -> Callable[[str], Any]:
        try:
            inspect.signature(func).bind("text")
        except TypeError as error:
            raise InputError(f"must take one argument, the answer's text: {error}") from None
        except ValueError:  # a built-in function without a signature
            pass
        return func

    def criterion(self) -> Criterion:
        if self.kind == "score" and None in (self.min_score, self.max_score):
            raise InputError("kind='score' needs min_score and max_score")
        self._check_range()
        of_boolean = self.kind == "boolean"
        if self.invert_result and not of_boolean:
            raise InputError("invert_result is only allowed for kind='boolean'")
        fields = {
            "function": self.func,
            "gives": self.kind,
            "bounds": self.bounds,
            "class_names": self.class_names,
            "turned": self.invert_result if of_boolean else self.higher_is_better is False,
        }
        common = self._common(reversed_value=not of_boolean)
        return validate(CallableCriterion, {**common, **fields})


class CallableCriterion(CodeCriterion):
    """The result of a function of the text, read as its trait defines."""

    gives: Literal["boolean", "score", "literal"]
    """What the function returns."""
    bounds: tuple[int, int]
    """The lowest and the highest score or class index."""
    class_names: tuple[str, ...] = ()
    """The classes in order."""
    turned: bool = False
    """Whether True and False are swapped, or the lowest score is the best."""

    def compute(self, submission: str, item: object = None) -> Any:
        return self.resolved()(submission)

    def read(self, answer: object) -> Reading:
        """Read the result of the function."""
        if self.gives == "boolean":
            if not isinstance(answer, bool):
                raise UnreadableReply(f"the function gave {answer!r}, not True or False")
            return Reading("UNMET" if answer is self.turned else "MET")
        if self.gives == "literal":
            if answer not in self.class_names:
                known = ", ".join(self.class_names)
                raise UnreadableReply(f"the function gave {answer!r}, not one of {known}")
            return Reading(str(answer))
        low, high = self.bounds
        if (
            isinstance(answer, bool)
            or not isinstance(answer, int | float)
            or not low <= answer <= high
        ):
            raise UnreadableReply(
                f"the function gave {answer!r}, not a number from {low} to {high}"
            )
        return Reading(repr(int(answer) if isinstance(answer, int) else float(answer)))

    def identity(self) -> object:
        return [super().identity(), self.gives, self.gives == "boolean" and self.turned]

    def value(self, label: str) -> float | None:
        if self.gives == "boolean":
            return super().value(label)
        low, high = self.bounds
        share = (outcome_of(label, self.class_names) - low) / (high - low)
        return 1.0 - share if self.turned else share

    def _own_fields(self) -> dict[str, Any]:
        return {**super()._own_fields(), "gives": self.gives, "bounds": list(self.bounds)}


def outcome_of(label: str, class_names: tuple[str, ...]) -> bool | int | float:
    """Convert a callable trait's label to a class index, True or False, or a score."""
    if label in class_names:
        return class_names.index(label)
    if label in ("MET", "UNMET"):
        return label == "MET"
    return float(label) if any(mark in label for mark in ".en") else int(label)


class StoredTrait(Trait):
    """A trait from a file that cannot be judged here; it is kept and written back unchanged.

    Its verdicts are `failed` with the reason: `rubricate` does not support its kind or a setting,
    or it is Python code, which is never run from a file.
    """

    reads_as: ClassVar[TraitKind] = "stored"

    node: Mapping[str, Any]
    """The trait as in the file, to which it is written back unchanged."""
    problem: str
    """Why it cannot be judged."""

    def criterion(self) -> Criterion:
        failed = Verdict(self.name, "failed", error=Failure("cannot_be_judged", self.problem))
        return CodeCriterion(**self._common(), function=lambda submission, item: failed)


@dataclass(frozen=True, init=False)
class Rubric:
    """A list of traits.

    Args:
        name: its name in errors and files.
        traits: its traits, of all kinds.
        llm_traits, regex_traits, callable_traits, metric_traits: further traits by kind, in the
            order of these arguments.

    Raises:
        InputError: there are no traits, one is not a trait, or two have the same name.
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
        every = (*traits, *llm_traits, *regex_traits, *callable_traits, *metric_traits)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "traits", every)
        if not every:
            raise InputError(f"the rubric '{name}' needs at least one trait, found none")
        first: dict[str, int] = {}
        for index, trait in enumerate(every, start=1):
            if not isinstance(trait, Trait):
                raise InputError(
                    f"the rubric '{name}': trait {index} is a {type(trait).__name__}, not a "
                    "trait such as RubricTrait"
                )
            if first.setdefault(trait.name, index) != index:
                raise InputError(
                    f"the rubric '{name}' has two traits with the name '{trait.name}': "
                    f"{first[trait.name]} and {index}"
                )

    def get_trait_names(self) -> list[str]:
        """Return the names of all traits in order."""
        return [trait.name for trait in self.traits]

    def get_llm_trait_names(self) -> list[str]:
        """Return the names of the traits that a model judges by score, yes or no, or classes."""
        return [trait.name for trait in self.llm_traits]

    def get_regex_trait_names(self) -> list[str]:
        """Return the names of the pattern traits."""
        return [trait.name for trait in self.regex_traits]

    get_manual_trait_names = get_regex_trait_names

    def get_callable_trait_names(self) -> list[str]:
        """Return the names of the callable traits."""
        return [trait.name for trait in self.callable_traits]

    def get_metric_trait_names(self) -> list[str]:
        """Return the names of the metric traits."""
        return [trait.name for trait in self.metric_traits]

    def of_kind(self, kind: type[Trait]) -> list[Trait]:
        """Return the traits of a class."""
        return [trait for trait in self.traits if isinstance(trait, kind)]

    @property
    def llm_traits(self) -> list[Trait]:
        """The traits that a model judges by score, yes or no, or classes."""
        return self.of_kind(RubricTrait)

    @property
    def regex_traits(self) -> list[Trait]:
        """The pattern traits."""
        return self.of_kind(ManualRubricTrait)

    @property
    def callable_traits(self) -> list[Trait]:
        """The callable traits."""
        return self.of_kind(CallableRubricTrait)

    @property
    def metric_traits(self) -> list[Trait]:
        """The metric traits."""
        return self.of_kind(MetricRubricTrait)

    def __len__(self) -> int:
        return len(self.traits)

    def __iter__(self) -> Iterator[Trait]:
        return iter(self.traits)


@dataclass
class Question:
    """A question of a benchmark.

    Attributes:
        question: its text.
        raw_answer: the reference answer; judges of traits do not see it, except with
            `include_ground_truth`.
        rubric: traits for this question only, in addition to the benchmark's.
        template: defines when an answer is correct; None if there is none yet.
        template_failure: why no template could be generated, if that failed.
        id: its identifier, unique in the benchmark.
        keywords: free labels.
        date_created, date_modified: ISO 8601.
        node: the question in the file that it was read from; its other contents are written back.
    """

    question: str
    raw_answer: str
    rubric: Rubric | None = None
    template: Template | None = None
    template_failure: Failure | None = None
    id: str = ""
    keywords: tuple[str, ...] = ()
    date_created: str = ""
    date_modified: str = ""
    node: dict[str, Any] = field(default_factory=dict, compare=False)

    @property
    def template_code(self) -> str | None:
        """The Python code of this question's template in a file, for people; it is never run."""
        part = self.node.get("item", {}).get("hasPart")
        if not isinstance(part, dict) or part.get("@type") != "SoftwareSourceCode":
            return None
        code = str(part.get("text", ""))
        return None if code == NO_TEMPLATE_CODE else code


def merge_rubrics(global_rubric: Rubric | None, question_rubric: Rubric | None) -> Rubric | None:
    """Combine two rubrics, the benchmark's traits first; None if both are None.

    Raises:
        InputError: both have a trait of the same name.
    """
    name = next((rubric.name for rubric in (global_rubric, question_rubric) if rubric), "rubric")
    traits = union(global_rubric, question_rubric)
    return Rubric(name, traits) if traits else None


def union(first: Rubric | None, second: Rubric | None, where: str = "") -> list[Trait]:
    """Combine two rubrics, the traits of the first one first.

    Raises:
        InputError: both have a trait of the same name; `where` says what the second one belongs to.
    """
    if first is not None and second is not None:
        names = {trait.name for trait in first}
        if both := [trait.name for trait in second if trait.name in names]:
            raise InputError(
                f"the trait '{both[0]}' is in both the rubric '{first.name}' and the rubric "
                f"'{second.name}'{where}: rename one of them"
            )
    return [*(first or ()), *(second or ())]
