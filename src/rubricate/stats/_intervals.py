"""Means and proportions with their intervals."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import answers, brief, check_share, count_of, same_length
from rubricate.stats._numbers import numbers, outcomes, t_quantile
from rubricate.stats._resampling import (
    ROUNDING,
    Bootstrap,
    Floats,
    Groups,
    Integers,
    bootstrapped,
    cluster_indices,
    groups_at,
)
from rubricate.stats._unseen import are_few, mostly_same, with_unseen

NO_SPREAD = "no interval: all clusters have the same mean"


def wilson_interval(successes: int, n: int, *, confidence: float = 0.95) -> Estimate:
    """A proportion with the score interval of Wilson (1927), for independent items.

    Args:
        successes: how many of `n` count, 0 to `n`.
        n: how many there are.
        confidence: the interval's nominal coverage.

    Raises:
        InputError: `n` is no whole number, or `successes` is none between 0 and `n`.
    """
    check_share(confidence, "confidence")
    n = count_of(n, "n")
    if not 0 <= (successes := count_of(successes, "successes")) <= n:
        raise InputError(f"successes must be between 0 and {n}, found {successes}")
    if n == 0:
        return Estimate(None, undefined="there is nothing to count")
    z = float(special.ndtri((1 + confidence) / 2))
    return score_interval(successes / n, float(n), z)


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with its standard error.

    Attributes:
        n: how many values there are.
        clusters: how many clusters they come from.
        mean: with its t interval.
        standard_error: None with fewer than two clusters. Where it is 0, since all clusters have
            the same mean and no bounds are known, there is no interval: that says nothing about
            other items.
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
) -> MeanEstimate:
    """The mean, with a standard error that knows which values belong together.

    The variance is `sum_g(e_g ** 2 / (1 - n_g / n)) / n ** 2`, where `e_g` is the sum of
    `x_i - mean` over a cluster of size `n_g` (Liang and Zeger 1986, corrected for few clusters by
    Bell and McCaffrey 2002). The interval is that of t with their degrees of freedom, for the
    correlation within clusters that the values have (Imbens and Kolesar 2016). With clusters of one
    size these are the usual factor G / (G - 1) and G - 1. Without groups it is the textbook's
    `s / sqrt(n)`.

    Where more than half of the values are the same and `bounds` are known, `with_unseen` values
    make the interval and the standard error.

    Args:
        values: numbers; None for a missing one, which is left out.
        groups: the cluster of each value. Default: each by itself.
        confidence: the interval's nominal coverage.
        bounds: the least and the greatest that a value can be, such as 0 and 1 of a score. Default:
            nothing is known, and values that are all the same have no interval.

    Raises:
        InputError: something is no number or outside the bounds, or there are not as many groups
            as values.
    """
    check_share(confidence, "confidence")
    every = numbers(values, "values")
    clusters = cluster_indices(groups, len(every))[~np.isnan(every)]
    every = every[~np.isnan(every)]
    if bounds is not None:
        bounds = _checked_bounds(bounds, every)
    return mean_of(every, clusters, (1 + confidence) / 2, bounds)


def _checked_bounds(bounds: tuple[float, float], values: Floats) -> tuple[float, float]:
    ends = numbers(bounds, "bounds")
    if len(ends) != 2 or not ends[0] < ends[1]:
        raise InputError(f"bounds must be two numbers, the lower one first, found {brief(bounds)}")
    slack = 1e-9 * float(ends[1] - ends[0])
    for value in values[(values < ends[0] - slack) | (values > ends[1] + slack)][:1].tolist():
        raise InputError(f"values: {value:g} is not between {ends[0]:g} and {ends[1]:g}")
    return float(ends[0]), float(ends[1])


def mean_of(
    values: Floats, clusters: Integers, probability: float, bounds: tuple[float, float] | None
) -> MeanEstimate:
    """`clustered_mean` of numbers that are all there, each end of its interval at a quantile."""
    if len(values) == 0:
        return MeanEstimate(0, 0, Estimate(None, undefined="there are no values"), None)
    mean = float(values.mean())
    count = len(np.unique(clusters))
    if count < 2:
        only = Estimate(mean, undefined="no interval: it needs two clusters or more")
        return MeanEstimate(len(values), count, only, None)
    if bounds is not None and (same := mostly_same(values)) is not None:
        effect, freedom = design_effect(values, clusters)
        quantile = t_quantile(probability, freedom)
        middle, error = with_unseen(values, same, are_few(same, clusters), effect, quantile, bounds)
        low, high = middle - quantile * error, middle + quantile * error
        interval = Estimate(mean, max(bounds[0], min(low, mean)), min(bounds[1], max(high, mean)))
        return MeanEstimate(len(values), count, interval, error, freedom)
    variance, freedom = clustered_variance(values, clusters)
    error = math.sqrt(variance)
    if error <= ROUNDING * float(np.abs(values).max()):
        error = 0.0
    interval = t_interval(mean, error, freedom, probability)
    return MeanEstimate(len(values), count, interval, error, freedom)


def design_effect(values: Floats, clusters: Integers) -> tuple[float, float]:
    """How many times the variance of a mean of independent values that of these is, 1 or more, and
    its degrees of freedom. Of values without spread it is that of whole clusters (Kish 1965)."""
    variance, freedom = clustered_variance(values, clusters)
    alone = float(values.var(ddof=1)) / len(values)
    if alone <= ROUNDING**2 * float((values**2).max()):
        return len(values) / len(np.unique(clusters)), freedom
    return max(1.0, variance / alone), freedom


def t_interval(value: float, error: float, freedom: float, probability: float) -> Estimate:
    """The interval of t; none for a standard error of 0, which says nothing about other items."""
    if error == 0:
        return Estimate(value, undefined=NO_SPREAD)
    half = t_quantile(probability, freedom) * error
    return Estimate(value, value - half, value + half)


def bootstrapped_mean(
    values: Sequence[float | None],
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """The mean with a clustered bootstrap interval (Efron 1979; Field and Welsh 2007).

    Args:
        values: numbers; None for a missing one, which is left out.
        groups: the cluster of each value. Default: each by itself.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: something is no number, or there are not as many groups as values.
    """
    every = numbers(values, "values")
    indices = np.flatnonzero(~np.isnan(every))
    kept = every[indices]
    return bootstrapped(
        np.column_stack([kept, np.ones(len(kept))]),
        lambda totals: np.asarray(totals[:, 0] / totals[:, 1]),
        "there are no values",
        groups=groups_at(groups, indices, len(every)),
        bootstrap=bootstrap,
    )


def stratified_mean(
    values: Sequence[float | None],
    strata: Sequence[Hashable],
    *,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """The mean of the strata's means, with a bootstrap interval (Efron 1979).

    Values are resampled over all strata; where a resample has none of a stratum, the others' means
    make it. Of one value a stratum there is no interval that says anything of the strata.

    Args:
        values: numbers; None for a missing one, which is left out.
        strata: the stratum of each value.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: something is no number, or there are not as many strata as values.
    """
    same_length(values=values, strata=strata)
    every, of = numbers(values, "values"), answers(strata, "strata")
    known = ~np.isnan(every)
    every, of = every[known], [one for one, is_known in zip(of, known, strict=True) if is_known]
    names = list(dict.fromkeys(of))
    inside = np.array([[one == name for name in names] for one in of], dtype=float)
    inside = inside.reshape(len(every), len(names))

    def mean(totals: Floats) -> Floats:
        sums, counts = totals[:, : len(names)], totals[:, len(names) :]
        held = counts > 0
        means = np.where(held, sums / np.where(held, counts, 1.0), 0.0)
        return np.asarray(means.sum(axis=1) / held.sum(axis=1))

    totals = np.column_stack([inside * every[:, None], inside])
    return bootstrapped(totals, mean, "there are no values", bootstrap=bootstrap)


def clustered_share(
    successes: Sequence[bool | None], *, groups: Groups = None, confidence: float = 0.95
) -> Estimate:
    """A proportion with an interval that knows which outcomes belong together.

    Wilson's score interval (1927) for the effective number of outcomes, which is what the clustered
    variance (see `clustered_mean`) would need without clusters, with the quantile of t (Korn and
    Graubard 1998; Dean and Pavlou 2015). By simulation (`docs/statistics.md`) it holds the truth
    more nearly as often as it says than t, and than the bootstrap. Without groups it is
    `wilson_interval`.

    Args:
        successes: outcomes, true or false (1 or 0); None for a missing one, which is left out.
        groups: the cluster of each outcome. Default: each by itself.
        confidence: the interval's nominal coverage.

    Raises:
        InputError: an outcome is another, or there are not as many groups as outcomes.
    """
    check_share(confidence, "confidence")
    every = outcomes(successes, "successes")
    clusters = cluster_indices(groups, len(every))[~np.isnan(every)]
    every = every[~np.isnan(every)]
    if groups is None:
        return wilson_interval(int(every.sum()), len(every), confidence=confidence)
    return share_interval(
        np.bincount(clusters, weights=every).astype(np.float64) if len(every) else every,
        np.bincount(clusters).astype(np.float64) if len(every) else every,
        confidence,
    )


def share_interval(parts: Floats, wholes: Floats, confidence: float) -> Estimate:
    """`clustered_share` from each cluster's part and whole, (G,) both."""
    parts, wholes = parts[wholes > 0], wholes[wholes > 0]
    count, n = len(wholes), float(wholes.sum())
    if count == 0:
        return Estimate(None, undefined="there is nothing to count")
    share = float(parts.sum()) / n
    if count < 2:
        return Estimate(share, undefined="no interval: it needs two clusters or more")
    variance, freedom = _of_clusters(parts, parts, wholes)
    effective = float(count) if variance == 0 else min(n, share * (1 - share) / variance)
    return score_interval(share, effective, t_quantile((1 + confidence) / 2, freedom))


