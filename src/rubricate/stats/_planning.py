"""Planning: expected widths of intervals and powers of tests, before data are collected."""

from __future__ import annotations

import math
from functools import cache, lru_cache

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._inputs import check_share, count_of, number_between, number_of
from rubricate.stats._intervals import effective_interval
from rubricate.stats._numbers import Floats, t_quantile, widening
from rubricate.stats._unseen import unseen

TAIL = 5.0
"""Counts of a binomial beyond this many standard deviations, plus as many counts, are ignored.
Their probability is below 1e-6; at 7, a width is the same to 6 digits, and takes a third more
time."""
LARGEST_N = 10**9
"""The largest number of items that can be planned."""
RARE = 1e-6
"""Counts with a smaller probability change no figure that is shown."""
NODES = 24
"""Gauss-Legendre nodes of the mean over a distribution's quantiles: a power is within 0.0002, with
12 within 0.0006."""
FLIPPED = 0.12
"""The share of verdicts that differ in two runs, assumed where the share of items is not known. Of
18 simulated kinds of runs with 20 to 100 items, powers are 4 points off on average, and at most 18;
at .06 and .3 it is 5. The lowest power for any share was 10 off, and 30."""


def share_width(
    n: int,
    share: float,
    *,
    confidence: float = 0.95,
    cluster_size: float = 1.0,
    correlation: float = 0.0,
) -> float:
    """Half the width that the interval of a share is expected to have.

    Without clusters that of `exact_interval`, its mean over the binomial distribution, which is
    exact. With clusters that of `clustered_share` for the effective number of outcomes,
    `n / (1 + (cluster_size - 1) * correlation)` (Kish 1965).

    Args:
        n: the number of outcomes, 1 or more.
        share: the true share, 0 to 1.
        confidence: the interval's nominal coverage.
        cluster_size: the mean number of outcomes of a cluster, 1 or more.
        correlation: the intraclass correlation of outcomes of a cluster, 0 to 1.

    Returns:
        Half the width, 0 to 1: the mean reach of the interval to either side.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(share_width(100, 0.9), 3)
        0.063
    """
    n = count_of(n, "n", 1, LARGEST_N)
    share = number_between(share, "share", 0.0, 1.0)
    check_share(confidence, "confidence")
    effect, clusters = _clusters(n, cluster_size, correlation)
    if effect == 1 and clusters == n:
        # The trapezoidal rule of a smooth function is exact with two points a standard deviation.
        step = max(1, int(math.sqrt(n * share * (1 - share)) / 2))
        hits, weights = (every[::step] for every in _binomial(n, share))
        # SciPy's inverse is NaN for a parameter of 0, where the end is 0 or 1.
        low = special.betaincinv(np.maximum(hits, 1.0), n - hits + 1, (1 - confidence) / 2)
        high = special.betaincinv(hits + 1, np.maximum(n - hits, 1.0), (1 + confidence) / 2)
        widths = np.where(hits < n, high, 1.0) - np.where(hits > 0, low, 0.0)
        return float(weights @ widths / weights.sum()) / 2
    return _share_width(share, n / effect, clusters, confidence)


def _share_width(share: float, effective: float, clusters: float, confidence: float) -> float:
    """Half the width of the interval of this share and effective number, for this many clusters."""
    effective /= widening((1 + confidence) / 2, clusters - 1)
    interval = effective_interval(share, effective, confidence)
    return ((interval.high or 0.0) - (interval.low or 0.0)) / 2


def _binomial(n: int, share: float) -> tuple[Floats, Floats]:
    """Counts and their probabilities, without the far tails."""
    middle, reach = n * share, TAIL * math.sqrt(n * share * (1 - share)) + TAIL
    counts = np.arange(max(0, math.floor(middle - reach)), min(n, math.ceil(middle + reach)) + 1.0)
    ways = special.gammaln(n + 1) - special.gammaln(counts + 1) - special.gammaln(n - counts + 1)
    chances = special.xlogy(counts, share) + special.xlog1py(n - counts, -share)
    return counts, np.exp(ways + chances)


