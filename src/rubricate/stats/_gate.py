"""Is a mean below a bound, not below it, or can these items not tell?

Every gate uses this test: a comparison for the items' differences with the margin as the bound, a
threshold for the items' scores.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._comparison import permutation_test
from rubricate.stats._inputs import check_share, number_of
from rubricate.stats._intervals import design_effect, mean_of
from rubricate.stats._numbers import Floats, Integers, bounds_of, numbers, t_quantile
from rubricate.stats._resampling import Groups, cluster_indices, complete_cases
from rubricate.stats._unseen import are_few, mostly_same

Side = Literal["below", "not below", "cannot tell"]
SIGNIFICANCE = 0.04
"""The one-sided error rate of either side, for a promise of 5 %. At .05 every second simulated cell
of noisy runs is above 5 % by chance; at .025 the power for the drop that `trust plan comparison`
names is below .8."""
CONTINUITY = 0.3
"""Added to the log of the likelihood ratio that rules out a mean, because few values make it jump.
In simulations of means at the bound, the error of either side is 5 % or less with it, up to 6 %
without; at double, a fifth fewer real drops of 50 items are shown."""
NEAR = 1e-7
"""How exact the bounds are, as a share of the way from the mean to the limit."""
POWER = 0.8
"""The power that `detectable`, `items_needed` and `replicates_needed` are for."""


@dataclass(frozen=True, slots=True)
class BoundTest:
    """A mean against a bound, at a one-sided error rate on either side.

    Attributes:
        side: `below` or `not below` if the items show it, else `cannot tell`.
        n: the number of values.
        clusters: the number of groups that they come from.
        value: their mean; None without values.
        low, high: one-sided bounds of the true mean; None if it has no interval.
        p_value: for differences below the bound, the one-sided p of the sign-flipping permutation
            test of no change, exact for up to 16 groups that differ; else None.
        distance: the distance of a mean from the bound that power and items needed are for.
        power: the probability that these items show on which side a mean at this distance is.
        detectable: how far below the bound a mean is that they show with a power of 0.8, with the
            spread that such a drop adds to differences; None if that is below the limits.
        items_needed: about how many items show a mean at this distance with a power of 0.8; None if
            no number does.
        replicates_needed: the factor by which more answers to each verdict do so with these items;
            None if the noise is unknown, or no number does.
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
    """Test whether a mean is below a bound, not below it, or neither is shown.

    The bounds are of the likelihood ratio, by groups: the means of all distributions within the
    limits that these values do not rule out (empirical likelihood, Owen 1988, with the limits among
    the possible values: Honda and Takemura 2010). So large values that were not seen count. If
    fewer than five groups have another value than the rest, the ratio must reach 1 / significance,
    which is exact where none has. Without limits the bounds are those of t. Differences are below
    only if the permutation test of no change agrees, so two runs of one system give `below` with
    probability `significance` at most, whatever the spread.

    Args:
        values: numbers, (n,); None for a missing one, which is left out.
        bound: the bound of the mean: minus the margin, or a threshold.
        groups: the group of each value, (n,). Default: values are independent.
        limits: the least and the greatest that a value can be; None if unknown.
        differences: whether the values are differences of two runs, whose signs are random if
            nothing changed.
        distance: the distance from the bound that the items should show. Default: that of their
            mean.
        noise: the variance of each value that comes from the judge, for example by replicates,
            (n,). The standard error is never smaller than this noise alone makes it.
        significance: the one-sided probability of either error, below 0.5.

    Raises:
        InputError: a value is no number, the lengths differ, or `significance` is out of range.

    Example:
        >>> bound_test([0.0] * 160 + [-1.0] * 40, -0.02, limits=(-1, 1), differences=True).side
        'below'
    """
    check_share(significance, "significance")
    if significance >= 0.5:
        raise InputError(f"significance must be below 0.5, found {significance}")
    bound = number_of(bound, "bound")
    if limits is not None:
        limits = bounds_of(limits, "limits")
    indices, clusters, (known,) = complete_cases(groups, numbers(values, "values"))
    variances = np.zeros(len(values)) if noise is None else numbers(noise, "noise")
    if len(variances) != len(values):
        raise InputError(f"noise has {len(variances)} numbers for {len(values)} values")
    count, n = len(np.unique(clusters)), len(known)
    mean = mean_of(known, clusters, 1 - significance, limits)
    value, error = mean.mean.value, mean.standard_error
    if value is None or error is None or mean.freedom is None or mean.mean.low is None:
        nothing = (None,) * 8
        return BoundTest("cannot tell", n, count, value, *nothing)
    assert mean.mean.high is not None
    low, high = mean.mean.low, mean.mean.high
    quantile = t_quantile(1 - significance, mean.freedom)
    effect = design_effect(known, clusters)[0]
    if limits is not None:
        low, high = _bounds(known, clusters, limits, significance, quantile, error)
    by_judge = float(variances[indices].sum()) / n**2
    if by_judge > error**2:
        error = math.sqrt(by_judge)
        low, high = min(low, value - quantile * error), max(high, value + quantile * error)
    p_value = None
    side: Side = "not below" if low >= bound - 1e-12 else "cannot tell"
    if high < bound:
        side = "below"
        if differences:
            tested = permutation_test(known.tolist(), groups=clusters.tolist()).p_value
            p_value = None if tested is None else tested / 2
            side = "below" if p_value is not None and p_value <= significance else "cannot tell"
    apart = abs(value - bound) if distance is None else number_of(distance, "distance")
    if limits is not None:
        quantile = math.hypot(quantile, math.sqrt(2 * CONTINUITY))
    both = quantile + float(special.ndtri(POWER))
    reach: float | None = both * error
    if differences:
        reach = _detectable(error, both, abs(bound), _step(known, limits), effect / n)
    if limits is not None and reach is not None and bound - reach < limits[0]:
        reach = None
    return BoundTest(
        side,
        n,
        count,
        value,
        low,
        high,
        p_value,
        apart,
        float(special.stdtr(mean.freedom, apart / error - quantile)),
        reach,
        *_needed(known, effect, limits, apart, apart / both, by_judge, significance),
    )


