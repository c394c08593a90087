"""The prompts for long documents: about a part, all findings, or the outline."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any

from rubricate.dataset import Item
from rubricate.judge.asking import (
    NOTE,
    choice_request,
    code_for,
    neutral,
    neutral_item,
    request_of,
    request_schema,
    sendable,
    suffix,
    template,
    texts_of,
)
from rubricate.judge.models import Request
from rubricate.rubric import Criterion

DOCUMENT_PROMPTS = "documents-1"
"""The folder of templates in use. Changed wording means a new folder, and new journal keys."""
_template = partial(template, folder=DOCUMENT_PROMPTS)
RELEVANT, NOTHING_HERE = "RELEVANT", "NOTHING"
LABELS = (RELEVANT, NOTHING_HERE)
"""The possible results of reading a part."""


def render_part(item: Item, place: str, criterion: Criterion) -> Request:
    """Return the messages that ask what a part has on a criterion.

    Args:
        item: the part as the submission, with the document's other data.
        place: which part it is, and the headings above it.
        criterion: the criterion.
    """
    return request_of(*_part_prefix(item, place), *_finding_suffix(criterion))


def render_whole(
    item: Item, kind: str, criterion: Criterion, order: tuple[int, ...] | None = None
) -> Request:
    """Return the messages that ask for a verdict on the whole document.

    Args:
        item: the outline or the findings as the submission.
        kind: `findings` or `outline`.
        criterion: the criterion.
        order: the order of its answers; None for its own.
    """
    return request_of(*_whole_prefix(item, kind, False), *suffix(criterion, order))


def render_whole_choice(
    item: Item, kind: str, criterion: Criterion, order: tuple[int, ...], free: bool
) -> Request:
    """The messages that ask for the token of a verdict on the whole; see `render_choice`."""
    return choice_request(*_whole_prefix(item, kind, True), criterion, order, free)


def _whole_prefix(item: Item, kind: str, choosing: bool) -> tuple[str, str]:
    system = _template("whole_system").render(
        kind=kind, guidelines=item.guidelines, choosing=choosing
    )
    return sendable(system), _material("whole", item, kind=kind)


@lru_cache(maxsize=64)
def _part_prefix(item: Item, place: str) -> tuple[str, str]:
    system = _template("part_system").render(guidelines=item.guidelines)
    return sendable(system), _material("part", item, place=place)


@lru_cache(maxsize=1024)
def _finding_suffix(criterion: Criterion) -> tuple[str, dict[str, Any]]:
    fault = criterion.weight < 0
    text = _template("finding").render(
        question=criterion.question, note=criterion.note, fault=fault
    )
    return sendable(text), request_schema({"type": "string", "enum": list(LABELS)})


def _material(name: str, item: Item, **more: str) -> str:
    seen = neutral_item(item)
    shown = {key: neutral(text) for key, text in more.items()}
    text = _template(name).render(
        tag=code_for([*texts_of(item), *shown.values()]),
        prompt=seen.prompt,
        context=seen.context,
        reference=seen.reference,
        submission=seen.submission,
        **shown,
    )
    return sendable(text if seen is item and shown == more else NOTE + text)
