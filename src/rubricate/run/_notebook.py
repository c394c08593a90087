"""A progress bar in notebooks. It needs only the notebook's own IPython."""

from __future__ import annotations

import sys
import time
from html import escape
from importlib import import_module
from typing import Any, TypeVar

from rubricate.run._options import Listening
from rubricate.run._progress import Progress, progress_state, time_left

_T = TypeVar("_T", bound=Listening)
BEGIN = 0.5
"""Seconds before a bar appears; shorter runs have none."""
REFRESH = 0.25
"""Seconds between updates."""


def shown_in_notebook(options: _T) -> _T:
    """In a notebook, the options with a progress bar, unless `on_progress` is set."""
    if options.on_progress is not None:
        return options
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is None:  # a terminal's IPython has none
        return options
    return options.changed(on_progress=_Bar().update)


class _Bar:
    """The progress bar of the running cell."""

    def __init__(self) -> None:
        self._begin = time.monotonic()
        self._due = self._begin + BEGIN
        self._shown: Any = None
        self._is_done = False

    def update(self, progress: Progress) -> None:
        """Show the progress, unless it was updated a moment ago."""
        now = time.monotonic()
        ends = self._shown is not None and not self._is_done and progress.done >= progress.total
        if now < self._due and not ends:
            return
        self._due, self._is_done = now + REFRESH, ends
        html = _Html(bar_html(progress, now - self._begin))
        if self._shown is None:
            display: Any = import_module("IPython.display").display  # in part without types
            self._shown = display(html, display_id=True)
        else:
            self._shown.update(html)


class _Html:
    def __init__(self, text: str) -> None:
        self._text = text

    def _repr_html_(self) -> str:
        return self._text

    def __repr__(self) -> str:
        return "progress of a run"


def bar_html(progress: Progress, seconds: float) -> str:
    """The bar with the text of the shell's progress line. All text is escaped."""
    line = f"judged {progress.done} of {progress.total}, {progress_state(progress, seconds)}"
    line += time_left(progress, seconds)
    if progress.trouble:
        line += f", retrying: {progress.trouble}"
    return (
        f'<progress value="{progress.done}" max="{max(progress.total, 1)}" '
        f'style="width: 16em; vertical-align: middle"></progress> {escape(line)}'
    )
