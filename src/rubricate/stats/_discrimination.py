"""How well a judge's probabilities separate met from unmet criteria, and which threshold to use."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, number_of, same_length
from rubricate.stats._intervals import mean_of, share_of
from rubricate.stats._numbers import (
    Floats,
    Integers,
    numbers,
    outcomes,
    probabilities_of,
    t_quantile,
)
from rubricate.stats._resampling import Groups, cluster_indices, complete_cases
from rubricate.stats._unseen import LEAST_OTHERS, freedom_of

NO_CONTRAST = "there is no pair of a true and a false outcome"
RARE = "no interval: it needs five items or groups with a true outcome and five with a false one"

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
    """The area under the ROC curve: how often a true outcome has a higher score than a false one.

    Ties count one half (Mann and Whitney 1947). The interval is the wider of two. One has the
    variance of DeLong, DeLong and Clarke-Pearson (1988), with groups that of Obuchowski (1997), on
    the logit scale with the quantile of t, whose degrees of freedom are Satterthwaite's (1946) of
    the two sides. The other has all areas whose own variance does not exclude the one that was
    seen (Newcombe 2006, method 5, with the formula of Hanley and McNeil 1982): an area near 1, or
    of few outcomes of one kind, varies more than its sample shows. With fewer than 5 clusters of
    either outcome there is no interval. Over several criteria (`strata`) only pairs of one
    criterion are compared: one area of all would count it as merit that some criteria are met more
    often.

    Args:
        scores: probabilities, or any numbers, (n,); None for a missing one.
        outcomes: true or false, (n,); None if unknown.
        strata: the criterion of each score. Default: all are of one criterion.
        groups: the cluster of each score. Default: scores are independent.
        confidence: the interval's nominal coverage.

    Returns:
        The area in [0, 1]; 0.5 is chance.

    Raises:
        InputError: different lengths, a score is no number, or an outcome is not true or false.

    Example:
        >>> roc_auc([0.9, 0.8, 0.4, 0.3], [True, False, True, False]).value
        0.75
    """
    check_share(confidence, "confidence")
    x, y, clusters, indices = with_outcome(numbers(scores, "scores"), outcomes, groups, "scores")
    of = np.zeros(len(x), dtype=np.int64)
    if strata is not None:
        of = cluster_indices(strata, len(scores), "strata")[indices]
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
    if min(many) < LEAST_OTHERS:
        return Estimate(area, undefined=RARE)
    count = len(np.unique(clusters))
    # A cluster that holds a large part of a side pulls the area to itself: CR2's factor.
    scaled = []
    for of_side, wanted in zip(sides, (1.0, 0.0), strict=True):
        part_of = np.bincount(clusters, weight * (y == wanted), of_side.size) / contrasts
        scaled.append(of_side / np.sqrt(np.maximum(1 - part_of, 1 / count)))
    parts = [float((side**2).sum()) for side in scaled]
    variance = sum(parts) + 2 * float((scaled[0] * scaled[1]).sum())
    freedom = count - 1.0
    if sum(parts) > 0:
        freedoms = [number - 1.0 for number in many]
        if count < len(x):
            freedoms = [min(*pair) for pair in zip(freedoms, map(freedom_of, scaled), strict=True)]
        of_sides = zip(parts, freedoms, strict=True)
        apart = sum(part**2 / max(number, 1.0) for part, number in of_sides)
        freedom = min(freedom, sum(parts) ** 2 / apart)
    alone = float(((np.where(y == 1, 1, -1) * (above - area * weight) / contrasts) ** 2).sum())
    effect = len(x) / count
    if count < len(x) and alone > 0:
        effect = max(1.0, variance / alone)
    # The mean over strata of the factor of Hanley and McNeil, for sides of about one size.
    others = float((weight * (weight - 1)).sum()) / (2 * contrasts)
    scale = t_quantile((1 + confidence) / 2, count - 1) ** 2 * effect / contrasts
    low, high = _areas_not_excluded(area, others, scale)
    if variance > 0:
        middle = math.log(area / (1 - area))
        half = t_quantile((1 + confidence) / 2, freedom) * math.sqrt(variance)
        half /= area * (1 - area)
        low = min(low, 1 / (1 + math.exp(min(700.0, half - middle))))
        high = max(high, 1 / (1 + math.exp(min(700.0, -half - middle))))
    return Estimate(area, low, high)


def _areas_not_excluded(area: float, others: float, scale: float) -> tuple[float, float]:
    """The least and the greatest area that are not further from this one than `scale` times their
    own variance allows (Newcombe 2006, method 5)."""

    def excess(true: float) -> float:
        several = 1 + others * ((1 - true) / (2 - true) + true / (1 + true))
        return (area - true) ** 2 - scale * true * (1 - true) * several

    # An area of 0 or 1, which has no variance, is never excluded: the other end is what counts.
    low = optimize.brentq(excess, 0.0, min(area, 1 - 1e-9)) if area > 0 else 0.0
    high = optimize.brentq(excess, max(area, 1e-9), 1.0) if area < 1 else 1.0
    return float(low), float(high)


def _below(values: Floats, others: Floats) -> Floats:
    """The number of the others, sorted, below each value; equal ones count one half."""
    least = np.searchsorted(others, values, side="left")
    return np.asarray((least + np.searchsorted(others, values, side="right")) / 2)


def with_outcome(
    scores: Floats, happened: Sequence[bool | None], groups: Groups, name: str
) -> tuple[Floats, Floats, Integers, Integers]:
    """Scores that have an outcome, with their outcomes, clusters and indices."""
    same_length(**{name: scores, "outcomes": happened})
    indices, clusters, (x, y) = complete_cases(groups, scores, outcomes(happened, "outcomes"))
    return x, y, clusters, indices


@dataclass(frozen=True, slots=True)
class DecisionThreshold:
    """The threshold for probabilities that makes errors cheapest.

    Attributes:
        threshold: probabilities of at least this count as true. None without both outcomes.
        false_positive_cost, false_negative_cost: what one error of each kind costs.
        n: the number of probabilities with an outcome.
        false_positive_rate, false_negative_rate: at the threshold, on the data that it was chosen
            on.
        cost: the mean cost of a decision, in parts of the data that were held out when the
            threshold was chosen. Expect this cost on new data. The interval is by part.
        cost_at_half: the mean cost at one half.
        saved: how much less a decision costs than at one half, on held-out data.
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
    """The threshold with the least mean cost of errors, and its cost on held-out data.

    For calibrated probabilities it is the false positive's share of both costs (Elkan 2001); this
    one is chosen on the data, so it works for any probabilities. A threshold costs less on the data
    that it was chosen on than on other data: its cost is that of cross-validation by groups (Stone
    1974), in ten parts, with a clustered t interval. Of equally cheap thresholds the one nearest
    Elkan's is chosen.

    Args:
        probabilities: of the outcome being true, in [0, 1], (n,); None for a missing one.
        outcomes: true or false, (n,); None if unknown.
        false_positive_cost: the cost of calling a false outcome true, above 0.
        false_negative_cost: the cost of calling a true outcome false, above 0.
        groups: the cluster of each item; a cluster is never in two parts. Default: items are
            independent.
        confidence: the intervals' nominal coverage.
        seed: random seed of the parts.

    Returns:
        The threshold, 0 to 1, with rates from 0 to 1 and costs in the unit of the two costs.

    Raises:
        InputError: different lengths, a probability outside [0, 1], a cost that is not above 0.

    Example:
        >>> choice = decision_threshold([0.9, 0.8, 0.3, 0.1], [True, True, False, False])
        >>> choice.threshold, choice.false_positive_rate.value
        (0.55, 0.0)
    """
    check_share(confidence, "confidence")
    costs = (
        _cost(false_positive_cost, "false_positive_cost"),
        _cost(false_negative_cost, "false_negative_cost"),
    )
    seed = count_of(seed, "seed")
    chances = probabilities_of(probabilities, "probabilities")
    p, y, clusters, _ = with_outcome(chances, outcomes, groups, "probabilities")
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

    most = max(costs)

    def mean(values: Floats, least: float, of: Integers) -> Estimate:
        return mean_of(values, of, (1 + confidence) / 2, (least, most)).mean.within(least, most)

    def rate(side: float) -> Estimate:
        at = y == side
        wrong = (p[at] >= threshold) != (side == 1)
        members = clusters[at]
        return share_of(wrong, members, confidence, independent=groups is None)

    return DecisionThreshold(
        threshold,
        *costs,
        n=len(p),
        false_positive_rate=rate(0.0),
        false_negative_rate=rate(1.0),
        # Items of one part share a threshold. As independent ones they cover 88 to 92 % of 200.
        cost=mean(paid, 0.0, parts),
        cost_at_half=mean(at_half, 0.0, clusters),
        saved=mean(at_half - paid, -most, parts),
    )


def folds_of(clusters: Integers, seed: int) -> Integers:
    """The part of each item, from 0: whole clusters, at random, in ten parts or fewer."""
    names, position = np.unique(clusters, return_inverse=True)
    shuffled = np.random.default_rng(seed).permutation(len(names))
    return np.asarray(shuffled[position] % FOLDS, dtype=np.int64)


def _cost(value: float, name: str) -> float:
    cost = number_of(value, name)
    if not 1e-9 <= cost <= 1e9:
        raise InputError(f"{name} must be between 1e-9 and 1e9, found {value}")
    return cost


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
