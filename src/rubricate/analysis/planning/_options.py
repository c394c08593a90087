"""The options of a plan: the goal, the assumptions, the price of a label."""

from __future__ import annotations

from functools import partial
from typing import Literal, get_args

from rubricate.errors import InputError
from rubricate.settings import Settings, option

PlannedFigure = Literal[
    "accuracy", "sensitivity", "specificity", "kappa", "mean", "ppi", "comparison"
]
FIGURES: tuple[PlannedFigure, ...] = get_args(PlannedFigure)
MOST_ITEMS = 10**6

_goal = partial(option, group="What is wanted")
_assumption = partial(option, group="What is assumed")


class PlanOptions(Settings):
    """The goal of a plan, and assumptions in place of what a run would show."""

    half_width: float | None = _goal(
        None, "The widest half-width of the interval, such as 0.05.", common=True, gt=0, lt=1
    )
    at_least: float | None = _goal(
        None,
        "What the interval's lower end must reach (accuracy, sensitivity, specificity, kappa).",
        common=True,
        gt=0,
        lt=1,
    )
    difference: float | None = _goal(
        None, "comparison: the true difference that must be found.", common=True, gt=-1, lt=1
    )
    power: float = _goal(
        0.8, "The probability with which the goal is reached.", common=True, gt=0, lt=1
    )
    significance: float = _goal(0.05, "comparison: the p that counts as significant.", gt=0, lt=1)
    confidence: float = _goal(0.95, "The interval's coverage.", gt=0, lt=1)
    items: int | None = _goal(
        None,
        "Show what this many items give (labelled items, where labels count).",
        common=True,
        ge=2,
        le=MOST_ITEMS,
    )
    value: float | None = _assumption(
        None,
        "The true figure (accuracy, sensitivity, specificity, kappa; of ppi the judge's accuracy).",
        common=True,
        gt=0,
        le=1,
    )
    share: float | None = _assumption(
        None, "The true share of MET in people's labels.", default_text="0.5", gt=0, lt=1
    )
    spread: float | None = _assumption(
        None,
        "The true standard deviation: mean, of items' scores; comparison, of items' differences.",
        common=True,
        gt=0,
        le=1,
    )
    differing: float | None = _assumption(
        None,
        "comparison: the true share of items that differ. Without --spread, of binary answers.",
        gt=0,
        lt=1,
    )
    pool: int | None = _assumption(
        None,
        "ppi: how many items the judge grades, the labelled ones among them.",
        default_text="those of the run, else 1000",
        ge=2,
        le=10**7,
    )
    criterion: str | None = _assumption(
        None, "Only this criterion of the run.", common=True, default_text="all together"
    )
    groups: str | None = _assumption(
        None,
        "Metadata of the run's items that says which belong together: whole groups are drawn.",
    )
    simulations: int = _assumption(
        1000, "Simulated data sets, where there is no closed form.", ge=100, le=100_000
    )
    seed: int = _assumption(0, "Random seed of the simulations.", ge=0)
    label_cost: float | None = option(
        None,
        "US dollars for a person's label.",
        common=True,
        group="What it costs",
        unit="US dollars",
        ge=0,
        lt=1e9,
    )

    def check(self) -> None:
        if self.difference == 0:
            raise InputError("difference must be above or below 0, found 0")
        if self.half_width is not None and self.at_least is not None:
            raise InputError("half_width and at_least are two goals: set one of them")
