"""Opens journals: a run's for one process at a time, and what is readable of a damaged one."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from rubricate.errors import JournalError
from rubricate.run.journal._journal import Journal, MemoryJournal, read_row
from rubricate.run.journal._ledger import Paid
from rubricate.run.journal._places import READER_PATIENCE, Access, Database, Place
from rubricate.run.journal._sqlite import TROUBLE, DamagedJournal, SQLiteJournal

logger = logging.getLogger(__name__)
RECORD = "key, record, checksum"
LOCKS = ".locks"
"""The folder for locks, beside a journal that several processes use."""
LEAST_ROW = 64
"""The least size of a record in bytes, which limits how many a file can hold."""


def open_journal(
    place: Place | None,
    *,
    access: Access = "alone",
    fresh: bool = False,
    patience: float = READER_PATIENCE,
    holder: str | None = None,
) -> Journal:
    """Open a journal, and create it if it does not exist.

    If the file of a run is damaged, what can be read goes into a new one, with a warning, and the
    damaged file is kept beside it.

    Args:
        place: a file in an existing folder, or a run in a database; None keeps the journal in
            memory.
        access: how this process uses it.
        fresh: start an empty journal. An existing file is moved aside, not deleted.
        patience: seconds to wait for an unreachable database; a run's `max_outage`.
        holder: for a worker, its driver's name in the lease of the run.

    Raises:
        JournalError: it cannot be used, nothing in it is readable, or another process is using it.
    """
    if place is None:
        return MemoryJournal()
    if isinstance(place, Database):
        from rubricate.run.journal._postgres import PostgresJournal

        return PostgresJournal(place, access, fresh=fresh, patience=patience, holder=holder)
    if access in ("worker", "cache", "reading"):
        return SQLiteJournal(place, access)
    with _alone(place.parent):
        locks = ExitStack()
        if access != "alone" or (place.parent / LOCKS).is_dir():
            from rubricate.run.journal._locks import locked

            locks = locked(place.parent / LOCKS, access)
        try:
            if fresh:
                _moved_aside(place)
            try:
                return SQLiteJournal(place, access, locks)
            except DamagedJournal as error:
                return _salvaged(place, error)
        except BaseException:
            locks.close()
            raise


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Make other processes wait that open a journal in the same folder, if the system can.

    Otherwise one process could move a journal aside that another one has just opened.
    """
    with ExitStack() as stack:
        # Windows lacks the module, but does not rename open files either; some file systems have no
        # locks.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _moved_aside(path: Path) -> Path | None:
    """Rename a journal that is no longer needed. Returns its new name; None if there is none.

    Raises:
        JournalError: another process is using it, or it cannot be renamed.
    """
    if not path.exists():
        return None
    try:
        SQLiteJournal(path).close()
    except JournalError as error:
        if "another process" in str(error):
            raise
    number = 1
    while (aside := path.with_name(f"{path.stem}-{number}{path.suffix}")).exists():
        number += 1
    try:
        for suffix in ("-wal", "-shm", ""):
            part = path.with_name(path.name + suffix)
            if part.exists():
                part.rename(aside.with_name(aside.name + suffix))
    except OSError as error:
        raise JournalError(f"{path}: cannot be moved aside: {error.strerror}") from None
    return aside


def _salvaged(path: Path, error: DamagedJournal) -> Journal:
    """A new journal of what is readable in a damaged one. Raises the error if nothing is."""
    part = path.with_name(f".{path.name}.salvaged")
    part.unlink(missing_ok=True)
    restored = 0
    with closing(SQLiteJournal(part)) as journal:
        # Exchanges that cannot be read are left out.
        for row in _rows(path, "records", f"{RECORD}, exchanges", f"{RECORD}, NULL"):
            record = read_row(*row)
            if record is not None:
                journal.put(row[0], record, row[3] if isinstance(row[3], bytes) else b"")
                restored += 1
        for name, text in _rows(path, "texts", "name, text"):
            if isinstance(name, str) and isinstance(text, bytes):
                journal.put_text(name, text)
        journal.commit()
        entries = _rows(path, "spending", ", ".join(Paid._fields))
        journal.put_entries([Paid(*row) for row in entries])
    if not restored:
        part.unlink()
        raise error
    aside = _moved_aside(path)
    part.rename(path)
    logger.warning(
        "%s: it was damaged; %d of its answers can be read and count, what else was in it is "
        "asked again; the damaged file is %s",
        path,
        restored,
        aside,
    )
    return SQLiteJournal(path)


def _rows(path: Path, table: str, *choices: str) -> Iterator[tuple[Any, ...]]:
    """The readable rows of a damaged table.

    Args:
        path: the file.
        table: the table.
        choices: lists of columns, of which the first readable one is used for each row.
    """
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")  # else a file cut short is refused as a whole
        try:
            (last,) = database.execute(f"SELECT max(rowid) FROM {table}").fetchone()
        except TROUBLE:
            last = None
        for number in range(1, (last or path.stat().st_size // LEAST_ROW) + 1):
            for columns in choices:
                with suppress(*TROUBLE):
                    query = f"SELECT {columns} FROM {table} WHERE rowid = ?"
                    row = database.execute(query, (number,)).fetchone()
                    if row is not None:
                        yield row
                    break
