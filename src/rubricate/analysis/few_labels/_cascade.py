"""Simulated cascades of finished runs: agreement, coverage and cost by threshold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import fsum
from typing import Any, NamedTuple

from rubricate._spelling import counted
from rubricate.analysis._finished import LABELS_GO, FinishedRun, RunLike, finished_run
from rubricate.analysis._label_choice import label_choice
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
"""The approximate shares of verdicts that the displayed thresholds accept."""


@dataclass(frozen=True, slots=True)
class CascadePoint:
    """The effect of one threshold. Intervals are 95 %, by item or group (`stats.clustered_share`).

    Attributes:
        threshold: verdicts with at least this confidence are accepted; None to accept none.
        coverage: the share of accepted verdicts among all.
        agreement: the agreement of accepted verdicts with the labels.
        overall: the agreement of all verdicts with the labels, with those of the second run in
            place of verdicts that are not accepted. None without a second run.
        cost: US dollars for the answers that the cascade needs; None if a price is unknown.
    """

    threshold: float | None
    coverage: Estimate
    agreement: Estimate
    overall: Estimate | None
    cost: float | None


@dataclass(frozen=True, slots=True)
class CascadeReport(Report):
    """The effects of a cascade by threshold; see `cascade_report`.

    Attributes:
        judge: the name of the first judge.
        next_judge: the name of the judge for escalated verdicts; None without a second run.
        verdicts: the number of verdicts in the first run.
        confident: how many of them have a confidence.
        labelled: how many of those have a label, too.
        choice: the threshold chosen on the labels.
        groups: the metadata field that says which items belong together, if any.
        points: the chosen threshold, some others, 0 (accepts all) and None (accepts none).
    """

    judge: str
    next_judge: str | None
    verdicts: int
    confident: int
    labelled: int
    choice: ThresholdChoice
    groups: str | None
    points: tuple[CascadePoint, ...]

    title = "A cascade's thresholds"

    def sections(self) -> Iterator[Section]:
        """One row per threshold, and which one keeps the promise."""
        name = self.judge if self.next_judge is None else f"{self.judge} > {self.next_judge}"
        together = [] if self.next_judge is None else ["all agree"]
        yield Table(
            numbers("threshold", "accepted", "they agree", *together, "cost"),
            [self._row(point) for point in self.points],
            f"{name}: {self.verdicts} verdicts, {self.confident} of them with a confidence, "
            f"{self.labelled} of those with a label",
        )
        choice, chosen = self.choice, self.choice.chosen
        promise = percent(choice.promise)
        promise = f"agreement of {promise} or more, at a risk of {percent(choice.risk)}"
        outcome = f"No threshold keeps the promise ({promise}): {choice.why}."
        if chosen is not None:
            outcome = (
                f"* Threshold {chosen.threshold:g} keeps the promise: {promise}, of the accepted "
                f"verdicts ({counted(choice.tried, 'threshold')} tried, {choice.labelled} labels)."
            )
        yield say(outcome, "strong")
        yield say(
            "Accepted: verdicts with this confidence or more; the others are escalated. Intervals: "
            "95 %, by "
            f"{self.groups or 'item'}. The promise is by fixed-sequence testing; it is for items "
            "like these.",
            "quiet",
        )

    def _row(self, point: CascadePoint) -> Row:
        chosen = self.choice.chosen
        is_chosen = chosen is not None and point.threshold == chosen.threshold
        threshold = f"{point.threshold:g}" if point.threshold is not None else "accepts none"
        together = [] if point.overall is None else [point.overall]
        cells: list[Cell] = [f"* {threshold}" if is_chosen else threshold]
        cells += [point.coverage, point.agreement, *together, dollars(point.cost)]
        return Row(cells, "strong" if is_chosen else "")


class _Pair(NamedTuple):
    """A verdict of the first run, and whether it and that of the second run agree with people."""

    row: ResultRow
    agrees: bool | None
    next_agrees: bool | None
    next_cost: float | None


def cascade_report(
    run: RunLike,
    then: RunLike | None = None,
    *,
    promise: float = 0.9,
    risk: float = 0.05,
    groups: str | None = None,
    thresholds: Sequence[float] = (),
) -> CascadeReport:
    """Choose a threshold on labels, and show the effects of it and of others. Sends no request.

    The confidence is the judge's probability or, for a panel, the share of its votes that agree.
    Criteria that need no judge or have numeric answers are left out.

    Args:
        run: the run of the first judge, with human labels.
        then: a run of the same items by the judge for escalated verdicts.
        promise: the agreement that accepted verdicts must have; see `stats.choose_threshold`.
        risk: the accepted probability that the promise does not hold.
        groups: a field of the items' metadata: verdicts on items with the same value belong
            together. With `none`, only those on the same item do. Default: by prompt, if prompts
            repeat.
        thresholds: further thresholds to show.

    Raises:
        InputError: there are no labels or no confidences, the run is one of a cascade, or an item
            lacks the field to group by.
    """
    run, then = finished_run(run), None if then is None else finished_run(then)
    for judged in (run, then):
        if judged is not None and any(row.stage is not None for row in judged.rows):
            raise InputError(
                "this run is of a cascade: grade with its first judge alone (its answers are in "
                "the journal, and are reused)",
                file=judged.path,
            )
    label_choice(run).check_unweighted("a threshold")
    groups = run.grouping(groups)
    pairs, group_of = _pairs(run, then), run.groups_by(groups)
    members = [group_of[pair.row.item] for pair in pairs]
    if not any(pair.agrees is not None or pair.next_agrees is not None for pair in pairs):
        raise InputError(
            f"this run has no human labels to choose a threshold on: {LABELS_GO}",
            file=run.path,
        )
    confidences = [pair.row.confidence for pair in pairs]
    known = sorted(confidence for confidence in confidences if confidence is not None)
    if not known:
        raise InputError(
            f"{run.judge} does not say how sure it is: use a judge with probabilities "
            "(--mode probability), several judges, or one several times (--replicates 3)",
            file=run.path,
        )
    choice = choose_threshold(
        confidences,
        [pair.agrees for pair in pairs],
        promise=promise,
        risk=risk,
        groups=members,
    )
    shown = {*thresholds, 0.0}
    if choice.chosen is not None:
        shown.add(choice.chosen.threshold)
    for share in SHARES:
        place = len(known) - round(share * len(pairs))
        if 0 <= place < len(known):
            shown.add(int(known[place] * 1000) / 1000)
    return CascadeReport(
        judge=run.judge,
        next_judge=None if then is None else then.judge,
        verdicts=len(pairs),
        confident=len(known),
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
    """Whether a verdict agrees with people; None if one side did not decide."""
    level = level_of(criterion)
    judge, human = answer(criterion, level, row), answer(criterion, level, labelled.human)
    return same(judge, human) if is_answer(judge) and is_answer(human) else None


def _point(
    pairs: Sequence[_Pair], groups: Sequence[Any], threshold: float | None, has_next: bool
) -> CascadePoint:
    cut = 2.0 if threshold is None else threshold
    confidences = [pair.row.confidence for pair in pairs]
    point = threshold_point(confidences, [pair.agrees for pair in pairs], cut, groups=groups)
    overall = None
    costs: list[float | None] = [] if threshold is None else [pair.row.usage.cost for pair in pairs]
    if has_next:
        accepted = [confidence is not None and confidence >= cut for confidence in confidences]
        both = [*zip(pairs, accepted, strict=True)]
        right = [pair.agrees if is_kept else pair.next_agrees for pair, is_kept in both]
        overall = clustered_share(right, groups=groups)
        costs += [pair.next_cost for pair, is_kept in both if not is_kept]
    known = [cost for cost in costs if cost is not None]
    cost = fsum(known) if len(known) == len(costs) else None
    return CascadePoint(threshold, point.coverage, point.agreement, overall, cost)
