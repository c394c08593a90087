"""A run's figures, added up item by item."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict
from itertools import combinations
from math import fsum
from typing import TYPE_CHECKING, Any

from rubricate._version import __version__
from rubricate.report._confidence import answer_of
from rubricate.report._summary import (
    AgreementFigures,
    CalibrationFigures,
    CriterionFigures,
    DocumentFigures,
    InventedQuotes,
    JudgeFigures,
    ScoreFigures,
    StageFigures,
    Summary,
    UsageFigures,
)
from rubricate.rubric import ABSTENTION, BINARY_LABELS, Criterion, Usage, Verdict
from rubricate.run import DocumentWork
from rubricate.stats import agreement_of_counts

if TYPE_CHECKING:
    from rubricate.judge import Stage
    from rubricate.run import ItemResult, Outcome, Result

__all__ = ["Tallies", "summarize"]

NEVER = (sys.maxsize, 0, "")
"""After every place."""
STATUSES = ("judged", "abstained", "not_applicable", "failed")


def summarize(result: Result) -> Summary:
    """Compute a run's figures."""
    tallies = Tallies()
    for item in result.items:
        tallies.add(item)
    return tallies.summary(result)


class Tallies:
    """The figures of items, added up as they come, in any order."""

    def __init__(self) -> None:
        self._items = 0
        self._criteria: dict[str, _CriterionTally] = {}
        self._errors: Counter[str] = Counter()
        self._first_error: tuple[int, int, str] | None = None
        self._first_abstention: tuple[int, int, str] | None = None
        self._score, self._lowest, self._highest = _Mean(), _Mean(), _Mean()
        self._coverage, self._human, self._penalty = _Mean(), _Mean(), _Mean()
        self._judges: dict[str, _JudgeTally] = {}
        self._quotes: dict[str, _Quotes] = {}
        self._stages: dict[int, _Agreement] = {}
        self._ended: Counter[int] = Counter()
        self._decided: Counter[int] = Counter()
        self._mapped = self._changed = 0
        self._documents = DocumentWork()
        self._warnings: Counter[str] = Counter()
        self._first_warning: tuple[int, str] | None = None

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        self._items += 1
        for position, (criterion, name) in enumerate(
            zip(item.rubric, item.rubric.names, strict=True)
        ):
            place, verdict, human = (
                (item.index, position),
                item.criteria[name],
                item.labels.get(name),
            )
            tally = self._criteria.get(name)
            if tally is None:
                tally = self._criteria[name] = _CriterionTally(name, criterion, place)
            tally.add(criterion, place, verdict, human)
            if verdict.votes or verdict.detail or verdict.evidence:
                self._add_details(criterion, place, verdict, human)
            if verdict.status != "judged":
                self._note(place, name, verdict)
        self._score.add(item.score.value)
        self._lowest.add(item.score.lowest)
        self._highest.add(item.score.highest)
        self._coverage.add(item.score.coverage)
        self._human.add(None if item.human_score is None else item.human_score.value)
        self._penalty.add(item.score.penalty)
        for name, alone in item.judge_scores.items():
            self._judges[name].score.add(alone.value)
        self._warnings.update(item.warnings.keys())
        for warning in item.warnings.values():
            if self._first_warning is None or item.index < self._first_warning[0]:
                self._first_warning = (item.index, f"item {item.id}: {warning}")

    def _add_details(
        self,
        criterion: Criterion,
        place: tuple[int, int],
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        """Count in what stands behind a verdict: quotes, maps, votes, stages and parts."""
        for vote in verdict.votes or (verdict,):
            if vote.evidence:
                self._quotes.setdefault(vote.judge or "", _Quotes()).add(vote)
            if vote.detail:
                self._note_calibration(vote.detail, vote.label)
        for vote in verdict.votes:
            judge = self._judges.setdefault(vote.judge or "", _JudgeTally())
            judge.add(criterion, place, vote, verdict, human)
        if verdict.stage is not None:
            self._ended[verdict.stage] += 1
            self._decided[verdict.stage] += verdict.status != "failed"
            self._stages.setdefault(verdict.stage, _Agreement()).add(criterion, verdict, human)
        if verdict.detail or verdict.votes:
            self._documents.add(verdict)

    def _note_calibration(self, detail: Mapping[str, Any], label: str | None) -> None:
        mapped = detail.get("calibration")
        if isinstance(mapped, Mapping):
            self._mapped += 1
            self._changed += mapped["label"] != label

    def _note(self, place: tuple[int, int], name: str, verdict: Verdict) -> None:
        """Keep the first cause of a failure, and the first reason of an abstention."""
        error = verdict.error
        if error is not None:
            self._errors[error.kind] += 1
            if error.kind != "not_run" and place < (self._first_error or NEVER)[:2]:
                self._first_error = (*place, f"{error.kind}: {error.message}")
        elif (
            verdict.status == "abstained"
            and verdict.reason
            and place < (self._first_abstention or NEVER)[:2]
        ):
            self._first_abstention = (*place, f"{name}: {verdict.reason}")

    def summary(self, outcome: Outcome) -> Summary:
        """The figures of all items so far, and of the run that gave them."""
        criteria = sorted(self._criteria.values(), key=lambda tally: tally.place)
        everything = _Agreement()
        for tally in criteria:
            everything.include(tally.agreement)
        statuses = sum((tally.statuses for tally in criteria), Counter[str]())
        return Summary(
            version=__version__,
            dataset=outcome.dataset,
            judge=outcome.judge,
            note=outcome.note,
            items=self._items,
            verdicts={status: statuses[status] for status in STATUSES},
            not_run=self._errors["not_run"],
            errors=dict(sorted(self._errors.items())),
            first_error=self._first_error[2] if self._first_error else None,
            criteria=[tally.figures() for tally in criteria],
            score=ScoreFigures(
                mean=self._score.value,
                lowest=self._lowest.value,
                highest=self._highest.value,
                scored=self._score.count,
                coverage=self._coverage.value or 0.0,
                human_mean=self._human.value,
                penalty=None if outcome.length_penalty is None else self._penalty.value,
            ),
            agreement=everything.figures(),
            judges=[self._judge(name, outcome) for name in outcome.judges],
            stages=[
                self._stage(place, stage) for place, stage in enumerate(outcome.stages, start=1)
            ],
            invented_quotes=[
                InventedQuotes(judge=name, quotes=found.count, invented=found.invented)
                for name, found in sorted(self._quotes.items())
                if found.invented
            ],
            strategies={} if outcome.aggregation is None else asdict(outcome.aggregation),
            first_abstention=self._first_abstention[2] if self._first_abstention else None,
            warnings=dict(sorted(self._warnings.items())),
            first_warning=self._first_warning[1] if self._first_warning else None,
            cannot_assess=outcome.cannot_assess,
            partial=outcome.partial,
            usage=UsageFigures(
                calls=outcome.calls,
                resumed=outcome.resumed,
                cached=outcome.cached,
                damaged=outcome.damaged,
                saved_input_tokens=outcome.saved.input_tokens,
                saved_output_tokens=outcome.saved.output_tokens,
                saved_cost=outcome.saved.cost,
                requests=outcome.usage.requests,
                input_tokens=outcome.usage.input_tokens,
                cached_tokens=outcome.usage.cached_tokens,
                output_tokens=outcome.usage.output_tokens,
                cost=outcome.usage.cost,
                seconds=outcome.seconds,
            ),
            documents=(
                DocumentFigures(**asdict(self._documents)) if self._documents.verdicts else None
            ),
            run_dir=None if outcome.run_dir is None else str(outcome.run_dir),
            stopped=outcome.stopped,
            judge_fingerprint=outcome.fingerprint,
            prompt_version=outcome.prompt_version,
            mode=outcome.mode,
            calibration=(
                None
                if outcome.calibration is None
                else CalibrationFigures(
                    map=outcome.calibration, applied=self._mapped, changed=self._changed
                )
            ),
        )

    def _judge(self, name: str, outcome: Outcome) -> JudgeFigures:
        figures = self._judges.get(name, _JudgeTally()).figures(name, outcome.weights)
        if outcome.stages and name not in outcome.stages[0].names:
            return figures.model_copy(update={"score": None})  # it saw what others left
        return figures

    def _stage(self, place: int, stage: Stage) -> StageFigures:
        costs = [self._judges[name].cost for name in stage.names if name in self._judges]
        known = [cost for cost in costs if cost is not None]
        return StageFigures(
            name=stage.name,
            threshold=stage.threshold,
            asked=sum(count for at, count in self._ended.items() if at >= place),
            decided=self._decided[place],
            agreement=self._stages.get(place, _Agreement()).figures(),
            cost=fsum(known) if len(known) == len(costs) else None,
        )


class _Quotes:
    """The quotes of verdicts, and how many of them are invented."""

    def __init__(self) -> None:
        self.count = self.invented = 0

    def add(self, verdict: Verdict) -> None:
        self.count += len(verdict.evidence)
        self.invented += sum(evidence.invented for evidence in verdict.evidence)


class _CriterionTally:
    """One criterion over the items so far; what it is comes from the first item that has it."""

    def __init__(self, name: str, criterion: Criterion, place: tuple[int, int]) -> None:
        self.place = place
        self.statuses: Counter[str] = Counter()
        self.agreement = _Agreement()
        self._name = name
        self._criterion = criterion
        self._labels: Counter[str] = Counter()
        self._value = _Mean()
        self._tied = self._pairs = self._same_pairs = 0
        self._quotes = _Quotes()

    def add(
        self,
        criterion: Criterion,
        place: tuple[int, int],
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        if place < self.place:
            self.place, self._criterion = place, criterion
        self.statuses[verdict.status] += 1
        if verdict.label is not None:
            self._labels[verdict.label] += 1
        self._value.add(verdict.value)
        self.agreement.add(criterion, verdict, human)
        self._tied += verdict.tied
        for vote in verdict.votes or (verdict,):
            if vote.evidence:
                self._quotes.add(vote)
        if verdict.votes:
            answers = [_answer(criterion, vote) for vote in verdict.votes]
            for one, other in combinations([one for one in answers if one is not None], 2):
                self._pairs += 1
                self._same_pairs += one == other

    def figures(self) -> CriterionFigures:
        criterion = self._criterion
        order = [*dict.fromkeys((*(criterion.labels or BINARY_LABELS), ABSTENTION))]
        if criterion.labels:
            order += sorted(self._labels.keys() - set(order))  # of another item's own criterion
        return CriterionFigures(
            name=self._name,
            weight=criterion.weight,
            binary=criterion.labels == BINARY_LABELS,
            labels={label: self._labels[label] for label in order if self._labels[label]},
            judged=self.statuses["judged"],
            abstained=self.statuses["abstained"],
            not_applicable=self.statuses["not_applicable"],
            failed=self.statuses["failed"],
            value=self._value.value,
            agreement=self.agreement.figures(),
            judges_agree=self._same_pairs / self._pairs if self._pairs else None,
            tied=self._tied,
            quotes=self._quotes.count,
            invented_quotes=self._quotes.invented,
        )


class _JudgeTally:
    """The votes of one judge over the items so far."""

    def __init__(self) -> None:
        self.score = _Mean()
        self._statuses: Counter[str] = Counter()
        self._with_verdict = _Mean()
        self._agreement = _Agreement()
        self._usage = Usage()
        self._quotes = _Quotes()
        self._first_error: tuple[tuple[int, int], str] | None = None

    def add(
        self,
        criterion: Criterion,
        place: tuple[int, int],
        vote: Verdict,
        verdict: Verdict,
        human: Verdict | None,
    ) -> None:
        error = vote.error
        if error is not None and error.kind != "not_run":
            told = (place, f"{error.kind}: {error.message}")
            self._first_error = min(self._first_error or told, told)
        self._statuses[vote.status] += 1
        self._agreement.add(criterion, vote, human)
        self._usage += vote.usage
        self._quotes.add(vote)
        answers = _answer(criterion, vote), _answer(criterion, verdict)
        if None not in answers:
            self._with_verdict.add(answers[0] == answers[1])

    @property
    def cost(self) -> float | None:
        return self._usage.cost

    def figures(self, name: str, weights: Mapping[str, float] | None) -> JudgeFigures:
        return JudgeFigures(
            name=name,
            weight=None if weights is None else weights[name],
            votes={status: self._statuses[status] for status in STATUSES},
            with_verdict=self._with_verdict.value,
            agreement=self._agreement.figures(),
            score=self.score.value,
            cost=self.cost,
            seconds=self._usage.seconds,
            quotes=self._quotes.count,
            invented_quotes=self._quotes.invented,
            first_error=self._first_error[1] if self._first_error else None,
        )


class _Agreement:
    """Pairs in which both decided; abstentions and failures are counted apart."""

    def __init__(self) -> None:
        self._pairs: Counter[tuple[str, str]] = Counter()
        self._has_labels = False

    def add(self, criterion: Criterion, verdict: Verdict, human: Verdict | None) -> None:
        if human is None:
            return
        self._has_labels = True
        pair = [_answer(criterion, one) for one in (verdict, human)]
        if pair[0] is not None and pair[1] is not None:
            self._pairs[pair[0], pair[1]] += 1

    def include(self, other: _Agreement) -> None:
        self._pairs += other._pairs
        self._has_labels |= other._has_labels

    def figures(self) -> AgreementFigures | None:
        if not self._has_labels:
            return None
        found = agreement_of_counts(self._pairs)
        return AgreementFigures(
            n=found.n, accuracy=found.accuracy, kappa=found.kappa, undefined=found.undefined
        )


def _answer(criterion: Criterion, verdict: Verdict) -> str | None:
    return answer_of(criterion, verdict.status, verdict.label, verdict.value)


class _Mean:
    """The mean of numbers, exactly rounded, whatever order they come in.

    The partial sums are those of Shewchuk, "Adaptive Precision Floating-Point Arithmetic", 1997.
    """

    def __init__(self) -> None:
        self.count = 0
        self._partials: list[float] = []

    def add(self, number: float | None) -> None:
        """Count a number in; None is none."""
        if number is None:
            return
        self.count += 1
        kept = 0
        for partial in self._partials:
            larger, smaller = (number, partial) if abs(number) > abs(partial) else (partial, number)
            number = larger + smaller
            if rest := smaller - (number - larger):
                self._partials[kept] = rest
                kept += 1
        self._partials[kept:] = [number]

    @property
    def value(self) -> float | None:
        return fsum(self._partials) / self.count if self.count else None
