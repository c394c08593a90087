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
from rubricate.stats._intervals import share_interval, wilson_interval
from rubricate.stats._posterior import coefficient_intervals, table_prior
from rubricate.stats._resampling import (
    Bootstrap,
    Floats,
    Groups,
    Integers,
    cluster_indices,
    explained,
)
from rubricate.stats._unseen import LEAST_OTHERS

Undecided: TypeAlias = Literal["exclude", "label", "wrong"]
NO_ANSWER = "(no answer)"
NO_PAIR = "there is no pair in which both decided"
ONE_CHOICE = "there is only one label to choose"
ONE_LABEL = "both gave one and the same label throughout"

FIGURES = (
    "accuracy",
    "balanced_accuracy",
    "macro_f1",
    "cohen_kappa",
    "gwet_ac1",
    "krippendorff_alpha",
    "matthews",
)
IN_ORDER = ("linear_kappa", "quadratic_kappa", "linear_ac2", "quadratic_ac2")
BY_LABEL = ("precision", "recall", "f1", "false_positive_rate", "false_negative_rate")

OF_RARE = frozenset({"balanced_accuracy", "macro_f1", "f1"})
"""What each label counts as much in as the others, however rare it is."""
RARE = "no interval: it needs five items or groups of each label"

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
    """How far a judge's labels agree with people's.

    Attributes:
        n: pairs that count.
        clusters: how many clusters they come from.
        labels: the labels, in order.
        confusion: how often each pair came; people's labels in rows, the judge's in columns.
        figures: `accuracy`, `balanced_accuracy`, `macro_f1`, `cohen_kappa`, `gwet_ac1`,
            `krippendorff_alpha`, `matthews`; `linear_kappa`, `quadratic_kappa`, `linear_ac2` and
            `quadratic_ac2` too where the labels are ordered.
        by_label: of each label against the rest: `precision`, `recall`, `f1`,
            `false_positive_rate`, `false_negative_rate`.
        undecided: the policy that was used: `exclude`, `label` or `wrong`.
        not_decided: pairs in which one did not decide, by cause, whatever the policy.
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
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> LabelAgreement:
    """Agreement of two raters' labels of the same things.

    The formulas and their sources: accuracy; balanced accuracy (Brodersen et al. 2010); precision,
    recall, F1 (van Rijsbergen 1979); kappa (Cohen 1960, 1968); AC1 and AC2 (Gwet 2008, 2014); alpha
    (Krippendorff 2011; ordinal where `ordered`); Matthews (Gorodkin 2004). Intervals of plain
    shares (accuracy, precision, recall, error rates) are Wilson's (1927), with groups for the
    effective number of pairs (see `clustered_share`). Those of the others are the middle of the
    coefficient's posterior distribution (Agresti and Min 2005), with a prior worth 1.6
    pairs, one of them of agreement, and for the effective number of pairs, too.

    Args:
        judge, human: labels of the same things in the same order; None for no answer.
        labels: the labels that may be given, in order. Default: those that were, sorted.
        ordered: whether the order of the labels means something.
        undecided: what becomes of a pair in which one abstained or has no answer. `exclude`: it is
            left out. `label`: an abstention is a label like the others; only missing answers are
            left out. `wrong`: a judge that does not decide where a person did is wrong; for the
            order of labels there is no place for that, so `ordered` must be false.
        abstention: the label that is an abstention; None if there is none.
        groups: the cluster of each pair, for the intervals. Default: each by itself.
        bootstrap: how intervals are made; None for none.

    Raises:
        InputError: the sequences differ in length, or a label is not one of `labels`.
    """
    judge, human = answers(judge, "judge"), answers(human, "human")
    n = same_length(judge=judge, human=human)
    abstention = abstention_of(abstention)
    check_choice(undecided, "undecided", "exclude", "label", "wrong")
    check_flag(ordered, "ordered")
    if ordered and undecided != "exclude":
        raise InputError(f"undecided='{undecided}' needs labels without an order")
    clusters = cluster_indices(groups, n)
    causes = [_cause(*pair, abstention) for pair in zip(judge, human, strict=True)]
    found = _counted(judge, human, causes, undecided, abstention)
    indices = [position for position, _, _ in found]
    kept = [(given, truth) for _, given, truth in found]
    names = _names(kept, labels, undecided, abstention, ordered)
    number = {name: position for position, name in enumerate(names)}
    kinds = len(names)
    index = np.array([number[t] * kinds + number[g] for g, t in kept], dtype=np.int64)
    members = clusters[indices]
    spreads = coefficient_intervals(
        index, members, table_prior(kinds), partial(_coefficients, ordered=ordered), bootstrap
    )
    confusion = np.bincount(index, minlength=kinds * kinds).reshape(kinds, kinds)
    by_cluster = _by_cluster(index, members, kinds)
    of_people = (by_cluster.sum(2) > 0).sum(0)
    shares = _shares(by_cluster)

    def figure(name: str, *at: int) -> Estimate:
        why = _WHY[name] if kept else NO_PAIR
        if name not in shares:
            spread = explained(spreads[f"{name} {at[0]}" if at else name], why)
            if name in OF_RARE and spread.low is not None:
                held = of_people[list(at)] if at else of_people[of_people > 0]
                if held.min() < LEAST_OTHERS or len(at) + len(held) < 2:
                    return Estimate(spread.value, undefined=RARE)
            return spread
        part, whole = (counts[:, at[0]] if at else counts for counts in shares[name])
        if whole.sum() == 0:
            return Estimate(None, undefined=why)
        if bootstrap is None:
            return Estimate(float(part.sum() / whole.sum()))
        level = bootstrap.confidence
        if groups is None:
            return wilson_interval(int(part.sum()), int(whole.sum()), confidence=level)
        return share_interval(part, whole, level)

    return LabelAgreement(
        n=len(kept),
        clusters=len(set(clusters[indices].tolist())),
        labels=tuple(names),
        confusion=tuple(tuple(int(count) for count in row) for row in confusion),
        figures={name: figure(name) for name in (*FIGURES, *(IN_ORDER if ordered else ()))},
        by_label={
            label: {name: figure(name, position) for name in BY_LABEL}
            for position, label in enumerate(names)
        },
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
        judge: an answer an item; None for a failure.
        human: the label of each item; None for none.
        undecided: what is done with abstentions and failures; see `label_agreement`.
        abstention: the label of an abstention; None where there is none.

    Returns:
        For each pair that counts its index, the judge's answer and the person's; in order.

    Raises:
        InputError: the sequences differ in length, or something is no label.
    """
    check_choice(undecided, "undecided", "exclude", "label", "wrong")
    judge, human = answers(judge, "judge"), answers(human, "human")
    same_length(judge=judge, human=human)
    abstention = abstention_of(abstention)
    causes = [_cause(*pair, abstention) for pair in zip(judge, human, strict=True)]
    return _counted(judge, human, causes, undecided, abstention)


