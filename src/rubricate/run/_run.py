"""One run from a dataset to a result."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

from rubricate.dataset import RubricDataset
from rubricate.errors import RunStopped
from rubricate.judge import Judge
from rubricate.rubric import CannotAssess
from rubricate.run._executor import Execution, Progress, execute
from rubricate.run._folder import RunFolder
from rubricate.run._journal import Journal
from rubricate.run._limits import Limits
from rubricate.run._plan import plan
from rubricate.run._results import ItemResult, Result
from rubricate.run._retries import RetryPolicy
from rubricate.run._sender import Sender

__all__ = ["run"]


async def run(
    dataset: RubricDataset,
    judge: Judge,
    *,
    folder: RunFolder | None,
    limit: int | None,
    limits: Limits,
    retries: RetryPolicy,
    cannot_assess: CannotAssess,
    partial: float,
    on_progress: Callable[[Progress], None],
    stop: asyncio.Event,
    on_end: Callable[[Result], None],
) -> Result:
    """Grade a dataset.

    Args:
        dataset: what to grade.
        judge: who grades.
        folder: where the journal and the results go; None keeps all in memory.
        limit: how many items at most, from the first.
        limits: what the endpoint is asked at most.
        retries: when a failed request is sent again.
        cannot_assess, partial: how abstentions are scored.
        on_progress: told after every verdict and every retry.
        stop: set it to end the run early.
        on_end: given the result, complete or not, before anything is raised.

    Raises:
        InputError: the dataset cannot be graded; nothing has been sent.
        RunStopped: the run ended early; its `result` has what was judged.
    """
    begin = time.perf_counter()
    planned = plan(dataset, limit)
    progress = Progress(total=sum(len(entry.rubric) for entry in planned))
    execution = Execution([{} for _ in planned])

    def trouble(message: str) -> None:
        progress.trouble = message
        on_progress(progress)

    sender = Sender(limits=limits, retries=retries, on_trouble=trouble)

    def result(stopped: str | None) -> Result:
        return Result(
            items=[
                ItemResult.scored(
                    id=entry.id,
                    description=entry.item.description,
                    rubric=entry.rubric,
                    criteria={
                        name: execution.verdict(index, name, judge.name)
                        for name in entry.rubric.names
                    },
                    labels=entry.labels,
                    cannot_assess=cannot_assess,
                    partial=partial,
                )
                for index, entry in enumerate(planned)
            ],
            judge=judge.name,
            note=judge.note,
            dataset=dataset.name,
            usage=execution.usage,
            calls=execution.calls,
            resumed=progress.resumed,
            seconds=time.perf_counter() - begin,
            cannot_assess=cannot_assess,
            partial=partial,
            run_dir=folder.path if folder else None,
            stopped=stopped,
        )

    stopped: str | None = "cancelled"
    with sender, Journal(folder.journal if folder else None) as journal:
        if folder:
            folder.write_rubric(planned)
        try:
            await execute(
                planned,
                judge,
                journal,
                sender,
                execution,
                concurrency=min(limits.concurrency, progress.total),
                progress=progress,
                on_progress=on_progress,
                stop=stop,
            )
            if sender.stopped_by is not None:
                stopped = str(sender.stopped_by)
            else:
                stopped = "interrupted" if progress.done < progress.total else None
        finally:
            ended = result(stopped)
            if folder:
                folder.write_results(ended)
            on_end(ended)
    if stopped is not None:
        raise RunStopped(stopped, result=ended, interrupted=sender.stopped_by is None)
    return ended
