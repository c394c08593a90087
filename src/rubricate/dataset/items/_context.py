"""Documents that a submission rests on, such as retrieved passages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.errors import InputError

KEYS = {"text", "title"}


@dataclass(frozen=True, slots=True)
class ContextDocument:
    """A text that the judge is shown beside the submission, and its title if it has one.

    Attributes:
        text: what the judge is shown.
        title: above it; None for none.
    """

    text: str
    title: str | None = None

    def to_json(self) -> str | dict[str, str]:
        """The document as it is written to a file: its text, or an object with its title."""
        return self.text if self.title is None else {"title": self.title, "text": self.text}


def read_context(value: Any) -> list[ContextDocument]:
    """Documents out of a list of texts or of `{title, text}`, or out of one text.

    Raises:
        InputError: it is something else; says which document.
    """
    if value is None:
        return []
    if isinstance(value, str | Mapping | ContextDocument):
        return [_document(value, ())]
    if not isinstance(value, Sequence):
        raise InputError(f"expected texts or {{title, text}}, found {type(value).__name__}")
    return [_document(one, (index,)) for index, one in enumerate(value)]


def _document(value: Any, path: tuple[int, ...]) -> ContextDocument:
    if isinstance(value, ContextDocument):
        return value
    if isinstance(value, str):
        return ContextDocument(value)
    if not isinstance(value, Mapping) or not isinstance(value.get("text"), str):
        raise InputError("expected a text, or {title, text}", path=path)
    title = value.get("title")
    if value.keys() - KEYS or not isinstance(title, str | None):
        raise InputError("expected a text, or {title, text} with nothing else", path=path)
    return ContextDocument(value["text"], title)