def mean_width(
    n: int,
    spread: float,
    *,
    confidence: float = 0.95,
    cluster_size: float = 1.0,
    correlation: float = 0.0,
) -> float:
    """Half the width that the t interval of a mean (`clustered_mean`) is expected to have.

    `t * c4 * spread * sqrt(effect / n)`, with t for the clusters less one, the effect of clusters
    as in `share_width`, and c4 the mean of a standard deviation's estimate against the truth
    (Cureton 1968).

    Args:
        n: the number of numbers, in two clusters or more.
        spread: their true standard deviation, 0 or more.
        confidence: the interval's nominal coverage.
        cluster_size: the mean number of numbers of a cluster, 1 or more.
        correlation: the intraclass correlation of numbers of a cluster, 0 to 1.

    Returns:
        Half the width, in the unit of the numbers: the mean reach of the interval to either side.

    Raises:
        InputError: a number is out of range, or there would be fewer than two clusters.

    Example:
        >>> round(mean_width(100, 0.2), 4)
        0.0396
    """
    n = count_of(n, "n", 2, LARGEST_N)
    spread = number_between(spread, "spread", 0.0)
    check_share(confidence, "confidence")
    effect, clusters = _clusters(n, cluster_size, correlation)
    return _t_width(clusters, spread * math.sqrt(effect / n), confidence)


def _t_width(clusters: float, error: float, confidence: float) -> float:
    """Half the expected width of the t interval for this true standard error."""
    return t_quantile((1 + confidence) / 2, clusters - 1) * _c4(clusters - 1) * error


def _c4(freedom: float) -> float:
    """The mean of an estimated standard deviation over the true one."""
    steps = special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)
    return math.sqrt(2 / freedom) * math.exp(steps)


def _clusters(n: int, size: float, correlation: float) -> tuple[float, float]:
    """The design effect, and the number of clusters."""
    size = number_between(size, "cluster_size", 1.0)
    correlation = number_between(correlation, "correlation", 0.0, 1.0)
    if size > 1 and n / size < 2:
        raise InputError(f"n: {n} in clusters of {size:g} make fewer than two clusters")
    return 1 + (size - 1) * correlation, n / size


def corrected_mean_width(
    labelled: int,
    unlabelled: int,
    *,
    spread: float,
    judge_spread: float,
    correlation: float,
    share: float | None = None,
    seen: int | None = None,
    confidence: float = 0.95,
) -> float:
    """Half the expected width of the interval of `corrected_mean`'s prediction-powered mean.

    The variance is that of PPI++ with its best weight (Angelopoulos, Duchi and Zrnic 2023); for
    binary numbers with the errors that `corrected_mean` adds.

    Args:
        labelled: the number of items with a label, 2 or more.
        unlabelled: the number of items with the judge's number only.
        spread: the true standard deviation of people's numbers.
        judge_spread: the true standard deviation of the judge's numbers.
        correlation: the correlation of people's numbers with the judge's, -1 to 1.
        share: for binary numbers, the true share of 1 in people's.
        seen: the number of labels on which share and correlation were observed: with binary
            numbers, the judge may err as often as this many labels allow. Default: both are exact.
        confidence: the interval's nominal coverage.

    Returns:
        Half the width, in the unit of the numbers: the mean reach of the interval to either side.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> width = corrected_mean_width(
        ...     100, 1000, spread=0.5, judge_spread=0.5, correlation=0.8, share=0.5
        ... )
        >>> round(width, 3)
        0.072
    """
    labelled = count_of(labelled, "labelled", 2, LARGEST_N)
    unlabelled = count_of(unlabelled, "unlabelled", 0, LARGEST_N)
    spread = number_between(spread, "spread", 0.0)
    judge_spread = number_between(judge_spread, "judge_spread", 0.0)
    correlation = number_between(correlation, "correlation", -1.0, 1.0)
    check_share(confidence, "confidence")
    of_labels, of_judge = spread**2, judge_spread**2
    together = correlation * spread * judge_spread
    total = float(labelled)
    if share is not None:
        share = number_between(share, "share", 0.0, 1.0)
        seen = labelled if seen is None else min(labelled, count_of(seen, "seen", 2))
        added = 2 * unseen(t_quantile((1 + confidence) / 2, seen - 1))
        rare = added / (seen + added)
        # The judge's share lies on the same side of one half as people's.
        apart = math.sqrt(max(0.0, 0.25 - of_judge)) * math.copysign(1.0, share - 0.5)
        other = rare * (1 - rare)
        of_labels = (1 - rare) * of_labels + rare / 4 + other * (share - 0.5) ** 2
        of_judge = (1 - rare) * of_judge + rare / 4 + other * apart**2
        together = (1 - rare) * together - rare / 4 + other * (share - 0.5) * apart
        total += added
    variance, tuning = of_labels / total, 0.0
    if unlabelled > 1 and judge_spread > 0:
        tuning = together / ((1 + labelled / unlabelled) * judge_spread**2)
        tuning = min(1.0, max(0.0, tuning))
        powered = (of_labels - 2 * tuning * together + tuning**2 * of_judge) / total
        powered += tuning**2 * judge_spread**2 / unlabelled
        tuning = tuning if powered < variance else 0.0
        variance = min(variance, powered)
    if share is None:
        return _t_width(labelled, math.sqrt(variance), confidence)
    if tuning == 0:
        return share_width(labelled, share, confidence=confidence)
    effective = max(labelled, share * (1 - share) / variance)
    return _share_width(share, effective, labelled, confidence)


