"""Forks beside threads that are at a journal: a child finds SQLite idle, and no file of it open.

SQLite's own locks stay as they were at the fork, without the threads that would let go of them; and
a file that was open then must not be opened again in the child (sqlite.org/howtocorrupt.html, 2.6).
"""

from __future__ import annotations

import os
import threading
import time
from threading import get_ident
from typing import Protocol
from weakref import WeakSet

__all__ = ["FORKS"]

PATIENCE = 10.0
"""Seconds that a fork waits at most for threads to come out of SQLite."""


class HasFile(Protocol):
    """What has a file open that it can open again."""

    def let_go(self) -> None:
        """Close it."""


class _Forks:
    """Forks wait until a `with` block of this has ended; blocks may be nested.

    Attributes:
        files: what is told to let go of its file before every fork.
    """

    def __init__(self) -> None:
        self.files: WeakSet[HasFile] = WeakSet()
        self._inside: list[int] = []  # the threads that are in a block
        self._forking = threading.Lock()

    def __enter__(self) -> None:
        me, inside = get_ident(), self._inside
        is_nested = me in inside
        inside.append(me)
        while self._forking.locked() and not is_nested:  # a fork looks who is inside after this
            inside.remove(me)
            with self._forking:
                inside.append(me)

    def __exit__(self, *_: object) -> None:
        self._inside.remove(get_ident())

    def before(self) -> None:
        """A process is going to be forked."""
        self._forking.acquire()
        me, end = get_ident(), time.monotonic() + PATIENCE
        while any(one != me for one in self._inside) and time.monotonic() < end:
            time.sleep(0.0002)
        for file in [] if self._inside else list(self.files):
            file.let_go()

    def after_in_parent(self) -> None:
        """It has been forked."""
        self._forking.release()

    def after_in_child(self) -> None:
        """Forget the parent's other threads."""
        me = get_ident()
        self._inside[:] = [one for one in self._inside if one == me]
        self._forking.release()


FORKS = _Forks()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=FORKS.before,
        after_in_parent=FORKS.after_in_parent,
        after_in_child=FORKS.after_in_child,
    )
