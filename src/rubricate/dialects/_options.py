"""The core's run as dialects call it, and its progress as a line on the terminal."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

from rubricate.dataset import Gradable, Item
from rubricate.judge import Judge
from rubricate.rubric import Verdict
from rubricate.run import Budget, Limits, Listening, Plan, Progress, Retries, RunOptions, Storage
from rubricate.settings import options_of, part

if TYPE_CHECKING:
    from rubricate.analysis import Result


class DialectOptions(Retries, Limits, Budget, Storage, Listening):
    """The options of `rubricate.agrade` that only concern the run.

    Each dialect has its own names for the dataset, the rubric, the judge and the scoring.
    """

    stop: asyncio.Event | None = None

    def unless_set(self, **values: Any) -> Self:
        """Return the options, with a program's other settings in place of defaults.

        Args:
            values: options by name; None means unset.
        """
        kind: type = type(self)
        usual = options_of(kind)
        changes = {
            name: value
            for name, value in values.items()
            if value is not None and getattr(self, name) == usual[name].default
        }
        return replace(self, **changes)


async def graded(
    dataset: Gradable,
    judge: Judge,
    options: DialectOptions,
    on_verdict: Callable[[Item, str, Verdict], None] | None = None,
) -> Result:
    """Grade a dataset like `rubricate.agrade`, and keep the judge's connections open."""
    from rubricate.grading import collected
    from rubricate.streaming import ResultStream

    run = part(RunOptions, options)
    return await collected(
        ResultStream(Plan(dataset, run), judge, run, stop=options.stop, on_verdict=on_verdict)
    )


INTERVAL = 0.1
"""Seconds between updates of the line. At half, terminals flicker; at double, it seems to hang."""


def progress_line(also: Callable[[Progress], None] | None = None) -> Callable[[Progress], None]:
    """Create a callback that writes progress as one line on standard error, if that is a terminal.

    Args:
        also: another callback, which is called first.
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
