"""From what confidence on may a judge's verdict stand? A threshold chosen on labels."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, number_of, same_length
from rubricate.stats._intervals import (
    clustered_correlation,
    clustered_share,
    clustered_variance,
)
from rubricate.stats._numbers import numbers, outcomes, t_quantile
from rubricate.stats._resampling import Floats, Groups, Integers, cluster_indices, groups_at

FIRST = 5
"""The strictest threshold keeps one labelled verdict in five; chosen on `examples/physics.json` and
simulated data (`docs/statistics.md`, Cascades)."""
STEPS = 50
"""How many thresholds are tried, at most."""
DIGITS = 4
"""Decimal places of a threshold."""


@dataclass(frozen=True, slots=True)
class ThresholdPoint:
    """What one threshold would do.

    Attributes:
        threshold: verdicts of this confidence and above stand.
        kept: how many of those with a label stand.
        coverage: the share of all verdicts that stand.
        agreement: with the labels, of those that stand.
    """

    threshold: float
    kept: int
    coverage: Estimate
    agreement: Estimate


@dataclass(frozen=True, slots=True)
class ThresholdChoice:
    """The lowest threshold that keeps a promise.

    Attributes:
        promise: the agreement that is promised of the verdicts that stand.
        risk: the probability, over samples of labels, that less is achieved.
        labelled: verdicts with a label.
        chosen: the threshold and what it achieves; None where no threshold keeps the promise.
        tried: how many thresholds were tested.
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
    """The lowest confidence from which on verdicts agree with people as promised.

    Fixed-sequence testing (Bauer 1991) as Jung, Brahman and Choi (2024), "Trust or Escalate",
    use it: thresholds are tried from the strictest on, each by an exact binomial test of "those
    that stand agree in a share of `promise` or less" at the level `risk`, until the first that is
    not rejected. With probability `1 - risk` at least, new verdicts like these agree in a share of
    `promise` or more. The strictest keeps as many of those with a label as would pass with one
    disagreement, at least; of many labels a fifth, or as many as would pass with half the
    disagreement that the promise allows. Which ones are tried depends on the confidences only.
    Verdicts of one group count as fewer, by the design effect of their
    disagreements (Korn and Graubard 1998).

    Args:
        confidence: how sure each verdict is, None where nothing says so: it never stands.
        agrees: whether it agrees with people's label, None where there is no label.
        promise: the agreement to be promised, between 0 and 1.
        risk: the probability of promising too much that is accepted, between 0 and 1.
        groups: what each verdict belongs to, such as its item. Default: each by itself.

    Raises:
        InputError: different lengths, something is no number, or a value is out of range.
    """
    for name, value in (("promise", promise), ("risk", risk)):
        check_share(value, name)
    same_length(confidence=confidence, agrees=agrees)
    sure, right = numbers(confidence, "confidence"), outcomes(agrees, "agrees")
    clusters = cluster_indices(groups, len(sure))
    labelled = ~np.isnan(sure) & ~np.isnan(right)
    wrong, of = 1 - right[labelled], clusters[labelled]
    level, n = sure[labelled], int(labelled.sum())
    least = math.ceil(math.log(risk) / math.log(promise))
    if n < least:
        why = f"it takes {least} labelled verdicts at least, there are {n}"
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
    """What a threshold does, with 95 % intervals: Wilson's (1927), as in `clustered_share`.

    Args:
        confidence: that of each verdict, between 0 and 1; None where there is none.
        agrees: whether each verdict is the person's; None where there is no label.
        threshold: verdicts of at least this confidence stand.
        groups: what each verdict belongs to; intervals are by it. None: each by itself.

    Raises:
        InputError: as for `choose_threshold`.
    """
    threshold = number_of(threshold, "threshold")
    same_length(confidence=confidence, agrees=agrees)
    sure, right = numbers(confidence, "confidence"), outcomes(agrees, "agrees")
    stands = np.nan_to_num(sure, nan=-np.inf) >= threshold
    kept = stands & ~np.isnan(right)
    kept_groups = groups_at(groups, np.flatnonzero(kept), len(kept))
    return ThresholdPoint(
        threshold,
        int(kept.sum()),
        clustered_share(stands.tolist(), groups=groups),
        clustered_share(right[kept].tolist(), groups=kept_groups),
    )


def _sequence(level: Floats, promise: float, risk: float) -> list[float]:
    """The thresholds in the order in which they are tried, strictest first."""
    ordered, n = np.sort(level)[::-1], len(level)
    sizes = np.arange(1, n + 1)
    one, half = (
        _first(special.bdtr(errors, sizes, 1 - promise) <= risk)
        for errors in (np.ones(n), np.floor(sizes * (1 - promise) / 2))
    )
    first = max(one, min(half, n // FIRST))
    indices = [*range(first, n, max(1, (n - first) // STEPS)), n - 1]
    scale = 10**DIGITS
    values = np.floor(ordered[indices] * scale + 1e-9) / scale
    return sorted({float(value) for value in values}, reverse=True)


def _first(passing: NDArray[np.bool_]) -> int:
    """The first index that passes, else the last."""
    indices = np.flatnonzero(passing)
    return int(indices[0]) if len(indices) else len(passing) - 1


def _p_value(wrong: Floats, clusters: Integers, correlation: float, promise: float) -> float:
    """Of "the share that agrees is `promise` or less"."""
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
