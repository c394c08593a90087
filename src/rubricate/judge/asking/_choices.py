"""The prompt of a verdict that is one token, without a reason."""

from __future__ import annotations

import re
import string
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache

from rubricate.dataset import Item
from rubricate.judge.asking._examples import Example
from rubricate.judge.asking._prompts import PROMPT_VERSION, prefix, sendable, template
from rubricate.judge.models import Message, Request
from rubricate.rubric import ABSTENTION, Criterion, Question

CONTENT_FREE = "N/A"
_CANNOT = "X"
"""What stands for CANNOT_ASSESS among digits."""


def choice_question(criterion: Criterion) -> Question | None:
    """What is asked, if it can be answered with one token; else None."""
    question = criterion.question
    few = len(question.answers) <= len(string.ascii_uppercase)
    return question if question.is_choice and few else None


def choice_tokens(labels: Sequence[str]) -> tuple[str, ...]:
    """What stands for each label: one digit for itself where all are that, else A, B, C, ..."""
    if all(label == ABSTENTION or re.fullmatch("[0-9]", label) for label in labels):
        return tuple(_CANNOT if label == ABSTENTION else label for label in labels)
    return tuple(string.ascii_uppercase[: len(labels)])


def render_choice(
    item: Item,
    criterion: Criterion,
    order: tuple[int, ...],
    examples: tuple[Example, ...] = (),
    *,
    free: bool = False,
) -> Request:
    """The messages that ask a model for the token of one of the answers, in this order.

    `free` leaves the criterion out: only the answers' labels are left.
    """
    return choice_request(*prefix(item, False, examples, choosing=True), criterion, order, free)


def choice_request(
    system: str, material: str, criterion: Criterion, order: tuple[int, ...], free: bool
) -> Request:
    """`render_choice` with the system's message and how the user's begins."""
    text, tokens = _suffix(criterion, order, free)
    return Request(
        (Message(role="system", content=system), Message(role="user", content=material + text)),
        None,
        shared=material,
        choices=tokens,
        kept=True,
    )


@lru_cache(maxsize=4096)
def _suffix(
    criterion: Criterion, order: tuple[int, ...], free: bool
) -> tuple[str, tuple[str, ...]]:
    """How the user's message ends, and the tokens of the answers: the same for all items."""
    question, note = criterion.question.in_order(order), criterion.note
    if free:
        answers = tuple(replace(answer, meaning=None) for answer in question.answers)
        question = replace(question, requirement=CONTENT_FREE, material=None, answers=answers)
        note = None
    tokens = choice_tokens([answer.label for answer in question.answers])
    text = template(f"{PROMPT_VERSION}/choice").render(question=question, note=note, tokens=tokens)
    return sendable(text), tokens
