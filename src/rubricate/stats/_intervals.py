"""Means and proportions with their intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, number_between, same_length
from rubricate.stats._numbers import (
    Flags,
    Floats,
    Integers,
    bounds_of,
    effective,
    numbers,
    outcomes,
    t_quantile,
    weights_of,
    widening,
)
from rubricate.stats._resampling import (
    ROUNDING,
    TOO_FEW,
    Groups,
    cluster_indices,
    complete_cases,
)
from rubricate.stats._unseen import (
    FEW_DIFFER,
    are_few,
    freedom_of,
    mostly_same,
    unseen,
    with_unseen,
)

NO_SPREAD = "no interval: all groups have the same mean"
NO_VALUES = "there are no values"
LEAST_OF_STRATUM = 5
"""With fewer values of a stratum its mean has no spread to speak of: with 2 the interval of shares
of 5 criteria covers 87 %, with 5 92 % or more."""
SMALL_STRATUM = f"no interval: one of the groups has fewer than {LEAST_OF_STRATUM} values"
UNIT = (0.0, 1.0)
NO_COUNT = "there is nothing to count"


def exact_interval(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """A proportion of independent outcomes with the exact interval of Clopper and Pearson (1934).

    Its coverage is the nominal one or more for every true proportion and every `n`, which that of
    shorter intervals is not: Wilson's (1927) covers 84 % at worst with 10 to 35 outcomes.

    Args:
        successes: the number of successes, 0 to `n`.
        n: the number of outcomes.
        confidence: the interval's nominal coverage.

    Returns:
        The proportion, 0 to 1; undefined for `n` = 0.

    Raises:
        InputError: `n` is not a whole number, or `successes` is not one between 0 and `n`.

    Example:
        >>> print(exact_interval(9, 10))
        0.900 [0.555, 0.997]
    """
    check_share(confidence, "confidence")
    n = count_of(n, "n")
    if not 0 <= (successes := count_of(successes, "successes")) <= n:
        raise InputError(f"successes must be between 0 and {n}, found {successes}")
    if n == 0:
        return Estimate(None, undefined=NO_COUNT)
    return effective_interval(successes / n, float(n), confidence)


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its standard error.

    Attributes:
        n: the number of values.
        clusters: the number of clusters that they come from.
        mean: the mean, with its t interval.
        standard_error: None with fewer than two clusters. If it is 0, because all clusters have the
            same mean and no bounds are known, there is no interval: a spread of 0 in these items
            says nothing about other items.
        freedom: degrees of freedom of the t interval; None with fewer than two clusters.
    """

    n: int
    clusters: int
    mean: Estimate
    standard_error: float | None
    freedom: float | None = None


def clustered_mean(
    values: Sequence[float | None],
    *,
    groups: Groups = None,
    confidence: float = 0.95,
    bounds: tuple[float, float] | None = None,
    reach: float = 0.0,
) -> MeanEstimate:
    """The mean with a cluster-robust standard error.

    The variance is `sum_g(e_g ** 2 / (1 - n_g / n)) / n ** 2`, where `e_g` is the sum of
    `x_i - mean` over a cluster of size `n_g` (Liang and Zeger 1986, corrected for few clusters by
    Bell and McCaffrey 2002). The interval is that of t with their degrees of freedom, for the
    correlation within clusters that the values have (Imbens and Kolesar 2016). If all clusters have
    the same size, these are the usual factor G / (G - 1) and G - 1. Without groups it is the
    textbook's `s / sqrt(n)`.

    If more than half of the values are the same and `bounds` are known, the interval and the
    standard error allow for values that were not seen (`docs/statistics.md`, No observed error).

    Args:
        values: numbers, (n,); None for a missing one, which is left out.
        groups: the cluster of each value. Default: values are independent.
        confidence: the interval's nominal coverage.
        bounds: the least and the greatest that a value can be, such as 0 and 1 of a score. Default:
            unknown; values that are all the same then have no interval.
        reach: the most that one answer can change a value, such as the largest share of a
            criterion in the weights. Where hardly any value is that far from the others, the
            interval allows for values that are. Default: unknown.

    Returns:
        The mean in the unit of the values, with its standard error.

    Raises:
        InputError: a value is no number or outside the bounds, or there are not as many groups as
            values.

    Example:
        >>> print(clustered_mean([0.5, 0.7, 0.9, 0.7]).mean)
        0.700 [0.440, 0.960]
    """
    check_share(confidence, "confidence")
    _, clusters, (kept,) = complete_cases(groups, numbers(values, "values"))
    if bounds is not None:
        bounds = bounds_of(bounds, "bounds")
        slack = 1e-9 * (bounds[1] - bounds[0])
        outside = kept[(kept < bounds[0] - slack) | (kept > bounds[1] + slack)]
        for value in outside[:1].tolist():
            raise InputError(f"values: {value:g} is not between {bounds[0]:g} and {bounds[1]:g}")
    reach = number_between(reach, "reach", 0.0)
    return mean_of(kept, clusters, (1 + confidence) / 2, bounds, reach=reach)


