"""Whether a second run may pass: worse, no worse, or these items cannot tell."""

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
fail, and what failed is seldom a random tenth; at 0.99, one failure of 50 verdicts ends a build."""

SIGNIFICANCE_OF_LOOKS = 0.025
"""The one-sided error rate of each look at runs that are asked again: after the first answers, and
after each round. At .04, which is that of a single look, a drop that is won back elsewhere is
called worse in up to 7.5 %; at .02, one in a hundred drops fewer is found."""
DOUBT = 0.3
"""Verdicts are asked again as long as a drop is shown at this one-sided error rate. Where a fifth
of the verdicts flip, at .2 one drop in twenty fewer is found, for a tenth fewer calls; at .1 one in
ten, for a fifth fewer."""


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
        flips: how many verdicts differ.
        times: how often these were asked about, in each run.
        asked_again: how many of them were given anew in both runs; the others count as they are.
        held: how many of those were given in both runs as before, more often than not.
        scored: the mean scores of each item, by the further answers to flips.
        rounds: how often all verdicts were asked about again.
        averaged: the mean scores of each item, by the first answers and those of the rounds.
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
        price: US dollars of the further items that would tell, in both runs, and of the further
            answers to each verdict; None where not known.
        why: the reason, in words.
        is_open: whether a drop beyond the margin is seen that further answers may confirm or not.
        confirmed: the same by the further answers to flips, at an error rate of 0.3; None where
            nothing was asked again.
        averaged: the same by all answers, where all verdicts were asked about again.
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

    With a confirmation, B is *worse* where all verdicts together show it, by the first answers or
    by the mean of all, and the flips that hold do not speak against it. Flips alone are not enough:
    they do not show what is won thinly, over many verdicts. It is *no worse* by the first answers
    alone, because further ones are asked for only after a drop.

    Raises:
        InputError: the margin is no number from 0 to 1.
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


def _of_flips(flips: Confirmation) -> str:
    """What came of the flips and of all verdicts, where they were asked about again, in words."""
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
            power += f", and an unchanged system no worse in {test.power:.0%}"
        power += "."
    if outcome == "worse":
        return (
            f"Worse: the mean score changed by {change}{by} ({ends}; p "
            f"{p_text(latest.p_value)}), where {-margin or 0.0:g} is allowed.{power}"
        )
    if outcome == "no worse":
        return (
            f"No worse: a drop of more than {margin:g} is excluded; the mean score changed by "
            f"{change} ({ends}).{power}"
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
    """The mean difference, and the one-sided bounds of the true one, as text."""
    ends = f"from {figure(test.low, 3, sign=True)} to {figure(test.high, 3, sign=True)}"
    return figure(test.value, 3, sign=True), ends


def _needed(test: BoundTest, price: tuple[float | None, ...]) -> str:
    """How many items or answers would tell, in words."""
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
