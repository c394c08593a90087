"""Pairwise comparison: which of two submissions is better, by criterion and in both orders.

    report = rubricate.compare_pair(before, after, rubric=rubric, judge="openai/gpt-6-luna")
    print(report)

Every pair becomes two items of an ordinary run, one for each order, with the same journal, cache,
limits and resuming.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import KW_ONLY, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from rubricate._files import Replacement, not_written, user_path
from rubricate._sync import running_loop
from rubricate.analysis import (
    PairReport,
    PairResult,
    PairSummary,
    PairTallies,
    finished_pairs,
    keep_report,
)
from rubricate.choosing import chosen_dataset, chosen_rubric
from rubricate.dataset import ContextDocument, Gradable
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    BETTER,
    TASK,
    Judge,
    JudgesLike,
    Model,
    ModelJudge,
    Pair,
    PairVoting,
    Panel,
    language_model,
    made_for,
    named_judge,
    pair_id,
    plain_model,
)
from rubricate.options import AskingOptions
from rubricate.pairing import Pairs, pairs_of
from rubricate.run import ItemResult, Plan, RunEstimate, RunOptions, estimate
from rubricate.settings import option, options_set, part, reject_unsupported, takes
from rubricate.streaming import ResultStream, Stream, plain, plain_stream

if TYPE_CHECKING:
    from rubricate.options import Columns, Data, RubricLike

PAIRS_NAME = "pairs.jsonl"
"""The file for pairs in the run folder."""


class PairOptions(AskingOptions, PairVoting, group="What is graded"):
    """How to compare pairs of submissions."""

    rubric: RubricLike | None = option(
        None,
        "What to compare by; for datasets, in place of their own.",
        more="A `Rubric`, the path of a file, or a list of criteria or of sentences. Criteria that "
        "code computes are left out.",
        input_type=str | None,
        common=True,
    )
    map: Columns | None = option(
        None,
        "What the columns of a table are: prompt=question,id=qid.",
        more="As such text, or as a dictionary.",
        input_type=str | dict[str, str] | None,
        common=True,
    )
    prompt: str = option("", "The task that two texts answer.")
    reference: str | None = option(None, "A reference answer to it.")
    limit: int | None = option(
        None,
        "Compare only the first N pairs.",
        unit="pairs",
        common=True,
        ge=1,
    )
    better: str | None = option(
        None,
        "Which one people call better, for the accuracy: the field that says so (first, second, "
        "tie; A>B, model_b, ...), or first or second for all pairs.",
        common=True,
    )
    context: Sequence[ContextDocument | str] = ()
    judge: JudgesLike = None


class PairCall(PairOptions, kw_only=False):
    """What `compare_pair` is called with."""

    first: Data
    second: Data

    @property
    def stop(self) -> asyncio.Event | None:
        """Nothing but an interrupt ends a plain call early."""
        return None


class EstimatePairCall(PairCall, kw_only=False):
    """What `estimate_pair` is called with."""

    dry_run: ClassVar[bool] = True


class AsyncPairCall(PairCall, kw_only=False):
    """What `acompare_pair` is called with."""

    _: KW_ONLY
    stop: asyncio.Event | None = option(None, "Set this to end early and cleanly.")


@takes(AsyncPairCall)
async def acompare_pair(call: PairCall) -> PairReport:
    """Ask a language model which of two submissions is better, by each criterion, in both orders.

    Answers that differ between the orders count as a tie, and are also counted separately. For a
    fault (a negative weight), the one that shows it more loses. With the same `run_dir`, stored
    answers are reused; its `pairs.jsonl` has one line for each pair.

    For example, with two tables of answers to the same questions:

        report = await rubricate.acompare_pair(
            "old.csv", "new.csv", judge="openai/gpt-6-luna", rubric=["The reply is clear."]
        )
        print(report)

    Args:
        first, second: two texts; or two datasets, tables, data frames or lists of rows whose items
            have the same ids (items without ids are paired by position). Prompt, reference, context
            and rubric come from the first.
        context: documents that two texts are based on.
        judge: as for `agrade`; judges in a list vote. It must be a language model.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged; its `report` has what was judged.
    """
    return await _collected(stream_of_pairs(call.first, call.second, call, call.stop))


async def _collected(stream: PairStream) -> PairReport:
    pairs: list[PairResult] = []
    async with stream:
        try:
            async for pair in stream:
                pairs.append(pair)
        except RunStopped as stopped:
            report = PairReport.of(stream.summary(), pairs)
            raise RunStopped(str(stopped), report=report, interrupted=stopped.interrupted) from None
    return PairReport.of(stream.summary(), pairs)


compare_pair = plain(PairCall, acompare_pair)


@takes(AsyncPairCall)
def acompare_pair_stream(call: PairCall) -> PairStream:
    """Compare, and yield each pair as soon as it is done, without keeping them in memory.

    Every pair comes once, in the order of completion. If the run ends early, the remaining pairs
    follow with their stored answers before `RunStopped` is raised.

        async with rubricate.acompare_pair_stream(before, after, judge=judge) as stream:
            async for pair in stream:
                ...
        print(stream.summary())

    Args:
        first, second, context, judge: as for `acompare_pair`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    return stream_of_pairs(call.first, call.second, call, call.stop)


