"""A run's judge beside each of several annotators, and they among themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.agreement._pairs import (
    Answers,
    answers_by_criterion,
    strata_of,
    stratified,
)
from rubricate.run.results import DOES_NOT_APPLY, Answer, Level, is_answer, key_of, number_of
from rubricate.stats import (
    AnnotatorAgreement,
    Bootstrap,
    Estimate,
    annotator_agreement,
    krippendorff_alpha,
)


@dataclass(frozen=True, slots=True)
class CriterionAnnotators:
    """One criterion.

    Attributes:
        name: the criterion's name.
        level: what is compared: labels without or with order, steps of a scale, or numbers.
        found: the judge against each, against what they say together, and they among themselves.
    """

    name: str
    level: Level
    found: AnnotatorAgreement


@dataclass(frozen=True, slots=True)
class AnnotatorsTogether:
    """Several criteria; every figure is stratified by criterion (`stats.stratified_agreement`).

    Attributes:
        criteria: how many.
        against: kappa of the judge with each annotator.
        consensus: kappa of the judge with what the annotators say together.
        ceiling: the mean over annotators of the kappa of each with what the others say together.
        alpha: Krippendorff's alpha of the annotators.
    """

    criteria: int
    against: Mapping[str, Estimate]
    consensus: Estimate
    ceiling: float | None
    alpha: Estimate


_LEVELS: dict[Level, Any] = {
    "labels": "nominal",
    "ordered": "ordinal",
    "steps": "interval",
    "numbers": "interval",
}


def annotators_of(
    run: FinishedRun, groups: Mapping[str, Any], bootstrap: Bootstrap
) -> tuple[tuple[CriterionAnnotators, ...], AnnotatorsTogether | None]:
    """Of every criterion that annotators labelled, in the rubric's order, and of all together.

    Scales, metrics and code are compared as numbers, ordered options with their order.
    """
    every = answers_by_criterion(run, [row for row in run.rows if row.annotations])
    each = tuple(
        CriterionAnnotators(
            one.stratum.name or "", one.stratum.level, _compared(one, groups, bootstrap)
        )
        for one in every
    )
    return each, _together(every, groups, bootstrap)


def _compared(
    answers: Answers, groups: Mapping[str, Any], bootstrap: Bootstrap
) -> AnnotatorAgreement:
    level = answers.stratum.level
    of = [groups[item] for item in answers.items]

    def known(given: Sequence[Answer]) -> list[Any]:
        """As statistics take them: what does not apply is no answer, nor is of numbers an
        abstention."""
        if level in ("steps", "numbers"):
            return [number_of(one) for one in given]
        return [None if one == DOES_NOT_APPLY else one for one in given]

    return annotator_agreement(
        known(answers.judge),
        {name: known(answers.annotator(name)) for name in answers.annotators},
        level=_LEVELS[level],
        labels=answers.stratum.labels if level == "ordered" else None,
        together=lambda without: known(answers.consensus(without)),
        groups=None if len(set(of)) == len(of) else of,
        bootstrap=bootstrap,
    )


def _together(
    every: Sequence[Answers], groups: Mapping[str, Any], bootstrap: Bootstrap
) -> AnnotatorsTogether | None:
    """All criteria with labels or steps; None with fewer than two."""
    kept = [answers for answers in every if answers.stratum.level != "numbers"]
    if len(kept) < 2:
        return None
    names = [*dict.fromkeys(name for answers in kept for name in answers.annotators)]
    sides = Callable[[Answers], Sequence[Answer]]

    def kappa(one: sides, other: sides, bootstrap: Bootstrap | None = None) -> Estimate:
        pairs = [pair for answers in kept for pair in answers.pairs(one(answers), other(answers))]
        return stratified(pairs, kept, groups, bootstrap).kappa

    def of(name: str) -> sides:
        return lambda answers: answers.annotator(name)

    def others(name: str) -> sides:
        return lambda answers: answers.consensus(name)

    among = [kappa(of(name), others(name)).value for name in names]
    known = [value for value in among if value is not None]
    return AnnotatorsTogether(
        criteria=len(kept),
        against={name: kappa(lambda answers: answers.judge, of(name)) for name in names},
        consensus=kappa(lambda answers: answers.judge, Answers.consensus, bootstrap),
        ceiling=sum(known) / len(known) if known else None,
        alpha=_alpha(kept, names, groups, bootstrap),
    )


def _alpha(
    kept: Sequence[Answers], names: Sequence[str], groups: Mapping[str, Any], bootstrap: Bootstrap
) -> Estimate:
    levels = {_LEVELS[answers.stratum.level] for answers in kept}
    if len(levels) > 1 or "ordinal" in levels:
        return Estimate(None, undefined="the criteria's answers are not of one kind")
    rows = []
    for answers in kept:
        of_people = zip(*map(answers.annotator, names), strict=True)
        for item, people in zip(answers.items, of_people, strict=True):
            rating = [key_of(answers.stratum, one) for one in people if is_answer(one)]
            if len(rating) > 1:  # alpha takes any rater's place
                rows.append((answers.stratum, groups[item], rating))
    where = strata_of(Counter(stratum for stratum, *_ in rows), kept)
    return krippendorff_alpha(
        [rating for *_, rating in rows],
        level=levels.pop(),
        strata=[where[stratum] for stratum, *_ in rows],
        groups=[group for _, group, _ in rows],
        bootstrap=bootstrap,
    )
