"""Intervals by resampling: the jackknife, clustered and vectorised.

Every statistic here is a function of **totals**: each item contributes a row of numbers (a one in
a cell of a confusion matrix, a product of two scores), and the statistic is computed from the sums
of these rows. So leaving a cluster out is a subtraction, and all statistics without each cluster
come from the same few array operations.

The jackknife's standard error (Tukey 1958) has the quantile of Student's t for the number of
clusters; correlations are on the scale of Fisher's z (1921), sizes such as a mean error on that of
their logarithm, so that no interval leaves what the statistic can be. By simulation
(`docs/coverage.md`) it holds the truth nearly as often as it says with 3 clusters and more, where
quantiles of a bootstrap do so in 60 to 85 %.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import atanh, copysign, exp, inf, isfinite, log, sqrt, tanh
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse, special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import answers, brief, check_share, count_of
from rubricate.stats._numbers import Floats, Integers, t_quantile
from rubricate.stats._unseen import FAR_ITEMS, freedom_of, unseen

Groups: TypeAlias = Sequence[Hashable] | None
"""The cluster of each item, such as the document that it comes from. None: items are independent.
"""
Statistics: TypeAlias = Callable[[Floats], Mapping[str, Floats]]
"""From totals (b, p) to named values (b,), NaN where undefined."""
Scale: TypeAlias = Literal["correlation", "size", "mean"]
"""At most 1 in size; above 0; any number."""

ROUNDING = 1e-12
"""A spread so much smaller than the numbers is what is left of rounding: there is none."""
CHUNK = 2**17
"""The most numbers in one array of resampled totals or draws: about what a cache holds."""
BLOCKS = 200
"""The most clusters, or blocks of clusters, that are left out in turn (Kott 2001)."""
NEAR = 1e-4
"""The end of a correlation's interval is 1 if it is nearer to 1 than this."""
TOO_FEW = "no interval: it needs two groups or more"
HANGS = "no interval: without one of the items it is undefined"
NO_SPREAD = "no interval: it is the same whichever item is left out"


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made for which there is no formula.

    Attributes:
        resamples: how many draws are made, where an interval is made of draws: of the posterior
            distribution of a confusion matrix, or of what a mean square may be.
        confidence: the interval's nominal coverage, between 0 and 1.
        seed: of the draws; the same seed and data give the same interval.

    Raises:
        InputError: a value is out of range.
    """

    resamples: int = 2000
    confidence: float = 0.95
    seed: int = 0

    def __post_init__(self) -> None:
        count_of(self.resamples, "resamples", 1)
        count_of(self.seed, "seed")
        check_share(self.confidence, "confidence")

    @property
    def tails(self) -> tuple[float, float]:
        """The probabilities of the interval's ends."""
        return (1 - self.confidence) / 2, (1 + self.confidence) / 2


def cluster_indices(groups: Groups, n: int, name: str = "groups") -> Integers:
    """The number of each item's cluster, (n,), from 0 in order of first appearance.

    Items whose cluster is missing are one cluster.

    Raises:
        InputError: there are not as many groups as items, or one is not hashable.
    """
    if groups is None:
        return np.arange(n)
    keys = answers(groups, name)
    if len(keys) != n:
        raise InputError(f"{name}: {len(keys)} groups for {n} items")
    number: dict[Hashable, int] = {}
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


def renumbered(clusters: Integers) -> Integers:
    """The same clusters, numbered from 0 without gaps, in order of first appearance."""
    return cluster_indices(clusters.tolist(), len(clusters))


def complete_cases(groups: Groups, *columns: Floats) -> tuple[Integers, Integers, list[Floats]]:
    """The items without a missing value in any column: their indices, clusters and columns."""
    clusters = cluster_indices(groups, len(columns[0]))
    indices = np.flatnonzero(~np.isnan(columns).any(axis=0))
    return indices, clusters[indices], [column[indices] for column in columns]


def batches(total: int, width: int, largest: int = CHUNK) -> Iterator[slice]:
    """Slices of `total` rows of this width, so that none has more than `largest` numbers."""
    rows = max(1, largest // max(1, width))
    for begin in range(0, total, rows):
        yield slice(begin, min(begin + rows, total))


def rows_in(batch: slice) -> int:
    """The number of rows of a batch."""
    return int(batch.stop - batch.start)


def cells(index: Integers, size: int) -> Any:
    """A sparse (n, size) matrix with a one in each row, at this index."""
    n = len(index)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), index)), shape=(n, size))


def check_bootstrap(bootstrap: Any) -> None:
    """`InputError` unless it is a `Bootstrap` or None."""
    if not (bootstrap is None or isinstance(bootstrap, Bootstrap)):
        raise InputError(f"bootstrap must be a Bootstrap or None, found {brief(bootstrap)}")


def point(value: float, why: str | None) -> Estimate:
    """A value without an interval, and why; without a value where it is not finite."""
    return Estimate(value, undefined=why) if isfinite(value) else Estimate(None)


def around(value: float, low: float, high: float) -> Estimate:
    """A value with its interval, which always holds it."""
    return Estimate(value, min(low, value), max(high, value))


def explained(estimate: Estimate, why: str) -> Estimate:
    """The same estimate, with the reason if it has no value."""
    return replace(estimate, undefined=why) if estimate.value is None else estimate


