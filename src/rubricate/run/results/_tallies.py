"""Collects the figures of a run, item by item."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate._sync import free_after_fork
from rubricate._version import __version__
from rubricate.judge import ABSTAINED, ASKED_AGAIN, REQUIRED
from rubricate.rubric import ABSTENTION, BINARY_LABELS, UNANSWERED, Criterion, Usage, Verdict
from rubricate.run.results._compared import PairCounts, Stratum, stratum_of, vote_of
from rubricate.run.results._declared_scores import DeclaredFigures
from rubricate.run.results._figures import (
    CalibrationFigures,
    CriterionFigures,
    InventedQuotes,
    JudgeFigures,
    ScoreFigures,
    StageFigures,
)
from rubricate.run.results._mean import BoundedMean, Mean
from rubricate.run.results._outcome import OutcomeTally
from rubricate.run.results._summary import Summary
from rubricate.views import STATUSES

if TYPE_CHECKING:
    from rubricate.judge import Stage
    from rubricate.run.results._results import ItemResult, RunFacts

NEVER = (sys.maxsize, 0, "")
"""A position after all others."""
_BUILDING = threading.Lock()
"""Held while pydantic builds classes, because a fork would copy pydantic's own lock in use."""
free_after_fork(_BUILDING)


class Tallies:
    """Collects the figures of items, in any order."""

    def __init__(self) -> None:
        self._items = 0
        self._criteria: dict[str, CriterionTally] = {}
        self._failures = OutcomeTally()
        self._first_abstention: tuple[int, int, str] | None = None
        self._score = BoundedMean()
        self._coverage, self._penalty, self._reach = Mean(), Mean(), Mean()
        self._of_judge, self._of_people = Mean(), Mean()
        self._judges: dict[str, JudgeTally] = {}
        self._quotes: dict[str, QuoteTally] = {}
        self._stages: dict[int, PairCounts] = {}
        self._ended: Counter[int] = Counter()
        self._decided: Counter[int] = Counter()
        self._mapped = self._changed = 0
        self._parts = {name: kind.tally() for name, kind in Summary.kinds_of_parts().items()}
        self._asked_again = self._abstained = 0
        self._prompts: set[int] = set()
        self._chosen: Counter[str] = Counter()
        self._warnings: Counter[str] = Counter()
        self._first_warning: tuple[int, str] | None = None

    @staticmethod
    def get_ready() -> None:
        """Build the classes of figures in advance, which takes about 10 ms."""
        with _BUILDING:
            for kind in (Summary, ScoreFigures, CriterionFigures):
                kind.model_rebuild()

    def add(self, item: ItemResult) -> None:
        """Count an item."""
        self._items += 1
        self._prompts.add(hash(item.prompt))
        self._reach.add(item.rubric.largest_share)
        verdicts, labels, tallies = item.criteria, item.labels, self._criteria
        for position, criterion in enumerate(item.rubric.criteria):
            name, place = criterion.name, (item.index, position)
            verdict, human = verdicts[name], labels.get(name)
            tally = tallies.get(name)
            if tally is None:
                tally = tallies[name] = CriterionTally(name, criterion, place)
            tally.add(criterion, place, verdict, human)
            if verdict.votes or verdict.detail or verdict.evidence:
                self._add_details(criterion, tally.stratum, place, verdict, human)
            if verdict.status != "judged":
                self._note(place, name, verdict)
        if labels and item.item is not None and item.item.data.selection:
            selection = item.item.data.selection
            self._chosen.update(selection[name].how for name in labels if name in selection)
        self._score.add(item.score)
        self._coverage.add(item.score.coverage)
        human_score = None if item.human_score is None else item.human_score.value
        if human_score is not None and item.score.value is not None:
            self._of_people.add(human_score)
            self._of_judge.add(item.score.value)
        self._penalty.add(item.score.penalty)
        for part in self._parts.values():
            part.add(item)
        for name, alone in item.judge_scores.items():
            self._judges[name].score.add(alone.value)
        self._warnings.update(item.warnings.keys())
        for warning in item.warnings.values():
            if self._first_warning is None or item.index < self._first_warning[0]:
                self._first_warning = (item.index, f"item {item.id}: {warning}")

    def _add_details(
        self,
        criterion: Criterion,
        stratum: Stratum,
        place: tuple[int, int],
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        """Count the details of a verdict: quotes, calibration, votes and stages."""
        for vote in verdict.votes or (verdict,):
            if vote.evidence:
                self._quotes.setdefault(vote.judge or "", QuoteTally()).add(vote)
            if vote.detail:
                self._note_calibration(vote.detail, vote.label)
                required = vote.detail.get(REQUIRED)
                if isinstance(required, Mapping):  # a custom judge can use the same key
                    self._asked_again += bool(required.get(ASKED_AGAIN))
                    self._abstained += bool(required.get(ABSTAINED))
        for vote in verdict.votes:
            judge = self._judges.setdefault(vote.judge or "", JudgeTally())
            judge.add(criterion, stratum, place, vote, verdict, human)
        if verdict.stage is not None:
            self._ended[verdict.stage] += 1
            self._decided[verdict.stage] += verdict.status not in UNANSWERED
            pairs = self._stages.setdefault(verdict.stage, PairCounts())
            pairs.add(stratum, criterion, verdict, human)

    def _note_calibration(self, detail: Mapping[str, Any], label: str | None) -> None:
        mapped = detail.get("calibration")
        if isinstance(mapped, Mapping) and "label" in mapped:
            self._mapped += 1
            self._changed += mapped["label"] != label

    def _note(self, place: tuple[int, int], name: str, verdict: Verdict) -> None:
        """Keep the first failure, and the first reason of an abstention."""
        error = verdict.error
        if error is not None:
            self._failures.add_error(place, error)
        elif (
            verdict.status == "abstained"
            and verdict.reason
            and place < (self._first_abstention or NEVER)[:2]
        ):
            self._first_abstention = (*place, f"{name}: {verdict.reason}")

    def summary(self, facts: RunFacts) -> Summary:
        """The summary of all items so far, with the facts of the run."""
        criteria = sorted(self._criteria.values(), key=lambda tally: tally.place)
        everything = PairCounts(self._items)
        for tally in criteria:
            everything.include(tally.agreement)
        statuses = sum((tally.statuses for tally in criteria), Counter[str]())
        own = any(tally.differs for tally in criteria)
        parts = {name: tally.figures() for name, tally in self._parts.items()}
        shown = [s for s in STATUSES if s != "skipped" or parts["gates"] is not None]
        rules = facts.rules
        summary = Summary(
            version=__version__,
            dataset=facts.dataset,
            **self._failures.fields(facts, {status: statuses[status] for status in shown}),
            items=self._items,
            prompts=len(self._prompts),
            criteria=[tally.figures(own) for tally in criteria],
            score=ScoreFigures(
                mean=self._score.value,
                lowest=self._score.lowest,
                highest=self._score.highest,
                scored=self._score.count,
                coverage=self._coverage.value or 0.0,
                labelled=self._of_people.count,
                judge_mean=self._of_judge.value,
                human_mean=self._of_people.value,
                penalty=None if rules.penalty is None else self._penalty.value,
                reach=self._reach.value,
            ),
            agreement=everything.figures(),
            stratified=everything.over_criteria(),
            judges=[self._judge(name, facts) for name in facts.judges],
            stages=[self._stage(place, stage) for place, stage in enumerate(facts.stages, start=1)],
            invented_quotes=[
                InventedQuotes(judge=name, quotes=quotes.count, invented=quotes.invented)
                for name, quotes in sorted(self._quotes.items())
                if quotes.invented
            ],
            asked_again_for_evidence=self._asked_again,
            abstained_for_evidence=self._abstained,
            strategies={} if facts.aggregation is None else asdict(facts.aggregation),
            first_abstention=self._first_abstention[2] if self._first_abstention else None,
            labels_chosen=dict(sorted(self._chosen.items())),
            warnings=dict(sorted(self._warnings.items())),
            first_warning=self._first_warning[1] if self._first_warning else None,
            cannot_assess=rules.cannot_assess,
            partial=rules.partial,
            length_penalty=rules.penalty and rules.penalty.to_dict(),
            **parts,
            calibration=(
                None
                if facts.calibration is None
                else CalibrationFigures(
                    map=facts.calibration, applied=self._mapped, changed=self._changed
                )
            ),
        )
        return summary if summary.scoring is None else as_declared(summary, summary.scoring)

    def relabelled(self, summary: Summary, page_labels: int) -> Summary:
        """A summary with its label-based figures replaced by those of the items here.

        Args:
            summary: the summary of these items, with outdated labels.
            page_labels: how many of the current labels were given on the run's page.
        """
        everything = PairCounts(self._items)
        for tally in self._criteria.values():
            everything.include(tally.agreement)
        changed: dict[str, Any] = {
            "agreement": everything.figures(),
            "stratified": everything.over_criteria(),
            "page_labels": page_labels,
            "criteria": [
                _with_agreement(figures, self._criteria[figures.name].agreement)
                for figures in summary.criteria
                if figures.name in self._criteria
            ],
            "judges": [
                _with_agreement(figures, self._judges[figures.name].agreement)
                if figures.name in self._judges
                else figures
                for figures in summary.judges
            ],
            "stages": [
                _with_agreement(figures, self._stages.get(place, PairCounts()))
                for place, figures in enumerate(summary.stages, start=1)
            ],
            "score": summary.score.model_copy(
                update={
                    "labelled": self._of_people.count,
                    "judge_mean": self._of_judge.value,
                    "human_mean": self._of_people.value,
                }
            ),
        }
        for name in ("scoring", "tree"):
            if getattr(summary, name) is not None:
                changed[name] = self._parts[name].figures()
        summary = summary.model_copy(update=changed)
        return summary if summary.scoring is None else as_declared(summary, summary.scoring)

    def _judge(self, name: str, facts: RunFacts) -> JudgeFigures:
        figures = self._judges.get(name, JudgeTally()).figures(name, facts.weights)
        if not facts.stages:
            return figures
        unknown: dict[str, Any] = {}
        if name not in facts.stages[0].names:
            unknown |= {"score": None, "scored": 0}  # it saw only what other stages passed on
        if facts.stages[-1].names == (name,):
            unknown["with_verdict"] = None  # its vote is the verdict
        return figures.model_copy(update=unknown)

    def _stage(self, place: int, stage: Stage) -> StageFigures:
        usages = [self._judges[name].usage for name in stage.names if name in self._judges]
        usage = Usage.total(usages)
        return StageFigures(
            name=stage.name,
            threshold=stage.threshold,
            asked=sum(count for at, count in self._ended.items() if at >= place),
            decided=self._decided[place],
            agreement=self._stages.get(place, PairCounts()).figures(),
            cost=usage.cost,
            estimated_cost=usage.estimated_cost,
        )


_Figures = TypeVar("_Figures", CriterionFigures, JudgeFigures, StageFigures)


def _with_agreement(figures: _Figures, pairs: PairCounts) -> _Figures:
    return figures.model_copy(update={"agreement": pairs.figures()})


def as_declared(summary: Summary, scoring: DeclaredFigures) -> Summary:
    """The summary with the scores of a declared scoring in place of plain means."""
    overall, score = scoring.overall, summary.score
    changed: dict[str, Any] = {
        "mean": overall.value,
        "lowest": overall.lowest,
        "highest": overall.highest,
        "scored": overall.n,
    }
    if score.labelled:
        changed |= {"judge_mean": scoring.judge_mean, "human_mean": scoring.human_mean}
    judges = [
        judge
        if judge.score is None
        else judge.model_copy(update={"score": scoring.judges[judge.name]})
        for judge in summary.judges
    ]
    update = {"score": score.model_copy(update=changed), "judges": judges, "scoring": scoring}
    return summary.model_copy(update=update)


class QuoteTally:
    """Counts the quotes of verdicts, and invented ones."""

    def __init__(self) -> None:
        self.count = self.invented = 0

    def add(self, verdict: Verdict) -> None:
        self.count += len(verdict.evidence)
        self.invented += sum(evidence.invented for evidence in verdict.evidence)


class CriterionTally:
    """One criterion over the items so far, as the first item with it defines it."""

    def __init__(self, name: str, criterion: Criterion, place: tuple[int, int]) -> None:
        self.place = place
        self.statuses: Counter[str] = Counter()
        self.agreement = PairCounts()
        self.stratum = stratum_of(name, criterion)
        self._name = name
        self._criterion = self._last = criterion
        self._weights = {criterion.weight}
        self.differs = False
        self._labels: Counter[str] = Counter()
        self._value = Mean()
        self._tied = self._pairs = self._same_pairs = 0
        self._quotes = QuoteTally()

    def add(
        self,
        criterion: Criterion,
        place: tuple[int, int],
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        if place < self.place:
            self.place, self._criterion = place, criterion
        if criterion is not self._last:
            if not criterion.is_named and criterion.requirement != self._last.requirement:
                self.differs = True
            self._last, self.stratum = criterion, stratum_of(self._name, criterion)
            self._weights.add(criterion.weight)
        self.statuses[verdict.status] += 1
        if verdict.label is not None:
            self._labels[verdict.label] += 1
        self._value.add(verdict.value)
        if human is not None:
            self.agreement.add(self.stratum, criterion, verdict, human)
        if verdict.votes:
            self._tied += verdict.tied
            for vote in verdict.votes:
                self._quotes.add(vote)
            answers = [vote_of(criterion, vote) for vote in verdict.votes]
            for first, second in combinations([each for each in answers if each is not None], 2):
                self._pairs += 1
                self._same_pairs += first == second
        elif verdict.evidence:
            self._quotes.add(verdict)

    def figures(self, own: bool) -> CriterionFigures:
        """Its figures; `own` says whether items have their own unnamed criteria."""
        criterion = self._criterion
        order = [*dict.fromkeys((*(criterion.labels or BINARY_LABELS), ABSTENTION))]
        if criterion.labels:
            order += sorted(self._labels.keys() - set(order))  # from another item's criterion
        return CriterionFigures(
            name=self._name,
            weight=criterion.weight if len(self._weights) == 1 else None,
            weight_range=None if len(self._weights) == 1 else _ends(self._weights),
            only_number=own and not criterion.is_named,
            binary=criterion.is_binary,
            labels={label: self._labels[label] for label in order if self._labels[label]},
            judged=self.statuses["judged"],
            abstained=self.statuses["abstained"],
            not_applicable=self.statuses["not_applicable"],
            failed=self.statuses["failed"],
            skipped=self.statuses["skipped"],
            not_run=self.statuses["not_run"],
            value=self._value.value,
            agreement=self.agreement.figures(),
            judges_agree=self._same_pairs / self._pairs if self._pairs else None,
            tied=self._tied,
            quotes=self._quotes.count,
            invented_quotes=self._quotes.invented,
        )


class JudgeTally:
    """The votes of one judge over the items so far."""

    def __init__(self) -> None:
        self.score = Mean()
        self._with_verdict = Mean()
        self.agreement = PairCounts()
        self.usage = Usage()
        self._quotes = QuoteTally()
        self._failures = OutcomeTally()

    def add(
        self,
        criterion: Criterion,
        stratum: Stratum,
        place: tuple[int, int],
        vote: Verdict,
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        self._failures.add(place, vote)
        self.agreement.add(stratum, criterion, vote, human)
        self.usage += vote.usage
        self._quotes.add(vote)
        answers = vote_of(criterion, vote), vote_of(criterion, verdict)
        if None not in answers:
            self._with_verdict.add(answers[0] == answers[1])

    def figures(self, name: str, weights: Mapping[str, float] | None) -> JudgeFigures:
        return JudgeFigures(
            name=name,
            weight=None if weights is None else weights[name],
            votes={s: self._failures.statuses[s] for s in STATUSES if s != "skipped"},
            with_verdict=self._with_verdict.value,
            agreement=self.agreement.figures(),
            score=self.score.value,
            scored=self.score.count,
            cost=self.usage.cost,
            estimated_cost=self.usage.estimated_cost,
            seconds=self.usage.seconds,
            quotes=self._quotes.count,
            invented_quotes=self._quotes.invented,
            first_error=self._failures.first_error,
        )


def _ends(numbers: Collection[float]) -> tuple[float, float]:
    return min(numbers), max(numbers)
