"""Which of two submissions is better: asked criterion by criterion, in both orders.

    report = rubricate.compare_pair(before, after, rubric=rubric, judge="openai/gpt-4.1-mini")
    print(report)

Every pair is two items of an ordinary run, one for each order: journal, cache, limits and resume
are the engine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import Any, Unpack, cast

from rubricate._files import Replacement, not_written, user_path
from rubricate._sync import BackgroundLoop, run_sync, running_loop
from rubricate.analysis import (
    PairReport,
    PairResult,
    PairSummary,
    PairTallies,
    finished_pairs,
    keep_report,
)
from rubricate.dataset import ContextDocument, Gradable
from rubricate.errors import InputError, RunStopped
from rubricate.grading import aestimate
from rubricate.judge import (
    Judge,
    JudgesLike,
    Model,
    ModelJudge,
    PairJudge,
    Panel,
    Weights,
    judge_or_model,
    pair_id,
)
from rubricate.options import TIMEOUT, AskingOptions, GradingOptions, PanelOptions, check_options
from rubricate.pairing import Pairs, pairs_of
from rubricate.rubric import Rubric
from rubricate.run import ItemResult, RunEstimate
from rubricate.streaming import ResultStream, Stream

__all__ = [
    "PAIRS_NAME",
    "PairOptions",
    "PairReport",
    "PairStream",
    "acompare_pair",
    "acompare_pair_stream",
    "aestimate_pair",
    "compare_pair",
    "compare_pair_stream",
    "estimate_pair",
]

PAIRS_NAME = "pairs.jsonl"
"""The run folder's file of pairs."""
VOTING = ("nominal", "min_votes", "weights", "replicates")
TOLD_TO_THE_JUDGE = ("base_url", "temperature", "max_tokens", "timeout", "prices", *VOTING)


