"""The core's run, for the calls of dialects, and its progress as a line on the terminal."""

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
    """The options of `rubricate.agrade` that concern the run alone.

    A dialect has its own words for what is graded, by which rubric and judge, and how it is scored.
    """

    stop: asyncio.Event | None = None

    def unless_set(self, **values: Any) -> Self:
        """These options, with a program's other settings where they have their defaults.

        Args:
            values: options by name; None is no setting.
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
    """Grade a dataset, as `rubricate.agrade` does. The judge's connections stay open."""
    from rubricate.grading import collected
    from rubricate.streaming import ResultStream

    run = part(RunOptions, options)
    return await collected(
        ResultStream(Plan(dataset, run), judge, run, stop=options.stop, on_verdict=on_verdict)
    )


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
