"""The gate: whether a second run is worse, no worse, or cannot be distinguished by these items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal

from rubricate.errors import InputError
from rubricate.views import dollars, figure, p_text

if TYPE_CHECKING:
    from rubricate.run.results import ResultRow
    from rubricate.stats import BoundTest

GateOutcome = Literal["worse", "no worse", "cannot tell", "not covered"]
MIN_COVERAGE = 0.95
"""The share of the first run's verdicts that must be compared. At 0.9, one judge request in ten may
fail, and failures are seldom a random sample; at 0.99, one failure in 50 verdicts ends a build."""

SIGNIFICANCE_OF_LOOKS = 0.025
"""The one-sided error rate of each look when verdicts are asked again: after the first answers, and
after each round. At 0.04, the rate of a single look, a drop that is compensated elsewhere is called
worse in up to 7.5 % of cases; at 0.02, 1 % fewer drops are found."""
DOUBT = 0.3
"""Verdicts are asked again as long as a drop is shown at this one-sided error rate. If a fifth of
the verdicts flip, 0.2 finds 5 % fewer drops with 10 % fewer calls, and 0.1 finds 10 % fewer with
20 % fewer calls."""


@dataclass(frozen=True, slots=True)
class ItemPair:
    """The two scores of an item.

    Attributes:
        item: the item's identifier.
        group: its group; the identifier if items are not grouped.
        a, b: its score in each run, by the verdicts that count in both.
        noise: the variance of b - a due to the judges, estimated from repeated answers; None if a
            verdict has only one.
    """

    item: str
    group: str
    a: float
    b: float
    noise: float | None


@dataclass(frozen=True, slots=True)
class Confirmation:
    """The outcome of asking again, in both runs, about the verdicts that differ.

    Attributes:
        flips: the number of verdicts that differ.
        times: how often each was asked again, in each run.
        asked_again: the number of flips with new answers in both runs; the others count unchanged.
        held: the number of those whose new answers mostly confirmed the first ones, in both runs.
        scored: the mean scores of each item, with the new answers to flips.
        rounds: how often all verdicts were asked again.
        averaged: the mean scores of each item, over the first answers and all rounds.
    """

    flips: int
    times: int = 0
    asked_again: int = 0
    held: int = 0
    scored: tuple[ItemPair, ...] = ()
    rounds: int = 0
    averaged: tuple[ItemPair, ...] = ()


@dataclass(frozen=True, slots=True)
class AnchorCheck:
    """The result of asking a judge about its anchors again.

    Attributes:
        judge: the name of the judge.
        anchors: the number of anchors.
        answers: the number of new answers.
        unusual: the number of new answers that differ from the most frequent stored one.
        p_value: the probability of at least as many from an unchanged judge, for both looks
            together.
        changed: whether `p_value` is below 0.01.
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
    """The decision whether run B may pass.

    Attributes:
        outcome: `worse` if a drop of more than the margin is shown; `no worse` if such a drop is
            ruled out; `cannot tell` if neither; `not covered` if too few of A's verdicts could be
            compared, whatever the figures say.
        margin: how much lower the mean score of B may be.
        test: the test of the mean difference against `-margin`.
        price: US dollars for the further items that would settle it, in both runs, and for further
            answers to each verdict; None if unknown.
        why: the reason, in words.
        is_open: whether there is a drop beyond the margin that further answers may confirm or
            refute.
        confirmed: the test with the new answers to flips, at an error rate of 0.3; None if nothing
            was asked again.
        averaged: the test with all answers, if all verdicts were asked again.
    """

    outcome: GateOutcome
    margin: float
    test: BoundTest
    price: tuple[float | None, ...]
    why: str
    is_open: bool
    confirmed: BoundTest | None = None
    averaged: BoundTest | None = None

    def __str__(self) -> str:
        return self.why


