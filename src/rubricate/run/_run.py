"""One run: from a dataset to the results of its items, one after the other."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, aclosing
from pathlib import Path

from rubricate.dataset import Gradable
from rubricate.judge import GroupJudge
from rubricate.rubric import CannotAssess
from rubricate.run._answers import Answers
from rubricate.run._budget import Budget
from rubricate.run._collection import rarer_collections
from rubricate.run._executor import Execution, JudgedItem, Progress
from rubricate.run._folder import RunFolder
from rubricate.run._journal import Journal, moved_aside
from rubricate.run._limits import Limits
from rubricate.run._plan import Plan
from rubricate.run._results import ItemResult, Outcome
from rubricate.run._retries import RetryPolicy
from rubricate.run._sender import Sender

__all__ = ["INTERRUPTED", "run"]

INTERRUPTED = "interrupted"
"""Why a run ended that somebody stopped."""


async def run(
    dataset: Gradable,
    judge: GroupJudge,
    *,
    folder: RunFolder | None,
    cache: Path | None,
    fresh: bool,
    only_failed: bool,
    budget: Budget,
    limit: int | None,
    limits: Limits,
    retries: RetryPolicy,
    cannot_assess: CannotAssess,
    partial: float,
    allow_code: bool,
    on_progress: Callable[[Progress], None],
    stop: asyncio.Event,
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
        budget: what may be spent.
        limit: how many items at most, from the first.
        limits: what the endpoint is asked at most.
        retries: when a failed request is sent again.
        cannot_assess, partial: how abstentions are scored.
        allow_code: whether code that rubrics only name is imported and run.
        on_progress: told after every verdict and every retry.
        stop: set it to end the run early.
        on_item: given every item's result before anybody else.
        on_end: given the outcome, complete or not, when all items have been given.
        sender: how models are reached, where several runs share it. Default: one of its own.

    Raises:
        InputError: the dataset cannot be graded; nothing has been sent.
    """
    begin = time.perf_counter()
    plan = Plan(dataset, limit, allow_code=allow_code)
    progress = Progress(total=plan.verdicts)

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
        )
        if results:
            results.add(found)
        on_item(found)
        return found

    stopped: str | None = "cancelled"
    with ExitStack() as stack:
        stack.enter_context(rarer_collections())
        if sender is None:
            sender = stack.enter_context(Sender(limits=limits, retries=retries, on_trouble=trouble))
        if folder and fresh:
            moved_aside(folder.journal)
        journal = stack.enter_context(Journal(folder.journal if folder else None))
        shared = None if cache is None else Journal(cache, shared=True)
        answers = stack.enter_context(
            Answers(journal, shared, reads_cache=not fresh, on_trouble=trouble)
        )
        results = stack.enter_context(folder.begin(plan)) if folder else None
        execution = Execution(
            plan,
            judge,
            answers,
            sender,
            concurrency=min(limits.concurrency, plan.verdicts),
            budget=budget,
            only_failed=only_failed,
            progress=progress,
            on_progress=on_progress,
            stop=stop,
        )
        try:
            async with aclosing(execution.judged()) as judged:
                async for item in judged:
                    yield result(item)
            if sender.stopped_by is None and progress.done == progress.total:
                stopped = None
            else:
                stopped = str(sender.stopped_by or execution.over_budget or INTERRUPTED)
            for item in execution.left():
                yield result(item)
        finally:
            for item in execution.left():
                result(item)
            if results:
                results.finish()
            on_end(
                Outcome(
                    judge=judge.name,
                    note=judge.note,
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
                    run_dir=folder.path if folder else None,
                    stopped=stopped,
                    interrupted=stopped in (INTERRUPTED, "cancelled"),
                )
            )