def lower_end_power(n: int, share: float, promise: float, *, confidence: float = 0.95) -> float:
    """The probability that the lower end of a share's interval will be `promise` or more.

    Exact: the interval of Clopper and Pearson (1934) reaches this from a number of successes on,
    whose probability is binomial.

    Args:
        n: the number of outcomes, 1 or more.
        share: the true share, 0 to 1.
        promise: the lower end to reach, between 0 and 1.
        confidence: the interval's nominal coverage (its lower end alone errs half as often).

    Returns:
        A probability, 0 to 1.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(lower_end_power(100, 0.9, 0.8), 2)
        0.7
    """
    n = count_of(n, "n", 1, LARGEST_N)
    share = number_between(share, "share", 0.0, 1.0)
    check_share(promise, "promise")
    check_share(confidence, "confidence")
    # As many successes as come with `promise` in less than half of what the interval may miss.
    enough = (1 + confidence) / 2
    too_few = math.ceil(special.bdtrik(enough, n, promise))
    too_few -= too_few > 0 and special.bdtr(too_few - 1, n, promise) >= enough
    return float(special.bdtrc(too_few, n, share))


def paired_power(
    n: int,
    difference: float,
    spread: float,
    *,
    significance: float = 0.05,
    cluster_size: float = 1.0,
    correlation: float = 0.0,
    differing: float | None = None,
) -> float:
    """The probability that the permutation test of `compare_paired` finds a true difference.

    Only items that differ count in that test, and their number is binomial. The power is that of
    t (noncentral, Cohen 1988) or of the sign test (differences of one size), whichever is lower.
    With fewer than six clusters that differ it is 0 at 5 %, because the least p is
    `2 ** (1 - clusters)`.

    The same spread comes from small differences of all items and from large ones of few, which
    give less power. So without `differing` the share is a guess (`likely_differing`).

    Args:
        n: the number of items with both numbers, 2 or more.
        difference: the true mean difference.
        spread: the true standard deviation of the items' differences, above 0.
        significance: the two-sided significance level, between 0 and 1.
        cluster_size: the mean number of items of a cluster, 1 or more. With clusters the power is
            3 points off on average.
        correlation: the intraclass correlation of their differences, 0 to 1.
        differing: the share of items that differ at all. Default: as guessed.

    Returns:
        A probability, 0 to 1. With `differing` it is within 3 points unless differences are very
        skewed, such as rare large losses among many small gains: then it is up to 14 points off.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(paired_power(100, 0.1, 0.3, differing=0.4), 2)
        0.88
    """
    n = count_of(n, "n", 2, LARGEST_N)
    difference = number_of(difference, "difference")
    spread = number_between(spread, "spread", 1e-12)
    check_share(significance, "significance")
    if differing is None:
        differing = likely_differing(difference, spread)
    differing = number_between(differing, "differing", 1e-12, 1.0)
    effect, clusters = _clusters(n, cluster_size, correlation)
    # A cluster differs if one of its items does, and correlated items differ together.
    differing = 1 - (1 - differing) ** (1 + (cluster_size - 1) * (1 - correlation))
    variance, size = spread**2 * effect * clusters / n, abs(difference) / differing
    variance = (variance + difference**2) / differing - size**2
    if variance <= 0:
        needed = f"{difference**2 / (spread**2 * effect * clusters / n + difference**2):.3g}"
        raise InputError(f"differing must be {needed} or more for this difference and spread")
    counts, weights = np.array([clusters]), np.ones(1)
    if differing < 1:
        counts, weights = _binomial(round(clusters), differing)
        counts, weights = counts[weights > RARE], weights[weights > RARE]
    by_t = float(weights @ _t_powers(counts, size / math.sqrt(variance), significance))
    if differing == 1:
        return by_t
    # Differences of one size, such as flips: then the permutation test is the sign test.
    shift = differing * size / math.sqrt(variance + size**2)
    by_sign = mcnemar_power(round(clusters), shift, differing, significance=significance)
    lower = min(by_t, by_sign)
    return lower if clusters == n else (lower + by_t) / 2  # sums of clusters have many sizes


