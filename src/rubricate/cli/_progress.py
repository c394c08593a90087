"""How far a run is, on standard error: a live bar on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.progress import (
    Progress as Bar,
)

if TYPE_CHECKING:
    from rich.console import Console

    from rubricate.run import Progress

__all__ = ["ProgressView"]

LINE_INTERVAL = 5.0
"""Seconds between plain lines."""


class ProgressView:
    """Shows progress while it is open."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last_line = time.monotonic()
        self._bar: Bar | None = None
        if console.is_terminal and not console.quiet:
            self._bar = Bar(
                TextColumn("judging"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[failed]} failed"),
                TimeElapsedColumn(),
                TextColumn("left"),
                TimeRemainingColumn(),
                TextColumn("{task.fields[trouble]}", style="yellow"),
                console=console,
            )
            self._task = self._bar.add_task("judging", total=None, failed=0, trouble="")

    def __enter__(self) -> ProgressView:
        if self._bar:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._bar:
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show the state of a run."""
        if self._bar:
            trouble = f"retrying: {progress.trouble[:60]}" if progress.trouble else ""
            self._bar.update(
                self._task,
                total=progress.total,
                completed=progress.done,
                failed=progress.failed,
                trouble=trouble,
            )
        elif time.monotonic() - self._last_line >= LINE_INTERVAL:
            self._last_line = time.monotonic()
            trouble = f", retrying: {progress.trouble}" if progress.trouble else ""
            self._console.print(
                f"judged {progress.done} of {progress.total}, {progress.failed} failed{trouble}",
                markup=False,
                highlight=False,
            )
