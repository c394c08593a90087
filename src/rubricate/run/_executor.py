"""Executes a plan: makes each call once, N at a time, and stores all answers in the journal."""

from __future__ import annotations

import asyncio
import gc
import logging
import threading
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

import orjson

from rubricate._sync import free_after_fork
from rubricate.dataset import Item
from rubricate.errors import ModelError
from rubricate.judge import Send, check_awaitable, check_group, checked_verdict, keyed
from rubricate.rubric import NO_USAGE, UNANSWERED, Usage, Verdict
from rubricate.run._context import Context, RunContext
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._pool import ASIDE, WAITING, Pool
from rubricate.run._progress import Progress
from rubricate.run._queue import CallQueue
from rubricate.run.items import Call, ItemMachine, JudgedItem, Question, Stages, failure_of
from rubricate.run.journal import INTERVAL, Answers, to_json
from rubricate.run.results import ItemResult, RunFacts
from rubricate.run.sending import RAISED, Expense, RunEnds, Sender, Settle, Spending

if TYPE_CHECKING:
    from rubricate.judge import Model, Request
    from rubricate.run.journal import Lease
    from rubricate.run.sending import Claim

logger = logging.getLogger(__name__)
OnVerdict = Callable[[Item, str, Verdict], None]
"""Callback: `(item, criterion_name, verdict)`."""
Give = Callable[[JudgedItem], Awaitable[None]]
"""Takes a complete item; returns when there is room for more."""
HEAD_START = 0.001
"""Seconds for which the first worker is alone, enough to connect to a nearby address and send a
request. At half, the prompts of others are made before it is sent; at double, a run of few items
takes a thousandth of a second longer."""


@dataclass(frozen=True, slots=True)
class Listeners:
    """The callbacks of a run.

    Attributes:
        on_sent: called when the first request has been sent and there is time to spare.
        on_item: called with the result of every item.
        on_end: called with the outcome, complete or not, after all items.
        on_verdict: called with every verdict as soon as it exists; with learnt weights, together
            with the item's result. None for no callback.
    """

    on_sent: Callable[[], None]
    on_item: Callable[[ItemResult], None]
    on_end: Callable[[RunFacts], None]
    on_verdict: OnVerdict | None = None


@dataclass(frozen=True, slots=True)
class RunParts:
    """The parts of a run that every execution works with, in this process or another.

    Attributes:
        plan: the items.
        stages: the judges.
        answers: the stored answers, and the store for new ones.
        sender: sends requests to models.
        options: the options of the run.
        progress: kept up to date.
        listeners: its `on_verdict` is called once for every verdict.
        stop: set it to end the execution.
    """

    plan: Plan
    stages: Stages
    answers: Answers
    sender: Sender
    options: RunOptions
    progress: Progress
    listeners: Listeners
    stop: asyncio.Event


