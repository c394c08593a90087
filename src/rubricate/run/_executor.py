"""Executing a plan: every (item, criterion) once, so many at a time, each answer journalled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any

from rubricate.judge import Judge
from rubricate.rubric import Criterion, Failure, Usage, Verdict
from rubricate.run._answers import Answers
from rubricate.run._budget import Budget
from rubricate.run._journal import INTERVAL
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
    """How far a run is.

    Attributes:
        total: verdicts to be had.
        done: verdicts had, from wherever.
        failed, abstained: how many of those are so.
        resumed: how many of those are from the journal.
        cached: how many of those are from the cache.
        calls: judgements made in this run.
        in_flight: judgements being made.
        usage: what the calls took.
        saved: what the answers from journal and cache took when they were asked for.
        trouble: the last request that had to be sent again, in words.
    """

    total: int
    done: int = 0
    failed: int = 0
    abstained: int = 0
    resumed: int = 0
    cached: int = 0
    calls: int = 0
    in_flight: int = 0
    usage: Usage = field(default_factory=Usage)
    saved: Usage = field(default_factory=Usage)
    trouble: str | None = None

    def count(self, verdict: Verdict) -> None:
        """Count a verdict in."""
        self.done += 1
        self.failed += verdict.status == "failed"
        self.abstained += verdict.status == "abstained"


Call = tuple[Criterion, str, str]
"""A criterion to be judged, its name, and the key of the answer."""


@dataclass(slots=True)
class JudgedItem:
    """An item, its verdicts by criterion name, and the calls that are still to be made."""

    planned: PlannedItem
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    calls: list[Call] = field(default_factory=list)


class Execution:
    """Judges what is not known yet, item by item, `concurrency` calls at a time.

    It holds the items that it is at and no others, and waits where nobody takes what is done.

    Args:
        plan: the items.
        judge: who judges.
        answers: what is known, and where answers are kept.
        sender: how the judge reaches models.
        concurrency: how many calls are in flight at most.
        budget: what may be spent.
        only_failed: ask for nothing but what failed before.
        progress: is kept up to date.
        on_progress: told whenever there are new verdicts.
        stop: ends the execution when it is set.

    Attributes:
        over_budget: why it ended before all was judged, if that was for its budget.
    """

    def __init__(
        self,
        plan: Plan,
        judge: Judge,
        answers: Answers,
        sender: Sender,
        *,
        concurrency: int,
        budget: Budget,
        only_failed: bool,
        progress: Progress,
        on_progress: Callable[[Progress], None],
        stop: asyncio.Event,
    ) -> None:
        self.over_budget: str | None = None
        self._items = iter(plan)
        self._judge = judge
        self._answers = answers
        self._sender = sender
        self._concurrency = concurrency
        self._budget = budget
        self._only_failed = only_failed
        self._progress = progress
        self._on_progress = on_progress
        self._stop = stop
        self._open: dict[int, JudgedItem] = {}
        self._pending = self._all_calls()
        self._first = asyncio.Lock()
        self._breathed = time.monotonic()

    async def judged(self) -> AsyncGenerator[JudgedItem]:
        """The items whose verdicts are all there, as they get done.

        Ends when all is done, when `stop` is set, when the sender has stopped or the budget is
        spent. What it has not given then, for whatever reason it ended, is in `left`.
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

        A verdict that is neither had nor known is a failed one.
        """
        while self._open:
            yield self._filled(self._open.pop(next(iter(self._open))))
        for planned in self._items:
            yield self._filled(self._opened(planned, look=self._answers.has_a_past))

    def _filled(self, item: JudgedItem) -> JudgedItem:
        for _, name, _ in item.calls:
            if name not in item.verdicts:
                item.verdicts[name] = self._not_run(name)
        return item

    def _not_run(self, name: str) -> Verdict:
        return Verdict(name, "failed", error=NOT_RUN, judge=self._judge.name)

    def _opened(self, planned: PlannedItem, *, look: bool = True) -> JudgedItem:
        """The item with the verdicts that are known, and the calls for the others."""
        item, progress = JudgedItem(planned), self._progress
        rubric = planned.rubric
        keys = [self._judge.key(planned.case, criterion) for criterion in rubric] if look else []
        known = self._answers.known(keys)
        for criterion, name, key in zip_longest(rubric, rubric.names, keys, fillvalue=""):
            assert not isinstance(criterion, str)
            found = known.get(key)
            if found is None and self._only_failed:
                item.verdicts[name] = self._not_run(name)
                progress.done += 1
            elif found is None or found.record["status"] == "failed":
                item.calls.append((criterion, name, key))
            else:
                verdict = verdict_from_record(found.record, criterion, name)
                item.verdicts[name] = verdict
                progress.count(verdict)
                progress.resumed += not found.cached
                progress.cached += found.cached
                progress.saved += verdict.usage
        return item

    def _all_calls(self) -> Iterator[tuple[JudgedItem, Call | None]]:
        """Every call with its item; for an item that needs none, one time None."""
        for planned in self._items:
            item = self._open[planned.index] = self._opened(planned)
            if item.verdicts:
                self._on_progress(self._progress)
            for call in item.calls or (None,):
                yield item, call

    async def _work(self, done: asyncio.Queue[JudgedItem | None], room: asyncio.Semaphore) -> None:
        """Let workers work until there is nothing more to do or to spend, or `stop` is set."""
        workers = [asyncio.create_task(self._worker(done, room)) for _ in range(self._concurrency)]
        all_done = asyncio.gather(*workers)
        stopping = asyncio.create_task(self._stop.wait())
        committing = asyncio.create_task(self._commit_in_time())
        tasks = (*workers, stopping, committing)
        ends: list[asyncio.Future[Any]] = [all_done, stopping, committing]
        try:
            finished, _ = await asyncio.wait(
                ends, timeout=self._budget.max_time, return_when=asyncio.FIRST_COMPLETED
            )
            if not finished:
                self.over_budget = f"the greatest time of {self._budget.max_time:g} s is reached"
            for end in finished:
                end.result()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(all_done, *tasks, return_exceptions=True)
            self._answers.commit()

    async def _commit_in_time(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            self._answers.commit()

    def _goes_on(self) -> bool:
        if self.over_budget is None:
            self.over_budget = self._budget.cost_reached(self._progress)
        return not (self._stop.is_set() or self._sender.stopped_by or self.over_budget)

    async def _worker(
        self, done: asyncio.Queue[JudgedItem | None], room: asyncio.Semaphore
    ) -> None:
        while self._goes_on():
            item, call = next(self._pending, (None, None))
            if item is None:
                return
            if call is not None and not await self._made(item, call):
                return
            if len(item.verdicts) == len(item.planned.rubric):
                await room.acquire()
                done.put_nowait(item)
            if time.monotonic() - self._breathed > BREATH:
                await asyncio.sleep(0)
                self._breathed = time.monotonic()

    async def _made(self, item: JudgedItem, call: Call) -> bool:
        """Make a call; whether the budget allowed it."""
        if self._budget.max_cost is not None and not self._progress.calls:
            async with self._first:  # the first call goes alone: it shows what a call costs
                if not self._progress.calls:
                    await self._make(item, call)
                    return True
            if not self._goes_on():
                return False
        await self._make(item, call)
        return True

    async def _make(self, item: JudgedItem, call: Call) -> None:
        criterion, name, key = call
        progress = self._progress
        progress.in_flight += 1
        try:
            verdict = await self._judge.judge(item.planned.case, criterion, self._sender)
        finally:
            progress.in_flight -= 1
        item.verdicts[name] = verdict = replace(verdict, criterion=name)
        shared = verdict.status != "failed" and verdict.usage.requests > 0
        self._answers.put(key, verdict_record(verdict), shared=shared)
        progress.calls += 1
        progress.usage += verdict.usage
        progress.count(verdict)
        self._on_progress(progress)
