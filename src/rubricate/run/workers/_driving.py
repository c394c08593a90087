"""A run whose items are judged by workers: it hands out blocks, and reads what comes of them."""

from __future__ import annotations

import asyncio
import contextvars
import logging
from collections import Counter, deque
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from rubricate.errors import InputError, RubricateError
from rubricate.rubric import Failure, Usage, Verdict
from rubricate.run._calls import NOT_RUN, Asked, Call, JudgedItem, Stages
from rubricate.run._executor import Execution, Listeners
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run.journal import Answers
from rubricate.run.sending import Sender
from rubricate.run.workers._blocks import Blocks, Numbered, block_size
from rubricate.run.workers._options import Fleet
from rubricate.run.workers._worker import SILENCE, Job, Report, State, WorkerDied

if TYPE_CHECKING:
    from rubricate.run.workers._ray import Crew, Member

__all__ = ["Driving", "driving"]

logger = logging.getLogger(__name__)
LANES = 2
"""Blocks that a worker is at: the second fills the places that the end of the first leaves free."""
ROOM = 10.0
"""Seconds after which it is said that workers are not there yet."""
TICK = 1.0
"""Seconds between looks at how far the workers are."""
SHORT = 3
"""Looks that a worker may leave unanswered and still be waited for when the run ends."""
SOME = 16
"""How many workers a cluster is thought to have room for before it is asked."""
LOSSES = 3
"""How often a block is judged anew whose answers are not in the journal afterwards, as where a
database continues from a copy that lags behind. Failovers are minutes apart, so that one is enough;
where answers are lost each time, three more blocks of requests are enough to pay."""
PATIENCE = 10.0
"""Seconds that blocks have to end in when the run does."""
DEATHS = 10
"""Deaths of workers, with no block finished in between, that end the run; of more than three
workers, three each."""


@dataclass(slots=True, eq=False)
class Block:
    """Items that a worker is given at once.

    Attributes:
        items: with the calls of each that are not known.
        alone: whether the worker is given no other block beside it.
        lost: how often it was judged to its end without all answers being in the journal.
    """

    items: list[tuple[JudgedItem, list[Call]]]
    alone: bool = False
    lost: int = 0


Source = Callable[[], Block | None]
UnderWay = dict[asyncio.Task[Report], tuple["Member", Block]]


