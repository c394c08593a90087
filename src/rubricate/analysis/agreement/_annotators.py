"""The agreement of a run's judge with several annotators, and of the annotators."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.agreement._pairs import (
    Answers,
    Pair,
    answers_by_criterion,
    strata_of,
    stratified,
)
from rubricate.run.results import (
    DOES_NOT_APPLY,
    Answer,
    Level,
    is_answer,
    kappa_name,
    key_of,
    number_of,
)
from rubricate.stats import (
    AnnotatorAgreement,
    Bootstrap,
    Estimate,
    annotator_agreement,
    krippendorff_alpha,
)


@dataclass(frozen=True, slots=True)
class CriterionAnnotators:
    """The agreement with annotators on one criterion.

    Attributes:
        name: the criterion's name.
        level: the level of measurement: labels without or with an order, steps of a scale, numbers.
        agreement: of the judge with each annotator and with their consensus, and of the annotators
            among themselves.
    """

    name: str
    level: Level
    agreement: AnnotatorAgreement

    @property
    def ceiling(self) -> float | None:
        """The mean kappa (or correlation) of each annotator with the others."""
        labels = self.level in ("labels", "ordered")
        return self.agreement.ceiling.get(kappa_name(self.level) if labels else "pearson")


@dataclass(frozen=True, slots=True)
class AnnotatorsTogether:
    """The agreement with annotators, stratified by criterion (`stats.stratified_agreement`).

    Attributes:
        criteria: the number of criteria.
        against: the kappa of the judge with each annotator.
        consensus: the kappa of the judge with the annotators' consensus.
        ceiling: the mean kappa of each annotator with the consensus of the others.
        alpha: Krippendorff's alpha of the annotators.
        perfect: the mean over criteria of the kappa that a judge without errors would reach.
    """

    criteria: int
    against: Mapping[str, Estimate]
    consensus: Estimate
    ceiling: float | None
    alpha: Estimate
    perfect: float | None


_LEVELS: dict[Level, Any] = {
    "labels": "nominal",
    "ordered": "ordinal",
    "steps": "interval",
    "numbers": "interval",
}


def annotators_of(
    run: FinishedRun, groups: Mapping[str, Any], bootstrap: Bootstrap
) -> tuple[tuple[CriterionAnnotators, ...], AnnotatorsTogether | None]:
    """The agreement on each criterion that annotators labelled, in the rubric's order, and on all.

    Scales, metrics and code are compared as numbers, and ordered options with their order.
    """
    every = answers_by_criterion(run, [row for row in run.rows if row.annotations])
    each = tuple(
        CriterionAnnotators(
            answers.stratum.name or "",
            answers.stratum.level,
            _compared(answers, groups, bootstrap),
        )
        for answers in every
    )
    return each, _together(every, each, groups, bootstrap)


def _compared(
    answers: Answers, groups: Mapping[str, Any], bootstrap: Bootstrap
) -> AnnotatorAgreement:
    level = answers.stratum.level
    of = [groups[item] for item in answers.items]

    def known(side: Sequence[Answer]) -> list[Any]:
        """Answers as arguments of statistics: what does not apply counts as no answer, and so does
        an abstention among numbers."""
        if level in ("steps", "numbers"):
            return [number_of(answer) for answer in side]
        return [None if answer == DOES_NOT_APPLY else answer for answer in side]

    return annotator_agreement(
        known(answers.judge),
        {name: known(answers.annotator(name)) for name in answers.annotators},
        level=_LEVELS[level],
        labels=answers.stratum.labels if level == "ordered" else None,
        together=lambda without: known(answers.consensus(without)),
        groups=None if len(set(of)) == len(of) else of,
        bootstrap=bootstrap,
    )


def perfect_of(criterion: CriterionAnnotators) -> Estimate:
    """The kappa (or correlation, for numbers) that a judge without errors would reach."""
    *_, coefficient = criterion.agreement.perfect.values()
    return coefficient


def _together(
    every: Sequence[Answers],
    each: Sequence[CriterionAnnotators],
    groups: Mapping[str, Any],
    bootstrap: Bootstrap,
) -> AnnotatorsTogether | None:
    """All criteria with labels or steps together; None with fewer than two."""
    kept = [answers for answers in every if answers.stratum.level != "numbers"]
    if len(kept) < 2:
        return None
    names = [*dict.fromkeys(name for answers in kept for name in answers.annotators)]

    def kappa(pairs: Iterable[Sequence[Pair]], bootstrap: Bootstrap | None = None) -> Estimate:
        return stratified([*chain(*pairs)], kept, groups, bootstrap).kappa

    against = {
        name: kappa(answers.pairs(answers.judge, answers.annotator(name)) for answers in kept)
        for name in names
    }
    among = [
        kappa(answers.pairs(answers.annotator(name), answers.consensus(name)) for answers in kept)
        for name in names
    ]
    return AnnotatorsTogether(
        criteria=len(kept),
        against=against,
        consensus=kappa(
            (answers.pairs(answers.judge, answers.consensus()) for answers in kept), bootstrap
        ),
        ceiling=_mean(estimate.value for estimate in among),
        alpha=_alpha(kept, names, groups, bootstrap),
        perfect=_mean(
            perfect_of(criterion).value for criterion in each if criterion.level != "numbers"
        ),
    )


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


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
            rating = [key_of(answers.stratum, answer) for answer in people if is_answer(answer)]
            if len(rating) > 1:  # alpha accepts missing raters
                rows.append((answers.stratum, groups[item], rating))
    items = len({item for answers in kept for item in answers.items})
    where = strata_of(Counter(stratum for stratum, *_ in rows), kept, items)
    return krippendorff_alpha(
        [rating for *_, rating in rows],
        level=levels.pop(),
        strata=[where[stratum] for stratum, *_ in rows],
        groups=[group for _, group, _ in rows],
        bootstrap=bootstrap,
    )
