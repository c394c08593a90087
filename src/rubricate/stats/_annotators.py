"""A judge beside several annotators: how far it agrees with each, and they among themselves."""

from __future__ import annotations

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

Together: TypeAlias = Callable[[str | None], Sequence[Any]]
"""What all annotators but one say together."""


@dataclass(frozen=True, slots=True)
class AnnotatorAgreement:
    """A judge beside several annotators.

    Attributes:
        against: the judge against each annotator.
        consensus: the judge against what the annotators say together: the majority label (none
            where two are equally frequent), or the mean of their numbers.
        among: each annotator against the consensus of the others: the ceiling for a judge.
        ceiling: the mean over annotators of every figure in `among`; None where none has it.
        alpha: Krippendorff's alpha of the annotators among themselves.
    """

    against: Mapping[str, LabelAgreement | ScoreAgreement]
    consensus: LabelAgreement | ScoreAgreement
    among: Mapping[str, LabelAgreement | ScoreAgreement]
    ceiling: Mapping[str, float | None]
    alpha: Estimate


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
    """A judge against each annotator, against their consensus, and they among themselves.

    Figures are those of `label_agreement` and `score_agreement`; among the annotators alpha
    (Krippendorff 2011).

    Pairs in which one did not decide are left out and counted.

    Args:
        judge: labels or, for `interval`, numbers; None for no answer.
        annotators: by name, their labels or numbers of the same things in the same order.
        level: `nominal` and `ordinal` are labels, `interval` is numbers.
        labels: the labels in order. Default: those that occur, sorted.
        together: gives what all annotators but one (or all, for None) say together, of each thing.
            Default: the majority's label, none where two are equally frequent; the mean of numbers.
        abstention: the label that is an abstention.
        groups: the cluster of each thing. Default: each by itself.
        bootstrap: how intervals are made; None for none.

    Raises:
        InputError: no annotator, sequences of different length, or something that is no label or
            number.
    """
    check_choice(level, "level", *LEVELS)
    given_by = named(annotators, "annotators", answers)
    if not given_by:
        raise InputError("annotators: there is none")
    judge, abstention = answers(judge, "judge"), abstention_of(abstention)
    labels = None if labels is None else labels_of(labels)
    for name, said in given_by.items():
        same_length(**{"judge": judge, f"annotators[{name!r}]": said})
        if level == "interval":
            numbers(said, f"annotators[{name!r}]")

    def compared(one: Sequence[Any], other: Sequence[Any]) -> LabelAgreement | ScoreAgreement:
        if level == "interval":
            return score_agreement(one, other, groups=groups, bootstrap=bootstrap)
        return label_agreement(
            one,
            other,
            labels=labels,
            ordered=level == "ordinal",
            abstention=abstention,
            groups=groups,
            bootstrap=bootstrap,
        )

    def consensus(without: str | None) -> Sequence[Any]:
        if together is not None:
            return together(without)
        rows = zip(*(said for name, said in given_by.items() if name != without), strict=True)
        return [_consensus(row, level, abstention) for row in rows]

    among: dict[str, LabelAgreement | ScoreAgreement] = {}
    for name, given in given_by.items():
        if len(given_by) > 1:
            among[name] = compared(given, consensus(name))
    decided = [
        [None if label == abstention else label for label in row]
        for row in zip(*given_by.values(), strict=True)
    ]
    return AnnotatorAgreement(
        against={name: compared(judge, given) for name, given in given_by.items()},
        consensus=compared(judge, consensus(None)),
        among=among,
        ceiling=_means([agreement.figures for agreement in among.values()]),
        alpha=krippendorff_alpha(
            decided,
            level=level,
            labels=None if labels is None else [name for name in labels if name != abstention],
            groups=groups,
            bootstrap=bootstrap,
        ),
    )


def _consensus(row: Sequence[Any], level: Level, abstention: str | None) -> Any:
    given = [one for one in row if not is_missing(one) and one != abstention]
    if not given:
        return None
    if level == "interval":
        return sum(given) / len(given)
    (label, most), *rest = Counter(given).most_common(2)
    return None if rest and rest[0][1] == most else label


def _means(figures: Sequence[Mapping[str, Estimate]]) -> dict[str, float | None]:
    means: dict[str, float | None] = {}
    for name in figures[0] if figures else ():
        known = [one[name].value for one in figures]
        values = [value for value in known if value is not None]
        means[name] = sum(values) / len(values) if values else None
    return means
