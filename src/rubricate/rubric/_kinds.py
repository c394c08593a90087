"""The kinds of criterion. A kind knows what to ask, how to read the answer, and its worth.

Nothing outside this module switches on the kind of a criterion.
"""

from __future__ import annotations

import reprlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from rubricate._documents import suggestion
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._verdict import CriterionVerdict, Status

if TYPE_CHECKING:
    from rubricate.rubric._criterion import Criterion

__all__ = ["KINDS", "Answer", "Kind", "Question", "Reading"]

ABSTENTION = CriterionVerdict.CANNOT_ASSESS.value


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that a judge may give, and what it means in words."""

    label: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked about one criterion. Weights and values are not in it.

    `verdict_schema` is the JSON Schema of the answer's `verdict` field.
    """

    requirement: str
    answers: tuple[Answer, ...]
    verdict_schema: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer as understood: its status and the label as the rubric spells it."""

    status: Status
    label: str


class Kind(Protocol):
    """How one kind of criterion is asked, read and valued."""

    name: str

    def ask(self, criterion: Criterion) -> Question:
        """What to ask a judge."""
        ...

    def read(self, criterion: Criterion, answer: object) -> Reading:
        """Understand an answer; `UnreadableReply` if it is not one of those allowed."""
        ...

    def value(self, criterion: Criterion, label: str) -> float | None:
        """The label's worth in [0, 1]; None for answers outside the score."""
        ...

    def value_range(self, criterion: Criterion) -> tuple[float, float]:
        """The least and the most that an answer can be worth."""
        ...


def _read_label(answer: object, labels: list[str]) -> str:
    """The allowed label that `answer` is, letter case and surrounding space aside."""
    if isinstance(answer, str):
        for label in labels:
            if answer.strip().casefold() == label.strip().casefold():
                return label
    allowed = ", ".join(repr(label) for label in labels)
    raise UnreadableReply(f"the verdict {reprlib.repr(answer)} is not one of: {allowed}")


def _question(criterion: Criterion, answers: list[Answer]) -> Question:
    labels = [answer.label for answer in answers]
    return Question(criterion.requirement, tuple(answers), {"type": "string", "enum": labels})


class Binary:
    """Met or not met."""

    name = "binary"
    labels = tuple(verdict.value for verdict in CriterionVerdict)

    def ask(self, criterion: Criterion) -> Question:
        if criterion.weight < 0:
            met = "the fault that the criterion describes is present in the submission"
            unmet = "the fault is not present"
        else:
            met = "the submission meets the criterion"
            unmet = "it does not"
        cannot = "the material does not allow a decision either way"
        return _question(
            criterion,
            [Answer("MET", met), Answer("UNMET", unmet), Answer(ABSTENTION, cannot)],
        )

    def read(self, criterion: Criterion, answer: object) -> Reading:
        label = _read_label(answer, list(self.labels))
        return Reading("abstained" if label == ABSTENTION else "judged", label)

    def value(self, criterion: Criterion, label: str) -> float | None:
        if label not in self.labels:
            raise InputError(
                f"the criterion is binary but got invalid verdict '{label}'. "
                "Must be 'MET', 'UNMET', or 'CANNOT_ASSESS'."
            )
        return {"MET": 1.0, "UNMET": 0.0}.get(label)

    def value_range(self, criterion: Criterion) -> tuple[float, float]:
        return 0.0, 1.0


class MultiChoice:
    """One of several options, each with a value; options marked `na` are outside the score."""

    name = "multi_choice"

    def ask(self, criterion: Criterion) -> Question:
        answers = [Answer(option.label, option.description) for option in criterion.options or ()]
        cannot = "the material does not allow a decision between the options"
        return _question(criterion, [*answers, Answer(ABSTENTION, cannot)])

    def read(self, criterion: Criterion, answer: object) -> Reading:
        options = criterion.options or ()
        label = _read_label(answer, [*(option.label for option in options), ABSTENTION])
        if label == ABSTENTION:
            return Reading("abstained", label)
        chosen = options[criterion.find_option_by_label(label)]
        return Reading("not_applicable" if chosen.na else "judged", label)

    def value(self, criterion: Criterion, label: str) -> float | None:
        options = criterion.options or ()
        labels = [option.label for option in options]
        if label not in labels:
            near = suggestion(label, labels)
            hint = f" (did you mean '{near}'?)" if near else ""
            raise InputError(
                f"no option has the label '{label}'{hint}; the labels are: "
                + ", ".join(f"'{known}'" for known in labels)
            )
        chosen = options[labels.index(label)]
        return None if chosen.na else chosen.value

    def value_range(self, criterion: Criterion) -> tuple[float, float]:
        values = [
            option.value
            for option in criterion.options or ()
            if not option.na and option.value is not None
        ]
        return min(values), max(values)


KINDS: dict[str, Kind] = {kind.name: kind for kind in (Binary(), MultiChoice())}
