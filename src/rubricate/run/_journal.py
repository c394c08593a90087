"""The journal: every finished judgement under a key of all that could change it.

An SQLite file in write-ahead mode. Records are committed in batches, at most `BATCH` records or
`INTERVAL` seconds apart: a killed process loses at most those. One process has a journal at a
time.
"""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import orjson

from rubricate.errors import JournalError
from rubricate.run._records import to_json

__all__ = ["Journal"]

BATCH = 64
INTERVAL = 0.2
_FORMAT = 1
_TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises for a file that it cannot use; the latter where its message is damaged too."""


class Journal:
    """Records by key, durable.

    Args:
        path: the file, made if it is not there; None keeps the journal in memory.

    Attributes:
        has_a_past: whether it had records when it was opened.

    Raises:
        JournalError: the file cannot be used, is not a journal, or another process has it.
    """

    def __init__(self, path: Path | None) -> None:
        self._name = "the journal in memory" if path is None else str(path)
        self._waiting: dict[str, bytes] = {}
        self._last_commit = time.monotonic()
        try:
            self._database = sqlite3.connect(
                ":memory:" if path is None else path, timeout=0.5, isolation_level=None
            )
        except _TROUBLE as error:
            raise self._problem(error) from None
        try:
            self._database.execute("PRAGMA locking_mode=EXCLUSIVE")
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute("BEGIN IMMEDIATE")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS records"
                " (key TEXT PRIMARY KEY, record BLOB NOT NULL, finished REAL NOT NULL)"
                " WITHOUT ROWID"
            )
            (version,) = self._database.execute("PRAGMA user_version").fetchone()
            if version not in (0, _FORMAT):
                raise JournalError(
                    f"{self._name}: written by another version of rubricate (format {version}); "
                    "use another run folder"
                )
            self._database.execute(f"PRAGMA user_version={_FORMAT}")
            (found,) = self._database.execute("SELECT EXISTS (SELECT 1 FROM records)").fetchone()
            self.has_a_past = bool(found)
            self._database.execute("COMMIT")
        except _TROUBLE as error:
            self._database.close()
            raise self._problem(error) from None
        except JournalError:
            self._database.close()
            raise

    def _problem(self, error: Exception) -> JournalError:
        if "locked" in str(error):
            return JournalError(
                f"{self._name}: another process is grading into this run folder; "
                "wait for it or choose another --run-dir"
            )
        return JournalError(f"{self._name}: {error}")

    def get(self, key: str) -> dict[str, Any] | None:
        """The record under a key, or None. A failed judgement counts as not there."""
        found = self._waiting.get(key)
        if found is None:
            try:
                row = self._database.execute(
                    "SELECT record FROM records WHERE key = ?", (key,)
                ).fetchone()
            except _TROUBLE as error:
                raise self._problem(error) from None
            if row is None:
                return None
            found = row[0]
        try:
            record: dict[str, Any] = orjson.loads(found)
            return None if record["status"] == "failed" else record
        except (orjson.JSONDecodeError, KeyError, TypeError):
            raise JournalError(
                f"{self._name}: the record {key} is damaged; use another run folder"
            ) from None

    def put(self, key: str, record: dict[str, Any]) -> None:
        """Keep a record; it is on disk after the next commit."""
        self._waiting[key] = to_json(record)
        if len(self._waiting) >= BATCH or time.monotonic() - self._last_commit >= INTERVAL:
            self.commit()

    def commit(self) -> None:
        """Write what is waiting."""
        self._last_commit = time.monotonic()
        if not self._waiting:
            return
        now = time.time()
        rows = [(key, record, now) for key, record in self._waiting.items()]
        try:
            self._database.execute("BEGIN")
            self._database.executemany("INSERT OR REPLACE INTO records VALUES (?, ?, ?)", rows)
            self._database.execute("COMMIT")
        except _TROUBLE as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise self._problem(error) from None
        self._waiting.clear()

    def __enter__(self) -> Journal:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.commit()
        finally:
            self._database.close()
