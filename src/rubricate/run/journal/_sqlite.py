"""The journal in an SQLite file, in write-ahead mode.

Records are committed in batches, at most `BATCH` records or `INTERVAL` seconds apart: a killed
process loses at most those. One process has a journal at a time; a cache is the same file shared by
several. Each record has a checksum: a damaged one counts as not there.

Beside each record stands what was sent and received for it (`_exchanges`): in a run's journal all
that was ever asked under its key, in a cache what the record is from. The texts that it names by
their hashes have a table of their own.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from rubricate.errors import JournalError
from rubricate.run.journal._claims import LEASE, Claims
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._keys import Keys
from rubricate.run.journal._ledger import Decide, Entry, Ledger, Row, earlier_row, entry_of
from rubricate.run.journal._places import Access
from rubricate.run.journal._records import to_json
from rubricate.run.journal._rows import MOST_EXCHANGES, checksum, lines_of, read_row

if TYPE_CHECKING:
    from rubricate.run.journal._lease import Lease

BATCH = 64
INTERVAL = 0.2
AT_ONCE = 500
"""Keys that are looked up together."""
PATIENCE = {False: 0.5, True: 5.0}
"""Seconds to wait for another process that has the file, by whether several may have it."""
SHARED_PATIENCE = 60.0
"""Seconds to wait for a write of another process of the same run. A worker that is frozen in the
middle of a commit keeps all others from writing until it is ended, which takes up to 37 s; at half,
the run would fail for it."""
_FORMAT = 3
_WITHOUT_EXCHANGES = 2
"""The format of before, which did not have them."""
_WRITTEN = 100_000
"""Hashes of texts that are held as written."""
TROUBLE = (sqlite3.Error, UnicodeDecodeError)
"""What SQLite raises for a file that it cannot use; the latter where its message is damaged too."""
_MALFORMED = "malformed"
"""What SQLite says of a file that is damaged."""


def write_ahead(database: sqlite3.Connection, patience: float) -> None:
    """Switch a database to write-ahead mode.

    SQLite itself does not wait with that for another process which does the same.

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


def read_only(path: Path) -> sqlite3.Connection:
    """A connection that makes nothing in the folder, which may be another user's."""
    if not path.exists():
        raise sqlite3.OperationalError("no such file")
    try:
        return _opened(f"{path.absolute().as_uri()}?mode=ro")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise
    return _opened(f"{path.absolute().as_uri()}?mode=ro&immutable=1")


def _opened(uri: str) -> sqlite3.Connection:
    database = sqlite3.connect(uri, uri=True, timeout=PATIENCE[False], isolation_level=None)
    try:
        database.execute("SELECT 1 FROM sqlite_master").fetchall()
    except TROUBLE:
        database.close()
        raise
    return database


class DamagedJournal(JournalError):
    """The file is a journal, and parts of it cannot be read."""


