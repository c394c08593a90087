"""How far an evaluation is, as a line on the terminal."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from types import TracebackType

from rubricate.run import Progress

INTERVAL = 0.1
"""Seconds between changes of the line."""


class ProgressLine:
    """Writes the line on standard error while it is open; nothing where that is no terminal."""

    def __init__(self) -> None:
        self._last: Progress | None = None
        self._shown = 0.0
        self._shows = sys.stderr is not None and sys.stderr.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shows and self._last is not None:
            self._write(self._last)
            sys.stderr.write("\n")

    def beside(self, listener: Callable[[Progress], None] | None) -> Callable[[Progress], None]:
        """What is told of progress: this line, after who is to be told otherwise."""

        def tell(progress: Progress) -> None:
            if listener is not None:
                listener(progress)
            self._last = progress
            if self._shows and time.monotonic() - self._shown >= INTERVAL:
                self._write(progress)

        return tell

    def _write(self, progress: Progress) -> None:
        self._shown = time.monotonic()
        failed = f", {progress.failed} failed" if progress.failed else ""
        sys.stderr.write(f"\rEvaluating: {progress.done} of {progress.total}{failed}")
        sys.stderr.flush()
