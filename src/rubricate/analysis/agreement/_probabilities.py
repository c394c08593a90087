"""How well a judge's probabilities separate MET from UNMET, and decisions by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.errors import InputError
from rubricate.run.results import ResultRow
from rubricate.stats import (
    Bootstrap,
    Calibration,
    ConformalSets,
    DecisionThreshold,
    Estimate,
    calibration,
    conformal_sets,
    decision_threshold,
    roc_auc,
)
from rubricate.views import Row, Tone, estimate_text, p_text, percent

LEAST, MOST = 1e-9, 1e9
"""The range of a cost."""
DIGITS = 4
"""The number of digits of a threshold in the output."""


@dataclass(frozen=True, slots=True)
class DecisionRules:
    """Which decisions to make by a judge's probabilities of MET.

    Attributes:
        costs: the costs of a false MET and a false UNMET, both above 0, to find the threshold with
            the lowest mean cost. Default: no threshold.
        coverage: the probability with which a set of labels must contain the human label, between 0
            and 1. Default: no sets.
    """

    costs: tuple[float, float] | None = None
    coverage: float | None = None

    @classmethod
    def read(cls, costs: str | None, coverage: float | None) -> DecisionRules:
        """Create it from command-line options; the costs are two numbers, `5,1`.

        Raises:
            InputError: they are not.
        """
        if costs is None:
            return cls(None, coverage)
        try:
            false_met, false_unmet = map(float, costs.split(","))
        except ValueError:
            false_met = false_unmet = 0.0
        if not (LEAST <= false_met <= MOST and LEAST <= false_unmet <= MOST):
            raise InputError(
                f"--costs takes two numbers, what a false MET and a false UNMET cost, such as 5,1; "
                f"found '{costs}'"
            )
        return cls((false_met, false_unmet), coverage)


@dataclass(frozen=True, slots=True)
class Probabilities:
    """The quality of probabilities of MET: calibration, and separation of MET from UNMET.

    Attributes:
        n: the number of verdicts with a probability and a label, both decided.
        calibration: how well the probabilities fit.
        auc: the area under the ROC curve; only verdicts on the same criterion are compared.
        threshold: the threshold with the lowest cost; None without costs.
        sets: the sets of labels; None without a coverage.
    """

    n: int
    calibration: Calibration
    auc: Estimate
    threshold: DecisionThreshold | None = None
    sets: ConformalSets | None = None


def probabilities_of(
    rows: Sequence[ResultRow],
    group_of: Mapping[str, Any],
    bootstrap: Bootstrap,
    rules: DecisionRules = DecisionRules(),
) -> Probabilities | None:
    """The figures of decided verdicts; None if none has a probability."""
    known = [
        row
        for row in rows
        if row.status == "judged"
        and row.human_label in ("MET", "UNMET")
        and row.probability_met is not None
    ]
    if not known:
        return None
    met = [row.probability_met for row in known]
    outcomes = [row.human_label == "MET" for row in known]
    groups = [group_of[row.item] for row in known]
    confidence = bootstrap.confidence
    threshold = sets = None
    if rules.costs is not None:
        threshold = decision_threshold(
            met,
            outcomes,
            false_positive_cost=rules.costs[0],
            false_negative_cost=rules.costs[1],
            groups=groups,
            confidence=confidence,
        )
    if rules.coverage is not None:
        sets = conformal_sets(
            [None if p is None else {"MET": p, "UNMET": 1 - p} for p in met],
            [row.human_label for row in known],
            coverage=rules.coverage,
            groups=groups,
        )
    strata = [row.criterion for row in known]
    auc = roc_auc(met, outcomes, strata=strata, groups=groups, confidence=confidence)
    fit = calibration(met, outcomes, groups=groups, bootstrap=bootstrap)
    return Probabilities(len(known), fit, auc, threshold, sets)


def fit_row(name: str, probabilities: Probabilities, tone: Tone = "") -> Row:
    """A row with separation and calibration."""
    fit = probabilities.calibration
    figures = probabilities.auc, fit.brier, fit.calibration_error
    return Row([name, str(fit.n), *figures, p_text(fit.miscalibration)], tone)


def calibration_text(calibration: Calibration) -> str:
    """The calibration error, and whether it exceeds noise."""
    error, p = estimate_text(calibration.calibration_error), calibration.miscalibration
    if p is None:
        return f"calibration error {error}"
    finding = "miscalibration is shown" if p < 0.05 else "no miscalibration is shown"
    return f"calibration error {error} ({finding}, p {p_text(p)})"


def decision_texts(probabilities: Probabilities) -> Iterator[str]:
    """The effects of the threshold and the sets, in words."""
    if probabilities.threshold is not None:
        yield _threshold_text(probabilities.threshold)
    if probabilities.sets is not None:
        yield _sets_text(probabilities.sets)


def _threshold_text(choice: DecisionThreshold) -> str:
    costs = f"false MET {choice.false_positive_cost:g}, false UNMET {choice.false_negative_cost:g}"
    if choice.threshold is None:
        return f"threshold for costs ({costs}): none: {choice.undefined}"
    return (
        f"threshold for costs ({costs}): MET from a probability of "
        f"{round(choice.threshold, DIGITS):g} on. Mean cost of a verdict on data held out: "
        f"{estimate_text(choice.cost)}; with a threshold of 0.5: "
        f"{estimate_text(choice.cost_at_half)}; saved: {estimate_text(choice.saved)}"
    )


def _sets_text(sets: ConformalSets) -> str:
    if not any(sets.thresholds.values()):
        return (
            f"sets of labels that contain people's in {percent(sets.coverage)}: "
            f"{sets.clusters} items or groups are too few to leave any label out"
        )
    met, unmet = sets.thresholds["MET"], 1 - sets.thresholds["UNMET"]
    between = "both labels" if met <= unmet else "none"
    low, high = (f"{round(bound, DIGITS):g}" for bound in sorted((met, unmet)))
    return (
        f"sets of labels that contain people's in {percent(sets.coverage)}: MET above a "
        f"probability of {high}, UNMET below {low}, {between} in between. Of sets on data held "
        f"out, {estimate_text(sets.held_out)} contain it, and {estimate_text(sets.single)} are one "
        f"label, which is right in {estimate_text(sets.single_right)}"
    )
