"""The base class of criteria, which also covers yes/no and multiple choice.

Each other kind is a subclass. It knows what to ask a judge (or that none is needed), how to read
the answer, and the answer's value. No other code depends on the kind.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from importlib import import_module
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator, model_validator

from rubricate._documents import PythonDocument, check_writable, validate
from rubricate._spelling import did_you_mean, our_name, unknown_word
from rubricate._usage import NO_USAGE, Usage
from rubricate.errors import InputError, errors_within, shown
from rubricate.rubric._question import (
    ABSTENTION,
    Answer,
    Question,
    Reading,
    label_question,
    listed,
    read_label,
    unknown_label,
)
from rubricate.rubric._tags import read_tags
from rubricate.rubric._verdict import CriterionVerdict, Evidence, Status, Verdict


class Gate(PythonDocument):
    """The answer that another criterion must have.

    Without `label` and `at_least`, that is the best answer of the criterion, such as MET.
    """

    criterion: str
    """The name of a criterion, or of a group (which needs `at_least`)."""
    label: str | None = None
    """The required answer."""
    at_least: float | None = Field(default=None, ge=0, le=1)
    """The minimum value, or the minimum score of a group, from 0 to 1."""

    @model_validator(mode="after")
    def _asks_for_one_thing(self) -> Gate:
        if self.label is not None and self.at_least is not None:
            raise InputError("label and at_least exclude each other: give one of them")
        return self

    def to_value(self) -> Any:
        """The gate as written to a file: only a name if nothing else is set."""
        fields = {"label": self.label, "at_least": self.at_least, **(self.model_extra or {})}
        beside = present(fields)
        return {"criterion": self.criterion, **beside} if beside else self.criterion


def _gates(gates: Any) -> Any:
    """The value of `requires` (a name, a gate, or a list of them) as gates."""
    if gates is None:
        return ()
    if isinstance(gates, str | Mapping | Gate):
        gates = [gates]
    if not isinstance(gates, Sequence):
        raise InputError(f"expected a criterion's name, found {gates!r}")
    return tuple({"criterion": gate} if isinstance(gate, str) else gate for gate in gates)


Requires = Annotated[tuple[Gate, ...], BeforeValidator(_gates), Field(strict=False)]


def written_gates(gates: Sequence[Gate]) -> Any:
    """The value of `requires` in a file; None for nothing."""
    written = [gate.to_value() for gate in gates]
    return written[0] if len(written) == 1 else written or None


_WHOLE = re.compile(r"-?[0-9]+\Z")
_BINARY_VALUES = {"MET": 1.0, "UNMET": 0.0}
BINARY_LABELS = ("MET", "UNMET", ABSTENTION)
_BINARY_READINGS = dict(zip(BINARY_LABELS, map(Reading, BINARY_LABELS), strict=True))
Measurement = Literal["binary", "ordinal", "nominal", "numeric"]
"""The type of answers: yes or no, ordered, unordered, or numbers."""
STRATEGIES: dict[Measurement, tuple[str, ...]] = {
    "binary": ("majority", "weighted", "unanimous", "any"),
    "ordinal": ("mean", "median", "weighted_mean", "mode", "min", "max"),
    "nominal": ("mode", "weighted_mode", "unanimous"),
    "numeric": ("mean", "median", "weighted_mean"),
}
"""How votes can be combined, by the type of answers."""


def binary_reading(answer: object) -> Reading:
    """Read an answer that is MET, UNMET or CANNOT_ASSESS."""
    reading = _BINARY_READINGS.get(answer) if isinstance(answer, str) else None
    return reading or _BINARY_READINGS[read_label(answer, BINARY_LABELS)]


def binary_value(label: str) -> float | None:
    """1 for MET, 0 for UNMET, None for CANNOT_ASSESS; `InputError` for anything else."""
    value = _BINARY_VALUES.get(label)
    if value is None and label != ABSTENTION:
        raise InputError(
            f"the criterion is binary but got invalid verdict '{label}'. "
            "Must be 'MET', 'UNMET', or 'CANNOT_ASSESS'."
        )
    return value


def check_strategy(measurement: Measurement, strategy: str) -> None:
    """Raise `InputError` for a strategy that these answers do not support."""
    known = STRATEGIES[measurement]
    if strategy not in known:
        raise InputError(
            f"unknown strategy '{strategy}' for {measurement} criteria "
            f"(known: {', '.join(known)}){did_you_mean(str(strategy), known)}"
        )


def present(data: Mapping[str, Any]) -> dict[str, Any]:
    """The entries that are not None."""
    return {key: value for key, value in data.items() if value is not None}


def checked_name(name: str) -> str:
    """The name, if it is not empty and can be written to a file; else `InputError`."""
    if not name.strip():
        raise InputError("must not be empty")
    check_writable(name)
    return name


class CriterionOption(PythonDocument):
    """One answer of a multi-choice criterion."""

    label: str
    """The text with which judges and labels choose it."""
    value: float | None = None
    """Its value, between 0 and 1. Not needed if `na` is true."""
    na: bool = False
    """Whether it means that the criterion does not apply, which leaves it out of the score."""
    description: str | None = None
    """What the option means, shown to the judge."""

    @field_validator("label")
    @classmethod
    def _label_is_text(cls, label: str) -> str:
        checked_name(label)
        if label.strip().casefold() == CriterionVerdict.CANNOT_ASSESS.casefold():
            raise InputError("CANNOT_ASSESS is always allowed and cannot be an option's label")
        return label

    @model_validator(mode="after")
    def _value_is_a_share(self) -> CriterionOption:
        if self.value is None:
            if not self.na:
                others = [key for key, n in self.extra.items() if isinstance(n, int | float)]
                advice = f": rename '{others[0]}' to 'value'" if others else ""
                raise InputError(f"the option '{self.label}' needs a value between 0 and 1{advice}")
        elif not 0.0 <= self.value <= 1.0:
            raise InputError(
                f"the value of the option '{self.label}' must be between 0 and 1, "
                f"found {self.value:g}: 1 is the best; for grades from 1 to 5, write scale: 5 "
                "instead of options"
            )
        return self

    def to_dict(self) -> dict[str, Any]:
        """The option as it is written to a file."""
        data = {"label": self.label, "value": self.value, "na": self.na or None}
        data["description"] = self.description
        return {**present(data), **(self.model_extra or {})}


def _meant(kind: str, written: object) -> str:
    return f"add 'kind: {kind}'" if written is None else f"this one is of the kind {written}"


def _refuse_keys_of_other_kinds(kind_class: type[Criterion], data: Mapping[str, Any]) -> None:
    own = kind_class.model_fields
    written = data.get("kind", own["kind"].default)
    scale = ("levels", "low", "high")
    of_scale = [key for key in scale if data.get(key) is not None and key not in own]
    levels = isinstance(data.get("levels"), Mapping | list | tuple)
    if of_scale and "options" not in data and (levels or {"low", "high"} <= {*of_scale}):
        raise InputError(
            "levels, low and high belong to criteria of the kind scale: " + _meant("scale", written)
        )
    if isinstance(kind := data.get("type"), str) and written is None and kind in kinds():
        raise InputError(f"'type' is called kind: write kind: {kind}")
    least, most = data.get("min"), data.get("max")
    if written is None and isinstance(least, int) and isinstance(most, int):
        raise InputError(f"answers from min to max are written as scale: [{least}, {most}]")
    is_word = " " not in str(data.get("requirement") or "no word").strip()
    for key, text in data.items() if is_word else ():
        is_sentence = isinstance(text, str) and " " in text.strip()
        if key not in own and is_sentence and our_name(key, {"requirement"}):
            raise InputError(
                f"'{key}' is not read, and the requirement is a single word: write the sentence as "
                "requirement and the word as name (an explanation for the judge is called note)"
            )
    for key in (key for key, value in data.items() if key not in own and value is not None):
        for kind, other in kinds().items():
            if kind != "binary" and key in vars(other).get("telltale", ()):
                if kind == written:
                    raise InputError(f"'{key}' is no key of the kind {kind}: {', '.join(own)}")
                how = f" ({other.written})" if "written" in vars(other) else ""
                raise InputError(
                    f"'{key}' belongs to criteria of the kind {kind}{how}: " + _meant(kind, written)
                )


def _with_weight(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a criterion with its `points`, if any, as its weight."""
    if "points" not in data:
        return data
    points, weight = data["points"], data.get("weight", data["points"])
    if isinstance(points, bool) or not isinstance(points, int | float) or points != weight:
        raise InputError(
            f"points are the weight: found points {points!r} and weight {weight!r}"
            if "weight" in data
            else f"points must be a number, found {points!r}"
        )
    return {key: value for key, value in data.items() if key != "points"} | {"weight": points}


