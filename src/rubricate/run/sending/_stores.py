"""Stores for what processes share: named values, each changed by one process at a time.

A value is written only if it is still what was read (compare and swap). A stopped or killed process
blocks the others for at most a second.
"""

from __future__ import annotations

import hashlib
import os
import random
import sqlite3
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from rubricate._files import set_mode
from rubricate.errors import JournalError

if TYPE_CHECKING:
    from rubricate.run.journal import Server

T = TypeVar("T")
PATIENCE = 0.5
"""Seconds to wait while another process writes."""
TRIES = 50
"""How often a change is retried if another process was quicker."""
LONGEST_TURN = 1000
"""Milliseconds after which the database ends the transaction of a stopped process."""
BEGIN = "; ".join(
    [
        "BEGIN",
        "SET LOCAL synchronous_commit = off",
        f"SET LOCAL lock_timeout = {LONGEST_TURN}",
        f"SET LOCAL idle_in_transaction_session_timeout = {LONGEST_TURN}",
    ]
)
"""Settings for this transaction only, because the journal uses the same connection."""
TIMEOUTS = ("connect_timeout=3", "tcp_user_timeout=3000")
UNUSED = 3600.0
"""Seconds after which unchanged values are deleted."""

TABLE = (
    "CREATE TABLE IF NOT EXISTS rubricate_limits (name TEXT PRIMARY KEY, value BLOB NOT NULL,"
    " version INTEGER NOT NULL, changed REAL NOT NULL)"
)
"""For an SQLite file. In PostgreSQL, the journal's migrations create it."""
READ = "SELECT value, version FROM rubricate_limits WHERE name = ?"
READ_AND_CLOCK = (
    "SELECT value, version, extract(epoch FROM clock_timestamp())::float8"
    " FROM (SELECT 1) AS one LEFT JOIN rubricate_limits ON name = %s"
)
ADD = (
    "INSERT INTO rubricate_limits (name, value, version, changed) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (name) DO NOTHING"
)
WRITE = (
    "UPDATE rubricate_limits SET value = ?, version = version + 1, changed = ?"
    " WHERE name = ? AND version = ?"
)
TIDY = (
    "DELETE FROM rubricate_limits WHERE changed < "
    "extract(epoch FROM clock_timestamp()) - %s::float8"
)
REMOVE = "DELETE FROM rubricate_limits WHERE name = ? AND version = ?"


class StoreError(Exception):
    """A store cannot be used at the moment. The message says which and why."""


class Stored(NamedTuple):
    """A stored value.

    Attributes:
        value: the value; None if there is none.
        version: changes with every write.
        now: the store's clock, in seconds.
    """

    value: bytes | None
    version: int
    now: float


class Store(Protocol):
    """Named values. Used by one thread at a time.

    Raises:
        StoreError: any method can raise it if the store cannot be used. You may try again.
    """

    def read(self, name: str) -> Stored:
        """The stored value."""

    def write(self, name: str, stored: Stored, value: bytes | None) -> bool:
        """Write a value, or remove it (None). False if it has changed since it was read."""

    def in_turn(self, name: str) -> AbstractContextManager[None]:
        """A context to read and write a value in, which makes lost races rare."""

    def close(self) -> None:
        """Close it. The next use opens it again."""

    def anew(self) -> Store:
        """The same store, without an open connection."""


def change(
    store: Store, name: str, make: Callable[[bytes | None, float], tuple[bytes | None, T]]
) -> T:
    """Change a value of a store.

    Args:
        store: the store.
        name: the value's name.
        make: takes the value and the store's clock, and returns the new value (None to remove it)
            and a result. It may be called several times.

    Raises:
        StoreError: the store cannot be used.
    """
    for tries in range(TRIES):
        with store.in_turn(name):
            stored = store.read(name)
            value, outcome = make(stored.value, stored.now)
            if value == stored.value or store.write(name, stored, value):
                return outcome
        time.sleep(random.uniform(0.0, 0.0005 * (tries + 1)))
    raise StoreError("other processes keep changing it")


