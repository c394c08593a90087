"""Which of two submissions is better: asked criterion by criterion, in both orders.

    report = rubricate.compare_pair(before, after, rubric=rubric, judge="openai/gpt-4.1-mini")
    print(report)

Every pair is two items of an ordinary run, one for each order: journal, cache, limits and resume
are the engine's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any, Unpack, cast

from rubricate._sync import run_sync
from rubricate.dataset import ContextDocument, DataItem, Entry, Gradable, RubricDataset
from rubricate.errors import InputError
from rubricate.grading import aestimate, agrade
from rubricate.judge import (
    OTHER,
    Judge,
    JudgesLike,
    Model,
    ModelJudge,
    PairJudge,
    Panel,
    Weights,
    judge_or_model,
    pair_criterion,
)
from rubricate.options import TIMEOUT, AskingOptions, GradingOptions, PanelOptions, check_options
from rubricate.report import PairReport, pair_result
from rubricate.rubric import Criterion, Rubric
from rubricate.run import Estimate, Result

__all__ = [
    "PairOptions",
    "PairReport",
    "acompare_pair",
    "aestimate_pair",
    "compare_pair",
    "estimate_pair",
]

VOTING = ("nominal", "min_votes", "weights", "replicates")
TOLD_TO_THE_JUDGE = ("base_url", "temperature", "max_tokens", "timeout", "prices", *VOTING)
GIVEN, REVERSE = "first first", "second first"
"""The orders in which a pair is shown; what the ids of the run's items end in."""


class PairOptions(AskingOptions, total=False):
    """How to judge; the arguments of these names of `agrade`."""

    nominal: str | None
    min_votes: int
    weights: Weights | None
    replicates: int


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two submissions for one task; both entries share everything else."""

    id: str
    first: Entry
    second: Entry


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
    **options: Unpack[PairOptions],
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
            has been answered is asked again.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    asked = _asked(first, second, rubric, prompt, reference, context, judge, limit, options)
    try:
        result = await agrade(asked.dataset, asked.judge, stop=stop, **asked.options)
    finally:
        await asked.aclose()
    return _report(result, asked.rubrics)


async def aestimate_pair(
    first: str | Gradable,
    second: str | Gradable,
    *,
    rubric: Rubric | None = None,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    limit: int | None = None,
    **options: Unpack[PairOptions],
) -> Estimate:
    """What `acompare_pair` with these arguments would take; sends nothing and writes nothing.

    Raises:
        InputError: something given cannot be used.
    """
    asked = _asked(first, second, rubric, prompt, reference, context, judge, limit, options)
    try:
        return await aestimate(asked.dataset, asked.judge, **asked.options)
    finally:
        await asked.aclose()


def estimate_pair(
    first: str | Gradable,
    second: str | Gradable,
    *,
    rubric: Rubric | None = None,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    limit: int | None = None,
    **options: Unpack[PairOptions],
) -> Estimate:
    """`aestimate_pair` for plain code."""
    return run_sync(
        lambda: aestimate_pair(
            first,
            second,
            rubric=rubric,
            prompt=prompt,
            reference=reference,
            context=context,
            judge=judge,
            limit=limit,
            **options,
        )
    )


def compare_pair(
    first: str | Gradable,
    second: str | Gradable,
    *,
    rubric: Rubric | None = None,
    prompt: str = "",
    reference: str | None = None,
    context: Sequence[ContextDocument | str] = (),
    judge: JudgesLike = None,
    limit: int | None = None,
    **options: Unpack[PairOptions],
) -> PairReport:
    """`acompare_pair` for plain code. Works in a script and inside a running loop (a notebook)."""

    async def whole() -> PairReport:
        try:
            return await acompare_pair(
                first,
                second,
                rubric=rubric,
                prompt=prompt,
                reference=reference,
                context=context,
                judge=judge,
                limit=limit,
                **options,
            )
        finally:
            for one in _listed(judge):
                if isinstance(one, Judge | Model):  # connections belong to the loop that now ends
                    await one.aclose()

    return run_sync(whole)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A comparison as a run: two items a pair, and who judges them.

    Attributes:
        dataset: the items.
        judge: who is asked about them.
        options: what the run is told.
        rubrics: what is asked.
        own: the models that were made here, and are let go of here.
    """

    dataset: RubricDataset
    judge: PairJudge | Panel
    options: GradingOptions
    rubrics: _Rubrics
    own: list[Model]

    async def aclose(self) -> None:
        """Let go of connections."""
        for model in self.own:
            await model.aclose()


def _asked(
    first: str | Gradable,
    second: str | Gradable,
    rubric: Rubric | None,
    prompt: str,
    reference: str | None,
    context: Sequence[ContextDocument | str],
    judge: JudgesLike,
    limit: int | None,
    options: PairOptions,
) -> _Asked:
    """What is asked, and of whom; arguments and errors as for `acompare_pair`."""
    check_options(options, PairOptions)
    if isinstance(first, str) and isinstance(second, str):
        if rubric is None:
            raise InputError("two texts need a rubric: give one (--rubric, rubric=)")
        documents = [ContextDocument(one) if isinstance(one, str) else one for one in context]
        first, second = (
            RubricDataset(
                prompt,
                rubric,
                [DataItem(text, id="pair", reference_submission=reference, context=documents)],
            )
            for text in (first, second)
        )
    elif isinstance(first, str) or isinstance(second, str):
        raise InputError("compare two texts, or two datasets: one of each was given")
    elif prompt or reference or context:
        raise InputError("prompt, reference and context are for two texts; datasets have their own")
    pairs = list(_pairs(first, second, limit))
    rubrics = _Rubrics(rubric)
    items = [item for pair in pairs for item in _items(pair, rubrics.of(pair.first.rubric))]
    models, asked = _judges(judge, options)
    running = {key: value for key, value in options.items() if key not in TOLD_TO_THE_JUDGE}
    return _Asked(
        RubricDataset("", None, items, name=first.name),
        asked,
        cast("GradingOptions", running),
        rubrics,
        [model for model in models if model not in _listed(judge)],
    )


