"""The figures of a pairwise comparison of two sets of submissions, and their display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import fsum
from typing import TYPE_CHECKING, get_args

from pydantic import BaseModel, ConfigDict

from rubricate.analysis._judged import JudgedReport
from rubricate.analysis.comparison._pairs import PairOutcome, PairResult, pair_result
from rubricate.judge import EQUAL, FIRST, SECOND
from rubricate.rubric import NOT_RUN, UNANSWERED, Verdict
from rubricate.run.results import OutcomeTally
from rubricate.stats import Estimate, asymmetry, exact_interval
from rubricate.views import (
    GAP,
    STATUSES,
    Column,
    Paragraph,
    Row,
    Section,
    Table,
    estimate_text,
    numbers,
    say,
)

if TYPE_CHECKING:
    from rubricate.run import RunFacts

COUNTED: tuple[PairOutcome, ...] = get_args(PairOutcome)


class PairFigures(BaseModel):
    """How often each submission was better, by one criterion or by all together."""

    model_config = ConfigDict(frozen=True)

    name: str
    first: int
    """Pairs in which the first is better."""
    second: int
    tie: int
    """Pairs in which neither is better, whatever the order."""
    disagreed: int
    """Pairs in which the answers in the two orders differ; they count as ties."""
    abstained: int
    failed: int
    not_run: int = 0
    win_rate: float | None
    """`first` / (`first` + `second`), in [0, 1]; None if both are 0."""
    low: float | None
    high: float | None
    """The 95% interval of the win rate (Clopper and Pearson 1934)."""
    corrected_win_rate: float | None
    """The share of answers that name the first, over all pairs with an answer in both orders. Each
    order counts one half, so that an effect of the position cancels out, and an answer for neither
    counts one half. In [0, 1]."""
    corrected_low: float | None
    corrected_high: float | None
    """The 95% interval of the corrected win rate (`stats.asymmetry`)."""


class PositionFigures(BaseModel):
    """The effect of the position in the prompt, over all criteria of pairs answered in both
    orders."""

    model_config = ConfigDict(frozen=True)

    n: int
    """The number of questions answered in both orders."""
    inconsistent: int
    """Questions answered differently in the two orders, because of noise or the position."""
    inconsistent_pairs: int
    """Pairs with such a question."""
    first: int
    """Questions whose answer both times was the submission shown first."""
    second: int
    """Questions whose answer both times was the submission shown second."""
    rate: float | None
    """`inconsistent` / `n`, in [0, 1]."""
    low: float | None
    high: float | None
    """The 95% interval of the rate (Clopper and Pearson 1934), for independent questions."""
    bias: float | None
    """How much more likely a submission is chosen if shown first than if shown second, from -1
    (always the second) to 1 (always the first); 0 for a judge that ignores the position, however
    noisy."""
    bias_low: float | None
    bias_high: float | None
    """The 95% interval of the bias, by pairs (`stats.asymmetry`)."""


class LabelFigures(BaseModel):
    """How often the better submission by all criteria is the one that people prefer."""

    model_config = ConfigDict(frozen=True)

    n: int
    """Tasks with a label and an answer, without failures and abstentions. A task is one pair or, if
    a side has several answers, the pairs with each of them."""
    right: int
    """Tasks with the label's outcome in all pairs and both orders. Answers that differ between the
    orders are wrong, and so is a tie unless people call it one."""
    left_out: int
    """Tasks with a label but without a decisive answer."""
    accuracy: float | None
    """`right` / `n`, in [0, 1]."""
    low: float | None
    high: float | None
    """The exact 95% interval of the accuracy (Clopper and Pearson 1934)."""


class PairSummary(JudgedReport):
    """The figures of a comparison, without its pairs. `print` shows it as a table."""

    pairs: int
    criteria: list[PairFigures]
    overall: PairFigures
    """The figures by all criteria together, weighted."""
    position: PositionFigures
    not_compared: list[str]
    """Criteria computed by code; no judge is asked about them."""
    labels: LabelFigures | None = None
    """The agreement with human preferences; None without labels."""

    @property
    def title(self) -> str:
        return f"{self.pairs} pairs, judged by {self.judge}"

    def sections(self) -> Iterator[Section]:
        """How often each one is better, and the effect of the position in the prompt."""
        yield say(f"pairs {self.pairs}, each asked about in both orders, judged by {self.judge}")
        yield GAP
        decided = [outcome for outcome in COUNTED if outcome not in UNANSWERED]
        if any(getattr(row, outcome) for row in self.criteria for outcome in decided):
            yield _table(self)
            yield GAP
        yield from _position_lines(self.position)
        fair = self.overall
        if fair.corrected_win_rate is not None:
            rate = _rate(fair.corrected_win_rate, fair.corrected_low, fair.corrected_high)
            yield say(
                f"points of the first {rate}: each answer in each order, by its weight; "
                "a tie is one half"
            )
        if self.labels is not None:
            people = self.labels
            rate = _rate(people.accuracy, people.low, people.high)
            left_out = f"; {people.left_out} without an answer" if people.left_out else ""
            single = people.n + people.left_out == self.pairs
            what = "pairs" if single else "tasks, each answer against all of the other side"
            yield say(
                f"accuracy {rate} against people: {people.right} of {people.n} {what}, the same in "
                f"both orders{left_out}"
            )
        if self.not_compared:
            names = ", ".join(self.not_compared)
            yield say(f"not compared, because code computes them: {names}")
        yield from self.ending()


class PairReport(PairSummary):
    """Two sets of submissions, compared pair by pair. `print` shows it as a table.

    Attributes:
        judge: the judge's name.
        pairs: the number of pairs.
        criteria: the figures by criterion.
        position: how often the position decided, rather than the text.
        run_dir: the run folder, if any.
        usage: the usage of the requests: tokens, US dollars, seconds.
    """

    results: list[PairResult]
    """The pairs, in the order of the first set."""

    @classmethod
    def of(cls, summary: PairSummary, results: Sequence[PairResult]) -> PairReport:
        """Create it from the figures and the pairs, which may come in any order."""
        ordered = sorted(results, key=lambda result: result.index)
        return cls(**dict(summary), results=ordered)


class PairTallies:
    """Accumulates the figures of pairs, in any order."""

    def __init__(self) -> None:
        self._pairs = 0
        self._overall: Counter[PairOutcome] = Counter()
        self._criteria: dict[str, Counter[PairOutcome]] = {}
        self._places: dict[str, tuple[int, int]] = {}
        self._named: Counter[str | None] = Counter()
        self._leaning: dict[str | None, Counter[float]] = {}
        self._by_place: Counter[tuple[float, float, int]] = Counter()
        self._differing: Counter[int] = Counter()
        self._questions = 0
        self._failures = OutcomeTally()
        self._labelled: dict[str, bool | None] = {}

    def add(
        self,
        index: int,
        id: str,
        weights: Mapping[str, float],
        forward: Mapping[str, Verdict],
        reverse: Mapping[str, Verdict],
        label: object = None,
        task: str = "",
    ) -> PairResult:
        """Add a pair and return its result; the arguments are those of `pair_result`.

        A `task` is right if all of its pairs are right, and wrong if any is wrong.
        """
        result = pair_result(id, weights, forward, reverse, index=index, label=label)
        if label is not None:
            is_answered = result.outcome not in ("abstained", *UNANSWERED)
            seen = (
                result.outcome == label if is_answered else None,
                self._labelled.get(task, True),
            )
            self._labelled[task] = False if False in seen else None if None in seen else True
        self._pairs += 1
        self._overall[result.outcome] += 1
        self._note_answers(result, weights, forward, reverse)
        for position, (name, verdict) in enumerate(result.criteria.items()):
            place = (index, position)
            self._places[name] = min(place, self._places.get(name, place))
            self._criteria.setdefault(name, Counter())[verdict.outcome] += 1
            self._failures.add((*place, 0), forward[name])
            self._failures.add((*place, 1), reverse[name])
        return result

    def _note_answers(
        self,
        result: PairResult,
        weights: Mapping[str, float],
        forward: Mapping[str, Verdict],
        reverse: Mapping[str, Verdict],
    ) -> None:
        """Count the answers in both orders, by position and by the submission shown there."""
        by_place: list[float] = []
        leanings: list[tuple[float, float]] = []
        differ = 0
        for name, verdict in result.criteria.items():
            first, second = forward[name], reverse[name]
            if verdict.outcome in UNANSWERED or first.value is None or second.value is None:
                continue
            differ += verdict.outcome == "disagreed"
            if first.label == second.label:
                self._named[first.label] += 1
            by_place.append((_SIDES[first.label] + _SIDES[second.label]) / 2)
            leaning = first.value - second.value
            self._leaning.setdefault(name, Counter())[leaning] += 1
            leanings.append((weights[name], leaning))
        if not by_place:
            return
        self._questions += len(by_place)
        self._differing[differ] += 1
        self._by_place[
            fsum(by_place), fsum(share * share for share in by_place), len(by_place)
        ] += 1
        weight = fsum(part for part, _ in leanings)
        leaning = fsum(part * lean for part, lean in leanings) / weight
        self._leaning.setdefault(None, Counter())[leaning] += 1

    def summary(self, facts: RunFacts, not_compared: Sequence[str]) -> PairSummary:
        """The figures of all pairs so far, and of their run."""
        return PairSummary(
            **self._failures.fields(facts),
            pairs=self._pairs,
            criteria=[
                _figures(name, self._criteria[name], self._leaning.get(name))
                for name in sorted(self._places, key=self._places.__getitem__)
            ],
            overall=_figures("all", self._overall, self._leaning.get(None)),
            position=self._position(),
            not_compared=list(not_compared),
            labels=self._labels(),
        )

    def _labels(self) -> LabelFigures | None:
        if not self._labelled:
            return None
        counts = Counter(self._labelled.values())
        right, n = counts[True], counts[True] + counts[False]
        rate = exact_interval(right, n)
        return LabelFigures(
            n=n,
            right=right,
            left_out=counts[None],
            accuracy=rate.value,
            low=rate.low,
            high=rate.high,
        )

    def _position(self) -> PositionFigures:
        inconsistent = sum(differ * pairs for differ, pairs in self._differing.items())
        rate = exact_interval(inconsistent, self._questions)
        places = sorted(self._by_place.items())
        bias = asymmetry(
            [total for (total, _, _), _ in places],
            squares=[square for (_, square, _), _ in places],
            sizes=[size for (_, _, size), _ in places],
            counts=[times for _, times in places],
        )
        return PositionFigures(
            n=self._questions,
            inconsistent=inconsistent,
            inconsistent_pairs=sum(pairs for differ, pairs in self._differing.items() if differ),
            first=self._named[FIRST],
            second=self._named[SECOND],
            rate=rate.value,
            low=rate.low,
            high=rate.high,
            bias=bias.value,
            bias_low=bias.low,
            bias_high=bias.high,
        )


_SIDES: dict[str | None, float] = {FIRST: 1.0, SECOND: -1.0, EQUAL: 0.0}
"""The contribution of an answer to the preference for the first position."""


def _figures(
    name: str, counts: Counter[PairOutcome], leaning: Counter[float] | None
) -> PairFigures:
    """The figures of a criterion, or of all together.

    Args:
        name: the name of the criterion.
        counts: the number of pairs with each outcome.
        leaning: the number of pairs by the mean of their answers, from -1 (second) to 1 (first).
    """
    rate = exact_interval(counts["first"], counts["first"] + counts["second"])
    leanings = sorted((leaning or {}).items())
    lean = asymmetry([lean for lean, _ in leanings], counts=[times for _, times in leanings])
    return PairFigures(
        name=name,
        **{str(outcome): counts[outcome] for outcome in COUNTED},
        win_rate=rate.value,
        low=rate.low,
        high=rate.high,
        corrected_win_rate=_share(lean.value),
        corrected_low=_share(lean.low),
        corrected_high=_share(lean.high),
    )


def _share(leaning: float | None) -> float | None:
    """Map a number in [-1, 1] to a share in [0, 1]."""
    return None if leaning is None else (1 + leaning) / 2


_NAME = 26
"""The width of criterion names, in characters."""


def _table(report: PairSummary) -> Table:
    counted = [each for each in COUNTED if each != NOT_RUN or report.not_run]
    headings = [STATUSES[each].text if each in STATUSES else each for each in counted]
    every = [*report.criteria, *([report.overall] if len(report.criteria) > 1 else [])]
    rows = [
        Row(
            [
                row.name,
                *(str(getattr(row, outcome)) for outcome in counted),
                _rate(row.win_rate, row.low, row.high),
            ]
        )
        for row in every
    ]
    return Table(
        [Column("better by", is_text=True, most=_NAME), *numbers(*headings, "first wins")], rows
    )


def _position_lines(place: PositionFigures) -> Iterator[Paragraph]:
    if place.bias is None or place.bias_low is None or place.bias_high is None:
        return
    noise = "" if place.bias_low > 0 or place.bias_high < 0 else ", not significant"
    yield say(
        f"position bias {_rate(place.bias, place.bias_low, place.bias_high)}{noise}: the order "
        f"decided {place.first + place.second} of {place.n} questions, {place.first} for what was "
        f"shown first and {place.second} for what was shown second"
    )
    yield say(
        f"inconsistent {_rate(place.rate, place.low, place.high)}: {place.inconsistent} of "
        f"{place.n} questions were answered differently in the two orders "
        f"(pairs: {place.inconsistent_pairs})"
    )


def _rate(value: float | None, low: float | None, high: float | None) -> str:
    return estimate_text(Estimate(value, low, high))
