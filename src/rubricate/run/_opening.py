"""Opening a run's journal: by one process at a time, and of a damaged one what can be read."""

from __future__ import annotations

import logging
import os
import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path

from rubricate.errors import JournalError
from rubricate.run._journal import TROUBLE, DamagedJournal, Journal, read_row

__all__ = ["open_journal"]

logger = logging.getLogger(__name__)
LEAST_ROW = 64
"""Bytes that a record takes at least: in a file of so many there are at most so many records."""


def open_journal(path: Path | None, *, fresh: bool) -> Journal:
    """The journal of a run.

    Of a damaged one what can be read goes into a new one, with a warning, and the damaged file is
    kept beside it.

    Args:
        path: the file, in a folder that is there; None keeps the journal in memory.
        fresh: begin an empty one; one that is there is moved aside.

    Raises:
        JournalError: the file cannot be used, nothing in it can be read, or another process has it.
    """
    if path is None:
        return Journal(None)
    with _alone(path.parent):
        if fresh:
            _moved_aside(path)
        try:
            return Journal(path)
        except DamagedJournal as error:
            return _salvaged(path, error)


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Have other processes wait that open the journal in a folder, where the system can.

    Without, one could move a journal aside that another has opened a moment ago.
    """
    with ExitStack() as stack:
        # Windows has no such module, and does not rename a file that is open; some file systems
        # have no locks.
        with suppress(ImportError, OSError):
            import fcntl

            handle = os.open(folder, os.O_RDONLY)
            stack.callback(os.close, handle)
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _moved_aside(path: Path) -> Path | None:
    """Rename a journal that is not to be used any more; gives its new name, None for no journal.

    Raises:
        JournalError: another process has it, or it cannot be renamed.
    """
    if not path.exists():
        return None
    try:
        Journal(path).close()
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
    """A journal of what can be read in a damaged one; the error, if nothing can be."""
    part = path.with_name(f".{path.name}.salvaged")
    part.unlink(missing_ok=True)
    found = 0
    with Journal(part) as journal:
        for key, record in _readable(path):
            journal.put(key, record)
            found += 1
    if not found:
        part.unlink()
        raise error
    aside = _moved_aside(path)
    part.rename(path)
    logger.warning(
        "%s: it was damaged; %d of its answers can be read and count, what else was in it is "
        "asked again; the damaged file is %s",
        path,
        found,
        aside,
    )
    return Journal(path)


def _readable(path: Path) -> Iterator[tuple[str, dict[str, object]]]:
    """The records of a damaged journal that can be read, one row after the other."""
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("PRAGMA writable_schema=ON")  # else a file cut short is refused as a whole
        try:
            (last,) = database.execute("SELECT max(rowid) FROM records").fetchone()
        except TROUBLE:
            last = None
        for number in range(1, (last or path.stat().st_size // LEAST_ROW) + 1):
            with suppress(*TROUBLE):
                query = "SELECT key, record, checksum FROM records WHERE rowid = ?"
                row = database.execute(query, (number,)).fetchone()
                record = None if row is None else read_row(*row)
                if record is not None:
                    yield row[0], record