def stream_of_pairs(
    first: Data,
    second: Data,
    options: PairOptions,
    stop: asyncio.Event | None = None,
) -> PairStream:
    """The stream of `acompare_pair_stream`, with its options as one value."""
    return PairStream(_pairs(first, second, options), stop or asyncio.Event(), options)


compare_pair_stream = plain_stream(PairCall, acompare_pair_stream, PairResult)


@takes(EstimatePairCall)
async def aestimate_pair(call: PairCall) -> RunEstimate:
    """Estimate what `acompare_pair` with these arguments would take, without sending anything.

    A pair is two items, one for each order.

    Args:
        first, second, context, judge: as for `acompare_pair`.

    Raises:
        InputError: something given cannot be used.
    """
    judge = _judge(call)
    try:
        options = _running(call)
        plan = Plan(_pairs(call.first, call.second, call), options)
        return await estimate(plan, judge, options)
    finally:
        for made in made_for(call.judge, judge):
            await made.aclose()


estimate_pair = plain(EstimatePairCall, aestimate_pair)


class PairStream(Stream[PairResult]):
    """The pairs of a comparison in progress; see `acompare_pair_stream`."""

    def __init__(self, pairs: Pairs, stop: asyncio.Event, options: PairOptions) -> None:
        self._pairs = pairs
        judge, running = _judge(options), _running(options)
        made = made_for(options.judge, judge)
        plan = Plan(pairs, running)
        self._items = ResultStream(plan, judge, running, stop=stop, closes=made)
        self._halves: dict[int, ItemResult] = {}
        self._tallies = PairTallies()
        folder = options.run_dir
        self._file = None if folder is None else user_path(folder) / PAIRS_NAME
        self._begun = self._written = False

    def summary(self) -> PairSummary:
        """The figures of the pairs, once the run has ended."""
        return self._tallies.summary(self._items.outcome, self._pairs.not_compared)

    async def __anext__(self) -> PairResult:
        self._loop = running_loop()
        try:
            while (item := await anext(self._items, None)) is not None:
                self._begin()
                other = self._halves.pop(item.index ^ 1, None)
                if other is not None:
                    return self._compared(*sorted((item, other), key=lambda half: half.index))
                self._halves[item.index] = item
        except BaseException:
            await self.aclose()
            raise
        await self.aclose()
        raise StopAsyncIteration

    def _begin(self) -> None:
        """Delete the pairs of an earlier run, once this one owns the folder."""
        if not self._begun and self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                raise not_written(self._file, error) from None
        self._begun = True

    def _compared(self, forward: ItemResult, reverse: ItemResult) -> PairResult:
        weights = [criterion.weight for criterion in forward.rubric]
        return self._tallies.add(
            forward.index // 2,
            pair_id(forward.id),
            dict(zip(forward.rubric.names, weights, strict=True)),
            forward.criteria,
            reverse.criteria,
            forward.metadata.get(BETTER),
            str(forward.metadata[TASK]),
        )

    async def aclose(self) -> None:
        """End the run if it is still going, and close the connections that it opened."""
        await self._items.aclose()
        self._write()

    def _write(self) -> None:
        """Write the pairs in order, after the results of the run."""
        try:
            folder = self._items.outcome.run_dir
        except RuntimeError:  # the run did not start, or could not write its results
            return
        if folder is None or self._written:
            return
        self._written = True
        with Replacement(folder / PAIRS_NAME) as file:
            for pair in finished_pairs(folder):
                file.write(pair.model_dump_json().encode() + b"\n")
        keep_report(self.summary(), folder)


def _pairs(first: Data, second: Data, options: PairOptions) -> Pairs:
    """Two texts, or the items of two datasets, as pairs."""
    rubric = None if options.rubric is None else chosen_rubric(options.rubric)
    sides = [
        side if isinstance(side, str | Gradable) else chosen_dataset(side, rubric, options.map)
        for side in (first, second)
    ]
    return pairs_of(
        *sides,
        rubric=rubric,
        prompt=options.prompt,
        reference=options.reference,
        context=options.context,
        limit=options.limit,
        better=options.better,
    )


def _running(options: PairOptions) -> RunOptions:
    """The options of the run itself."""
    return replace(part(RunOptions, options), limit=None)


def _judge(options: PairOptions) -> Judge:
    """The judge of pairs."""
    several = isinstance(options.judge, Sequence) and not isinstance(options.judge, str)
    listed = list(cast("Sequence[Any]", options.judge)) if several else [options.judge]
    if not listed:
        raise InputError("the list of judges is empty")
    pairing = [ModelJudge(_model(judge_like, options), Pair()) for judge_like in listed]
    voting = options_set(PairVoting, options)
    if len(pairing) > 1 or "replicates" in voting:
        return Panel(pairing, **voting)
    if voting:
        reject_unsupported(PairVoting, options, (), "there is one")
    return pairing[0]


def _model(judge: Any, options: PairOptions) -> Model:
    plain = plain_model(judge)
    if plain is not None:
        return plain
    named = isinstance(judge, str) and judge != "builtin"
    model = language_model(judge, options if named else options.changed(base_url=None))
    if model is not None:
        return model
    other = named_judge(judge)
    if other.voters:
        raise InputError("a Panel's judges grade one text at a time: list the models instead")
    raise InputError(
        f"{other.name} judges one text at a time: name a language model (--judge "
        "openai/gpt-6-luna); or grade both and compare the two runs (rubricate compare)"
    )
