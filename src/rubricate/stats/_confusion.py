"""Statistics of a stack of confusion matrices.

A confusion matrix has the truth in its rows and the judge's labels in its columns. Every function
takes a stack of them, (b, K, K), and returns (b,); NaN where the statistic is undefined.
"""

from __future__ import annotations

import numpy as np

from rubricate.stats._numbers import Floats


def _ratio(above: Floats, below: Floats) -> Floats:
    """The quotient; NaN where the lower number is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below == 0, np.nan, above / below)


def _hits(confusion: Floats) -> Floats:
    return np.diagonal(confusion, axis1=-2, axis2=-1)


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
    expected = confusion.sum(-1)[..., :, None] * confusion.sum(-2)[..., None, :]
    n = confusion.sum((-2, -1))
    observed = (weights * confusion).sum((-2, -1))
    return 1 - _ratio(n * observed, (weights * expected).sum((-2, -1)))


def gwet_ac(confusion: Floats, power: int = 0) -> Floats:
    """Gwet's AC1 (Gwet 2008, equation 4) and, with weights, AC2 (Gwet 2014).

    The chance agreement is `T sum(q * (1 - q)) / (K * (K - 1))`: q is a label's share on both sides
    together, K the number of labels and T the sum of the `label_weights`.
    """
    kinds = confusion.shape[-1]
    if kinds < 2:
        return np.full(confusion.shape[:-2], np.nan)
    weights = label_weights(kinds, power)
    n = confusion.sum((-2, -1))
    share = (confusion.sum(-1) + confusion.sum(-2)) / (2 * n[..., None])
    chance = weights.sum() * (share * (1 - share)).sum(-1) / (kinds * (kinds - 1))
    return np.asarray((_ratio((weights * confusion).sum((-2, -1)), n) - chance) / (1 - chance))


def matthews(confusion: Floats) -> Floats:
    """The correlation of Matthews (1975) for any number of labels (Gorodkin 2004)."""
    truth, judge = confusion.sum(-1), confusion.sum(-2)
    n = confusion.sum((-2, -1))
    above = _hits(confusion).sum(-1) * n - (truth * judge).sum(-1)
    return _ratio(above, np.sqrt((n**2 - (truth**2).sum(-1)) * (n**2 - (judge**2).sum(-1))))


def krippendorff_alpha(coincidences: Floats, *, ordered: bool = False) -> Floats:
    """Krippendorff's alpha (Krippendorff 2011, "Computing Krippendorff's Alpha-Reliability").

    `1 - (n - 1) * sum(o * d) / sum(n_c * n_k * d)` from a symmetric matrix of coincidences o with
    margins n_c; d is the squared distance of two labels: 1 where they differ or, where they are
    ordered, the number of values between them, `(sum_(g = c..k) n_g - (n_c + n_k) / 2) ** 2`. For
    two raters the coincidences are a confusion matrix plus its transpose.
    """
    margins = coincidences.sum(-1)
    kinds = margins.shape[-1]
    if ordered:
        until = np.cumsum(margins, axis=-1) - margins / 2
        distance = (until[..., :, None] - until[..., None, :]) ** 2
    else:
        distance = np.broadcast_to(1.0 - np.eye(kinds), coincidences.shape)
    expected = (margins[..., :, None] * margins[..., None, :] * distance).sum((-2, -1))
    observed = (coincidences * distance).sum((-2, -1))
    return 1 - _ratio((margins.sum(-1) - 1) * observed, expected)
