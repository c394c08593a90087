"""Paired comparison of two systems' scores of the same items: is B better than A?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, number_between, number_of, same_length
from rubricate.stats._intervals import mean_of
from rubricate.stats._numbers import Floats, numbers, outcomes, probabilities_of
from rubricate.stats._resampling import (
    ROUNDING,
    Groups,
    batches,
    complete_cases,
    renumbered,
    rows_in,
)

NO_PAIR = "there is no pair"
NO_NUMBERS = "no item has both numbers"
EXACT = 16
"""Up to this many clusters that differ, a permutation test counts all sign patterns (65,536); each
cluster more doubles them."""
TIED = 1e-10
"""Sums and differences so near each other, against the largest, are equal but for rounding."""


@dataclass(frozen=True, slots=True)
class PairedTest:
    """A two-sided test of no difference.

    Attributes:
        p_value: two-sided p, 0 to 1; None if there is no pair.
        exact: whether p counts all possible outcomes, and is no sample or approximation.
        differing: the number of pairs (or clusters) that differ, on which the test is based.
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
        n: the number of items with both numbers.
        clusters: the number of clusters that they come from.
        left_out: the number of items without one of the numbers.
        mean_a, mean_b: over the n items; None for n = 0.
        difference: B minus A, with a clustered t interval. If most items do not differ, it allows
            for more that might (`clustered_mean`): by up to 1 for numbers from 0 to 1, else by up
            to the range of the numbers.
        standard_error: of the difference; None with fewer than two clusters.
        permutation: the test of no difference, by clusters.
        wilcoxon: the signed-rank test, which assumes independent items.
        mcnemar: the exact test if all numbers are 0 or 1, else None; it assumes independent items.
        smallest_detectable: the true difference that such data detect with a power of 0.8; None
            without a standard error above 0.
    """

    n: int
    clusters: int
    left_out: int
    mean_a: float | None
    mean_b: float | None
    difference: Estimate
    standard_error: float | None
    permutation: PairedTest
    wilcoxon: PairedTest
    mcnemar: PairedTest | None
    smallest_detectable: float | None


def compare_paired(
    a: Sequence[float | None],
    b: Sequence[float | None],
    *,
    groups: Groups = None,
    confidence: float = 0.95,
    reach: float = 0.0,
) -> PairedComparison:
    """Compare two systems on the same items.

    Paired differences with clustered standard errors (Liang and Zeger 1986), a sign-flipping
    permutation test (Fisher 1935), the signed-rank test (Wilcoxon 1945), for binary numbers the
    exact test of McNemar (1947), and the smallest detectable difference (Bloom 1995). To test
    whether B is worse by more than a margin, use `bound_test`.

    Args:
        a, b: numbers for the same items in the same order, (n,); None for a missing one. An item
            counts if both have a number.
        groups: the cluster of each item, (n,). Default: items are independent.
        confidence: of the t interval.
        reach: the most that one answer can change a number; see `clustered_mean`. Default: unknown.

    Returns:
        The difference, B minus A, in the unit of the numbers, with its tests.

    Raises:
        InputError: different lengths, or a value is no number.

    Example:
        >>> comparison = compare_paired([1, 0, 1, 0, 0], [1, 1, 1, 1, 0])
        >>> comparison.difference.value, comparison.mcnemar.p_value
        (0.4, 0.5)
    """
    same_length(a=a, b=b)
    check_share(confidence, "confidence")
    reach = number_between(reach, "reach", 0.0)
    _, clusters, (first, second) = complete_cases(groups, numbers(a, "a"), numbers(b, "b"))
    difference = second - first
    difference[np.abs(difference) <= ROUNDING * np.maximum(np.abs(first), np.abs(second))] = 0.0
    n = len(difference)
    mean = mean_of(difference, clusters, (1 + confidence) / 2, _bounds(first, second), reach=reach)
    error = mean.standard_error
    binary = n > 0 and np.isin(np.concatenate([first, second]), (0.0, 1.0)).all()
    return PairedComparison(
        n=n,
        clusters=mean.clusters,
        left_out=len(a) - n,
        mean_a=float(first.mean()) if n else None,
        mean_b=float(second.mean()) if n else None,
        difference=mean.mean if n else Estimate(None, undefined=NO_NUMBERS),
        standard_error=error,
        permutation=permutation_test(difference.tolist(), groups=renumbered(clusters).tolist()),
        wilcoxon=wilcoxon_test(difference.tolist()),
        mcnemar=mcnemar_test(first.tolist(), second.tolist()) if binary else None,
        smallest_detectable=smallest_detectable_difference(error) if error else None,
    )


def _bounds(first: Floats, second: Floats) -> tuple[float, float] | None:
    """The range of a difference: up to 1 for numbers from 0 to 1, else up to the range of the
    numbers; None if they are all the same."""
    both = np.concatenate([first, second])
    if len(both) == 0:
        return None
    apart = 1.0 if both.min() >= 0 and both.max() <= 1 else float(both.max() - both.min())
    return (-apart, apart) if apart > 0 else None


def mcnemar_test(first: Sequence[bool | None], second: Sequence[bool | None]) -> PairedTest:
    """The exact test of McNemar (1947): are flips one way as frequent as the other way?

    p is that of the binomial distribution with one half over the pairs that differ; 1 if none do.

    Args:
        first, second: two systems' binary outcomes on the same items, (n,); pairs with None for one
            of them are left out.

    Returns:
        The exact two-sided p-value.

    Raises:
        InputError: different lengths, or values other than true and false (1 and 0).

    Example:
        >>> mcnemar_test([0, 0, 0, 0, 0, 1], [1, 1, 1, 1, 1, 1]).p_value
        0.0625
    """
    same_length(first=first, second=second)
    difference = outcomes(second, "second") - outcomes(first, "first")
    if np.isnan(difference).all():
        return PairedTest(None, False, 0, NO_PAIR)
    better, worse = int((difference > 0).sum()), int((difference < 0).sum())
    if better + worse == 0:
        return PairedTest(1.0, True, 0)
    p_value = min(1.0, 2 * float(special.bdtr(min(better, worse), better + worse, 0.5)))
    return PairedTest(p_value, True, better + worse)


def wilcoxon_test(differences: Sequence[float | None]) -> PairedTest:
    """The signed-rank test (Wilcoxon 1945), differences of zero and missing ones left out.

    Exact for up to 50 differences without ties, else by the normal approximation with the
    correction for ties (as `scipy.stats.wilcoxon` does). Differences that are equal but for
    rounding are tied.

    Args:
        differences: B minus A, (n,); None for a missing one.

    Returns:
        The two-sided p-value (0 to 1), whether it is exact, and how many differ.

    Raises:
        InputError: a difference is no number.

    Example:
        >>> wilcoxon_test([0.1, 0.2, 0.3, 0.4, 0.5]).p_value
        0.0625
    """
    values = numbers(differences, "differences")
    values = values[~np.isnan(values)]
    if len(values) == 0:
        return PairedTest(None, False, 0, NO_PAIR)
    values = _signed_ranks(values)
    values = values[values != 0]
    if len(values) == 0:
        return PairedTest(1.0, True, 0)
    exact = len(values) <= 50 and len(np.unique(np.abs(values))) == len(values)
    test = stats.wilcoxon(values, method="exact" if exact else "approx")
    return PairedTest(float(test.pvalue), exact, len(values))


def _signed_ranks(values: Floats) -> Floats:
    """The dense rank of each number's size, with its sign; 0 for numbers that are 0 but for
    rounding."""
    sizes = np.abs(values)
    order = np.argsort(sizes)
    steps = np.diff(sizes[order], prepend=0.0) > TIED * sizes.max()
    ranks = np.empty(len(values))
    ranks[order] = np.cumsum(steps)
    return np.sign(values) * ranks


def permutation_test(
    differences: Sequence[float | None],
    *,
    groups: Groups = None,
    rounds: int = 10_000,
    seed: int = 0,
) -> PairedTest:
    """The sign-flipping test of a mean difference of zero (Fisher 1935), by whole clusters.

    With up to 16 clusters that differ, all sign patterns are counted; with more, `rounds` random
    ones, with p = (b + 1) / (rounds + 1), which is never too small (Phipson and Smyth 2010). Sums
    that are equal but for rounding are equal.

    Args:
        differences: second minus first, (n,); None for a missing one, which is left out.
        groups: the cluster of each item, (n,). Default: items are independent.
        rounds: the number of random sign patterns, 1 or more.
        seed: random seed of the patterns.

    Returns:
        The two-sided p-value (0 to 1), whether it is exact, and how many clusters differ.

    Raises:
        InputError: a difference is no number, or `rounds` or `seed` are out of range.

    Example:
        >>> permutation_test([0.1, 0.2, 0.3, 0.4, 0.5]).p_value
        0.0625
    """
    rounds, seed = count_of(rounds, "rounds", 1), count_of(seed, "seed")
    _, clusters, (values,) = complete_cases(groups, numbers(differences, "differences"))
    if len(values) == 0:
        return PairedTest(None, False, 0, NO_PAIR)
    sums = np.bincount(clusters, weights=values)
    sums = sums[np.abs(sums) > TIED * np.bincount(clusters, weights=np.abs(values))]
    count = len(sums)
    if count == 0:
        return PairedTest(1.0, True, 0)
    observed = abs(float(sums.sum())) - TIED * float(np.abs(sums).sum())
    if count <= EXACT:
        patterns = (np.arange(2**count)[:, None] >> np.arange(count)) & 1
        reached = np.abs((2.0 * patterns - 1.0) @ sums) >= observed
        return PairedTest(float(reached.mean()), True, count)
    generator = np.random.default_rng(seed)
    more = 0
    for batch in batches(rounds, count, 2**21):
        patterns = generator.integers(0, 2, (rows_in(batch), count))
        more += int((np.abs((2.0 * patterns - 1.0) @ sums) >= observed).sum())
    return PairedTest((more + 1) / (rounds + 1), False, count)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for several tests, by family-wise error rate (Holm 1979).

    If you call tests different whose corrected p is below 0.05, at most one family of tests in
    twenty has any false alarm.

    Args:
        p_values: between 0 and 1, (m,). None stays None and is no test.

    Returns:
        The corrected p-values, 0 to 1, (m,).

    Raises:
        InputError: a p-value is not between 0 and 1.

    Example:
        >>> holm([0.01, 0.03, None])
        [0.02, 0.03, None]
    """
    corrected, known = _p_values(p_values)
    highest = 0.0
    for rank, (p, index) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[index] = highest
    return corrected


