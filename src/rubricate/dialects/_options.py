"""How the core runs what a dialect's own arguments say."""

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

    What is graded, by what and by whom, and how it is scored, a dialect says in words of its own.
    """

    stop: asyncio.Event | None = None


async def graded(dataset: Gradable, judge: Judge, options: DialectOptions) -> Result:
    """Grade a dataset, as `rubricate.agrade` does. The judge's connections stay open."""
    from rubricate.grading import collected
    from rubricate.streaming import ResultStream

    run = part(RunOptions, options)
    return await collected(ResultStream(dataset, judge, run, stop=options.stop))