def _listed(judge: JudgesLike) -> list[Any]:
    """The judges that are meant, one or several."""
    several = isinstance(judge, Sequence) and not isinstance(judge, str)
    return list(cast("Sequence[Any]", judge)) if several else [judge]


def _judges(judge: JudgesLike, options: PairOptions) -> tuple[list[Model], PairJudge | Panel]:
    """The models that are meant, and who judges pairs with them."""
    models = [_model(one, options) for one in _listed(judge)]
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
        return models, Panel(pairing, **voting)
    if voting:
        raise InputError(f"{next(iter(voting))} is for several judges, or replicates of one")
    return models, pairing[0]


def _model(judge: Any, options: PairOptions) -> Model:
    if isinstance(judge, Panel):
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


def _pairs(first: Gradable, second: Gradable, limit: int | None) -> Iterator[_Pair]:
    """The pairs, in the order of the first.

    Raises:
        InputError: an item has no other, or the two have different prompts.
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, found {limit}")
    left, right = ([*one.entries()] for one in (first, second))
    if not left or not right:
        raise InputError("there is nothing to compare: a dataset has no items", path=("items",))
    if any(_has_own_id(entry) for entry in (*left, *right)):
        others = {entry.id: entry for entry in right}
        lacking = [entry.id for entry in left if entry.id not in others]
        lacking += sorted(others.keys() - {entry.id for entry in left})
        if lacking:
            shown = ", ".join(f"'{name}'" for name in lacking[:5])
            more = f" and {len(lacking) - 5} more" if len(lacking) > 5 else ""
            raise InputError(f"items that only one of the two has: {shown}{more}")
        found = [_Pair(entry.id, entry, others[entry.id]) for entry in left]
    elif len(left) != len(right):
        raise InputError(
            f"{len(left)} items and {len(right)} items without ids cannot be paired: give them ids"
        )
    else:
        zipped = zip(left, right, strict=True)
        found = [_Pair(str(number), *pair) for number, pair in enumerate(zipped, start=1)]
    for pair in found[:limit]:
        if pair.first.prompt != pair.second.prompt:
            raise InputError("the two submissions have different prompts", path=("items", pair.id))
        yield pair


def _has_own_id(entry: Entry) -> bool:
    return entry.item.id != entry.item.content_id()


class _Rubrics:
    """Rubrics and what is asked by them; each is made once.

    Args:
        own: the rubric in place of all others, if one is given.

    Attributes:
        left_out: the criteria that no judge is asked about.
    """

    def __init__(self, own: Rubric | None) -> None:
        self._own = own
        self._made: list[tuple[Rubric, Rubric]] = []
        self.left_out: dict[str, None] = {}

    def of(self, rubric: Rubric) -> Rubric:
        """The questions which of two is better by a rubric; `InputError` if there are none."""
        rubric = self._own or rubric
        for known, asked in self._made:
            if known is rubric:
                return asked
        named = list(zip(rubric.names, rubric, strict=True))
        self.left_out |= dict.fromkeys(name for name, one in named if not one.needs_judge)
        questions = [pair_criterion(one, name) for name, one in named if one.needs_judge]
        if not questions:
            raise InputError("the rubric has no criterion that a judge is asked about")
        asked = Rubric(questions, guidelines=rubric.guidelines)
        self._made.append((rubric, asked))
        return asked

    @property
    def questions(self) -> dict[str, Criterion]:
        """All questions by name; of a name that several rubrics have, the first."""
        return {
            name: criterion
            for _, asked in reversed(self._made)
            for name, criterion in zip(asked.names, asked, strict=True)
        }


def _items(pair: _Pair, rubric: Rubric) -> Iterator[DataItem]:
    """A pair's two items, one for each order."""
    for order, shown, other in (
        (GIVEN, pair.first, pair.second),
        (REVERSE, pair.second, pair.first),
    ):
        yield DataItem(
            shown.item.submission,
            rubric=rubric,
            reference_submission=pair.first.reference,
            id=f"{pair.id}/{order}",
            prompt=pair.first.prompt,
            context=pair.first.item.context,
            metadata={"pair": pair.id, OTHER: other.item.submission},
        )


def _report(result: Result, rubrics: _Rubrics) -> PairReport:
    found = []
    for given, reverse in zip_longest(result.items[::2], result.items[1::2]):
        questions = dict(zip(given.rubric.names, given.rubric, strict=True))
        id = given.id.removesuffix(f"/{GIVEN}")
        found.append(pair_result(id, questions, given.criteria, reverse.criteria))
    return PairReport.of(
        found,
        rubrics.questions,
        judge=result.judge,
        note=result.note,
        not_compared=list(rubrics.left_out),
        calls=result.calls,
        known=result.resumed + result.cached,
        cost=result.usage.cost,
    )
