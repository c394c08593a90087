"""The agreement of a judge with several annotators, and of the annotators with each other."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import (
    abstention_of,
    answers,
    check_choice,
    is_missing,
    labels_of,
    named,
    same_length,
)
from rubricate.stats._labels import LabelAgreement, label_agreement
from rubricate.stats._numbers import numbers
from rubricate.stats._raters import LEVELS, Level, krippendorff_alpha
from rubricate.stats._resampling import Bootstrap, Groups
from rubricate.stats._scores import ScoreAgreement, score_agreement

_COEFFICIENTS: dict[Level, str] = {
    "nominal": "cohen_kappa",
    "ordinal": "quadratic_kappa",
    "interval": "pearson",
}
Together: TypeAlias = Callable[[str | None], Sequence[Any]]
"""Returns the consensus of all annotators except the named one; of all of them for None."""


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """The agreement of a judge with several annotators.

    Attributes:
        against: the judge against each annotator.
        consensus: the judge against the annotators' consensus: the majority label (none for a
            tie), or the mean of their numbers.
        among: each annotator against the consensus of the others: the ceiling for a judge.
        ceiling: the mean over annotators of every figure in `among`; None if no annotator has it.
        alpha: Krippendorff's alpha of the annotators among themselves.
        perfect: what a judge that never errs would reach against the consensus, because the
            annotators err: `accuracy` and `cohen_kappa` of labels, `pearson` of numbers,
            `quadratic_kappa` of ordered labels; see `annotator_agreement`.
    """

    against: Mapping[str, LabelAgreement | ScoreAgreement]
    consensus: LabelAgreement | ScoreAgreement
    among: Mapping[str, LabelAgreement | ScoreAgreement]
    ceiling: Mapping[str, float | None]
    alpha: Estimate
    perfect: Mapping[str, Estimate]


def annotator_agreement(
    judge: Sequence[Any],
    annotators: Mapping[str, Sequence[Any]],
    *,
    level: Level = "nominal",
    labels: Sequence[str] | None = None,
    together: Together | None = None,
    abstention: str | None = "CANNOT_ASSESS",
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> AnnotatorAgreement:
    """The agreement of a judge with annotators, with their consensus, and among annotators.

    Figures are those of `label_agreement` and `score_agreement`; among the annotators alpha
    (Krippendorff 2011). Pairs in which one side did not decide are left out and counted.

    `perfect` follows from alpha, if annotators err independently and alike: alpha is the square of
    the correlation of one of them with the truth (Spearman 1904), so that each is right with the
    probability `(1 + sqrt(alpha)) / 2` on items of which half are MET, and the majority by the
    binomial distribution (ties do not count); kappa is twice that, less 1. The mean of k numbers or
    ordered labels has the reliability
    `k * alpha / (1 + (k - 1) * alpha)` (Brown 1910), whose square root is the correlation.

    Args:
        judge: labels or, for `interval`, numbers, (n,); None for no answer.
        annotators: by name, their labels or numbers for the same items in the same order.
        level: `nominal` and `ordinal` are labels, `interval` is numbers.
        labels: the labels in order. Default: those that occur, sorted.
        together: the consensus for each item of all annotators but the named one (of all for
            None). Default: the majority's label, none for a tie; the mean of numbers.
        abstention: the label that is an abstention.
        groups: the cluster of each item. Default: items are independent.
        bootstrap: how intervals are made; None for no intervals.

    Raises:
        InputError: no annotator, sequences of different length, or a value that is no label or
            number.

    Example:
        >>> judge = ["yes", "no", "yes", "no"]
        >>> people = {"ann": ["yes", "no", "no", "no"], "bob": ["yes", "yes", "no", "no"]}
        >>> annotator_agreement(judge, people).against["ann"].figures["accuracy"].value
        0.75
    """
    check_choice(level, "level", *LEVELS)
    answers_by = named(annotators, "annotators", answers)
    if not answers_by:
        raise InputError("annotators: there is none")
    judge, abstention = answers(judge, "judge"), abstention_of(abstention)
    labels = None if labels is None else labels_of(labels)
    for name, column in answers_by.items():
        same_length(**{"judge": judge, f"annotators[{name!r}]": column})
        if level == "interval":
            numbers(column, f"annotators[{name!r}]")

    def compared(first: Sequence[Any], second: Sequence[Any]) -> LabelAgreement | ScoreAgreement:
        if level == "interval":
            return score_agreement(first, second, groups=groups, bootstrap=bootstrap)
        return label_agreement(
            first,
            second,
            labels=labels,
            ordered=level == "ordinal",
            abstention=abstention,
            groups=groups,
            bootstrap=bootstrap,
        )

    def consensus(without: str | None) -> Sequence[Any]:
        if together is not None:
            return together(without)
        others = (column for name, column in answers_by.items() if name != without)
        return [_consensus(row, level, abstention) for row in zip(*others, strict=True)]

    among: dict[str, LabelAgreement | ScoreAgreement] = {}
    if len(answers_by) > 1:
        among = {name: compared(column, consensus(name)) for name, column in answers_by.items()}
    decided = [
        [None if label == abstention else label for label in row]
        for row in zip(*answers_by.values(), strict=True)
    ]
    alpha = krippendorff_alpha(
        decided,
        level=level,
        labels=None if labels is None else [name for name in labels if name != abstention],
        groups=groups,
        bootstrap=bootstrap,
    )
    return AnnotatorAgreement(
        against={name: compared(judge, column) for name, column in answers_by.items()},
        consensus=compared(judge, consensus(None)),
        among=among,
        ceiling=_means([agreement.figures for agreement in among.values()]),
        alpha=alpha,
        perfect=_perfect(alpha, decided, level),
    )


def _perfect(
    alpha: Estimate, ratings: Sequence[Sequence[Any]], level: Level
) -> dict[str, Estimate]:
    """What a judge that never errs reaches; see `annotator_agreement`."""
    votes = [[label for label in row if not is_missing(label)] for row in ratings]
    sizes = [len(row) for row in votes if row]
    if alpha.value is None:
        why = Estimate(None, undefined=alpha.undefined)
        names = ("accuracy", "cohen_kappa") if level == "nominal" else ()
        return dict.fromkeys(names or (_COEFFICIENTS[level],), why)
    if level != "nominal":
        most = sum(sizes) / len(sizes)

        def coefficient(known: float) -> float:
            known = min(1.0, max(0.0, known))
            return float((most * known / (1 + (most - 1) * known)) ** 0.5)

        return {_COEFFICIENTS[level]: alpha.mapped(coefficient)}
    counts = Counter(label for row in votes for label in row)
    chance = sum((count / counts.total()) ** 2 for count in counts.values())

    def kappa(known: float) -> float:
        right = (1 + min(1.0, max(0.0, known)) ** 0.5) / 2
        return 2 * _majority_right(right, Counter(sizes)) - 1

    kappas = alpha.mapped(kappa)
    return {
        "accuracy": kappas.mapped(lambda value: chance + value * (1 - chance)),
        "cohen_kappa": kappas,
    }


def _majority_right(right: float, sizes: Mapping[int, int]) -> float:
    """How often a majority is right if each vote is with this probability; ties do not count."""
    hits = misses = 0.0
    for size, items in sizes.items():
        for votes in range(size + 1):
            chance = math.comb(size, votes) * right**votes * (1 - right) ** (size - votes)
            hits += items * chance * (2 * votes > size)
            misses += items * chance * (2 * votes < size)
    return hits / (hits + misses)


def _consensus(row: Sequence[Any], level: Level, abstention: str | None) -> Any:
    decided = [label for label in row if not is_missing(label) and label != abstention]
    if not decided:
        return None
    if level == "interval":
        return sum(decided) / len(decided)
    (label, most), *rest = Counter(decided).most_common(2)
    return None if rest and rest[0][1] == most else label


def _means(figures: Sequence[Mapping[str, Estimate]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in figures[0] if figures else ():
        every = (of_annotator[name].value for of_annotator in figures)
        values = [value for value in every if value is not None]
        means[name] = sum(values) / len(values) if values else None
    return means
