"""What a cascade would do, from finished runs: its agreement, coverage and cost by threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple

from rubricate.analysis._finished import LABELS_GO, FinishedRun
from rubricate.errors import InputError
from rubricate.rubric import Criterion
from rubricate.run.results import ResultRow, answer, is_answer, level_of, same
from rubricate.stats import (
    Estimate,
    ThresholdChoice,
    choose_threshold,
    clustered_share,
    threshold_point,
)
from rubricate.views import Cell, Report, Row, Section, Table, dollars, numbers, percent, say

SHARES = (0.9, 0.75, 0.5, 0.25, 0.1)
"""Shares of all verdicts that the thresholds shown let stand, about."""


@dataclass(frozen=True, slots=True)
class CascadePoint:
    """What one threshold would do. Intervals are 95 %, by item or group (`stats.clustered_share`).

    Attributes:
        threshold: verdicts of this confidence and above stand; None where none would.
        coverage: the share of all verdicts that stand.
        agreement: with the labels, of those that stand.
        overall: with the labels, of all: the others are the second run's. None without one.
        cost: US dollars that the answers took which would have been asked for; None where a price
            is not known.
    """

    threshold: float | None
    coverage: Estimate
    agreement: Estimate
    overall: Estimate | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class CascadeReport(Report):
    """What a cascade would do; see `cascade_report`.

    Attributes:
        judge: the first judge's name.
        next_judge: the name of the judge that the others go to; None without a second run.
        verdicts: how many verdicts the first run has.
        confident: how many of those have a confidence.
        labelled: how many of those have a label, too.
        choice: the threshold chosen on the labels.
        groups: the field of the metadata that says which items belong together; None for none.
        points: the one chosen, some others, all standing (threshold 0) and none (None).
    """

    judge: str
    next_judge: str | None
    verdicts: int
    confident: int
    labelled: int
    choice: ThresholdChoice
    groups: str | None
    points: tuple[CascadePoint, ...]

    @property
    def title(self) -> str:
        return "A cascade's thresholds"

    def sections(self) -> Iterator[Section]:
        """A line a threshold, and which one keeps the promise."""
        name = self.judge if self.next_judge is None else f"{self.judge} > {self.next_judge}"
        together = [] if self.next_judge is None else ["all agree"]
        yield Table(
            numbers("threshold", "stand", "they agree", *together, "cost"),
            [self._row(point) for point in self.points],
            f"{name}: {self.verdicts} verdicts, {self.confident} of them with a confidence, "
            f"{self.labelled} of those with a label",
        )
        choice, chosen = self.choice, self.choice.chosen
        promise = percent(choice.promise)
        promise = f"agreement of {promise} or more, at a risk of {percent(choice.risk)}"
        told = f"No threshold keeps the promise ({promise}): {choice.why}."
        if chosen is not None:
            told = (
                f"* Threshold {chosen.threshold:g} keeps the promise: {promise}, of the verdicts "
                f"that stand ({choice.tried} thresholds tried, {choice.labelled} labels)."
            )
        yield say(told, "strong")
        yield say(
            "Stand: verdicts with this confidence or more; the others go on. Intervals: 95 %, by "
            f"{self.groups or 'item'}. The promise is by fixed-sequence testing; it is for items "
            "like these.",
            "quiet",
        )

    def _row(self, point: CascadePoint) -> Row:
        chosen = self.choice.chosen
        is_chosen = chosen is not None and point.threshold == chosen.threshold
        threshold = f"{point.threshold:g}" if point.threshold is not None else "none stands"
        together = [] if point.overall is None else [point.overall]
        cells: list[Cell] = [f"* {threshold}" if is_chosen else threshold]
        cells += [point.coverage, point.agreement, *together, dollars(point.cost)]
        return Row(cells, "strong" if is_chosen else "")


class _Pair(NamedTuple):
    """A verdict of the first run with whether it is people's, and the same of the second run."""

    row: ResultRow
    agrees: bool | None
    next_agrees: bool | None
    next_cost: float | None