def jackknife_totals(
    contributions: Any,
    statistics: Statistics,
    *,
    scales: Mapping[str, Scale],
    clusters: Integers,
    bootstrap: Bootstrap | None,
    corrected: bool = False,
    far: Floats | None = None,
) -> dict[str, Estimate]:
    """Statistics of the items' totals, each with its interval.

    Args:
        contributions: what each item adds to the totals, (n, p); dense, or `cells`.
        statistics: from totals (b, p) to named values (b,), NaN where undefined.
        scales: what each statistic is, by name; others have no interval.
        clusters: the cluster of each item, (n,); clusters are left out whole.
        bootstrap: gives the confidence, and the seed of the blocks; None for no intervals.
        corrected: whether intervals are around the value less its bias, as the jackknife estimates
            it (Quenouille 1956).
        far: what each of the `far_items` would add to the totals, (m, p).
    """
    check_bootstrap(bootstrap)
    whole = np.asarray(contributions.sum(axis=0), dtype=np.float64).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = {name: float(value[0]) for name, value in statistics(whole).items()}
        if bootstrap is None or len(np.unique(clusters)) < 2:
            why = None if bootstrap is None else TOO_FEW
            return {name: point(value, why) for name, value in values.items()}
        totals = blocks(contributions, clusters, bootstrap.seed)
        parts = [statistics(whole - _dense(totals[batch])) for batch in batches(*totals.shape)]
        with_far = {} if far is None else statistics(whole + far)
    estimates = {}
    for name, value in values.items():
        if name not in scales or not isfinite(value):
            estimates[name] = point(value, None)
            continue
        without = np.concatenate([part[name] for part in parts])
        moved = with_far[name] - value if name in with_far else None
        error = jackknife_error(without, bootstrap.tails[1], moved)
        if isinstance(error, str):
            estimates[name] = Estimate(value, undefined=error)
            continue
        half = t_quantile(bootstrap.tails[1], error.freedom) * error.size
        shift = (len(without) - 1) * (value - float(without.mean())) if corrected else 0.0
        estimates[name] = around(value, *_ends(value, shift, half, scales[name]))
    return estimates


def _dense(totals: Any) -> Floats:
    """An array, of a sparse matrix too."""
    return np.asarray(totals.toarray() if sparse.issparse(totals) else totals, dtype=np.float64)


def blocks(contributions: Any, clusters: Integers, seed: int) -> Any:
    """The totals of what is left out in turn: of each cluster, or of `BLOCKS` random lots."""
    clusters = renumbered(clusters)
    count = int(clusters.max(initial=-1)) + 1
    if count > BLOCKS:
        shuffled = np.random.default_rng(seed).permutation(count)
        clusters, count = (shuffled % BLOCKS)[clusters], BLOCKS
    if count == len(clusters):
        return contributions
    return cells(clusters, count).T @ contributions


@dataclass(frozen=True, slots=True)
class JackknifeError:
    """A standard error, above 0, and its degrees of freedom."""

    size: float
    freedom: float


def jackknife_error(
    without: Floats, probability: float, far: Floats | None = None
) -> JackknifeError | str:
    """The standard error of a statistic, from its values without each block, (blocks,); or why
    there is none.

    It is that of Tukey (1958) with `unseen` more blocks as influential as the most influential one:
    a large error that was seen once, or never, may not be rare.

    Args:
        without: the statistic without each block.
        probability: that of the upper end of the interval.
        far: how much each of the `far_items` would change the statistic, (m,).
    """
    if not np.isfinite(without).all():
        return HANGS
    count = len(without)
    squares = (without - without.mean()) ** 2
    more = unseen(float(special.ndtri(probability))) * float(squares.max())
    if far is not None:
        more = max(more, FAR_ITEMS * float((far**2).max(initial=0.0)))
    error = sqrt((count - 1) / count * (float(squares.sum()) + more))
    if error <= ROUNDING * max(1.0, float(np.abs(without).max())):
        return NO_SPREAD
    return JackknifeError(error, min(count - 1.0, freedom_of(without)))


def drawn_squares(
    mean_square: Floats, freedom: float, generator: np.random.Generator, draws: int
) -> Floats:
    """What the expectation of a mean square of raters may be, (draws,).

    The mean square times its degrees of freedom, divided by its expectation, is chi-squared;
    statistics of such draws make generalized confidence intervals (Weerahandi 1993; for intraclass
    correlations Gilder et al. 2007). In simulations, resampling items, which ignores that raters
    are a sample, covers 41 to 80 %, and the interval of McGraw and Wong (1996) covers 69 % where
    two raters differ much.
    """
    return np.asarray(mean_square * freedom / generator.chisquare(freedom, draws))


def _ends(value: float, shift: float, half: float, scale: Scale) -> tuple[float, float]:
    """The ends `value + shift ± half`, by the slope of the scale at the value."""
    if scale == "correlation" and abs(value) < 1:
        slope = 1 - value * value
        middle = atanh(value) + shift / slope
        return _inside(middle - half / slope), _inside(middle + half / slope)
    if scale == "size" and value > 0:
        middle = log(value) + shift / value
        return exp(middle - half / value), exp(min(middle + half / value, 700.0))
    least, most = {"correlation": (-1.0, 1.0), "size": (0.0, inf), "mean": (-inf, inf)}[scale]
    return max(least, value + shift - half), min(most, value + shift + half)


def _inside(z: float) -> float:
    """The correlation of Fisher's z, rounded to 1 within `NEAR`."""
    correlation = tanh(z)
    return copysign(1.0, correlation) if 1 - abs(correlation) < NEAR else correlation
