"""A run on its way: its results one after the other."""

from __future__ import annotations

import asyncio
from types import TracebackType
from typing import Unpack

from rubricate.dataset import Gradable
from rubricate.errors import InputError, RunStopped
from rubricate.judge import Cascade, Grader, Judge, JudgesLike, Model, Panel
from rubricate.options import (
    ATTEMPTS,
    CONCURRENCY,
    DEADLINE,
    MAX_OUTAGE,
    GradingOptions,
    JudgingOptions,
    check_options,
    chosen_calibrator,
    chosen_dataset,
    chosen_judge,
)
from rubricate.report import Summary, Tallies
from rubricate.rubric import LengthPenalty, check_cannot_assess
from rubricate.run import (
    Budget,
    ItemResult,
    Limits,
    OnVerdict,
    Outcome,
    RetryPolicy,
    RunFolder,
    Sender,
    cache_file,
    goes_on_without,
    run,
)
from rubricate.stats import reliability_weights

__all__ = ["ResultStream", "agrade_stream", "shared_sender"]

AUTHOR_KEYS = ("model", "system")


def agrade_stream(
    dataset: Gradable,
    judge: JudgesLike = None,
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
        judge: JudgesLike,
        stop: asyncio.Event,
        options: GradingOptions,
        sender: Sender | None = None,
        on_verdict: OnVerdict | None = None,
    ) -> None:
        check_options(options, GradingOptions, "dataset", "judge", "stop")
        if options.get("fresh") and options.get("retry_failed"):
            raise InputError("fresh and retry_failed exclude each other: give one of them")
        partial = options.get("partial", 0.5)
        strategy = check_cannot_assess(options.get("cannot_assess", "skip"), partial)
        penalty = options.get("length_penalty")
        author_key = options.get("author_key")
        dataset = chosen_dataset(dataset, options.get("rubric"))
        chosen = chosen_judge(judge, options)
        self._made_here = None if isinstance(judge, Judge | Model | Panel | Cascade) else chosen
        limit = options.get("limit")
        calibrator = chosen_calibrator(options.get("calibration"), dataset, chosen, limit)
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
            leader_first=_leader_first(chosen, options),
            budget=Budget(options.get("max_cost"), options.get("max_time")),
            limit=limit,
            limits=_limits(options),
            retries=_retries(options),
            cannot_assess=strategy,
            partial=partial,
            length_penalty=(
                penalty
                if penalty is None or isinstance(penalty, LengthPenalty)
                else LengthPenalty.from_dict(penalty)
            ),
            author_keys=AUTHOR_KEYS if author_key is None else (author_key,),
            learn_weights=reliability_weights,
            calibrate=calibrator,
            calibration=None if calibrator is None else calibrator.fitted.reference,
            allow_code=options.get("allow_code", False),
            on_progress=options.get("on_progress") or (lambda progress: None),
            stop=stop,
            on_verdict=on_verdict,
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


def shared_sender(judge: Grader, options: GradingOptions) -> Sender:
    """A way to a judge's models that several streams share, with its limits."""
    return Sender(
        limits=_limits(options),
        retries=_retries(options),
        goes_on_without=goes_on_without(judge),
    )


def _leader_first(judge: Grader, options: JudgingOptions) -> bool:
    given = options.get("leader_first")
    return judge.caches_prefixes if given is None else given


def _limits(options: GradingOptions) -> Limits:
    return Limits(
        options.get("concurrency", CONCURRENCY),
        options.get("requests_per_minute"),
        options.get("tokens_per_minute"),
    )


def _retries(options: JudgingOptions) -> RetryPolicy:
    return RetryPolicy(
        attempts=options.get("attempts", ATTEMPTS),
        deadline=options.get("deadline", DEADLINE),
        max_outage=options.get("max_outage", MAX_OUTAGE),
    )
