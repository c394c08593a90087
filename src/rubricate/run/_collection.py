"""Garbage collection while runs go on.

Each call makes many objects that live for one answer's time. At Python's usual pace the collector
looks through all that wait for answers every few calls: a tenth of the CPU time of a run.
"""

from __future__ import annotations

import gc
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

NEW_OBJECTS = 100_000
"""New objects after which the collector looks at them, while a run goes on."""

_lock = threading.Lock()
_before: list[tuple[int, int, int]] = []
"""The process's own thresholds, once for each run that goes on."""

if hasattr(os, "register_at_fork"):  # a thread that holds the lock is not in a forked process
    os.register_at_fork(
        before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release
    )


@contextmanager
def rarer_collections() -> Iterator[None]:
    """Let the process collect garbage less often until the last such block has ended.

    A collector that is switched off, or is already set to look less often, stays as it is.
    """
    with _lock:
        own = _before[0] if _before else gc.get_threshold()
        _before.append(own)
        if 0 < own[0] < NEW_OBJECTS:
            gc.set_threshold(NEW_OBJECTS, own[1], own[2])
    try:
        yield
    finally:
        with _lock:
            _before.pop()
            if not _before:
                gc.set_threshold(*own)
