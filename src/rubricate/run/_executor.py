"""Executing a plan: every (item, criterion, judge) once, so many at a time, all journalled."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import logging
import os
import threading
import time
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

import orjson

from rubricate._sync import running_loop
from rubricate.dataset import Item
from rubricate.errors import InputError, ModelError
from rubricate.judge import Send, check_awaitable, check_group, checked_verdict, keyed
from rubricate.rubric import NO_USAGE, Failure, Usage, Verdict
from rubricate.run._calls import NOT_RUN, Asked, Call, JudgedItem, Stages
from rubricate.run._channel import Channel
from rubricate.run._context import Context, RunContext
from rubricate.run._failing import failure_of
from rubricate.run._kept import Kept
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run.journal import (
    INTERVAL,
    LOOK_AGAIN,
    Answers,
    to_json,
    verdict_from_record,
    verdict_record,
)
from rubricate.run.results import ItemResult, Outcome
from rubricate.run.sending import (
    RAISED,
    Expense,
    Locks,
    RunEnds,
    Sender,
    Settle,
    SingleFlight,
    Spending,
)

if TYPE_CHECKING:
    from rubricate.judge import Model, Request
    from rubricate.run._turns import Turns
    from rubricate.run.journal import Lease
    from rubricate.run.sending import Claim

logger = logging.getLogger(__name__)
Opened = tuple[JudgedItem, list[Call]]
"""An item, and the calls of it that may be made."""
OnVerdict = Callable[[Item, str, Verdict], None]
"""Told of an item's verdict on the criterion of a name."""
BLOCK = 256
"""Items whose answers are looked up at once: as many as a worker is given. At half, a link of 20 ms
takes twice as large a part of quick judgements; at double, twice as many items are in memory."""
BACKLOG = 32
"""Judged items that wait to be taken before judging waits too."""
ASIDE, AHEAD, LATE = 1024, 4, 1024
"""Calls that are under way beyond those that may be in flight, while these wait to be sent again;
how many times as many are begun to find a prompt that is answered; and how many that failed in an
earlier run wait for the others at most."""
ROUNDS = 16
"""Rounds of the loop in which a request to an address that is near is connected and written."""
BREATH = 0.05
"""Seconds after which signals and the screen are let in beside judges that never wait."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """Who is told of a run, and of its results.

    Attributes:
        on_sent: called when the first request is on its way, and little else is to be done.
        on_item: given every item's result before anybody else.
        on_end: given the outcome, complete or not, when all items have been given.
        on_verdict: told of every verdict as soon as it is there; where weights are learnt, when
            the item's result is. None for nobody.
    """

    on_sent: Callable[[], None]
    on_item: Callable[[ItemResult], None]
    on_end: Callable[[Outcome], None]
    on_verdict: OnVerdict | None = None


class Execution:
    """Judges what is not known yet, item by item, `concurrency` calls at a time.

    It holds the items that it is at and no others, and waits where nobody takes what is done.

    Args:
        plan: the items.
        stages: who judges.
        answers: what is known, and where answers are kept.
        sender: how the judge reaches models.
        options: what the run is told.
        progress: is kept up to date.
        listeners: whose `on_verdict` is told once of every verdict of an item, as soon as it is
            there.
        stop: ends the execution when it is set.

    Attributes:
        not_run: how many verdicts that `left` has given are neither had nor known.
    """

    def __init__(
        self,
        plan: Plan,
        stages: Stages,
        answers: Answers,
        sender: Sender,
        options: RunOptions,
        progress: Progress,
        listeners: Listeners,
        stop: asyncio.Event,
    ) -> None:
        concurrency, on_progress = options.concurrency, options.tell
        self.not_run = 0
        self._items = enumerate(plan)
        self._opening = self._first_calls()
        self._stages = stages
        self._answers = answers
        self._sender = sender
        self._spending: Spending | None = None
        claim: Claim | None = None
        if options.max_cost is not None:
            self._spending = Spending(options.max_cost, progress, answers.ledger)
            claim = self._spending.claim
        if answers.lease is not None:
            claim = partial(_held, answers.lease, claim)
        self._run = RunContext(
            send=sender,
            kept=Kept(sender, answers),
            claim=claim,
            answers=answers,
            progress=progress,
            on_progress=on_progress,
            places=asyncio.Semaphore(max(1, concurrency)),
            goes_on=partial(self._goes_on, has_begun=True),
            aside=self._set_aside,
            look_ahead=self._look_ahead,
            locks=Locks(),
        )
        self._concurrency = concurrency
        self._first_workers = min(concurrency, stages.most_judgements(plan))
        self._workers: set[asyncio.Task[None]] = set()
        self._begin: Callable[[int], None] = lambda more: None
        self._aside = 0  # calls that wait to be sent again
        self._all_begun = False
        self._late: deque[tuple[JudgedItem, Call]] = deque()
        self._max_time = options.max_time
        self._out_of_time: str | None = None
        self._only_failed = options.retry_failed
        self._leader_first = options.leader_first
        if options.leader_first is None:
            self._leader_first = stages.caches_prefixes
        self._leaders = 0  # in flight, after which there may be more to do
        self._ready: deque[tuple[JudgedItem, Call | None]] = deque()  # goes before further items
        self._more = asyncio.Event()
        self._progress = progress
        self._on_progress = on_progress
        self._on_verdict = listeners.on_verdict
        self._on_sent = listeners.on_sent
        self._stop = stop
        self._open: dict[int, JudgedItem] = {}
        self._flights = SingleFlight()
        self._turns = None if answers.claims is None else _turns(answers, self._flights)
        self._block: asyncio.Task[list[Opened]] | None = None  # is looked up
        self._unread: list[Opened] = []  # is to be
        self._batches: dict[int, list[Opened]] = {}  # are looked up now
        self._pending = self._all_calls(() if self._answers.is_remote else self._opening)
        self._breathed = time.monotonic()
        self._tells = self._on_verdict is not None or logger.isEnabledFor(logging.INFO)
        logger.info("%d items, %d judgements", plan.items, progress.total)

    @property
    def over_budget(self) -> str | None:
        """Why it ended before all was judged, if that was for its budget."""
        return self._out_of_time or (None if self._spending is None else self._spending.reached)

    @property
    def note(self) -> str | None:
        """A line to be shown beside the results, or None."""
        return self._stages.note

    async def judged(
        self, context: contextvars.Context | None = None
    ) -> AsyncGenerator[JudgedItem]:
        """The items whose verdicts are all there, as they get done.

        Calls are made in the context that is given, else in the caller's own.

        Ends when all is done, when `stop` is set, when the sender has stopped or the budget is
        spent. What it has not given then, for whatever reason it ended, is in `left`.
        """
        done: Channel[JudgedItem] = Channel(BACKLOG)
        working = running_loop().create_task(self._work(done), context=context)
        working.add_done_callback(lambda _: done.close())
        try:
            while (item := await done.take()) is not None:
                del self._open[item.index]
                logger.info("%s: %d criteria done", item.item.id, len(item.verdicts))
                yield item
            working.result()
        finally:
            working.cancel()
            await asyncio.gather(working, return_exceptions=True)

    def left(self) -> Iterator[JudgedItem]:
        """The items that `judged` has not given, each once, in the dataset's order.

        A verdict that is neither had nor known is a failed one.
        """
        while True:
            for batch in (*self._batches.values(), self._unread):
                for keys in self._waves(batch, {}):
                    self._answers.hold(keys)
            while self._open:
                yield self._filled(self._open.pop(next(iter(self._open))))
            if not self._answers.has_a_past:
                break
            self._unread = list(islice(self._opening, BLOCK))
            if not self._unread:
                break
        for index, given in self._items:  # nothing can be known of them: no keys are made
            item = JudgedItem(given, index)
            if given.unreadable is not None:
                self._fail(item, given.unreadable)
            yield self._filled(item)

    def _filled(self, item: JudgedItem) -> JudgedItem:
        for name in item.item.rubric.names:
            if name not in item.verdicts:
                self.not_run += 1
                item.verdicts[name] = self._stages.not_run(name, item.votes.get(name))
                self._tell(item, name)
        return item

    def _first_calls(self) -> Iterator[Opened]:
        """The items, with the calls that each takes if nothing is known."""
        for index, given in self._items:
            item, calls = JudgedItem(given, index), list[Call]()
            self._open[index] = item
            if given.unreadable is not None:
                self._fail(item, given.unreadable)
            else:
                calls = self._stages.first_calls(item)
                if item.alike:
                    self._progress.total -= sum(map(len, item.alike.values()))
            yield item, calls

    def _waves(self, batch: list[Opened], unknown: dict[int, Opened]) -> Iterator[list[str]]:
        """Take the verdicts that are known of many items: of their calls, then of what these bring.

        Args:
            batch: the items with the calls to look up; those that are left to look up, between.
            unknown: is given the items with the calls that may be made, by the items' indices.

        Gives the keys that `Answers` is to hold before it goes on.
        """
        while batch:
            keys = [asked.key for _, calls in batch for call in calls for asked in call.asked]
            yield keys
            wave, batch[:] = [*batch], []
            for item, calls in wave:
                left = unknown.setdefault(item.index, (item, []))[1]
                left += self._left(item, calls) if calls else ()
                if further := self._further(item):
                    batch.append((item, further))
            self._answers.release_held(keys)

    async def _looked_up(self, batch: list[Opened]) -> list[Opened]:
        """The items of a batch, with the calls that may be made; looked up beside the loop."""
        unknown: dict[int, Opened] = {}
        self._batches[id(batch)] = batch
        for keys in self._waves(batch, unknown):
            if keys:
                await self._answers.look_up(keys)
        del self._batches[id(batch)]
        return list(unknown.values())

    async def _read_block(self) -> list[Opened]:
        """Further items, with the calls that may be made; empty after the last."""
        return await self._looked_up(list(islice(self._opening, BLOCK)))

    async def _next_block(self) -> bool:
        """Go on to the next block, while the one after it is looked up; whether there is one."""
        block = self._block
        if block is None:
            return False
        await asyncio.wait((block,))
        if block is self._block:  # nobody has gone on to it meanwhile
            found = block.result()
            self._block = asyncio.create_task(self._read_block()) if found else None
            self._pending = self._all_calls(found)
        return True

    async def _look_up_unread(self) -> None:
        """Look up all calls that wait for it."""
        unread, self._unread = self._unread, []
        self._leaders += 1  # what is not known is more to do
        try:
            for item, calls in await self._looked_up(unread):
                self._ready.extend((item, call) for call in calls)
                if len(item.verdicts) == len(item.item.rubric):
                    self._ready.append((item, None))
        finally:
            self._leaders -= 1
            self._more.set()
            self._more.clear()
        self._on_progress(self._progress)

    def _unknown(self, item: JudgedItem, calls: list[Call]) -> list[Call]:
        """The calls that may be made, once the verdicts that are known are taken.

        They are what is left of those that are given, and what comes of them, without those that
        wait for another.
        """
        unknown: list[Call] = []
        while calls:
            unknown += self._left(item, calls)
            calls = self._further(item)
        return unknown

    def _left(self, item: JudgedItem, calls: list[Call]) -> list[Call]:
        """The calls that may be made, once the verdicts that are known of them are taken."""
        progress = self._progress
        unknown: list[Call] = []
        saved: list[Usage] = []
        failed: set[str] = set()
        known, cached = self._answers.known([one.key for call in calls for one in call.asked])
        for call in calls:
            left: list[Asked] = []
            for asked in call.asked:
                record = known.get(asked.key)
                if record is None and self._only_failed and asked.criterion.name not in item.again:
                    not_run = Verdict(
                        asked.criterion.name, "failed", error=NOT_RUN, judge=call.judge.name
                    )
                    self._take(item, call.voter, asked, not_run)
                    progress.done += 1
                elif record is None or record["status"] == "failed":
                    left.append(asked)
                    if record is not None:
                        failed.add(asked.key)
                        item.failed_before.add(asked.criterion.name)
                else:
                    verdict = self._remembered(item, call, asked, record)
                    self._take(item, call.voter, asked, verdict)
                    progress.count(verdict)
                    progress.cached += asked.key in cached
                    progress.resumed += asked.key not in cached
                    saved.append(verdict.usage)
            if left:
                failed_before = left[0].key in failed
                if failed_before != call.failed_before or len(left) < len(call.asked):
                    unknown.append(call._replace(asked=left, failed_before=failed_before))
                else:
                    unknown.append(call)
                self._flights.plan([one.key for one in left])
        if saved:
            progress.saved = Usage.total((progress.saved, *saved))
        if self._leader_first:
            unknown = item.lead(unknown)
        return unknown

    def _remembered(
        self, item: JudgedItem, call: Call, asked: Asked, record: dict[str, Any]
    ) -> Verdict:
        """The verdict of a journal's record; failed where the criterion cannot read the answer."""
        try:
            verdict = verdict_from_record(record, asked.criterion)
            if verdict.value is not None and not 0 <= verdict.value <= 1:
                raise InputError(f"the criterion gave the value {verdict.value}: not from 0 to 1")
            return verdict
        except BaseException as error:
            return call.failed(asked, failure_of(error, f"{item.item.id}: a stored answer"))

    def _fail(self, item: JudgedItem, why: str) -> None:
        """Fail every verdict of an item whose submission cannot be read; nothing is kept of it."""
        for name in item.item.rubric.names:
            item.verdicts[name] = Verdict(name, "failed", error=Failure("document", why))
            self._progress.count(item.verdicts[name])
            self._tell(item, name)

    def _further(self, item: JudgedItem) -> list[Call]:
        """The calls that what was taken last makes needed.

        They are at a further stage of a cascade, or of criteria whose gates hold. What need not be
        asked, for a gate that does not, has its verdict.
        """
        progress, calls = self._progress, []
        if item.escalated:
            calls = self._stages.escalations(item)
            progress.total += sum(len(call.asked) for call in calls)
        if item.settled:
            alike = sum(map(len, item.alike.values()))
            released, unasked = self._stages.released(item)
            progress.total -= sum(map(len, item.alike.values())) - alike
            for criterion in unasked:
                progress.total -= self._stages.first_judgements(criterion)
                self._tell(item, criterion.name)
            calls += released
        return calls

    def _take(self, item: JudgedItem, voter: int, asked: Asked, verdict: Verdict) -> None:
        """Note a judgement, and tell of the verdict if it is complete."""
        self._stages.take(item, voter, asked, verdict)
        if self._tells and asked.criterion.name in item.verdicts:
            self._tell(item, asked.criterion.name)

    def _tell(self, item: JudgedItem, name: str) -> None:
        verdict = item.verdicts[name]
        if verdict.error is not None:
            error = verdict.error
            logger.info("%s: %s: %s: %s", item.item.id, name, error.kind, error.message)
        else:
            logger.debug("%s: %s: %s", item.item.id, name, verdict.label or verdict.status)
        if self._on_verdict is not None:
            self._on_verdict(item.item, name, verdict)

    def _all_calls(self, opened: Iterable[Opened]) -> Iterator[tuple[JudgedItem, Call | None]]:
        """Every call that may be made with its item; for an item that needs none, once None.

        Args:
            opened: items with their calls, which are looked up one item after the other, or that
                have been.
        """
        for item, given in opened:
            calls = given if self._answers.is_remote or not given else self._unknown(item, given)
            if item.verdicts or item.votes:
                self._on_progress(self._progress)
            for call in calls or (None,):
                if call is None or not call.failed_before:
                    yield item, call
                    continue
                self._late.append((item, call))
                if len(self._late) > LATE:
                    yield self._late.popleft()

    def _next(self) -> tuple[JudgedItem, Call | None] | None:
        """The next call: of an item that is open first, else of the next one; None for none yet."""
        if self._ready:
            return self._ready.popleft()
        if self._turns is not None and self._turns.is_full:
            return None
        found = next(self._pending, None)
        if found is None and self._late and self._block is None:
            found = self._late.popleft()
        return found

    async def _work(self, done: Channel[JudgedItem]) -> None:
        """Let workers work until there is nothing more to do or to spend, or `stop` is set."""
        all_done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def ended(worker: asyncio.Task[None]) -> None:
            self._workers.discard(worker)
            error = None if worker.cancelled() else worker.exception()
            if all_done.done():
                return
            if error is not None:
                all_done.set_exception(error)
            elif not self._workers:
                all_done.set_result(None)

        def begin(more: int) -> None:
            for _ in range(more):
                worker = asyncio.create_task(self._worker(done))
                worker.add_done_callback(ended)
                self._workers.add(worker)

        async def begin_others() -> None:
            """Begin the other workers when the first one's request is on its way."""
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            begin(self._first_workers - 1)
            await asyncio.sleep(0)
            self._on_sent()

        self._begin = begin
        self._answers.ledger.add(self._progress, self._sender.in_flight)
        if self._answers.is_remote:
            self._block = asyncio.create_task(self._read_block())
        begin(1)
        beginning = asyncio.create_task(begin_others())
        stopping = asyncio.create_task(self._stop.wait())
        committing = asyncio.create_task(self._commit_in_time())
        ends: list[asyncio.Future[Any]] = [all_done, stopping, committing]
        try:
            finished, _ = await asyncio.wait(
                ends, timeout=self._max_time, return_when=asyncio.FIRST_COMPLETED
            )
            if not finished:
                self._out_of_time = f"the greatest time of {self._max_time:g} s is reached"
            for end in finished:
                end.result()
        finally:
            self._begin = lambda more: None
            left: list[asyncio.Future[Any]] = [*self._workers, beginning, *ends]
            if self._block is not None:
                left.append(self._block)
            for one in left:
                one.cancel()
            await asyncio.gather(*left, return_exceptions=True)
            await self._answers.end(self._progress, self._stop)

    def _set_aside(self, waits: bool) -> None:
        """A call waits to be sent again: another one takes its place until it does no more."""
        self._aside += 1 if waits else -1
        if waits and not self._all_begun and self._aside <= ASIDE:
            self._begin(1)

    def _look_ahead(self) -> bool:
        """Begin many more calls, to find one whose prompt is answered; whether there are any."""
        more = min((AHEAD - 1) * len(self._workers), self._concurrency + ASIDE - len(self._workers))
        if more > 0 and not self._all_begun:
            self._begin(more)
        return not self._all_begun

    def _leaves(self) -> bool:
        """Whether this worker leaves: more are at work than may be in flight, without need.

        It is counted out at once. Others that ask before its task has ended stay.
        """
        too_many = len(self._workers) > self._concurrency + self._aside
        if not too_many or self._sender.in_doubt:
            return False
        worker = asyncio.current_task()
        assert worker is not None
        self._workers.discard(worker)
        return True

    async def _commit_in_time(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            self._answers.commit()

    def _goes_on(self, *, has_begun: bool = False) -> bool:
        """Whether another judgement may be made; or, of one that has begun, a further part."""
        if self._stop.is_set() or self._sender.stopped_by:
            return False
        return has_begun or self._spending is None or self._spending.goes_on

    async def _worker(self, done: Channel[JudgedItem]) -> None:
        while self._goes_on() and not self._leaves():
            if self._answers.is_full:
                await self._answers.ready()
                continue
            if self._unread:
                await self._look_up_unread()
            if self._turns is not None:
                await self._turns.claim(self._ready, self._pending)
            found = self._next()
            if found is None:
                is_full = self._turns is not None and self._turns.is_full
                if self._block is not None and not is_full and await self._next_block():
                    continue
                if self._turns is not None and self._turns.waits:
                    await asyncio.sleep(LOOK_AGAIN)
                    continue
                if self._leaders:  # what follows them may be more to do
                    await self._more.wait()
                    continue
                self._all_begun = True
                return
            item, call = found
            if call is not None:
                leads = self._leader_first and item.leads(call)
                may_bring_more = (
                    leads
                    or item.waiting is not None
                    or (self._stages.count > 1 and self._stages.may_escalate(call.voter))
                )
                make = self._led if may_bring_more else self._made
                if not await make(item, call):
                    return
            if len(item.verdicts) == len(item.item.rubric):
                await done.put(item)
            if time.monotonic() - self._breathed > BREATH:
                await asyncio.sleep(0)
                self._breathed = time.monotonic()

    async def _led(self, item: JudgedItem, call: Call) -> bool:
        """Make a call that others wait for, or that may bring more."""
        self._leaders += 1
        try:
            return await self._made(item, call)
        finally:
            self._leaders -= 1
            if item.leads(call):
                self._ready.extend((item, one) for one in item.follow(call.voter))
            self._more.set()
            self._more.clear()

    def _made(self, item: JudgedItem, call: Call) -> Awaitable[bool]:
        """Make a call; whether the budget allowed it."""
        if self._spending is None or not call.needs_judge:
            return self._make(item, call)
        return self._made_within(self._spending, item, call)

    async def _made_within(self, spending: Spending, item: JudgedItem, call: Call) -> bool:
        """Make a call once it fits into a bound; whether it does."""
        expense = await spending.begin(str(call.voter))
        if expense is None:
            return False
        try:
            return not self._goes_on(has_begun=True) or await self._make(item, call, expense)
        finally:
            expense.end()

    async def _make(
        self, item: JudgedItem, call: Call, expense: Expense | None = None
    ) -> Literal[True]:
        """Make a call, or take the answers that others have asked for meanwhile."""
        keys = call.keys
        is_mine = self._flights.begin(keys)
        if is_mine is None:
            await self._flights.over(keys)
        if is_mine and self._turns is not None:
            is_mine = await self._turns.is_mine(item, call)
            if is_mine is None:
                return True
        if not is_mine:
            self._go_on_with(item, [call])
            self._on_progress(self._progress)
            return True
        asked, progress = call.asked, self._progress
        progress.in_flight += len(asked)
        context = Context(self._run, item, call.failed_before, expense)
        send: Send = keyed(context, call.suffix) if call.suffix else context
        given: list[Any]
        try:
            try:
                if len(asked) == 1:
                    answer = call.judge.judge(item.item, asked[0].criterion, send)
                    check_awaitable(call.judge, answer)
                    given = [await answer]
                else:
                    criteria = [one.criterion for one in asked]
                    answers = call.judge.judge_group(item.item, criteria, send)
                    check_awaitable(call.judge, answers)
                    given = await answers
                    check_group(call.judge, given, len(asked))
            except BaseException as error:
                given = [error] * len(asked)
            finally:
                progress.in_flight -= len(asked)
            took = context.took
            verdicts = [
                self._checked(item, call, one, answer, took)
                for one, answer in zip(asked, given, strict=True)
            ]
            self._keep(item, call, verdicts, context)
            if expense is not None:
                expense.is_whole = True
        except RunEnds:
            return True
        finally:
            self._flights.end(keys)
            if self._turns is not None:
                self._answers.release(keys)
        return True

    def _checked(
        self, item: JudgedItem, call: Call, asked: Asked, given: Any, took: Usage
    ) -> Verdict:
        """What a judge has given as a verdict; a failed one where it has raised, or that is none.

        A judge that always raises ends the run.
        """
        raising = self._sender.raising
        try:
            if isinstance(given, BaseException):
                raise given
            verdict = checked_verdict(call.judge, given, asked.criterion, took)
            if not (verdict.detail is None and verdict.answer is None and verdict.order is None):
                orjson.loads(to_json((verdict.detail, verdict.answer, verdict.order)))
        except BaseException as error:
            failure = failure_of(error, f"{item.item.id}: {call.judge.name}")
            if raising.raised(call.voter) and not self._stages.decides_without(raising.broken):
                sender = self._sender
                sender.stopped_by = sender.stopped_by or ModelError(
                    "not_run",
                    f"{call.judge.name} raised in each of its first {RAISED} judgements, last: "
                    f"{failure.message}",
                )
            return call.failed(asked, failure)
        if asked.criterion.needs_judge:
            raising.making.add(call.voter)
        return verdict

    def _keep(
        self, item: JudgedItem, call: Call, verdicts: list[Verdict], context: Context
    ) -> None:
        """Take the verdicts that a call has given, and put them into the journal."""
        progress = self._progress
        usage = verdicts[0].usage if len(verdicts) == 1 else Usage.total(v.usage for v in verdicts)
        if (untold := context.untold(usage)) is not NO_USAGE:
            usage += untold
            verdicts = [replace(verdicts[0], usage=verdicts[0].usage + untold), *verdicts[1:]]
        if (left := context.left(usage)) is not NO_USAGE:
            context.takes(left)
        for one, verdict in zip(call.asked, verdicts, strict=True):
            self._take(item, call.voter, one, verdict)
            self._answers.put(
                one.key,
                verdict_record(verdict),
                shared=bool(usage.requests) and verdict.status != "failed",
                transcript=context.transcript,
            )
            progress.calls += verdict.error is None or verdict.error.kind != "not_run"
            if self._turns is not None and not usage.requests and verdict.status != "failed":
                self._turns.note_unshared(call)
            progress.count(verdict)
        if item.escalated or item.settled:
            self._go_on_with(item, self._further(item))
        self._on_progress(progress)

    def _go_on_with(self, item: JudgedItem, calls: list[Call]) -> None:
        """Make further calls of an item, but for what is known of them."""
        if self._answers.is_remote:
            if calls:
                self._unread.append((item, calls))
            return
        self._ready.extend((item, call) for call in self._unknown(item, calls))


async def _held(lease: Lease, claim: Claim | None, model: Model, request: Request) -> Settle | None:
    """Wait until the run is known to be this process's; send nothing where it is another's."""
    if not await lease.held():
        raise RunEnds
    return None if claim is None else await claim(model, request)


def _turns(answers: Answers, flights: SingleFlight) -> Turns:
    from rubricate.run._turns import Turns

    return Turns(answers, flights)


NEW_OBJECTS = 100_000
"""New objects after which garbage is collected while a run goes on. Each call makes many objects
that live until its answer comes; at Python's usual 700 the collector looks through all of them
every few calls, which takes a tenth of a run's CPU time."""

_THRESHOLDS_LOCK = threading.Lock()
_THRESHOLDS: list[tuple[int, int, int]] = []
"""The process's own thresholds, once for each run that goes on."""

if hasattr(os, "register_at_fork"):  # a thread that holds the lock is not in a forked process
    os.register_at_fork(
        before=_THRESHOLDS_LOCK.acquire,
        after_in_parent=_THRESHOLDS_LOCK.release,
        after_in_child=_THRESHOLDS_LOCK.release,
    )


@contextmanager
def rarer_collections() -> Iterator[None]:
    """Let the process collect garbage less often until the last such block has ended.

    A collector that is switched off, or is already set to look less often, stays as it is.
    """
    with _THRESHOLDS_LOCK:
        own = _THRESHOLDS[0] if _THRESHOLDS else gc.get_threshold()
        _THRESHOLDS.append(own)
        if 0 < own[0] < NEW_OBJECTS:
            gc.set_threshold(NEW_OBJECTS, own[1], own[2])
    try:
        yield
    finally:
        with _THRESHOLDS_LOCK:
            _THRESHOLDS.pop()
            if not _THRESHOLDS:
                gc.set_threshold(*own)
