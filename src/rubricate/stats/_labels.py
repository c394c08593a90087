"""Agreement of a judge's labels with people's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, TypeAlias

import numpy as np

from rubricate.errors import InputError
from rubricate.stats import _confusion
from rubricate.stats._agreement import ONE_PAIR
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import (
    abstention_of,
    answers,
    brief,
    check_choice,
    check_flag,
    in_order,
    labels_of,
    same_length,
)
from rubricate.stats._intervals import exact_interval, share_interval
from rubricate.stats._numbers import Floats, Integers, effective, weights_of
from rubricate.stats._posterior import Coefficient, coefficient_intervals, table_priors
from rubricate.stats._resampling import Bootstrap, Groups, cluster_indices, explained

Undecided: TypeAlias = Literal["exclude", "label", "wrong"]
NO_ANSWER = "(no answer)"
NO_PAIR = "there is no pair in which both decided"
ONE_CHOICE = "there is only one label to choose"
ONE_LABEL = "both gave one and the same label throughout"

BY_LABEL = ("precision", "recall", "f1", "false_positive_rate", "false_negative_rate")

MEANS = {"balanced_accuracy": "recall", "macro_f1": "f1"}
"""Figures that are the mean over labels of another."""
NOT_ALL = "no interval: it needs two labels, and people's answers with each label"

_WHY = {
    **dict.fromkeys(("accuracy", "balanced_accuracy", "macro_f1"), NO_PAIR),
    **dict.fromkeys(
        ("cohen_kappa", "linear_kappa", "quadratic_kappa", "krippendorff_alpha"), ONE_LABEL
    ),
    **dict.fromkeys(("gwet_ac1", "linear_ac2", "quadratic_ac2"), ONE_CHOICE),
    "matthews": "one of the two gave one label throughout",
    "precision": "the judge never gave this label",
    "recall": "no person gave this label",
    "f1": "neither gave this label",
    "false_positive_rate": "people gave no other label",
    "false_negative_rate": "no person gave this label",
}


@dataclass(frozen=True, slots=True)
class LabelAgreement:
    """The agreement of a judge's labels with people's.

    Attributes:
        n: the number of pairs that count.
        clusters: the number of clusters that they come from.
        labels: the labels, in order.
        confusion: the number of pairs by label; people's labels in rows, the judge's in columns.
        figures: `accuracy`, `balanced_accuracy`, `macro_f1`, `cohen_kappa`, `gwet_ac1`,
            `krippendorff_alpha`, `matthews`; for ordered labels also `linear_kappa`,
            `quadratic_kappa`, `linear_ac2` and `quadratic_ac2`.
        by_label: for each label against the rest: `precision`, `recall`, `f1`,
            `false_positive_rate`, `false_negative_rate`.
        undecided: the policy that was used: `exclude`, `label` or `wrong`.
        not_decided: the number of pairs in which one side did not decide, by cause, whatever the
            policy.
    """

    n: int
    clusters: int
    labels: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    figures: Mapping[str, Estimate]
    by_label: Mapping[str, Mapping[str, Estimate]]
    undecided: Undecided
    not_decided: Mapping[str, int]


def label_agreement(
    judge: Sequence[str | None],
    human: Sequence[str | None],
    *,
    labels: Sequence[str] | None = None,
    ordered: bool = False,
    undecided: Undecided = "exclude",
    abstention: str | None = "CANNOT_ASSESS",
    groups: Groups = None,
    weights: Sequence[float] | None = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> LabelAgreement:
    """Agreement of two raters' labels of the same items.

    The formulas and their sources: accuracy; balanced accuracy (Brodersen et al. 2010); precision,
    recall, F1 (van Rijsbergen 1979); kappa (Cohen 1960, 1968); AC1 and AC2 (Gwet 2008, 2014); alpha
    (Krippendorff 2011; ordinal if `ordered`); Matthews (Gorodkin 2004).

    Intervals of shares (accuracy, precision, recall, error rates) are exact (Clopper and Pearson
    1934), with groups for the effective number of pairs (see `clustered_share`). F1 is 2 J / (1 +
    J), where J is the share of pairs in which both sides gave the label among those in which either
    did, so its ends are those of J. The ends of balanced accuracy and macro-F1 are the means of
    their labels' ends (Zou and Donner 2008, for estimates that may depend on each other), and there
    are none if people never gave one of the labels. The other intervals are the middle of the
    coefficient's posterior distributions by two priors, one for each end (Agresti and Min 2005,
    Walley 1996), also for the effective number of pairs.

    With weights, every share is that of the weights (Hajek 1971), and the effective number of pairs
    is smaller by their spread, too (Kish 1965). The confusion counts pairs.

    Args:
        judge, human: labels of the same items in the same order, (n,); None for no answer.
        labels: all possible labels, in order. Default: those that occur, sorted.
        ordered: whether the labels are ranks.
        undecided: how a pair counts if one side abstained or has no answer. `exclude`: it is left
            out. `label`: an abstention is a label like the others; only missing answers are left
            out. `wrong`: the judge is wrong if it does not decide and the person did; that has no
            rank, so `ordered` must be false.
        abstention: the label that is an abstention; None if there is none.
        groups: the cluster of each pair, for the intervals. Default: pairs are independent.
        weights: what each pair counts, (n,): one over the chance with which its item was chosen.
            Default: all the same.
        bootstrap: the number of draws, confidence and seed; None for no intervals.

    Returns:
        Figures from 0 to 1; kappa, alpha, AC and Matthews are at most 1, and 0 for chance.

    Raises:
        InputError: the sequences differ in length, or a label is not one of `labels`.

    Example:
        >>> agreement = label_agreement(["yes", "no", "yes", "no"], ["yes", "no", "no", "no"])
        >>> agreement.figures["accuracy"].value, agreement.figures["cohen_kappa"].value
        (0.75, 0.5)
    """
    check_flag(ordered, "ordered")
    pairs, causes, abstention = _counted(judge, human, undecided, abstention)
    if ordered and undecided != "exclude":
        raise InputError(f"undecided='{undecided}' needs labels without an order")
    clusters = cluster_indices(groups, len(causes))
    kept = [(answer, truth) for _, answer, truth in pairs]
    names = _names(kept, labels, undecided, abstention, ordered)
    number = {name: position for position, name in enumerate(names)}
    kinds = len(names)
    index = np.array([number[t] * kinds + number[a] for a, t in kept], dtype=np.int64)
    places = [position for position, _, _ in pairs]
    members = clusters[places]
    worth = None if weights is None else effective(weights_of(weights, len(causes))[places])
    spreads = coefficient_intervals(
        index,
        members,
        table_priors(kinds, ordered=ordered),
        _coefficients(ordered),
        bootstrap,
        worth,
    )
    confusion = np.bincount(index, minlength=kinds * kinds).reshape(kinds, kinds)
    shares = _shares(_by_cluster(index, members, kinds, worth))

    def share(name: str, *at: int) -> Estimate:
        part, whole = (counts[:, at[0]] if at else counts for counts in shares[name])
        if whole.sum() == 0:
            return Estimate(None, undefined=_WHY[name] if kept else NO_PAIR)
        if bootstrap is None:
            estimate = Estimate(float(part.sum() / whole.sum()))
        elif groups is None and worth is None:
            n, level = int(whole.sum()), bootstrap.confidence
            estimate = exact_interval(int(part.sum()), n, confidence=level)
        else:
            estimate = share_interval(part, whole, bootstrap.confidence)
        return estimate.mapped(lambda both: 2 * both / (1 + both)) if name == "f1" else estimate

    by_label = [{name: share(name, position) for name in BY_LABEL} for position in range(kinds)]
    every_label = kinds > 1 and all(
        of_people or name == NO_ANSWER
        for name, of_people in zip(names, confusion.sum(1).tolist(), strict=True)
    )

    def figure(name: str) -> Estimate:
        if name in spreads:
            estimate = spreads[name]
            if len(kept) == 1 and estimate.value is not None and _WHY[name] == ONE_LABEL:
                return Estimate(None, undefined=ONE_PAIR)
            return explained(estimate, _WHY[name] if kept else NO_PAIR)
        if name not in MEANS:
            return share(name)
        why_not = None if every_label or bootstrap is None else NOT_ALL
        return _mean_over_labels([figures[MEANS[name]] for figures in by_label], why_not)

    return LabelAgreement(
        n=len(kept),
        clusters=len(set(members.tolist())),
        labels=tuple(names),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        figures={name: figure(name) for name in ("accuracy", *MEANS, *spreads)},
        by_label=dict(zip(names, by_label, strict=True)),
        undecided=undecided,
        not_decided=dict(sorted(Counter(filter(None, causes)).items())),
    )


def decided_pairs(
    judge: Sequence[Any],
    human: Sequence[Any],
    *,
    undecided: Undecided = "exclude",
    abstention: str | None = "CANNOT_ASSESS",
) -> list[tuple[int, Any, Any]]:
    """The pairs of answers that count, with their indices.

    Args:
        judge: the judge's answers, (n,); None for a failure.
        human: people's labels of the same items, (n,); None for a missing one.
        undecided: how abstentions and failures count; see `label_agreement`.
        abstention: the label of an abstention; None if there is none.

    Returns:
        The index, the judge's answer and the person's for each pair that counts, in order.

    Raises:
        InputError: the sequences differ in length, or a value is no label.

    Example:
        >>> decided_pairs(["yes", None, "no"], ["yes", "yes", "yes"])
        [(0, 'yes', 'yes'), (2, 'no', 'yes')]
    """
    return _counted(judge, human, undecided, abstention)[0]


def _counted(
    judge: Sequence[Any], human: Sequence[Any], undecided: Undecided, abstention: str | None
) -> tuple[list[tuple[int, Any, Any]], list[str | None], str | None]:
    """`decided_pairs`; for every pair the cause if it is not decided; and the abstention."""
    check_choice(undecided, "undecided", "exclude", "label", "wrong")
    judge, human = answers(judge, "judge"), answers(human, "human")
    same_length(judge=judge, human=human)
    abstention = abstention_of(abstention)
    causes, counted = [], []
    for position, (answer, truth) in enumerate(zip(judge, human, strict=True)):
        cause = _cause(answer, truth, abstention)
        causes.append(cause)
        if truth is None or (cause is not None and undecided == "exclude"):
            continue
        if undecided == "wrong" and cause is not None:
            if truth != abstention:
                counted.append((position, NO_ANSWER, truth))
        elif answer is not None:
            counted.append((position, answer, truth))
    return counted, causes, abstention


def _cause(answer: str | None, truth: str | None, abstention: str | None) -> str | None:
    """Why a pair is not decided; None if it is."""
    if truth is None:
        return "no human label"
    if answer is None:
        return "no answer of the judge"
    if abstention is not None and truth == abstention:
        return "human abstained"
    if abstention is not None and answer == abstention:
        return "judge abstained"
    return None


def _names(
    kept: Sequence[tuple[str, str]],
    labels: Sequence[str] | None,
    undecided: Undecided,
    abstention: str | None,
    ordered: bool,
) -> list[str]:
    present = {label for pair in kept for label in pair}
    if labels is None:
        return in_order(present, "judge, human", ranked=ordered) or [""]
    allowed = labels_of(labels)
    names = [label for label in allowed if undecided == "label" or label != abstention]
    extra = {NO_ANSWER, abstention} if undecided != "exclude" else set()
    unknown = in_order(present - set(names) - extra)
    if unknown:
        known = ", ".join(brief(name).strip("'") for name in names)
        whose = "judge" if any(answer == unknown[0] for answer, _ in kept) else "human"
        raise InputError(f"{whose}: '{unknown[0]}' is not one of the labels: {known}")
    return names + in_order(present - set(names)) or [""]


def _mean_over_labels(figures: Sequence[Estimate], why_not: str | None) -> Estimate:
    """The mean of the figures that are defined; `why_not` is the reason for no interval."""
    values = [figure.value for figure in figures if figure.value is not None]
    if not values:
        return Estimate(None, undefined=NO_PAIR)
    value = sum(values) / len(values)
    lows = [figure.low for figure in figures if figure.low is not None]
    highs = [figure.high for figure in figures if figure.high is not None]
    if why_not is not None or len(lows) < len(values):
        reasons = (figure.undefined for figure in figures if figure.value is not None)
        return Estimate(value, undefined=why_not or next(filter(None, reasons), None))
    return Estimate(value, sum(lows) / len(lows), sum(highs) / len(highs))


def _by_cluster(
    index: Integers, clusters: Integers, kinds: int, worth: Floats | None = None
) -> Floats:
    """Each cluster's confusion matrix, (G, K, K)."""
    _, position = np.unique(clusters, return_inverse=True)
    count = int(position.max()) + 1 if len(position) else 0
    cells_of = position * kinds * kinds + index
    counts = np.bincount(cells_of, worth, minlength=count * kinds * kinds)
    return counts.reshape(count, kinds, kinds).astype(np.float64)


