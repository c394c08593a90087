"""The thresholds that a run's figures must reach, and whether they do.

A verdict that failed is no reason to pass. A figure with failures in it passes only where its lower
bound reaches the threshold too; it is below only where its upper bound is; else it is undecided.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from rubricate._spelling import suggestion
from rubricate.errors import InputError
from rubricate.run.results._figures import (
    TOLERANCE,
    CriterionFigures,
    Reached,
    ThresholdCheck,
    ThresholdOutcome,
)

if TYPE_CHECKING:
    from rubricate.rubric import Criterion
    from rubricate.run.results._summary import Summary

Figure = Literal["mean", "lower bound"]
_NAMED = re.compile(r"(?P<name>.+?)=(?P<number>\s*[-+.0-9eE]+\s*)(?:,|$)", re.DOTALL)


@dataclass(frozen=True)
class Thresholds:
    """The least that figures may be, each in [0, 1].

    Attributes:
        score: that of the score; None where it may be anything.
        criteria: those of criteria's mean values, by name.
    """

    score: float | None = None
    criteria: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def parse(cls, thresholds: str | float) -> Self:
        """Read thresholds: `0.8`, `0.8,accuracy=0.9` or `accuracy=0.9,style=0.7`.

        A name may have commas in it.

        Raises:
            InputError: it is none of these, or a number is not in [0, 1].
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
                    "CRITERION=NUMBER for others, such as 0.8,accuracy=0.9"
                )
            name = match["name"].strip()
            if name in criteria:
                raise InputError(f"'{name}' has two thresholds")
            criteria[name] = _number(match["number"])
            place = match.end()
        return cls(score, criteria)

    def check(self, criteria: Iterable[Criterion]) -> None:
        """Check that its names are criteria for which more is better.

        Args:
            criteria: all that are asked; several of one name where items have their own.

        Raises:
            InputError: there is no criterion of a name, or it is a penalty criterion.
        """
        known: dict[str, float] = {}
        for criterion in criteria:
            if criterion.name is not None:
                known[criterion.name] = min(
                    criterion.weight, known.get(criterion.name, criterion.weight)
                )
        self._check({name: weight < 0 for name, weight in known.items()})

    def check_figures(self, criteria: Iterable[CriterionFigures]) -> None:
        """`check` with the figures of a finished run.

        Raises:
            InputError: see `check`.
        """
        self._check({criterion.name: _is_penalty(criterion) for criterion in criteria})

    def _check(self, penalties: Mapping[str, bool]) -> None:
        for name in self.criteria:
            if name not in penalties:
                near = suggestion(name, penalties)
                hint = f"did you mean '{near}'?" if near else f"there is {', '.join(penalties)}"
                raise InputError(f"no criterion '{name}'; {hint}")
            if penalties[name]:
                raise InputError(
                    f"'{name}' is a penalty criterion, of which more is worse: give a threshold "
                    "for the score, in which it counts"
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
            "CRITERION=NUMBER for others, such as 0.8,accuracy=0.9"
        ) from None
    if not (math.isfinite(number) and 0 <= number <= 1):
        raise InputError(f"{text.strip()} is not from 0 to 1, as scores are: give 0.8 for 80 %")
    return number


def check_thresholds(
    summary: Summary, *, mean: Thresholds | None = None, lower_bound: Thresholds | None = None
) -> ThresholdOutcome:
    """Whether a run's figures reach their thresholds.

    Args:
        summary: the run's figures.
        mean: the least that the score, or a criterion's mean value, may be.
        lower_bound: the least that they may be had the missing verdicts (failed and abstained)
            come, with the worst answers.

    Raises:
        InputError: a name is that of no criterion, or of a penalty criterion.
    """
    checks = []
    figures = {criterion.name: criterion for criterion in summary.criteria}
    thresholds_by_figure: Mapping[Figure, Thresholds | None] = {
        "mean": mean,
        "lower bound": lower_bound,
    }
    for kind, thresholds in thresholds_by_figure.items():
        if thresholds is None:
            continue
        thresholds.check_figures(summary.criteria)
        if thresholds.score is not None:
            score = summary.score
            ends = (score.mean, score.lowest, score.highest)
            failed = summary.verdicts["failed"]
            checks.append(_check(None, kind, thresholds.score, ends, failed))
        for name, threshold in thresholds.criteria.items():
            criterion = figures[name]
            checks.append(_check(name, kind, threshold, _ends(criterion), criterion.failed))
    outcomes = {check.outcome for check in checks}
    outcome: Reached = "passed"
    if outcomes - {"passed"}:
        outcome = "below" if "below" in outcomes else "undecided"
    return ThresholdOutcome(outcome=outcome, checks=checks)


def _ends(figures: CriterionFigures) -> tuple[float | None, float | None, float | None]:
    """A criterion's mean value, and the least and most that it could be."""
    missing = figures.failed + figures.abstained
    total = figures.judged + missing
    if figures.value is None or not total:
        return None, None, None
    known = figures.value * figures.judged
    return figures.value, known / total, (known + missing) / total


def _check(
    criterion: str | None,
    figure: Figure,
    threshold: float,
    ends: tuple[float | None, float | None, float | None],
    failed: int,
) -> ThresholdCheck:
    mean, lowest, highest = ends
    value = mean if figure == "mean" else lowest
    least = threshold - TOLERANCE
    outcome: Reached
    if mean is None or value is None:
        outcome = "undecided"
    elif figure == "lower bound" or not failed:
        outcome = "passed" if value >= least else "below"
    elif lowest is not None and lowest >= least:
        outcome = "passed"
    elif highest is not None and highest < least:
        outcome = "below"
    else:
        outcome = "undecided"
    return ThresholdCheck(
        criterion=criterion,
        figure=figure,
        threshold=threshold,
        value=value,
        failed=failed,
        lowest=lowest,
        highest=highest,
        outcome=outcome,
    )
