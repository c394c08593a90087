"""How many connections this process may open."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from rubricate.run.sending._options import Limits

RESERVE = 32
"""File descriptors that are left for the journal, the results and whatever else is opened."""


def bounded(limits: Limits) -> tuple[Limits, str | None]:
    """Limits under which each request has a file descriptor; and what was bounded, in words."""
    allowed, left = _descriptors()
    most = max(1, left // 2, left - RESERVE)
    if limits.concurrency <= most:
        return limits, None
    text = f"at most {most} requests at once: 'ulimit -n' is {allowed}"
    return replace(limits, concurrency=most), text


def _descriptors() -> tuple[int, int]:
    """How many file descriptors the process may have, and how many of them are left."""
    many = 2**31
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return many, many
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return many, many
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return allowed, allowed - len(list(Path(folder).iterdir()))
    return allowed, allowed - RESERVE
