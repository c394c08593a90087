"""Progress of a run on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rubricate._terminal import one_line
from rubricate.run import Progress, progress_state, time_left

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import BarColumn
    from rich.progress import Progress as Bar

LINE_INTERVAL = 5.0
"""Seconds between plain lines."""
LONGEST = 50
"""The number of characters of an error in the live line."""
REFRESH = 0.1
"""Seconds between changes of the live line."""


class ProgressView:
    """Shows progress while it is open."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = self._shown = time.monotonic()
        self._last: Progress | None = None
        self._troubled = False
        self._shown_trouble = ""
        self._interval = LINE_INTERVAL
        self._bar: Bar | None = None
        if console.is_terminal and not console.quiet:
            self._interval = REFRESH
            self._bar, self._bar_column = _bar(console)
            self._task = self._bar.add_task("judging", total=None, state="", trouble="")

    def __enter__(self) -> ProgressView:
        self._begin = self._shown = time.monotonic()
        if self._bar:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar:
            if self._last is not None:
                self._show(self._last)
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show the state of a run, if enough time has passed or the first problem has occurred.

        Without the latter, an endpoint that asks to wait could be silent for a long time.
        """
        is_first_trouble = bool(progress.trouble) and not self._troubled
        self._last, self._troubled = progress, self._troubled or is_first_trouble
        now = time.monotonic()
        if now - self._shown >= self._interval or is_first_trouble:
            self._shown = now
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        seconds = time.monotonic() - self._begin
        trouble = _shortened(progress.trouble) if progress.trouble else ""
        if self._bar:
            self._show_bar(progress, seconds, trouble)
            return
        before, self._shown_trouble = self._shown_trouble, trouble
        self._console.print(
            f"judged {progress.done} of {progress.total}, {progress_state(progress, seconds)}"
            f"{time_left(progress, seconds)}"
            + (f", {trouble if trouble != before else 'retrying'}" if trouble else ""),
            soft_wrap=True,
        )

    def _show_bar(self, progress: Progress, seconds: float, trouble: str) -> None:
        """Update the live line: bar, count, time left, and whatever else fits."""
        assert self._bar is not None
        if trouble and not self._shown_trouble:  # it may not fit into the live line
            self._shown_trouble = trouble
            self._bar.console.print(trouble, style="yellow")
        room = self._console.width - 2 * len(str(progress.total)) - len("/ left 0:00:00 ") - 2
        self._bar_column.bar_width = max(4, min(20, room - len("judging ")))
        room -= self._bar_column.bar_width
        judging = "judging" if room >= len("judging ") else ""
        room -= len(f"{judging} ") if judging else 0
        now = progress_state(progress, seconds, room)
        room -= len(now)
        self._bar.update(
            self._task,
            description=judging,
            total=progress.total,
            completed=progress.done,
            state=now,
            trouble=trouble if len(trouble) < room else "",
        )


def _bar(console: Console) -> tuple[Bar, BarColumn]:
    """Create the live line and its bar. Their library is only imported on a terminal."""
    from rich import progress
    from rich.table import Column

    def text(form: str, style: str = "none") -> progress.TextColumn:
        column = Column(no_wrap=True)
        return progress.TextColumn(form, style=style, markup=False, table_column=column)

    bar = progress.BarColumn(bar_width=20)
    return progress.Progress(
        text("{task.description}"),
        bar,
        progress.MofNCompleteColumn(table_column=Column(no_wrap=True)),
        text("left"),
        progress.TimeRemainingColumn(table_column=Column(no_wrap=True)),
        text("{task.fields[state]}"),
        text("{task.fields[trouble]}", style="yellow"),
        console=console,
    ), bar


def _shortened(trouble: str) -> str:
    """Shorten the reason for a retry. An error that ends the run is shown in full later."""
    end = "…" if len(trouble) > LONGEST else ""
    return one_line(f"retrying: {trouble[:LONGEST]}{end}")
