"""Prediction-powered inference: a judge's mean over many items, corrected by labels of some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, listed, number_of, same_length
from rubricate.stats._intervals import (
    clustered_variance,
    design_effect,
    effective_interval,
    mean_of,
    share_of,
    t_interval,
    weighted_mean,
)
from rubricate.stats._numbers import (
    Floats,
    Integers,
    effective,
    numbers,
    outcomes,
    t_quantile,
    weights_of,
    widening,
)
from rubricate.stats._resampling import ROUNDING, Groups, cluster_indices
from rubricate.stats._unseen import are_few, mostly_same, unseen

CHANCE = "the judge is no better than chance: sensitivity + specificity is 1 or less"


@dataclass(frozen=True, slots=True)
class CorrectedMean:
    """Four estimates of the mean of people's labels over all items.

    Attributes:
        labelled: the number of items with a judge's number and a person's.
        unlabelled: the number of items with a judge's number only.
        left_out: the number of items without a judge's number.
        naive: the judge's mean over all items; its interval ignores the judge's errors.
        labelled_only: the mean of people's labels alone.
        prediction_powered: people's labels with the judge's help (PPI++).
        tuning: the weight of the judge's numbers in it, in [0, 1]; 0 if they do not help, None if
            it is undefined.
        rogan_gladen: for binary numbers, the judge's share corrected by its sensitivity and
            specificity.
        sensitivity, specificity: for binary numbers, on the labelled items; else None.
        effective_labels: the number of labels that, alone, have the variance of the
            prediction-powered mean.
    """

    labelled: int
    unlabelled: int
    left_out: int
    naive: Estimate
    labelled_only: Estimate
    prediction_powered: Estimate
    tuning: float | None
    rogan_gladen: Estimate
    sensitivity: float | None
    specificity: float | None
    effective_labels: float | None


def corrected_mean(
    judge: Sequence[float | None],
    human: Sequence[float | None],
    *,
    groups: Groups = None,
    weights: Sequence[float | None] | None = None,
    confidence: float = 0.95,
) -> CorrectedMean:
    """The mean that people would give, from a judge's numbers and a few labels.

    Prediction-powered inference with tuned weight (PPI++: Angelopoulos, Duchi and Zrnic 2023,
    after Angelopoulos et al. 2023): `tuning * mean(unlabelled judge) + mean(labels - tuning *
    labelled judge)`, `tuning = cov(label, judge) / ((1 + n / N) * var(judge))` clipped to [0, 1],
    with a t interval over the labelled clusters. If all numbers are 0 or 1, the mean is clipped to
    this range, and the intervals are those of `clustered_share`, from the same variance, because in
    simulations (`docs/coverage.md`) t intervals cover a share near 0 or 1 too seldom.

    Few labels may show none of the judge's errors, which is not evidence that there are none. So
    errors of both kinds are added to binary labels before the covariance and the variance are
    estimated, half the squared quantile of each kind (Agresti and Coull 1998). For other numbers
    the judge is used once it erred on 5 labelled items (or groups). If it does not make the mean
    more certain than the labels alone, `prediction_powered` is `labelled_only`.

    For binary numbers there is also the estimator of Rogan and Gladen (1978). Its interval assumes
    independent items and has all shares that are compatible with the judge's share and with its
    sensitivity and specificity (Fieller 1954, with the variances of Lang and Reiczigel 2014). It is
    somewhat wide, since the labelled items are among those judged, and from 0 to 1 where the labels
    do not show that the judge is better than chance.

    The labelled items must be a random sample of all (see `next_to_label`), or one with known
    chances: labels of the hard items only would bias every estimate. With weights, means over
    labels are weighted (active inference: Zrnic and Candes 2024, with the weights of Hajek 1971),
    and the judge's mean is that of all items.

    Args:
        judge: the judge's numbers, (n,); items with None are left out.
        human: people's numbers for the same items, (n,); None without a label.
        groups: the cluster of each item, (n,). Default: items are independent.
        weights: what the label of each item counts, (n,): one over the chance with which it was
            chosen; only those of labelled items count. Default: all the same.
        confidence: the intervals' nominal coverage.

    Returns:
        Means in the unit of the numbers.

    Raises:
        InputError: different lengths, or a value is no number.

    Example:
        >>> judge = [1.0, 1.0, 0.0, 1.0, 0.0, 1.0]
        >>> corrected_mean(judge, [1.0, 0.0, 0.0, None, None, None]).naive.value
        0.6666666666666666
    """
    check_share(confidence, "confidence")
    same_length(judge=judge, human=human)
    f, y = numbers(judge, "judge"), numbers(human, "human")
    clusters = cluster_indices(groups, len(f))
    judged = ~np.isnan(f)
    labelled, unlabelled = judged & ~np.isnan(y), judged & np.isnan(y)
    guessed, labels = f[labelled], y[labelled]
    binary = bool(np.isin(np.concatenate([f[judged], labels]), (0.0, 1.0)).all())
    worth, others = None, unlabelled
    if weights is not None:
        same_length(judge=judge, weights=weights)
        weight = weights_of(numbers(weights, "weights")[labelled], int(labelled.sum()))
        worth, others = effective(weight), judged
    powered, tuning, worth_labels = _prediction_powered(
        f[others],
        guessed,
        labels,
        clusters[others],
        clusters[labelled],
        confidence,
        binary,
        worth,
    )
    gladen, sensitivity, specificity = _rogan_gladen(
        f[judged], guessed, labels, confidence, binary, worth
    )
    return CorrectedMean(
        labelled=int(labelled.sum()),
        unlabelled=int(unlabelled.sum()),
        left_out=int((~judged).sum()),
        naive=_mean(f[judged], clusters[judged], confidence, binary),
        labelled_only=_mean(labels, clusters[labelled], confidence, binary, worth),
        prediction_powered=powered,
        tuning=tuning,
        rogan_gladen=gladen,
        sensitivity=sensitivity,
        specificity=specificity,
        effective_labels=worth_labels,
    )


def _mean(
    values: Floats,
    clusters: Integers,
    confidence: float,
    binary: bool,
    worth: Floats | None = None,
) -> Estimate:
    if binary:
        return share_of(values, clusters, confidence, worth=worth)
    if worth is not None:
        return weighted_mean(values, worth, clusters, (1 + confidence) / 2)
    within = bool(((values >= 0) & (values <= 1)).all())
    return mean_of(values, clusters, (1 + confidence) / 2, (0.0, 1.0) if within else None).mean


def _prediction_powered(
    unlabelled: Floats,
    labelled: Floats,
    labels: Floats,
    unlabelled_clusters: Integers,
    labelled_clusters: Integers,
    confidence: float,
    binary: bool,
    worth: Floats | None,
) -> tuple[Estimate, float | None, float | None]:
    """The estimate, the tuning weight, and the number of labels alone that it is worth."""
    each = np.ones(len(labels)) if worth is None else worth
    n, many = float(each.sum()), len(unlabelled)
    count = len(np.unique(labelled_clusters))
    if count < 2:
        return Estimate(None, undefined="it needs two labelled groups or more"), None, None
    alone = _mean(labels, labelled_clusters, confidence, binary, worth), 0.0, n
    every = np.concatenate([unlabelled, labelled]) if worth is None else unlabelled
    variance = float(every.var(ddof=1))
    if len(np.unique(unlabelled_clusters)) < 2 or variance == 0:
        return alone
    errors = labels - labelled
    weight = 0.0
    if binary:
        effect, freedom = design_effect(errors, labelled_clusters, worth)
        weight = effect * unseen(t_quantile((1 + confidence) / 2, freedom))
    elif (same := mostly_same(errors)) is not None and are_few(same, labelled_clusters):
        return alone
    of_labels, together, of_judge = _moments_with_errors(labels, labelled, weight, each)
    tuning = min(1.0, max(0.0, together / ((1 + n / many) * variance)))
    residuals = labels - tuning * labelled
    effect, freedom = design_effect(residuals, labelled_clusters, worth)
    error = of_labels - 2 * tuning * together + tuning**2 * of_judge
    error *= effect / (n + 2 * weight)
    error += tuning**2 * clustered_variance(unlabelled, unlabelled_clusters)[0]
    of_labels *= design_effect(labels, labelled_clusters, worth)[0] / (n + 2 * weight)
    if error >= of_labels:
        return alone
    value = float(np.average(residuals, weights=each)) + tuning * float(unlabelled.mean())
    equivalent = n * of_labels / error if error > 0 else None
    if binary:
        share = min(1.0, max(0.0, value))
        # The effective number of labels is at least that of their clusters.
        labels_worth = max(min(count, n), share * (1 - share) / error)
        labels_worth /= widening((1 + confidence) / 2, freedom)
        return effective_interval(share, labels_worth, confidence), tuning, equivalent
    spread = math.sqrt(error)
    if spread <= ROUNDING * float(np.abs(np.concatenate([every, labels])).max()):
        spread, equivalent = 0.0, None
    return t_interval(value, spread, freedom, (1 + confidence) / 2), tuning, equivalent


def _moments_with_errors(
    labels: Floats, judge: Floats, weight: float, each: Floats
) -> tuple[float, float, float]:
    """The variance of the labels, their covariance with the judge's numbers and the variance of
    the judge's numbers, with this many errors of each kind (label 1 and judge 0, and the reverse)
    added."""
    weights = np.append(each, (weight, weight))
    pairs = np.array([np.append(labels, (1.0, 0.0)), np.append(judge, (0.0, 1.0))])
    total = float(weights.sum())
    apart = pairs - (pairs @ weights / total)[:, None]
    covariance = (apart * weights) @ apart.T / (total - 1)
    return float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])


def _rogan_gladen(
    judge: Floats,
    labelled: Floats,
    labels: Floats,
    confidence: float,
    binary: bool,
    worth: Floats | None,
) -> tuple[Estimate, float | None, float | None]:
    """The corrected share, with sensitivity and specificity."""
    if not binary:
        return Estimate(None, undefined="the numbers are not all 0 or 1"), None, None
    each = np.ones(len(labels)) if worth is None else worth
    of_met, of_unmet = (effective(each[labels == kind]) for kind in (1, 0))
    positive, negative = float(of_met.sum()), float(of_unmet.sum())
    if positive == 0 or negative == 0:
        return Estimate(None, undefined="it needs labels of both kinds, 0 and 1"), None, None
    hits = float((of_met * labelled[labels == 1]).sum())
    rejections = float((of_unmet * (1 - labelled[labels == 0])).sum())
    sensitivity, specificity = hits / positive, rejections / negative
    corrected = corrected_share(
        float(judge.mean()),
        len(judge),
        sensitivity=sensitivity,
        positive=positive,
        specificity=specificity,
        negative=negative,
        confidence=confidence,
    )
    return corrected, sensitivity, specificity


def corrected_share(
    share: float,
    n: float,
    *,
    sensitivity: float,
    positive: float,
    specificity: float,
    negative: float,
    confidence: float = 0.95,
) -> Estimate:
    """The share that people would give, from the judge's share and its certified error rates.

    The estimator of Rogan and Gladen (1978) with the interval of Fieller (1954) and the
    observations that Lang and Reiczigel (2014) add, which knows that the rates were measured on few
    labels. The labels may be of other items: then the judge must err as often on items of each
    label as it did there.

    Args:
        share: of `n` verdicts that say MET, from 0 to 1.
        n: how many verdicts, as independent ones.
        sensitivity, specificity: the share of people's MET, and of their UNMET, that the judge
            called so.
        positive, negative: how many labels, as independent ones, the two are of.
        confidence: the interval's nominal coverage.

    Returns:
        The share, 0 to 1; undefined for a judge that is no better than chance.

    Raises:
        InputError: a share that is not between 0 and 1, or a number that is not above 0.

    Example:
        >>> rates = {"sensitivity": 0.9, "positive": 50, "specificity": 0.8, "negative": 50}
        >>> print(corrected_share(0.41, 1000, **rates))
        0.300 [0.146, 0.415]
    """
    check_share(confidence, "confidence")
    shares = {"share": share, "sensitivity": sensitivity, "specificity": specificity}
    for name, value in shares.items():
        if not 0 <= number_of(value, name) <= 1:
            raise InputError(f"{name} must be between 0 and 1, found {value}")
    for name, value in {"n": n, "positive": positive, "negative": negative}.items():
        if not number_of(value, name) > 0:
            raise InputError(f"{name} must be above 0, found {value}")
    informed = sensitivity + specificity - 1
    if informed <= 0:
        return Estimate(None, undefined=CHANCE)
    value = min(1.0, max(0.0, (share + specificity - 1) / informed))
    # The shares that the test of Fieller (1954) does not reject, with the observations that Lang
    # and Reiczigel (2014, section 2.2) add: two, for the judge's share z squared.
    z = float(special.ndtri((1 + confidence) / 2))
    se = (sensitivity * positive + 1) / (positive + 2)
    sp = (specificity * negative + 1) / (negative + 2)
    apparent = (n * share + z * z / 2) / (n + z * z)
    of_se, of_sp = se * (1 - se) / (positive + 2), sp * (1 - sp) / (negative + 2)
    of_share = apparent * (1 - apparent) / (n + z * z)

    # Rejected are shares p with (above - slope p)^2 > z^2 (of_share + p^2 of_se + (1 - p)^2 of_sp).
    above, slope = apparent + sp - 1, se + sp - 1
    square = slope**2 - z * z * (of_se + of_sp)
    linear = 2 * (z * z * of_sp - above * slope)
    constant = above**2 - z * z * (of_share + of_sp)
    root = math.sqrt(max(0.0, linear**2 - 4 * square * constant))
    roots = [(-linear + sign * root) / (2 * square) for sign in (-1, 1) if square != 0]
    ends = [value, *(end for end in roots if 0 <= end <= 1)]
    ends += [share for share in (0.0, 1.0) if (square * share + linear) * share + constant <= 0]
    return Estimate(value, min(ends), max(ends))


def next_to_label(labelled: Sequence[bool], count: int, *, seed: int = 0) -> tuple[int, ...]:
    """Choose which of the unlabelled items to label next: a simple random sample (Cochran 1977).

    Args:
        labelled: whether each item has a label already, (n,); None means no.
        count: the number of items to choose; fewer if there are fewer.
        seed: random seed of the order.

    Returns:
        Their positions, in the order in which to label them.

    Raises:
        InputError: a count or seed that is not a whole number from 0 on.

    Example:
        >>> sorted(next_to_label([True, False, False, True], 2))
        [1, 2]
    """
    count, seed = count_of(count, "count"), count_of(seed, "seed")
    indices = np.flatnonzero(np.nan_to_num(outcomes(labelled, "labelled")) == 0)
    order = np.random.default_rng(seed).permutation(indices)
    return tuple(int(index) for index in order[:count])


def weights_by_chance(chances: Sequence[float], total: int) -> list[float]:
    """What the labels of a sample count, if its items had different chances of being chosen.

    An item's weight is `1 / min(1, c * chance)`: one over the probability that it is in the sample
    (Horvitz and Thompson 1952). c is such that the weights sum to the number of items, which is
    known.

    Args:
        chances: of each item in the sample, above 0; only their proportions count.
        total: how many items the sample was drawn from.

    Returns:
        Weights of 1 or more, in the order of the chances.

    Raises:
        InputError: a chance that is no number above 0, or fewer items than chances.

    Example:
        >>> weights_by_chance([0.25, 0.25, 0.5], 10)
        [4.0, 4.0, 2.0]
    """
    every = listed(chances, "chances")
    known = weights_of(every, len(every), "chances")
    total = count_of(total, "total", least=len(every))
    certain = np.zeros(len(known), dtype=bool)
    while not certain.all():
        rest = known[~certain]
        c = float((1 / rest).sum() / (total - certain.sum()))
        more = ~certain & (c * known >= 1)
        if not more.any():
            pairs = zip(certain.tolist(), known.tolist(), strict=True)
            return [1.0 if is_certain else 1 / (c * chance) for is_certain, chance in pairs]
        certain |= more
    return [1.0] * len(known)