def _shares(confusion: Floats) -> dict[str, tuple[Floats, Floats]]:
    """The figures that are plain shares, as part and whole of each cluster, (G,) or (G, K)."""
    hits = np.diagonal(confusion, axis1=1, axis2=2)
    truth, judge, n = confusion.sum(2), confusion.sum(1), confusion.sum((1, 2))
    return {
        "accuracy": (hits.sum(1), n),
        "precision": (hits, judge),
        "recall": (hits, truth),
        "f1": (hits, truth + judge - hits),
        "false_positive_rate": (judge - hits, n[:, None] - truth),
        "false_negative_rate": (truth - hits, truth),
    }


def _coefficients(ordered: bool) -> dict[str, Coefficient]:
    """The other figures, of tables (b, K * K)."""

    def alpha(tables: Floats) -> Floats:
        coincidences = tables + np.swapaxes(tables, -1, -2)
        return _confusion.krippendorff_alpha(coincidences, ordered=ordered)

    coefficients: dict[str, Coefficient] = {
        "cohen_kappa": _confusion.cohen_kappa,
        "gwet_ac1": _confusion.gwet_ac,
        "krippendorff_alpha": alpha,
        "matthews": _confusion.matthews,
    }
    if ordered:
        coefficients |= {
            "linear_kappa": partial(_confusion.cohen_kappa, power=1),
            "quadratic_kappa": partial(_confusion.cohen_kappa, power=2),
            "linear_ac2": partial(_confusion.gwet_ac, power=1),
            "quadratic_ac2": partial(_confusion.gwet_ac, power=2),
        }

    def of_cells(value: Coefficient, counts: Floats) -> Floats:
        kinds = math.isqrt(counts.shape[-1])
        return value(counts.reshape(-1, kinds, kinds))

    return {name: partial(of_cells, value) for name, value in coefficients.items()}
