"""The front door: grade a dataset, or one text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

from rubricate._sync import run_sync
from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.judge import Judge, JudgeLike, Model, choose_judge
from rubricate.report import summarize
from rubricate.rubric import CannotAssess, Rubric, check_cannot_assess
from rubricate.run import ItemResult, Limits, Progress, Result, RetryPolicy, RunFolder, run

__all__ = ["GradingOptions", "JudgingOptions", "agrade", "agrade_one", "grade", "grade_one"]

CONCURRENCY = 32
TIMEOUT = 120.0
ATTEMPTS = 6
DEADLINE = 600.0
MAX_OUTAGE = 120.0


_T = TypeVar("_T")


class JudgingOptions(TypedDict, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    base_url: str | None
    temperature: float | None
    timeout: float
    attempts: int
    deadline: float
    max_outage: float
    cannot_assess: CannotAssess | str
    partial: float


class GradingOptions(JudgingOptions, total=False):
    """How to grade a dataset; the arguments of these names of `agrade`."""

    rubric: Rubric | None
    run_dir: str | Path | None
    limit: int | None
    concurrency: int
    requests_per_minute: float | None
    tokens_per_minute: float | None
    on_progress: Callable[[Progress], None] | None


async def agrade(
    dataset: RubricDataset,
    judge: JudgeLike = None,
    *,
    rubric: Rubric | None = None,
    run_dir: str | Path | None = None,
    limit: int | None = None,
    base_url: str | None = None,
    concurrency: int = CONCURRENCY,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    temperature: float | None = 0.0,
    timeout: float = TIMEOUT,
    attempts: int = ATTEMPTS,
    deadline: float = DEADLINE,
    max_outage: float = MAX_OUTAGE,
    cannot_assess: CannotAssess | str = "skip",
    partial: float = 0.5,
    on_progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Result:
    """Grade every item of a dataset by every criterion of its rubric.

    Args:
        dataset: what to grade.
        judge: who grades: a name such as `openai/gpt-4.1-mini`, a judge, a model, or a callable
            from messages to a reply. Default: the embedded judge, a baseline. A judge or model
            keeps its connections for the next call: close it with `aclose`.
        rubric: a rubric to use in place of the dataset's own.
        run_dir: a folder for journal and results. A run into the same folder takes up where the
            last one ended. Default: nothing is written.
        limit: grade only so many items, from the first.
        base_url: the address of an OpenAI-compatible server, for a judge given by name.
        concurrency: the most requests in flight at once.
        requests_per_minute, tokens_per_minute: what the endpoint may be asked, with all runs of
            this process together. Default: what its headers and refusals (429) tell.
        temperature: sampling temperature, for a judge given by name; None for the endpoint's own.
        timeout: seconds that one request may take, for a judge given by name.
        attempts: how often a request that fails while others get through is sent, at most. One
            refused for its rate (429) is sent until the deadline, however often that is.
        deadline: seconds that one judgement may take with all its requests; it is `failed` after.
        max_outage: seconds that an endpoint which has worked may stay without any answer. Nothing
            is lost until then; after, the run is stopped, and can be taken up later.
        cannot_assess: what an abstention or an N/A answer does to the score: `skip`, `zero`,
            `partial` or `fail`.
        partial: the fraction of a positive weight that `partial` gives, in [0, 1].
        on_progress: called after every verdict.
        stop: set this to end the run early and cleanly.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged (a refused key, a dead endpoint, `stop`);
            its `result` has what was judged.
    """
    if not isinstance(dataset, RubricDataset):
        raise InputError(f"expected a RubricDataset, found {type(dataset).__name__}")
    limits = Limits(concurrency, requests_per_minute, tokens_per_minute)
    retries = RetryPolicy(attempts=attempts, deadline=deadline, max_outage=max_outage)
    strategy = check_cannot_assess(cannot_assess, partial)
    if rubric is not None:
        dataset = RubricDataset.from_dict(dataset.to_dict(), rubric=rubric)
    chosen = choose_judge(judge, base_url=base_url, temperature=temperature, timeout=timeout)
    folder = None if run_dir is None else RunFolder(run_dir)

    def on_end(result: Result) -> None:
        if folder:
            folder.write_summary(summarize(result).to_dict())

    try:
        return await run(
            dataset,
            chosen,
            folder=folder,
            limit=limit,
            limits=limits,
            retries=retries,
            cannot_assess=strategy,
            partial=partial,
            on_progress=on_progress or (lambda progress: None),
            stop=stop or asyncio.Event(),
            on_end=on_end,
        )
    finally:
        if not isinstance(judge, Judge | Model):  # made here, so closed here
            await chosen.aclose()


async def agrade_one(
    rubric: Rubric,
    submission: str,
    *,
    prompt: str = "",
    reference: str | None = None,
    judge: JudgeLike = None,
    **options: Unpack[JudgingOptions],
) -> ItemResult:
    """Grade one text by a rubric.

    Args:
        rubric: what to judge it by.
        submission: the text.
        prompt: the task that the text answers.
        reference: an exemplary response.
        judge: who grades, as for `agrade`.
        options: those of `agrade` that concern one text.

    Returns:
        The item's result. A verdict that could not be had is in it as `failed`.
    """
    item = DataItem(submission, reference_submission=reference)
    try:
        result = await agrade(RubricDataset(prompt, rubric, [item]), judge, **options)
    except RunStopped as stopped:
        result = stopped.result
    return result.items[0]


def grade(
    dataset: RubricDataset, judge: JudgeLike = None, **options: Unpack[GradingOptions]
) -> Result:
    """`agrade` for plain code. Works in a script and inside a running loop (a notebook)."""
    return run_sync(lambda: _closing(judge, agrade(dataset, judge, **options)))


def grade_one(
    rubric: Rubric,
    submission: str,
    *,
    prompt: str = "",
    reference: str | None = None,
    judge: JudgeLike = None,
    **options: Unpack[JudgingOptions],
) -> ItemResult:
    """`agrade_one` for plain code. Works in a script and inside a running loop (a notebook)."""
    return run_sync(
        lambda: _closing(
            judge,
            agrade_one(
                rubric, submission, prompt=prompt, reference=reference, judge=judge, **options
            ),
        )
    )


async def _closing(judge: JudgeLike, grading: Coroutine[Any, Any, _T]) -> _T:
    """Close a judge's connections behind a call: they belong to the loop that now ends."""
    try:
        return await grading
    finally:
        if isinstance(judge, Judge | Model):
            await judge.aclose()