class Criterion(PythonDocument):
    """One thing that a submission is judged by.

    Without `options` it is binary (MET, UNMET, CANNOT_ASSESS); with them, multi-choice. A
    negative `weight` makes it a penalty criterion: MET then means that the fault is present, and
    costs. The other kinds are classes of their own: `ScaleCriterion`, `RegexCriterion`,
    `MetricCriterion`, `CodeCriterion` and `CounterCriterion`.

    For example:

        Criterion(name="price", weight=-2, requirement="States a price that is not in the context")
    """

    telltale: ClassVar[Sequence[str]] = ("options", "scale_type", "labels", "choices")
    """Keys which show that a criterion of another kind was intended to be of this kind. Other keys
    of this kind can be notes in criteria of another kind (`levels: 3`, `flags`)."""
    written: ClassVar[str] = "whose answers are options, each with a label and a value"
    """How to write this kind, for an error about a telltale key."""
    own_fields: ClassVar[Sequence[str]] = ()
    """The fields that only this kind has, in the order of a file."""
    always_written: ClassVar[Sequence[str]] = ()
    """Those of them that are written even if they have their default."""
    needs_judge: ClassVar[bool] = True
    """Whether a judge is asked; the other kinds compute their answer from the text."""

    name: str = ""
    """Short name, unique in its rubric. Default: `criterion_N`, numbered from 1 within its rubric;
    outside a rubric there is none."""
    weight: float = Field(default=1.0, allow_inf_nan=False)
    """Its weight in the score; any finite number, negative for a penalty."""
    requirement: str
    """What is required, in words; the judge sees this."""
    note: str | None = None
    """An explanation for the judge, for example of what counts and what does not."""
    kind: str | None = None
    """The kind of criterion. Optional; if set, it must fit `options`."""
    scale_type: Literal["ordinal", "nominal"] | None = None
    """Whether the options of a multi-choice criterion are in order. Default: ordinal."""
    options: tuple[CriterionOption, ...] | None = Field(default=None, strict=False)
    """The options of a multi-choice criterion, at least two of them scorable."""
    aggregation: str | None = None
    """How a panel combines the votes on it. Default: the panel's setting for its kind."""
    tags: tuple[str, ...] = Field(default=(), strict=False)
    """Words, or `field:value` such as `axis:accuracy`, by which scores can be broken down. They
    include the names of the sections in a rubric file. A file may also write them as an object:
    `{axis: accuracy}`."""
    requires: Requires = ()
    """Criteria that must hold before this one is judged, each a `Gate` or a name. If one does not
    hold, this criterion is skipped."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if kind := cls.model_fields["kind"].default:
            if not cls.__module__.startswith(f"{_PACKAGE}."):
                kinds()  # reserve the names of the built-in kinds
            KINDS.setdefault(kind, cls)

    @model_validator(mode="before")
    @classmethod
    def _as_this_kind_has_it(cls, data: Any) -> Any:
        if not isinstance(data, Mapping):
            return data
        kind = data.get("kind")
        if isinstance(kind, str) and kind not in KINDS and kind not in kinds():
            raise InputError(unknown_word("kind", kind, sorted(kinds())), path=("kind",))
        has_none = cls.model_fields["kind"].default is None
        if has_none and isinstance(kind, str) and kind not in ("binary", "multi_choice"):
            raise InputError(f"a criterion of the kind {kind} is a {kinds()[kind].__name__}")
        if not data.keys() <= cls.model_fields.keys():
            _refuse_keys_of_other_kinds(cls, data)
            data = _with_weight(data)
        if "name" in data and data["name"] is None:
            return {key: value for key, value in data.items() if key != "name"}
        return data

    @field_validator("tags", mode="before")
    @classmethod
    def _tags_are_words(cls, tags: object) -> object:
        return read_tags(tags)

    @field_validator("options", mode="before")
    @classmethod
    def _options_are_objects(cls, options: object) -> object:
        for index, option in enumerate(options if isinstance(options, list | tuple) else ()):
            if isinstance(option, str):
                raise InputError(
                    f"an option needs a value from 0 to 1: write {{label: {option}, value: 0}} "
                    f"in place of {option!r}",
                    path=(index,),
                )
        return options

    _is_a_name = field_validator("name")(checked_name)

    @field_validator("requirement", "note")
    @classmethod
    def _is_text(cls, text: str | None, info: ValidationInfo) -> str | None:
        default = cls.model_fields[info.field_name or ""].default
        if text is not None and not text.strip() and text != default:
            raise InputError("must not be empty")
        return text

    @model_validator(mode="after")
    def _options_fit(self) -> Criterion:
        if type(self).model_fields["kind"].default is not None:
            if self.options is not None or self.scale_type is not None:
                raise InputError(f"a criterion of the kind {self.kind} has no options")
            return self
        if self.options is None:
            if self.kind == "multi_choice" or self.scale_type is not None:
                raise InputError("a multi-choice criterion needs options")
            return self
        if self.kind == "binary":
            raise InputError("a binary criterion has no options")
        scorable = sum(not option.na for option in self.options)
        if scorable < 2:
            raise InputError(f"options: at least two must be scorable (not na), found {scorable}")
        seen: set[str] = set()
        for option in self.options:
            folded = option.label.strip().casefold()
            if folded in seen:
                raise InputError(f"options: the label '{option.label}' is defined twice")
            seen.add(folded)
        return self

    @model_validator(mode="after")
    def _aggregation_fits(self) -> Criterion:
        if self.aggregation is not None:
            if not self.needs_judge:
                raise InputError(
                    "aggregation is of judges' votes, and this criterion needs no judge"
                )
            check_strategy(self.measurement, self.aggregation)
        return self

    def __hash__(self) -> int:
        return hash((self.name, self.requirement))

    @property
    def is_named(self) -> bool:
        """Whether its name was set; otherwise it is numbered by its rubric."""
        return "name" in self.model_fields_set

    @property
    def title(self) -> str:
        """Its name if it was set, else its requirement."""
        return self.name if self.is_named else self.requirement

    def at(self, index: int) -> Self:
        """The criterion with a name, as part of a rubric at an index from 0."""
        if self.is_named:
            return self
        named = self.model_copy(update={"name": f"criterion_{index + 1}"})
        named.model_fields_set.discard("name")
        return named

    @property
    def is_binary(self) -> bool:
        """Whether the answer is MET, UNMET or CANNOT_ASSESS."""
        return self.labels == BINARY_LABELS

    @property
    def is_multi_choice(self) -> bool:
        """Whether the answer is one of several options."""
        return self.options is not None

    @property
    def measurement(self) -> Measurement:
        """The type of its answers, which determines how votes can be combined."""
        if self.options is None:
            return "binary"
        return self.scale_type or "ordinal"

    @property
    def labels(self) -> tuple[str, ...]:
        """The possible labels in order; empty if there are too many."""
        if self.options is None:
            return BINARY_LABELS
        return tuple(option.label for option in self.options)

    def find_option_by_label(self, label: str) -> int:
        """The index in `options` of the option with this label, from 0.

        Raises:
            InputError: there is no such option, or the criterion is binary.
        """
        if self.options is None:
            raise InputError("the criterion is binary and has no options")
        self.value(label)
        return [option.label for option in self.options].index(label)

    def get_option_value(self, index: int) -> float | None:
        """The value of the option at an index from 0, in [0, 1]; None for N/A.

        Raises:
            InputError: there is no such option, or the criterion is binary.
        """
        if self.options is None:
            raise InputError("the criterion is binary and has no options")
        if not 0 <= index < len(self.options):
            raise InputError(f"there is no option {index}; they are 0 to {len(self.options) - 1}")
        return self.options[index].value

    @cached_property
    def question(self) -> Question:
        """The question to a judge about this criterion: the cached result of `ask`."""
        return self.ask()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy without the cached `question`, which other fields may change."""
        copied = super().model_copy(update=update, deep=deep)
        copied.__dict__.pop("question", None)
        return copied

    def ask(self) -> Question:
        """Create the question about this criterion."""
        if self.options is not None:
            answers = [Answer(option.label, option.description) for option in self.options]
            cannot = "the material does not allow a decision between the options"
        else:
            penalty = self.weight < 0
            met = (
                "the fault that the criterion describes is present in the submission"
                if penalty
                else "the submission meets the criterion"
            )
            unmet = "the fault is not present" if penalty else "it does not"
            answers = [Answer("MET", met), Answer("UNMET", unmet)]
            cannot = "the material does not allow a decision either way"
        return label_question(self.requirement, [*answers, Answer(ABSTENTION, cannot)])

    def read(self, answer: object) -> Reading:
        """Read an answer.

        Raises:
            UnreadableReply: it is not an allowed answer.
        """
        if self.options is None:
            return binary_reading(answer)
        return Reading(read_label(answer, (*self.labels, ABSTENTION)))

    def value(self, label: str) -> float | None:
        """An answer's value, in [0, 1]; None for CANNOT_ASSESS and N/A options.

        Raises:
            InputError: the label is not one of the criterion's answers.
        """
        label = str(label)
        if self.options is None:
            return binary_value(label)
        for option in self.options:
            if option.label == label:
                return None if option.na else option.value
        raise unknown_label(label, self.labels)

    @property
    def named_code(self) -> str | None:
        """The code that a file names and that judging would run; None for none."""
        return None

    def load_code(self) -> None:
        """Import the named code, which runs it. Raises `InputError` if it does not exist."""

    @property
    def quotes_items(self) -> bool:
        """Whether an answer has a quote for each of several items."""
        return False

    def must_quote(self, label: str) -> bool:
        """Whether an answer claims that something is in the text and so can be quoted.

        All do except the answer with the lowest value (UNMET), which can rest on an absence.

        Args:
            label: one of `labels`.
        """
        value = self.value(label)
        return value is not None and value > self.value_range[0]

    @property
    def value_range(self) -> tuple[float, float]:
        """The lowest and the highest value of an answer to this criterion."""
        values = [
            option.value
            for option in self.options or ()
            if not option.na and option.value is not None
        ]
        return (min(values), max(values)) if values else (0.0, 1.0)

    def nearest_label(self, value: float) -> str:
        """The answer with the nearest value; if two are equally near, the one that scores lower.

        If there are too many labels to list, it is the value itself, to four digits.
        """
        answers = [(self.value(label), label) for label in self.labels]
        if not answers:
            return f"{value:.4g}"
        sign = -1.0 if self.weight < 0 else 1.0
        valued = [(own, label) for own, label in answers if own is not None]
        return min(valued, key=lambda pair: (round(abs(pair[0] - value), 9), sign * pair[0]))[1]

    @property
    def has_steps(self) -> bool:
        """Whether the answers are ordered whole numbers, such as those of a scale."""
        scored = [option.label for option in self.options or () if not option.na]
        return self.measurement == "ordinal" and all(map(_WHOLE.match, scored))

    def step(self, label: str, value: float) -> float:
        """An answer as a number on the scale of a criterion that `has_steps`.

        The mean of several answers (by annotators or a panel) has a value between labels. Its
        number is then between steps as well, and not that of the nearest label.

        Args:
            label: the answer.
            value: its value, in [0, 1].

        Returns:
            A number from the lowest to the highest step.
        """
        known = sorted(
            (option.value, int(option.label))
            for option in self.options or ()
            if not option.na and option.value is not None
        )
        for own, number in known:
            if _WHOLE.match(label) and number == int(label) and abs(own - value) < 1e-9:
                return float(number)
        below = [step for step in known if step[0] <= value]
        above = [step for step in known if step[0] >= value]
        numbers = [number for _, number in known]
        if not below or not above or numbers not in (sorted(numbers), sorted(numbers)[::-1]):
            return float(int(label))
        (low, first), (high, last) = below[-1], above[0]
        if high == low:
            return float(first)
        return round(first + (value - low) / (high - low) * (last - first), 9)

    def verdict(self, label: object) -> Verdict:
        """The verdict for a label, for example one given by a person.

        Raises:
            InputError: it is not one of the criterion's answers.
        """
        return self.verdict_of(Reading(self.label_of(getattr(label, "value", label))))

    def verdict_of(
        self,
        reading: Reading,
        *,
        reason: str | None = None,
        evidence: tuple[Evidence, ...] = (),
        usage: Usage = NO_USAGE,
        judge: str | None = None,
        order: Mapping[str, Any] | None = None,
    ) -> Verdict:
        """The verdict for an answer that was read by `read`.

        Args:
            reading: the answer.
            reason, evidence, usage, judge, order: other fields of the verdict; see `Verdict`.

        Raises:
            InputError: its label is not one of the criterion's answers.
        """
        status, value = self.worth(reading)
        return Verdict(
            criterion=self.name,
            status=status,
            label=reading.label,
            value=value,
            probability=reading.probability,
            reason=reason,
            evidence=evidence,
            usage=usage,
            judge=judge,
            detail=reading.detail,
            answer=reading.answer,
            order=order,
        )

    def worth(self, reading: Reading) -> tuple[Status, float | None]:
        """The status of an answer, and its value in [0, 1] if it is judged."""
        if reading.label == ABSTENTION:
            return "abstained", None
        value = self.value(reading.label) if reading.value is None else reading.value
        return ("not_applicable" if value is None else "judged"), value

    def status(self, label: str) -> Status:
        """The status of a label."""
        return self.worth(Reading(label))[0]

    def label_of(self, label: object) -> str:
        """A person's label in the spelling of the criterion.

        People may also answer CANNOT_ASSESS on any criterion.

        Args:
            label: the person's label, such as MET.

        Raises:
            InputError: it is not one of the criterion's answers.
        """
        labels = self.labels
        if isinstance(label, str) and label in (*labels, ABSTENTION):
            return str(label)
        if not labels:  # what has a value is one
            self.value(str(label))
            return str(label)
        if not isinstance(label, str):
            hint = " (in YAML, put quotes around it)" if isinstance(label, bool) else ""
            raise InputError(
                f"expects a label as text, got {type(label).__name__} {label!r}{hint}; "
                f"allowed: {listed(labels)}"
            )
        raise InputError(f"has no label '{label}'; allowed: {listed(labels)}")

    def to_dict(self) -> dict[str, Any]:
        """The criterion as written to a file."""
        data: dict[str, Any] = {
            "name": self.name if self.is_named else None,
            "weight": self.weight,
            "requirement": self.requirement or None,
            "note": self.note,
            "kind": self.kind,
        }
        if self.options is not None:
            data["scale_type"] = self.scale_type
            data["options"] = [option.to_dict() for option in self.options]
        data.update(self._own_fields())
        data["aggregation"] = self.aggregation
        data["tags"] = list(self.tags) or None
        data["requires"] = written_gates(self.requires)
        return {**present(data), **(self.model_extra or {})}

    def _own_fields(self) -> dict[str, Any]:
        """The `own_fields` to write: those in `always_written`, or different from the default."""
        written: dict[str, Any] = {}
        for name in self.own_fields:
            value = getattr(self, name)
            if name in self.always_written or value != type(self).model_fields[name].default:
                written[name] = list(value) if isinstance(value, tuple) else value
        return written


