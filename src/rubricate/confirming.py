"""Compares two finished runs after asking again about the verdicts that differ.

    comparison = rubricate.confirm("runs/main", "runs/change", judge="openai/gpt-6-luna")
    print(comparison.gate(margin=0.02))

The additional answers are an ordinary run, in a folder within run B.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, replace
from pathlib import Path

from rubricate._files import user_path
from rubricate.analysis import (
    Confirmation,
    FinishedRun,
    GivenAnew,
    LosingVerdicts,
    Recheck,
    RunComparison,
    compare_runs,
    read_run,
    unsettled,
)
from rubricate.choosing import chosen_judge
from rubricate.dataset import RubricDataset
from rubricate.judge import Judge, JudgesLike, Panel, made_for
from rubricate.options import JudgeOptions
from rubricate.rubric import Verdict
from rubricate.run import (
    Budget,
    ItemResult,
    Limits,
    Listening,
    Plan,
    Retries,
    RunEstimate,
    RunOptions,
    Storage,
)
from rubricate.run import estimate as estimate_run
from rubricate.run.results import ThresholdOutcome, outcome_of
from rubricate.settings import option, part, takes
from rubricate.streaming import ResultStream, plain


class ConfirmOptions(JudgeOptions, Retries, Limits, Budget, Storage, Listening):
    """How to ask again about verdicts of finished runs."""


class ConfirmCall(ConfirmOptions, kw_only=False):
    """What `confirm` is called with."""

    before: FinishedRun | str | Path
    after: FinishedRun | str | Path
    judge: JudgesLike = None
    _: KW_ONLY
    times: int = option(
        5,
        "How often each flip is asked about again at most, in each run.",
        ge=1,
    )
    margin: float = option(0.0, "How much lower the mean score may be, as for `gate`.", ge=0, lt=1)
    groups: str | None = option(None, "Metadata that says which items belong together.")
    by: Sequence[str] = option((), "Scores by tag, too.")


@takes(ConfirmCall)
async def aconfirm(call: ConfirmCall) -> RunComparison:
    """Compare two runs, and ask again in both about the verdicts that differ.

    First the flips are asked again, then all other verdicts, and so on up to `times`, until the
    answers show a drop of more than the margin, or make it unlikely. The `gate` of the comparison
    uses the mean of all answers. Answers are stored in the folder `confirm-A` of run B (or in
    `run_dir`), so the same call never asks twice.

    For example:

        comparison = await rubricate.aconfirm(
            "runs/a", "runs/b", "openai/gpt-6-luna", times=5, margin=0.02
        )
        print(comparison.gate(0.02).outcome)

    Args:
        before, after: the runs, or their folders.
        judge: the judge of both runs, with the same options.

    Raises:
        InputError: an argument cannot be used, or this judge would not be asked the same questions
            as in the runs. Nothing was sent.
        RunStopped: the run ended before all was answered.
    """
    runs = _run(call.before), _run(call.after)
    judge = chosen_judge(call.judge, call)
    check = Recheck(*runs, judge, call.times)
    comparison = compare_runs(*runs, groups=call.groups, by=call.by)
    return await confirmed(check, comparison, runs, call, call.judge, margin=call.margin)


confirm = plain(ConfirmCall, aconfirm)


def _run(run: FinishedRun | str | Path) -> FinishedRun:
    return run if isinstance(run, FinishedRun) else read_run(run)


async def confirmed(
    check: Recheck,
    comparison: RunComparison,
    runs: tuple[FinishedRun, FinishedRun],
    options: ConfirmOptions,
    judge: JudgesLike,
    *,
    margin: float | None,
    stop: asyncio.Event | None = None,
) -> RunComparison:
    """`aconfirm` for runs that are compared already.

    Args:
        margin: the margin of the gate; None without a gate, which asks for all answers to flips.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    running = running_options(runs, options)
    comparison = replace(comparison, confirmation=Confirmation(len(comparison.flips)))
    for panel in check.rounds:
        for dataset, count in ((check.dataset, check.with_flips), (check.whole, check.with_round)):
            if dataset is None:
                return comparison
            if margin is not None and not comparison.gate(margin, min_coverage=0).is_open:
                return comparison
            results = await answered(dataset, panel, running, judge, stop)
            verdicts = {result.id: result.criteria for result in results}
            assert comparison.confirmation is not None
            confirmation = count(comparison.confirmation, comparison.scored, verdicts)
            comparison = replace(comparison, confirmation=confirmation)
            if margin is None:
                break
    return comparison


async def _settled(
    check: LosingVerdicts,
    options: RunOptions,
    judge: JudgesLike,
    stop: asyncio.Event | None,
) -> GivenAnew:
    """The new verdicts: the answer of more than half, or of the mean of all if there is none.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    answers: dict[str, Mapping[str, Verdict]] = {}
    dataset = check.dataset
    for panel in check.panels:
        if dataset is None:
            break
        for result in await answered(dataset, panel, options, judge, stop):
            answers[result.id] = {**answers.get(result.id, {}), **result.criteria}
        dataset = unsettled(dataset, answers)
    return answers


async def answered(
    dataset: RubricDataset,
    panel: Panel,
    options: RunOptions,
    judge: JudgesLike,
    stop: asyncio.Event | None,
) -> list[ItemResult]:
    """The results of a run that asks again.

    Args:
        dataset: the items to ask about.
        panel: the judges to ask.
        options: how to ask.
        judge: what the caller has named; judges made from names are closed afterwards.
        stop: set it to end early.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    plan, closes = Plan(dataset, options), made_for(judge, panel)
    stream = ResultStream(plan, panel, options, stop=stop, closes=closes)
    async with stream:
        return [item async for item in stream]


async def confirmed_thresholds(
    run: FinishedRun,
    outcome: ThresholdOutcome,
    options: ConfirmOptions,
    judge: Judge,
    times: int,
    *,
    groups: str | None = None,
    stop: asyncio.Event | None = None,
) -> ThresholdOutcome:
    """The outcome of thresholds after asking again about the verdicts that keep figures below.

    Args:
        run: the run.
        outcome: the outcome so far.
        options: how to ask.
        judge: the judge of the run.
        times: how often to ask again about each verdict.
        groups: the metadata field that says which items belong together.
        stop: set it to end early.

    Raises:
        RunStopped: the run ended before all was answered.
    """
    groups = run.grouping(groups)
    losing = LosingVerdicts(run, outcome.checks, judge, times)
    if losing.dataset is None:
        return outcome
    answers = await _settled(losing, part(RunOptions, options), judge, stop)
    return outcome_of(
        losing.outcomes(outcome.checks, answers, None if groups is None else run.groups_by(groups))
    )


async def estimate_confirmed(
    check: Recheck, runs: tuple[FinishedRun, FinishedRun], options: ConfirmOptions
) -> RunEstimate | None:
    """The most that asking about the flips would take; None if there are none."""
    if check.dataset is None:
        return None
    running = running_options(runs, options)
    return await estimate_run(Plan(check.dataset, running), check.panel, running)


def running_options(runs: tuple[FinishedRun, FinishedRun], options: ConfirmOptions) -> RunOptions:
    """The options of the run that asks again."""
    return replace(part(RunOptions, options), run_dir=confirm_folder(runs, options))


def confirm_folder(runs: tuple[FinishedRun, FinishedRun], options: ConfirmOptions) -> Path:
    """The folder for the answers: as set, else within the folder of run B."""
    before, after = runs
    if options.run_dir is not None:
        return user_path(options.run_dir)
    return after.path / f"confirm-{before.path.absolute().name}"