def mean_of(
    values: Floats,
    clusters: Integers,
    probability: float,
    bounds: tuple[float, float] | None = None,
    *,
    rare: bool = False,
    reach: float = 0.0,
) -> MeanEstimate:
    """`clustered_mean` without missing values, each end of its interval at a quantile.

    Args:
        rare: whether values may be rare and far from the others, at the bounds, however different
            the others are, such as the error of a judge that was sure.
        reach: the most that one answer can change a value; 0 if unknown.
    """
    if len(values) == 0:
        return MeanEstimate(0, 0, Estimate(None, undefined=NO_VALUES), None)
    mean = float(values.mean())
    count = len(np.unique(clusters))
    if count < 2:
        return MeanEstimate(len(values), count, Estimate(mean, undefined=TOO_FEW), None)
    same = None if bounds is None else mostly_same(values)
    if bounds is not None and (rare or same is not None):
        if rare or same is None or are_few(same, clusters):
            same = None
        return _with_unseen(values, clusters, probability, same, bounds, bounds, reach)
    variance, freedom = clustered_variance(values, clusters)
    error = math.sqrt(variance)
    if error <= ROUNDING * float(np.abs(values).max()):
        error = 0.0
    if bounds is not None and reach > 0:
        middle = float(np.median(values))
        if are_few(np.abs(values - middle) < reach / 2, clusters):
            ends = max(bounds[0], middle - reach), min(bounds[1], middle + reach)
            wider = _with_unseen(values, clusters, probability, None, ends, bounds)
            if wider.standard_error is not None and wider.standard_error > error:
                return wider
    interval = t_interval(mean, error, freedom, probability)
    return MeanEstimate(len(values), count, interval, error, freedom)


def _with_unseen(
    values: Floats,
    clusters: Integers,
    probability: float,
    same: Flags | None,
    ends: tuple[float, float],
    bounds: tuple[float, float],
    reach: float = 0.0,
) -> MeanEstimate:
    """The mean whose interval allows for values that were not seen; `ends` are the farthest."""
    effect, freedom = design_effect(values, clusters)
    quantile = t_quantile(probability, freedom)
    middle, error = with_unseen(values, same, effect, quantile, ends, reach)
    low, high, mean = middle - quantile * error, middle + quantile * error, float(values.mean())
    interval = Estimate(mean, max(bounds[0], min(low, mean)), min(bounds[1], max(high, mean)))
    return MeanEstimate(len(values), len(np.unique(clusters)), interval, error, freedom)


def weighted_mean(
    values: Floats, worth: Floats, clusters: Integers, probability: float
) -> Estimate:
    """The weighted mean (Hajek 1971) with its t interval, from a linearised variance."""
    if len(values) == 0:
        return Estimate(None, undefined=NO_VALUES)
    mean = float(np.average(values, weights=worth))
    if len(np.unique(clusters)) < 2:
        return Estimate(mean, undefined=TOO_FEW)
    same = mostly_same(values)
    if same is not None and are_few(same, clusters):
        return Estimate(mean, undefined=FEW_DIFFER)
    variance, freedom = weighted_variance(values, worth, clusters)
    return t_interval(mean, math.sqrt(variance), freedom, probability)