def cascade_report(
    run: FinishedRun,
    then: FinishedRun | None = None,
    *,
    promise: float = 0.9,
    risk: float = 0.05,
    groups: str | None = None,
    thresholds: Sequence[float] = (),
) -> CascadeReport:
    """Choose a threshold on labels, and show what it and others would do; sends no request.

    The confidence is the judge's probability or, of a panel, the share of its votes that agree.
    Criteria that need no judge or whose answers are numbers are left out.

    Args:
        run: the first judge's run, with human labels.
        then: the run of the judge that the others would go to, of the same items.
        promise: the agreement that verdicts that stand are to have; see `stats.choose_threshold`.
        risk: the probability of promising too much.
        groups: a field of the items' metadata: verdicts on items of one value belong together.
            Default: those on one item do.
        thresholds: others to show beside those of some coverages.

    Raises:
        InputError: no labels, no confidence, a cascade's own run, or an item lacks the field to
            group by.
    """
    for one in (run, then):
        if one is not None and any(row.stage is not None for row in one.rows):
            raise InputError(
                "this run is a cascade's own: grade with its first judge alone (its answers are in "
                "the journal, and are not asked for again)",
                file=one.path,
            )
    pairs, group_of = _pairs(run, then), run.groups_by(groups)
    members = [group_of[pair.row.item] for pair in pairs]
    if not any(pair.agrees is not None or pair.next_agrees is not None for pair in pairs):
        raise InputError(
            f"this run has no human labels to choose a threshold on: {LABELS_GO}",
            file=run.path,
        )
    sure = [pair.row.confidence for pair in pairs]
    if all(one is None for one in sure):
        raise InputError(
            f"{run.judge} does not say how sure it is: use a judge with probabilities "
            "(--mode probability), several judges, or one several times (--replicates 3)",
            file=run.path,
        )
    choice = choose_threshold(
        sure,
        [pair.agrees for pair in pairs],
        promise=promise,
        risk=risk,
        groups=members,
    )
    shown = {*thresholds, 0.0}
    if choice.chosen is not None:
        shown.add(choice.chosen.threshold)
    ordered = sorted(one for one in sure if one is not None)
    for share in SHARES:
        place = len(ordered) - round(share * len(pairs))
        if 0 <= place < len(ordered):
            shown.add(int(ordered[place] * 1000) / 1000)
    return CascadeReport(
        judge=run.judge,
        next_judge=None if then is None else then.judge,
        verdicts=len(pairs),
        confident=len(ordered),
        labelled=choice.labelled,
        choice=choice,
        groups=groups,
        points=tuple(
            _point(pairs, members, threshold, then is not None)
            for threshold in (*sorted(shown), None)
        ),
    )


def _pairs(run: FinishedRun, then: FinishedRun | None) -> list[_Pair]:
    others = {} if then is None else {(row.item, row.criterion): row for row in then.rows}
    known = {
        name: criterion
        for name, criterion in run.criteria.items()
        if criterion.needs_judge and criterion.measurement != "numeric"
    }
    rows = [row for row in run.rows if row.criterion in known]
    missing = [row for row in rows if then is not None and (row.item, row.criterion) not in others]
    if missing:
        raise InputError(
            f"{len(missing)} verdicts of {run.path} are not in {then and then.path}, such as item "
            f"{missing[0].item}, {missing[0].criterion}: grade the same items with both judges"
        )
    pairs = []
    for row in rows:
        criterion, other = known[row.criterion], others.get((row.item, row.criterion))
        both: tuple[bool | None, float | None] = (None, None)
        if other is not None:
            both = _agrees(other, row, criterion), other.usage.cost
        pairs.append(_Pair(row, _agrees(row, row, criterion), *both))
    return pairs


def _agrees(row: ResultRow, labelled: ResultRow, criterion: Criterion) -> bool | None:
    """Whether a verdict is people's; None where one did not decide."""
    level = level_of(criterion)
    judge, human = answer(criterion, level, row), answer(criterion, level, labelled.human)
    return same(judge, human) if is_answer(judge) and is_answer(human) else None


def _point(
    pairs: Sequence[_Pair], groups: Sequence[Any], threshold: float | None, has_next: bool
) -> CascadePoint:
    cut = 2.0 if threshold is None else threshold
    sure = [pair.row.confidence for pair in pairs]
    found = threshold_point(sure, [pair.agrees for pair in pairs], cut, groups=groups)
    stands = [one is not None and one >= cut for one in sure]
    overall = None
    if has_next:
        right = [
            pair.agrees if stood else pair.next_agrees
            for pair, stood in zip(pairs, stands, strict=True)
        ]
        overall = clustered_share(right, groups=groups)
    costs: list[float | None] = [] if threshold is None else [pair.row.usage.cost for pair in pairs]
    if has_next:
        costs += [pair.next_cost for pair, stood in zip(pairs, stands, strict=True) if not stood]
    known = [cost for cost in costs if cost is not None]
    return CascadePoint(
        threshold,
        found.coverage,
        found.agreement,
        overall,
        fsum(known) if len(known) == len(costs) else None,
    )
