"""Two sets of submissions, compared pair by pair: the figures, and what a terminal shows."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict

from rubricate.report._judged import Failures, JudgedReport, ending_lines
from rubricate.report._pairs import PairOutcome, PairResult, PairVerdict, pair_result
from rubricate.rubric import Verdict
from rubricate.stats import wilson_interval

if TYPE_CHECKING:
    from rubricate.run import Outcome

__all__ = ["PairFigures", "PairReport", "PairSummary", "PairTallies", "PositionFigures"]

COUNTED: tuple[PairOutcome, ...] = ("first", "second", "tie", "disagreed", "abstained", "failed")


class PairFigures(BaseModel):
    """How often which one was better, by one criterion or by all together."""

    model_config = ConfigDict(frozen=True)

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


class PositionFigures(BaseModel):
    """What the place in the prompt did, over all criteria of all pairs answered in both orders."""

    model_config = ConfigDict(frozen=True)

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


class PairSummary(JudgedReport):
    """The figures of a comparison, without its pairs. `print` shows it as a table."""

    pairs: int
    criteria: list[PairFigures]
    overall: PairFigures
    """By all criteria together, each with its weight."""
    position: PositionFigures
    not_compared: list[str]
    """Criteria that code computes; no judge is asked about them."""

    def __str__(self) -> str:
        return "\n".join(_lines(self))


class PairReport(PairSummary):
    """Two sets of submissions, compared pair by pair. `print` shows it as a table."""

    results: list[PairResult]
    """The pairs, in the order of the first set."""

    @classmethod
    def of(cls, summary: PairSummary, results: Sequence[PairResult]) -> PairReport:
        """The figures with their pairs, which may come in any order."""
        ordered = sorted(results, key=lambda result: result.index)
        return cls(**dict(summary), results=ordered)


class PairTallies:
    """The figures of pairs, added up as they come, in any order."""

    def __init__(self) -> None:
        self._pairs = 0
        self._overall: Counter[PairOutcome] = Counter()
        self._criteria: dict[str, Counter[PairOutcome]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._answered = 0
        self._same: Counter[str | None] = Counter()
        self._failures = Failures()

    def add(
        self,
        index: int,
        id: str,
        weights: Mapping[str, float],
        given: Mapping[str, Verdict],
        reverse: Mapping[str, Verdict],
    ) -> PairResult:
        """Count a pair in, and give what came of it; the arguments are those of `pair_result`."""
        result = pair_result(id, weights, given, reverse, index=index)
        self._pairs += 1
        self._overall[result.outcome] += 1
        for position, (name, verdict) in enumerate(result.criteria.items()):
            place = (index, position)
            self._places[name] = min(place, self._places.get(name, place))
            self._criteria.setdefault(name, Counter())[verdict.outcome] += 1
            self._note_position(verdict)
            self._failures.add((*place, 0), given[name])
            self._failures.add((*place, 1), reverse[name])
        return result

    def _note_position(self, verdict: PairVerdict) -> None:
        if verdict.outcome not in ("failed", "abstained"):
            self._answered += 1
            if verdict.labels[0] == verdict.labels[1]:
                self._same[verdict.labels[0]] += 1

    def summary(self, outcome: Outcome, not_compared: Sequence[str]) -> PairSummary:
        """The figures of all pairs so far, and of the run that gave them."""
        return PairSummary(
            **self._failures.fields(outcome),
            pairs=self._pairs,
            criteria=[
                _figures(name, self._criteria[name])
                for name in sorted(self._places, key=self._places.__getitem__)
            ],
            overall=_figures("all", self._overall),
            position=self._position(),
            not_compared=list(not_compared),
        )

    def _position(self) -> PositionFigures:
        first, second = self._same["FIRST"], self._same["SECOND"]
        rate = wilson_interval(first + second, self._answered)
        return PositionFigures(
            n=self._answered,
            first=first,
            second=second,
            rate=rate.value,
            low=rate.low,
            high=rate.high,
        )


def _figures(name: str, counts: Counter[PairOutcome]) -> PairFigures:
    rate = wilson_interval(counts["first"], counts["first"] + counts["second"])
    return PairFigures(
        name=name,
        **{str(outcome): counts[outcome] for outcome in COUNTED},
        win_rate=rate.value,
        low=rate.low,
        high=rate.high,
    )


_COLUMNS = ("first", "second", "tie", "disagreed", "abstained", "failed", "first wins")
_WIDTH, _NAME = 96, 26


def _lines(report: PairSummary) -> Iterator[str]:
    """The report as a plain table, 96 characters wide."""
    yield f"pairs {report.pairs}, each asked about in both orders, judged by {report.judge}"
    yield ""
    yield _row("better by", *_COLUMNS)
    yield "─" * _WIDTH
    for row in report.criteria:
        yield from _figures_rows(row)
    if len(report.criteria) > 1:
        yield from _figures_rows(report.overall)
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
    yield from ending_lines(report, _WIDTH)


def _figures_rows(row: PairFigures) -> Iterator[str]:
    """The figures in a line, with a long name in lines above."""
    counts = (str(getattr(row, outcome)) for outcome in COUNTED)
    cells = (*counts, _rate(row.win_rate, row.low, row.high))
    if len(row.name) < _NAME:
        yield _row(row.name, *cells)
    else:
        yield from textwrap.wrap(row.name, _WIDTH)
        yield _row("", *cells)


def _row(name: str, *cells: str) -> str:
    widths = (8, 8, 8, 10, 10, 8, 18)
    row = f"{name:<{_NAME}}" + "".join(
        f"{cell:>{width}}" for cell, width in zip(cells, widths, strict=True)
    )
    return row.rstrip()


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    return "–" if value is None else f"{value:.2f} [{low:.2f}, {high:.2f}]"
