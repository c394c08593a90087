"""Whether a second run may pass: worse, no worse, or these items cannot tell."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rubricate.errors import InputError
from rubricate.views import dollars, figure, p_text

if TYPE_CHECKING:
    from rubricate.run.results import ResultRow
    from rubricate.stats import BoundTest

GateOutcome = Literal["worse", "no worse", "cannot tell", "not covered"]
MIN_COVERAGE = 0.95
"""The share of the first run's verdicts that must be compared. At 0.9, one judge request in ten may
fail, and what failed is seldom a random tenth; at 0.99, one failure of 50 verdicts ends a build."""

SIGNIFICANCE_LATER = 0.025
"""The one-sided error rate of the means over rounds in which all verdicts were asked again, up to
four looks at them. At .04, which is that of a single look, a drop that is won back elsewhere is
called worse in up to 7.5 %; at .02, one in a hundred drops fewer is found."""


@dataclass(frozen=True, slots=True)
class ItemPair:
    """An item's two scores.

    Attributes:
        item: its identifier.
        group: what it belongs with; its identifier where items are not grouped.
        a, b: its score in each run, by what counts in both.
        noise: the variance of b - a that comes from the judges, by their repeated answers; None
            where a verdict has only one.
    """

    item: str
    group: str
    a: float
    b: float
    noise: float | None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """What came of the verdicts that differ, asked about again in both runs.

    Attributes:
        times: how often each was asked about at most, in each run.
        flips: how many verdicts differ.
        asked_again: how many of them were given anew in both runs; the others count as they are.
        held: how many of those were given in both runs as before.
        scored: both scores of each item, by the verdicts that were given anew.
        rounds: how often all verdicts were asked about again.
        averaged: the mean scores of each item, by the first answers and those of the rounds.
    """

    times: int
    flips: int
    asked_again: int
    held: int
    scored: tuple[ItemPair, ...] = ()
    rounds: int = 0
    averaged: tuple[ItemPair, ...] = ()


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """Whether a judge answers as it did.

    Attributes:
        judge: its name.
        anchors: verdicts that were asked about.
        answers: how many answers they were given now.
        unusual: how many of these are not the usual answer to their question.
        p_value: the probability of at least as many from the same judge, for both looks together.
        changed: whether that is below 0.01.
    """

    judge: str
    anchors: int
    answers: int
    unusual: int
    p_value: float
    changed: bool

    def __str__(self) -> str:
        counts = f"{self.unusual} of {self.answers} answers to {self.anchors} anchors are unusual"
        if not self.changed:
            return f"The judge {self.judge} answers its anchors as before: {counts} (p {self._p})."
        return (
            f"The judge {self.judge} has changed since its anchors were kept: {counts} (p "
            f"{self._p}). Grade both runs again before they are compared, and keep new anchors."
        )

    @property
    def _p(self) -> str:
        return p_text(self.p_value)


@dataclass(frozen=True, slots=True)
class Gate:
    """Whether run B may pass.

    Attributes:
        outcome: `worse` where a drop of more than the margin is shown; `no worse` where such a drop
            is excluded; `cannot tell` where neither is; `not covered` where too few of A's verdicts
            could be compared, whatever the rest says.
        margin: how much lower the mean score of B may be.
        test: the mean difference against `-margin`.
        confirmed: the same by the verdicts that were given anew; None where none was asked about.
        averaged: the same by all answers, where all verdicts were asked about again.
        price: US dollars of the further items that would tell, in both runs, and of the further
            answers to each verdict; None where not known.
        why: the reason, in words.
    """

    outcome: GateOutcome
    margin: float
    test: BoundTest
    price: tuple[float | None, ...]
    why: str
    confirmed: BoundTest | None = None
    averaged: BoundTest | None = None

    @property
    def may_be_worse(self) -> bool:
        """Whether the first answers have a drop beyond the margin that may be noise, or not."""
        lower = self.test.value is not None and self.test.value < -self.margin
        return lower and self.outcome in ("worse", "cannot tell")

    @property
    def may_be_offset(self) -> bool:
        """Whether the flips that hold show a drop that all verdicts together do not show."""
        held = self.confirmed is not None and self.confirmed.side == "below"
        return held and self.may_be_worse and self.outcome == "cannot tell"

    def __str__(self) -> str:
        return self.why


def check_unit(value: float, name: str) -> None:
    """`InputError` unless a value is a number from 0 to 1."""
    if not (isinstance(value, int | float) and 0 <= value <= 1) or isinstance(value, bool):
        raise InputError(f"{name} must be from 0 to 1, found {value}")


def gate(
    pairs: Sequence[ItemPair],
    margin: float,
    *,
    uncovered: str = "",
    bounded: bool = True,
    cost: float | None = None,
    confirmation: Confirmation | None = None,
) -> Gate:
    """Decide on pairs of scores.

    Args:
        pairs: the items that both runs scored.
        margin: how much lower B's mean may be, 0 to 1.
        uncovered: why too little could be compared, in words; empty where enough was.
        bounded: whether scores are from 0 to 1.
        cost: US dollars that an item takes in both runs together; None where not known.
        confirmation: what came of the flips, asked about again.

    With a confirmation, B is *worse* where the flips that hold show it, and all verdicts together
    do, by the first answers or by the mean of all: what is won thinly, over many verdicts, hardly
    flips. It is *no worse* by the first answers alone: what is lost thinly hardly flips, either.

    Raises:
        InputError: the margin is no number from 0 to 1.
    """
    check_unit(margin, "margin")
    test = _tested(pairs, margin, bounded)
    confirmed = averaged = None
    if confirmation is not None:
        confirmed = _tested(confirmation.scored, margin, bounded)
        if confirmation.averaged:
            averaged = _tested(
                confirmation.averaged, margin, bounded, significance=SIGNIFICANCE_LATER
            )
    more_items = test.items_needed and test.items_needed - test.n
    more_answers = test.replicates_needed and test.n * (test.replicates_needed - 1)
    price = tuple(cost * more if cost and more else None for more in (more_items, more_answers))
    sides: Mapping[str, GateOutcome] = {"below": "worse", "not below": "no worse"}
    outcome: GateOutcome = sides.get(test.side, "cannot tell")
    if confirmed is not None and outcome != "no worse":
        is_whole_below = "below" in (test.side, averaged and averaged.side)
        outcome = "worse" if confirmed.side == "below" and is_whole_below else "cannot tell"
    why = _why(outcome, margin, test, price, confirmed, averaged)
    if confirmation is not None:
        why += _of_flips(confirmation, averaged)
    if uncovered:
        rest = f" Of the rest: {why}" if outcome == "worse" else ""
        outcome, why = "not covered", f"Not shown to be no worse: {uncovered}.{rest}"
    return Gate(outcome, margin, test, price, why, confirmed, averaged)


def _tested(
    pairs: Sequence[ItemPair], margin: float, bounded: bool, **significance: float
) -> BoundTest:
    """The mean difference against minus the margin."""
    from rubricate.stats import bound_test

    noise = [pair.noise for pair in pairs if pair.noise is not None]
    return bound_test(
        [pair.b - pair.a for pair in pairs],
        -margin,
        groups=[pair.group for pair in pairs],
        limits=(-1.0, 1.0) if bounded else None,
        differences=True,
        distance=margin or None,
        noise=noise if len(noise) == len(pairs) else None,
        **significance,
    )


def _of_flips(flips: Confirmation, averaged: BoundTest | None) -> str:
    """What came of the flips, and of all verdicts where they were asked about again, in words."""
    if not flips.flips:
        return " No verdict differs, so that nothing was asked again."
    text = f" Of {flips.flips} flips, "
    if flips.asked_again < flips.flips:
        text += f"{flips.asked_again} could be asked about again in both runs; "
    text += f"{flips.held} held when asked up to {flips.times} more times."
    if averaged is not None:
        times = "once" if flips.rounds == 1 else f"{flips.rounds} times"
        text += (
            f" All verdicts were asked {times} more: by all answers the mean score changed by "
            f"{' '.join(_change(averaged))}."
        )
    return text


def _why(
    outcome: GateOutcome,
    margin: float,
    test: BoundTest,
    price: tuple[float | None, ...],
    confirmed: BoundTest | None,
    averaged: BoundTest | None,
) -> str:
    """The outcome and its reason, in words."""
    change, ends = _change(test)
    power = ""
    finds = averaged or confirmed or test
    if finds.detectable is not None and test.power is not None:
        power = f" These {test.n} items find a drop of {figure(margin + finds.detectable, 3)} with "
        power += "a power of 0.8"
        if margin:
            power += f", and show an unchanged system to be no worse with {figure(test.power)}"
        power += "."
    if outcome == "worse":
        by = "" if confirmed is None else ", by the flips that held"
        shown = confirmed or test
        change, ends = _change(shown)
        return (
            f"Worse: the mean score changed by {change} ({ends}; p "
            f"{p_text(shown.p_value)}){by}, where {-margin or 0.0:g} is allowed.{power}"
        )
    if outcome == "no worse":
        return (
            f"No worse: a drop of more than {margin:g} is excluded; the mean score changed by "
            f"{change} ({ends}).{power}"
        )
    if test.low is None:
        return (
            f"Cannot tell: the mean score changed by {change}, and {test.n} items in "
            f"{test.clusters} groups have no honest interval."
        )
    by = "" if confirmed is None else f"; by the flips that held {' '.join(_change(confirmed))}"
    return (
        f"Cannot tell: the mean score changed by {change}, the true change may be anything {ends}"
        f"{by}, and {-margin or 0.0:g} is allowed.{power}{_needed(test, price)}"
    )


def _change(test: BoundTest) -> tuple[str, str]:
    """The mean difference, and the one-sided bounds of the true one, as text."""
    ends = f"from {figure(test.low, 3, sign=True)} to {figure(test.high, 3, sign=True)}"
    return figure(test.value, 3, sign=True), ends


def _needed(test: BoundTest, price: tuple[float | None, ...]) -> str:
    """How many items or answers would tell, in words."""
    if test.items_needed is None:
        return " Give a margin above 0: without one, no number of items shows that nothing changed."
    at = [f", for about {dollars(cost, digits=2)}" if cost else "" for cost in price]
    text = f" About {test.items_needed} such items would tell{at[0]}"
    if test.replicates_needed is not None:
        text += f"; or these, each verdict asked {test.replicates_needed} times as often{at[1]}"
    return f"{text}."


def noise_of(verdicts: Sequence[tuple[ResultRow, float]]) -> float | None:
    """The variance of an item's score that comes from the judge.

    By the spread of the repeated answers behind each verdict, taken as independent; None where a
    verdict has only one answer.

    Args:
        verdicts: of the item that count, with the weights of their criteria.
    """
    total = math.fsum(max(0.0, weight) for _, weight in verdicts) or 1.0
    variance = 0.0
    for row, weight in verdicts:
        values = [vote.value for vote in row.votes if vote.value is not None]
        if row.value is None:
            continue
        if len(values) < 2:
            return None
        middle = math.fsum(values) / len(values)
        spread = math.fsum((value - middle) ** 2 for value in values) / (len(values) - 1)
        variance += (weight / total) ** 2 * spread / len(values)
    return variance
