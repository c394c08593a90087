"""The bootstrap, clustered and vectorised.

Every statistic here is a function of **totals**: each item contributes a row of numbers (a one in
a cell of a confusion matrix, a product of two scores), and the statistic is computed from the sums
of these rows. The totals of a resample are then one product of matrices: how often each cluster
was drawn, times the cluster's own totals. So all statistics of all resamples come from the same
few array operations, and leaving a cluster out (`_jackknife`) is a subtraction.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import answers, brief, check_share, count_of

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
Groups: TypeAlias = Sequence[Hashable] | None
"""The cluster of each item, such as the document that it comes from; None: each is its own."""

Statistics: TypeAlias = Callable[[Floats], Mapping[str, Floats]]
"""From totals (b, p) to named values (b, ...), NaN where undefined."""

ROUNDING = 1e-12
"""A spread so much smaller than the numbers is what is left of rounding: there is none."""
CHUNK = 2**17
"""The most numbers in one array of resampled totals or draws: about what a cache holds."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """How intervals are made for which there is no formula.

    Attributes:
        resamples: how many draws are made, where an interval is made of draws: of the resamples
            of a bootstrap (Efron 1979; clusters drawn whole: Field and Welsh 2007), or of the
            posterior distribution of a confusion matrix.
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


def cluster_indices(groups: Groups, n: int, name: str = "groups") -> Integers:
    """The number of each item's cluster, from 0 in order of first appearance.

    Items whose cluster is missing are one cluster.

    Raises:
        InputError: there are not as many groups as items, or one can be no key.
    """
    if groups is None:
        return np.arange(n)
    given = answers(groups, name)
    if len(given) != n:
        raise InputError(f"{name}: {len(given)} given for {n} items")
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(group, len(numbers)) for group in given], dtype=np.int64)


def groups_at(groups: Groups, indices: Integers, n: int) -> Groups:
    """The groups of those of n items that are at some indices; errors as `cluster_indices`."""
    return None if groups is None else cluster_indices(groups, n)[indices].tolist()


def cells(index: Integers, size: int) -> Any:
    """The contributions of items that each count one in a cell: a sparse (n, size) matrix."""
    n = len(index)
    return sparse.csr_matrix((np.ones(n), (np.arange(n), index)), shape=(n, size))


@dataclass(frozen=True, slots=True)
class Spread:
    """A statistic (of any shape) with its interval, NaN where undefined.

    `no_interval` says why none, or a part, has an interval, where one was asked for.
    """

    value: Floats
    low: Floats
    high: Floats
    no_interval: str | None = None

    def estimate(self, undefined: str, *at: int) -> Estimate:
        """The statistic at an index; `undefined` says why it is, if it is undefined."""
        value, low, high = (float(part[at]) for part in (self.value, self.low, self.high))
        if not np.isfinite(value):
            return Estimate(None, undefined=undefined)
        if np.isfinite(low) and np.isfinite(high):
            return Estimate(value, low, high)
        return Estimate(value, undefined=self.no_interval)


def alone(value: Floats, why: str | None) -> Spread:
    """A statistic without an interval, and why."""
    nothing = np.full(np.shape(value), np.nan)
    return Spread(np.asarray(value), nothing, nothing, why)


def check_bootstrap(bootstrap: Any) -> None:
    """`InputError` unless it is a `Bootstrap` or None."""
    if not (bootstrap is None or isinstance(bootstrap, Bootstrap)):
        raise InputError(f"bootstrap must be a Bootstrap or None, found {brief(bootstrap)}")


def dense(totals: Any) -> Floats:
    """An array, of a sparse matrix too."""
    return np.asarray(totals.toarray() if sparse.issparse(totals) else totals, dtype=np.float64)


def bootstrap_totals(
    contributions: Any,
    statistics: Statistics,
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),
) -> dict[str, Spread]:
    """Statistics of the items' totals, each with its interval.

    Args:
        contributions: what each item adds to the totals, (n, p); dense, or `cells`.
        statistics: from totals (b, p) to named values (b, ...), NaN where undefined.
        groups: the cluster of each item, drawn whole. Default: each item by itself.
        bootstrap: how to draw; None for no intervals.

    Returns: a `Spread` a statistic; an interval is there where at least half of the resamples have
    the statistic, and where they are not all the same.
    """
    check_bootstrap(bootstrap)
    clusters = cluster_indices(groups, contributions.shape[0])
    count = int(clusters.max()) + 1 if len(clusters) else 0
    totals = contributions
    if groups is not None:
        totals = cells(clusters, count).T @ contributions
    whole = np.asarray(totals.sum(axis=0), dtype=np.float64).reshape(1, -1)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistics(whole)
        if bootstrap is None or count < 2:
            why = None if bootstrap is None else "no interval: it needs two clusters or more"
            return {name: alone(value[0], why) for name, value in values.items()}
        drawn = _collect(statistics, _resampled(totals, count, bootstrap))
    return {
        name: _spread(value[0], drawn[name], bootstrap.confidence) for name, value in values.items()
    }


def _collect(statistics: Statistics, chunks: Iterator[Floats]) -> dict[str, Floats]:
    parts = [statistics(chunk) for chunk in chunks]
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


def _resampled(totals: Any, count: int, bootstrap: Bootstrap) -> Iterator[Floats]:
    """The totals of each resample, so many at a time as memory allows."""
    generator = np.random.default_rng(bootstrap.seed)
    rows = max(1, CHUNK // max(count, totals.shape[1]))
    for begin in range(0, bootstrap.resamples, rows):
        size = min(rows, bootstrap.resamples - begin)
        draws = generator.integers(0, count, (size, count))
        draws += np.arange(size)[:, None] * count
        times = np.bincount(draws.ravel(), minlength=size * count).reshape(size, count)
        yield _product(times.astype(np.float64), totals)


def _product(times: Floats, totals: Any) -> Floats:
    if sparse.issparse(totals):
        return np.ascontiguousarray((totals.T @ times.T).T)
    return np.asarray(times @ totals)


def _spread(value: Floats, drawn: Floats, confidence: float) -> Spread:
    tails = np.array([(1 - confidence) / 2, (1 + confidence) / 2])
    shape = np.shape(value)
    drawn = drawn.reshape(len(drawn), -1)
    low, high = (np.full(drawn.shape[1], np.nan) for _ in range(2))
    why = None
    for column, point in enumerate(np.ravel(value)):
        found = drawn[:, column]
        found = found[np.isfinite(found)]
        if not np.isfinite(point):
            continue
        if 2 * len(found) < len(drawn):
            why = "no interval: the statistic is undefined in most resamples"
        elif found.max() - found.min() <= ROUNDING * np.abs(found).max():
            why = "no interval: all resamples gave the same value"  # no word on other items
        else:
            low[column], high[column] = np.quantile(found, tails)
    return Spread(np.asarray(value), low.reshape(shape), high.reshape(shape), why)