def check_unit(value: float, name: str) -> None:
    """Raise `InputError` unless a value is a number in [0, 1]."""
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
    """Decide from pairs of scores.

    With a confirmation, B is *worse* if all verdicts together show it, by the first answers or by
    the mean of all, and the confirmed flips do not contradict it. Flips alone are not enough: they
    miss small gains over many verdicts. B is *no worse* by the first answers alone, because further
    ones are requested only after a drop.

    Args:
        pairs: the items that both runs scored.
        margin: how much lower B's mean may be, from 0 to 1.
        uncovered: why too little could be compared, in words; empty if enough was.
        bounded: whether scores are in [0, 1].
        cost: US dollars per item in both runs together; None if unknown.
        confirmation: the outcome of asking again, if that was done.

    Raises:
        InputError: the margin is not a number in [0, 1].
    """
    check_unit(margin, "margin")
    tested = partial(_tested, margin=margin, bounded=bounded)
    confirmed = averaged = None
    if confirmation is None:
        test = tested(pairs)
    else:
        test = tested(pairs, significance=SIGNIFICANCE_OF_LOOKS)
        if confirmation.scored:
            confirmed = tested(confirmation.scored, significance=DOUBT)
        if confirmation.averaged:
            averaged = tested(confirmation.averaged, significance=SIGNIFICANCE_OF_LOOKS)
    more_items = test.items_needed and test.items_needed - test.n
    more_answers = test.replicates_needed and test.n * (test.replicates_needed - 1)
    price = tuple(cost * more if cost and more else None for more in (more_items, more_answers))
    outcome: GateOutcome = "cannot tell"
    has_held = confirmed is None or confirmed.side == "below"
    if has_held and "below" in (test.side, averaged and averaged.side):
        outcome = "worse"
    elif test.side == "not below":
        outcome = "no worse"
    is_open = outcome != "no worse" and test.value is not None and test.value < -margin
    if confirmation is not None and confirmed is not None:
        is_open = outcome == "cannot tell" and has_held
        if is_open and averaged is not None:
            is_open = tested(confirmation.averaged, significance=DOUBT).side == "below"
    why = _why(outcome, margin, test, price, averaged)
    if confirmation is not None:
        why += _of_flips(confirmation)
    if uncovered:
        rest = f" Of the rest: {why}" if outcome == "worse" else ""
        outcome, why = "not covered", f"Not shown to be no worse: {uncovered}.{rest}"
        is_open = False
    return Gate(outcome, margin, test, price, why, is_open, confirmed, averaged)


def _tested(
    pairs: Sequence[ItemPair], *, margin: float, bounded: bool, **significance: float
) -> BoundTest:
    """Test the mean difference against `-margin`."""
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


def _of_flips(flips: Confirmation) -> str:
    """The outcome of asking again about the flips and all verdicts, in words."""
    if not flips.times:
        return " No verdict differs, so that nothing was asked again."
    text = f" Of {flips.flips} flips, "
    if flips.asked_again < flips.flips:
        text += f"{flips.asked_again} could be asked about again in both runs; "
    text += f"{flips.held} held when asked {_times(flips.times)} more."
    if flips.rounds:
        text += f" All verdicts were asked {_times(flips.rounds)} more."
    return text


def _times(count: int) -> str:
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def _why(
    outcome: GateOutcome,
    margin: float,
    test: BoundTest,
    price: tuple[float | None, ...],
    averaged: BoundTest | None,
) -> str:
    """The outcome and its reason, in words."""
    latest, by = (test, "") if averaged is None else (averaged, " by all answers")
    change, ends = _change(latest)
    power = ""
    if test.power is not None:
        drop = "no drop"
        if latest.detectable is not None:
            drop = f"a drop of {figure(margin + latest.detectable, 3)}"
        of = f" in {test.clusters} groups" if test.clusters < test.n else ""
        power = f" With these {test.n} items{of}, {drop} is called worse in 80% of cases"
        if margin:
            power += f", and an unchanged system is called no worse in {test.power:.0%}"
        power += "."
    if outcome == "worse":
        return (
            f"Worse: the mean score changed by {change}{by} (interval {ends}; p "
            f"{p_text(latest.p_value)}), where {-margin or 0.0:g} is allowed.{power}"
        )
    if outcome == "no worse":
        return (
            f"No worse: a drop of more than {margin:g} is excluded; the mean score changed by "
            f"{change} (interval {ends}).{power}"
        )
    if test.low is None:
        return (
            f"Cannot tell: the mean score changed by {change}, and there are too few groups of "
            f"items for an interval ({test.clusters}); compare more items."
        )
    return (
        f"Cannot tell: the mean score changed by {change}{by}, the true change may be anything "
        f"{ends}, and {-margin or 0.0:g} is allowed.{power}{_needed(test, price)}"
    )


def _change(test: BoundTest) -> tuple[str, str]:
    """The mean difference and its one-sided bounds, as text."""
    ends = f"from {figure(test.low, 3, sign=True)} to {figure(test.high, 3, sign=True)}"
    return figure(test.value, 3, sign=True), ends


def _needed(test: BoundTest, price: tuple[float | None, ...]) -> str:
    """The number of items or answers that would settle it, in words."""
    if test.items_needed is None:
        return " Give a margin above 0: without one, no number of items shows that nothing changed."
    at = [f", for about {dollars(cost, digits=2)}" if cost else "" for cost in price]
    text = (
        f" About {test.items_needed} such items would call an unchanged one no worse in 80%{at[0]}"
    )
    if test.replicates_needed is not None:
        text += f"; or these, each verdict asked {test.replicates_needed} times as often{at[1]}"
    return f"{text}."


def noise_of(verdicts: Sequence[tuple[ResultRow, float]]) -> float | None:
    """The variance of an item's score that is due to the judge.

    Estimated from the spread of the repeated answers behind each verdict, assumed independent; None
    if a verdict has only one answer.

    Args:
        verdicts: the verdicts of the item that count, with the weights of their criteria.
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
