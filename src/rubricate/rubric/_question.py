"""What a judge is asked about a criterion, and how its answer is understood."""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from rubricate._frozen import quickly_made
from rubricate._model_json import model_json, refuse_repeats
from rubricate._spelling import unknown_word
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._verdict import CriterionVerdict

ABSTENTION = CriterionVerdict.CANNOT_ASSESS.value
ONE_OF_THE_LABELS = "The verdict is one of the labels above, letter for letter."


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer that a judge may give, and what it means in words."""

    label: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """What a judge is asked about one criterion. Weights and values are not in it.

    Attributes:
        requirement: what is required, in words.
        answers: the answers to be shown, in their order.
        verdict_schema: the JSON Schema of the answer's `verdict` field.
        form: how the verdict is to be written, in words.
        material: what the judge needs beside the requirement, such as a list to go through.
    """

    requirement: str
    answers: tuple[Answer, ...]
    verdict_schema: dict[str, Any]
    form: str = ONE_OF_THE_LABELS
    material: str | None = None

    @property
    def is_choice(self) -> bool:
        """Whether the verdict is one of the answers shown, and nothing else."""
        labels = [answer.label for answer in self.answers]
        return bool(labels) and self.verdict_schema.get("enum") == labels

    def in_order(self, order: Sequence[int]) -> Question:
        """The same question with its answers, by their indices, in another order."""
        answers = tuple(self.answers[index] for index in order)
        schema = self.verdict_schema
        if self.is_choice:
            schema = {**schema, "enum": [answer.label for answer in answers]}
        return replace(self, answers=answers, verdict_schema=schema)


@quickly_made
@dataclass(frozen=True, slots=True)
class Reading:
    """An answer as understood.

    Attributes:
        label: the answer as the rubric spells it; what values are computed from.
        quotes: passages that the answer itself quotes.
        detail: what the answer says beyond its label, as JSON values.
        answer: the answer as JSON values, where the label alone does not hold it.
        value: the answer's value, where it is not the label's.
        probability: the judge's probability for the label, where the answer says it.
        claims: the items that the answer says something of, each with its own quote, which may be
            empty.
    """

    label: str
    quotes: tuple[str, ...] = ()
    detail: Mapping[str, Any] | None = None
    answer: Any = None
    value: float | None = None
    probability: float | None = None
    claims: tuple[tuple[str, str], ...] = ()


def listed(names: Sequence[str]) -> str:
    """Names in quotes, with commas."""
    return ", ".join(f"'{name}'" for name in names)


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object that has all of these properties and no other."""
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def label_question(requirement: str, answers: Sequence[Answer]) -> Question:
    """A question that is answered with one of a few labels."""
    labels = [answer.label for answer in answers]
    return Question(requirement, tuple(answers), {"type": "string", "enum": labels})


def read_label(answer: object, labels: Sequence[str]) -> str:
    """The allowed label that `answer` is, letter case and surrounding space aside.

    So are quotes, markup and a full stop around it, and spaces for underscores ('**Met.**', 'cannot
    assess'), where no other label differs by them alone. A number or truth value in JSON (1, 0.5,
    true) is the label that is written like it.
    """
    written = answer
    if isinstance(answer, bool | int | float):
        whole = isinstance(answer, float) and answer.is_integer()
        written = json.dumps(int(answer) if whole else answer)
    if isinstance(written, str):
        if written in labels:
            return str(written)
        for form in (_folded, _bare):
            alike = [label for label in labels if form(label) == form(written)]
            if alike and (form is _folded or len(alike) == 1):
                return alike[0]
    allowed = ", ".join(repr(label) for label in labels)
    raise UnreadableReply(f"the verdict {reprlib.repr(answer)} is not one of: {allowed}")


def _folded(label: str) -> str:
    return label.strip().casefold()


def _bare(label: str) -> str:
    return " ".join(label.strip(" \t\r\n*_`\"'.").replace("_", " ").split()).casefold()


def read_object(answer: object, form: str = "an object") -> Mapping[str, Any] | None:
    """An answer that is an object, or JSON text of one; None where the judge abstains.

    Args:
        answer: what the judge said.
        form: what it should have been, in words.

    Raises:
        UnreadableReply: it is something else.
    """
    if isinstance(answer, str):
        if answer.strip().casefold() == ABSTENTION.casefold():
            return None
        with contextlib.suppress(ValueError):
            value, ends = model_json(answer)
            refuse_repeats(value)
            answer = value if ends else answer
    if isinstance(answer, Mapping):
        return answer
    raise UnreadableReply(f"the verdict {reprlib.repr(answer)} is not {form}")


def read_share(value: object) -> float | None:
    """A number from 0 to 1, given as one or as text; None if it is none."""
    if isinstance(value, bool) or not isinstance(value, Real | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number + 0.0 if math.isfinite(number) and 0.0 <= number <= 1.0 else None


def unknown_label(label: str, labels: Sequence[str]) -> InputError:
    """The error for a label that none of a criterion's answers has."""
    return InputError(unknown_word("label", label, labels))