def _bounds(
    values: Floats,
    clusters: Integers,
    limits: tuple[float, float],
    significance: float,
    quantile: float,
    error: float,
) -> tuple[float, float]:
    """The least and the greatest mean that these values do not rule out, within limits.

    Args:
        error: about the standard error of the mean, from which the search starts.
    """
    same = mostly_same(values)
    if same is not None and are_few(same, clusters):
        needed = -math.log(significance)
    else:
        needed = quantile**2 / 2 + CONTINUITY
    groups = np.bincount(clusters, weights=values) + 1j * np.bincount(clusters)
    groups, counts = np.unique(groups, return_counts=True)
    sums, sizes = groups.real, groups.imag
    value, start = float(values.mean()), quantile * error
    return (
        -_upper_bound(-sums, sizes, counts, -value, -limits[0], needed, start),
        _upper_bound(sums, sizes, counts, value, limits[1], needed, start),
    )


def _upper_bound(
    sums: Floats,
    sizes: Floats,
    counts: Integers,
    value: float,
    limit: float,
    needed: float,
    start: float,
) -> float:
    """The greatest mean that groups do not rule out, of any distribution up to a limit.

    Args:
        sums, sizes, counts: of groups: their sums, their sizes, and how often there is each.
        value: the mean.
        limit: the greatest that a value can be.
        needed: the log of the likelihood ratio that rules out a mean.
        start: about how far above the value the bound is.
    """
    if not value < limit:
        return limit
    most, share = sizes.max(), 0.0
    mean = value + min(start, (limit - value) / 2)
    for _ in range(60):  # Newton's method for the root of the ratio, which is nearly linear
        room = most * (limit - mean)
        stakes = np.minimum((sums - mean * sizes) / room, 1.0)
        ratio, share = _log_ratio(stakes, counts, share)
        rises = (sizes * limit - sums) / (1 - share * stakes)
        slope = share * float(counts @ rises) / (room * (limit - mean))
        step = 2 * (math.sqrt(ratio * needed) - ratio) / slope if slope > 0 else limit
        step = min(max(step, (value - mean) / 2), (limit - mean) / 2)
        mean += step
        if abs(step) < NEAR * (limit - value):
            break
    return limit if limit - mean < 2 * NEAR * (limit - value) else mean


