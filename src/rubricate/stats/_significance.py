"""Tests of paired differences, and the correction for making several."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from rubricate.errors import InputError
from rubricate.stats._numbers import numbers, same_length
from rubricate.stats._resampling import Groups, cluster_indices

__all__ = [
    "PairedTest",
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
    known = sorted((p, place) for place, p in enumerate(p_values) if p is not None)
    corrected: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, place) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        corrected[place] = highest
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
