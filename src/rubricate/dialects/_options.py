"""The core's run, for the calls of dialects."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from rubricate.dataset import Gradable
from rubricate.judge import Judge
from rubricate.run import Budget, Limits, Listening, Retries, RunOptions, Storage
from rubricate.settings import part

if TYPE_CHECKING:
    from rubricate.analysis import Result


class DialectOptions(Retries, Limits, Budget, Storage, Listening):
    """The options of `rubricate.agrade` that concern the run alone.

    A dialect has its own words for what is graded, by which rubric and judge, and how it is scored.
    """

    stop: asyncio.Event | None = None


async def graded(dataset: Gradable, judge: Judge, options: DialectOptions) -> Result:
    """Grade a dataset, as `rubricate.agrade` does. The judge's connections stay open."""
    from rubricate.grading import collected
    from rubricate.streaming import ResultStream

    run = part(RunOptions, options)
    return await collected(ResultStream(dataset, judge, run, stop=options.stop))
