"""The items of a finished run, one after the other, with all that was said of each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

import orjson

from rubricate._files import user_path
from rubricate.errors import InputError

__all__ = ["WRITE_ANEW", "FinishedItem", "check_whole", "finished_items", "finished_rows"]

WRITE_ANEW = "run the same grade command again: it writes them anew from the journal"
AT_ONCE = 1 << 20
"""Bytes that are counted through together."""


@dataclass(frozen=True, slots=True)
class FinishedItem:
    """One item of a finished run.

    Attributes:
        id: its identifier.
        description: what it is, in a few words.
        rows: its lines of `results.jsonl`, one a criterion.
        submission, prompt, reference: its texts as they were judged; None where the folder, of an
            earlier version, does not have them (or where there is no reference).
        context: its documents: texts, or objects with `title` and `text`.
    """

    id: str
    description: str
    rows: tuple[dict[str, Any], ...]
    submission: str | None = None
    prompt: str | None = None
    reference: str | None = None
    context: tuple[str | dict[str, str], ...] = ()


def finished_items(folder: str | Path) -> Iterator[FinishedItem]:
    """The items of a run folder in the dataset's order; one is held at a time.

    Raises:
        InputError: a file is missing or damaged; with its line.
    """
    path = user_path(folder)
    texts = path / "items.jsonl"
    items = _objects(texts) if texts.exists() else None
    for found in finished_rows(path):
        name = found[0]["item"]
        text = {} if items is None else next(items, {})
        if items is not None and text.get("item") != name:
            raise InputError(
                "does not have the items of results.jsonl; run the same grade command again: it "
                "writes both anew from the journal",
                file=texts,
            )
        yield FinishedItem(
            id=name,
            description=found[0].get("description") or "",
            rows=found,
            submission=text.get("submission"),
            prompt=text.get("prompt"),
            reference=text.get("reference"),
            context=tuple(text.get("context", ())),
        )


def finished_rows(folder: str | Path) -> Iterator[tuple[dict[str, Any], ...]]:
    """The lines of each item in `results.jsonl`, in the dataset's order; one item is held.

    Raises:
        InputError: the file is missing or damaged; with its line.
    """
    lines = _objects(user_path(folder) / "results.jsonl")
    for _, rows in groupby(lines, key=itemgetter("item")):
        yield tuple(rows)


def check_whole(folder: Path, summary: Mapping[str, Any]) -> None:
    """See that `results.jsonl` has a whole line for each verdict of the summary.

    Raises:
        InputError: it has not, or it cannot be read.
    """
    path, verdicts = folder / "results.jsonl", summary.get("verdicts")
    if not isinstance(verdicts, dict) or not all(type(n) is int for n in verdicts.values()):
        return
    expected = sum(verdicts.values())
    lines, rest = 0, b""
    try:
        with path.open("rb") as file:
            while part := file.read(AT_ONCE):
                lines += part.count(b"\n")
                rest = part
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}; {WRITE_ANEW}", file=path) from None
    if lines < expected or not rest.endswith(b"\n"):
        raise InputError(
            f"is not whole: it has {lines} lines for {expected} verdicts; {WRITE_ANEW}",
            file=path,
        )


def _objects(path: Path) -> Iterator[dict[str, Any]]:
    try:
        with path.open("rb") as lines:
            for number, line in enumerate(lines, start=1):
                try:
                    found = orjson.loads(line)
                    found["item"]
                except (orjson.JSONDecodeError, KeyError, TypeError):
                    raise InputError(
                        f"not a line of a run's results; {WRITE_ANEW}", file=path, line=number
                    ) from None
                yield found
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}", file=path) from None
