"""Is B better than A? Two systems' scores of the same items."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._intervals import clustered_mean, t_quantile
from rubricate.stats._means import bootstrapped_mean
from rubricate.stats._numbers import numbers, same_length
from rubricate.stats._resampling import Bootstrap, Groups, groups_at
from rubricate.stats._significance import (
    PairedTest,
    mcnemar_test,
    permutation_test,
    smallest_detectable_difference,
    wilcoxon_test,
)

__all__ = ["PairedComparison", "compare_paired"]


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
    places = np.flatnonzero(~np.isnan(first) & ~np.isnan(second))
    first, second = first[places], second[places]
    difference = second - first
    kept = groups_at(groups, places)
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
