"""A run's judge beside each of several annotators, and they among themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rubricate.analysis._finished import FinishedRun
from rubricate.rubric import Aggregation, Criterion, Verdict, aggregate
from rubricate.run.results import (
    DOES_NOT_APPLY,
    Answer,
    Level,
    ResultRow,
    Stratum,
    answer,
    answers_of,
    is_answer,
    key_of,
    merged,
    number_of,
    stratum_of,
)
from rubricate.stats import (
    AnnotatorAgreement,
    Bootstrap,
    Estimate,
    annotator_agreement,
    krippendorff_alpha,
    stratified_agreement,
)

_TOGETHER = Aggregation()


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


def annotators_of(
    run: FinishedRun,
    groups: Mapping[str, Any],
    bootstrap: Bootstrap,
    own: Callable[[ResultRow], Criterion],
) -> tuple[tuple[CriterionAnnotators, ...], AnnotatorsTogether | None]:
    """Of every criterion that annotators labelled, in the rubric's order, and of all together.

    Scales, metrics and code are compared as numbers, ordered options with their order.
    """
    order = {name: place for place, name in enumerate(run.criteria)}
    found: dict[Stratum, _Said] = {}
    for row in run.rows:
        if row.annotations:
            criterion = own(row)
            stratum = stratum_of(row.criterion, criterion)
            said = found.setdefault(stratum, _Said(stratum, answers_of(criterion)))
            said.add(row, criterion)
    every = sorted(found.values(), key=lambda said: order[said.stratum.name or ""])
    return (
        tuple(
            CriterionAnnotators(
                said.stratum.name or "", said.stratum.level, said.compared(groups, bootstrap)
            )
            for said in every
        ),
        _together(every, groups, bootstrap),
    )


class _Said:
    """What the judge and the annotators say by one criterion, as it is compared."""

    def __init__(self, stratum: Stratum, answers: tuple[str, ...]) -> None:
        self.stratum, self.answers = stratum, answers
        self.items: list[str] = []
        self.judge: list[Answer] = []
        self.people: list[dict[str, Answer]] = []
        self._labels: list[tuple[Criterion, Mapping[str, str]]] = []

    def add(self, row: ResultRow, criterion: Criterion) -> None:
        level = self.stratum.level
        self.items.append(row.item)
        self.judge.append(answer(criterion, level, row))
        self.people.append(
            {name: _said(criterion, level, [label]) for name, label in row.annotations.items()}
        )
        self._labels.append((criterion, row.annotations))

    @property
    def names(self) -> list[str]:
        return [*dict.fromkeys(name for people in self.people for name in people)]

    def consensus(self, without: str | None = None) -> list[Answer]:
        """What annotators say together, as the run's labels are made of them."""
        return [
            _said(criterion, self.stratum.level, [*_others(labels, without)])
            for criterion, labels in self._labels
        ]

    def compared(self, groups: Mapping[str, Any], bootstrap: Bootstrap) -> AnnotatorAgreement:
        level = self.stratum.level
        alone = len({groups[item] for item in self.items}) == len(self.items)
        return annotator_agreement(
            _known(level, self.judge),
            {
                name: _known(level, [people.get(name) for people in self.people])
                for name in self.names
            },
            level=_LEVELS[level],
            labels=self.stratum.labels if level == "ordered" else None,
            together=lambda without: _known(level, self.consensus(without)),
            groups=None if alone else [groups[item] for item in self.items],
            bootstrap=bootstrap,
        )


_LEVELS: dict[Level, Any] = {
    "labels": "nominal",
    "ordered": "ordinal",
    "steps": "interval",
    "numbers": "interval",
}


def _others(labels: Mapping[str, str], without: str | None) -> Iterator[str]:
    return (label for name, label in labels.items() if name != without)


def _said(criterion: Criterion, level: Level, labels: Sequence[str]) -> Answer:
    """What labels come to together; None where they are evenly split."""
    votes = [_vote(criterion, label) for label in labels]
    if not votes:
        return None
    found = votes[0] if len(votes) == 1 else aggregate(criterion, votes, _TOGETHER)
    if found.tied:
        return None
    return answer(criterion, level, found)


