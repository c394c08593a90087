"""Is a mean below a bound, not below it, or can these items not tell?

The one test behind every gate: a comparison asks it of the items' differences with the margin as
the bound, a threshold of the items' scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special, stats

from rubricate.errors import InputError
from rubricate.stats._comparison import permutation_test
from rubricate.stats._inputs import check_share, number_of
from rubricate.stats._intervals import design_effect, mean_of
from rubricate.stats._numbers import numbers, t_quantile
from rubricate.stats._resampling import Floats, Groups, Integers, cluster_indices
from rubricate.stats._unseen import are_few, mostly_same

Side = Literal["below", "not below", "cannot tell"]
SIGNIFICANCE = 0.04
"""The error rate of either side, one-sided, for a promise of 5 %. At .05 every second simulated
cell of noisy runs is above 5 % by chance; at .025 the drop that `trust plan comparison` names for a
power of .8 is found in less."""
POWER = 0.8
"""The power that `detectable`, `items_needed` and `replicates_needed` are for."""


@dataclass(frozen=True, slots=True)
class BoundTest:
    """A mean against a bound, at a one-sided error rate on either side.

    Attributes:
        side: `below` or `not below` where that is shown, else `cannot tell`.
        n: values that there are.
        clusters: groups that they come from.
        value: their mean; None without any.
        low, high: one-sided bounds of the true mean; None where there is no honest one.
        p_value: of differences that look lower: the one-sided p of the sign-flipping permutation
            test of no change at all, exact up to 16 groups that differ; else None.
        distance: how far a mean lies from the bound, for power and for the items that are needed.
        power: the probability that these items show on which side such a mean is.
        detectable: the distance that is shown with a power of 0.8.
        items_needed: about how many such items show a mean at this distance with a power of 0.8;
            None where no number does.
        replicates_needed: how many times as many answers to each verdict do, with these items; None
            where the noise is not known, or no number does.
    """

    side: Side
    n: int
    clusters: int
    value: float | None
    low: float | None
    high: float | None
    p_value: float | None
    distance: float | None
    power: float | None
    detectable: float | None
    items_needed: int | None
    replicates_needed: int | None


def bound_test(
    values: Sequence[float | None],
    bound: float,
    *,
    groups: Groups = None,
    limits: tuple[float, float] | None = (0.0, 1.0),
    differences: bool = False,
    distance: float | None = None,
    noise: Sequence[float] | None = None,
    significance: float = SIGNIFICANCE,
) -> BoundTest:
    """Whether the mean of values is shown to be below a bound, or not to be.

    The bounds are those of t by groups (`clustered_mean`, one-sided). Where fewer than five groups
    have another value than the rest, they are not narrower than what the exact interval of Clopper
    and Pearson (1934) allows for the share of such groups, had each gone all the way to a limit.
    Differences are below only where the permutation test of no change agrees: of two runs of one
    system, `below` comes in at most `significance`, whatever the spread.

    Args:
        values: one an item; None for a missing one, which is left out.
        bound: what the mean is held against: minus the margin, or a threshold.
        groups: the group of each value. Default: each by itself.
        limits: the least and the greatest that a value can be; None where that is not known.
        differences: whether the values are differences of two runs, whose sign is chance where
            nothing changed.
        distance: how far from the bound a mean would lie that the items should tell. Default: as
            far as their mean does.
        noise: the variance of each value that comes from the judge, such as by replicates. The
            standard error is never less than it alone makes.
        significance: the probability of either error, one-sided.

    Raises:
        InputError: something is no number, or the lengths differ.

    Example:
        >>> bound_test([0.0] * 190 + [-1.0] * 10, -0.02, limits=(-1, 1), differences=True).side
        'below'
    """
    check_share(significance, "significance")
    bound = number_of(bound, "bound")
    if limits is not None:
        limits = _checked_limits(limits)
    every = numbers(values, "values")
    known = ~np.isnan(every)
    clusters, found = cluster_indices(groups, len(every))[known], every[known]
    variances = None if noise is None else numbers(noise, "noise")
    if variances is not None:
        if len(variances) != len(every):
            raise InputError(f"noise has {len(variances)} numbers for {len(every)} values")
        variances = variances[known]
    count, n = len(np.unique(clusters)), len(found)
    mean = mean_of(found, clusters, 1 - significance, limits)
    value, error = mean.mean.value, mean.standard_error
    if value is None or error is None or mean.freedom is None or mean.mean.low is None:
        nothing = (None,) * 8
        return BoundTest("cannot tell", n, count, value, *nothing)
    assert mean.mean.high is not None
    low, high = mean.mean.low, mean.mean.high
    quantile = t_quantile(1 - significance, mean.freedom)
    by_judge = 0.0 if variances is None else float(variances.sum()) / n**2
    if by_judge > error**2:
        error = math.sqrt(by_judge)
        low, high = min(low, value - quantile * error), max(high, value + quantile * error)
    if limits is not None:
        least, most = _exact_bounds(found, clusters, limits, significance)
        low, high = max(limits[0], min(low, least)), min(limits[1], max(high, most))
    p_value = None
    side: Side = "not below" if low >= bound - 1e-12 else "cannot tell"
    if high < bound:
        side = "below"
        if differences:
            tested = permutation_test(found.tolist(), groups=clusters.tolist()).p_value
            p_value = None if tested is None else tested / 2
            side = "below" if p_value is not None and p_value <= significance else "cannot tell"
    apart = abs(value - bound) if distance is None else number_of(distance, "distance")
    both = quantile + float(special.ndtri(POWER))
    return BoundTest(
        side,
        n,
        count,
        value,
        low,
        high,
        p_value,
        apart,
        float(stats.t.cdf(apart / error - quantile, mean.freedom)),
        both * error,
        *_needed(found, clusters, limits, apart, apart / both, by_judge, significance),
    )


def _exact_bounds(
    values: Floats, clusters: Integers, limits: tuple[float, float], significance: float
) -> tuple[float, float]:
    """Exact bounds of a mean where few groups hold other values than the rest; else no bounds."""
    same = mostly_same(values)
    if same is None or not are_few(same, clusters):
        return math.inf, -math.inf
    common, count = float(np.median(values)), len(np.unique(clusters))

    def at_most(exceptional: np.ndarray) -> float:
        """The upper end of the share of groups that have one of these values."""
        groups = len(np.unique(clusters[exceptional]))
        return float(special.betaincinv(groups + 1, count - groups, 1 - significance))

    lower = at_most(~same & (values < common))
    higher = at_most(~same & (values > common))
    return common - (common - limits[0]) * lower, common + (limits[1] - common) * higher


def _needed(
    values: Floats,
    clusters: Integers,
    limits: tuple[float, float] | None,
    distance: float,
    error: float,
    by_judge: float,
    significance: float,
) -> tuple[int | None, int | None]:
    """How many items, or times as many answers of the judge, show a mean at a distance.

    As many as bring the standard error down to `error`; and at least as many as exclude, without
    any exception, exceptions that would move the mean that far.
    """
    if error <= 0:
        return None, None
    n = len(values)
    variance = float(values.var(ddof=1)) / n * design_effect(values, clusters)[0]
    variance = max(variance, by_judge)
    items = n * variance / error**2
    if limits is not None:
        size = (limits[1] - limits[0]) / 2 if limits[0] < 0 else limits[1] - limits[0]
        items = max(items, math.log(significance) / math.log1p(-min(0.5, distance / size)))
    left = error**2 - (variance - by_judge)
    replicates = math.ceil(by_judge / left) if by_judge > 0 and left > 0 else None
    return max(n + 1, math.ceil(items)), replicates


def _checked_limits(limits: tuple[float, float]) -> tuple[float, float]:
    ends = numbers(limits, "limits").tolist()
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"limits must be two numbers, the lower one first, found {limits}")
    return ends[0], ends[1]


STAKES = (0.05, 0.1, 0.25, 0.5, 0.9)
"""The shares of the wealth that are staked on each group, of the most that cannot be lost. Small
ones win on many small drops, large ones on few large ones; half as many double what is needed."""


def bound_e_value(
    values: Sequence[float],
    bound: float,
    *,
    groups: Groups = None,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> float:
    """How much is won by betting that a mean is below a bound; 1 or less on average if it is not.

    The bet of Waudby-Smith and Ramdas (2024) on each group of values, the mean over five stakes.
    Such numbers of many looks can be added up, whatever the looks have in common, which p-values
    cannot.

    Args:
        values: one an item, within the limits.
        bound: what their mean is held against.
        groups: the group of each value. Default: each by itself.
        limits: the least and the greatest that a value can be.

    Returns:
        What a stake of 1 has become, 0 or more; 1 without values.

    Raises:
        InputError: a value is missing, no number or outside the limits, or the bound is.
    """
    numbers_ = numbers(values, "values")
    low, high = _checked_limits(limits)
    bound = number_of(bound, "bound")
    if not low <= bound < high or not np.all((numbers_ >= low) & (numbers_ <= high)):
        raise InputError(f"values and the bound must be from {low:g} to {high:g}")
    clusters = cluster_indices(groups, len(numbers_))
    if not len(numbers_):
        return 1.0
    _, clusters = np.unique(clusters, return_inverse=True)
    sums = np.bincount(clusters, weights=numbers_ - bound) / np.bincount(clusters).max()
    logs = [float(np.log1p(-stake * sums / (high - bound)).sum()) for stake in STAKES]
    return float(np.exp(special.logsumexp(logs)) / len(STAKES))
