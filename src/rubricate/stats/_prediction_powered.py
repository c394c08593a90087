"""Prediction-powered inference: a judge's mean over many items, corrected by labels of some."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, same_length
from rubricate.stats._intervals import (
    clustered_variance,
    design_effect,
    effective_interval,
    mean_of,
    share_of,
    t_interval,
)
from rubricate.stats._numbers import Floats, Integers, numbers, outcomes, t_quantile, widening
from rubricate.stats._resampling import ROUNDING, Groups, cluster_indices
from rubricate.stats._unseen import are_few, mostly_same, unseen


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
    confidence: float = 0.95,
) -> CorrectedMean:
    """The mean that people would give, from a judge's numbers and a few labels.

    Prediction-powered inference with tuned weight (PPI++: Angelopoulos, Duchi and Zrnic 2023,
    after Angelopoulos et al. 2023): `tuning * mean(unlabelled judge) + mean(labels - tuning *
    labelled judge)`, `tuning = cov(label, judge) / ((1 + n / N) * var(judge))` clipped to [0, 1],
    with a t interval over the labelled clusters. If all numbers are 0 or 1, the mean is clipped to
    this range, and the intervals are those of `clustered_share`, from the same variance, because in
    simulations (`docs/statistics.md`) t intervals cover a share near 0 or 1 too seldom.

    Few labels may show none of the judge's errors, which is not evidence that there are none. So
    errors of both kinds are added to binary labels before the covariance and the variance are
    estimated, half the squared quantile of each kind (Agresti and Coull 1998). For other numbers
    the judge is used once it erred on 5 labelled items (or groups). If it does not make the mean
    more certain than the labels alone, `prediction_powered` is `labelled_only`.

    For binary numbers there is also the estimator of Rogan and Gladen (1978) with the interval of
    Lang and Reiczigel (2014), which assumes independent items and is somewhat wide, since the
    labelled items are among those judged.

    The labelled items must be a random sample of all (see `next_to_label`): labels of the hard
    items only would bias every estimate.

    Args:
        judge: the judge's numbers, (n,); items with None are left out.
        human: people's numbers for the same items, (n,); None without a label.
        groups: the cluster of each item, (n,). Default: items are independent.
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
    powered, tuning, effective = _prediction_powered(
        f[unlabelled], guessed, labels, clusters[unlabelled], clusters[labelled], confidence, binary
    )
    gladen, sensitivity, specificity = _rogan_gladen(f[judged], guessed, labels, confidence, binary)
    return CorrectedMean(
        labelled=int(labelled.sum()),
        unlabelled=int(unlabelled.sum()),
        left_out=int((~judged).sum()),
        naive=_mean(f[judged], clusters[judged], confidence, binary),
        labelled_only=_mean(labels, clusters[labelled], confidence, binary),
        prediction_powered=powered,
        tuning=tuning,
        rogan_gladen=gladen,
        sensitivity=sensitivity,
        specificity=specificity,
        effective_labels=effective,
    )


def _mean(values: Floats, clusters: Integers, confidence: float, binary: bool) -> Estimate:
    if binary:
        return share_of(values, clusters, confidence)
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
) -> tuple[Estimate, float | None, float | None]:
    """The estimate, the tuning weight, and the number of labels alone that it is worth."""
    n, many = len(labels), len(unlabelled)
    count = len(np.unique(labelled_clusters))
    if count < 2:
        return Estimate(None, undefined="it needs two labelled clusters or more"), None, None
    alone = _mean(labels, labelled_clusters, confidence, binary), 0.0, float(n)
    every = np.concatenate([unlabelled, labelled])
    variance = float(every.var(ddof=1))
    if len(np.unique(unlabelled_clusters)) < 2 or variance == 0:
        return alone
    errors = labels - labelled
    weight = 0.0
    if binary:
        effect, freedom = design_effect(errors, labelled_clusters)
        weight = effect * unseen(t_quantile((1 + confidence) / 2, freedom))
    elif (same := mostly_same(errors)) is not None and are_few(same, labelled_clusters):
        return alone
    of_labels, together, of_judge = _moments_with_errors(labels, labelled, weight)
    tuning = min(1.0, max(0.0, together / ((1 + n / many) * variance)))
    residuals = labels - tuning * labelled
    effect, freedom = design_effect(residuals, labelled_clusters)
    error = of_labels - 2 * tuning * together + tuning**2 * of_judge
    error *= effect / (n + 2 * weight)
    error += tuning**2 * clustered_variance(unlabelled, unlabelled_clusters)[0]
    of_labels *= design_effect(labels, labelled_clusters)[0] / (n + 2 * weight)
    if error >= of_labels:
        return alone
    value = float(residuals.mean()) + tuning * float(unlabelled.mean())
    effective = n * of_labels / error if error > 0 else None
    if binary:
        share = min(1.0, max(0.0, value))
        # The effective number of labels is at least that of their clusters.
        labels_worth = max(count, share * (1 - share) / error)
        labels_worth /= widening((1 + confidence) / 2, freedom)
        return effective_interval(share, labels_worth, confidence), tuning, effective
    spread = math.sqrt(error)
    if spread <= ROUNDING * float(np.abs(np.concatenate([every, labels])).max()):
        spread, effective = 0.0, None
    return t_interval(value, spread, freedom, (1 + confidence) / 2), tuning, effective


