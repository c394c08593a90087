"""How far a judge's probabilities tell what is met from what is not, and where to cut them."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, number_of, same_length
from rubricate.stats._intervals import clustered_mean, clustered_share, score_interval
from rubricate.stats._numbers import numbers, outcomes, t_quantile
from rubricate.stats._resampling import Floats, Groups, Integers, cluster_indices
from rubricate.stats._unseen import LEAST_OTHERS, freedom_of

NO_CONTRAST = "there is no pair of a true and a false outcome"
RARE = "no interval: it needs five clusters with a true outcome and five with a false one"
FEW = "no interval: it needs two clusters with a true outcome and two with a false one"
FOLDS = 10
"""Parts of the data, each of which is held out once."""


def roc_auc(
    scores: Sequence[float | None],
    outcomes: Sequence[bool | None],
    *,
    strata: Sequence[Hashable] | None = None,
    groups: Groups = None,
    confidence: float = 0.95,
) -> Estimate:
    """The area under the ROC curve: how often what turned out true has the higher score.

    Ties count one half (Mann and Whitney 1947). The variance is that of DeLong, DeLong and
    Clarke-Pearson (1988), with groups that of Obuchowski (1997); the interval is on the logit scale
    with the quantile of t, whose degrees of freedom are Satterthwaite's (1946) of the two sides.
    With fewer than 5 clusters of either outcome there is none. Of a perfect order, where that
    variance is 0, it is Wilson's (1927) for the smaller of the two sides. Over several criteria
    (`strata`) only pairs of one criterion are compared: one area of all would count it as merit
    that some are met more often.

    Args:
        scores: probabilities, or any numbers; None where there is none.
        outcomes: what turned out, as true or false; None where it is not known.
        strata: the criterion of each. Default: all are of one.
        groups: the cluster of each. Default: each by itself.
        confidence: the interval's nominal coverage.

    Returns: the area in [0, 1]; 0.5 is chance.

    Raises:
        InputError: different lengths, something is no number, or no outcome.
    """
    check_share(confidence, "confidence")
    x, y, clusters, of = _with_outcome(scores, outcomes, groups, strata)
    above = np.zeros(len(x))
    weight = np.zeros(len(x))
    for stratum in np.unique(of):
        at = np.flatnonzero(of == stratum)
        true, false = at[y[at] == 1], at[y[at] == 0]
        above[true] = _below(x[true], np.sort(x[false]))
        above[false] = len(true) - _below(x[false], np.sort(x[true]))
        weight[true], weight[false] = len(false), len(true)
    contrasts = float(weight[y == 1].sum())
    if contrasts == 0:
        return Estimate(None, undefined=NO_CONTRAST)
    area = float(above[y == 1].sum()) / contrasts
    sides, many = [], []
    for side in (1.0, 0.0):
        part = np.where(y == side, above - area * weight, 0.0) / contrasts
        sides.append(np.bincount(clusters, part))
        many.append(len(np.unique(clusters[(y == side) & (weight > 0)])))
    if min(many) < 2:
        return Estimate(area, undefined=FEW)
    count = len(np.unique(clusters))
    if area in (0.0, 1.0):
        t = t_quantile((1 + confidence) / 2, count - 1)
        return score_interval(area, float(min(many)), t)
    if min(many) < LEAST_OTHERS:
        return Estimate(area, undefined=RARE)
    # A cluster that holds a large part of a side pulls the area to itself: CR2's factor.
    scaled = []
    for of_side, wanted in zip(sides, (1.0, 0.0), strict=True):
        held = np.bincount(clusters, weight * (y == wanted), of_side.size) / contrasts
        scaled.append(of_side / np.sqrt(np.maximum(1 - held, 1 / count)))
    parts = [float((side**2).sum()) for side in scaled]
    variance = sum(parts) + 2 * float((scaled[0] * scaled[1]).sum())
    freedom = count - 1.0
    if sum(parts) > 0:
        freedoms = [number - 1.0 for number in many]
        if count < len(x):
            freedoms = [min(*pair) for pair in zip(freedoms, map(freedom_of, scaled), strict=True)]
        apart = sum(part**2 / max(one, 1.0) for part, one in zip(parts, freedoms, strict=True))
        freedom = min(freedom, sum(parts) ** 2 / apart)
    t = t_quantile((1 + confidence) / 2, freedom)
    middle = math.log(area / (1 - area))
    half = t * math.sqrt(max(0.0, variance)) / (area * (1 - area))
    low, high = (1 / (1 + math.exp(min(700.0, -end))) for end in (middle - half, middle + half))
    return Estimate(area, low, high)


def _below(values: Floats, others: Floats) -> Floats:
    """How many of the others, sorted, lie below each value; equal ones count one half."""
    least = np.searchsorted(others, values, side="left")
    return np.asarray((least + np.searchsorted(others, values, side="right")) / 2)


def _with_outcome(
    scores: Sequence[float | None],
    turned_out: Sequence[bool | None],
    groups: Groups,
    strata: Sequence[Hashable] | None,
) -> tuple[Floats, Floats, Integers, Integers]:
    """Scores, outcomes, clusters and strata of what has a score and an outcome."""
    same_length(scores=scores, outcomes=turned_out)
    x, y = numbers(scores, "scores"), outcomes(turned_out, "outcomes")
    clusters = cluster_indices(groups, len(x))
    of = np.zeros(len(x), dtype=np.int64) if strata is None else _strata(strata, len(x))
    at = ~np.isnan(x) & ~np.isnan(y)
    return x[at], y[at], clusters[at], of[at]


def _strata(strata: Sequence[Hashable], n: int) -> Integers:
    return cluster_indices(strata, n, "strata")


@dataclass(frozen=True, slots=True)
class DecisionThreshold:
    """Where to cut probabilities, for the cost of each error.

    Attributes:
        threshold: probabilities from here on count as true. None without both outcomes.
        false_positive_cost, false_negative_cost: what one error of each kind costs.
        n: probabilities with an outcome.
        false_positive_rate, false_negative_rate: at the threshold, of the data that it was chosen
            on.
        cost: the mean cost of a decision at the threshold, in the parts of the data that were held
            out: the threshold is chosen anew without each part. What to expect of new data.
        cost_at_half: the mean cost at one half.
        saved: how much less a decision costs than at one half, held out.
        undefined: why there is no threshold.
    """

    threshold: float | None
    false_positive_cost: float
    false_negative_cost: float
    n: int
    false_positive_rate: Estimate
    false_negative_rate: Estimate
    cost: Estimate
    cost_at_half: Estimate
    saved: Estimate
    undefined: str | None = None


def decision_threshold(
    probabilities: Sequence[float | None],
    outcomes: Sequence[bool | None],
    *,
    false_positive_cost: float = 1.0,
    false_negative_cost: float = 1.0,
    groups: Groups = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> DecisionThreshold:
    """The threshold with the least mean cost of errors, and what it costs on data held out.

    Where probabilities are calibrated it is the false positive's share of both costs (Elkan 2001);
    this one is found from the data, whatever the probabilities. A threshold costs less on the data
    that it was chosen on than on others: its cost is that of cross-validation by groups (Stone
    1974), in ten parts, with a clustered t interval. Of equal costs the threshold nearest Elkan's
    is taken.

    Args:
        probabilities: of the outcome being true, in [0, 1]; None where there is none.
        outcomes: what turned out, as true or false; None where it is not known.
        false_positive_cost: of calling true what is false, above 0.
        false_negative_cost: of calling false what is true, above 0.
        groups: the cluster of each; one is never in two parts. Default: each by itself.
        confidence: the intervals' nominal coverage.
        seed: of the parts.

    Raises:
        InputError: different lengths, a probability outside [0, 1], a cost that is not above 0.
    """
    check_share(confidence, "confidence")
    costs = (
        _cost(false_positive_cost, "false_positive_cost"),
        _cost(false_negative_cost, "false_negative_cost"),
    )
    seed = count_of(seed, "seed")
    same_length(probabilities=probabilities, outcomes=outcomes)
    for index, value in enumerate(numbers(probabilities, "probabilities").tolist()):
        if not (math.isnan(value) or 0 <= value <= 1):
            raise InputError(f"probabilities: {value:g} at position {index} is not between 0 and 1")
    p, y, clusters, _ = _with_outcome(probabilities, outcomes, groups, None)
    kept = clusters.tolist() if groups is not None else None
    if len(np.unique(y)) < 2:
        none = Estimate(None, undefined=NO_CONTRAST)
        return DecisionThreshold(None, *costs, len(p), none, none, none, none, none, NO_CONTRAST)
    threshold = _cut(p, y, costs)
    paid = np.zeros(len(p))
    parts = folds_of(clusters, seed)
    for part in np.unique(parts):
        out = parts == part
        rest = _cut(p[~out], y[~out], costs) if (~out).any() else _fair(costs)
        paid[out] = _paid(p[out], y[out], rest, costs)
    at_half = _paid(p, y, 0.5, costs)

    def mean(values: Floats) -> Estimate:
        return clustered_mean(values.tolist(), groups=kept, confidence=confidence).mean

    def rate(side: float) -> Estimate:
        at = np.flatnonzero(y == side)
        of = None if kept is None else clusters[at].tolist()
        wrong = (p[at] >= threshold) != (side == 1)
        return clustered_share(wrong.tolist(), groups=of, confidence=confidence)

    most = max(costs)
    return DecisionThreshold(
        threshold,
        *costs,
        n=len(p),
        false_positive_rate=rate(0.0),
        false_negative_rate=rate(1.0),
        cost=mean(paid).within(0.0, most),
        cost_at_half=mean(at_half).within(0.0, most),
        saved=mean(at_half - paid).within(-most, most),
    )


def folds_of(clusters: Integers, seed: int) -> Integers:
    """The part of each item, from 0: whole clusters, at random, in ten parts or fewer."""
    names, position = np.unique(clusters, return_inverse=True)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    return np.asarray(shuffled[position] % FOLDS, dtype=np.int64)


def _cost(value: float, name: str) -> float:
    found = number_of(value, name)
    if not 1e-9 <= found <= 1e9:
        raise InputError(f"{name} must be between 1e-9 and 1e9, found {value}")
    return found


def _fair(costs: tuple[float, float]) -> float:
    return costs[0] / (costs[0] + costs[1])


def _cut(p: Floats, y: Floats, costs: tuple[float, float]) -> float:
    """The cheapest threshold: in the middle between two probabilities, or beyond all of them."""
    order = np.argsort(p, kind="stable")
    values, first = np.unique(p[order], return_index=True)
    below = np.concatenate([[0.0], np.cumsum(y[order])])  # true ones among the lowest
    starts = np.append(first, len(p))
    missed = below[starts]
    alarms = (len(y) - y.sum()) - (starts - missed)
    total = costs[0] * alarms + costs[1] * missed
    cuts = np.concatenate([[values[0]], (values[1:] + values[:-1]) / 2, [np.nextafter(1.0, 2.0)]])
    least = np.flatnonzero(total <= total.min() * (1 + 1e-12))
    return float(min(1.0, cuts[least[np.argmin(np.abs(cuts[least] - _fair(costs)))]]))


def _paid(p: Floats, y: Floats, threshold: float, costs: tuple[float, float]) -> Floats:
    says = p >= threshold
    return np.asarray(costs[0] * (says & (y == 0)) + costs[1] * (~says & (y == 1)))