class AskingPairOptions(AskingOptions, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    nominal: str | None
    min_votes: int
    weights: Weights | None
    replicates: int


class PairOptions(AskingPairOptions, total=False):
    """What to compare by, and how; the arguments of these names of `acompare_pair`."""

    rubric: Rubric | None
    prompt: str
    reference: str | None
    context: Sequence[ContextDocument | str]
    judge: JudgesLike
    limit: int | None


async def acompare_pair(
    first: str | Gradable,
    second: str | Gradable,
    *,
    rubric: Rubric | None = None,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    limit: int | None = None,
    stop: asyncio.Event | None = None,
    **options: Unpack[AskingPairOptions],
) -> PairReport:
    """Ask a language model which of two submissions is better, by each criterion, in both orders.

    Answers that differ between the orders are a tie, which is counted by itself. Of a fault (a
    negative weight) it is asked which one shows it more; that one loses.

    Args:
        first, second: two texts; or two datasets or tables whose items have the same ids (items
            without ids are paired by their place). Prompt, reference, context and rubric are the
            first's.
        rubric: what to compare by; for datasets, in place of their own. Criteria that code computes
            are left out.
        prompt, reference, context: the task that two texts answer, an exemplary response, and
            documents that they rest on.
        judge: who is asked, as for `agrade`; judges in a list vote. It must be a language model.
        limit: compare only so many pairs, from the first.
        stop: set this to end early and cleanly.
        options: those of `agrade` that concern how is asked. Into the same `run_dir`, nothing that
            has been answered is asked again; its `pairs.jsonl` has a line a pair.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged; its `report` has what was judged.
    """
    stream = acompare_pair_stream(
        first,
        second,
        rubric=rubric,
        prompt=prompt,
        reference=reference,
        context=context,
        judge=judge,
        limit=limit,
        stop=stop,
        **options,
    )
    pairs: list[PairResult] = []
    async with stream:
        try:
            async for pair in stream:
                pairs.append(pair)
        except RunStopped as stopped:
            report = PairReport.of(stream.summary(), pairs)
            raise RunStopped(str(stopped), report=report, interrupted=stopped.interrupted) from None
    return PairReport.of(stream.summary(), pairs)


def compare_pair(
    first: str | Gradable, second: str | Gradable, **options: Unpack[PairOptions]
) -> PairReport:
    """`acompare_pair` for plain code. Works in a script and inside a running loop (a notebook)."""

    async def whole() -> PairReport:
        try:
            return await acompare_pair(first, second, **options)
        finally:
            await _close(options.get("judge"))

    return run_sync(whole)


def acompare_pair_stream(
    first: str | Gradable,
    second: str | Gradable,
    *,
    stop: asyncio.Event | None = None,
    **options: Unpack[PairOptions],
) -> PairStream:
    """Compare, and give what came of each pair as soon as it is there; holds none of them.

    Every pair comes once, in the order in which they get done. A run that ends early gives the
    pairs that are left too, with what is known of them, before `RunStopped` is raised.

        async with rubricate.acompare_pair_stream(before, after, judge=judge) as stream:
            async for pair in stream:
                ...
        print(stream.summary())

    Args:
        first, second, stop: as for `acompare_pair`.
        options: the others of `acompare_pair`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    check_options(options, PairOptions, "first", "second", "stop")
    return PairStream(_pairs(first, second, options), stop or asyncio.Event(), options)


def compare_pair_stream(
    first: str | Gradable, second: str | Gradable, **options: Unpack[PairOptions]
) -> Iterator[PairResult]:
    """`acompare_pair_stream` for plain code: what came of the pairs, as they get done.

    Judging goes on, in a thread of its own, while a pair is looked at.
    """
    with BackgroundLoop() as loop:
        stream = acompare_pair_stream(first, second, **options)

        async def following() -> PairResult | None:
            return await anext(stream, None)

        async def close() -> None:
            try:
                await stream.aclose()
            finally:
                await _close(options.get("judge"))

        try:
            while (pair := loop.run(following())) is not None:
                yield pair
        finally:
            loop.run(close())


async def aestimate_pair(
    first: str | Gradable, second: str | Gradable, **options: Unpack[PairOptions]
) -> RunEstimate:
    """What `acompare_pair` with these arguments would take; sends nothing and writes nothing.

    A pair is two items, one for each order.

    Raises:
        InputError: something given cannot be used.
    """
    check_options(options, PairOptions, "first", "second")
    own, asked = _judges(options)
    try:
        return await aestimate(_pairs(first, second, options), asked, **_running(options))
    finally:
        for model in own:
            await model.aclose()


def estimate_pair(
    first: str | Gradable, second: str | Gradable, **options: Unpack[PairOptions]
) -> RunEstimate:
    """`aestimate_pair` for plain code."""
    return run_sync(lambda: aestimate_pair(first, second, **options))


class PairStream(Stream[PairResult]):
    """The pairs of a comparison on their way; see `acompare_pair_stream`."""

    def __init__(self, pairs: Pairs, stop: asyncio.Event, options: PairOptions) -> None:
        self._pairs = pairs
        own, asked = _judges(options)
        pairs.survey()
        self._items = ResultStream(pairs, asked, stop, _running(options), closes=own)
        self._halves: dict[int, ItemResult] = {}
        self._tallies = PairTallies()
        folder = options.get("run_dir")
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
        """Take away the pairs of an earlier run, once this one has the folder."""
        if not self._begun and self._file is not None:
            try:
                self._file.unlink(missing_ok=True)
            except OSError as error:
                raise not_written(self._file, error) from None
        self._begun = True

    def _compared(self, given: ItemResult, reverse: ItemResult) -> PairResult:
        weights = [criterion.weight for criterion in given.rubric]
        return self._tallies.add(
            given.index // 2,
            pair_id(given.id),
            dict(zip(given.rubric.names, weights, strict=True)),
            given.criteria,
            reverse.criteria,
        )

    async def aclose(self) -> None:
        """End the run if it has not ended, and let go of connections that it made."""
        await self._items.aclose()
        self._write()

    def _write(self) -> None:
        """Write the pairs in their order, once the run's results are written."""
        try:
            folder = self._items.outcome.run_dir
        except RuntimeError:  # the run did not begin, or could not write its results
            return
        if folder is None or self._written:
            return
        self._written = True
        with Replacement(folder / PAIRS_NAME) as file:
            for pair in finished_pairs(folder):
                file.write(pair.model_dump_json().encode() + b"\n")
        keep_report(self.summary(), folder)


def _pairs(first: str | Gradable, second: str | Gradable, options: PairOptions) -> Pairs:
    """The pairs that are meant."""
    return pairs_of(
        first,
        second,
        rubric=options.get("rubric"),
        prompt=options.get("prompt", ""),
        reference=options.get("reference"),
        context=options.get("context", ()),
        limit=options.get("limit"),
    )


def _running(options: PairOptions) -> GradingOptions:
    """Of the options, those that concern the run and not the judge."""
    running = AskingOptions.__annotations__.keys() - set(TOLD_TO_THE_JUDGE)
    found = {name: value for name, value in options.items() if name in running}
    return cast("GradingOptions", found)


def _listed(judge: JudgesLike) -> list[Any]:
    """The judges that are meant, one or several."""
    several = isinstance(judge, Sequence) and not isinstance(judge, str)
    return list(cast("Sequence[Any]", judge)) if several else [judge]


async def _close(judge: JudgesLike) -> None:
    """Close judges' connections behind a call: they belong to the loop that now ends."""
    for one in _listed(judge):
        if isinstance(one, Judge | Model):
            await one.aclose()


def _judges(options: PairOptions) -> tuple[list[Model], PairJudge | Panel]:
    """The models that are made here, and let go of here; and who judges pairs."""
    given = _listed(options.get("judge"))
    models = [_model(one, options) for one in given]
    own = [model for model in models if model not in given]
    pairing = [PairJudge(model) for model in models]
    voting = cast(
        "PanelOptions",
        {
            name: value
            for name, value in options.items()
            if name in VOTING and value not in (None, 1)
        },
    )
    if len(pairing) > 1 or "replicates" in voting:
        return own, Panel(pairing, **voting)
    if voting:
        raise InputError(f"{next(iter(voting))} is for several judges, or replicates of one")
    return own, pairing[0]


def _model(judge: Any, options: PairOptions) -> Model:
    if isinstance(judge, Judge) and judge.voters:
        raise InputError("a Panel's judges grade one text at a time: list the models instead")
    if type(judge) is ModelJudge:
        return judge.model
    named = isinstance(judge, str) and judge != "builtin"
    found = judge_or_model(
        judge,
        base_url=options.get("base_url") if named else None,
        temperature=options.get("temperature", 0.0),
        max_tokens=options.get("max_tokens"),
        timeout=options.get("timeout", TIMEOUT),
        prices=options.get("prices"),
    )
    if isinstance(found, Model):
        return found
    raise InputError(
        f"{found.name} judges one text at a time: name a language model (--judge "
        "openai/gpt-4.1-mini); or grade both and compare the two runs (rubricate compare)"
    )