class Execution:
    """Judges everything without a stored answer, `concurrency` calls at a time.

    It schedules calls, keeps to the budget, and stops. The `ItemMachine` decides which calls an
    item needs. Only open items are in memory, and judging waits if results are taken slowly.

    Args:
        run: the parts of the run.

    Attributes:
        not_run: how many verdicts from `unfinished` are missing because the run ended.
    """

    def __init__(self, run: RunParts) -> None:
        self.not_run = 0
        self._run = run
        answers, sender, options, progress = run.answers, run.sender, run.options, run.progress
        self._time_limit_reached: str | None = None
        self._spending: Spending | None = None
        claim: Claim | None = None
        if options.max_cost is not None:
            self._spending = Spending(options.max_cost, progress, answers.ledger)
            claim = self._spending.claim
        if answers.lease is not None:
            claim = partial(_held, answers.lease, claim)
        is_heard = run.listeners.on_verdict is not None or logger.isEnabledFor(logging.INFO)
        self._machine = ItemMachine(
            run.stages,
            progress,
            only_failed=options.retry_failed,
            on_settled=self._settled if is_heard else None,
        )
        leader_first = options.leader_first
        self._queue = CallQueue(
            run.plan,
            self._machine,
            answers,
            leader_first=run.stages.judge.caches_prefixes if leader_first is None else leader_first,
            on_progress=self._report_progress,
        )
        aside = WAITING if run.stages.judge.answers_later else ASIDE
        self._pool = Pool(
            options.concurrency, run.stages.most_judgements, lambda: sender.in_doubt, aside
        )
        self._shared = RunContext(
            send=sender,
            claim=claim,
            answers=answers,
            progress=progress,
            on_progress=self._report_progress,
            places=asyncio.Semaphore(options.concurrency + aside - ASIDE),
            may_continue=self._may_continue,
            pool=self._pool,
            locks=WeakValueDictionary(),
        )
        logger.info("%d items, %d judgements", run.plan.items, progress.total)

    @property
    def over_budget(self) -> str | None:
        """The budget that ended it early, in words; None if none did."""
        return self._time_limit_reached or (
            None if self._spending is None else self._spending.reached
        )

    @property
    def note(self) -> str | None:
        """A line to show beside the results, or None."""
        return self._machine.stages.note

    async def judge(self, give: Give) -> None:
        """Judge the items, and pass each on as soon as it is complete.

        It ends when everything is done, when `stop` is set, when the sender has stopped, or when
        the budget is spent. The remaining items are then in `unfinished`.

        Args:
            give: takes an item. Judging waits while it waits.
        """
        self._run.answers.ledger.add(self._run.progress, self._run.sender.in_flight)
        if self._run.answers.is_remote:
            self._queue.begin()
        worked = self._pool.start(partial(self._worker, give))
        beginning = asyncio.create_task(self._begin_others())
        stopping = asyncio.create_task(self._run.stop.wait())
        committing = asyncio.create_task(self._commit_in_time())
        ends: list[asyncio.Future[Any]] = [worked, stopping, committing]
        seconds = self._run.options.max_time
        try:
            ended, _ = await asyncio.wait(
                ends, timeout=seconds, return_when=asyncio.FIRST_COMPLETED
            )
            if not ended:
                self._time_limit_reached = f"the maximum time of {seconds:g} s is reached"
            for end in ended:
                end.result()
        finally:
            remaining = [*self._pool.close(), beginning, *ends, *self._queue.end()]
            for task in remaining:
                task.cancel()
            await asyncio.gather(*remaining, return_exceptions=True)
            await self._run.answers.end(self._run.progress, self._run.stop)

    def unfinished(self) -> Iterator[JudgedItem]:
        """The items that `judge` has not passed on, each once, in the order of the dataset.

        Verdicts without a stored answer are `not_run`.
        """
        for item in self._queue.rest():
            self.not_run += self._machine.end(item)
            yield item

    # Scheduling

    async def _begin_others(self) -> None:
        """Start the other workers after the first one has sent its request."""
        await asyncio.sleep(HEAD_START)
        self._pool.begin_others()
        await asyncio.sleep(0)
        self._run.listeners.on_sent()

    async def _commit_in_time(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            self._run.answers.commit()

    async def _worker(self, give: Give) -> None:
        """Make one call after the other."""
        queue, pool = self._queue, self._pool
        while self._may_begin() and not pool.leave():
            if self._run.answers.is_remote and self._run.answers.is_full:
                await self._run.answers.ready()
                continue
            turns = queue.turns
            pending = queue.pop() if turns is None else await queue.pop_claimed(turns)
            if pending is None:
                if await queue.wait():
                    continue
                pool.is_idle = True
                return
            item, call = pending
            if call is not None:
                # Batches only claim their costs, because none can wait for a first answer.
                if self._spending is not None and call.needs_judge and not call.judge.answers_later:
                    making = self._make_call_within_budget(self._spending, item, call)
                else:
                    making = self._make_call(item, call)
                if self._machine.may_bring_more(item, call):
                    making = queue.leading(item, call, making)
                if not await making:
                    return
            if item.is_complete:
                del queue.open[item.index]
                logger.info("%s: %d criteria done", item.item.id, len(item.verdicts))
                await give(item)
            if time.monotonic() >= pool.yields_at:
                await pool.let_others_run()

    def _may_begin(self) -> bool:
        """Whether another judgement may be made."""
        if self._run.stop.is_set() or self._run.sender.stopped_by:
            return False
        return self._spending is None or self._spending.goes_on

    def _may_continue(self) -> bool:
        """Whether a judgement that has started may send anything more."""
        return not (self._run.stop.is_set() or self._run.sender.stopped_by)

    # A call

    async def _make_call_within_budget(
        self, spending: Spending, item: JudgedItem, call: Call
    ) -> bool:
        """Make a call once the budget covers it. False if it never does."""
        expense = await spending.begin(str(call.voter))
        if expense is None:
            return False
        try:
            return not self._may_continue() or await self._make_call(item, call, expense)
        finally:
            expense.end()

    async def _make_call(
        self, item: JudgedItem, call: Call, expense: Expense | None = None
    ) -> bool:
        """Make a call, or use answers that others have got in the meantime. Always true."""
        queue, keys = self._queue, call.keys
        is_mine = queue.flights.begin(keys)
        if is_mine is None:
            await queue.flights.over(keys)
        if is_mine and queue.turns is not None:
            is_mine = await queue.turns.is_mine(item, call)
            if is_mine is None:
                return True
        if not is_mine:
            queue.look_up(item, [call])
            return True
        context = Context(self._shared, item, call.failed_before, expense, call.suffix)
        try:
            verdicts = await self._ask(item, call, context)
            self._store(item, call, verdicts, context)
            if expense is not None:
                expense.is_whole = True
        except RunEnds:
            return True
        finally:
            queue.flights.end(keys)
            if queue.turns is not None:
                self._run.answers.release(keys)
        return True

    async def _ask(self, item: JudgedItem, call: Call, context: Context) -> list[Verdict]:
        """The judge's verdicts for the questions of a call; failed ones if it raises."""
        judge, questions, progress = call.judge, call.questions, self._run.progress
        progress.in_flight += len(questions)
        send: Send = keyed(context, call.suffix) if call.suffix else context
        answers: list[Any]
        try:
            if len(questions) == 1:
                answer = judge.judge(item.item, questions[0].criterion, send)
                if not judge.is_trusted:
                    check_awaitable(judge, answer)
                answers = [await answer]
            else:
                criteria = [question.criterion for question in questions]
                group = judge.judge_group(item.item, criteria, send)
                check_awaitable(judge, group)
                answers = await group
                check_group(judge, answers, len(questions))
        except BaseException as error:
            answers = [error] * len(questions)
        finally:
            progress.in_flight -= len(questions)
        return [
            self._checked_verdict(item, call, question, answer, context.took)
            for question, answer in zip(questions, answers, strict=True)
        ]

    def _checked_verdict(
        self, item: JudgedItem, call: Call, question: Question, answer: Any, took: Usage
    ) -> Verdict:
        """A judge's answer as a verdict; a failed one if it raised or gave no verdict.

        A judge that always raises ends the run.
        """
        raising = self._run.sender.raising
        try:
            if isinstance(answer, BaseException):
                raise answer
            verdict = checked_verdict(call.judge, answer, question.criterion, took)
            if not (verdict.detail is None and verdict.answer is None and verdict.order is None):
                orjson.loads(to_json((verdict.detail, verdict.answer, verdict.order)))
        except BaseException as error:
            failure = failure_of(error, f"{item.item.id}: {call.judge.name}")
            if raising.raised(call.voter) and not self._machine.stages.decides_without(
                raising.broken
            ):
                why = f"{call.judge.name} raised in each of its first {RAISED} judgements, last: "
                self._run.sender.stop(ModelError("not_run", why + failure.message))
            return call.failed(question, failure)
        if question.criterion.needs_judge:
            raising.making.add(call.voter)
        return verdict

    def _store(
        self, item: JudgedItem, call: Call, verdicts: list[Verdict], context: Context
    ) -> None:
        """Apply the verdicts of a call, and store them in the journal."""
        progress = self._run.progress
        usage = verdicts[0].usage if len(verdicts) == 1 else Usage.total(v.usage for v in verdicts)
        if usage is not context.took:
            unreported = context.unreported(usage)
            if unreported is not NO_USAGE:
                usage += unreported
                verdicts = [
                    replace(verdicts[0], usage=verdicts[0].usage + unreported),
                    *verdicts[1:],
                ]
            context.takes(context.uncounted(usage))
        self._machine.take(item, call, verdicts)
        for question, verdict in zip(call.questions, verdicts, strict=True):
            self._run.answers.put(
                question.key,
                verdict,
                shared=bool(usage.requests) and verdict.status not in UNANSWERED,
                transcript=context.transcript,
            )
            progress.calls += verdict.status != "not_run"
            if (
                not usage.requests
                and verdict.status not in UNANSWERED
                and self._queue.turns is not None
            ):
                self._queue.turns.note_unshared(call)
        if item.has_next:
            self._queue.look_up(item, self._machine.next_calls(item))
        self._report_progress()

    # Listeners

    def _report_progress(self) -> None:
        self._run.options.report_progress(self._run.progress)

    def _settled(self, item: JudgedItem, name: str) -> None:
        verdict = item.verdicts[name]
        if verdict.error is not None:
            error = verdict.error
            logger.info("%s: %s: %s: %s", item.item.id, name, error.kind, error.message)
        else:
            logger.debug("%s: %s: %s", item.item.id, name, verdict.label or verdict.status)
        if self._run.listeners.on_verdict is not None:
            self._run.listeners.on_verdict(item.item, name, verdict)


async def _held(lease: Lease, claim: Claim | None, model: Model, request: Request) -> Settle | None:
    """Wait until this process holds the lease of the run; send nothing if another one does."""
    if not await lease.held():
        raise RunEnds
    return None if claim is None else await claim(model, request)


NEW_OBJECTS = 100_000
"""New objects after which garbage is collected during a run. Each call creates many objects that
live until its answer arrives; at Python's default of 700, the collector scans all of them every few
calls, which takes a tenth of a run's CPU time."""

_THRESHOLDS_LOCK = threading.Lock()
_THRESHOLDS: list[tuple[int, int, int]] = []
"""The original thresholds of the process, once for each run in progress."""

free_after_fork(_THRESHOLDS_LOCK)


@contextmanager
def rarer_collections() -> Iterator[None]:
    """Collect garbage less often until the last such block has ended.

    A collector that is disabled, or already runs less often, is left alone.
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