_PACKAGE = __name__.rpartition(".")[0]
KINDS: dict[str, type[Criterion]] = {"binary": Criterion, "multi_choice": Criterion}


def kinds() -> Mapping[str, type[Criterion]]:
    """The class of each kind, by its name in files. Every subclass that sets `kind` is included.

    The built-in kinds are included even if they have not been imported yet.
    """
    _load_kinds()
    return KINDS


@cache
def _load_kinds() -> None:
    package = import_module(_PACKAGE)
    for name in package.__all__:
        getattr(package, name)


def with_bounds(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """The data of a criterion with `scale` (its highest score, or both ends) as bounds."""
    scale = data["scale"]
    bounds = [1, scale] if type(scale) is int else scale
    if data.get("kind", "scale") != "scale":
        return data
    is_pair = isinstance(bounds, list | tuple) and [*map(type, bounds)] == [int, int]
    if not is_pair or {"low", "high", "levels"} & {*data}:
        raise InputError(
            "scale is the highest score or both ends (scale: 5, scale: [1, 5]), without low, high "
            f"and levels beside it: found {shown(scale)}"
        )
    others = {key: value for key, value in data.items() if key != "scale"}
    return {**others, "kind": "scale", "low": bounds[0], "high": bounds[1]}


def build_criterion(data: Any, path: Sequence[str | int] = ()) -> Criterion:
    """Build a criterion of the right kind from loaded data.

    Raises:
        InputError: the kind is unknown, or the data do not fit it. The error has the path.
    """
    if isinstance(data, Criterion):
        return data
    if isinstance(data, Mapping) and "scale" in data:
        with errors_within(*path):
            data = with_bounds(data)
    kind = data.get("kind") if isinstance(data, Mapping) else None
    model = kinds().get(kind, Criterion) if isinstance(kind, str) else Criterion
    return validate(model, data, path)
