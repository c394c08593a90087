"""Executing a plan: every (item, criterion) once, so many at a time, each answer journalled."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from rubricate.judge import Judge
from rubricate.rubric import Criterion, Failure, Usage, Verdict
from rubricate.run._journal import Journal
from rubricate.run._plan import PlannedItem
from rubricate.run._records import verdict_from_record, verdict_record
from rubricate.run._sender import Sender

__all__ = ["Execution", "Progress", "execute"]

Call = tuple[int, PlannedItem, Criterion, str]


@dataclass(slots=True)
class Progress:
    """How far a run is. `trouble` is the last request that had to be sent again, in words."""

    total: int
    done: int = 0
    failed: int = 0
    abstained: int = 0
    resumed: int = 0
    trouble: str | None = None


@dataclass(slots=True)
class Execution:
    """What an execution has so far: verdicts per item by criterion name, and what they took."""

    verdicts: list[dict[str, Verdict]]
    usage: Usage = field(default_factory=Usage)
    calls: int = 0

    def verdict(self, index: int, name: str, judge: str) -> Verdict:
        """The verdict of a criterion; a failed one where it was not run."""
        found = self.verdicts[index].get(name)
        if found is not None:
            return found
        cause = Failure("not_run", "the run ended before this was judged")
        return Verdict(name, "failed", error=cause, judge=judge)


async def execute(
    planned: list[PlannedItem],
    judge: Judge,
    journal: Journal,
    sender: Sender,
    execution: Execution,
    *,
    concurrency: int,
    progress: Progress,
    on_progress: Callable[[Progress], None],
    stop: asyncio.Event,
) -> None:
    """Judge what the journal does not have yet, item by item, `concurrency` calls at a time.

    Fills `execution` as it goes, so that what was judged is there however this ends: when all is
    done, when `stop` is set, when the sender has stopped, or when it is cancelled.
    """
    calls: Iterator[Call] = (
        (index, entry, criterion, name)
        for index, entry in enumerate(planned)
        for criterion, name in zip(entry.rubric, entry.rubric.names, strict=True)
    )

    async def work() -> None:
        for index, entry, criterion, name in calls:
            if stop.is_set() or sender.stopped_by is not None:
                return
            key = judge.key(entry.case, criterion)
            record = journal.get(key)
            if record is not None:
                verdict = verdict_from_record(record, criterion, name)
                progress.resumed += 1
            else:
                verdict = await judge.judge(entry.case, criterion, sender)
                verdict = replace(verdict, criterion=name)
                journal.put(key, verdict_record(verdict))
                execution.usage += verdict.usage
                execution.calls += 1
            execution.verdicts[index][name] = verdict
            progress.done += 1
            progress.failed += verdict.status == "failed"
            progress.abstained += verdict.status == "abstained"
            on_progress(progress)
            await asyncio.sleep(0)  # lets signals and the screen in beside judges that never wait

    workers = [asyncio.create_task(work()) for _ in range(concurrency)]
    all_done = asyncio.gather(*workers)
    stopping = asyncio.create_task(stop.wait())
    waited_for: list[asyncio.Future[Any]] = [all_done, stopping]
    try:
        await asyncio.wait(waited_for, return_when=asyncio.FIRST_COMPLETED)
        if all_done.done():
            all_done.result()
    finally:
        for task in (*workers, stopping):
            task.cancel()
        await asyncio.gather(all_done, stopping, return_exceptions=True)
        journal.commit()
