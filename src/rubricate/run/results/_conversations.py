"""Reads from the journal of a finished run what was sent and received for its verdicts."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rubricate.errors import InputError, JournalError
from rubricate.rubric import Verdict
from rubricate.run.journal import Database, Exchange, open_journal, read_lines
from rubricate.run.results._folder import journal_to_read
from rubricate.run.results._rows import ResultRow

NOT_KEPT = "not kept by the version of rubricate that made the request"
NOT_SENT = "no request was sent for it"
HELD = 64
"""Texts that are cached, because those of an item occur for each of its criteria."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What was sent and received for one judgement.

    Attributes:
        judge: the name of the judge.
        exchanges: its requests and replies in order, including failed ones of earlier runs.
        missing: why there are none; None if there are some.
    """

    judge: str | None
    exchanges: tuple[Exchange, ...]
    missing: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The conversation as JSON values."""
        record: dict[str, Any] = {
            "judge": self.judge,
            "exchanges": [exchange.to_dict() for exchange in self.exchanges],
        }
        return record if self.missing is None else record | {"missing": self.missing}


class Conversations:
    """Looks up exchanges in the journal of a run folder, without changing it.

    Args:
        folder: the run folder.
        journal: the address of the database. Default: the one noted in the folder, if the user has
            named that server before.

    Raises:
        InputError: the journal cannot be read, or the user has not named its server.
    """

    def __init__(self, folder: Path, journal: str | None = None) -> None:
        self._path = journal_to_read(folder, journal)
        self._text = lru_cache(maxsize=HELD)(self._read_text)
        try:
            self._journal = open_journal(self._path, access="reading")
        except JournalError as error:
            raise self._problem(error) from None
        if isinstance(self._path, Database) and not self._journal.has_a_past:
            raise self._problem(JournalError(f"{self._path}: there is no such run"))

    def _problem(self, error: JournalError) -> InputError:
        text = f"what was sent and received cannot be read: {error}"
        return InputError(text, file=self._path if isinstance(self._path, Path) else None)

    def of(self, row: ResultRow) -> list[Conversation]:
        """The conversations behind a verdict, one for each judge."""
        if not row.keys:
            return [Conversation(row.judge, (), NOT_KEPT if row.keys is None else NOT_SENT)]
        votes = row.votes or [row] * len(row.keys)
        return [self._of(key, vote) for key, vote in zip(row.keys, votes, strict=False)]

    def _of(self, key: str, vote: Verdict) -> Conversation:
        try:
            lines = self._lines(key)
            parts = () if lines is None else tuple(read_lines(lines, self._text, self._lines))
        except JournalError as error:
            raise self._problem(error) from None
        missing = None
        if not parts:
            missing = NOT_KEPT if vote.usage.requests else NOT_SENT
        return Conversation(vote.judge, parts, missing)

    def _lines(self, key: str) -> bytes | None:
        return self._journal.exchanges([key]).get(key)

    def _read_text(self, name: str) -> str | None:
        try:
            text = self._journal.texts([name]).get(name)
            return None if text is None else zlib.decompress(text).decode()
        except (zlib.error, TypeError, UnicodeDecodeError):
            return None

    def __enter__(self) -> Conversations:
        return self

    def __exit__(self, *_: object) -> None:
        self._journal.close()
