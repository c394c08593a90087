"""Least and greatest weighted means where some of the terms may stay away."""

from __future__ import annotations

from collections.abc import Sequence


def least_ratio(raw: float, total: float, optional: Sequence[tuple[float, float]]) -> float | None:
    """The least `(raw + sum(w v)) / (total + sum(w))` over all subsets of (w, v), all w > 0.

    From a given start it pays to take the smallest values as long as they are below the ratio.
    None if there is nothing to divide by. The greatest is `-least_ratio(-raw, total, [(w, -v)])`.
    """
    if not total and not raw:
        return min((value for _, value in optional), default=None)
    if not total:
        return _least_of_some(raw, optional)
    for weight, value in sorted(optional, key=lambda pair: pair[1]):
        if value * total < raw:
            raw, total = raw + weight * value, total + weight
    return raw / total


def _least_of_some(raw: float, optional: Sequence[tuple[float, float]]) -> float | None:
    """The least `(raw + sum(w v)) / sum(w)` over all subsets of (w, v) but the empty one.

    A value above the least ratio is in the subset only where it is alone: without it the ratio
    would be lower. So the subset is one pair, or all of the smallest values up to some.
    """
    ratios = [raw / weight + value for weight, value in optional]
    total = 0.0
    for weight, value in sorted(optional, key=lambda pair: pair[1]):
        raw, total = raw + weight * value, total + weight
        ratios.append(raw / total)
    return min(ratios, default=None)