def _counted(
    judge: Sequence[Any],
    human: Sequence[Any],
    causes: Sequence[str | None],
    undecided: Undecided,
    abstention: str | None,
) -> list[tuple[int, Any, Any]]:
    """The pairs (the judge's label, a person's) that count, with their positions."""
    counted = []
    for position, (given, truth, cause) in enumerate(zip(judge, human, causes, strict=True)):
        if truth is None or (cause is not None and undecided == "exclude"):
            continue
        if undecided == "wrong" and cause is not None:
            if truth != abstention:
                counted.append((position, NO_ANSWER, truth))
        elif given is not None:
            counted.append((position, given, truth))
    return counted


def _cause(given: str | None, truth: str | None, abstention: str | None) -> str | None:
    """Why a pair is not decided; None if it is."""
    if truth is None:
        return "no human label"
    if given is None:
        return "no answer of the judge"
    if abstention is not None and truth == abstention:
        return "human abstained"
    if abstention is not None and given == abstention:
        return "judge abstained"
    return None


def _names(
    kept: Sequence[tuple[str, str]],
    labels: Sequence[str] | None,
    undecided: Undecided,
    abstention: str | None,
    ordered: bool,
) -> list[str]:
    found = {label for pair in kept for label in pair}
    if labels is None:
        return in_order(found, "judge, human", ranked=ordered) or [""]
    allowed = labels_of(labels)
    names = [label for label in allowed if undecided == "label" or label != abstention]
    extra = {NO_ANSWER, abstention} if undecided != "exclude" else set()
    unknown = in_order(found - set(names) - extra)
    if unknown:
        known = ", ".join(brief(name).strip("'") for name in names)
        whose = "judge" if any(given == unknown[0] for given, _ in kept) else "human"
        raise InputError(f"{whose}: '{unknown[0]}' is not one of the labels: {known}")
    return names + in_order(found - set(names)) or [""]


def _by_cluster(index: Integers, clusters: Integers, kinds: int) -> Floats:
    """Each cluster's confusion matrix, (G, K, K)."""
    _, position = np.unique(clusters, return_inverse=True)
    count = int(position.max()) + 1 if len(position) else 0
    cells_of = position * kinds * kinds + index
    counts = np.bincount(cells_of, minlength=count * kinds * kinds)
    return counts.reshape(count, kinds, kinds).astype(np.float64)


def _shares(confusion: Floats) -> dict[str, tuple[Floats, Floats]]:
    """The figures that are plain shares, as part and whole of each cluster, (G,) or (G, K)."""
    hits = np.diagonal(confusion, axis1=1, axis2=2)
    truth, judge, n = confusion.sum(2), confusion.sum(1), confusion.sum((1, 2))
    return {
        "accuracy": (hits.sum(1), n),
        "precision": (hits, judge),
        "recall": (hits, truth),
        "false_positive_rate": (judge - hits, n[:, None] - truth),
        "false_negative_rate": (truth - hits, truth),
    }


def _coefficients(counts: Floats, *, ordered: bool) -> dict[str, Floats]:
    """The other figures, of tables (b, K * K)."""
    kinds = math.isqrt(counts.shape[-1])
    confusion = counts.reshape(-1, kinds, kinds)
    coefficients = {
        "balanced_accuracy": _confusion.balanced_accuracy(confusion),
        "macro_f1": _confusion.macro_f1(confusion),
        "cohen_kappa": _confusion.cohen_kappa(confusion),
        "gwet_ac1": _confusion.gwet_ac(confusion),
        "krippendorff_alpha": _confusion.krippendorff_alpha(
            confusion + np.swapaxes(confusion, -1, -2), ordered=ordered
        ),
        "matthews": _confusion.matthews(confusion),
    }
    for at, of_label in enumerate(np.moveaxis(_confusion.f1(confusion), -1, 0)):
        coefficients[f"f1 {at}"] = of_label
    if ordered:
        coefficients["linear_kappa"] = _confusion.cohen_kappa(confusion, 1)
        coefficients["quadratic_kappa"] = _confusion.cohen_kappa(confusion, 2)
        coefficients["linear_ac2"] = _confusion.gwet_ac(confusion, 1)
        coefficients["quadratic_ac2"] = _confusion.gwet_ac(confusion, 2)
    return coefficients