def score_interval(share: float, effective: float, z: float) -> Estimate:
    """Wilson's interval (1927) of a share that is as good as one of `effective` outcomes."""
    middle = (share + z * z / (2 * effective)) / (1 + z * z / effective)
    spread = share * (1 - share) / effective + z * z / (4 * effective**2)
    half = z / (1 + z * z / effective) * math.sqrt(spread)
    low = 0.0 if share == 0 else max(0.0, middle - half)
    high = 1.0 if share == 1 else min(1.0, middle + half)
    return Estimate(share, low, high)


def clustered_variance(values: Floats, clusters: Integers) -> tuple[float, float]:
    """The variance of the mean of `values` by clusters (at least two of them), and its degrees of
    freedom; see `clustered_mean`."""
    return _of_clusters(*_totals(values, clusters))


def clustered_correlation(values: Floats, clusters: Integers) -> float:
    """How values of one cluster hang together: the intraclass correlation by analysis of variance
    (Donner 1986), from 0 to 1; 0 where there is nothing to tell by."""
    sums, squares, sizes = _totals(values, clusters)
    return _correlation(sums, squares, sizes)


def _totals(values: Floats, clusters: Integers) -> tuple[Floats, Floats, Floats]:
    """Each cluster's sum, sum of squares (of what values are apart from their mean) and size."""
    _, index = np.unique(clusters, return_inverse=True)
    apart = values - values.mean()
    sizes = np.bincount(index).astype(np.float64)
    sums, squares = (np.bincount(index, weights=one) for one in (apart, apart**2))
    return sums.astype(np.float64), squares.astype(np.float64), sizes


def _of_clusters(sums: Floats, squares: Floats, sizes: Floats) -> tuple[float, float]:
    """`clustered_variance` from each cluster's sum, sum of squares and size."""
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
    if count < 2 or count == n:
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
