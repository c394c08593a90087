"""Locks of a run folder whose journal several processes on one machine use."""

from __future__ import annotations

import re
from contextlib import ExitStack
from pathlib import Path

from rubricate._files import check_no_links
from rubricate.errors import JournalError
from rubricate.run._shards import Shard
from rubricate.run.journal._places import Access

_SHARD = re.compile(r"shard-([0-9]+)-of-([0-9]+)")


def locked(locks: Path, access: Access) -> ExitStack:
    """Take the locks that an access needs. Close the returned stack to release them.

    A lock is a locked file; an unlocked file means nothing. One process at a time may call this.

    Raises:
        JournalError: another process is using the run or the shard.
    """
    folder, own = locks.parent, _name(access)
    from filelock import FileLock, Timeout

    try:
        locks.mkdir(mode=0o700, exist_ok=True)
        check_no_links(locks)
        for path in sorted(locks.iterdir()):
            if path.name != own and _excludes(path.name, access) and not _is_free(path):
                other = _SHARD.fullmatch(path.name)
                which = "" if other is None else f" (shard {other[1]}/{other[2]})"
                raise JournalError(
                    f"{folder}: another process is grading into this run folder{which}; wait for "
                    "it or choose another --run-dir"
                )
        stack = ExitStack()
        if own is not None:
            lock = FileLock(locks / own, timeout=0, thread_local=False)
            try:
                stack.enter_context(lock)
            except Timeout:
                raise JournalError(
                    f"{folder}: another process has "
                    f"{'this run' if access == 'driver' else f'shard {access} of this run'}; wait "
                    "for it or choose another --run-dir"
                ) from None
    except (OSError, NotImplementedError) as error:  # the latter for file systems without locks
        why = error.strerror if isinstance(error, OSError) else "its file system has no locks"
        raise JournalError(
            f"{locks}: cannot be locked: {why}; choose a --run-dir on another file system"
        ) from None
    return stack


def _name(access: Access) -> str | None:
    if isinstance(access, Shard):
        return f"shard-{access.number}-of-{access.of}"
    return "driver" if access == "driver" else None


def _excludes(name: str, access: Access) -> bool:
    """Whether the owner of a lock excludes an access. Shards of one run do not."""
    other = _SHARD.fullmatch(name)
    return not (isinstance(access, Shard) and other is not None and int(other[2]) == access.of)


def _is_free(path: Path) -> bool:
    from filelock import FileLock, Timeout

    try:
        with FileLock(path, timeout=0):
            return True
    except Timeout:
        return False
