"""How far a judge's probabilities of MET tell verdicts apart, and what to do with them."""

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
from rubricate.views import Paragraph, estimate_text, percent, say

LEAST, MOST = 1e-9, 1e9
"""Of a cost."""
DIGITS = 4
"""Of a threshold."""


@dataclass(frozen=True, slots=True)
class DecisionRules:
    """What is to be decided by a judge's probabilities of MET.

    Attributes:
        costs: what a false MET and a false UNMET cost, both above 0: the threshold with the least
            mean cost is looked for. Default: none is.
        coverage: between 0 and 1: sets of labels are made that hold people's label so often.
            Default: none are.
    """

    costs: tuple[float, float] | None = None
    coverage: float | None = None

    @classmethod
    def read(cls, costs: str | None, coverage: float | None) -> DecisionRules:
        """From the shell's words: the costs are two numbers, `5,1`.

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
class Discrimination:
    """How far probabilities of MET tell what people call MET from what they call UNMET.

    Attributes:
        n: verdicts with a probability that both decided.
        auc: the area under the ROC curve; over several criteria, only verdicts of one are compared.
        threshold: that costs least; None where no costs were given.
        sets: sets of labels; None where no coverage was given.
    """

    n: int
    auc: Estimate
    threshold: DecisionThreshold | None = None
    sets: ConformalSets | None = None


def discrimination_of(
    rows: Sequence[ResultRow],
    group_of: Mapping[str, Any],
    confidence: float,
    rules: DecisionRules = DecisionRules(),
) -> Discrimination | None:
    """Of the verdicts that judge and people decided; None where none has a probability."""
    known = [row for row in _decided(rows) if row.probability_met is not None]
    if not known:
        return None
    met = [row.probability_met for row in known]
    outcomes = [row.human_label == "MET" for row in known]
    groups = [group_of[row.item] for row in known]
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
            [None if one is None else {"MET": one, "UNMET": 1 - one} for one in met],
            [row.human_label for row in known],
            coverage=rules.coverage,
            groups=groups,
        )
    strata = [row.criterion for row in known]
    auc = roc_auc(met, outcomes, strata=strata, groups=groups, confidence=confidence)
    return Discrimination(len(known), auc, threshold, sets)


def calibration_of(
    rows: Sequence[ResultRow], group_of: Mapping[str, Any], bootstrap: Bootstrap
) -> Calibration | None:
    """How far the judge's probabilities of MET fit the labels; None where there are none."""
    known = _decided(rows)
    if all(row.probability_met is None for row in known):
        return None
    return calibration(
        [row.probability_met for row in known],
        [row.human_label == "MET" for row in known],
        groups=[group_of[row.item] for row in known],
        bootstrap=bootstrap,
    )


def _decided(rows: Sequence[ResultRow]) -> list[ResultRow]:
    return [row for row in rows if row.status == "judged" and row.human_label in ("MET", "UNMET")]


def decision_lines(found: Discrimination) -> Iterator[Paragraph]:
    """What the threshold and the sets do."""
    if found.threshold is not None:
        yield say(_threshold_text(found.threshold))
    if found.sets is not None:
        yield say(_sets_text(found.sets))


def _threshold_text(found: DecisionThreshold) -> str:
    costs = f"false MET {found.false_positive_cost:g}, false UNMET {found.false_negative_cost:g}"
    if found.threshold is None:
        return f"threshold for costs ({costs}): none: {found.undefined}"
    return (
        f"threshold for costs ({costs}): MET from {round(found.threshold, DIGITS):g} on. Cost a "
        f"verdict on data held out {estimate_text(found.cost)}, at 0.5 "
        f"{estimate_text(found.cost_at_half)}: saves {estimate_text(found.saved)}"
    )


def _sets_text(found: ConformalSets) -> str:
    if not any(found.thresholds.values()):
        return (
            f"sets of labels that hold people's in {percent(found.coverage)}: "
            f"{found.clusters} items or groups are too few to leave any label out"
        )
    met, unmet = (round(found.thresholds[label], DIGITS) for label in ("MET", "UNMET"))
    return (
        f"sets of labels that hold people's in {percent(found.coverage)}: MET from a probability "
        f"of {met:g} on, UNMET up to {round(1 - unmet, DIGITS):g}. On data held out they held it "
        f"in {estimate_text(found.held_out)}; {estimate_text(found.single)} have one label, right "
        f"in {estimate_text(found.single_right)}"
    )