def weighted_variance(values: Floats, worth: Floats, clusters: Integers) -> tuple[float, float]:
    """The variance of the weighted mean by clusters (at least two), and its degrees of freedom."""
    _, index = np.unique(clusters, return_inverse=True)
    apart = worth * (values - np.average(values, weights=worth))
    sums = np.bincount(index, apart)
    count, total = len(sums), float(worth.sum())
    return count / (count - 1) * float((sums**2).sum()) / total**2, count - 1.0


def design_effect(
    values: Floats, clusters: Integers, worth: Floats | None = None
) -> tuple[float, float]:
    """The variance of the mean of these values over that of independent ones, 1 or more, and its
    degrees of freedom. For values without spread it is that of whole clusters (Kish 1965)."""
    if worth is not None:
        variance, freedom = weighted_variance(values, worth, clusters)
        apart = (values - np.average(values, weights=worth)) ** 2
        alone = float(np.average(apart, weights=worth)) / float(worth.sum())
    else:
        variance, freedom = clustered_variance(values, clusters)
        alone = float(values.var(ddof=1)) / len(values)
    if alone <= ROUNDING**2 * float((values**2).max()):
        return len(values) / len(np.unique(clusters)), freedom
    return max(1.0, variance / alone), freedom


def t_interval(value: float, error: float, freedom: float, probability: float) -> Estimate:
    """The t interval; none for a standard error of 0, which says nothing about other items."""
    if error == 0:
        return Estimate(value, undefined=NO_SPREAD)
    half = t_quantile(probability, freedom) * error
    return Estimate(value, value - half, value + half)


def mean_of_scores(
    scores: Sequence[float | None],
    *,
    groups: Groups = None,
    confidence: float = 0.95,
    reach: float = 0.0,
) -> Estimate:
    """The mean of scores, with the interval of `clustered_mean` (Bell and McCaffrey 2002).

    Its bounds are 0 and 1 if no score is outside these, else the lowest and the highest score.

    Args:
        scores: numbers, (n,); None for a missing one, which is left out.
        groups: the cluster of each score. Default: scores are independent.
        confidence: the interval's nominal coverage.
        reach: the most that one answer can change a score; see `clustered_mean`. Default: unknown.

    Returns:
        The mean in the unit of the scores.

    Raises:
        InputError: a score is no number, or there are not as many groups as scores.

    Example:
        >>> print(mean_of_scores([1.0, 0.5, 0.75, 1.0, 0.0]))
        0.650 [0.131, 1.000]
    """
    bounds = _bounds(numbers(scores, "scores"))
    mean = clustered_mean(
        scores, groups=groups, confidence=confidence, bounds=bounds, reach=reach
    ).mean
    return mean.within(*bounds) if bounds == UNIT else mean


def _bounds(values: Floats) -> tuple[float, float] | None:
    """What scores can be, as far as these tell; None if they tell nothing."""
    known = values[~np.isnan(values)]
    if len(known) and known.min() >= 0 and known.max() <= 1:
        return UNIT
    return (float(known.min()), float(known.max())) if len(known) and np.ptp(known) > 0 else None