def _moments_with_errors(
    labels: Floats, judge: Floats, weight: float
) -> tuple[float, float, float]:
    """The variance of the labels, their covariance with the judge's numbers and the variance of
    the judge's numbers, with this many errors of each kind (label 1 and judge 0, and the reverse)
    added."""
    weights = np.append(np.ones(len(labels)), (weight, weight))
    pairs = np.array([np.append(labels, (1.0, 0.0)), np.append(judge, (0.0, 1.0))])
    total = float(weights.sum())
    covariance = np.cov(pairs, aweights=weights, ddof=0) * total / (total - 1)
    return float(covariance[0, 0]), float(covariance[0, 1]), float(covariance[1, 1])


def _rogan_gladen(
    judge: Floats, labelled: Floats, labels: Floats, confidence: float, binary: bool
) -> tuple[Estimate, float | None, float | None]:
    """The corrected share, with sensitivity and specificity."""
    if not binary:
        return Estimate(None, undefined="the numbers are not all 0 or 1"), None, None
    positive, negative = int(labels.sum()), int(len(labels) - labels.sum())
    if positive == 0 or negative == 0:
        return Estimate(None, undefined="it needs labels of both kinds, 0 and 1"), None, None
    hits = float(labelled[labels == 1].sum())
    rejections = float((1 - labelled[labels == 0]).sum())
    sensitivity, specificity = hits / positive, rejections / negative
    informed = sensitivity + specificity - 1
    if informed <= 0:
        why = "the judge is no better than chance: sensitivity + specificity is 1 or less"
        return Estimate(None, undefined=why), sensitivity, specificity
    n, share = len(judge), float(judge.mean())
    value = min(1.0, max(0.0, (share + specificity - 1) / informed))
    # Lang and Reiczigel (2014), section 2.2: two (z squared for the share) added observations.
    z = float(special.ndtri((1 + confidence) / 2))
    se, sp = (hits + 1) / (positive + 2), (rejections + 1) / (negative + 2)
    apparent = (n * share + z * z / 2) / (n + z * z)
    if se + sp <= 1:
        return Estimate(value, undefined="no interval: too few labels"), sensitivity, specificity
    middle = min(1.0, max(0.0, (apparent + sp - 1) / (se + sp - 1)))
    of_se, of_sp = se * (1 - se) / (positive + 2), sp * (1 - sp) / (negative + 2)
    shift = 2 * z * z * (middle * of_se - (1 - middle) * of_sp)
    of_share = apparent * (1 - apparent) / (n + z * z)
    variance = of_share + middle**2 * of_se + (1 - middle) ** 2 * of_sp
    half = z * math.sqrt(variance) / (se + sp - 1)
    low, high = max(0.0, middle + shift - half), min(1.0, middle + shift + half)
    return Estimate(value, min(low, value), max(high, value)), sensitivity, specificity


@dataclass(frozen=True, slots=True)
class LabelPlan:
    """The items to label next.

    Attributes:
        items: their positions, in the order to label them.
        random: whether they are a random sample, which `corrected_mean` needs.
    """

    items: tuple[int, ...]
    random: bool


def next_to_label(
    labelled: Sequence[bool],
    count: int,
    *,
    uncertainty: Sequence[float | None] | None = None,
    seed: int = 0,
) -> LabelPlan:
    """Choose which of the unlabelled items to label next.

    Without `uncertainty` it is a simple random sample, which `corrected_mean` needs. With it, the
    most uncertain items come first (uncertainty sampling, Lewis and Gale 1994): use this to find
    where the judge errs and what to fix, but not to estimate a mean.

    Args:
        labelled: whether each item has a label already, (n,); None means no.
        count: the number of items to choose; fewer if there are fewer.
        uncertainty: the judge's uncertainty about each item, (n,), such as `1 - probability` or the
            standard deviation of several judges; None counts as most uncertain.
        seed: random seed of the order, and of the order of equally uncertain items.

    Raises:
        InputError: different lengths, or a count or seed that is not a whole number from 0 on.

    Example:
        >>> next_to_label([True, False, False, False], 2, uncertainty=[0.5, 0.1, 0.4, 0.3]).items
        (2, 3)
    """
    count, seed = count_of(count, "count"), count_of(seed, "seed")
    indices = np.flatnonzero(np.nan_to_num(outcomes(labelled, "labelled")) == 0)
    order = np.random.default_rng(seed).permutation(indices)
    if uncertainty is None:
        return LabelPlan(tuple(int(index) for index in order[:count]), True)
    same_length(labelled=labelled, uncertainty=uncertainty)
    values = np.nan_to_num(numbers(uncertainty, "uncertainty"), nan=np.inf)
    order = order[np.argsort(-values[order], kind="stable")]
    return LabelPlan(tuple(int(index) for index in order[:count]), False)
