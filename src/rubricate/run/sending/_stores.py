"""Where processes keep what they share: values by name, each changed by one process at a time.

A value is read, changed and written only if it is still what was read. Nobody holds a lock while it
thinks, so that a process that is stopped or killed is in nobody's way.
"""

from __future__ import annotations

import os
import random
import sqlite3
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol, TypeVar

__all__ = ["SQLiteStore", "Store", "StoreError", "change"]

T = TypeVar("T")
PATIENCE = 0.5
"""Seconds to wait for another process that writes."""
TRIES = 50
"""How often a change is made anew that another process was quicker with."""
UNUSED = 3600.0
"""Seconds after which what nobody has changed is thrown away."""

TABLE = (
    "CREATE TABLE IF NOT EXISTS rubricate_limits (name TEXT PRIMARY KEY, value {bytes} NOT NULL,"
    " version BIGINT NOT NULL, changed DOUBLE PRECISION NOT NULL)"
)
READ = "SELECT value, version{clock} FROM rubricate_limits WHERE name = ?"
ADD = (
    "INSERT INTO rubricate_limits (name, value, version, changed) VALUES (?, ?, ?, ?)"
    " ON CONFLICT (name) DO NOTHING"
)
WRITE = (
    "UPDATE rubricate_limits SET value = ?, version = version + 1, changed = ?"
    " WHERE name = ? AND version = ?"
)
REMOVE = "DELETE FROM rubricate_limits WHERE name = ? AND version = ?"


class StoreError(Exception):
    """A store cannot be used now. The message says which, and why."""


class Found(NamedTuple):
    """A value as it was found.

    Attributes:
        value: None where there is none.
        version: changes with it.
        now: the store's clock, in seconds.
    """

    value: bytes | None
    version: int
    now: float


class Store(Protocol):
    """Values by name. It is used by one thread at a time.

    Raises:
        StoreError: in all of its methods: it cannot be used. It may be tried again.
    """

    def read(self, name: str) -> Found:
        """What is there."""

    def write(self, name: str, found: Found, value: bytes | None) -> bool:
        """Write a value, or remove it (None); whether it was still what was found."""

    def close(self) -> None:
        """Let go of it. It is opened again when it is used."""

    def anew(self) -> Store:
        """The same store, with nothing open."""


def change(
    store: Store, name: str, make: Callable[[bytes | None, float], tuple[bytes | None, T]]
) -> T:
    """Change a value of a store.

    Args:
        store: the store.
        name: the value's name.
        make: given the value and the store's clock; gives the new value (None for none) and what
            comes of it. It may be called several times.

    Raises:
        StoreError: the store cannot be used.
    """
    for tries in range(TRIES):
        found = store.read(name)
        value, outcome = make(found.value, found.now)
        if value == found.value or store.write(name, found, value):
            return outcome
        time.sleep(random.uniform(0.0, 0.0005 * (tries + 1)))
    raise StoreError("others are always quicker")


class SQLiteStore:
    """Values in an SQLite file, for processes of one user on one machine.

    The clock is the machine's monotonic one, which all processes have in common. A file that is
    damaged, or no such file, is replaced: what is in it is worth nothing after a few seconds.

    Args:
        path: the file, made with its folder where it is not there.
        on_damage: told in words of a file that was replaced.
    """

    def __init__(self, path: Path, on_damage: Callable[[str], None] = lambda text: None) -> None:
        self._path = path
        self._on_damage = on_damage
        self._database: sqlite3.Connection | None = None
        self._inode = 0

    def read(self, name: str) -> Found:
        def read(database: sqlite3.Connection) -> Found:
            row = database.execute(READ.format(clock=""), (name,)).fetchone()
            now = time.monotonic()
            if row is None or not isinstance(row[0], bytes) or not isinstance(row[1], int):
                return Found(None, 0 if row is None else row[1], now)
            return Found(row[0], row[1], now)

        return self._used(read)

    def write(self, name: str, found: Found, value: bytes | None) -> bool:
        def write(database: sqlite3.Connection) -> bool:
            if value is None:
                cursor = database.execute(REMOVE, (name, found.version))
            elif found.version == 0:
                version = random.getrandbits(60) + 1
                cursor = database.execute(ADD, (name, value, version, found.now))
            else:
                cursor = database.execute(WRITE, (value, found.now, name, found.version))
            return cursor.rowcount == 1

        return self._used(write)

    def close(self) -> None:
        database, self._database = self._database, None
        if database is not None:
            with suppress(sqlite3.Error):
                database.close()

    def anew(self) -> SQLiteStore:
        return SQLiteStore(self._path, self._on_damage)

    def _used(self, use: Callable[[sqlite3.Connection], T]) -> T:
        try:
            try:
                return use(self._opened())
            except sqlite3.DatabaseError as error:
                if isinstance(error, sqlite3.OperationalError) and not _is_damage(error):
                    raise
                self._replace(error)
                return use(self._opened())
        except (sqlite3.Error, OSError) as error:
            self.close()
            raise StoreError(f"{self._path}: {_why(error)}") from None

    def _opened(self) -> sqlite3.Connection:
        """The file's connection; a new one where the file is another than it was."""
        try:
            found = self._path.lstat()
        except FileNotFoundError:
            found = None
        if found is not None:
            self._check(found)
            if self._database is not None and found.st_ino == self._inode:
                return self._database
        self.close()
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        database = sqlite3.connect(
            self._path, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        try:
            _set_up(database)
            self._path.chmod(0o600)
            self._inode = self._path.lstat().st_ino
        except BaseException:
            database.close()
            raise
        self._database = database
        return database

    def _check(self, found: os.stat_result) -> None:
        """Refuse what is no file of one's own: it is neither used nor replaced."""
        if not stat.S_ISREG(found.st_mode):
            raise OSError("it is no plain file")
        if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
            raise OSError("it belongs to another user")

    def _replace(self, error: sqlite3.Error) -> None:
        self.close()
        for suffix in ("", "-wal", "-shm"):
            self._path.with_name(self._path.name + suffix).unlink(missing_ok=True)
        self._on_damage(f"{self._path}: {error}; it was made anew")


def _set_up(database: sqlite3.Connection) -> None:
    begin = time.monotonic()
    while True:
        try:
            database.execute("PRAGMA journal_mode=WAL")
            break
        except sqlite3.OperationalError:  # another process is at it; for this one SQLite waits not
            if time.monotonic() - begin > PATIENCE:
                raise
            time.sleep(0.005)
    database.execute("PRAGMA synchronous=OFF")
    database.execute(TABLE.format(bytes="BLOB"))
    now = time.monotonic()
    database.execute(
        "DELETE FROM rubricate_limits WHERE changed NOT BETWEEN ? AND ?",
        (now - UNUSED, now + UNUSED),  # a clock that is far behind is another boot's
    )


def _is_damage(error: sqlite3.OperationalError) -> bool:
    """Whether an error is one of what is in the file: a table of another form, or none."""
    return "no such column" in str(error) or "no such table" in str(error)


def _why(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error)