def benjamini_hochberg(p_values: Sequence[float | None]) -> list[float | None]:
    """p-values corrected for several tests, by false discovery rate (Benjamini and Hochberg 1995).

    If you call tests different whose corrected p is below 0.05, at most one in twenty of them is a
    false alarm, on average; with `holm`, none is, in 95 % of families. It is valid for independent
    and for positively dependent tests.

    Args:
        p_values: between 0 and 1, (m,). None stays None and is no test.

    Returns:
        The corrected p-values, 0 to 1, (m,).

    Raises:
        InputError: a p-value is not between 0 and 1.

    Example:
        >>> benjamini_hochberg([0.01, 0.03, None])
        [0.02, 0.03, None]
    """
    corrected, known = _p_values(p_values)
    lowest = 1.0
    for rank, (p, index) in reversed(list(enumerate(known, start=1))):
        lowest = min(lowest, p * len(known) / rank)
        corrected[index] = lowest
    return corrected


def _p_values(
    p_values: Sequence[float | None],
) -> tuple[list[float | None], list[tuple[float, int]]]:
    """A None for each p-value, and those that are not missing with their indices, sorted."""
    values = probabilities_of(p_values, "p_values")
    known = np.flatnonzero(~np.isnan(values)).tolist()
    return [None] * len(values), sorted((float(values[index]), index) for index in known)


def smallest_detectable_difference(
    standard_error: float, *, power: float = 0.8, significance: float = 0.05
) -> float:
    """The true difference that a comparison finds significant with probability `power`.

    `(z(1 - significance / 2) + z(power)) * standard_error` (Bloom 1995, "Minimum Detectable
    Effects").

    Args:
        standard_error: of the mean difference, 0 or more.
        power: the probability of a significant result, between 0 and 1.
        significance: the two-sided significance level, between 0 and 1.

    Returns:
        A difference in the unit of the standard error, 0 or more.

    Raises:
        InputError: a negative standard error, or a probability out of range.

    Example:
        >>> round(smallest_detectable_difference(0.05), 3)
        0.14
    """
    check_share(power, "power")
    check_share(significance, "significance")
    if not number_of(standard_error, "standard_error") >= 0:
        raise InputError(f"standard_error must be 0 or more, found {standard_error}")
    return float((special.ndtri(1 - significance / 2) + special.ndtri(power)) * standard_error)
