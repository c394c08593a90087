"""The lowest confidence from which a judge's verdicts can be accepted, chosen on labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, number_of, same_length
from rubricate.stats._intervals import clustered_correlation, clustered_variance, share_of
from rubricate.stats._numbers import Flags, Floats, Integers, numbers, outcomes, t_quantile
from rubricate.stats._resampling import Groups, cluster_indices

FIRST = 5
"""The strictest threshold accepts one labelled verdict in five; chosen on `examples/physics.json`
and simulated data (`docs/statistics.md`, Cascades)."""
STEPS = 50
"""The most thresholds that are tried."""
DIGITS = 4
"""Decimal places of a threshold."""


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """The effect of one threshold.

    Attributes:
        threshold: verdicts of at least this confidence are accepted.
        kept: the number of accepted verdicts with a label.
        coverage: the share of all verdicts that are accepted.
        agreement: the share of accepted verdicts that agree with their label.
    """

    threshold: float
    kept: int
    coverage: Estimate
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The lowest threshold that keeps a promise.

    Attributes:
        promise: the promised agreement of accepted verdicts, 0 to 1.
        risk: the probability, over samples of labels, that agreement is lower.
        labelled: the number of verdicts with a label.
        chosen: the threshold and its effect; None if no threshold keeps the promise.
        tried: the number of thresholds that were tested.
        why: why none was chosen.
    """

    promise: float
    risk: float
    labelled: int
    chosen: ThresholdPoint | None
    tried: int
    why: str | None = None


def choose_threshold(
    confidence: Sequence[float | None],
    agrees: Sequence[bool | None],
    *,
    promise: float = 0.9,
    risk: float = 0.05,
    groups: Groups = None,
) -> ThresholdChoice:
    """The lowest confidence from which verdicts agree with people as promised.

    Fixed-sequence testing (Bauer 1991) as in Jung, Brahman and Choi (2024), "Trust or Escalate":
    thresholds are tried from the strictest on, each by an exact binomial test of "accepted verdicts
    agree in a share of `promise` or less" at the level `risk`, until the first that is not
    rejected. With probability `1 - risk` at least, new verdicts from the same distribution agree in
    a share of `promise` or more. The strictest threshold accepts at least as many labelled verdicts
    as would pass with one disagreement; with many labels a fifth of them, or as many as would pass
    with half the disagreement that the promise allows. The sequence depends on the confidences
    only. Verdicts of one group count as fewer, by the design effect of their disagreements (Korn
    and Graubard 1998).

    Args:
        confidence: the confidence of each verdict, (n,); a verdict with None is never accepted.
        agrees: whether each verdict agrees with people's label, (n,); None without a label.
        promise: the agreement to promise, between 0 and 1.
        risk: the accepted probability that agreement is lower, between 0 and 1.
        groups: the group of each verdict, such as its item, (n,). Default: verdicts are
            independent.

    Raises:
        InputError: different lengths, a value is no number, or a value is out of range.

    Example:
        >>> choose_threshold([0.9] * 50 + [0.5] * 50, [1] * 50 + [0] * 50).chosen.threshold
        0.9
    """
    for name, value in (("promise", promise), ("risk", risk)):
        check_share(value, name)
    sure, right, clusters = _columns(confidence, agrees, groups)
    labelled = ~np.isnan(sure) & ~np.isnan(right)
    wrong, of = 1 - right[labelled], clusters[labelled]
    level, n = sure[labelled], int(labelled.sum())
    least = math.ceil(math.log(risk) / math.log(promise))
    if n < least:
        why = f"at least {least} labelled verdicts are needed, and there are {n}"
        return ThresholdChoice(promise, risk, n, None, 0, why)
    correlation = clustered_correlation(wrong, of)
    chosen: float | None = None
    tried = 0
    for threshold in _sequence(level, promise, risk):
        tried += 1
        kept = level >= threshold
        if _p_value(wrong[kept], of[kept], correlation, promise) > risk:
            break
        chosen = threshold
    if chosen is None:
        why = "even the most confident verdicts do not show this agreement"
        return ThresholdChoice(promise, risk, n, None, tried, why)
    point = threshold_point(confidence, agrees, chosen, groups=groups)
    return ThresholdChoice(promise, risk, n, point, tried)


