"""The front door: grade a dataset, or one text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from dataclasses import fields
from pathlib import Path
from types import TracebackType
from typing import Any, TypedDict, TypeVar, Unpack

from rubricate._documents import suggestion
from rubricate._sync import BackgroundLoop, run_sync
from rubricate.dataset import DataItem, Gradable, RubricDataset
from rubricate.errors import InputError, RunStopped
from rubricate.judge import GroupJudge, Judge, JudgeLike, Model, choose_judge
from rubricate.report import Summary, Tallies
from rubricate.rubric import CannotAssess, Rubric, check_cannot_assess
from rubricate.run import (
    CACHE_NAME,
    JOURNAL_NAME,
    Budget,
    Estimate,
    ItemResult,
    Outcome,
    Progress,
    Result,
    RetryPolicy,
    RunFolder,
    Sender,
    cache_file,
    run,
)
from rubricate.run import estimate as estimate_run

__all__ = [
    "GradingOptions",
    "JudgingOptions",
    "ResultStream",
    "RewardOptions",
    "aestimate",
    "agrade",
    "agrade_one",
    "agrade_stream",
    "check_options",
    "chosen_judge",
    "estimate",
    "grade",
    "grade_one",
    "grade_stream",
    "shared_sender",
]

CONCURRENCY = 32
TIMEOUT = 120.0
ATTEMPTS = 6


_T = TypeVar("_T")


class JudgingOptions(TypedDict, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    base_url: str | None
    temperature: float | None
    timeout: float
    prices: str | Path | None
    attempts: int
    cannot_assess: CannotAssess | str
    partial: float
    allow_code: bool


class RewardOptions(JudgingOptions, total=False):
    """How to judge batch after batch; the arguments of these names of `agrade`."""

    concurrency: int
    cache: str | Path | None
    max_cost: float | None
    max_time: float | None


class GradingOptions(RewardOptions, total=False):
    """How to grade a dataset; the arguments of these names of `agrade`."""

    rubric: Rubric | None
    run_dir: str | Path | None
    fresh: bool
    retry_failed: bool
    limit: int | None
    on_progress: Callable[[Progress], None] | None


def check_options(options: Mapping[str, Any], known: type) -> None:
    """Raise `TypeError` for an option that is not one of a class of options above."""
    for name in options:
        if name not in known.__annotations__:
            near = suggestion(name, known.__annotations__)
            raise TypeError(
                f"unexpected keyword argument '{name}'"
                + (f"; did you mean '{near}'?" if near else "")
            )


async def agrade(
    dataset: Gradable,
    judge: JudgeLike = None,
    *,
    rubric: Rubric | None = None,
    run_dir: str | Path | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    cache: str | Path | None = None,
    limit: int | None = None,
    base_url: str | None = None,
    concurrency: int = CONCURRENCY,
    max_cost: float | None = None,
    max_time: float | None = None,
    temperature: float | None = 0.0,
    timeout: float = TIMEOUT,
    prices: str | Path | None = None,
    attempts: int = ATTEMPTS,
    cannot_assess: CannotAssess | str = "skip",
    partial: float = 0.5,
    allow_code: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Result:
    """Grade every item of a dataset by every criterion of its rubric.

    Args:
        dataset: what to grade: a `RubricDataset`, or a table of `open_items`.
        judge: who grades: a name such as `openai/gpt-4.1-mini`, a judge, a model, or a callable
            from messages to a reply. Default: the embedded judge, a baseline. A judge or model
            keeps its connections for the next call: close it with `aclose`.
        rubric: a rubric to use in place of a `RubricDataset`'s own.
        run_dir: a folder for journal and results. A run into the same folder takes up where the
            last one ended. Default: nothing is written.
        fresh: ask everything anew: an earlier journal in `run_dir` is moved aside, and nothing is
            read from the cache.
        retry_failed: ask for nothing but what failed in the earlier run into `run_dir`.
        cache: a folder with answers that runs share; what is in it costs nothing. Default: none.
        limit: grade only so many items, from the first.
        base_url: the address of an OpenAI-compatible server, for a judge given by name.
        concurrency: the most requests in flight at once.
        max_cost: US dollars that this run may spend; it ends before they are exceeded.
        max_time: seconds that this run may take.
        temperature: sampling temperature, for a judge given by name; None for the endpoint's own.
        timeout: seconds that one request may take, for a judge given by name.
        prices: a file of prices, for a judge given by name; see docs/running.md.
        attempts: how often a request that fails for a passing reason is sent, at most. One refused
            for its rate (429) is sent again for ten minutes, however often that is.
        cannot_assess: what an abstention or an N/A answer does to the score: `skip`, `zero`,
            `partial` or `fail`.
        partial: the fraction of a positive weight that `partial` gives, in [0, 1].
        allow_code: whether code that a rubric file names (`function: package.module:name`) is
            imported and run. Callables that are given as such need no leave.
        on_progress: called after every verdict.
        stop: set this to end the run early and cleanly.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged (a refused key, a dead endpoint, `stop`);
            its `result` has what was judged.
    """
    stream = agrade_stream(
        dataset,
        judge,
        rubric=rubric,
        run_dir=run_dir,
        fresh=fresh,
        retry_failed=retry_failed,
        cache=cache,
        limit=limit,
        base_url=base_url,
        concurrency=concurrency,
        max_cost=max_cost,
        max_time=max_time,
        temperature=temperature,
        timeout=timeout,
        prices=prices,
        attempts=attempts,
        cannot_assess=cannot_assess,
        partial=partial,
        allow_code=allow_code,
        on_progress=on_progress,
        stop=stop,
    )
    items: list[ItemResult] = []
    async with stream:
        try:
            async for item in stream:
                items.append(item)
        except RunStopped as stopped:
            result = _result(items, stream.outcome)
            raise RunStopped(str(stopped), result=result, interrupted=stopped.interrupted) from None
    return _result(items, stream.outcome)


def _result(items: list[ItemResult], outcome: Outcome) -> Result:
    items.sort(key=lambda item: item.index)
    return Result(items=items, **{f.name: getattr(outcome, f.name) for f in fields(outcome)})


def agrade_stream(
    dataset: Gradable,
    judge: JudgeLike = None,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[GradingOptions],
) -> ResultStream:
    """Grade a dataset and give each item's result as soon as it is there; holds none of them.

    Every item comes once, in the order in which they get done (`ItemResult.index` is the place in
    the dataset). Where results are taken slowly, judging waits. A run that ends early gives the
    items that are left too, with what is known of them, before `RunStopped` is raised.

        async with rubricate.agrade_stream(dataset, judge) as stream:
            async for item in stream:
                ...
        print(stream.summary())

    Args:
        dataset, judge, stop: as for `agrade`.
        options: the others of `agrade`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    return ResultStream(dataset, judge, stop or asyncio.Event(), options)


