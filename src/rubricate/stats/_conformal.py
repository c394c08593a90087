"""Sets of labels that hold the right one as often as they say: split conformal prediction."""

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
from rubricate.stats._intervals import clustered_mean, clustered_share
from rubricate.stats._resampling import Floats, Groups, Integers, cluster_indices

NOTHING = "there is nothing with probabilities and a label"
Shares = Mapping[Any, float]


@dataclass(frozen=True, slots=True)
class ConformalSets:
    """Which labels a judge's probabilities leave open.

    Attributes:
        coverage: how often the set of a new item is to hold its label, at least.
        thresholds: a label is in the set where its probability is this or more; by label. 0 where
            there are too few items to leave any label out.
        n: items with probabilities and a label.
        clusters: how many clusters they come from.
        held_out: how often the sets held the label, in parts of the data that were held out.
        single: the share of those sets that have one label: what is decided.
        single_right: how often that label was right.
        size: the mean number of labels in a set, held out.
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
        """The labels that these probabilities leave open, the likeliest first; one at least.

        Raises:
            InputError: no mapping of labels to probabilities.
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
    """Sets of labels that hold the right one with probability `coverage`, however good the judge.

    Split conformal prediction (Vovk, Gammerman and Shafer 2005) with one less the probability of a
    label as its score (Sadinle, Lei and Wasserman 2019). It holds for new items that are like these
    and independent of them. Of items that belong together each group counts as one, and it holds
    for items of new groups (Lee, Barber and Willett 2023). A set with one label is a decision,
    any other an abstention. The figures are made by cross-validation in ten parts.

    Args:
        probabilities: of each item, a mapping of labels to probabilities; None where there is none.
        labels: the right label of each item; None where it is not known.
        coverage: between 0 and 1.
        by_label: whether it is to hold for the items of each label by itself, not over all; it
            takes as many items of each label.
        groups: the cluster of each item. Default: each by itself.
        seed: of the parts.

    Raises:
        InputError: different lengths, something is no probability, or a label has none.
    """
    check_share(coverage, "coverage")
    check_flag(by_label, "by_label")
    seed = count_of(seed, "seed")
    n = same_length(probabilities=probabilities, labels=labels)
    clusters, right = cluster_indices(groups, n), answers(labels, "labels")
    given: list[tuple[Shares, Any]] = []
    at = []
    for index, shares in enumerate(listed(probabilities, "probabilities")):
        if is_missing(shares) or right[index] is None:
            continue
        found = _shares(shares, f"probabilities of item {index}")
        if right[index] not in found:
            raise InputError(
                f"probabilities of item {index}: none for its label {brief(right[index])}"
            )
        given.append((found, right[index]))
        at.append(index)
    clusters = clusters[at]
    if not given:
        none = Estimate(None, undefined=NOTHING)
        return ConformalSets(coverage, {}, 0, 0, none, none, none, none, NOTHING)
    parts = folds_of(clusters, seed)
    sets: list[tuple[Any, ...]] = [()] * len(given)
    for part in np.unique(parts).tolist():
        rest = _thresholds(given, clusters, parts != part, coverage, by_label)
        for index in np.flatnonzero(parts == part).tolist():
            sets[index] = _set(given[index][0], rest)
    of = clusters.tolist() if groups is not None else None
    single = [len(one) == 1 for one in sets]
    hits = [truth in one for one, (_, truth) in zip(sets, given, strict=True)]
    return ConformalSets(
        coverage,
        _thresholds(given, clusters, np.ones(len(given), dtype=bool), coverage, by_label),
        n=len(given),
        clusters=len(np.unique(clusters)),
        held_out=clustered_share(hits, groups=of),
        single=clustered_share(single, groups=of),
        single_right=clustered_share(
            [hit if alone else None for hit, alone in zip(hits, single, strict=True)], groups=of
        ),
        size=clustered_mean([float(len(one)) for one in sets], groups=of).mean,
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
    given: Sequence[tuple[Shares, Any]],
    clusters: Integers,
    kept: Any,
    coverage: float,
    by_label: bool,
) -> dict[Any, float]:
    """The least probability of each label that is in a set, from the items that are kept."""
    scores = np.array([1 - shares[truth] for shares, truth in given])
    every = dict.fromkeys(label for shares, _ in given for label in shares)
    if not by_label:
        return dict.fromkeys(every, _least(scores[kept], clusters[kept], coverage))
    truths = np.array([list(every).index(truth) for _, truth in given])
    return {
        label: _least(scores[kept & (truths == at)], clusters[kept & (truths == at)], coverage)
        for at, label in enumerate(every)
    }


def _least(scores: Floats, clusters: Integers, coverage: float) -> float:
    """One less the quantile of the scores, every cluster with the weight of one item.

    The quantile is that of the clusters and one more, whose score is beyond all (Lee, Barber and
    Willett 2023, equation 6); of independent items it is the `ceil((n + 1) * coverage)`-th score.
    """
    _, position, sizes = np.unique(clusters, return_inverse=True, return_counts=True)
    count = len(sizes)
    if coverage * (count + 1) > count * (1 + 1e-12):
        return 0.0
    order = np.argsort(scores, kind="stable")
    reached = np.cumsum(1 / sizes[position[order]]) / (count + 1)
    at = int(np.searchsorted(reached, coverage - 1e-12))
    return float(1 - scores[order[min(at, len(scores) - 1)]])