def threshold_point(
    confidence: Sequence[float | None],
    agrees: Sequence[bool | None],
    threshold: float,
    *,
    groups: Groups = None,
) -> ThresholdPoint:
    """The effect of a threshold, with the 95 % intervals of Clopper and Pearson (1934).

    Args:
        confidence: the confidence of each verdict, (n,); None for a missing one.
        agrees: whether each verdict agrees with people's label, (n,); None without a label.
        threshold: verdicts of at least this confidence are accepted.
        groups: the group of each verdict, (n,), for the intervals. Default: verdicts are
            independent.

    Raises:
        InputError: as for `choose_threshold`.

    Example:
        >>> threshold_point([0.9, 0.8, 0.4, 0.2], [1, 1, None, 0], 0.5).coverage.value
        0.5
    """
    threshold = number_of(threshold, "threshold")
    sure, right, clusters = _columns(confidence, agrees, groups)
    accepted = np.nan_to_num(sure, nan=-np.inf) >= threshold
    kept = accepted & ~np.isnan(right)
    independent = groups is None
    return ThresholdPoint(
        threshold,
        int(kept.sum()),
        share_of(accepted, clusters, 0.95, independent=independent),
        share_of(right[kept], clusters[kept], 0.95, independent=independent),
    )


def _columns(
    confidence: Sequence[float | None], agrees: Sequence[bool | None], groups: Groups
) -> tuple[Floats, Floats, Integers]:
    same_length(confidence=confidence, agrees=agrees)
    sure, right = numbers(confidence, "confidence"), outcomes(agrees, "agrees")
    return sure, right, cluster_indices(groups, len(sure))


def _sequence(level: Floats, promise: float, risk: float) -> list[float]:
    """The thresholds in the order in which they are tried, strictest first."""
    ordered, n = np.sort(level)[::-1], len(level)
    sizes = np.arange(1, n + 1)
    one_error, half_errors = (
        _first(special.bdtr(errors, sizes, 1 - promise) <= risk)
        for errors in (np.ones(n), np.floor(sizes * (1 - promise) / 2))
    )
    first = max(one_error, min(half_errors, n // FIRST))
    indices = [*range(first, n, max(1, (n - first) // STEPS)), n - 1]
    scale = 10**DIGITS
    values = np.floor(ordered[indices] * scale + 1e-9) / scale
    return sorted({float(value) for value in values}, reverse=True)


def _first(passing: Flags) -> int:
    """The first index that passes, else the last index."""
    indices = np.flatnonzero(passing)
    return int(indices[0]) if len(indices) else len(passing) - 1


def _p_value(wrong: Floats, clusters: Integers, correlation: float, promise: float) -> float:
    """p of the hypothesis that the share that agrees is `promise` or less."""
    n, share = len(wrong), float(wrong.mean())
    _, sizes = np.unique(clusters, return_counts=True)
    count, effective = len(sizes), float(n)
    if count < n:
        if count < 2:
            return 1.0
        effect = 1 + (float((sizes**2).sum()) / n - 1) * correlation
        if 0 < share < 1:
            variance, _ = clustered_variance(wrong, clusters)
            effect = max(effect, variance / (share * (1 - share) / n))
        ratio = t_quantile(0.975, n - 1) / t_quantile(0.975, count - 1)
        effective = n / max(1.0, effect) * ratio**2
    errors = share * effective
    if errors >= effective:  # the beta function is undefined there before SciPy 1.16
        return 1.0
    # The binomial's lower tail for sizes that need not be whole: a regularised beta function.
    return float(special.betainc(effective - errors, errors + 1, promise))