def stratified_mean(
    values: Sequence[float | None],
    strata: Sequence[Hashable],
    *,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of the strata's means, with the t interval of stratified sampling.

    The variance is `sum_h(s_h ** 2 / n_h) / S ** 2` over the S strata (Cochran 1977, chapter 5),
    with the degrees of freedom of Satterthwaite (1946). The strata are these, not a sample of
    others. If more than half of the values are the same, 1.9 more values that change the mean as
    much as any could are added to the variance. If a stratum has fewer than 5 values, there is no
    interval.

    Args:
        values: numbers, (n,); None for a missing one, which is left out.
        strata: the stratum of each value, (n,).
        confidence: the interval's nominal coverage.

    Returns:
        The mean in the unit of the values.

    Raises:
        InputError: a value is no number, or there are not as many strata as values.
    """
    check_share(confidence, "confidence")
    same_length(values=values, strata=strata)
    array = numbers(values, "values")
    known = ~np.isnan(array)
    array, index = array[known], cluster_indices(strata, len(array), "strata")[known]
    if len(array) == 0:
        return Estimate(None, undefined=NO_VALUES)
    _, index, sizes = np.unique(index, return_inverse=True, return_counts=True)
    means = np.bincount(index, array) / sizes
    value = float(means.mean())
    if sizes.min() < LEAST_OF_STRATUM:
        return Estimate(value, undefined=SMALL_STRATUM)
    bounds, most = _bounds(array), float(len(array) - len(sizes))
    weights = 1 / (len(sizes) * np.sqrt(sizes * (sizes - 1)))
    parts = (array - means[index]) * weights[index]
    parts[np.abs(parts) <= ROUNDING * float(np.abs(array).max())] = 0.0
    freedom = min(most, freedom_of(parts)) if parts.any() else most
    variance = float((parts**2).sum())
    if bounds is not None and mostly_same(array) is not None:
        farthest = np.maximum(means - bounds[0], bounds[1] - means)
        more = unseen(t_quantile((1 + confidence) / 2, freedom))
        variance += more * float(((farthest * weights) ** 2).max())
    mean = t_interval(value, math.sqrt(variance), max(1.0, freedom), (1 + confidence) / 2)
    return mean.within(*bounds) if bounds == UNIT else mean


def clustered_share(
    successes: Sequence[bool | None],
    *,
    groups: Groups = None,
    weights: Sequence[float] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """A proportion with a cluster-robust interval.

    The exact interval of Clopper and Pearson (1934) for the effective number of outcomes, which is
    the number of independent outcomes with the same variance (see `clustered_mean`), fewer by the
    quantile of t for few clusters (Korn and Graubard 1998). Without groups it is `exact_interval`.

    Args:
        successes: outcomes, true or false (1 or 0), (n,); None for a missing one, which is left
            out.
        groups: the cluster of each outcome. Default: outcomes are independent.
        weights: what each outcome counts, (n,): one over the chance with which it was chosen.
            Default: all the same.
        confidence: the interval's nominal coverage.

    Returns:
        The proportion, 0 to 1.

    Raises:
        InputError: an outcome is not true or false, or there are not as many groups as outcomes.

    Example:
        >>> print(clustered_share([1, 1, 1, 0, 1, 1], groups=["a", "a", "b", "b", "c", "c"]))
        0.833 [0.012, 1.000]
    """
    check_share(confidence, "confidence")
    known, clusters, (kept,) = complete_cases(groups, outcomes(successes, "successes"))
    worth = None if weights is None else effective(weights_of(weights, len(successes))[known])
    return share_of(kept, clusters, confidence, independent=groups is None, worth=worth)


def share_of(
    hits: Floats | Flags,
    clusters: Integers,
    confidence: float,
    *,
    independent: bool = False,
    worth: Floats | None = None,
) -> Estimate:
    """`clustered_share` without missing outcomes; `independent` if each is its own cluster. `worth`
    is what each counts, `effective`."""
    if independent and worth is None:
        return exact_interval(int(hits.sum()), len(hits), confidence=confidence)
    if len(hits) == 0:
        return Estimate(None, undefined=NO_COUNT)
    worth = np.ones(len(hits)) if worth is None else worth
    parts, wholes = np.bincount(clusters, worth * hits), np.bincount(clusters, worth)
    return share_interval(parts.astype(np.float64), wholes.astype(np.float64), confidence)


def share_interval(parts: Floats, wholes: Floats, confidence: float) -> Estimate:
    """`clustered_share` from each cluster's part and whole, (G,) both."""
    parts, wholes = parts[wholes > 0], wholes[wholes > 0]
    if len(wholes) == 0:
        return Estimate(None, undefined=NO_COUNT)
    share = float(parts.sum()) / float(wholes.sum())
    if len(wholes) < 2:
        return Estimate(share, undefined=TOO_FEW)
    number, freedom = effective_number(parts, wholes)
    number /= widening((1 + confidence) / 2, freedom)
    return effective_interval(share, number, confidence)


def effective_number(parts: Floats, wholes: Floats) -> tuple[float, float]:
    """How many independent outcomes have the variance of this share of clusters (at least two), and
    its degrees of freedom."""
    n = float(wholes.sum())
    share = float(parts.sum()) / n
    variance, freedom = variance_of_clusters(parts, parts, wholes)
    if variance == 0:
        return min(n, len(wholes)), freedom
    return min(n, share * (1 - share) / variance), freedom


def effective_interval(share: float, effective: float, confidence: float) -> Estimate:
    """The interval of Clopper and Pearson (1934) of a share of `effective` independent outcomes,
    which need not be a whole number."""
    hits, misses = share * effective, (1 - share) * effective
    low = high = share
    if hits > 0:
        low = float(special.betaincinv(hits, misses + 1, (1 - confidence) / 2))
    if misses > 0:
        high = float(special.betaincinv(hits + 1, misses, (1 + confidence) / 2))
    return Estimate(share, min(low, share), max(high, share))


def clustered_variance(values: Floats, clusters: Integers) -> tuple[float, float]:
    """The variance of the mean of `values` by clusters (at least two of them), and its degrees of
    freedom; see `clustered_mean`."""
    return variance_of_clusters(*_totals(values, clusters))


def clustered_correlation(values: Floats, clusters: Integers) -> float:
    """The intraclass correlation of values of one cluster, by analysis of variance (Donner 1986),
    from 0 to 1; 0 if there are no clusters of several values."""
    sums, squares, sizes = _totals(values, clusters)
    return _correlation(sums, squares, sizes)


def _totals(values: Floats, clusters: Integers) -> tuple[Floats, Floats, Floats]:
    """Each cluster's sum and sum of squares (of the distances from the mean) and size."""
    _, index = np.unique(clusters, return_inverse=True)
    apart = values - values.mean()
    sizes = np.bincount(index).astype(np.float64)
    sums, squares = (np.bincount(index, weights=part) for part in (apart, apart**2))
    return sums.astype(np.float64), squares.astype(np.float64), sizes


def variance_of_clusters(sums: Floats, squares: Floats, sizes: Floats) -> tuple[float, float]:
    """`clustered_variance` from each cluster's sum, sum of squares and size, (G,) each."""
    count, n = len(sizes), float(sizes.sum())
    residuals = sums - float(sums.sum()) / n * sizes
    if (sizes == sizes[0]).all():
        return count / (count - 1) * float((residuals**2).sum()) / n**2, count - 1.0
    share = sizes / n
    factor = 1 / (1 - share)
    variance = float((residuals**2 * factor).sum()) / n**2
    correlation = _correlation(sums, squares, sizes)
    return variance, _freedom(share, factor, (1 - correlation) * sizes + correlation * sizes**2)


def _correlation(sums: Floats, squares: Floats, sizes: Floats) -> float:
    """`clustered_correlation` from each cluster's sum, sum of squares and size."""
    count, n = len(sizes), float(sizes.sum())
    if count < 2 or count >= n:
        return 0.0
    residuals = sums - float(sums.sum()) / n * sizes
    between = float((residuals**2 / sizes).sum()) / (count - 1)
    within = float((squares - sums**2 / sizes).sum()) / (n - count)
    size = (n - float((sizes**2).sum()) / n) / (count - 1)
    total = between + (size - 1) * within
    return min(1.0, max(0.0, (between - within) / total)) if total > 0 else 0.0


def _freedom(share: Floats, factor: Floats, variances: Floats) -> float:
    """Satterthwaite's degrees of freedom of `sum(residuals ** 2 * factor)`.

    A residual is `sums[g] - share[g] * sum(sums)`, and the sums have these variances. With C for
    the residuals' covariance, scaled by the factors' roots, it is `trace(C) ** 2 / sum(C ** 2)`;
    the sums over all pairs of clusters are products of sums over one.
    """
    whole = float(variances.sum())
    alone = share**2 * whole - 2 * share * variances
    trace = float((factor * (variances + alone)).sum())
    a = float((factor * share**2).sum())
    b = float((factor * variances**2).sum())
    c = float((factor * share * variances).sum())
    pairs = 2 * a * b + whole**2 * a**2 + 2 * c**2 - 4 * whole * a * c
    pairs += float((factor**2 * variances * (variances + 2 * alone)).sum())
    return min(len(share) - 1.0, max(1.0, trace**2 / pairs))
