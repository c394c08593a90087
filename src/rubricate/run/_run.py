"""One run: from a dataset to the results of its items, one after the other."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from rubricate._sync import Channel, in_thread
from rubricate.errors import InputError, RunStopped
from rubricate.judge import Judge, LabelFile
from rubricate.run._executor import Execution, Give, Listeners, RunParts, rarer_collections
from rubricate.run._options import RunOptions
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run.items import Calibrate, JudgedItem, Stages
from rubricate.run.journal import (
    Answers,
    Database,
    Journal,
    MemoryJournal,
    open_journal,
)
from rubricate.run.results import (
    ItemResult,
    OpenStorage,
    OtherRunError,
    ResultsFile,
    RunFacts,
)
from rubricate.run.sending import Sender

if TYPE_CHECKING:
    from rubricate.rubric import ScoringRules
    from rubricate.run._telemetry import RunSpan
    from rubricate.run._weights import Held
    from rubricate.run.workers import Driving

BACKLOG = 32
"""Judged items that wait for their results before judging waits too. Results are made of all that
wait, one after the other: made of each when it is judged, they cost 3 % of a run's CPU time."""
INTERRUPTED = "interrupted"
"""Why a run ended that somebody stopped."""


@dataclass(slots=True)
class _Output:
    """Where the results of a run's items go: to who takes them, listeners, its folder, people.

    Attributes:
        rules: how items are scored.
        author_key: where their metadata says which model wrote the text.
        results: gets them as they come.
        listeners: of the run.
        people: who label what is left, if anyone does.
        file: in the run folder, if there is one.
        held: the items that wait for the weights of a panel, if they do. Their verdicts are then
            known only now.
    """

    rules: ScoringRules
    author_key: str | None
    results: Channel[ItemResult]
    listeners: Listeners
    people: LabelFile | None
    file: ResultsFile | None
    held: Held | None

    async def give(self, item: JudgedItem) -> None:
        """Give an item's result, once there is room for it; or hold the item."""
        if self.held is None:
            await self.results.put(self.add(item))
        else:
            self.held.add(item)

    def add(self, item: JudgedItem) -> ItemResult:
        """The result of an item whose verdicts are there."""
        result, lines = item.written or (item.result(self.rules, self.author_key), None)
        if self.people is not None:
            self.people.note_item(item.item, item.verdicts)
        if self.file is not None:
            self.file.add(result, lines)
        if self.held is not None and self.listeners.on_verdict is not None:
            for name, verdict in result.criteria.items():
                self.listeners.on_verdict(item.item, name, verdict)
        self.listeners.on_item(result)
        return result

    def finish(self) -> None:
        """Write what can be written only when all items have been given."""
        if self.file is not None:
            self.file.finish()
        if self.people is not None:
            self.people.write()


async def run(
    plan: Plan,
    judge: Judge,
    options: RunOptions,
    storage: OpenStorage,
    listeners: Listeners,
    results: Channel[ItemResult],
    *,
    stop: asyncio.Event,
    calibrate: Calibrate | None = None,
    sender: Sender | None = None,
) -> None:
    """Grade a dataset. Gives every item's result once, as soon as all its verdicts are there.

    A run that ends early gives the other items too, with what the journal has of them. If it is
    cancelled, those go to `on_item` and the folder alone. The items of a panel that learns its
    weights are held, and given once all are judged.

    Args:
        plan: what to grade.
        judge: who grades.
        options: how.
        storage: where the journal and the results go, opened.
        listeners: its callbacks.
        results: gets the results. Judging waits while it has no room.
        stop: set it to end the run early.
        calibrate: maps judges' probabilities, whose answers the journal keeps as they were given.
        sender: how models are reached, where several runs share it. Default: its own.

    Raises:
        InputError: the folder has another run's results; nothing has been sent.
    """
    started = time.perf_counter()
    if judge.answers_later:
        from rubricate.run._batching import keep_batches

        keep_batches(judge, storage.run_dir, options)
    stages = Stages(judge, plan, calibrate)
    progress = Progress(total=stages.judgements)
    held = _held(judge) if judge.learns_weights else None

    def trouble(message: str) -> None:
        progress.trouble = message
        options.report_progress(progress)

    make_execution: Callable[[RunParts], Execution | Driving] = Execution
    if options.workers is not None or options.shard is not None:
        make_execution = _of_several_processes(judge, options, storage, plan.rules, calibrate)
    stopped: str | None = "cancelled"
    with ExitStack() as stack:
        stack.enter_context(rarer_collections())
        if sender is None:
            database = storage.journal if isinstance(storage.journal, Database) else None
            sender = Sender(
                # processes with one database for a journal share their limits there
                limits=options.shared_by(database.address) if database else options,
                retries=options,
                on_trouble=trouble,
                goes_on_without=judge.goes_on_without,
                budget=options,
            )
            stack.callback(sender.leave)
        answers = await _open_answers(storage, options, stack, stop, trouble)
        opening = storage.folder and _results_file(storage, stack, plan, judge, options)
        file = await opening if opening else None
        output = _Output(
            plan.rules, options.author_key, results, listeners, judge.people, file, held
        )
        span = _span(stages.name, plan.name, progress.total) if sender.is_traced else None
        of_execution = listeners if held is None else replace(listeners, on_verdict=None)
        execution = make_execution(
            RunParts(plan, stages, answers, sender, options, progress, of_execution, stop)
        )

        done: Channel[JudgedItem] = Channel(BACKLOG)

        def rest() -> Iterator[JudgedItem]:
            items = chain(done.remaining(), execution.unfinished())
            return items if held is None else held.weighted_items(items)

        def conclude(stopped: str | None) -> None:
            for item in rest():
                output.add(item)
            output.finish()
            outcome = RunFacts(
                judge=stages.name,
                note=execution.note,
                fingerprint=_fingerprint(judge, calibrate),
                calibration=None if calibrate is None else calibrate.reference,
                prompt_version=judge.prompt_version,
                mode=judge.mode,
                dataset=plan.name,
                usage=progress.usage,
                run_usage=answers.run_usage(),
                calls=progress.calls,
                resumed=progress.resumed,
                cached=progress.cached,
                saved=progress.saved,
                damaged=answers.damaged,
                seconds=time.perf_counter() - started,
                rules=plan.rules,
                judges=tuple(dict.fromkeys(judge.voters)),
                stages=judge.stages if len(judge.stages) > 1 else (),
                aggregation=judge.aggregation,
                weights=judge.weights if held is None else held.panel.weights,
                run_dir=storage.folder.path if storage.folder else None,
                stopped=stopped,
                interrupted=stopped in (INTERRUPTED, "cancelled"),
            )
            if span is not None:
                span.end(outcome)
            listeners.on_end(outcome)

        try:
            await _judge(execution, done, output.give)
            for item in rest():
                await results.put(output.add(item))
            stopped = None
            if sender.stopped_by is not None or execution.not_run:
                stopped = str(sender.stopped_by or execution.over_budget or INTERRUPTED)
        finally:
            if answers.lease is None or not answers.lease.is_lost:  # else its results are another's
                conclude(stopped)