class ResultStream:
    """The results of a run on their way; see `agrade_stream`."""

    def __init__(
        self,
        dataset: Gradable,
        judge: JudgeLike,
        stop: asyncio.Event,
        options: GradingOptions,
        sender: Sender | None = None,
    ) -> None:
        check_options(options, GradingOptions)
        if options.get("fresh") and options.get("retry_failed"):
            raise InputError("fresh and retry_failed exclude each other: give one of them")
        partial = options.get("partial", 0.5)
        strategy = check_cannot_assess(options.get("cannot_assess", "skip"), partial)
        dataset = _dataset(dataset, options.get("rubric"))
        chosen = chosen_judge(judge, options)
        self._made_here = None if isinstance(judge, Judge | Model) else chosen
        run_dir = options.get("run_dir")
        self._folder = None if run_dir is None else RunFolder(run_dir)
        self._tallies = Tallies()
        self._outcome: Outcome | None = None
        self._items = run(
            dataset,
            chosen,
            folder=self._folder,
            cache=cache_file(options.get("cache")),
            fresh=options.get("fresh", False),
            only_failed=options.get("retry_failed", False),
            budget=Budget(options.get("max_cost"), options.get("max_time")),
            limit=options.get("limit"),
            concurrency=options.get("concurrency", CONCURRENCY),
            retries=RetryPolicy(attempts=options.get("attempts", ATTEMPTS)),
            cannot_assess=strategy,
            partial=partial,
            allow_code=options.get("allow_code", False),
            on_progress=options.get("on_progress") or (lambda progress: None),
            stop=stop,
            on_item=self._tallies.add,
            on_end=self._end,
            sender=sender,
        )

    def _end(self, outcome: Outcome) -> None:
        self._outcome = outcome
        if self._folder:
            self._folder.write_summary(self.summary().to_dict())

    @property
    def outcome(self) -> Outcome:
        """What the run was and what it took. Raises `RuntimeError` before it has ended."""
        if self._outcome is None:
            raise RuntimeError("the run has not ended: iterate to the end, or close the stream")
        return self._outcome

    def summary(self) -> Summary:
        """The figures of the run, once it has ended: the same as `Result.summary`."""
        return self._tallies.summary(self.outcome)

    def __aiter__(self) -> ResultStream:
        return self

    async def __anext__(self) -> ItemResult:
        try:
            return await anext(self._items)
        except StopAsyncIteration:
            await self.aclose()
            if self.outcome.stopped is not None:
                raise RunStopped(
                    self.outcome.stopped, interrupted=self.outcome.interrupted
                ) from None
            raise
        except BaseException:
            await self.aclose()
            raise

    async def aclose(self) -> None:
        """End the run if it has not ended, and let go of connections that it made."""
        try:
            await self._items.aclose()
        finally:
            if self._made_here is not None:
                await self._made_here.aclose()

    async def __aenter__(self) -> ResultStream:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.aclose()


