"""Assertions on whole runs: gates of CI as tests."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from rubricate.analysis import Gate, RunLike
    from rubricate.run.results import ThresholdOutcome

OnUnclear = Literal["pass", "fail"]


class UnclearGate(UserWarning):
    """A gate passed only because its items cannot tell."""


def assert_no_worse(
    after: RunLike,
    before: RunLike,
    *,
    margin: float,
    groups: str | None = None,
    on_unclear: OnUnclear = "pass",
) -> Gate:
    """Fail if a run is shown to be worse than an earlier one, or too little can be compared.

        def test_answers():
            result = rubricate.grade("answers.csv", "openai/gpt-6-luna", rubric="rubric.yaml")
            assert_no_worse(result, "runs/main", margin=0.02)

    Args:
        after, before: the runs.
        margin: how much lower the mean score may be, from 0 to 1.
        groups: a metadata field: items with the same value belong together. `none` treats each item
            by itself. Default: by prompt, if prompts repeat.
        on_unclear: whether a gate that cannot tell passes with a warning, or fails.

    Raises:
        AssertionError: it is worse.
        InputError: the runs have nothing in common.
    """
    from rubricate.analysis import compare_runs

    __tracebackhide__ = True
    gate = compare_runs(before, after, groups=groups).gate(margin)
    _check(gate.outcome, gate.why, on_unclear)
    return gate


def assert_not_below(
    run: RunLike,
    threshold: float | str,
    *,
    groups: str | None = None,
    on_unclear: OnUnclear = "pass",
) -> ThresholdOutcome:
    """Fail if a run's score, or a criterion's mean value, is shown to be below a threshold.

    Args:
        run: the run.
        threshold: as for `--fail-under`: 0.8, or "0.8,refund=0.9".
        groups: a metadata field: items with the same value belong together. `none` treats each item
            by itself. Default: by prompt, if prompts repeat.
        on_unclear: whether a gate that cannot tell passes with a warning, or fails.

    Raises:
        AssertionError: a figure is below its threshold, or failed verdicts leave that open.
        InputError: the threshold is invalid, or for an unknown criterion.
    """
    from rubricate.analysis import finished_run, read_summary
    from rubricate.run.results import Thresholds, check_thresholds

    __tracebackhide__ = True
    finished = finished_run(run)
    groups = finished.grouping(groups)
    outcome = check_thresholds(
        read_summary(finished),
        finished.item_rows(),
        {"mean": Thresholds.parse(threshold)},
        None if groups is None else finished.groups_by(groups),
    )
    _check(outcome.outcome, str(outcome), on_unclear)
    return outcome


def _check(outcome: str, why: str, on_unclear: OnUnclear) -> None:
    __tracebackhide__ = True
    if outcome in ("worse", "not covered", "below", "undecided"):
        raise AssertionError(why)
    if outcome == "cannot tell":
        if on_unclear == "fail":
            raise AssertionError(why)
        warnings.warn(why, UnclearGate, stacklevel=3)
