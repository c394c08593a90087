"""What was sent and received for the verdicts of a finished run, out of its journal."""

from __future__ import annotations

import sqlite3
import zlib
from collections.abc import Mapping
from contextlib import ExitStack, closing
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import TracebackType
from typing import Any

from rubricate.errors import InputError
from rubricate.run.journal import TROUBLE, Exchange, read_lines
from rubricate.run.results._folder import JOURNAL_NAME

__all__ = ["Conversation", "Conversations"]

NOT_KEPT = "not kept by the version of rubricate that asked for it"
NOT_SENT = "no request was sent for it"
HELD = 64
"""Texts that are held: those of an item come again for each of its criteria."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was sent and received for one judgement.

    Attributes:
        judge: who judged.
        exchanges: its requests and their replies in order, with those of earlier runs that failed.
        missing: why there are none; None where there are some.
    """

    judge: str | None
    exchanges: tuple[Exchange, ...]
    missing: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """It as JSON values."""
        found: dict[str, Any] = {
            "judge": self.judge,
            "exchanges": [exchange.to_dict() for exchange in self.exchanges],
        }
        return found if self.missing is None else found | {"missing": self.missing}


class Conversations:
    """Looks up what was sent and received in a run folder's journal, which it only reads.

    Args:
        folder: the run folder.

    Raises:
        InputError: the journal cannot be read.
    """

    def __init__(self, folder: Path) -> None:
        self._path = folder / JOURNAL_NAME
        self._stack = ExitStack()
        self._text = lru_cache(maxsize=HELD)(self._read_text)
        try:
            self._database = self._opened()
            columns = self._database.execute("PRAGMA table_info(records)").fetchall()
        except TROUBLE as error:
            self._stack.close()
            raise self._problem(error) from None
        self._has_exchanges = any(name == "exchanges" for _, name, *_ in columns)

    def _opened(self) -> sqlite3.Connection:
        if not self._path.exists():
            raise sqlite3.OperationalError("no such file")
        for how in ("mode=ro", "mode=ro&immutable=1"):  # the latter in a folder of somebody else's
            uri = f"{self._path.absolute().as_uri()}?{how}"
            database = sqlite3.connect(uri, uri=True, timeout=0.5)
            try:
                database.execute("SELECT 1 FROM sqlite_master").fetchall()
            except sqlite3.OperationalError as error:
                database.close()
                if how != "mode=ro" or "locked" in str(error):
                    raise
            else:
                break
        self._stack.enter_context(closing(database))
        return database

    def _problem(self, error: Exception) -> InputError:
        text = str(error)
        if "locked" in text:
            text = "another process is grading into this run folder; wait for it"
        return InputError(f"what was sent and received cannot be read: {text}", file=self._path)

    def of(self, row: Mapping[str, Any]) -> list[Conversation]:
        """The conversations behind a line of `results.jsonl`: one for each judge that was asked."""
        keys = row.get("keys")
        if keys is None:
            return [Conversation(row["judge"], (), NOT_KEPT)]
        if not keys:
            return [Conversation(row["judge"], (), NOT_SENT)]
        votes = row.get("votes") or [row] * len(keys)
        return [self._of(key, vote) for key, vote in zip(keys, votes, strict=False)]

    def _of(self, key: str, vote: Mapping[str, Any]) -> Conversation:
        try:
            lines = self._lines(key)
            found = () if lines is None else tuple(read_lines(lines, self._text, self._lines))
        except TROUBLE as error:
            raise self._problem(error) from None
        missing = None
        if not found:
            missing = NOT_KEPT if vote["usage"]["requests"] else NOT_SENT
        return Conversation(vote["judge"], found, missing)

    def _lines(self, key: str) -> bytes | None:
        if not self._has_exchanges:
            return None
        query = "SELECT exchanges FROM records WHERE key = ?"
        row = self._database.execute(query, (key,)).fetchone()
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def _read_text(self, name: str) -> str | None:
        query = "SELECT text FROM texts WHERE name = ?"
        row = self._database.execute(query, (name,)).fetchone()
        try:
            return None if row is None else zlib.decompress(row[0]).decode()
        except (zlib.error, TypeError, UnicodeDecodeError):
            return None

    def __enter__(self) -> Conversations:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()
