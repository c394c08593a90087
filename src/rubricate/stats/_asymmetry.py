"""How far answers lean to one of two sides."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, same_length
from rubricate.stats._numbers import numbers, t_quantile

SLACK = 1 + 1e-9
"""Sums may exceed what they can be by rounding."""


def asymmetry(
    sums: Sequence[float],
    *,
    squares: Sequence[float] | None = None,
    sizes: Sequence[int] | None = None,
    counts: Sequence[int] | None = None,
    confidence: float = 0.95,
) -> Estimate:
    """The mean of answers that are 1 for one side, -1 for the other and between for neither.

    For a question that was asked in both orders, with 1 for "the first text" and -1 for "the
    second", take the mean of the two answers: 1 or -1 if the position alone decided, 0 if the same
    text was named in both orders. A judge without position bias gives 1 as often as -1, however
    noisy it is, so the mean over questions is the effect of the order: how much likelier a text is
    named when it is shown first than when it is shown second (Beaver and Gokhale 1975; the
    difference of two matched proportions).

    The interval is that of Bonett and Price (2012, "Adjusted Wald confidence interval for a
    difference of binomial proportions based on paired data": two answers are added, +1 and -1) for
    the effective number of answers, which is the number of independent answers with the same
    variance as the clustered ones (Liang and Zeger 1986), with the quantile of t. It stays between
    -1 and 1.

    Args:
        sums: the sum of the answers of each cluster, such as a pair, (G,); None for a missing one,
            which is left out.
        squares: the sum of their squares, (G,). Default: every cluster has one answer.
        sizes: the number of answers of each cluster, (G,). Default: 1.
        counts: the number of clusters that each row counts for, (G,). Default: 1.
        confidence: the interval's nominal coverage.

    Returns:
        A value in [-1, 1]; None without an answer.

    Raises:
        InputError: different lengths, a value is no number, a negative count, or sums that answers
            between -1 and 1 cannot have.

    Example:
        >>> print(asymmetry([1, 0, 0, -1, 1, 0, 0, 0]))
        0.125 [-0.463, 0.657]
    """
    check_share(confidence, "confidence")
    columns = {"sums": sums, "squares": squares, "sizes": sizes, "counts": counts}
    parts = {name: numbers(part, name) for name, part in columns.items() if part is not None}
    same_length(**{"sums": sums, **parts})
    known = ~np.any([np.isnan(part) for part in parts.values()], axis=0)
    parts = {name: part[known] for name, part in parts.items()}
    total = parts["sums"]
    size = parts.get("sizes", np.ones(len(total)))
    times = parts.get("counts", np.ones(len(total)))
    for name, part in (("sizes", size), ("counts", times)):
        if (part < 0).any():
            raise InputError(f"{name} must be 0 or more, found {part.min():g}")
    if "squares" not in parts and (size > 1).any():
        raise InputError("squares: they are needed where a cluster has more than one answer")
    square = parts.get("squares", total**2)
    if (np.abs(total) > size * SLACK).any():
        raise InputError("sums: answers lie between -1 and 1, so that no sum exceeds its size")
    if ((square > size * SLACK) | (square * size * SLACK < total**2)).any():
        raise InputError("squares: no answers between -1 and 1 have these sums and sums of squares")
    n, clusters = float(times @ size), float(times.sum())
    if n == 0:
        return Estimate(None, undefined="there is no answer")
    mean, mean_square = math.fsum(times * total) / n, math.fsum(times * square) / n
    effective, quantile = 1.0, float(special.ndtri((1 + confidence) / 2))
    if clusters > 1:
        spread = clusters / (clusters - 1) * float(times @ (total - mean * size) ** 2) / n**2
        alone = mean_square - mean**2
        effective = min(n, alone / spread) if spread > 0 and alone > 0 else clusters
        quantile = t_quantile((1 + confidence) / 2, clusters - 1)
    middle = mean * effective / (effective + 2)
    variance = (mean_square * effective + 2) / (effective + 2) - middle**2
    half = quantile * math.sqrt(variance / (effective + 2))
    low, high = min(mean, middle - half), max(mean, middle + half)
    return Estimate(mean, max(-1.0, low), min(1.0, high))
