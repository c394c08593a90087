"""Statistics of a stack of confusion matrices.

A confusion matrix has the truth in its rows and the judge's labels in its columns. Every function
takes a stack of them, (b, K, K), and returns (b,); NaN where the statistic is undefined.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from rubricate.stats._numbers import Floats


def _ratio(above: Floats, below: Floats) -> Floats:
    """The quotient; NaN where the lower number is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / below)


@cache
def _of_sides(kinds: int) -> Floats:
    """Which cells, (K * K,), belong to each label of the truth, and of the judge: (K * K, 2 K)."""
    each = np.eye(kinds)
    return np.hstack([np.repeat(each, kinds, axis=0), np.tile(each, (kinds, 1))])


def _sides(confusion: Floats) -> tuple[Floats, Floats, Floats]:
    """The cells (..., K * K), and how often each label is the truth and the judge's (..., K).

    Sums are products of matrices: numpy's own, over axes as short as these, take ten times as long.
    """
    kinds = confusion.shape[-1]
    cells = confusion.reshape(*confusion.shape[:-2], kinds * kinds)
    both = cells @ _of_sides(kinds)
    return cells, both[..., :kinds], both[..., kinds:]


def label_weights(kinds: int, power: int = 0) -> Floats:
    """How far two labels agree, (K, K): 1 for equal labels, and 0 for others (`power` 0) or less by
    the distance of their ranks (1: linear, 2: quadratic)."""
    if power == 0 or kinds < 2:
        return np.eye(kinds)
    ranks = np.arange(kinds)
    distance = np.abs(ranks[:, None] - ranks[None, :]) / (kinds - 1)
    return np.asarray(1 - distance**power)


def cohen_kappa(confusion: Floats, power: int = 0) -> Floats:
    """Cohen's kappa (Cohen 1960, weighted: Cohen 1968).

    `1 - sum(w * observed) / sum(w * expected)`, where the weight of a pair of labels is 1 less
    their `label_weights`.
    """
    weights = 1 - label_weights(confusion.shape[-1], power)
    cells, truth, judge = _sides(confusion)
    n, observed = truth @ np.ones(len(weights)), cells @ weights.ravel()
    return 1 - _ratio(n * observed, (truth @ weights * judge) @ np.ones(len(weights)))


def gwet_ac(confusion: Floats, power: int = 0) -> Floats:
    """Gwet's AC1 (Gwet 2008, equation 4) and, with weights, AC2 (Gwet 2014).

    The chance agreement is `T sum(q * (1 - q)) / (K * (K - 1))`: q is a label's share on both sides
    together, K the number of labels and T the sum of the `label_weights`.
    """
    kinds = confusion.shape[-1]
    if kinds < 2:
        return np.full(confusion.shape[:-2], np.nan)
    weights, ones = label_weights(kinds, power), np.ones(kinds)
    cells, truth, judge = _sides(confusion)
    n = truth @ ones
    share = (truth + judge) / (2 * n[..., None])
    chance = weights.sum() * (share * (1 - share) @ ones) / (kinds * (kinds - 1))
    return np.asarray((_ratio(cells @ weights.ravel(), n) - chance) / (1 - chance))


def matthews(confusion: Floats) -> Floats:
    """The correlation of Matthews (1975) for any number of labels (Gorodkin 2004)."""
    cells, truth, judge = _sides(confusion)
    ones = np.ones(confusion.shape[-1])
    n, hits = truth @ ones, cells @ np.eye(len(ones)).ravel()
    below = np.sqrt((n**2 - truth**2 @ ones) * (n**2 - judge**2 @ ones))
    return _ratio(hits * n - truth * judge @ ones, below)


def krippendorff_alpha(coincidences: Floats, *, ordered: bool = False) -> Floats:
    """Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    `1 - (n - 1) * sum(o * d) / sum(n_c * n_k * d)` from a symmetric matrix of coincidences o with
    margins n_c; d is the squared distance of two labels: 1 where they differ or, where they are
    ordered, the number of values between them, `(sum_(g = c..k) n_g - (n_c + n_k) / 2) ** 2`. For
    two raters the coincidences are a confusion matrix plus its transpose.
    """
    cells, margins, _ = _sides(coincidences)
    kinds = margins.shape[-1]
    ones, apart = np.ones(kinds), 1 - np.eye(kinds)
    if ordered:
        # d is `(r_c - r_k) ** 2` for the middle ranks r of the labels.
        ranks = margins @ (np.triu(np.ones((kinds, kinds))) - (1 + np.eye(kinds)) / 2)
        weighted = margins * ranks
        expected = 2 * ((margins @ ones) * (weighted * ranks @ ones) - (weighted @ ones) ** 2)
        distances = ranks @ (_of_sides(kinds) @ np.vstack([np.eye(kinds), -np.eye(kinds)])).T
        distances *= distances
        distances *= cells
        observed = distances @ np.ones(kinds**2)
    else:
        expected, observed = (margins @ apart * margins) @ ones, cells @ apart.ravel()
    return 1 - _ratio((margins @ ones - 1) * observed, expected)
