"""The question to a judge about a criterion, and how to read the answer."""

from __future__ import annotations

import contextlib
import json
import math
import reprlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

from rubricate._model_json import model_json, refuse_repeats
from rubricate._spelling import unknown_word
from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._verdict import CriterionVerdict

ABSTENTION = CriterionVerdict.CANNOT_ASSESS.value
ONE_OF_THE_LABELS = "The verdict is one of the labels above, letter for letter."


@dataclass(frozen=True, slots=True)
class Answer:
    """A possible answer and its meaning."""

    label: str
    meaning: str | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """The question to a judge about one criterion, without weights and values.

    Attributes:
        requirement: what is required, in words.
        answers: the answers to show, in order.
        verdict_schema: the JSON Schema of the answer's `verdict` field.
        form: how to write the verdict, in words.
        material: further material for the judge, such as a list to go through.
    """

    requirement: str
    answers: tuple[Answer, ...]
    verdict_schema: dict[str, Any]
    form: str = ONE_OF_THE_LABELS
    material: str | None = None

    @property
    def is_choice(self) -> bool:
        """Whether the verdict must be one of the answers shown."""
        labels = [answer.label for answer in self.answers]
        return bool(labels) and self.verdict_schema.get("enum") == labels

    def in_order(self, order: Sequence[int]) -> Question:
        """The same question with its answers in another order, given by indices."""
        answers = tuple(self.answers[index] for index in order)
        schema = self.verdict_schema
        if self.is_choice:
            schema = {**schema, "enum": [answer.label for answer in answers]}
        return replace(self, answers=answers, verdict_schema=schema)


@dataclass(frozen=True, slots=True)
class Reading:
    """An answer after reading it.

    Attributes:
        label: the answer in the spelling of the rubric; values are computed from it.
        quotes: quotes within the answer.
        detail: the parts of the answer beyond its label, as JSON values.
        answer: the answer as JSON values, if the label is not enough to restore it.
        value: the value of the answer, if it differs from that of the label.
        probability: the judge's probability for the label, if the answer has it.
        claims: the items in the answer, each with its quote, which may be empty.
    """

    label: str
    quotes: tuple[str, ...] = ()
    detail: Mapping[str, Any] | None = None
    answer: Any = None
    value: float | None = None
    probability: float | None = None
    claims: tuple[tuple[str, str], ...] = ()


def listed(names: Sequence[str]) -> str:
    """Names in quotes, separated by commas."""
    return ", ".join(f"'{name}'" for name in names)


def closed_object(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The JSON Schema of an object with exactly these properties."""
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
    """The allowed label that equals `answer`, ignoring letter case and surrounding space.

    Quotes, markup and a full stop around it, and spaces instead of underscores, are also ignored
    ('**Met.**', 'cannot assess'), unless labels differ only in these. A number or boolean in JSON
    (1, 0.5, true) matches the label that is written like it.
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
    """An answer that is an object, or an object as JSON text; None if the judge abstains.

    Args:
        answer: the judge's answer.
        form: the expected form, in words.

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
    """A number from 0 to 1, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number + 0.0 if math.isfinite(number) and 0.0 <= number <= 1.0 else None


def unknown_label(label: str, labels: Sequence[str]) -> InputError:
    """The error for an unknown label."""
    return InputError(unknown_word("label", label, labels))