def _vote(criterion: Criterion, label: str) -> Verdict:
    status = criterion.status(label)
    value = criterion.value(label) if status == "judged" else None
    return Verdict(criterion.name, status, label, value)


def _known(level: Level, answers: Sequence[Answer]) -> list[Any]:
    """As statistics take them: what does not apply, and of numbers an abstention, is no answer."""
    if level in ("steps", "numbers"):
        return [number_of(one) for one in answers]
    return [None if one == DOES_NOT_APPLY else one for one in answers]


def _together(
    every: Sequence[_Said], groups: Mapping[str, Any], bootstrap: Bootstrap
) -> AnnotatorsTogether | None:
    """All criteria with labels or steps; None with fewer than two."""
    kept = [said for said in every if said.stratum.level != "numbers"]
    if len(kept) < 2:
        return None
    names = [*dict.fromkeys(name for said in kept for name in said.names)]
    answers = {said.stratum: said.answers for said in kept}

    def kappa(
        one: Callable[[_Said], Sequence[Answer]],
        other: Callable[[_Said], Sequence[Answer]],
        bootstrap: Bootstrap | None = None,
    ) -> Estimate:
        pairs: dict[Stratum, list[tuple[str, Any, Any]]] = {}
        for said in kept:
            pairs[said.stratum] = [
                (item, key_of(said.stratum, a), key_of(said.stratum, b))
                for item, a, b in zip(said.items, one(said), other(said), strict=True)
                if is_answer(a) and is_answer(b)
            ]
        where = merged({stratum: len(given) for stratum, given in pairs.items()}, answers)
        flat = [(at, *pair) for stratum, at in where.items() for pair in pairs[stratum]]
        return stratified_agreement(
            [a for _, _, a, _ in flat],
            [b for _, _, _, b in flat],
            [at for at, *_ in flat],
            groups=[groups[item] for _, item, _, _ in flat],
            bootstrap=bootstrap,
        ).kappa

    def of(name: str) -> Callable[[_Said], Sequence[Answer]]:
        return lambda said: [people.get(name) for people in said.people]

    def others(name: str) -> Callable[[_Said], Sequence[Answer]]:
        return lambda said: said.consensus(name)

    among = [kappa(of(name), others(name)).value for name in names]
    known = [value for value in among if value is not None]
    return AnnotatorsTogether(
        criteria=len(kept),
        against={name: kappa(lambda said: said.judge, of(name)) for name in names},
        consensus=kappa(lambda said: said.judge, lambda said: said.consensus(), bootstrap),
        ceiling=sum(known) / len(known) if known else None,
        alpha=_alpha(kept, names, groups, bootstrap),
    )


def _alpha(
    kept: Sequence[_Said], names: Sequence[str], groups: Mapping[str, Any], bootstrap: Bootstrap
) -> Estimate:
    levels = {_LEVELS[said.stratum.level] for said in kept}
    if len(levels) > 1 or "ordinal" in levels:
        return Estimate(None, undefined="the criteria's answers are not of one kind")
    rows: dict[Stratum, list[tuple[Any, list[Any]]]] = {said.stratum: [] for said in kept}
    for said in kept:
        for item, people in zip(said.items, said.people, strict=True):
            given = [one for one in map(people.get, names) if is_answer(one)]
            if len(given) > 1:  # alpha takes any rater's place
                rating = [key_of(said.stratum, one) for one in given]
                rows[said.stratum].append((groups[item], rating))
    answers = {said.stratum: said.answers for said in kept}
    where = merged({stratum: len(found) for stratum, found in rows.items()}, answers)
    flat = [(at, *row) for stratum, at in where.items() for row in rows[stratum]]
    return krippendorff_alpha(
        [rating for _, _, rating in flat],
        level=levels.pop(),
        strata=[at for at, _, _ in flat],
        groups=[group for _, group, _ in flat],
        bootstrap=bootstrap,
    )