class SQLiteJournal:
    """Records by key, durable.

    Args:
        path: the file, made if it is not there.
        access: how this process has it; the file itself keeps others away from one that has it
            alone.
        locks: what else keeps others away, let go when it is closed.

    Attributes:
        has_a_past: whether there may be records from before, or from others.
        damaged: how many records were found damaged.
        keeps_exchanges: it does.
        is_remote: it is not.

    Raises:
        DamagedJournal: parts of the file cannot be read (looked for where one process has it).
        JournalError: the file cannot be used, is not a journal, or another process has it.
    """

    keeps_exchanges = True
    is_remote = is_full = False
    trouble = room = None
    lease: Lease | None = None

    def __init__(
        self, path: Path, access: Access = "alone", locks: ExitStack | None = None
    ) -> None:
        self.damaged = 0
        self._name = str(path)
        self._is_cache = access == "cache"
        self._has_others = access not in ("alone", "reading")
        self._locks = locks
        self._waiting: dict[str, dict[str, Any]] = {}
        self._exchanges: dict[str, list[bytes | Transcript]] = {}  # of those that wait
        self._texts: dict[str, bytes] = {}
        self._written: set[str] = set()
        self._last_commit = time.monotonic()
        self.ledger = Ledger(self._exchange)
        self.claims = Claims() if self._is_cache else None
        is_read = access == "reading"
        try:
            if is_read:
                self._database = read_only(path)
            else:
                if not path.exists():
                    path.touch(mode=0o600)
                patience = PATIENCE[self._has_others]
                self._database = sqlite3.connect(path, timeout=patience, isolation_level=None)
        except (*TROUBLE, OSError) as error:
            raise self._problem(error) from None
        try:
            others_write = self._has_others and access != "driver"  # its workers begin later
            self.has_a_past = self._checked() if is_read else self._set_up() or others_write
            self._keys = None if self.has_a_past or self._has_others else Keys()
        except TROUBLE as error:
            self._database.close()
            raise self._problem(error) from None
        except JournalError:
            self._database.close()
            raise

    def _set_up(self) -> bool:
        """Make the table if it is not there; gives whether there are records."""
        run = self._database.execute
        if not self._has_others:
            run("PRAGMA locking_mode=EXCLUSIVE")
        write_ahead(self._database, PATIENCE[self._has_others])
        run("PRAGMA synchronous=NORMAL")
        run("BEGIN IMMEDIATE")
        version = self._version()
        run(
            "CREATE TABLE IF NOT EXISTS records (key TEXT PRIMARY KEY, record BLOB NOT NULL,"
            " checksum INTEGER NOT NULL, finished REAL NOT NULL, exchanges BLOB)"
        )
        run("CREATE TABLE IF NOT EXISTS texts (name TEXT PRIMARY KEY, text BLOB NOT NULL)")
        if version == _WITHOUT_EXCHANGES:
            run("ALTER TABLE records ADD COLUMN exchanges BLOB")
        if version != _FORMAT:
            run(f"PRAGMA user_version={_FORMAT}")
        (found,) = run("SELECT EXISTS (SELECT 1 FROM records)").fetchone()
        if self._is_cache:
            run(_CLAIMS)
        else:
            run(_SPENDING)
            if found and run("SELECT 1 FROM spending LIMIT 1").fetchone() is None:
                self._note_earlier()
        run("COMMIT")
        if self._has_others and not self._is_cache:
            run(f"PRAGMA busy_timeout={1000 * SHARED_PATIENCE:.0f}")
        if found and not self._has_others:
            self._check_whole()
        return bool(found)

    def _checked(self) -> bool:
        """As `_set_up`, of a file that is only read: nothing is made in its folder."""
        run = self._database.execute
        if not self._version() or not run("SELECT EXISTS (SELECT 1 FROM records)").fetchone()[0]:
            return False
        self._check_whole()
        return True

    def _version(self) -> int:
        (version,) = self._database.execute("PRAGMA user_version").fetchone()
        if version in (0, _WITHOUT_EXCHANGES, _FORMAT):
            return int(version)
        hint = "use another --cache" if self._is_cache else "use another run folder, or --fresh"
        raise JournalError(
            f"{self._name}: written by another version of rubricate (format {version}); {hint}"
        )

    def _check_whole(self) -> None:
        if self._database.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
            raise sqlite3.DatabaseError(_MALFORMED)

    def _note_earlier(self) -> None:
        """Note what a journal of before there were entries has cost, which its records say."""
        query = "SELECT key, record, checksum, exchanges FROM records"

        def records() -> Iterator[tuple[str, dict[str, Any] | None, bytes | None]]:
            for *row, exchanges in self._database.execute(query):
                yield row[0], read_row(*row), exchanges

        self._database.execute(_NOTE, earlier_row(records))

    async def _exchange(self, decide: Decide) -> None:
        """Read the others' entries, and write this process's."""
        run = self._database.execute
        try:
            run("BEGIN IMMEDIATE")
            decide(self.entries())
            run(_NOTE, self.ledger.row())
            run("COMMIT")
        except TROUBLE as error:
            if self._database.in_transaction:
                run("ROLLBACK")
            raise self._problem(error) from None

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, now and earlier."""
        query = f"SELECT {', '.join(Row._fields)} FROM spending WHERE process != ?"
        now = time.time() if self._has_others else None
        try:
            rows = self._database.execute(query, (self.ledger.process,)).fetchall()
        except TROUBLE as error:
            raise self._problem(error) from None
        return {row[0]: entry_of(Row(*row), now) for row in rows}

    def put_entries(self, rows: Sequence[Row]) -> None:
        """Keep the entries of a damaged journal; for want of them, what its records say."""
        if rows:
            self._database.executemany(_NOTE, rows)
        else:
            self._note_earlier()

    # Claims, of a cache

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys, each as a whole or not at all."""
        keys = [key for group in groups for key in group]
        run, now = self._database.execute, time.time()
        try:
            run("BEGIN IMMEDIATE")
            run("DELETE FROM claims WHERE renewed NOT BETWEEN ? AND ?", (now - LEASE, now + LEASE))
            theirs = self._found("SELECT key FROM claims WHERE holder != ? AND", keys, holder)
            claimed = [theirs.isdisjoint(group) for group in groups]
            mine = [
                key
                for group, is_mine in zip(groups, claimed, strict=True)
                if is_mine
                for key in group
            ]
            rows = [(key, holder, now) for key in mine]
            self._database.executemany("INSERT OR REPLACE INTO claims VALUES (?, ?, ?)", rows)
            answered = self._found("SELECT key FROM records WHERE", mine)
            run("COMMIT")
        except TROUBLE as error:
            if self._database.in_transaction:
                run("ROLLBACK")
            raise self._problem(error) from None
        return claimed, answered

    def _found(self, query: str, keys: Sequence[str], *told: object) -> set[str]:
        """Those of the keys that a query finds."""
        found: set[str] = set()
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            marks = ",".join("?" * len(part))
            rows = self._database.execute(f"{query} key IN ({marks})", (*told, *part))
            found.update(key for (key,) in rows)
        return found

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
                "command goes on from there"
            )
        kind = DamagedJournal if _MALFORMED in text else JournalError
        return kind(
            f"{self._name}: {text}; choose another --run-dir, or move it aside with --fresh"
        )

    def get_many(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The records under keys; one that is not there, or damaged, is missing."""
        waiting = self._waiting
        records = {key: orjson.loads(to_json(waiting[key])) for key in keys if key in waiting}
        there = self._keys
        wanted = [
            key for key in keys if key not in records and (there is None or there.may_have(key))
        ]
        for start in range(0, len(wanted), AT_ONCE):
            part = wanted[start : start + AT_ONCE]
            try:
                rows = self._database.execute(_lookup(len(part)), part).fetchall()
            except TROUBLE as error:
                raise self._problem(error) from None
            for key, record, found in rows:
                read = read_row(key, record, found)
                if read is not None:
                    records[key] = read
                else:
                    self.damaged += 1
        return records

    def put(
        self,
        key: str,
        record: dict[str, Any],
        exchanges: bytes | Transcript = b"",
    ) -> None:
        """Keep a record; it is on disk after the next commit.

        It is written as bytes there, with all others of its batch: that is quicker than one by one.

        Args:
            key: its key.
            record: what it is; it is not to be changed afterwards.
            exchanges: what was sent and received for it.
        """
        self._waiting[key] = record
        if self._keys is not None:
            self._keys.add(key)
        if exchanges:
            if self._is_cache or key not in self._exchanges:
                self._exchanges[key] = [exchanges]
            else:
                self._exchanges[key].append(exchanges)
        if len(self._waiting) >= BATCH or time.monotonic() - self._last_commit >= INTERVAL:
            self.commit()

    def commit(self) -> None:
        """Write what is waiting."""
        self._last_commit = time.monotonic()
        paid, has_claims = self.ledger.due_row(), self.claims is not None and self.claims.is_due
        if not (self._waiting or has_claims) and paid is None:
            return
        now = time.time()
        exchanges = {
            key: lines_of(noted, self._written, self.put_text)
            for key, noted in self._exchanges.items()
        }
        written = [(key, to_json(record)) for key, record in self._waiting.items()]
        rows = [
            (key, record, checksum(key, record), now, exchanges.get(key)) for key, record in written
        ]
        try:
            self._database.execute("BEGIN IMMEDIATE")
            if self._texts:
                texts = self._texts.items()
                self._database.executemany("INSERT OR IGNORE INTO texts VALUES (?, ?)", texts)
            self._database.executemany(_REPLACE if self._is_cache else _ADD, rows)
            if paid is not None:
                self._database.execute(_NOTE, paid)
            if has_claims:
                self._commit_claims()
            self._database.execute("COMMIT")
        except TROUBLE as error:
            if self._database.in_transaction:
                self._database.execute("ROLLBACK")
            raise self._problem(error) from None
        self._waiting.clear()
        self._exchanges.clear()
        self._texts.clear()

    def _commit_claims(self) -> None:
        assert self.claims is not None
        holder = self.claims.holder
        gone = [(key, holder) for key in self.claims.due()]
        self._database.executemany("DELETE FROM claims WHERE key = ? AND holder = ?", gone)
        renewal = (time.time(), holder)
        self._database.execute("UPDATE claims SET renewed = ? WHERE holder = ?", renewal)

    def give_up(self) -> None:
        """Nothing is waited for here."""

    async def durable(self) -> None:
        """Write what is waiting."""
        self.commit()

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What was sent and received for the records under keys, where that is kept."""
        if not self._exchanges.keys().isdisjoint(keys):
            self.commit()
        found: dict[str, bytes] = {}
        for start in range(0, len(keys), AT_ONCE):
            part = keys[start : start + AT_ONCE]
            try:
                rows = self._database.execute(_lookup(len(part), "exchanges"), part).fetchall()
            except TROUBLE as error:
                raise self._problem(error) from None
            found |= {key: lines for key, lines in rows if isinstance(lines, bytes)}
        return found

    def put_text(self, name: str, text: bytes) -> None:
        """Keep a text, deflated, under its hash."""
        if len(self._written) >= _WRITTEN:
            self._written.clear()
        self._written.add(name)
        self._texts[name] = text

    def has_text(self, name: str) -> bool:
        """Whether a text is known to be there."""
        return name in self._written

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with hashes, deflated; one that is not there is missing."""
        try:
            return dict(
                row
                for name in names
                for row in self._database.execute(
                    "SELECT name, text FROM texts WHERE name = ?", (name,)
                )
            )
        except TROUBLE as error:
            raise self._problem(error) from None

    def close(self) -> None:
        """Write what is waiting, and let go of the file."""
        try:
            if self.claims is not None:
                self.claims.release_all()
            self.commit()
        finally:
            self._database.close()
            if self._locks is not None:
                self._locks.close()


class SQLiteReader:
    """A journal's file, opened for reading alone, also in a folder of somebody else's.

    Args:
        path: the file, of any version.

    Raises:
        JournalError: it cannot be read, or another process has it.
    """

    def __init__(self, path: Path) -> None:
        try:
            self._database = read_only(path)
        except TROUBLE as error:
            raise self._problem(error) from None
        try:
            columns = self._database.execute("PRAGMA table_info(records)").fetchall()
        except TROUBLE as error:
            self._database.close()
            raise self._problem(error) from None
        self._has_exchanges = any(name == "exchanges" for _, name, *_ in columns)

    def _problem(self, error: Exception) -> JournalError:
        if "locked" in str(error):
            return JournalError("another process is grading into this run folder; wait for it")
        return JournalError(str(error))

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What was sent and received for the records under keys, where that is kept."""
        if not self._has_exchanges:
            return {}
        rows = self._rows("SELECT key, exchanges FROM records WHERE key = ?", keys)
        return {key: lines for key, lines in rows if isinstance(lines, bytes)}

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with hashes, deflated; one that is not there is missing."""
        return dict(self._rows("SELECT name, text FROM texts WHERE name = ?", names))

    def _rows(self, query: str, names: Iterable[str]) -> list[Any]:
        try:
            return [row for name in names for row in self._database.execute(query, (name,))]
        except TROUBLE as error:
            raise self._problem(error) from None

    def close(self) -> None:
        """Let go of the file."""
        self._database.close()


_CLAIMS = (
    "CREATE TABLE IF NOT EXISTS claims (key TEXT PRIMARY KEY, holder TEXT NOT NULL,"
    " renewed REAL NOT NULL) WITHOUT ROWID"
)
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
"""What was asked before under the same key, and failed, stays."""


@cache
def _lookup(keys: int, columns: str = "record, checksum") -> str:
    marks = ",".join("?" * keys)
    return f"SELECT key, {columns} FROM records WHERE key IN ({marks})"
