"""The figures of a run, as data: what `summary.json` holds and the table shows."""

from __future__ import annotations

from collections import Counter
from math import fsum
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict

from rubricate._version import __version__
from rubricate.rubric import ABSTENTION, BINARY_LABELS, Criterion, Failure, Verdict
from rubricate.stats import agreement_of_counts

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rubricate.run import ItemResult, Outcome, Result

__all__ = [
    "AgreementFigures",
    "CertificateFigures",
    "CriterionFigures",
    "ScoreFigures",
    "Summary",
    "Tallies",
    "UsageFigures",
    "summarize",
]


STATUSES = ("judged", "abstained", "not_applicable", "failed")


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class AgreementFigures(_Figures):
    """Agreement of the judge's labels with people's, over pairs in which both decided."""

    n: int
    """Pairs in which the judge and a person both gave a label that counts."""
    accuracy: float | None
    """The share of equal pairs; None for n = 0."""
    kappa: float | None
    """Cohen's kappa; None where undefined."""
    undefined: str | None = None
    """Why kappa is None."""


class CriterionFigures(_Figures):
    """One criterion over all items."""

    name: str
    weight: float
    binary: bool
    """Whether its answers are MET and UNMET."""
    labels: dict[str, int]
    """How often each label was given, in the criterion's own order; numbers that code or a metric
    gave are not counted one by one."""
    judged: int
    abstained: int
    not_applicable: int
    failed: int
    value: float | None
    """The mean value of the judged verdicts, in [0, 1]."""
    agreement: AgreementFigures | None
    """None where no item has a human label."""


class ScoreFigures(_Figures):
    """The mean over items."""

    mean: float | None
    """Mean score of the items that have one."""
    lowest: float | None
    """Mean of the lowest the items' scores could have been had the missing verdicts come."""
    highest: float | None
    """Mean of the highest they could have been."""
    scored: int
    """Items with a score."""
    coverage: float
    """Mean share of applicable criteria that were judged."""
    human_mean: float | None
    """Mean score of the human labels, over items with a label on every criterion."""


class UsageFigures(_Figures):
    """What the run took."""

    calls: int
    """Judgements made in this run."""
    resumed: int
    """Judgements read from the journal instead."""
    cached: int = 0
    """Judgements read from the cache instead."""
    damaged: int = 0
    """Records of the journal or the cache that were damaged, and count as not there."""
    requests: int
    """Requests sent, retries and re-asks included."""
    input_tokens: int
    cached_tokens: int
    """Those of the input tokens that the endpoint served from its cache."""
    output_tokens: int
    cost: float | None
    """US dollars; None where a price is not known."""
    saved_input_tokens: int = 0
    saved_output_tokens: int = 0
    saved_cost: float | None = 0.0
    """What the judgements read from journal and cache took when they were asked for; not in the
    figures above."""
    seconds: float


class CertificateFigures(_Figures):
    """Whether judge, prompt and rubric are those of a certificate."""

    file: str
    holds: bool
    differences: list[str]
    """What is not as certified, in words; empty where the certificate holds."""


class Summary(_Figures):
    """The figures of a run. `print(summary)` shows them as a table."""

    version: str
    """The version of rubricate that wrote it."""
    dataset: str | None
    judge: str
    note: str | None
    """What the judge says of itself."""
    items: int
    verdicts: dict[str, int]
    """How many verdicts have each status."""
    not_run: int
    """Those of the failed verdicts that were never asked for because the run ended early."""
    errors: dict[str, int]
    """How many verdicts failed for each cause."""
    first_error: str | None
    """The text of the first failure."""
    criteria: list[CriterionFigures]
    score: ScoreFigures
    agreement: AgreementFigures | None
    """Over all criteria together."""
    cannot_assess: str
    partial: float
    usage: UsageFigures
    run_dir: str | None
    stopped: str | None
    """Why the run ended early, if it did."""
    judge_fingerprint: str | None = None
    """A hash of the judge with its model, prompt and sampling; the same hash is the same judge."""
    certificate: CertificateFigures | None = None
    """How the run compares with a certificate, if one was given."""

    def __rich__(self) -> RenderableType:
        from rubricate.report._terminal import summary_view

        return summary_view(self)

    def __str__(self) -> str:
        from rubricate.report._terminal import as_text

        return as_text(self)

    __repr__ = __str__

    def to_dict(self) -> dict[str, Any]:
        """The figures as JSON values."""
        return self.model_dump(mode="json")


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
        self._score, self._lowest, self._highest = _Mean(), _Mean(), _Mean()
        self._coverage, self._human = _Mean(), _Mean()

    def add(self, item: ItemResult) -> None:
        """Count an item in."""
        self._items += 1
        for position, (criterion, name) in enumerate(
            zip(item.rubric, item.rubric.names, strict=True)
        ):
            place, verdict = (item.index, position), item.criteria[name]
            tally = self._criteria.get(name)
            if tally is None:
                tally = self._criteria[name] = _CriterionTally(name, criterion, place)
            tally.add(criterion, place, verdict, item.labels.get(name))
            if verdict.error is not None:
                self._errors[verdict.error.kind] += 1
                self._note(place, verdict.error)
        self._score.add(item.score.value)
        self._lowest.add(item.score.lowest)
        self._highest.add(item.score.highest)
        self._coverage.add(item.score.coverage)
        self._human.add(None if item.human_score is None else item.human_score.value)

    def _note(self, place: tuple[int, int], error: Failure) -> None:
        if error.kind == "not_run":
            return
        if self._first_error is None or place < self._first_error[:2]:
            self._first_error = (*place, f"{error.kind}: {error.message}")

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
            ),
            agreement=everything.figures(),
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
            run_dir=None if outcome.run_dir is None else str(outcome.run_dir),
            stopped=outcome.stopped,
            judge_fingerprint=outcome.fingerprint,
        )


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
        )


class _Agreement:
    """Pairs in which both decided; abstentions and failures are counted apart.

    Answers of criteria without a fixed set of labels are equal where their values are, to two
    decimal places.
    """

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
    """What is compared with another's answer; None where nothing was decided."""
    if verdict.status not in ("judged", "not_applicable"):
        return None
    if criterion.labels or verdict.value is None:
        return verdict.label
    return f"{verdict.value:.2f}"


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
