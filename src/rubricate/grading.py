"""The front door: grade a dataset, or one text."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, Unpack

from rubricate._files import user_path
from rubricate._sync import BackgroundLoop, run_sync
from rubricate.analysis import Result
from rubricate.dataset import ContextDocument, DataItem, Gradable, RubricDataset
from rubricate.errors import RunStopped
from rubricate.judge import (
    CriteriaPerCall,
    Examples,
    Judge,
    JudgesLike,
    Mode,
    Model,
    PromptTemplate,
    Weights,
)
from rubricate.options import (
    ATTEMPTS,
    CONCURRENCY,
    DEADLINE,
    MAX_OUTAGE,
    TIMEOUT,
    GradingOptions,
    JudgingOptions,
    check_options,
    chosen_calibrator,
    chosen_dataset,
    chosen_judge,
)
from rubricate.rubric import CannotAssess, LengthPenalty, Rubric
from rubricate.run import CACHE_NAME, JOURNAL_NAME, ItemResult, Outcome, Progress, RunEstimate
from rubricate.run import estimate as estimate_run
from rubricate.streaming import ResultStream, agrade_stream

if TYPE_CHECKING:
    from rubricate.analysis import FittedCalibration

__all__ = [
    "ATTEMPTS",
    "CONCURRENCY",
    "DEADLINE",
    "MAX_OUTAGE",
    "TIMEOUT",
    "GradingOptions",
    "JudgingOptions",
    "aestimate",
    "agrade",
    "agrade_one",
    "agrade_stream",
    "chosen_judge",
    "collected",
    "estimate",
    "grade",
    "grade_one",
    "grade_stream",
]

_T = TypeVar("_T")


async def agrade(
    dataset: Gradable,
    judge: JudgesLike = None,
    *,
    rubric: Rubric | None = None,
    run_dir: str | Path | None = None,
    fresh: bool = False,
    retry_failed: bool = False,
    cache: str | Path | None = None,
    limit: int | None = None,
    base_url: str | None = None,
    strategy: str | None = None,
    ordinal: str | None = None,
    nominal: str | None = None,
    numeric: str | None = None,
    min_votes: int = 1,
    weights: Weights | None = None,
    replicates: int = 1,
    concurrency: int = CONCURRENCY,
    requests_per_minute: float | None = None,
    tokens_per_minute: float | None = None,
    leader_first: bool | None = None,
    criteria_per_call: CriteriaPerCall = 1,
    examples: Examples | None = None,
    judge_prompt: str | Path | PromptTemplate | None = None,
    mode: Mode | str = "explained",
    permutations: int | None = None,
    shuffle: int | None = None,
    require_evidence: bool | None = None,
    correct_prior: bool = True,
    samples: int | None = None,
    chunk_tokens: int | None = None,
    max_cost: float | None = None,
    max_time: float | None = None,
    temperature: float | None = 0.0,
    max_tokens: int | None = None,
    timeout: float = TIMEOUT,
    prices: str | Path | None = None,
    attempts: int = ATTEMPTS,
    deadline: float = DEADLINE,
    max_outage: float = MAX_OUTAGE,
    cannot_assess: CannotAssess | str = "skip",
    partial: float = 0.5,
    length_penalty: LengthPenalty | Mapping[str, Any] | None = None,
    author_key: str | None = None,
    calibration: str | Path | FittedCalibration | None = None,
    allow_code: bool = False,
    on_progress: Callable[[Progress], None] | None = None,
    stop: asyncio.Event | None = None,
) -> Result:
    """Grade every item of a dataset by every criterion of its rubric.

    Args:
        dataset: what to grade: a `RubricDataset`, or a table of `open_items`.
        judge: who grades: a name such as `openai/gpt-4.1-mini`, a judge, a model, or a callable
            from messages to a reply; or several, in a list or a `Panel`, that vote, or in a
            `Cascade`, that are asked one after the other. Default: the
            embedded judge, a baseline. A judge or model keeps its connections for the next call:
            close it with `aclose`.
        rubric: a rubric to use in place of a `RubricDataset`'s own.
        run_dir: a folder for journal and results. A run into the same folder takes up where the
            last one ended. Default: nothing is written.
        fresh: ask everything anew: an earlier journal in `run_dir` is moved aside, and nothing is
            read from the cache.
        retry_failed: ask for nothing but what failed in the earlier run into `run_dir`.
        cache: a folder with answers that runs share; what is in it costs nothing. Default: none.
        limit: grade only so many items, from the first.
        base_url: the address of an OpenAI-compatible server, for a judge given by name.
        strategy, ordinal, nominal, numeric, min_votes, weights, replicates: how several judges
            vote, or one several times; see `Panel`.
        concurrency: the most requests in flight at once.
        requests_per_minute, tokens_per_minute: what the endpoint may be asked, with all runs of
            this process together. Default: what its headers and refusals (429) tell.
        leader_first: whether an item's first request goes before its others, so that they are
            served from the endpoint's cache. Default: where the endpoint is known to have one.
        criteria_per_call: how many criteria of an item a language model is asked about in one
            request; `all` for all of them. More than one is cheaper, and judges them less apart.
        examples: labelled examples that a language model is shown; they refit the embedded judge.
        judge_prompt: a prompt for language models in place of the usual one: a file with a Jinja
            template whose header declares its variables, or a `PromptTemplate`.
        mode: `explained` (a language model gives its reason, quotes, then the verdict) or
            `probability` (the verdict alone, with the probability of each; see docs/judging.md).
        permutations: in how many orders of the answers a language model is asked, at most 6. In
            explained mode each is a vote (default 1); in probability mode their probabilities are
            averaged (default 2: the rubric's order and its reverse).
        shuffle: a seed that draws the order of the answers for each item and criterion, and that of
            the criteria of one call. Default: the rubric's order.
        require_evidence: whether a language model's answer that must quote the submission, and does
            not, is asked again and then abstains (see docs/judging.md). Default: only for the
            quotes that answers to metric criteria give.
        correct_prior: whether, in probability mode, probabilities are corrected by those of a
            question without content.
        samples: how many replies are drawn in each order, in probability mode, where a model gives
            no probabilities. Default: 5.
        chunk_tokens: a submission of more tokens is read by a language model in parts of at most
            so many; see docs/reports.md. Default: every submission whole.
        max_cost: US dollars that this run may spend; it ends before they are exceeded.
        max_time: seconds that this run may take.
        temperature: sampling temperature, for a judge given by name; None for the endpoint's own.
        max_tokens: the most tokens that a reply may have, for a judge given by name: bounds a model
            that does not stop writing. Default: the endpoint's own limit, if it has one.
        timeout: seconds that one request may take, for a judge given by name.
        prices: a file of prices, for a judge given by name; see docs/running.md.
        attempts: how often a request that fails while others get through is sent, at most. One
            refused for its rate (429) is sent until the deadline, however often that is.
        deadline: seconds that one judgement may take with all its requests; it is `failed` after.
        max_outage: seconds that an endpoint which has worked may stay without any answer. Nothing
            is lost until then; after, the run is stopped, and can be taken up later.
        cannot_assess: what an abstention or an N/A answer does to the score: `skip`, `zero`,
            `partial` or `fail`.
        partial: the fraction of a positive weight that `partial` gives, in [0, 1].
        length_penalty: what length costs the score: a `LengthPenalty`, or its fields as a dict.
        author_key: where the items' metadata says which model wrote the text; a judge of the same
            family is warned about. Default: `model`, else `system`.
        calibration: a file of `rubricate calibrate`, or what it holds: maps the probabilities of
            the judge that it was fitted for; the label of a binary criterion is then what the
            mapped probability says. It is an error if judge, prompt or rubric are others.
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
        strategy=strategy,
        ordinal=ordinal,
        nominal=nominal,
        numeric=numeric,
        min_votes=min_votes,
        weights=weights,
        replicates=replicates,
        concurrency=concurrency,
        requests_per_minute=requests_per_minute,
        tokens_per_minute=tokens_per_minute,
        leader_first=leader_first,
        criteria_per_call=criteria_per_call,
        examples=examples,
        judge_prompt=judge_prompt,
        mode=mode,
        permutations=permutations,
        shuffle=shuffle,
        require_evidence=require_evidence,
        correct_prior=correct_prior,
        samples=samples,
        chunk_tokens=chunk_tokens,
        max_cost=max_cost,
        max_time=max_time,
        temperature=temperature,
        max_tokens=max_tokens,
        timeout=timeout,
        prices=prices,
        attempts=attempts,
        deadline=deadline,
        max_outage=max_outage,
        cannot_assess=cannot_assess,
        partial=partial,
        length_penalty=length_penalty,
        author_key=author_key,
        calibration=calibration,
        allow_code=allow_code,
        on_progress=on_progress,
        stop=stop,
    )
    return await collected(stream)


