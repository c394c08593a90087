"""Executing a plan: every (item, criterion) once, so many at a time, each answer journalled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace

from rubricate.judge import Judge
from rubricate.rubric import Criterion, Failure, Usage, Verdict
from rubricate.run._journal import Journal
from rubricate.run._plan import Plan, PlannedItem
from rubricate.run._records import verdict_from_record, verdict_record
from rubricate.run._sender import Sender

__all__ = ["Execution", "JudgedItem", "Progress"]

BACKLOG = 64
"""Judged items that wait to be taken before judging waits too."""
BREATH = 0.01
"""Seconds after which signals and the screen are let in beside judges that never wait."""

NOT_RUN = Failure("not_run", "the run ended before this was judged")


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
class JudgedItem:
    """An item and its verdicts by criterion name; all of them once it is done."""

    planned: PlannedItem
    verdicts: dict[str, Verdict] = field(default_factory=dict)


class Execution:
    """Judges what the journal does not have yet, item by item, `concurrency` calls at a time.

    It holds the items that it is at and no others, and waits where nobody takes what is done.

    Args:
        plan: the items.
        judge: who judges.
        journal: where answers are kept.
        sender: how the judge reaches models.
        concurrency: how many calls are in flight at most.
        progress: is kept up to date.
        on_progress: told after every verdict.
        stop: ends the execution when it is set.

    Attributes:
        usage: what the judgements took.
        calls: how many there were.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        journal: Journal,
        sender: Sender,
        *,
        concurrency: int,
        progress: Progress,
        on_progress: Callable[[Progress], None],
        stop: asyncio.Event,
    ) -> None:
        self.usage = Usage()
        self.calls = 0
        self._items = iter(plan)
        self._judge = judge
        self._journal = journal
        self._sender = sender
        self._concurrency = concurrency
        self._progress = progress
        self._on_progress = on_progress
        self._stop = stop
        self._open: dict[int, JudgedItem] = {}
        self._pending = self._all_calls()
        self._breathed = time.monotonic()

    async def judged(self) -> AsyncGenerator[JudgedItem]:
        """The items whose verdicts are all there, as they get done.

        Ends when all is done, when `stop` is set or when the sender has stopped. What it has not
        given then, for whatever reason it ended, is in `left`.
        """
        done: asyncio.Queue[JudgedItem | None] = asyncio.Queue()
        room = asyncio.Semaphore(BACKLOG)
        working = asyncio.create_task(self._work(done, room))
        working.add_done_callback(lambda _: done.put_nowait(None))
        try:
            while (item := await done.get()) is not None:
                room.release()
                del self._open[item.planned.index]
                yield item
            working.result()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def left(self) -> Iterator[JudgedItem]:
        """The items that `judged` has not given, each once, in the dataset's order.

        A verdict that is neither had nor in the journal is a failed one.
        """
        while self._open:
            yield self._filled(self._open.pop(next(iter(self._open))))
        for planned in self._items:
            yield self._filled(JudgedItem(planned))

    def _filled(self, item: JudgedItem) -> JudgedItem:
        planned, rubric = item.planned, item.planned.rubric
        for criterion, name in zip(rubric, rubric.names, strict=True):
            if name not in item.verdicts:
                record = None
                if self._journal.has_a_past:
                    record = self._journal.get(self._judge.key(planned.case, criterion))
                item.verdicts[name] = (
                    Verdict(name, "failed", error=NOT_RUN, judge=self._judge.name)
                    if record is None
                    else verdict_from_record(record, criterion, name)
                )
        return item

    def _all_calls(self) -> Iterator[tuple[JudgedItem, Criterion, str]]:
        for planned in self._items:
            item = self._open[planned.index] = JudgedItem(planned)
            for criterion, name in zip(planned.rubric, planned.rubric.names, strict=True):
                yield item, criterion, name

    async def _work(self, done: asyncio.Queue[JudgedItem | None], room: asyncio.Semaphore) -> None:
        """Let workers work until there is nothing more to do, or `stop` is set."""
        workers = [asyncio.create_task(self._worker(done, room)) for _ in range(self._concurrency)]
        all_done = asyncio.gather(*workers)
        stopping = asyncio.create_task(self._stop.wait())
        ends: list[asyncio.Future[object]] = [all_done, stopping]  # type: ignore[list-item]
        try:
            await asyncio.wait(ends, return_when=asyncio.FIRST_COMPLETED)
            if all_done.done():
                all_done.result()
        finally:
            for task in (*workers, stopping):
                task.cancel()
            await asyncio.gather(all_done, stopping, return_exceptions=True)
            self._journal.commit()

    async def _worker(
        self, done: asyncio.Queue[JudgedItem | None], room: asyncio.Semaphore
    ) -> None:
        while not self._stop.is_set() and self._sender.stopped_by is None:
            call = next(self._pending, None)
            if call is None:
                return
            item, criterion, name = call
            item.verdicts[name] = verdict = await self._verdict(item.planned, criterion, name)
            progress = self._progress
            progress.done += 1
            progress.failed += verdict.status == "failed"
            progress.abstained += verdict.status == "abstained"
            progress.resumed += verdict.resumed
            self._on_progress(progress)
            if len(item.verdicts) == len(item.planned.rubric):
                await room.acquire()
                done.put_nowait(item)
            if time.monotonic() - self._breathed > BREATH:
                await asyncio.sleep(0)
                self._breathed = time.monotonic()

    async def _verdict(self, planned: PlannedItem, criterion: Criterion, name: str) -> Verdict:
        key = self._judge.key(planned.case, criterion)
        record = self._journal.get(key)
        if record is not None:
            return verdict_from_record(record, criterion, name)
        verdict = await self._judge.judge(planned.case, criterion, self._sender)
        verdict = replace(verdict, criterion=name)
        self._journal.put(key, verdict_record(verdict))
        self.usage += verdict.usage
        self.calls += 1
        return verdict
