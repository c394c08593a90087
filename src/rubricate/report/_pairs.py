"""Which of two submissions is better, pair by pair: the figures, and what a terminal shows."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from pydantic import BaseModel, ConfigDict

from rubricate.rubric import Criterion, Verdict
from rubricate.stats import wilson_interval

__all__ = ["PairFigures", "PairOutcome", "PairReport", "PairResult", "PairVerdict", "pair_result"]

PairOutcome = Literal["first", "second", "tie", "disagreed", "abstained", "failed"]
"""Who is better. `tie`: neither, in both orders. `disagreed`: the answers in the two orders differ,
which counts as a tie. `abstained`: the judge could not tell. `failed`: there is no answer."""
COUNTED: tuple[PairOutcome, ...] = ("first", "second", "tie", "disagreed", "abstained", "failed")
MET_ALIKE = 1e-9
"""How near to one half a weighted mean of halves and wholes counts as one half."""


class _Figures(BaseModel):
    model_config = ConfigDict(frozen=True)


class PairVerdict(_Figures):
    """One criterion of one pair."""

    outcome: PairOutcome
    labels: tuple[str | None, str | None]
    """What was answered with the first submission shown first, and with the second shown first: the
    labels say which of the two *shown* first and second is better (of a fault: shows it more)."""
    reasons: tuple[str | None, str | None]
    errors: tuple[str | None, str | None]
    """Why there is no answer."""


class PairResult(_Figures):
    """One pair."""

    id: str
    outcome: PairOutcome
    """Who is better by all criteria together. `failed` where what failed could have turned it."""
    preference: float | None
    """How far the first is better, from 0 to 1: the weighted mean over the criteria that were
    decided, with 1 where the first is better, 0 where the second is, 0.5 for ties."""
    criteria: dict[str, PairVerdict]


class PairFigures(_Figures):
    """How often which one was better, by one criterion or by all together."""

    name: str
    first: int
    """Pairs in which the first is better."""
    second: int
    tie: int
    """Pairs in which neither is better, whatever the order."""
    disagreed: int
    """Pairs in which the answers in the two orders differ: ties, too."""
    abstained: int
    failed: int
    win_rate: float | None
    """`first` / (`first` + `second`), in [0, 1]; None where there is neither."""
    low: float | None
    high: float | None
    """The 95% interval of the win rate (Wilson 1927)."""


class PositionFigures(_Figures):
    """What the place in the prompt did, over all criteria of all pairs answered in both orders."""

    n: int
    first: int
    """Answers that preferred what is shown first, whichever that was."""
    second: int
    """Answers that preferred what is shown second, whichever that was."""
    rate: float | None
    """(`first` + `second`) / `n`, in [0, 1]."""
    low: float | None
    high: float | None
    """The 95% interval of the rate (Wilson 1927)."""


class PairReport(_Figures):
    """Two sets of submissions, compared pair by pair. `print` shows it as a table."""

    judge: str
    note: str | None
    pairs: int
    criteria: list[PairFigures]
    overall: PairFigures
    """By all criteria together, each with its weight."""
    position: PositionFigures
    not_compared: list[str]
    """Criteria that code computes; no judge is asked about them."""
    calls: int
    """Judgements made for this report."""
    known: int
    """Judgements read from journal and cache instead."""
    failed: int
    """Judgements that could not be had."""
    first_error: str | None
    """The text of the first of them."""
    cost: float | None
    """US dollars; None where the price is not known."""
    results: list[PairResult]

    @classmethod
    def of(
        cls,
        results: Sequence[PairResult],
        criteria: Iterable[str],
        *,
        judge: str,
        note: str | None,
        not_compared: Sequence[str],
        calls: int,
        known: int,
        cost: float | None,
    ) -> PairReport:
        """The figures of pairs; `criteria` are names in their order."""
        verdicts = [verdict for result in results for verdict in result.criteria.values()]
        errors = [error for verdict in verdicts for error in verdict.errors if error is not None]
        return cls(
            judge=judge,
            note=note,
            pairs=len(results),
            criteria=[
                _figures(name, [r.criteria[name].outcome for r in results if name in r.criteria])
                for name in criteria
            ],
            overall=_figures("all", [result.outcome for result in results]),
            position=_position(verdicts),
            not_compared=list(not_compared),
            calls=calls,
            known=known,
            failed=len(errors),
            first_error=errors[0] if errors else None,
            cost=cost,
            results=list(results),
        )

    def __str__(self) -> str:
        return "\n".join(_lines(self))


def pair_result(
    id: str,
    criteria: Mapping[str, Criterion],
    given: Mapping[str, Verdict],
    reverse: Mapping[str, Verdict],
) -> PairResult:
    """What came of a pair.

    Args:
        id: the pair's.
        criteria: what was asked (see `pair_criterion`), by name.
        given: the verdicts with the first submission shown first.
        reverse: those with the second shown first.
    """
    found: dict[str, PairVerdict] = {}
    decided: list[tuple[float, float]] = []
    lost = 0.0
    for name, criterion in criteria.items():
        verdict = found[name] = _verdict(given[name], reverse[name])
        worth = {"first": 1.0, "second": 0.0, "tie": 0.5, "disagreed": 0.5}.get(verdict.outcome)
        if worth is not None:
            decided.append((criterion.weight, worth))
        elif verdict.outcome == "failed":
            lost += criterion.weight
    weight = sum(part for part, _ in decided)
    if not weight:
        outcomes = {one.outcome for one in found.values()}
        without: PairOutcome = "failed" if "failed" in outcomes else "abstained"
        return PairResult(id=id, outcome=without, preference=None, criteria=found)
    raw = sum(part * worth for part, worth in decided)
    lowest, highest = raw / (weight + lost), (raw + lost) / (weight + lost)
    possible = {_better(lowest), _better(highest), _better(raw / weight)}
    outcome = possible.pop() if len(possible) == 1 else "failed"
    if outcome == "tie" and any(one.outcome == "disagreed" for one in found.values()):
        outcome = "disagreed"
    return PairResult(id=id, outcome=outcome, preference=raw / weight, criteria=found)


def _better(preference: float) -> PairOutcome:
    if abs(preference - 0.5) < MET_ALIKE:
        return "tie"
    return "first" if preference > 0.5 else "second"


def _verdict(given: Verdict, reverse: Verdict) -> PairVerdict:
    both = (given, reverse)
    statuses = {verdict.status for verdict in both}
    outcome: PairOutcome
    if "failed" in statuses:
        outcome = "failed"
    elif given.value is None or reverse.value is None:
        outcome = "abstained"
    elif given.value != 1.0 - reverse.value:
        outcome = "disagreed"
    else:
        outcome = _better(given.value)
    errors = [v.error and f"{v.error.kind}: {v.error.message}" for v in both]
    return PairVerdict(
        outcome=outcome,
        labels=(given.label, reverse.label),
        reasons=(given.reason, reverse.reason),
        errors=(errors[0], errors[1]),
    )


def _figures(name: str, outcomes: Sequence[PairOutcome]) -> PairFigures:
    counts = Counter(outcomes)
    rate = wilson_interval(counts["first"], counts["first"] + counts["second"])
    return PairFigures(
        name=name,
        **{str(outcome): counts[outcome] for outcome in COUNTED},
        win_rate=rate.value,
        low=rate.low,
        high=rate.high,
    )


def _position(verdicts: Sequence[PairVerdict]) -> PositionFigures:
    answered = [one for one in verdicts if one.outcome not in ("failed", "abstained")]
    same = Counter(one.labels[0] for one in answered if one.labels[0] == one.labels[1])
    rate = wilson_interval(same["FIRST"] + same["SECOND"], len(answered))
    return PositionFigures(
        n=len(answered),
        first=same["FIRST"],
        second=same["SECOND"],
        rate=rate.value,
        low=rate.low,
        high=rate.high,
    )


_COLUMNS = ("first", "second", "tie", "disagreed", "abstained", "failed", "first wins")


def _lines(report: PairReport) -> Iterator[str]:
    """The report as a plain table, 96 characters wide."""
    yield f"pairs {report.pairs}, each asked about in both orders, judged by {report.judge}"
    yield ""
    yield _row("better by", *_COLUMNS)
    yield "─" * 96
    for row in report.criteria:
        yield _figures_row(row)
    if len(report.criteria) > 1:
        yield _figures_row(report.overall)
    yield ""
    place = report.position
    if place.rate is not None:
        yield (
            f"position bias {_rate(place.rate, place.low, place.high)}: of {place.n} questions, "
            f"{place.first} were answered"
        )
        yield f"by what is shown first and {place.second} by what is shown second, in both orders"
    if report.not_compared:
        yield f"not compared, because code computes them: {', '.join(report.not_compared)}"
    known = f" ({report.known} more not asked again)" if report.known else ""
    cost = "unknown" if report.cost is None else f"${report.cost:.4f}"
    yield f"calls {report.calls}{known}   failed {report.failed}   cost {cost}"
    if report.first_error is not None:
        yield f"first failure: {report.first_error}"
    if report.note is not None:
        yield from textwrap.wrap(report.note, 96)


def _figures_row(row: PairFigures) -> str:
    counts = (str(getattr(row, outcome)) for outcome in COUNTED)
    return _row(row.name, *counts, _rate(row.win_rate, row.low, row.high))


def _row(name: str, *cells: str) -> str:
    widths = (6, 7, 5, 10, 10, 7, 19)
    row = f"{name:<32}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
    )
    return row.rstrip()


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    return "–" if value is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"