async def collected(stream: ResultStream) -> Result:
    """All that a stream gives.

    Raises:
        RunStopped: the run ended before all was judged; its `result` has what was judged.
    """
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


def _existing(folder: str | Path | None, name: str) -> Path | None:
    path = None if folder is None else user_path(folder) / name
    return path if path is not None and path.exists() else None


async def aestimate(
    dataset: Gradable, judge: JudgesLike = None, **options: Unpack[GradingOptions]
) -> RunEstimate:
    """What `agrade` with these arguments would take; sends nothing and writes nothing.

    Tokens are guessed from the length of the prompts, and each call is taken to be answered at
    once: a range, not a promise.

    Raises:
        InputError: something given cannot be used.
    """
    check_options(options, GradingOptions, "dataset", "judge")
    fresh, limit = options.get("fresh", False), options.get("limit")
    dataset = chosen_dataset(dataset, options.get("rubric"))
    chosen = chosen_judge(judge, options)
    return await estimate_run(
        dataset,
        chosen,
        journal=None if fresh else _existing(options.get("run_dir"), JOURNAL_NAME),
        cache=_existing(options.get("cache"), CACHE_NAME),
        fresh=fresh,
        only_failed=options.get("retry_failed", False),
        limit=limit,
        calibrate=chosen_calibrator(options.get("calibration"), dataset, chosen, limit),
        allow_code=options.get("allow_code", False),
    )


