"""What a run's figures are added up in: a criterion, a judge, agreement, quotes, a mean."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from itertools import combinations
from math import fsum

from rubricate.rubric import ABSTENTION, BINARY_LABELS, Criterion, Usage, Verdict
from rubricate.run.results._compared import PairCounts, Stratum, stratum_of, vote_of
from rubricate.run.results._summary import CriterionFigures, JudgeFigures

__all__ = ["STATUSES", "CriterionTally", "JudgeTally", "Mean", "QuoteTally"]

STATUSES = ("judged", "abstained", "not_applicable", "failed")


class QuoteTally:
    """The quotes of verdicts, and how many of them are invented."""

    def __init__(self) -> None:
        self.count = self.invented = 0

    def add(self, verdict: Verdict) -> None:
        self.count += len(verdict.evidence)
        self.invented += sum(evidence.invented for evidence in verdict.evidence)


class CriterionTally:
    """One criterion over the items so far; what it is comes from the first item that has it."""

    def __init__(self, name: str, criterion: Criterion, place: tuple[int, int]) -> None:
        self.place = place
        self.statuses: Counter[str] = Counter()
        self.agreement = PairCounts()
        self.stratum = stratum_of(name, criterion)
        self._name = name
        self._criterion = self._last = criterion
        self._weights = {criterion.weight}
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
            answers = [_answer(criterion, vote) for vote in verdict.votes]
            for one, other in combinations([one for one in answers if one is not None], 2):
                self._pairs += 1
                self._same_pairs += one == other
        elif verdict.evidence:
            self._quotes.add(verdict)

    def figures(self) -> CriterionFigures:
        criterion = self._criterion
        order = [*dict.fromkeys((*(criterion.labels or BINARY_LABELS), ABSTENTION))]
        if criterion.labels:
            order += sorted(self._labels.keys() - set(order))  # of another item's own criterion
        return CriterionFigures(
            name=self._name,
            weight=criterion.weight if len(self._weights) == 1 else None,
            weight_range=None if len(self._weights) == 1 else _ends(self._weights),
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


class JudgeTally:
    """The votes of one judge over the items so far."""

    def __init__(self) -> None:
        self.score = Mean()
        self._statuses: Counter[str] = Counter()
        self._with_verdict = Mean()
        self._agreement = PairCounts()
        self._usage = Usage()
        self._quotes = QuoteTally()
        self._first_error: tuple[tuple[int, int], str] | None = None

    def add(
        self,
        criterion: Criterion,
        stratum: Stratum,
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
        self._agreement.add(stratum, criterion, vote, human)
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
            scored=self.score.count,
            cost=self.cost,
            seconds=self._usage.seconds,
            quotes=self._quotes.count,
            invented_quotes=self._quotes.invented,
            first_error=self._first_error[1] if self._first_error else None,
        )


def _ends(numbers: Collection[float]) -> tuple[float, float]:
    return min(numbers), max(numbers)


def _answer(criterion: Criterion, verdict: Verdict) -> str | None:
    return vote_of(criterion, verdict.status, verdict.label, verdict.value)


class Mean:
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
        if not number:
            return
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
