"""Thresholds for a run's figures, and whether the figures reach them.

A failed verdict is no reason to pass. With failures, a figure passes only if it would do so with
the worst answers, and is below only if it would be with the best ones; otherwise it is undecided.
A mean is a sample of what other items would give: it is below if the test shows that, it passes if
the test excludes it, and otherwise these items cannot tell.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

from rubricate._spelling import suggestion
from rubricate.errors import InputError
from rubricate.run.results._figures import (
    TOLERANCE,
    CriterionFigures,
    Reached,
    ThresholdCheck,
    ThresholdFigure,
    ThresholdOutcome,
)

if TYPE_CHECKING:
    from rubricate.rubric import Criterion
    from rubricate.run.results._rows import ResultRow
    from rubricate.run.results._summary import Summary

_NAMED = re.compile(r"(?P<name>.+?)=(?P<number>\s*[-+.0-9eE]+\s*)(?:,|$)", re.DOTALL)


@dataclass(frozen=True)
class Thresholds:
    """Minimum values of figures, each in [0, 1].

    Attributes:
        score: for the score; None for no threshold.
        criteria: for the mean values of criteria, by name.
    """

    score: float | None = None
    criteria: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, thresholds: str | float) -> Self:
        """Read thresholds: `0.8`, `0.8,refund=0.9` or `refund=0.9,style=0.7`.

        Names may contain commas.

        Raises:
            InputError: the text has another form, or a number is not in [0, 1].
        """
        text = str(thresholds).strip()
        first, comma, rest = text.partition(",")
        score = None
        if "=" in text and not _is_number(first):
            rest = text
        else:
            score = _number(first)
            if comma and not rest.strip():
                raise InputError(f"nothing follows the comma in '{text}'")
        criteria: dict[str, float] = {}
        place = 0
        while place < len(rest):
            match = _NAMED.match(rest, place)
            if match is None:
                raise InputError(
                    f"'{rest[place:].strip()}' is no threshold: give a number for the score, and "
                    "CRITERION=NUMBER for others, such as 0.8,refund=0.9"
                )
            name = match["name"].strip()
            if name in criteria:
                raise InputError(f"'{name}' has two thresholds")
            criteria[name] = _number(match["number"])
            place = match.end()
        return cls(score, criteria)

    def check(self, criteria: Iterable[Criterion]) -> None:
        """Check that the names belong to criteria for which more is better.

        Args:
            criteria: all criteria; several of one name if items have their own.

        Raises:
            InputError: a criterion does not exist, is a penalty criterion, or the score has a
                threshold although all weights are 0.
        """
        known: dict[str, float] = {}
        for criterion in criteria:
            if criterion.name is not None:
                known[criterion.name] = min(
                    criterion.weight, known.get(criterion.name, criterion.weight)
                )
        self._check({name: weight < 0 for name, weight in known.items()}, any(known.values()))

    def check_figures(self, criteria: Iterable[CriterionFigures]) -> None:
        """`check` with the figures of a finished run.

        Raises:
            InputError: see `check`.
        """
        figures = list(criteria)
        has_weights = any(each.weight != 0 or each.weight_range for each in figures)
        self._check({each.name: _is_penalty(each) for each in figures}, has_weights)

    def _check(self, penalties: Mapping[str, bool], has_weights: bool) -> None:
        if self.score is not None and not has_weights:
            raise InputError(
                "there is no score that could reach a threshold, because every weight is 0: give "
                "CRITERION=NUMBER, such as refund=0.9"
            )
        for name in self.criteria:
            if name not in penalties:
                near = suggestion(name, penalties)
                hint = f"did you mean '{near}'?" if near else f"there is {', '.join(penalties)}"
                raise InputError(f"no criterion '{name}'; {hint}")
            if penalties[name]:
                raise InputError(
                    f"'{name}' is a penalty criterion, for which more is worse: set a threshold "
                    "for the score instead, which includes it"
                )


def _is_penalty(figures: CriterionFigures) -> bool:
    weights = figures.weight_range or (figures.weight,)
    return any(weight is not None and weight < 0 for weight in weights)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        raise InputError(
            f"'{text.strip()}' is no number: give one from 0 to 1 for the score, and "
            "CRITERION=NUMBER for others, such as 0.8,refund=0.9"
        ) from None
    if not (math.isfinite(number) and 0 <= number <= 1):
        raise InputError(f"{text.strip()} is not from 0 to 1, as scores are: give 0.8 for 80 %")
    return number


def check_thresholds(
    summary: Summary,
    rows: Iterable[Sequence[ResultRow]],
    thresholds: Mapping[ThresholdFigure, Thresholds],
    groups: Mapping[str, Any] | None = None,
) -> ThresholdOutcome:
    """Whether a run's figures reach their thresholds.

    Args:
        summary: the figures of the run.
        rows: its verdicts, item by item.
        thresholds: the thresholds of each kind of figure.
        groups: the group of each item. Default: each item is its own group.

    Raises:
        InputError: a criterion does not exist, or is a penalty criterion.
    """
    for wanted in thresholds.values():
        wanted.check_figures(summary.criteria)
    values = _values(rows, {name for wanted in thresholds.values() for name in wanted.criteria})
    figures = {criterion.name: criterion for criterion in summary.criteria}
    checks = []
    for kind, wanted in thresholds.items():
        if wanted.score is not None:
            score = summary.score
            ends = (score.mean, score.lowest, score.highest)
            mean = _Mean(None, ends, summary.unanswered)
            declared = None if summary.scoring is None else summary.scoring.overall
            if declared is not None:
                low, high = declared.low, declared.high
                bounds = None if low is None or high is None else (low, high)
                checks.append(mean.check(kind, wanted.score, bounds, score.scored))
            else:
                checks.append(mean.tested(kind, wanted.score, values[None], groups))
        for name, threshold in wanted.criteria.items():
            mean = _Mean(name, _ends(figures[name]), figures[name].unanswered)
            checks.append(mean.tested(kind, threshold, values[name], groups))
    return outcome_of(checks)


def outcome_of(checks: Sequence[ThresholdCheck]) -> ThresholdOutcome:
    """The outcome of all thresholds together."""
    outcomes = {check.outcome for check in checks}
    ranked: tuple[Reached, ...] = ("below", "undecided", "cannot tell", "passed")
    return ThresholdOutcome(
        outcome=next(outcome for outcome in ranked if outcome in outcomes), checks=[*checks]
    )


def _values(
    rows: Iterable[Sequence[ResultRow]], names: Collection[str]
) -> dict[str | None, dict[str, float]]:
    """The items' scores (under None) and values on criteria, as far as there are any."""
    values: dict[str | None, dict[str, float]] = {name: {} for name in (None, *names)}
    for of_item in rows:
        score = of_item[0].item_score.value
        if score is not None:
            values[None][of_item[0].item] = score
        for row in of_item:
            if row.criterion in names and row.status == "judged" and row.value is not None:
                values[row.criterion][row.item] = row.value
    return values


