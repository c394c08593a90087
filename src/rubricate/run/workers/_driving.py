"""A run whose items are judged by workers: it hands out blocks, and gives what comes of them."""

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
"""Blocks that a worker judges at once: one is committed and handed over (some 100 ms on a link of
20 ms), the next one's last requests are in flight, and the third fills the places of both. With
two, a worker on such a link has 0.94 of its places in use, with three 0.975, with four 0.98; each
more leaves the slowest worker one more block to finish alone at the end of the run."""
ROOM = 10.0
"""Seconds after which it is said that workers are not there yet."""
TICK = 1.0
"""Seconds between looks at how far the workers are."""
SHORT = 3
"""Looks that a worker may leave unanswered and still be waited for when the run ends."""
SOME = 16
"""How many workers a cluster is thought to have room for before it is asked."""
PATIENCE = 10.0
"""Seconds that blocks have to end in when the run does."""
HURRY = 1.0
"""The same where somebody interrupts the run, then for workers to write what waits, and for Ray to
end: a command ends within 5 s. At half, a busy machine loses answers that are paid; at double, the
command is ended before its results are written."""
CUTS = 10
"""How often a block is handed out that this process was too silent for: each costs the requests in
flight. Code that takes results and blocks the event loop for a minute is silent once for each."""
DEATHS = 10
"""Deaths of workers, with no block finished in between, that end the run; of more than three
workers, three each."""


@dataclass(slots=True, eq=False)
class Block:
    """Items that a worker is given at once.

    Attributes:
        items: the items.
        alone: whether the worker is given no other block beside it.
        cuts: how often its worker ended it since the driver was silent.
    """

    items: list[Numbered]
    alone: bool = False
    cuts: int = 0


@dataclass(slots=True, eq=False)
class Placed:
    """A worker, as its driver sees it.

    Attributes:
        member: how it is called.
        is_ready: whether it can be given blocks.
        load: how many blocks it is judging.
        state: how far it was with those when it last answered.
        missed: looks that it has left unanswered since; None before its first answer, while it
            waits for room or for its process to start.
        opening, asking: what it has not answered yet.
    """

    member: Member
    is_ready: bool = False
    load: int = 0
    state: State = field(default_factory=State)
    missed: int | None = None
    opening: asyncio.Task[None] | None = None
    asking: asyncio.Task[None] | None = None

    def open(self) -> None:
        """Wait for it, also where it is started again."""
        self.opening = asyncio.create_task(self.member.ready())


Source = Callable[[], Block | None]
UnderWay = dict[asyncio.Task[Report], tuple[Placed, Block]]