def _log_ratio(stakes: Floats, counts: Integers, share: float) -> tuple[float, float]:
    """Maximise the log of the wealth over the share that is bet on each of these stakes.

    Args:
        stakes: the stakes, at most 1.
        counts: how often each occurs.
        share: the share at which to start.

    Returns:
        The maximum and the share.
    """
    if not stakes.any():
        return 0.0, share
    low, high = 0.0, 1.0
    for _ in range(60):  # Newton's method, and bisection if a step leaves the bracket
        ratios = stakes / (1 - share * stakes)
        weighted = counts * ratios
        slope = -float(weighted.sum())
        low, high = (share, high) if slope > 0 else (low, share)
        step = share + slope / float(weighted @ ratios)
        step = step if low < step < high else (low + high) / 2
        if abs(step - share) < 1e-6:
            break
        share = step
    return max(0.0, float((counts * np.log1p(-share * stakes)).sum())), share


def _detectable(error: float, both: float, bound: float, size: float, effect: float) -> float:
    """The smallest detectable distance beyond a bound, allowing for the spread that the drop adds.

    That is d with `d = both * sqrt(error ** 2 + effect * (size * drop - drop ** 2))`, where the
    drop is d and the bound together, and comes in steps of a size.
    """
    a, b, c = 1 / both**2 + effect, effect * (size - 2 * bound), error**2
    c += effect * bound * (size - bound)
    return (b + math.sqrt(max(0.0, b**2 + 4 * a * c))) / (2 * a)


def _step(values: Floats, limits: tuple[float, float] | None) -> float:
    """How large differences are, or could be where there is none."""
    total = float(np.abs(values).sum())
    if total > 0:
        return float((values**2).sum()) / total
    return 0.0 if limits is None else limits[1]


def _needed(
    values: Floats,
    effect: float,
    limits: tuple[float, float] | None,
    distance: float,
    error: float,
    by_judge: float,
    significance: float,
) -> tuple[int | None, int | None]:
    """The number of items, or the factor of more answers, that show a mean at a distance.

    It brings the standard error down to `error`, and is at least the number of items that, all
    without an exception, rule out as many exceptions as move the mean by that distance.
    """
    if error <= 0:
        return None, None
    n = len(values)
    variance = float(values.var(ddof=1)) / n * effect
    variance = max(variance, by_judge)
    items = n * variance / error**2
    if limits is not None:
        size = (limits[1] - limits[0]) / 2 if limits[0] < 0 else limits[1] - limits[0]
        items = max(items, math.log(significance) / math.log1p(-min(0.5, distance / size)))
    for_judge = error**2 - (variance - by_judge)
    replicates = math.ceil(by_judge / for_judge) if by_judge > 0 and for_judge > 0 else None
    return max(n + 1, math.ceil(items)), replicates


STAKES = (0.05, 0.1, 0.25, 0.5, 0.9)
"""The shares of the wealth that are bet on each group, of the largest bet that cannot lose all.
Small bets win on many small drops, large ones on few large drops; with half as many bets twice as
many items are needed."""


def bound_e_value(
    values: Sequence[float],
    bound: float,
    *,
    groups: Groups = None,
    limits: tuple[float, float] = (-1.0, 1.0),
) -> float:
    """The wealth from betting that a mean is below a bound; at most 1 on average if it is not.

    The bet of Waudby-Smith and Ramdas (2024) on each group of values, the mean over five stakes.
    You can average such e-values over many looks at dependent data, which p-values do not allow.

    Args:
        values: numbers within the limits, (n,).
        bound: the bound of their mean.
        groups: the group of each value, (n,). Default: values are independent.
        limits: the least and the greatest that a value can be.

    Returns:
        The wealth from a stake of 1, 0 or more; 1 without values.

    Raises:
        InputError: a value is missing, no number or outside the limits, or the bound is.

    Example:
        >>> round(bound_e_value([-0.5] * 10, 0.0), 1)
        11.3
    """
    array = numbers(values, "values")
    low, high = bounds_of(limits, "limits")
    bound = number_of(bound, "bound")
    if not low <= bound < high or not np.all((array >= low) & (array <= high)):
        raise InputError(f"values and the bound must be from {low:g} to {high:g}")
    clusters = cluster_indices(groups, len(array))
    if not len(array):
        return 1.0
    sums = np.bincount(clusters, weights=array - bound) / np.bincount(clusters).max()
    logs = [float(np.log1p(-stake * sums / (high - bound)).sum()) for stake in STAKES]
    return float(np.exp(special.logsumexp(logs)) / len(STAKES))