def likely_differing(difference: float, spread: float) -> float:
    """The share of items that differ in runs of which 12 % of the verdicts do.

    Such runs have this spread by a number of criteria; a large spread, by one of which more differ.

    Args:
        difference: the mean difference of scores from 0 to 1.
        spread: the standard deviation of the differences, above 0.

    Returns:
        A share, 0 to 1: at least the one that these need.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(likely_differing(0.03, 0.1), 2)
        0.76
    """
    spread = number_between(spread, "spread", 1e-12)
    difference = number_of(difference, "difference")
    together = spread**2 + difference**2
    guess: float = 1 - (1 - FLIPPED) ** max(1.0, FLIPPED / together)
    return min(1.0, max(guess, together, 1.001 * difference**2 / together))


def _t_powers(clusters: Floats, apart: float, significance: float) -> Floats:
    """The power of tests of differences, by their number; `apart` is their mean in spreads."""
    powers = np.zeros(len(clusters))
    is_enough = 2 ** (1 - np.minimum(clusters, 100.0)) <= significance
    counts = clusters[is_enough]
    if not len(counts):
        return powers
    # Given the estimated spread, noncentral t is normal. The mean over the spread is stable where
    # the series of the noncentral distribution are not.
    spreads = np.array([_estimated_spreads(count - 1) for count in counts.tolist()])
    critical = special.stdtrit(counts - 1, 1 - significance / 2)[:, None] * spreads
    shift = apart * np.sqrt(counts)[:, None]
    beyond = special.ndtr(shift - critical) + special.ndtr(-shift - critical)
    powers[is_enough] = beyond @ _quadrature()[1]
    return powers


@cache
def _quadrature() -> tuple[Floats, Floats]:
    """Probabilities and weights of a mean over quantiles."""
    places, weights = np.polynomial.legendre.leggauss(NODES)
    return (places + 1) / 2, weights / 2


@lru_cache(maxsize=4096)
def _estimated_spreads(freedom: float) -> Floats:
    """Quantiles of an estimated standard deviation over the true one."""
    quantiles = special.gammaincinv(freedom / 2, _quadrature()[0])
    return np.asarray(np.sqrt(2 * quantiles / freedom))


def mcnemar_power(
    n: int, difference: float, differing: float, *, significance: float = 0.05
) -> float:
    """The probability that `mcnemar_test` finds a true difference significant; exact.

    The number of pairs that differ is binomial, and so is the number of those that are better
    (Duffy 1984). For numbers other than 0 and 1 it is the power of the sign test.

    Args:
        n: the number of pairs, 1 or more.
        difference: the true difference of the two shares, -1 to 1.
        differing: the true share of pairs that differ, at least the size of the difference.
        significance: the two-sided significance level, between 0 and 1.

    Returns:
        A probability, 0 to 1.

    Raises:
        InputError: a number is out of range.

    Example:
        >>> round(mcnemar_power(100, 0.2, 0.3), 2)
        0.96
    """
    n = count_of(n, "n", 1, LARGEST_N)
    difference = number_between(difference, "difference", -1.0, 1.0)
    differing = number_between(differing, "differing", abs(difference), 1.0)
    check_share(significance, "significance")
    if differing == 0:
        return 0.0
    counts, weights = _binomial(n, differing)
    counts = counts.astype(np.int64)
    half = np.ceil(special.bdtrik(significance / 2, counts, 0.5))
    half = np.where(2 * special.bdtr(half, counts, 0.5) <= significance, half, half - 1)
    better = min(1.0, max(0.0, (differing + difference) / (2 * differing)))
    some = half >= 0
    half, counts, weights = half[some], counts[some], weights[some]
    low = special.bdtr(half, counts, better)
    high = special.bdtrc(counts - half - 1, counts, better)
    return float((weights * (low + high)).sum())
