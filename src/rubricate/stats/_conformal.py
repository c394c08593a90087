"""Prediction sets with guaranteed coverage: split conformal prediction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubricate.errors import InputError
from rubricate.stats._discrimination import folds_of
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import (
    answers,
    brief,
    check_flag,
    check_share,
    count_of,
    is_missing,
    listed,
    number_of,
    same_length,
)
from rubricate.stats._intervals import clustered_share
from rubricate.stats._numbers import Floats, Integers
from rubricate.stats._resampling import Groups, cluster_indices

NOTHING = "there is nothing with probabilities and a label"
BY_THRESHOLD = "no interval: all items share thresholds that the labels set"
"""The size of sets varies with the thresholds, which hardly differ between held-out parts: by
simulation an interval for independent items covers 58 to 75 % with 14 to 80 items."""
Shares = Mapping[Any, float]


@dataclass(frozen=True, slots=True)
class ConformalSets:
    """Prediction sets of labels; call it with a mapping of labels to probabilities.

    Attributes:
        coverage: the probability that the set of a new item has its label, at least.
        thresholds: by label, the least probability with which it is in the set. 0 if there are too
            few items to exclude any label.
        n: the number of items with probabilities and a label.
        clusters: the number of clusters that they come from.
        held_out: the share of sets that have the right label, on held-out parts of the data.
        single: the share of those sets with a single label, which is a decision; no interval.
        single_right: the share of those labels that are right.
        size: the mean number of labels in a set, on held-out data; no interval.
        undefined: why there is no figure.
    """

    coverage: float
    thresholds: Mapping[Any, float]
    n: int
    clusters: int
    held_out: Estimate
    single: Estimate
    single_right: Estimate
    size: Estimate
    undefined: str | None = None

    def __call__(self, probabilities: Shares) -> tuple[Any, ...]:
        """The prediction set, the most likely label first; at least one label.

        Raises:
            InputError: it is no mapping of labels to probabilities.
        """
        return _set(_shares(probabilities, "probabilities"), self.thresholds)


def conformal_sets(
    probabilities: Sequence[Shares | None],
    labels: Sequence[Any],
    *,
    coverage: float = 0.9,
    by_label: bool = False,
    groups: Groups = None,
    seed: int = 0,
) -> ConformalSets:
    """Sets of labels that contain the right one with probability `coverage`, for any judge.

    Split conformal prediction (Vovk, Gammerman and Shafer 2005) with one less the probability of a
    label as its score (Sadinle, Lei and Wasserman 2019). The guarantee is for new items from the
    same distribution, independent of these. Every group counts as one item, and the guarantee is
    then for items of new groups (Lee, Barber and Willett 2023). A set with one label is a decision,
    any other an abstention. The figures are made by cross-validation in ten parts.

    Args:
        probabilities: for each item a mapping of labels to probabilities, (n,); None for a missing
            one.
        labels: the right label of each item, (n,); None if unknown.
        coverage: between 0 and 1.
        by_label: whether the guarantee is for the items of each label, instead of over all labels;
            this needs as many items of each label.
        groups: the cluster of each item, (n,). Default: items are independent.
        seed: random seed of the parts.

    Raises:
        InputError: different lengths, a value is no probability, or an item's label has none.

    Example:
        >>> sets = conformal_sets([{"a": 0.9, "b": 0.1}] * 20, ["a"] * 20)
        >>> sets({"a": 0.95, "b": 0.05})
        ('a',)
    """
    check_share(coverage, "coverage")
    check_flag(by_label, "by_label")
    seed = count_of(seed, "seed")
    n = same_length(probabilities=probabilities, labels=labels)
    clusters, right = cluster_indices(groups, n), answers(labels, "labels")
    cases: list[tuple[Shares, Any]] = []
    indices = []
    for index, item in enumerate(listed(probabilities, "probabilities")):
        if is_missing(item) or right[index] is None:
            continue
        shares = _shares(item, f"probabilities of item {index}")
        if right[index] not in shares:
            raise InputError(
                f"probabilities of item {index}: none for its label {brief(right[index])}"
            )
        cases.append((shares, right[index]))
        indices.append(index)
    clusters = clusters[indices]
    if not cases:
        none = Estimate(None, undefined=NOTHING)
        return ConformalSets(coverage, {}, 0, 0, none, none, none, none, NOTHING)
    parts = folds_of(clusters, seed)
    sets: list[tuple[Any, ...]] = [()] * len(cases)
    for part in np.unique(parts).tolist():
        thresholds = _thresholds(cases, clusters, parts != part, coverage, by_label)
        for index in np.flatnonzero(parts == part).tolist():
            sets[index] = _set(cases[index][0], thresholds)
    of = clusters.tolist() if groups is not None else None
    sizes = [len(labels_in) for labels_in in sets]
    single = [size == 1 for size in sizes]
    hits = [truth in labels_in for labels_in, (_, truth) in zip(sets, cases, strict=True)]
    return ConformalSets(
        coverage,
        _thresholds(cases, clusters, np.ones(len(cases), dtype=bool), coverage, by_label),
        n=len(cases),
        clusters=len(np.unique(clusters)),
        held_out=clustered_share(hits, groups=of),
        single=Estimate(float(np.mean(single)), undefined=BY_THRESHOLD),
        single_right=clustered_share(
            [hit if alone else None for hit, alone in zip(hits, single, strict=True)], groups=of
        ),
        size=Estimate(float(np.mean(sizes)), undefined=BY_THRESHOLD),
    )


def _shares(shares: Any, name: str) -> Shares:
    """A mapping of labels to probabilities."""
    if not isinstance(shares, Mapping) or not shares:
        raise InputError(
            f"{name}: a mapping of labels to probabilities is needed, found {brief(shares)}"
        )
    for label, share in shares.items():
        if not 0 <= number_of(share, name) <= 1:
            raise InputError(f"{name}: {brief(share)} of {brief(label)} is not between 0 and 1")
    return shares


def _set(shares: Shares, thresholds: Mapping[Any, float]) -> tuple[Any, ...]:
    ordered = sorted(shares, key=lambda label: -shares[label])
    return tuple(
        label
        for place, label in enumerate(ordered)
        if place == 0 or shares[label] >= thresholds.get(label, 0.0)
    )


def _thresholds(
    cases: Sequence[tuple[Shares, Any]],
    clusters: Integers,
    kept: Any,
    coverage: float,
    by_label: bool,
) -> dict[Any, float]:
    """The least probability of each label in a set, from the items that are kept."""
    scores = np.array([1 - shares[truth] for shares, truth in cases])
    every = dict.fromkeys(label for shares, _ in cases for label in shares)
    if not by_label:
        return dict.fromkeys(every, _least(scores[kept], clusters[kept], coverage))
    truths = np.array([list(every).index(truth) for _, truth in cases])
    return {
        label: _least(scores[kept & (truths == at)], clusters[kept & (truths == at)], coverage)
        for at, label in enumerate(every)
    }


def _least(scores: Floats, clusters: Integers, coverage: float) -> float:
    """One less the quantile of the scores, every cluster with the weight of one item.

    The quantile is that of the clusters and one more, with an infinite score (Lee, Barber and
    Willett 2023, equation 6); for independent items it is the `ceil((n + 1) * coverage)`-th score.
    """
    _, position, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    count = len(sizes)
    if coverage * (count + 1) > count * (1 + 1e-12):
        return 0.0
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(1 / sizes[position[order]]) / (count + 1)
    at = int(np.searchsorted(reached, coverage - 1e-12))
    return float(1 - scores[order[min(at, len(scores) - 1)]])
