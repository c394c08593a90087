"""One run: from a dataset to the results of its items, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack, aclosing
from pathlib import Path

from rubricate.dataset import Gradable
from rubricate.judge import Judge, People
from rubricate.rubric import CannotAssess, LengthPenalty
from rubricate.run._calls import Bench, Calibrate, JudgedItem
from rubricate.run._collection import rarer_collections
from rubricate.run._executor import Execution, OnVerdict
from rubricate.run._plan import Plan
from rubricate.run._progress import Progress
from rubricate.run._telemetry import RunSpan
from rubricate.run._weights import Held, LearnWeights
from rubricate.run.journal import Answers, Journal, open_journal
from rubricate.run.results._folder import ResultsFile, RunFolder
from rubricate.run.results._results import ItemResult, Outcome
from rubricate.run.sending import Budget, Limits, RetryPolicy, Sender

__all__ = ["INTERRUPTED", "run"]

INTERRUPTED = "interrupted"
"""Why a run ended that somebody stopped."""


async def run(
    dataset: Gradable,
    judge: Judge,
    *,
    folder: RunFolder | None,
    cache: Path | None,
    fresh: bool,
    only_failed: bool,
    leader_first: bool,
    budget: Budget,
    limit: int | None,
    limits: Limits,
    retries: RetryPolicy,
    cannot_assess: CannotAssess,
    partial: float,
    length_penalty: LengthPenalty | None,
    author_keys: Sequence[str],
    learn_weights: LearnWeights,
    calibrate: Calibrate | None,
    calibration: str | None,
    allow_code: bool,
    on_progress: Callable[[Progress], None],
    stop: asyncio.Event,
    on_verdict: OnVerdict | None,
    on_item: Callable[[ItemResult], None],
    on_end: Callable[[Outcome], None],
    sender: Sender | None = None,
) -> AsyncGenerator[ItemResult]:
    """Grade a dataset. Gives every item's result once, as soon as all its verdicts are there.

    A run that ends early gives the other items too, with what the journal has of them. Items that
    nobody takes any more (the run is cancelled, or closed) go to `on_item` and the folder alone.

    Args:
        dataset: what to grade.
        judge: who grades.
        folder: where the journal and the results go; None keeps the journal in memory.
        cache: a file of answers that runs share; None for no such file.
        fresh: begin with an empty journal (an earlier one is moved aside), and do not look into
            the cache.
        only_failed: ask for nothing but what failed before.
        leader_first: make an item's first call before its others.
        budget: what may be spent.
        limit: how many items at most, from the first.
        limits: what the endpoint is asked at most.
        retries: when a failed request is sent again.
        cannot_assess, partial: how abstentions are scored.
        length_penalty: what length costs, if it does.
        author_keys: where an item's metadata says which model wrote it; the first that is there.
        learn_weights: makes weights of votes, for a panel that learns them. The items of such a
            panel are held, and given once all are judged.
        calibrate: maps judges' probabilities, whose answers the journal keeps as they were given.
        calibration: what results call it.
        allow_code: whether code that rubrics only name is imported and run.
        on_progress: told after every verdict and every retry.
        stop: set it to end the run early.
        on_verdict: told of every verdict as soon as it is there; where weights are learnt, when
            the item's result is. None for nobody.
        on_item: given every item's result before anybody else.
        on_end: given the outcome, complete or not, when all items have been given.
        sender: how models are reached, where several runs share it. Default: one of its own.

    Raises:
        InputError: the dataset cannot be graded; nothing has been sent.
    """
    begin = time.perf_counter()
    plan = Plan(dataset, limit, allow_code=allow_code)
    bench = Bench(judge, calibrate, asks=plan.asked > 0)
    progress = Progress(total=bench.judgements(plan))
    held = Held(judge, learn_weights) if judge.learns_weights else None
    people = judge.people

    def trouble(message: str) -> None:
        progress.trouble = message
        on_progress(progress)

    def result(item: JudgedItem) -> ItemResult:
        planned = item.planned
        found = ItemResult.scored(
            id=planned.id,
            description=planned.description,
            rubric=planned.rubric,
            criteria=item.verdicts,
            labels=planned.labels,
            cannot_assess=cannot_assess,
            partial=partial,
            index=planned.index,
            length_penalty=length_penalty,
            submission=planned.case.item.parts if length_penalty and planned.case.item else "",
            author=planned.author(author_keys),
            item=planned.case.item,
            keys=item.keys,
        )
        if people is not None:
            people.note_item(planned.id, planned.case, planned.rubric, item.verdicts)
        if results:
            results.add(found, planned)
        if held is not None and on_verdict is not None:
            for name, verdict in found.criteria.items():
                on_verdict(planned, name, verdict)
        on_item(found)
        return found

    stopped: str | None = "cancelled"
    with ExitStack() as stack:
        stack.enter_context(rarer_collections())
        if sender is None:
            sender = stack.enter_context(
                Sender(
                    limits=limits,
                    retries=retries,
                    on_trouble=trouble,
                    goes_on_without=judge.goes_on_without,
                )
            )
        journal = stack.enter_context(open_journal(folder.journal if folder else None, fresh=fresh))
        answers = stack.enter_context(
            Answers(
                journal,
                None if cache is None else Journal(cache, shared=True),
                reads_cache=not fresh,
                on_trouble=trouble,
            )
        )
        results = stack.enter_context(folder.begin(plan)) if folder else None
        span = RunSpan(bench.name, dataset.name, progress.total)
        execution = Execution(
            plan,
            bench,
            answers,
            sender,
            concurrency=limits.concurrency,
            budget=budget,
            only_failed=only_failed,
            leader_first=leader_first,
            progress=progress,
            on_progress=on_progress,
            on_verdict=on_verdict if held is None else None,
            stop=stop,
            context=span.context,
        )

        def rest() -> Iterator[JudgedItem]:
            left = execution.left()
            return left if held is None else held.given(left)

        try:
            async with aclosing(execution.judged()) as judged:
                async for item in judged:
                    if held is None:
                        yield result(item)
                    else:
                        held.add(item)
            for item in rest():
                yield result(item)
            stopped = None
            if sender.stopped_by is not None or execution.not_run:
                stopped = str(sender.stopped_by or execution.over_budget or INTERRUPTED)
        finally:
            for item in rest():
                result(item)
            _finish(results, people)
            on_end(
                span.end(
                    Outcome(
                        judge=bench.name,
                        note=bench.note,
                        fingerprint=_fingerprint(judge, calibration),
                        calibration=calibration,
                        prompt_version=judge.prompt_version,
                        mode=judge.mode,
                        dataset=dataset.name,
                        usage=progress.usage,
                        calls=progress.calls,
                        resumed=progress.resumed,
                        cached=progress.cached,
                        saved=progress.saved,
                        damaged=answers.damaged,
                        seconds=time.perf_counter() - begin,
                        cannot_assess=cannot_assess,
                        partial=partial,
                        length_penalty=length_penalty,
                        judges=tuple(dict.fromkeys(judge.voters)),
                        stages=judge.stages if bench.stages > 1 else (),
                        aggregation=judge.aggregation,
                        weights=judge.weights if held is None else held.panel.weights,
                        run_dir=folder.path if folder else None,
                        stopped=stopped,
                        interrupted=stopped in (INTERRUPTED, "cancelled"),
                    )
                )
            )


def _finish(results: ResultsFile | None, people: People | None) -> None:
    """Write what can be written only when all items have been given."""
    if results:
        results.finish()
    if people is not None:
        people.write()


def _fingerprint(judge: Judge, calibration: str | None) -> str | None:
    """That of the judge, and of the map that its probabilities go through."""
    found = judge.fingerprint()
    return found if found is None or calibration is None else f"{found} {calibration}"
