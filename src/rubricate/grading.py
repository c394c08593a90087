"""The public API: grade a dataset, or one text."""

from __future__ import annotations

import logging
from contextlib import suppress
from dataclasses import KW_ONLY, fields
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

from rubricate.analysis import Items, Result
from rubricate.choosing import chosen_calibrator, chosen_dataset, chosen_judge, chosen_rubric
from rubricate.dataset import DataItem, RubricDataset, read_context
from rubricate.errors import RunStopped, errors_within
from rubricate.options import GradingOptions, JudgingOptions
from rubricate.rubric import UNANSWERED
from rubricate.run import ItemResult, Plan, RunEstimate, RunFacts
from rubricate.run import estimate as estimate_run
from rubricate.settings import option, part, takes
from rubricate.streaming import ResultStream, plain, plain_stream, stream_of

if TYPE_CHECKING:
    import asyncio
    from collections.abc import Mapping, Sequence

    from rubricate.dataset import ContextDocument
    from rubricate.judge import JudgesLike
    from rubricate.options import Data, RubricLike


logger = logging.getLogger(__name__)


class GradeCall(GradingOptions, kw_only=False):
    """What `grade` is called with."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "on_error": "leave out such rows of a data frame with dropna; read_table takes on_error "
        "for a file"
    }

    dataset: Data
    judge: JudgesLike = None
    stop: ClassVar[asyncio.Event | None] = None  # nothing but an interrupt ends a plain call early


class AsyncGradeCall(GradeCall, kw_only=False):
    """What `agrade` is called with."""

    _: KW_ONLY
    stop: asyncio.Event | None = option(  # type: ignore[misc]
        None, "Set this to end the run early and cleanly."
    )


class EstimateCall(GradeCall, kw_only=False):
    """What `estimate` is called with."""

    dry_run: ClassVar[bool] = True


class GradeOneCall(JudgingOptions, kw_only=False):
    """What `grade_one` is called with."""

    rubric: RubricLike
    submission: str
    _: KW_ONLY
    prompt: str | None = None
    reference: str | None = None
    context: Sequence[ContextDocument | str] = ()
    judge: JudgesLike = None


@takes(AsyncGradeCall)
async def agrade(call: GradeCall) -> Result:
    """Grade every item of a dataset by every criterion of its rubric.

    For example, with a table, two sentences as the rubric and a model by name:

        result = await rubricate.agrade(
            "answers.csv",
            "openai/gpt-6-luna",
            rubric=["The reply apologises.", "The reply says what happens next."],
            map={"submission": "answer", "prompt": "question"},
        )
        print(result.summary())
        print(result.items[0].score.value)

    Args:
        dataset: what to grade: a `RubricDataset`, a table of `read_table`, the path of a file, a
            data frame of pandas or polars, or a list of rows (dictionaries). Rows need a `rubric`,
            and `map` where their columns have other names than `submission`, `prompt`, `reference`,
            `context`, `id` and `label.CRITERION`.
        judge: who grades: a name such as `openai/gpt-6-luna`, a judge, a model, or a callable
            from messages to a reply; or several, in a list or a `Panel`, that vote, or in a
            `Cascade`, that are asked one after the other. Default: the
            built-in judge, a baseline. A judge or model keeps its connections for the next call:
            close it with `aclose`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged (a refused key, a dead endpoint, `stop`);
            its `result` has what was judged.
    """
    result = await collected(stream_of(call.dataset, call.judge, call, call.stop))
    if not any(verdict.status not in UNANSWERED for _, verdict in result.verdicts()):
        for _, verdict in islice(result.verdicts(), 1):
            logger.warning("no verdict was given; the first failure: %s", verdict.error)
    return result


grade = plain(GradeCall, agrade)


@takes(AsyncGradeCall)
def agrade_stream(call: GradeCall) -> ResultStream:
    """Grade a dataset and give each item's result as soon as it is there; holds none of them.

    Every item comes once, in the order in which they get done (`ItemResult.index` is the place in
    the dataset). Where results are taken slowly, judging waits. A run that ends early gives the
    items that are left too, with their stored answers, before `RunStopped` is raised.

    The run ends when nobody takes its results any more: when its `async with` block is left or,
    without one, its loop (a `break`, an error, a task that is cancelled), or nothing refers to it.
    The run folder is then whole, and the same call continues from there.

        async with rubricate.agrade_stream(dataset, judge) as stream:
            async for item in stream:
                ...
        print(stream.summary())

    Args:
        dataset, judge: as for `agrade`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    return stream_of(call.dataset, call.judge, call, call.stop)


grade_stream = plain_stream(GradeCall, agrade_stream, ItemResult)


@takes(EstimateCall)
async def aestimate(call: GradeCall) -> RunEstimate:
    """What `agrade` with these arguments would take; sends nothing and writes nothing.

    Tokens are guessed from the length of the prompts, and each call is taken to be answered at
    once: a range, not a promise.

    For example:

        print(await rubricate.aestimate("answers.csv", "openai/gpt-6-luna", rubric="rubric.yaml"))

    Args:
        dataset, judge: as for `agrade`.

    Raises:
        InputError: something given cannot be used.
    """
    dataset = chosen_dataset(call.dataset, call.rubric, call.map)
    judge = chosen_judge(call.judge, call)
    plan = Plan(dataset, call)
    calibrate = chosen_calibrator(call.calibration, judge, plan.rubric)
    return await estimate_run(plan, judge, call, calibrate)


estimate = plain(EstimateCall, aestimate)


@takes(GradeOneCall)
async def agrade_one(call: GradeOneCall) -> ItemResult:
    """Grade one text by a rubric.

    For example:

        item = await rubricate.agrade_one(
            ["Says that light is fast."], "Very fast.", prompt="How fast is light?"
        )
        print(item.score.value, [verdict.reason for verdict in item.criteria.values()])

    Args:
        rubric: what to judge it by: a `Rubric`, the path of a file, or a list of criteria or of
            sentences.
        submission: the text, or the `Transcript` of a conversation.
        prompt: the task that the text answers.
        reference: an exemplary response.
        context: documents that the text rests on, such as retrieved passages.
        judge: who grades, as for `agrade`.

    Returns:
        The item's result. If the judge gives no usable answer, a verdict is `failed`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: there was no point in going on, such as with a refused key.
    """
    rubric = chosen_rubric(call.rubric)
    with errors_within("context"):
        context = read_context(call.context)
    item = DataItem(call.submission, reference_submission=call.reference, context=context)
    dataset = RubricDataset(call.prompt or "", rubric, [item])
    options = part(JudgingOptions, call)
    async with stream_of(dataset, call.judge, part(GradingOptions, options)) as stream:
        result = await anext(stream)
        with suppress(StopAsyncIteration, RunStopped):  # what was not had is `failed`
            await anext(stream)
    return result


grade_one = plain(GradeOneCall, agrade_one)


async def collected(stream: ResultStream) -> Result:
    """All that a stream gives.

    Raises:
        RunStopped: the run ended before all was judged; its `result` has what was judged.
    """
    items = Items()
    async with stream:
        try:
            async for item in stream:
                items.append(item)
        except RunStopped as stopped:
            result = _result(items, stream.outcome)
            raise RunStopped(str(stopped), result=result, interrupted=stopped.interrupted) from None
    return _result(items, stream.outcome)


def _result(items: Items, outcome: RunFacts) -> Result:
    items.sort(key=lambda item: item.index)
    return Result(items=items, **{f.name: getattr(outcome, f.name) for f in fields(outcome)})