def _ends(figures: CriterionFigures) -> tuple[float | None, float | None, float | None]:
    """A criterion's mean value, and the range that it could take."""
    missing = figures.unanswered + figures.abstained
    total = figures.judged + missing
    if figures.value is None or not total:
        return None, None, None
    known = figures.value * figures.judged
    return figures.value, known / total, (known + missing) / total


@dataclass(frozen=True)
class _Mean:
    """The mean score, or a criterion's mean value.

    Attributes:
        criterion: the criterion; None for the score.
        ends: the mean, and the lowest and highest value it could take if no verdict was missing.
        failed: how many of its verdicts failed.
    """

    criterion: str | None
    ends: tuple[float | None, float | None, float | None]
    failed: int

    def tested(
        self,
        figure: ThresholdFigure,
        threshold: float,
        values: Mapping[str, float],
        groups: Mapping[str, Any] | None,
    ) -> ThresholdCheck:
        """Compare it with a threshold, by the values of items."""
        from rubricate.stats import bound_test

        numbers = list(values.values())
        in_unit = all(0 <= number <= 1 for number in numbers)  # raw scores can be anything
        test = bound_test(
            numbers,
            threshold,
            groups=None if groups is None else [groups[item] for item in values],
            limits=(0.0, 1.0) if in_unit else None,
        )
        bounds = None if test.low is None or test.high is None else (test.low, test.high)
        return self.check(figure, threshold, bounds, test.n, test.items_needed)

    def check(
        self,
        figure: ThresholdFigure,
        threshold: float,
        confidence: tuple[float, float] | None,
        items: int,
        items_needed: int | None = None,
    ) -> ThresholdCheck:
        """Compare it with a threshold, by its confidence bounds."""
        mean, lowest, highest = self.ends
        low, high = confidence or (-math.inf, math.inf)
        by_figure = {"mean": mean, "worst case": lowest, "confidence bound": confidence and low}
        value, least = by_figure[figure], threshold - TOLERANCE
        outcome: Reached = "undecided"
        if mean is None:
            value = None
        elif figure == "worst case":
            outcome = "below" if lowest is None or lowest < least else "passed"
        elif self.failed and not (
            (lowest is not None and lowest >= least) or (highest is not None and highest < least)
        ):
            pass
        elif figure == "confidence bound":
            outcome = "passed" if low >= least else "below"
        else:
            outcome = "passed" if low >= least else "below" if high < least else "cannot tell"
        return ThresholdCheck(
            criterion=self.criterion,
            figure=figure,
            threshold=threshold,
            value=value,
            failed=self.failed,
            lowest=lowest,
            highest=highest,
            outcome=outcome,
            items=items,
            confidence=confidence,
            items_needed=items_needed if outcome == "cannot tell" else None,
        )