class Driving(Execution):
    """Has workers judge what is not known yet, block by block.

    Workers put answers into the journal; results are made of what is there, as those of any run
    that is taken up again. A block whose worker died is handed out again at the end, to a worker
    that has no other beside it. If that one dies too, the block is halved, and so on: an item of
    which every worker dies is failed, and no other is.

    Args:
        job: what workers are given.
        plan, stages, answers, sender, progress, listeners, stop: as for `Execution`. The sender
            sends nothing: workers have their own.
    """

    def __init__(
        self,
        job: Job,
        plan: Plan,
        stages: Stages,
        answers: Answers,
        sender: Sender,
        progress: Progress,
        listeners: Listeners,
        stop: asyncio.Event,
    ) -> None:
        super().__init__(plan, stages, answers, sender, job.options, progress, listeners, stop)
        self._job = job
        if answers.lease is not None:
            self._job = replace(job, holder=answers.lease.holder)
        self._plan = plan
        self._leader_first = False  # a matter of the workers
        self._given = bytearray(plan.items)
        self._calls: dict[int, list[Call]] = {}  # of the items that are open
        self._records: dict[str, dict[str, Any] | None] = {}
        self._cached: frozenset[str] = frozenset()
        self._is_new = False  # what is read now was judged in this run
        self._counted: set[str] = set()
        self._crew: Crew | None = None
        self._at_work: dict[Member, None] = {}
        self._load: Counter[Member] = Counter()
        self._joining: dict[asyncio.Task[None], Member] = {}
        self._states: dict[Member, State] = {}
        self._asking: dict[Member, asyncio.Task[None]] = {}
        self._missed: dict[Member, int] = {}  # looks unanswered, of those that have answered before
        self._suspects: deque[Block] = deque()
        self._deaths = 0
        self._ends = False
        self._reason: str | None = None
        self._notes: dict[str, None] = {}
        self._warned: set[str] = set()

    @property
    def over_budget(self) -> str | None:
        return self._reason

    @property
    def note(self) -> str | None:
        """What the workers' judges say beside their results."""
        return "; ".join(self._notes) or self._stages.note

    async def judged(
        self, context: contextvars.Context | None = None
    ) -> AsyncGenerator[JudgedItem]:
        """The items whose verdicts are all there, block by block as they get done."""
        plan = self._plan
        size = block_size(plan.items, Fleet.parse(self._job.options.workers or 1).count or SOME)
        blocks = Blocks(lambda: map(Numbered._make, enumerate(plan)), plan.items, size)
        timer = None
        if self._max_time is not None:
            loop = asyncio.get_running_loop()
            timer = loop.call_later(self._max_time, self._end, _out_of_time(self._max_time))
        async with AsyncExitStack() as stack:
            if timer is not None:
                stack.callback(timer.cancel)
            first = partial(next, self._opened_blocks(blocks.first()), None)
            last = partial(next, self._opened_blocks(blocks.last()), None)
            # Of what is handed out last, two blocks may ask the same: one after the other.
            for source, lanes, most in (
                (first, LANES, None),
                (self._suspected, 1, None),
                (last, 1, 1),
                (self._suspected, 1, 1),
            ):
                through = self._through(source, lanes, most, stack)
                async with aclosing(through) as items:
                    async for item in items:
                        yield item

    def left(self) -> Iterator[JudgedItem]:
        while self._open:
            index = next(iter(self._open))
            item, calls = self._open[index], self._calls.pop(index, [])
            if calls:
                self._look_up(calls)
                self._is_new = True
                self._unknown(item, calls)
            yield self._filled(self._close(item))
        self._is_new = False
        if 0 not in self._given:
            return
        for index, given in enumerate(self._plan):
            if self._given[index]:
                continue
            item = JudgedItem(given, index)
            if given.unreadable is not None:
                self._fail(item, given.unreadable)
            elif self._answers.has_a_past:
                calls = self._stages.first_calls(item)
                self._progress.total -= sum(map(len, item.alike.values()))
                self._unknown(item, calls)
            yield self._filled(self._close(item))

    def _close(self, item: JudgedItem) -> JudgedItem:
        self._open.pop(item.index, None)
        self._given[item.index] = 1
        return item

    # What is known

    def _opened_blocks(self, blocks: Iterable[list[Numbered]]) -> Iterator[Block]:
        """Blocks of items with the calls that are not known; known items have none."""
        for numbered in blocks:
            calls: list[list[Call]] = []
            for index, given in numbered:
                item = self._open[index] = JudgedItem(given, index)
                if given.unreadable is not None:
                    self._fail(item, given.unreadable)
                    calls.append([])
                    continue
                calls.append(self._stages.first_calls(item))
                self._progress.total -= sum(map(len, item.alike.values()))
            self._look_up(call for of_item in calls for call in of_item)
            self._is_new = False
            opened = []
            for (index, _), of_item in zip(numbered, calls, strict=True):
                item = self._open[index]
                self._calls[index] = self._unknown(item, of_item)
                opened.append((item, self._calls[index]))
            self._records = {}
            yield Block(opened)

    def _settled(self, block: Block) -> Iterator[JudgedItem]:
        """The items of a block whose verdicts are all there by now; the others are left in it."""
        self._look_up(call for _, calls in block.items for call in calls)
        self._counted.clear()
        left = []
        for item, calls in block.items:
            self._is_new = True  # whoever takes an item may ask for others meanwhile
            unknown = self._calls[item.index] = self._unknown(item, calls) if calls else []
            if len(item.verdicts) < len(item.item.rubric):
                left.append((item, unknown))
                continue
            del self._calls[item.index]
            yield self._close(item)
        self._records, block.items = {}, left

    def _look_up(self, calls: Iterable[Call]) -> None:
        """Read what is known of many calls at once."""
        keys = [one.key for call in calls for one in call.asked]
        records, cached = self._answers.known(keys) if keys else ({}, frozenset())
        self._records = {key: records.get(key) for key in keys}
        self._cached = cached

    def _left(self, item: JudgedItem, calls: list[Call]) -> list[Call]:
        """The calls of which nothing is known, once what is known of the others is taken.

        Of what was judged in this run a failure is an answer; one of before is asked for again.
        """
        progress = self._progress
        unknown: list[Call] = []
        if missing := [c for c in calls if any(a.key not in self._records for a in c.asked)]:
            self._look_up(missing)
        for call in calls:
            left: list[Asked] = []
            for asked in call.asked:
                record, name = self._records[asked.key], asked.criterion.name
                if record is not None and record["status"] == "failed" and not self._is_new:
                    item.failed_before.add(name)
                    left.append(asked)
                elif record is not None:
                    verdict = self._remembered(item, call, asked, record)
                    self._take(item, call.voter, asked, self._counted_in(asked.key, verdict))
                elif self._only_failed and name not in item.failed_before | item.again:
                    not_run = Verdict(name, "failed", error=NOT_RUN, judge=call.judge.name)
                    self._take(item, call.voter, asked, not_run)
                    progress.done += 1
                else:
                    left.append(asked)
            if left:
                unknown.append(call if len(left) == len(call.asked) else call._replace(asked=left))
        return unknown

    def _counted_in(self, key: str, verdict: Verdict) -> Verdict:
        """A verdict of the journal, counted as one of this run or of an earlier one."""
        progress = self._progress
        progress.count(verdict)
        if self._is_new and key not in self._counted:
            self._counted.add(key)
            progress.calls += 1
            progress.usage += verdict.usage
            return replace(verdict, resumed=False)
        progress.cached += key in self._cached
        progress.resumed += key not in self._cached
        progress.saved = Usage.total((progress.saved, verdict.usage))
        return verdict

    # Who judges the rest

    async def _through(
        self, source: Source, lanes: int, most: int | None, stack: AsyncExitStack
    ) -> AsyncGenerator[JudgedItem]:
        """Have blocks judged, and give their items as they get done.

        Args:
            source: gives the next block, when there is a worker for it; None for no more now.
            lanes: how many a worker is given at once.
            most: how many are under way at once at most; None for as many as there is room for.
            stack: ends the workers, once there are some.
        """
        under_way: UnderWay = {}
        stopping = asyncio.create_task(self._stop.wait())
        block: Block | None = None
        try:
            while not self._ends and not self._stop.is_set():
                while most is None or len(under_way) < most:
                    block = block or source()
                    if block is None:
                        break
                    for item in self._known(block):
                        yield item
                    if block.items and not await self._handed_out(block, lanes, under_way, stack):
                        break
                    block = None
                    await asyncio.sleep(0)
                if not under_way and block is None:
                    return
                await asyncio.wait(
                    {*under_way, *self._joining, stopping},
                    timeout=TICK,
                    return_when=asyncio.FIRST_COMPLETED,
                )
                for joining in [one for one in self._joining if one.done()]:
                    self._joined(joining)
                for task in [one for one in under_way if one.done()]:
                    for item in self._come_of(task, *under_way.pop(task)):
                        yield item
                self._tell_progress()
        finally:
            stopping.cancel()
            if under_way:
                await self._wind_up(under_way)

    def _known(self, block: Block) -> Iterator[JudgedItem]:
        """The items of a block that need no worker; the others are left in it."""
        known = [item for item, calls in block.items if not calls]
        block.items = [one for one in block.items if one[1]]
        for item in known:
            self._calls.pop(item.index, None)
            yield self._close(item)
        if known:
            self._tell_progress()

    async def _handed_out(
        self, block: Block, lanes: int, under_way: UnderWay, stack: AsyncExitStack
    ) -> bool:
        """Give a block to a worker; whether one has room for it."""
        if self._crew is None:
            await self._begin_workers(stack)
        free = [one for one in self._at_work if self._load[one] < lanes]
        member = min(free, key=self._load.__getitem__, default=None)
        if member is None:
            return False
        self._load[member] += 1
        items = [item.item for item, _ in block.items]
        under_way[asyncio.create_task(member.grade(items))] = member, block
        return True

    def _come_of(
        self, task: asyncio.Task[Report], member: Member, block: Block
    ) -> Iterator[JudgedItem]:
        """The items of a block that is done, or whose worker has died."""
        self._load[member] -= 1
        try:
            report = task.result()
        except WorkerDied as died:
            self._lost(member, died)
            yield from self._settled(block)
            if block.items:
                self._suspect(block, died)
            return
        self._deaths = 0
        self._note(report)
        yield from self._settled(block)
        if report.stopped is not None:
            self._end(report.stopped)
        elif block.items:
            yield from self._hand_out_again(block, report)

    def _hand_out_again(self, block: Block, report: Report) -> Iterator[JudgedItem]:
        """Have what is left of a block judged anew, whose worker was cut off or whose answers were
        lost; items that are failed for it."""
        block.lost += not report.is_cut
        if block.lost <= LOSSES:
            self._suspects.append(block)
            return
        lost = Failure("worker", f"judged {block.lost} times, and the answers were lost each time")
        for item, _ in block.items:
            self._fail_rest(item, lost)
            self._calls.pop(item.index, None)
            yield self._close(item)

    def _suspected(self) -> Block | None:
        """A block whose worker has died, or whose answers were lost."""
        return self._suspects.popleft() if self._suspects else None

    def _suspect(self, block: Block, died: WorkerDied) -> None:
        """What becomes of items whose worker has died."""
        if not block.alone:
            self._suspects.append(Block(block.items, alone=True))
        elif len(block.items) > 1:
            half = len(block.items) // 2
            self._suspects += (Block(block.items[:half], True), Block(block.items[half:], True))
        else:
            ((item, _),) = block.items
            failure = Failure("worker", f"every worker that judged this item died: {died}")
            self._fail_rest(item, failure)
            self._calls[item.index] = []
            self._suspects.append(Block([(item, [])], alone=True))  # is given when it comes

    def _fail_rest(self, item: JudgedItem, failure: Failure) -> None:
        for name in item.item.rubric.names:
            if name not in item.verdicts:
                item.verdicts[name] = Verdict(name, "failed", error=failure)
                self._progress.count(item.verdicts[name])
                self._tell(item, name)

    async def _begin_workers(self, stack: AsyncExitStack) -> None:
        """Begin the workers.

        Raises:
            InputError: there can be none.
        """
        from rubricate.run.workers._ray import Crew

        self._crew = await stack.enter_async_context(Crew(self._job))
        for member in self._crew.members:
            self._joins(member)
        self._on_sent()
        watching = asyncio.create_task(self._watch())
        stack.callback(watching.cancel)
        missing = asyncio.get_running_loop().call_later(ROOM, self._tell_missing)
        stack.callback(missing.cancel)
        stack.push_async_callback(self._end_joining)

    def _tell_missing(self) -> None:
        """Say that workers wait for room, or take long to start."""
        missing, count = len(self._joining), len(self._crew.members) if self._crew else 0
        if missing:
            self._warn(
                f"{missing} of {count} workers are not there yet: the cluster has no room for them "
                "now, or takes long to start them; they are waited for"
                f"{', and the others judge' if missing < count else ''}"
            )

    async def _end_joining(self) -> None:
        """Wait for no worker any more, nor for one that is silent or is started again."""
        self._end_silent(SHORT)
        left = [*self._joining, *self._asking.values()]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    def _joins(self, member: Member) -> None:
        self._joining[asyncio.create_task(_is_ready(member))] = member

    def _joined(self, joining: asyncio.Task[None]) -> None:
        """A worker is there, or cannot work."""
        member = self._joining.pop(joining)
        try:
            joining.result()
        except WorkerDied as died:
            self._deaths += 1
            self._check_deaths(died)
            self._joins(member)
        except Exception as error:  # also of the judge's own code, or of the node's
            told = error if isinstance(error, RubricateError) else InputError(_in_one_line(error))
            if not self._at_work and not self._joining:
                raise told from None
            self._warn(f"a worker cannot work: {told}")
        else:
            self._at_work[member] = None
            self._missed[member] = 0
            self._progress.workers = len(self._at_work)

    def _lost(self, member: Member, died: WorkerDied) -> None:
        """Note that a worker has died; Ray starts it again."""
        if member not in self._at_work:
            return
        del self._at_work[member]
        self._states.pop(member, None)
        self._progress.workers = len(self._at_work)
        self._progress.workers_lost += 1
        self._progress.trouble = f"a worker died: {died}"
        logger.info("a worker died: %s", died)
        self._deaths += 1
        self._check_deaths(died)
        self._joins(member)

    def _check_deaths(self, died: WorkerDied) -> None:
        assert self._crew is not None
        if self._deaths > max(DEATHS, 3 * len(self._crew.members)):
            self._end(
                f"workers died {self._deaths} times with nothing judged in between, last: {died}"
            )

    def _note(self, report: Report) -> None:
        """Add what a block's answers do not say."""
        self._progress.parts += report.progress.parts
        self._progress.parts_known += report.progress.parts_known
        if report.note is not None:
            self._notes[report.note] = None
        for warning in report.warnings:
            self._warn(warning)

    def _warn(self, text: str) -> None:
        """Tell of what many workers may warn of, once."""
        if text not in self._warned:
            self._warned.add(text)
            logger.warning("%s", text)

    def _end(self, reason: str) -> None:
        if not self._ends:
            self._ends, self._reason = True, reason

    async def _wind_up(self, under_way: UnderWay) -> None:
        """Have the workers end what they are at. What they have judged is in the journal then."""
        self._end_silent(SHORT)
        stops = [asyncio.create_task(member.stop()) for member in self._at_work]
        await asyncio.wait({*under_way, *stops}, timeout=PATIENCE)
        for task in (*under_way, *stops):
            task.cancel()
        for found in await asyncio.gather(*under_way, return_exceptions=True):
            if isinstance(found, Report):
                self._note(found)
        await asyncio.gather(*stops, return_exceptions=True)

    # How far they are

    async def _watch(self) -> None:
        """Ask all workers how far they are, each second, and end those that are silent.

        Silence is counted in looks, not by a clock: a driver that was itself stopped blames nobody.
        A worker that never answered yet waits for room, or for its process to start.
        """
        assert self._crew is not None
        while True:
            await asyncio.sleep(TICK)
            for member in self._crew.members:
                if member not in self._asking:
                    self._asking[member] = asyncio.create_task(self._ask_state(member))
                elif member in self._missed:
                    self._missed[member] += 1
            self._end_silent(SILENCE / TICK)
            self._tell_progress()

    async def _ask_state(self, member: Member) -> None:
        try:
            self._states[member] = state = await member.state()
            self._missed[member] = 0
            self._progress.trouble = state.trouble or self._progress.trouble
        except (RubricateError, WorkerDied):
            self._missed.pop(member, None)
        finally:
            del self._asking[member]

    def _end_silent(self, looks: float) -> None:
        """End the workers that have left so many looks unanswered."""
        for member in [one for one, missed in self._missed.items() if missed >= looks]:
            died = WorkerDied(f"no sign of life for {self._missed.pop(member) * TICK:g} s")
            member.end(str(died))
            if not self._load[member]:  # else what it was at says so
                self._lost(member, died)

    def _tell_progress(self) -> None:
        """Tell how far the run is: the items that are done, and what workers are at."""
        shown = replace(self._progress)
        for member in self._at_work:
            state = self._states.get(member)
            for one in state.under_way if state is not None and self._load[member] else ():
                shown.done += one.done
                shown.failed += one.failed
                shown.abstained += one.abstained
                shown.calls += one.calls
                shown.in_flight += one.in_flight
                shown.usage += one.usage
        shown.done = min(shown.done, shown.total)
        self._on_progress(shown)


def _in_one_line(error: Exception) -> str:
    """Why a worker could not begin, where that is none of rubricate's own errors."""
    text = " ".join(str(error).split())[:300]
    return f"what a worker needs cannot be opened: {type(error).__name__}: {text}"


async def _is_ready(member: Member) -> None:
    await member.ready()


def _out_of_time(seconds: float) -> str:
    return f"the greatest time of {seconds:g} s is reached"


def driving(job: Job) -> Callable[..., Execution]:
    """What makes the execution of a run by workers, of what any execution is made of."""

    def make(
        plan: Plan,
        stages: Stages,
        answers: Answers,
        sender: Sender,
        options: RunOptions,
        progress: Progress,
        listeners: Listeners,
        stop: asyncio.Event,
    ) -> Execution:
        return Driving(job, plan, stages, answers, sender, progress, listeners, stop)

    return make