def estimate(
    dataset: Gradable, judge: JudgesLike = None, **options: Unpack[GradingOptions]
) -> RunEstimate:
    """`aestimate` for plain code."""
    return run_sync(lambda: aestimate(dataset, judge, **options))


async def agrade_one(
    rubric: Rubric,
    submission: str,
    *,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    **options: Unpack[JudgingOptions],
) -> ItemResult:
    """Grade one text by a rubric.

    Args:
        rubric: what to judge it by.
        submission: the text, or the `Transcript` of a conversation.
        prompt: the task that the text answers.
        reference: an exemplary response.
        context: documents that the text rests on, such as retrieved passages.
        judge: who grades, as for `agrade`.
        options: those of `agrade` that concern one text.

    Returns:
        The item's result. A verdict that could not be had is in it as `failed`.
    """
    documents = [ContextDocument(one) if isinstance(one, str) else one for one in context]
    item = DataItem(submission, reference_submission=reference, context=documents)
    dataset = RubricDataset(prompt, rubric, [item])
    async with agrade_stream(dataset, judge, **options) as stream:
        result = await anext(stream)
        with suppress(StopAsyncIteration, RunStopped):  # what was not had is `failed`
            await anext(stream)
    return result


def grade(dataset: Gradable, judge: JudgesLike = None, **options: Unpack[GradingOptions]) -> Result:
    """`agrade` for plain code. Works in a script and inside a running loop (a notebook)."""
    check_options(options, GradingOptions, "dataset", "judge")
    return run_sync(lambda: _closing(judge, agrade(dataset, judge, **options)))


def grade_stream(
    dataset: Gradable, judge: JudgesLike = None, **options: Unpack[GradingOptions]
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
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    **options: Unpack[JudgingOptions],
) -> ItemResult:
    """`agrade_one` for plain code. Works in a script and inside a running loop (a notebook)."""
    return run_sync(
        lambda: _closing(
            judge,
            agrade_one(
                rubric,
                submission,
                prompt=prompt,
                reference=reference,
                context=context,
                judge=judge,
                **options,
            ),
        )
    )


async def _closing(judge: JudgesLike, grading: Coroutine[Any, Any, _T]) -> _T:
    """Close a judge's connections behind a call: they belong to the loop that now ends."""
    try:
        return await grading
    finally:
        if isinstance(judge, Judge | Model):
            await judge.aclose()
