"""Is B better than A? Two systems' scores of the same items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._intervals import bootstrapped_mean, clustered_mean, t_quantile
from rubricate.stats._numbers import numbers, same_length
from rubricate.stats._resampling import Bootstrap, Groups, cluster_indices, groups_at

__all__ = [
    "PairedComparison",
    "PairedTest",
    "compare_paired",
    "holm",
    "mcnemar_test",
    "permutation_test",
    "smallest_detectable_difference",
    "wilcoxon_test",
]


EXACT = 16
"""Up to so many clusters that differ, a permutation test goes through all sign patterns."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A two-sided test of no difference.

    Attributes:
        p_value: None where the test cannot be made.
        exact: whether p comes from all possible outcomes, not from a sample or an approximation.
        differing: pairs (or clusters) that differ: what the test rests on.
        undefined: why `p_value` is None.
    """

    p_value: float | None
    exact: bool
    differing: int
    undefined: str | None = None


@dataclass(frozen=True, slots=True)
class PairedComparison:
    """B against A on the same items.

    Attributes:
        n: items that both have a number for.
        clusters: how many clusters they come from.
        left_out: items that one of the two has no number for.
        mean_a, mean_b: over the n items; None for n = 0.
        difference: B minus A, with a clustered t interval.
        bootstrapped: B minus A, with a clustered bootstrap interval.
        standard_error: of the difference; None with fewer than two clusters.
        permutation: the test of no difference, by clusters.
        wilcoxon: the signed-rank test; it takes the items as independent.
        mcnemar: the exact test where all numbers are 0 or 1, else None; items as independent.
        smallest_detectable: the true difference that such data would show with a power of 0.8.
        margin: how much worse still counts as no worse, if given.
        not_worse: whether it is shown that B is no more than `margin` worse: the lower end of the
            one-sided interval lies above `-margin` (non-inferiority; Piaggio et al. 2012).
            None without a margin or a standard error.
    """

    n: int
    clusters: int
    left_out: int
    mean_a: float | None
    mean_b: float | None
    difference: Estimate
    bootstrapped: Estimate
    standard_error: float | None
    permutation: PairedTest
    wilcoxon: PairedTest
    mcnemar: PairedTest | None
    smallest_detectable: float | None
    margin: float | None
    not_worse: bool | None


def compare_paired(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    groups: Groups = None,
    margin: float | None = None,
    confidence: float = 0.95,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> PairedComparison:
    """Compare two systems on the same items.

    Paired differences with clustered standard errors (Liang and Zeger 1986), a sign-flipping
    permutation test (Fisher 1935), the signed-rank test (Wilcoxon 1945), for binary numbers the
    exact test of McNemar (1947), the smallest detectable difference (Bloom 1995) and, with a
    margin, non-inferiority (Piaggio et al. 2012).

    Args:
        a, b: numbers for the same items in the same order; None where there is none. An item counts
            where both have one.
        groups: the cluster of each item. Default: each by itself.
        margin: how much worse B may be and still count as no worse, 0 or more.
        confidence: of the t interval and of non-inferiority (one-sided).
        bootstrap: how the bootstrap interval is made; None for none.

    Raises:
        InputError: different lengths, something is no number, a negative margin.
    """
    same_length(a=a, b=b)
    if margin is not None and not margin >= 0:
        raise InputError(f"margin must be 0 or more, found {margin}")
    first, second = numbers(a, "a"), numbers(b, "b")
    indices = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    first, second = first[indices], second[indices]
    difference = second - first
    kept = groups_at(groups, indices)
    values = [float(value) for value in difference]
    mean = clustered_mean(values, groups=kept, confidence=confidence)
    error = mean.standard_error
    not_worse = None
    if margin is not None and error is not None and mean.mean.value is not None:
        lower = mean.mean.value - t_quantile(confidence, mean.clusters - 1) * error
        not_worse = lower > -margin
    binary = len(first) > 0 and np.isin(np.concatenate([first, second]), (0.0, 1.0)).all()
    return PairedComparison(
        n=len(values),
        clusters=mean.clusters,
        left_out=len(a) - len(values),
        mean_a=float(first.mean()) if values else None,
        mean_b=float(second.mean()) if values else None,
        difference=mean.mean if mean.n else Estimate(None, undefined="no item has both numbers"),
        bootstrapped=(
            bootstrapped_mean(values, groups=kept, bootstrap=bootstrap)
            if values
            else Estimate(None, undefined="no item has both numbers")
        ),
        standard_error=error,
        permutation=permutation_test(values, groups=kept),
        wilcoxon=wilcoxon_test(values),
        mcnemar=mcnemar_test(first.tolist(), second.tolist()) if binary else None,
        smallest_detectable=None if error is None else smallest_detectable_difference(error),
        margin=margin,
        not_worse=not_worse,
    )


def mcnemar_test(first: Sequence[bool], second: Sequence[bool]) -> PairedTest:
    """The exact test of McNemar (1947): are flips one way as frequent as the other way?

    p is that of the binomial distribution with one half over the pairs that differ; 1 where none
    does.

    Args:
        first, second: two systems' binary outcomes on the same items.

    Raises:
        InputError: different lengths, or values other than true and false (1 and 0).
    """
    same_length(first=first, second=second)
    difference = numbers(second, "second") - numbers(first, "first")
    if not np.isin([*first, *second], (0, 1)).all():
        raise InputError("McNemar's test is for outcomes that are true or false (1 or 0)")
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    if better + worse == 0:
        return PairedTest(1.0, True, 0)
    p_value = min(1.0, 2 * float(special.bdtr(min(better, worse), better + worse, 0.5)))
    return PairedTest(p_value, True, better + worse)


def wilcoxon_test(differences: Sequence[float]) -> PairedTest:
    """The signed-rank test (Wilcoxon 1945), differences of zero left out.

    Exact for up to 50 differences without ties, else by the normal approximation with the
    correction for ties (as `scipy.stats.wilcoxon` does).
    """
    values = numbers(differences, "differences")
    if len(values) == 0:
        return PairedTest(None, False, 0, "there is no pair")
    values = values[values != 0]
    if len(values) == 0:
        return PairedTest(1.0, True, 0)
    exact = len(values) <= 50 and len(np.unique(np.abs(values))) == len(values)
    found = stats.wilcoxon(values, method="exact" if exact else "approx")
    return PairedTest(float(found.pvalue), exact, len(values))


def permutation_test(
    differences: Sequence[float], *, groups: Groups = None, rounds: int = 10_000, seed: int = 0
) -> PairedTest:
    """Is the mean difference zero? By flipping signs (Fisher 1935), of whole clusters at once.

    Up to 16 clusters that differ, all sign patterns are counted; above that, `rounds` random ones,
    with p = (b + 1) / (rounds + 1), which is never too small (Phipson and Smyth 2010).

    Args:
        differences: second minus first, item by item.
        groups: the cluster of each item. Default: each by itself.
        rounds: random sign patterns.
        seed: of the random patterns.
    """
    values = numbers(differences, "differences")
    if len(values) == 0:
        return PairedTest(None, False, 0, "there is no pair")
    sums = np.bincount(cluster_indices(groups, len(values)), weights=values)
    sums = sums[sums != 0]
    count = len(sums)
    if count == 0:
        return PairedTest(1.0, True, 0)
    observed = abs(float(sums.sum())) * (1 - 1e-12)
    if count <= EXACT:
        patterns = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        reached = np.abs((2.0 * patterns - 1.0) @ sums) >= observed
        return PairedTest(float(reached.mean()), True, count)
    generator = np.random.default_rng(seed)
    more, rows = 0, max(1, 2**21 // count)
    for begin in range(0, rounds, rows):
        patterns = generator.integers(0, 2, (min(rows, rounds - begin), count))
        more += int((np.abs((2.0 * patterns - 1.0) @ sums) >= observed).sum())
    return PairedTest((more + 1) / (rounds + 1), False, count)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for making several tests (Holm 1979); None stays None and counts for none.

    Below 0.05 after correction, at most one family of tests in twenty has any false alarm.
    """
    known = sorted((p, index) for index, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[index] = highest
    return corrected


def smallest_detectable_difference(
    standard_error: float, *, power: float = 0.8, significance: float = 0.05
) -> float:
    """The true difference that such a comparison finds significant with probability `power`.

    `(z(1 - significance / 2) + z(power)) * standard_error` (Bloom 1995, "Minimum Detectable
    Effects").

    Raises:
        InputError: a negative standard error, or a probability out of range.
    """
    if not (0 < power < 1 and 0 < significance < 1 and standard_error >= 0):
        raise InputError("power and significance lie between 0 and 1, the standard error above 0")
    if math.isinf(standard_error):
        raise InputError("the standard error is infinite")
    return float((special.ndtri(1 - significance / 2) + special.ndtri(power)) * standard_error)
