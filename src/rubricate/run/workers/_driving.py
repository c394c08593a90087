"""The driver of a run with workers: hands out blocks and collects their outcomes."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rubricate.errors import InputError, RubricateError
from rubricate.rubric import Failure, ScoringRules, Verdict
from rubricate.run._executor import Execution, Give, RunParts
from rubricate.run._options import RunOptions
from rubricate.run._progress import Progress
from rubricate.run.items import NOT_RUN, Calibrate, JudgedItem
from rubricate.run.workers._blocks import BLOCK, Blocks, Numbered, block_size
from rubricate.run.workers._options import Fleet
from rubricate.run.workers._worker import (
    NOBODY,
    SILENCE,
    Job,
    Report,
    State,
    WorkerDied,
    job_of,
    plan_of,
)

if TYPE_CHECKING:
    from rubricate.judge import Judge
    from rubricate.run.results import OpenStorage
    from rubricate.run.workers._ray import Crew, Member

logger = logging.getLogger(__name__)
LANES = 3
"""Blocks that a worker judges at once: while one is committed and handed over (about 100 ms on a
link of 20 ms) and the last requests of the next are in flight, the third uses the free places. With
two, a worker on such a link uses 94 % of its places, with three 97.5 %, with four 98 %; each more
leaves the slowest worker one more block to finish alone at the end of the run."""
ROOM = 10.0
"""Seconds before a message says that workers have not started yet."""
TICK = 1.0
"""Seconds between checks of the workers."""
SHORT = 3
"""Unanswered checks up to which a worker is still waited for when the run ends."""
SOME = 16
"""Assumed number of workers in a cluster, before it was asked."""
PATIENCE = 10.0
"""Seconds in which blocks must end when the run does."""
HURRY = 1.0
"""The same if the run is interrupted; also for workers to write what is pending, and for Ray to
end. So a command ends within 5 s. At half, a busy machine loses answers that were paid for; at
double, the command may be killed before its results are written."""
CUTS = 10
"""How often a block may be cut because this process was silent; each time costs the requests in
flight. For example, code that receives results and blocks the event loop for a minute is silent."""
DEATHS = 10
"""Deaths of workers, with no block finished in between, that end the run; three for each worker if
there are more than three."""


@dataclass(slots=True, eq=False)
class Block:
    """Items that are handed to a worker together.

    Attributes:
        items: the items.
        alone: whether the worker gets no other block at the same time.
        cuts: how often a worker ended it because the driver was silent.
    """

    items: list[Numbered]
    alone: bool = False
    cuts: int = 0


@dataclass(slots=True, eq=False)
class Placed:
    """A worker, as its driver sees it.

    Attributes:
        member: the handle to call it.
        is_ready: whether it can take blocks.
        load: how many blocks it is judging.
        state: its state when it last answered.
        missed: checks that it has not answered since; None before its first answer, while it waits
            for room or for its process to start.
        opening, asking: calls that it has not answered yet.
    """

    member: Member
    is_ready: bool = False
    load: int = 0
    state: State = field(default_factory=State)
    missed: int | None = None
    opening: asyncio.Task[None] | None = None
    asking: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Wait for its start, or its restart."""
        self.opening = asyncio.create_task(self.member.ready())


Source = Callable[[], Block | None]
UnderWay = dict[asyncio.Task[Report], tuple[Placed, Block]]


