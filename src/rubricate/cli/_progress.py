"""How far a run is, on standard error: a live line on a terminal, plain lines elsewhere."""

from __future__ import annotations

import time
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress as Bar

    from rubricate.run import Progress

__all__ = ["ProgressView", "state"]

LINE_INTERVAL = 5.0
"""Seconds between plain lines."""
REFRESH = 0.1
"""Seconds between changes of the live line."""


class ProgressView:
    """Shows progress while it is open."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._begin = self._shown = time.monotonic()
        self._last: Progress | None = None
        self._troubled = False
        self._interval = LINE_INTERVAL
        self._bar: Bar | None = None
        if console.is_terminal and not console.quiet:
            self._interval = REFRESH
            self._bar = _bar(console)
            self._task = self._bar.add_task("judging", total=None, state="", trouble="")

    def __enter__(self) -> ProgressView:
        self._begin = self._shown = time.monotonic()
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
            if self._last is not None:
                self._show(self._last)
            self._bar.stop()

    def update(self, progress: Progress) -> None:
        """Show the state of a run, if enough time has passed or trouble has begun.

        What comes after the first trouble may take long: an endpoint that asks to wait, say.
        """
        is_first_trouble = bool(progress.trouble) and not self._troubled
        self._last, self._troubled = progress, self._troubled or is_first_trouble
        now = time.monotonic()
        if now - self._shown >= self._interval or is_first_trouble:
            self._shown = now
            self._show(progress)

    def _show(self, progress: Progress) -> None:
        now = state(progress, time.monotonic() - self._begin)
        trouble = f"retrying: {progress.trouble}" if progress.trouble else ""
        if self._bar:
            self._bar.update(
                self._task,
                total=progress.total,
                completed=progress.done,
                state=now,
                trouble=trouble[:70],
            )
            return
        self._console.print(
            f"judged {progress.done} of {progress.total}, {now}"
            f"{_left(progress, time.monotonic() - self._begin)}"
            + (f", {trouble}" if trouble else ""),
            soft_wrap=True,
        )


def _bar(console: Console) -> Bar:
    """The live line; what draws it is loaded only on a terminal."""
    from rich import progress

    return progress.Progress(
        progress.TextColumn("judging"),
        progress.BarColumn(bar_width=20),
        progress.MofNCompleteColumn(),
        progress.TextColumn("{task.fields[state]}"),
        progress.TimeElapsedColumn(),
        progress.TextColumn("left"),
        progress.TimeRemainingColumn(),
        progress.TextColumn("{task.fields[trouble]}", style="yellow", markup=False),
        console=console,
    )


def state(progress: Progress, seconds: float) -> str:
    """Failures, calls and tokens a second, and the cost, after so many seconds."""
    seconds = max(seconds, 1e-3)
    usage = progress.usage
    tokens = (usage.input_tokens + usage.output_tokens) / seconds
    parts = [
        f"{progress.failed} failed",
        f"{progress.in_flight} in flight",
        f"{progress.calls / seconds:.1f} calls/s",
    ]
    if tokens:
        parts.append(f"{tokens:.0f} tokens/s")
    if progress.parts or progress.parts_known:
        known_parts = f" ({progress.parts_known} more known)" if progress.parts_known else ""
        parts.append(f"{progress.parts} parts of long documents read{known_parts}")
    if known := progress.resumed + progress.cached:
        parts.append(f"{known} not asked again")
    if usage.cost is None:
        parts.append("cost unknown")
    elif usage.cost:
        parts.append(f"${usage.cost:.4f}")
    return ", ".join(parts)


def _left(progress: Progress, seconds: float) -> str:
    """The time left at the pace of the calls so far, in words."""
    if not progress.calls:
        return ""
    left = (progress.total - progress.done) * seconds / progress.calls
    return f", about {left:.0f} s left" if left < 120 else f", about {left / 60:.0f} min left"