class SQLiteStore:
    """Values in an SQLite file, for the processes of one user on one machine.

    Its clock is the machine's monotonic one, which all processes share. A damaged file is replaced,
    because its contents are worthless after a few seconds anyway.

    Args:
        path: the file. It and its folder are created if missing.
        on_damage: called with one line if a file was replaced.
    """

    def __init__(
        self,
        path: Path,
        on_damage: Callable[[str], None] = lambda text: None,
    ) -> None:
        self._path = path
        self._on_damage = on_damage
        self._database: sqlite3.Connection | None = None
        self._inode = 0

    def read(self, name: str) -> Stored:
        def read(database: sqlite3.Connection) -> Stored:
            row = database.execute(READ, (name,)).fetchone()
            now = time.monotonic()
            if row is None or not isinstance(row[0], bytes) or not isinstance(row[1], int):
                return Stored(None, 0 if row is None else row[1], now)
            return Stored(row[0], row[1], now)

        return self._use(read)

    def write(self, name: str, stored: Stored, value: bytes | None) -> bool:
        def write(database: sqlite3.Connection) -> bool:
            if value is None:
                cursor = database.execute(REMOVE, (name, stored.version))
            elif stored.version == 0:
                version = random.getrandbits(60) + 1
                cursor = database.execute(ADD, (name, value, version, stored.now))
            else:
                cursor = database.execute(WRITE, (value, stored.now, name, stored.version))
            return cursor.rowcount == 1

        return self._use(write)

    def in_turn(self, name: str) -> AbstractContextManager[None]:
        return nullcontext()  # fast enough, and a stopped process holds no lock

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    def anew(self) -> SQLiteStore:
        return SQLiteStore(self._path, self._on_damage)

    def _use(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            try:
                return use(self._connect())
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                    raise
                self._replace(error)
                return use(self._connect())
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"{self._path}: {_why(error)}") from None

    def _connect(self) -> sqlite3.Connection:
        """The connection to the file; a new one if the file was replaced."""
        try:
            stored = self._path.lstat()
        except FileNotFoundError:
            stored = None
        if stored is not None:
            self._check(stored)
            if self._database is not None and stored.st_ino == self._inode:
                return self._database
        self.close()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = sqlite3.connect(
            self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(database)
            set_mode(self._path, 0o600)
            self._inode = self._path.lstat().st_ino
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def _check(self, stored: os.stat_result) -> None:
        """Refuse a file that belongs to another user, which is neither used nor replaced."""
        if not stat.S_ISREG(stored.st_mode):
            raise OSError("it is not a regular file")
        if hasattr(os, "geteuid") and stored.st_uid != os.geteuid():
            raise OSError("it belongs to another user")

    def _replace(self, error: sqlite3.Error) -> None:
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._on_damage(f"{self._path}: {error}; it was replaced")


class PostgresStore:
    """Values in a table of a PostgreSQL database, for processes on any machine.

    Its clock is the server's. Writes need not survive a crash of the server, because they are
    repeated with the next report.

    Args:
        address: the database's.
    """

    def __init__(self, address: str) -> None:
        self._address = address
        self._server: Server | None = None
        self._connection: Any = None  # of the current transaction
        self._is_tidy = False

    def read(self, name: str) -> Stored:
        value, version, now = self._execute(READ_AND_CLOCK, (name,)).fetchone()
        return Stored(None if value is None else bytes(value), version or 0, now)

    def write(self, name: str, stored: Stored, value: bytes | None) -> bool:
        values: tuple[Any, ...]
        if value is None:
            statement, values = REMOVE, (name, stored.version)
        elif stored.version == 0:
            version = random.getrandbits(60) + 1
            statement, values = ADD, (name, value, version, stored.now)
        else:
            statement, values = WRITE, (value, stored.now, name, stored.version)
        return bool(self._execute(statement.replace("?", "%s"), values).rowcount == 1)

    def _execute(self, statement: str, values: tuple[Any, ...] | None = None) -> Any:
        try:
            return self._connection.execute(statement, values)
        except Exception as error:
            raise StoreError(" ".join(str(error).split())) from None

    @contextmanager
    def in_turn(self, name: str) -> Iterator[None]:
        """Lock out other processes, which would win the race during a round trip."""
        digest = hashlib.blake2b(name.encode(), digest_size=8).digest()
        number = int.from_bytes(digest, "big", signed=True)
        try:
            with self._connect().turn() as self._connection:
                try:
                    self._execute(f"{BEGIN}; SELECT pg_advisory_xact_lock({number})")
                    if not self._is_tidy:
                        self._execute(TIDY, (UNUSED,))
                        self._is_tidy = True
                    yield
                    self._execute("COMMIT")
                except BaseException:
                    with suppress(Exception):  # the connection may have been lost
                        self._connection.rollback()
                    raise
        except JournalError as error:
            raise StoreError(str(error)) from None

    def check(self) -> None:
        """Check that it can be used.

        Raises:
            JournalError: it cannot be reached or used. Too many connections are no error.
        """
        from rubricate.run.journal import NoRoom

        with suppress(NoRoom):
            self._connect()
        self.close()

    def close(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()

    def anew(self) -> PostgresStore:
        return PostgresStore(self._address)

    def _connect(self) -> Server:
        """The process's shared connection for reading; else a connection of this store."""
        from rubricate.run.journal import Database, Server

        is_own = self._server is None or not self._server.is_shared
        if is_own and (shared := Server.shared(Database.shared(self._address))):
            self.close()
            self._server = shared
        if self._server is None:
            self._server = Server(Database.shared(with_timeouts(self._address)), "cache")
        return self._server


def with_timeouts(address: str) -> str:
    """The address with short timeouts, unless it sets its own."""
    missing = [timeout for timeout in TIMEOUTS if f"{timeout.partition('=')[0]}=" not in address]
    query = address.find("?", address.rfind("@") + 1)
    return "&".join([address, *missing]) if query >= 0 else f"{address}?{'&'.join(missing)}"


def _set_up(database: sqlite3.Connection) -> None:
    from rubricate.run.journal import write_ahead

    write_ahead(database, PATIENCE)
    database.execute("PRAGMA synchronous=OFF")
    database.execute(TABLE)
    now = time.monotonic()
    database.execute(
        "DELETE FROM rubricate_limits WHERE changed NOT BETWEEN ? AND ?",
        (now - UNUSED, now + UNUSED),  # a distant clock is from before a reboot
    )


def _is_damage(error: sqlite3.OperationalError) -> bool:
    """Whether an error is about the contents of the file: a missing or different table."""
    return "no such column" in str(error) or "no such table" in str(error)


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