class Driving:
    """Lets workers judge a plan block by block, in place of an `Execution`.

    Workers look up stored answers, judge the rest, store it in the journal and return the verdicts.
    If a worker dies, its block is handed out again at the end, to a worker without other blocks. If
    that one dies too, the block is halved, and so on. So an item that crashes every worker fails,
    and no other item does.

    Args:
        job: the job for the workers.
        run: the parts of the run, as for an `Execution`. Its sender sends nothing, because workers
            have their own. Listeners get the verdicts of an item once all are there.

    Attributes:
        over_budget: the budget or time limit that ended it early, in words.
        not_run: how many verdicts from `unfinished` are missing because the run ended.
    """

    def __init__(self, job: Job, run: RunParts) -> None:
        self.over_budget: str | None = None
        self.not_run = 0
        self._run = run
        self._job = job
        if run.answers.lease is not None:
            self._job = replace(job, holder=run.answers.lease.holder)
        self._has_a_past = run.answers.has_a_past
        self._fleet = Fleet.parse(run.options.workers or 1)
        self._passed_on = bytearray(run.plan.items)  # for each item, whether it was passed on,
        self._handed = bytearray(run.plan.items)  # and whether a worker has had it
        self._ended: deque[JudgedItem] = deque()  # judged, at least in part
        self._crew: Crew | None = None
        self._workers: list[Placed] = []
        self._watching: asyncio.Task[None] | None = None
        self._again: deque[Block] = deque()
        self._deaths = 0
        self._notes: dict[str, None] = {}
        self._warned: set[str] = set()

    @property
    def note(self) -> str | None:
        """The lines of the workers' judges to show beside the results."""
        return "; ".join(self._notes) or self._run.stages.note

    async def judge(self, give: Give) -> None:
        """Judge the items. Those of a block are passed on when it is done."""
        plan = self._run.plan
        size = block_size(plan.items, self._fleet.count or SOME)
        blocks = Blocks(self._numbered, plan.items, size)
        async with AsyncExitStack() as stack:
            if (seconds := self._run.options.max_time) is not None:
                reached = f"the maximum time of {seconds:g} s is reached"
                timer = asyncio.get_running_loop().call_later(seconds, self._end, reached)
                stack.callback(timer.cancel)
            first = partial(next, map(Block, blocks.first()), None)
            last = partial(next, map(Block, blocks.last()), None)
            # The last blocks may have equal items, so they are judged one at a time.
            for source, lanes, most in (
                (first, LANES, None),
                (self._lost_block, 1, None),
                (last, 1, 1),
                (self._lost_block, 1, 1),
            ):
                await self._through(source, lanes, most, stack, give)

    def _numbered(self) -> Iterator[Numbered]:
        return map(Numbered._make, enumerate(self._run.plan))

    def unfinished(self) -> Iterator[JudgedItem]:
        """The items that `judge` has not passed on, each once, with their stored verdicts.

        Verdicts without a stored answer are `not_run`.
        """
        while self._ended:
            yield self._give(self._ended.popleft())
        if 0 not in self._passed_on:
            return
        self._run.answers.expect_others()
        batch: list[Numbered] = []
        for number, item in self._numbered():
            if self._passed_on[number]:
                continue
            if self._has_a_past or self._handed[number] or item.data.unreadable is not None:
                batch.append(Numbered(number, item))
                if len(batch) == BLOCK:
                    yield from self._with_known(batch)
                    batch = []
                continue
            names = item.rubric.names
            self.not_run += len(names)
            verdicts = {name: self._run.stages.not_run(name) for name in names}
            yield self._give(JudgedItem(item, number, verdicts))
        if batch:
            yield from self._with_known(batch)

    def _with_known(self, items: Sequence[Numbered]) -> Iterator[JudgedItem]:
        """Items with their stored verdicts; other verdicts are `not_run`."""
        known, progress, not_run = self._known(items)
        self._run.progress.add(progress)
        self.not_run += not_run
        return map(self._give, known)

    def _known(self, items: Sequence[Numbered]) -> tuple[list[JudgedItem], Progress, int]:
        """The stored verdicts of items, their usage, and how many verdicts are missing."""
        progress = Progress(total=0)
        part = plan_of([item for _, item in items])
        execution = Execution(replace(self._run, plan=part, progress=progress, listeners=NOBODY))
        known = list(execution.unfinished())
        for item in known:
            item.index = items[item.index].number
        return known, progress, execution.not_run

    def _give(self, item: JudgedItem) -> JudgedItem:
        """Mark an item as passed on, and report its verdicts."""
        self._passed_on[item.index] = 1
        on_verdict = self._run.listeners.on_verdict
        if on_verdict is not None:
            for name in item.item.rubric.names:
                on_verdict(item.item, name, item.verdicts[name])
        logger.info("%s: %d criteria done", item.item.id, len(item.verdicts))
        return item

    # Blocks

    async def _through(
        self, source: Source, lanes: int, most: int | None, stack: AsyncExitStack, give: Give
    ) -> None:
        """Let workers judge blocks, and pass their items on.

        Args:
            source: returns the next block; None if there is none at the moment.
            lanes: how many blocks a worker may have at once.
            most: the maximum number of blocks in progress; None for no limit.
            stack: ends the workers, once they have been started.
            give: takes an item.
        """
        under_way: UnderWay = {}
        stopping = asyncio.create_task(self._run.stop.wait())
        block: Block | None = None
        try:
            while self.over_budget is None and not self._run.stop.is_set():
                while most is None or len(under_way) < most:
                    block = block or source()
                    if block is None:
                        break
                    if self._crew is None and self._has_a_past:
                        for item in self._known_block(block):
                            await give(item)
                    if block.items and not await self._handed_out(block, lanes, under_way, stack):
                        break
                    block = None
                    await asyncio.sleep(0)
                if not under_way and block is None:
                    return
                await self._wait({*under_way, stopping})
                lease = self._run.answers.lease
                if lease is not None and lease.error is not None:
                    raise lease.error  # workers wait for the lease and judge nothing
                for task in [task for task in under_way if task.done()]:
                    for item in self._come_of(task, *under_way.pop(task)):
                        await give(item)
                self._report_progress()
        finally:
            stopping.cancel()
            if under_way:
                await self._wind_up(under_way)

    def _known_block(self, block: Block) -> Iterator[JudgedItem]:
        """The items of a block if all of its answers are stored; else none.

        No worker is started as long as all answers are stored.
        """
        known, progress, not_run = self._known(block.items)
        if not not_run:
            self._run.progress.add(progress)
            block.items = []
            yield from map(self._give, known)
            self._report_progress()

    async def _wait(self, ends: set[asyncio.Task[Any]]) -> None:
        """Wait for a while for blocks in progress, and for workers."""
        opening = {worker.opening: worker for worker in self._workers if worker.opening is not None}
        watching = {self._watching} if self._watching is not None else set()
        await asyncio.wait(
            {*ends, *opening, *watching}, timeout=TICK, return_when=asyncio.FIRST_COMPLETED
        )
        for task in watching:
            if task.done():
                task.result()  # raise its error, because workers are no longer checked
        for task, worker in opening.items():
            if task.done():
                self._note_started(worker, task)

    async def _handed_out(
        self, block: Block, lanes: int, under_way: UnderWay, stack: AsyncExitStack
    ) -> bool:
        """Hand a block to a worker. False if none has room for it."""
        if self._crew is None:
            await self._begin_workers(stack)
        free = [worker for worker in self._workers if worker.is_ready and worker.load < lanes]
        worker = min(free, key=attrgetter("load"), default=None)
        if worker is None:
            return False
        worker.load += 1
        for number, _ in block.items:
            self._handed[number] = 1
        items = [item for _, item in block.items]
        under_way[asyncio.create_task(worker.member.grade(items))] = worker, block
        return True

    def _come_of(
        self, task: asyncio.Task[Report], worker: Placed, block: Block
    ) -> Iterator[JudgedItem]:
        """The items of a block that is done or whose worker has died."""
        worker.load -= 1
        try:
            report = task.result()
        except WorkerDied as died:
            self._lost(worker, died)
            yield from self._suspect(block, died)
            return
        self._deaths = 0
        if report.is_cut:  # the driver was silent
            self._note_paid([report.progress])
            self._again.append(block)
            block.cuts += 1
            if block.cuts > CUTS:
                self._end(f"this process was silent for {SILENCE:g} s, {block.cuts} times")
            return
        self._note(worker, block, report)
        while self._ended and not report.not_run:
            yield self._give(self._ended.popleft())
        if report.stopped is not None:
            self._end(report.stopped)

    def _lost_block(self) -> Block | None:
        """A block whose worker has died or given up; None if there is none."""
        return self._again.popleft() if self._again else None

    def _suspect(self, block: Block, died: WorkerDied) -> Iterator[JudgedItem]:
        """Queue the items of a dead worker again. A single item that caused it fails."""
        items = block.items
        if not block.alone:
            self._again.append(Block(items, alone=True))
        elif len(items) > 1:
            half = len(items) // 2
            self._again += (Block(items[:half], True), Block(items[half:], True))
        else:
            self._run.answers.expect_others()
            (item,), progress, _ = self._known(items)
            self._run.progress.add(progress)
            failure = Failure("worker", f"every worker that judged this item died: {died}")
            for name, verdict in item.verdicts.items():
                if verdict.error == NOT_RUN:
                    item.verdicts[name] = Verdict(name, "failed", error=failure)
                    self._run.progress.count(item.verdicts[name])
            yield self._give(item)

    def _note(self, worker: Placed, block: Block, report: Report) -> None:
        """Add the outcome of a block. Its items are passed on next, or at the end of the run."""
        for (number, item), outcome in zip(block.items, report.items, strict=True):
            self._ended.append(outcome.item(number, item, self._job))
        self.not_run += report.not_run
        self._run.progress.add(report.progress)
        worker.state = State()  # it can be outdated
        if report.note is not None:
            self._notes[report.note] = None
        for warning in report.warnings:
            self._warn(warning)

    def _note_paid(self, blocks: Iterable[Progress]) -> None:
        """Add the usage of blocks that are judged again, and will find those answers stored."""
        for block in blocks:
            self._run.progress.calls += block.calls
            self._run.progress.takes(block.usage)

    def _warn(self, text: str) -> None:
        """Log a warning once, even if many workers give it."""
        if text not in self._warned:
            self._warned.add(text)
            logger.warning("%s", text)

    def _end(self, reason: str) -> None:
        self.over_budget = self.over_budget or reason

    async def _wind_up(self, under_way: UnderWay) -> None:
        """Let the workers end their blocks, and keep their outcomes for `unfinished`."""
        self._end_silent(SHORT)
        ready = [worker for worker in self._workers if worker.is_ready]
        stops = [asyncio.create_task(worker.member.stop()) for worker in ready]
        is_hurried = self._run.stop.is_set()
        if is_hurried and self._crew is not None:
            self._crew.patience = HURRY
        await asyncio.wait({*under_way, *stops}, timeout=HURRY if is_hurried else PATIENCE)
        await _cancelled([*under_way, *stops])
        for task, (worker, block) in under_way.items():
            if not task.cancelled() and task.exception() is None and not task.result().is_cut:
                self._note(worker, block, task.result())

    # Workers

    async def _begin_workers(self, stack: AsyncExitStack) -> None:
        """Start the workers.

        Raises:
            InputError: no worker can be started.
        """
        from rubricate.run.workers._ray import Crew

        count = self._fleet.count
        self._check_room(count or 0)
        self._crew = await stack.enter_async_context(Crew(self._job))
        self._check_room(0 if count else len(self._crew.members))
        self._add_workers()
        self._run.listeners.on_sent()
        self._watching = asyncio.create_task(self._watch())
        stack.callback(self._watching.cancel)
        missing = asyncio.get_running_loop().call_later(ROOM, self._tell_missing)
        stack.callback(missing.cancel)
        stack.push_async_callback(self._end_waiting)

    def _check_room(self, workers: int) -> None:
        """Raise `InputError` if the journal's database has too few connections."""
        room = self._run.answers.room if workers else None
        if room is not None and room < workers:
            raise InputError(
                f"{workers} workers need a connection to the database of the journal each, and it "
                f"has {room} left: raise max_connections there, or use --workers {max(1, room)}"
            )

    def _add_workers(self) -> None:
        """Wait for new workers, including those on nodes that have joined the cluster."""
        assert self._crew is not None
        for member in self._crew.members[len(self._workers) :]:
            self._workers.append(Placed(member))
            self._workers[-1].open()

    def _tell_missing(self) -> None:
        """Warn that workers wait for room or take long to start."""
        missing = sum(worker.opening is not None for worker in self._workers)
        if missing:
            self._warn(
                f"{missing} of {len(self._workers)} workers have not started yet: the cluster has "
                "no room for them at the moment, or takes long to start them; still waiting"
                f"{', while the others judge' if missing < len(self._workers) else ''}"
            )

    async def _end_waiting(self) -> None:
        """Stop waiting for workers, and end those that are silent."""
        self._end_silent(SHORT)
        waiting = [task for worker in self._workers for task in (worker.opening, worker.asking)]
        await _cancelled([task for task in waiting if task is not None])

    def _note_started(self, worker: Placed, opening: asyncio.Task[None]) -> None:
        """Note that a worker has started or cannot work."""
        worker.opening = None
        try:
            opening.result()
        except WorkerDied as died:
            self._count_death(died)
            worker.open()
        except Exception as error:  # can also come from the judge's code, or from the node
            if not isinstance(error, RubricateError):
                text = f"{type(error).__name__}: {' '.join(str(error).split())[:300]}"
                error = InputError(f"what a worker needs cannot be opened: {text}")
            if not any(other.is_ready or other.opening is not None for other in self._workers):
                raise error from None
            self._warn(f"a worker cannot work: {error}")
        else:
            worker.is_ready, worker.missed = True, 0
            self._run.progress.workers += 1

    def _lost(self, worker: Placed, died: WorkerDied) -> None:
        """Note that a worker has died. Ray restarts it."""
        if not worker.is_ready:
            return
        worker.is_ready = False
        self._note_paid(worker.state.under_way)
        worker.state = State()
        self._run.progress.workers -= 1
        self._run.progress.workers_lost += 1
        self._run.progress.trouble = f"a worker died: {died}"
        logger.info("a worker died: %s", died)
        self._count_death(died)
        worker.open()

    def _count_death(self, died: WorkerDied) -> None:
        self._deaths += 1
        if self._deaths > max(DEATHS, 3 * len(self._workers)):
            self._end(
                f"workers died {self._deaths} times with nothing judged in between, last: {died}"
            )

    async def _watch(self) -> None:
        """Check all workers every second, and end those that are silent.

        Silence is counted in checks, not by a clock, in case the driver itself was stopped.
        """
        while True:
            await asyncio.sleep(TICK)
            self._add_workers()
            for worker in self._workers:
                if worker.asking is None:
                    worker.asking = asyncio.create_task(self._ask_state(worker))
                elif worker.missed is not None:
                    worker.missed += 1
            self._end_silent(SILENCE / TICK)
            self._report_progress()

    async def _ask_state(self, worker: Placed) -> None:
        try:
            worker.state = await worker.member.state()
            worker.missed = 0
            self._run.progress.trouble = worker.state.trouble or self._run.progress.trouble
        except (RubricateError, WorkerDied):
            worker.missed = None
        finally:
            worker.asking = None

    def _end_silent(self, looks: float) -> None:
        """End the workers that have missed this many checks."""
        for worker in self._workers:
            if worker.missed is None or worker.missed < looks:
                continue
            died = WorkerDied(f"no sign of life for {worker.missed * TICK:g} s")
            worker.missed = None
            worker.member.end(str(died))
            if not worker.load:  # else its blocks report it
                self._lost(worker, died)

    def _report_progress(self) -> None:
        """Report the progress: finished blocks and the state of the workers."""
        shown = self._run.progress.copy()
        for worker in self._workers:
            for block in worker.state.under_way if worker.is_ready and worker.load else ():
                shown.add(block)
        shown.done = min(shown.done, shown.total)
        self._run.options.report_progress(shown)


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks and wait for their end."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


def driving(
    judge: Judge,
    options: RunOptions,
    storage: OpenStorage,
    rules: ScoringRules,
    calibrate: Calibrate | None,
) -> Callable[[RunParts], Driving]:
    """A factory for the execution by workers, called like `Execution`.

    Raises:
        InputError: the run has no journal that workers could share.
        MissingExtraError: Ray is not installed.
    """
    return partial(Driving, job_of(judge, options, storage, rules, calibrate))