def shared_sender(options: GradingOptions) -> Sender:
    """A way to models that several streams share, with its limits."""
    return Sender(
        concurrency=options.get("concurrency", CONCURRENCY),
        retries=RetryPolicy(attempts=options.get("attempts", ATTEMPTS)),
    )


def _dataset(dataset: Gradable, rubric: Rubric | None) -> Gradable:
    if not isinstance(dataset, Gradable):
        raise InputError(
            f"expected a RubricDataset or a table (open_items), found {type(dataset).__name__}"
        )
    if rubric is None:
        return dataset
    if not isinstance(dataset, RubricDataset):
        raise InputError("rubric= is for a RubricDataset; a table is opened with its own")
    return RubricDataset.from_dict(dataset.to_dict(), rubric=rubric)


def chosen_judge(judge: JudgeLike, options: JudgingOptions) -> GroupJudge:
    """The judge that is meant, as `agrade` takes it."""
    return choose_judge(
        judge,
        base_url=options.get("base_url"),
        temperature=options.get("temperature", 0.0),
        timeout=options.get("timeout", TIMEOUT),
        prices=options.get("prices"),
    )


def _existing(folder: str | Path | None, name: str) -> Path | None:
    path = None if folder is None else Path(folder) / name
    return path if path is not None and path.exists() else None


async def aestimate(
    dataset: Gradable, judge: JudgeLike = None, **options: Unpack[GradingOptions]
) -> Estimate:
    """What `agrade` with these arguments would take; sends nothing and writes nothing.

    Tokens are guessed from the length of the prompts, and each call is taken to be answered at
    once: a range, not a promise.

    Raises:
        InputError: something given cannot be used.
    """
    check_options(options, GradingOptions)
    fresh = options.get("fresh", False)
    return await estimate_run(
        _dataset(dataset, options.get("rubric")),
        chosen_judge(judge, options),
        journal=None if fresh else _existing(options.get("run_dir"), JOURNAL_NAME),
        cache=_existing(options.get("cache"), CACHE_NAME),
        fresh=fresh,
        only_failed=options.get("retry_failed", False),
        limit=options.get("limit"),
        allow_code=options.get("allow_code", False),
    )


def estimate(
    dataset: Gradable, judge: JudgeLike = None, **options: Unpack[GradingOptions]
) -> Estimate:
    """`aestimate` for plain code."""
    return run_sync(lambda: aestimate(dataset, judge, **options))


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
    dataset = RubricDataset(prompt, rubric, [item])
    async with agrade_stream(dataset, judge, **options) as stream:
        return await anext(stream)


def grade(dataset: Gradable, judge: JudgeLike = None, **options: Unpack[GradingOptions]) -> Result:
    """`agrade` for plain code. Works in a script and inside a running loop (a notebook)."""
    return run_sync(lambda: _closing(judge, agrade(dataset, judge, **options)))


def grade_stream(
    dataset: Gradable, judge: JudgeLike = None, **options: Unpack[GradingOptions]
) -> Iterator[ItemResult]:
    """`agrade_stream` for plain code: the items' results as they get done.

    Judging goes on, in a thread of its own, while a result is looked at.
    """
    with BackgroundLoop() as loop:
        stream = agrade_stream(dataset, judge, **options)

        async def following() -> ItemResult | None:
            return await anext(stream, None)

        try:
            while (item := loop.run(following())) is not None:
                yield item
        finally:
            loop.run(_closing(judge, stream.aclose()))


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
