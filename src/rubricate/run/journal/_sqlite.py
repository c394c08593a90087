"""The journal in an SQLite file, in write-ahead mode.

Records are committed in batches, after at most `BATCH` records or `INTERVAL` seconds; a killed
process loses no more than one batch. One process uses a journal at a time; a cache has the same
format and is shared.

Each record is stored with its exchanges (`_exchanges`): in a journal all that was ever asked under
its key, in a cache only those of the present answer. Texts that exchanges name by hash are in a
separate table.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache
from pathlib import Path
from typing import Any

from rubricate.errors import JournalError
from rubricate.run.journal._claims import LEASE
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._journal import BATCH, MOST_EXCHANGES, REACH, Journal, Keys
from rubricate.run.journal._ledger import UNKNOWN, Decide, Entry, Paid, entry_of
from rubricate.run.journal._places import Access
from rubricate.run.journal._records import Judged

INTERVAL = 0.2
"""Seconds after which an incomplete batch is written. At half, a slow run writes twice as often; at
double, a killed process loses twice as many answers."""
PAGE = 8192
"""Page size of a new file, in bytes. At half (SQLite's default), writing an answer takes a tenth
longer; at double it makes no difference."""
CHECKPOINT = 2000
"""Pages of the write-ahead log (16 MB) that are moved into the file at once. At half (about
SQLite's default), each of 40,000 answers takes 7 % longer; at double the same, with twice the
log."""
AT_ONCE = 500
"""Keys that are looked up together; SQLite accepts at least 999 parameters."""
PATIENCE = {False: 0.5, True: 5.0}
"""Seconds to wait for another process that uses the file, by whether several may use it."""
SHARED_PATIENCE = 60.0
"""Seconds to wait while another process of the same run writes. A worker that is frozen in the
middle of a commit blocks all others until it is ended, which takes up to 37 s; at half, that would
fail the run."""
_FORMAT = 4
_WITHOUT_EXCHANGES = 2
_KNOWN = (0, _WITHOUT_EXCHANGES, 3, _FORMAT)
"""Readable formats: an empty file, one without exchanges, one with reasons inside the records."""
TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""Errors of SQLite for an unusable file; the latter if its message is damaged, too."""
_MALFORMED = "malformed"
"""The word in SQLite's messages about damaged files."""


def write_ahead(database: sqlite3.Connection, patience: float) -> None:
    """Switch a database to write-ahead mode.

    SQLite itself does not wait if another process is doing the same.

    Args:
        database: its connection.
        patience: seconds to wait.
    """
    until = time.monotonic() + patience
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() >= until:
                raise
            time.sleep(0.005)
        else:
            return


def _read_only(path: Path) -> sqlite3.Connection:
    """A connection that creates nothing in the folder, which may belong to another user."""
    if not path.exists():
        raise sqlite3.OperationalError("no such file")
    try:
        return _connect(f"{path.absolute().as_uri()}?mode=ro")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise
    return _connect(f"{path.absolute().as_uri()}?mode=ro&immutable=1")


def _connect(uri: str) -> sqlite3.Connection:
    database = sqlite3.connect(uri, uri=True, timeout=PATIENCE[False], isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchall()
    except TROUBLE:
        database.close()
        raise
    return database


class DamagedJournal(JournalError):
    """The file is a journal, but parts of it cannot be read."""


class SQLiteJournal(Journal):
    """A journal in a file.

    Args:
        path: the file, created if missing.
        access: how this process uses it. With `alone`, the file itself is locked; with `reading`,
            nothing is created, so that it works in folders of other users.
        locks: further locks, released by `close`.

    Raises:
        DamagedJournal: parts of the file cannot be read (checked only if one process uses it).
        JournalError: the file cannot be used, is not a journal, or another process is using it.
    """

    def __init__(
        self, path: Path, access: Access = "alone", locks: ExitStack | None = None
    ) -> None:
        super().__init__(access)
        self._name = str(path)
        self._has_others = access not in ("alone", "reading")
        self._locks = locks
        self._last_commit = time.monotonic()
        try:
            if access == "reading":
                self._database = _read_only(path)
            else:
                if not path.exists():
                    path.touch(mode=0o600)
                patience = PATIENCE[self._has_others]
                self._database = sqlite3.connect(path, timeout=patience, isolation_level=None)
        except (*TROUBLE, OSError) as error:
            raise self._problem(error) from None
        self._execute = self._database.execute
        try:
            with self._reworded():
                self._set_up()
        except JournalError:
            self._database.close()
            raise

    def _set_up(self) -> None:
        """Create missing tables, and check whether there are records."""
        run, access = self._execute, self._access
        if access == "reading":
            version = self._version()
            self.has_a_past = bool(version) and self._has_records()
            self._keys = None if self.has_a_past else Keys()
            self._exchanges = "NULL" if version == _WITHOUT_EXCHANGES else "exchanges"
            return
        if not self._has_others:
            run("PRAGMA locking_mode=EXCLUSIVE")
        run(f"PRAGMA page_size={PAGE}")
        write_ahead(self._database, PATIENCE[self._has_others])
        run("PRAGMA synchronous=NORMAL")
        run(f"PRAGMA wal_autocheckpoint={CHECKPOINT}")
        with self._transaction():
            version = self._version()
            run(_RECORDS)
            run("CREATE TABLE IF NOT EXISTS texts (name TEXT PRIMARY KEY, text BLOB NOT NULL)")
            if version == _WITHOUT_EXCHANGES:
                run("ALTER TABLE records ADD COLUMN exchanges BLOB")
            if version != _FORMAT:
                run(f"PRAGMA user_version={_FORMAT}")
            has_records = self._has_records()
            if self._is_cache:
                run(_CLAIMS)
            else:
                run(_SPENDING)
                is_unpaid = run("SELECT 1 FROM spending LIMIT 1").fetchone() is None
                if has_records and is_unpaid and run(_TOOK_REQUESTS).fetchone() is not None:
                    run(_NOTE, UNKNOWN)
        self._exchanges = "exchanges"
        if self._has_others and not self._is_cache:
            run(f"PRAGMA busy_timeout={1000 * SHARED_PATIENCE:.0f}")
        is_checked = has_records and not self._has_others
        if is_checked and run("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError(_MALFORMED)
        # The workers of a driver start later.
        self.has_a_past = has_records or (self._has_others and access != "driver")
        if not (self.has_a_past or self._has_others):
            self._keys = Keys()

    def _has_records(self) -> bool:
        return bool(self._execute("SELECT EXISTS (SELECT 1 FROM records)").fetchone()[0])

    def _version(self) -> int:
        (version,) = self._execute("PRAGMA user_version").fetchone()
        if version in _KNOWN:
            return int(version)
        hint = "use another --cache" if self._is_cache else "use another run folder, or --fresh"
        raise JournalError(
            f"{self._name}: written by another version of rubricate (format {version}); {hint}"
        )

    @contextmanager
    def _reworded(self) -> Iterator[None]:
        """Turn errors of SQLite into messages for people."""
        try:
            yield
        except TROUBLE as error:
            raise self._problem(error) from None

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._reworded():
            self._execute("BEGIN IMMEDIATE")
            try:
                yield
                self._execute("COMMIT")
            except BaseException:
                if self._database.in_transaction:
                    self._execute("ROLLBACK")
                raise

    def _problem(self, error: Exception) -> JournalError:
        text = str(error)
        if self._is_cache:
            return JournalError(f"{self._name}: {text}; use another --cache, or --no-cache")
        if "locked" in text:
            return JournalError(
                f"{self._name}: another process is grading into this run folder; "
                "wait for it or choose another --run-dir"
            )
        if "full" in text or "disk I/O" in text:
            return JournalError(
                f"{self._name}: {text}; what was committed is kept: make room, and the same "
                "command resumes it"
            )
        kind = DamagedJournal if _MALFORMED in text else JournalError
        return kind(
            f"{self._name}: {text}; choose another --run-dir, or move it aside with --fresh"
        )

    # Reading

    def _rows(self, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        end = f"substr({self._exchanges}, -{REACH})"
        return self._found(f"SELECT key, record, checksum, {end} FROM records WHERE key", keys)

    def _lines(self, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return self._found(f"SELECT key, {self._exchanges} FROM records WHERE key", keys)

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with these hashes, compressed, without missing ones."""
        return dict(self._found("SELECT name, text FROM texts WHERE name", [*names]))

    def _found(self, query: str, keys: Sequence[str], *before: object) -> Iterator[Any]:
        """The rows of these keys."""
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            with self._reworded():
                rows = self._execute(_among(query, len(part)), (*before, *part)).fetchall()
            yield from rows

    # What was paid

    async def _exchange(self, decide: Decide) -> None:
        """Read the entries of others and write this process's."""
        with self._transaction():
            decide(self.entries())
            self._execute(_NOTE, self.ledger.row())

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, including earlier ones."""
        query = f"SELECT {', '.join(Paid._fields)} FROM spending WHERE process != ?"
        now = time.time() if self._has_others else None
        with self._reworded():
            rows = self._execute(query, (self.ledger.process,)).fetchall()
        return {row[0]: entry_of(Paid(*row), now) for row in rows}

    def put_entries(self, rows: Sequence[Paid]) -> None:
        """Store the entries of a damaged journal. Without any, its cost is unknown."""
        self._database.executemany(_NOTE, rows or [UNKNOWN])

    # Claims (in a cache)

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys, each group as a whole or not at all."""
        keys = [key for group in groups for key in group]
        now = time.time()
        with self._transaction():
            lapsed = "DELETE FROM claims WHERE renewed NOT BETWEEN ? AND ?"
            self._execute(lapsed, (now - LEASE, now + LEASE))
            query = "SELECT key FROM claims WHERE holder != ? AND key"
            theirs = {key for (key,) in self._found(query, keys, holder)}
            claimed = [theirs.isdisjoint(group) for group in groups]
            mine = [
                key
                for group, is_mine in zip(groups, claimed, strict=True)
                if is_mine
                for key in group
            ]
            rows = [(key, holder, now) for key in mine]
            self._database.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", rows)
            answered = {key for (key,) in self._found("SELECT key FROM records WHERE key", mine)}
        return claimed, answered

    # Writing

    def put(self, key: str, answer: Judged, exchanges: bytes | Transcript = b"") -> None:
        super().put(key, answer, exchanges)
        if len(self._waiting) >= BATCH or time.monotonic() - self._last_commit >= INTERVAL:
            self.commit()

    def commit(self) -> None:
        """Write what is pending."""
        self._last_commit = time.monotonic()
        paid = self.ledger.due_row() if self._notes_spending else None
        has_claims = self.claims is not None and self.claims.is_due
        if not (self._waiting or has_claims) and paid is None:
            return
        now = time.time()
        rows = [
            (key, record, checksum, now, exchanges)
            for key, record, checksum, exchanges in self._packed(self._waiting, self._texts)
        ]
        with self._transaction():
            if self._texts:
                texts = self._texts.items()
                self._database.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
            self._database.executemany(_REPLACE if self._is_cache else _ADD, rows)
            if paid is not None:
                self._execute(_NOTE, paid)
            if self.claims is not None and has_claims:
                gone = [(key, self.claims.holder) for key in self.claims.due()]
                self._database.executemany("DELETE FROM claims WHERE key = ? AND holder = ?", gone)
                renewed = (time.time(), self.claims.holder)
                self._execute("UPDATE claims SET renewed = ? WHERE holder = ?", renewed)
        self._waiting.clear()
        self._texts.clear()

    def close(self) -> None:
        """Write what is pending, and close the file."""
        try:
            if self.claims is not None:
                self.claims.release_all()
            if self._access != "reading":
                self.commit()
        finally:
            self._database.close()
            if self._locks is not None:
                self._locks.close()


_RECORDS = (
    "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record BLOB NOT NULL,"
    " checksum INTEGER NOT NULL, finished REAL NOT NULL, exchanges BLOB)"
)
_CLAIMS = (
    "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL,"
    " renewed REAL NOT NULL) WITHOUT ROWID"
)
_TOOK_REQUESTS = """SELECT 1 FROM records WHERE instr(record, CAST('"requests":0,' AS BLOB)) = 0
    LIMIT 1"""
"""Finds an answer that took requests. Computed criteria and the built-in judge take none."""
_SPENDING = (
    "CREATE TABLE IF NOT EXISTS spending (process TEXT PRIMARY KEY, usage BLOB NOT NULL,"
    " may_have_sent INTEGER NOT NULL, written REAL NOT NULL)"
)
_NOTE = "INSERT OR REPLACE INTO spending VALUES (?, ?, ?, ?)"
_REPLACE = "INSERT OR REPLACE INTO records VALUES (?, ?, ?, ?, ?)"
_ADD = (
    "INSERT INTO records VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO UPDATE SET"
    " record = excluded.record, checksum = excluded.checksum, finished = excluded.finished,"
    f" exchanges = CASE WHEN length(records.exchanges) < {MOST_EXCHANGES}"
    " THEN CAST(records.exchanges || coalesce(excluded.exchanges, x'') AS BLOB)"
    " ELSE coalesce(excluded.exchanges, records.exchanges) END"
)
"""Keeps the exchanges of failed attempts under the same key."""


@cache
def _among(query: str, keys: int) -> str:
    return f"{query} IN ({','.join('?' * keys)})"