class Driving:
    """Has workers judge a plan block by block, in place of an `Execution`.

    Workers look up stored answers, judge the rest, put it into the journal and give the verdicts.
    A block whose worker died is handed out again at the end, to a worker that has no other beside
    it. If that one dies too, the block is halved, and so on: an item that crashes every worker
    is failed, and no other is.

    Args:
        job: what workers are given.
        run: what it works with, as an `Execution`. Its sender sends nothing: workers have their
            own. Listeners get an item's verdicts when all are there.

    Attributes:
        over_budget: why it ended before all was judged, if that was for its budget or time.
        not_run: how many verdicts that `unfinished` has given are neither had nor known.
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
        self._given = bytearray(run.plan.items)  # of each item, whether it was given,
        self._handed = bytearray(run.plan.items)  # and whether a worker has had it
        self._ended: deque[JudgedItem] = deque()  # judged, or as far as it was
        self._crew: Crew | None = None
        self._workers: list[Placed] = []
        self._watching: asyncio.Task[None] | None = None
        self._again: deque[Block] = deque()
        self._deaths = 0
        self._notes: dict[str, None] = {}
        self._warned: set[str] = set()

    @property
    def note(self) -> str | None:
        """What the workers' judges say beside their results."""
        return "; ".join(self._notes) or self._run.stages.note

    async def judge(self, give: Give) -> None:
        """Judge the items; those of a block are given as it gets done."""
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
            # Of what is handed out last, two blocks may ask the same: one after the other.
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
        """The items that `judge` has not given, each once, with their stored verdicts.

        A verdict that is neither had nor known is a failed one.
        """
        while self._ended:
            yield self._give(self._ended.popleft())
        if 0 not in self._given:
            return
        self._run.answers.expect_others()
        batch: list[Numbered] = []
        for number, item in self._numbered():
            if self._given[number]:
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
        """Items with their stored verdicts; the others are not run."""
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
        """Note that an item is given, and tell of its verdicts."""
        self._given[item.index] = 1
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
        """Have blocks judged, and give their items as they get done.

        Args:
            source: gives the next block, when there is a worker for it; None for no more now.
            lanes: how many a worker is given at once.
            most: how many are in progress at once at most; None for as many as there is room for.
            stack: ends the workers, once there are some.
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
                    raise lease.error  # workers wait for a lease, and judge nothing
                for task in [task for task in under_way if task.done()]:
                    for item in self._come_of(task, *under_way.pop(task)):
                        await give(item)
                self._report_progress()
        finally:
            stopping.cancel()
            if under_way:
                await self._wind_up(under_way)

    def _known_block(self, block: Block) -> Iterator[JudgedItem]:
        """The items of a block whose answers are all stored; else none, and a worker looks them up.

        As long as there are such blocks, no worker is started.
        """
        known, progress, not_run = self._known(block.items)
        if not not_run:
            self._run.progress.add(progress)
            block.items = []
            yield from map(self._give, known)
            self._report_progress()

    async def _wait(self, ends: set[asyncio.Task[Any]]) -> None:
        """Wait for a while until something has come of blocks in progress, or of workers."""
        opening = {worker.opening: worker for worker in self._workers if worker.opening is not None}
        watching = {self._watching} if self._watching is not None else set()
        await asyncio.wait(
            {*ends, *opening, *watching}, timeout=TICK, return_when=asyncio.FIRST_COMPLETED
        )
        for task in watching:
            if task.done():
                task.result()  # raises: nobody would ask workers any more
        for task, worker in opening.items():
            if task.done():
                self._note_started(worker, task)

    async def _handed_out(
        self, block: Block, lanes: int, under_way: UnderWay, stack: AsyncExitStack
    ) -> bool:
        """Give a block to a worker; whether one has room for it."""
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
        """The items of a block that is done, or whose worker has died."""
        worker.load -= 1
        try:
            report = task.result()
        except WorkerDied as died:
            self._lost(worker, died)
            yield from self._suspect(block, died)
            return
        self._deaths = 0
        if report.is_cut:  # it was the driver that was silent
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
        """A block whose worker has died, or has given up."""
        return self._again.popleft() if self._again else None

    def _suspect(self, block: Block, died: WorkerDied) -> Iterator[JudgedItem]:
        """Have items judged again whose worker has died; one that is the cause of that is given."""
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
        """Add what a block comes to, and have its items given next, or at the run's end."""
        for (number, item), outcome in zip(block.items, report.items, strict=True):
            self._ended.append(outcome.item(number, item, self._job))
        self.not_run += report.not_run
        self._run.progress.add(report.progress)
        worker.state = State()  # it may be of before
        if report.note is not None:
            self._notes[report.note] = None
        for warning in report.warnings:
            self._warn(warning)

    def _note_paid(self, blocks: Iterable[Progress]) -> None:
        """Add what was asked for blocks that are judged again, which find the answers known."""
        for block in blocks:
            self._run.progress.calls += block.calls
            self._run.progress.takes(block.usage)

    def _warn(self, text: str) -> None:
        """Tell of what many workers may warn of, once."""
        if text not in self._warned:
            self._warned.add(text)
            logger.warning("%s", text)

    def _end(self, reason: str) -> None:
        self.over_budget = self.over_budget or reason

    async def _wind_up(self, under_way: UnderWay) -> None:
        """Have the workers end their blocks, and keep what they have judged for `unfinished`."""
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
        """Begin the workers.

        Raises:
            InputError: there can be none.
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
        """Refuse more workers than the journal's database has connections for."""
        room = self._run.answers.room if workers else None
        if room is not None and room < workers:
            raise InputError(
                f"{workers} workers need a connection to the database of the journal each, and it "
                f"has {room} left: raise max_connections there, or use --workers {max(1, room)}"
            )

    def _add_workers(self) -> None:
        """Wait for the workers that are new, also on nodes that have joined the cluster."""
        assert self._crew is not None
        for member in self._crew.members[len(self._workers) :]:
            self._workers.append(Placed(member))
            self._workers[-1].open()

    def _tell_missing(self) -> None:
        """Say that workers wait for room, or take long to start."""
        missing = sum(worker.opening is not None for worker in self._workers)
        if missing:
            self._warn(
                f"{missing} of {len(self._workers)} workers are not there yet: the cluster has no "
                "room for them now, or takes long to start them; they are waited for"
                f"{', and the others judge' if missing < len(self._workers) else ''}"
            )

    async def _end_waiting(self) -> None:
        """Wait for no worker any more, nor for one that is silent or is started again."""
        self._end_silent(SHORT)
        waiting = [task for worker in self._workers for task in (worker.opening, worker.asking)]
        await _cancelled([task for task in waiting if task is not None])

    def _note_started(self, worker: Placed, opening: asyncio.Task[None]) -> None:
        """A worker is there, or cannot work."""
        worker.opening = None
        try:
            opening.result()
        except WorkerDied as died:
            self._count_death(died)
            worker.open()
        except Exception as error:  # also of the judge's own code, or of the node's
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
        """Note that a worker has died; Ray starts it again."""
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
        """Ask all workers how far they are, each second, and end those that are silent.

        Silence is counted in looks, not by a clock: a driver that was itself stopped blames nobody.
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
        """End the workers that have left this many looks unanswered."""
        for worker in self._workers:
            if worker.missed is None or worker.missed < looks:
                continue
            died = WorkerDied(f"no sign of life for {worker.missed * TICK:g} s")
            worker.missed = None
            worker.member.end(str(died))
            if not worker.load:  # else what it was at says so
                self._lost(worker, died)

    def _report_progress(self) -> None:
        """Tell how far the run is: the items that are done, and what workers are at."""
        shown = self._run.progress.copy()
        for worker in self._workers:
            for block in worker.state.under_way if worker.is_ready and worker.load else ():
                shown.add(block)
        shown.done = min(shown.done, shown.total)
        self._run.options.report_progress(shown)


async def _cancelled(tasks: Sequence[asyncio.Task[Any]]) -> None:
    """Cancel tasks, and wait until they have ended."""
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
    """What makes the execution of a run by workers; called with what an `Execution` is.

    Raises:
        InputError: workers cannot reach what the run keeps.
        MissingExtraError: what runs workers is not installed.
    """
    return partial(Driving, job_of(judge, options, storage, rules, calibrate))