async def _judge(execution: Execution | Driving, done: Channel[JudgedItem], give: Give) -> None:
    """Have items judged, and give those that are `done`, as many at a time as there are."""
    judging = asyncio.create_task(execution.judge(done.put))
    judging.add_done_callback(lambda _: done.close())
    try:
        while (item := await done.take()) is not None:
            await give(item)
        judging.result()
    finally:
        judging.cancel()
        await asyncio.gather(judging, return_exceptions=True)


def _of_several_processes(
    judge: Judge,
    options: RunOptions,
    storage: OpenStorage,
    rules: ScoringRules,
    calibrate: Calibrate | None,
) -> Callable[[RunParts], Execution | Driving]:
    """What makes the execution of a run of which other processes judge parts.

    Raises:
        InputError: workers cannot reach what the run keeps, or several processes would write the
            file that people label.
        MissingExtraError: what runs workers is not installed.
    """
    if options.workers is not None:
        from rubricate.run.workers import driving

        return driving(judge, options, storage, rules, calibrate)
    if judge.people is not None:
        raise InputError(
            "shards cannot escalate to people, whose file they would all write: leave that file "
            "out, and name it when the shards are put together"
        )
    return Execution


def _held(panel: Judge) -> Held:
    from rubricate.run._weights import Held

    return Held(panel)


def _span(judge: str, dataset: str | None, verdicts: int) -> RunSpan:
    from rubricate.run._telemetry import RunSpan

    return RunSpan(judge, dataset, verdicts)


async def _open_answers(
    storage: OpenStorage,
    options: RunOptions,
    stack: ExitStack,
    stop: asyncio.Event,
    trouble: Callable[[str], None],
) -> Answers:
    """The stored answers of the run, and where new ones are kept; closed with `stack`.

    Raises:
        RunStopped: `stop` was set while a database was waited for.
    """
    if storage.journal is None:
        journal: Journal = MemoryJournal()
    else:
        opening = partial(
            open_journal,
            storage.journal,
            access=storage.access,
            fresh=options.fresh,
            patience=options.max_outage,
        )
        is_remote = isinstance(storage.journal, Database)
        journal = await _open_remote(opening, stop) if is_remote else opening()
    stack.enter_context(closing(journal))
    cache = None
    if storage.cache is not None:
        opening = partial(open_journal, storage.cache, access="cache")
        is_remote = isinstance(storage.cache, Database)
        cache = await _open_remote(opening, stop) if is_remote else opening()
    answers = Answers(journal, cache, reads_cache=not options.fresh, on_trouble=trouble)
    stack.callback(answers.close)
    return answers


async def _open_remote(opening: Callable[[], Journal], stop: asyncio.Event) -> Journal:
    """A journal of a database, opened beside the loop.

    Raises:
        RunStopped: `stop` was set meanwhile. What is opened yet is closed.
    """
    is_left, opened_journals = threading.Event(), list[Journal]()

    def act() -> None:
        opened_journals.append(opening())
        if is_left.is_set() and opened_journals:
            opened_journals.pop().close()

    opened, stopping = asyncio.create_task(in_thread(act)), asyncio.create_task(stop.wait())
    try:
        await asyncio.wait((opened, stopping), return_when=asyncio.FIRST_COMPLETED)
        if not opened.done():
            raise RunStopped(INTERRUPTED, interrupted=True)
        opened.result()
        return opened_journals.pop()
    finally:
        stopping.cancel()
        opened.cancel()
        is_left.set()
        if opened_journals:
            opened_journals.pop().close()


async def _results_file(
    storage: OpenStorage,
    stack: ExitStack,
    plan: Plan,
    judge: Judge,
    options: RunOptions,
) -> ResultsFile | None:
    """The run folder's results, which are closed with `stack`.

    Raises:
        OtherRunError: it has those of another run; says what this one would take elsewhere.
    """
    try:
        return storage.begin(plan, judge, stack, fresh=options.fresh)
    except OtherRunError as error:
        from rubricate.run._estimate import with_requests

        raise await with_requests(error, plan, judge, options) from None


def _fingerprint(judge: Judge, calibrate: Calibrate | None) -> str | None:
    """That of the judge, and of the map that its probabilities go through."""
    fingerprint = judge.fingerprint()
    return (
        fingerprint
        if fingerprint is None or calibrate is None
        else f"{fingerprint} {calibrate.reference}"
    )
