"""How far an evaluation is, as a line on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

from rubricate.run import Progress

INTERVAL = 0.1
"""Seconds between changes of the line. At half of it a terminal flickers; at double it seems to
hang."""


def progress_line(also: Callable[[Progress], None] | None = None) -> Callable[[Progress], None]:
    """A listener that writes one line on standard error; nothing unless that is a terminal.

    Args:
        also: another listener, which is called first.
    """
    written_at = 0.0
    is_terminal = sys.stderr is not None and sys.stderr.isatty()

    def listen(progress: Progress) -> None:
        nonlocal written_at
        if also is not None:
            also(progress)
        ended = progress.done == progress.total
        if is_terminal and (ended or time.monotonic() - written_at >= INTERVAL):
            written_at = time.monotonic()
            failed = f", {progress.failed} failed" if progress.failed else ""
            line = f"\rEvaluating: {progress.done} of {progress.total}{failed}"
            sys.stderr.write(line + "\n" * ended)
            sys.stderr.flush()

    return listen
