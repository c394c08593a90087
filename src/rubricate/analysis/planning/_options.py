"""What a plan is asked for: what is wanted, what is assumed, what a label costs."""

from __future__ import annotations

from typing import Literal, get_args

from rubricate.errors import InputError
from rubricate.settings import Settings, option

PlannedFigure = Literal[
    "accuracy", "sensitivity", "specificity", "kappa", "mean", "ppi", "comparison"
]
FIGURES: tuple[PlannedFigure, ...] = get_args(PlannedFigure)
MOST_ITEMS = 10**6


class PlanOptions(Settings):
    """The goal of a plan, and what is taken for true where no run says it."""

    half_width: float | None = option(
        None,
        "The half-width that the interval may have, such as 0.05.",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    at_least: float | None = option(
        None,
        "What the interval's lower end must reach (accuracy, sensitivity, specificity, kappa).",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    difference: float | None = option(
        None,
        "comparison: the true difference that must be found.",
        common=True,
        group="What is wanted",
        gt=-1,
        lt=1,
    )
    power: float = option(
        0.8,
        "The probability with which the goal is reached.",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    significance: float = option(
        0.05, "comparison: the p that counts as significant.", group="What is wanted", gt=0, lt=1
    )
    confidence: float = option(0.95, "The interval's coverage.", group="What is wanted", gt=0, lt=1)
    items: int | None = option(
        None,
        "Show what this many items give (labelled items, where labels count).",
        common=True,
        group="What is wanted",
        ge=2,
        le=MOST_ITEMS,
    )
    value: float | None = option(
        None,
        "The true figure (accuracy, sensitivity, specificity, kappa; of ppi the judge's accuracy).",
        common=True,
        group="What is assumed",
        gt=0,
        le=1,
    )
    share: float | None = option(
        None,
        "The true share of MET in people's labels.",
        group="What is assumed",
        default_text="0.5",
        gt=0,
        lt=1,
    )
    spread: float | None = option(
        None,
        "The true standard deviation: mean, of items' scores; comparison, of items' differences.",
        common=True,
        group="What is assumed",
        gt=0,
        le=1,
    )
    differing: float | None = option(
        None,
        "comparison: the true share of items that differ. Without --spread, of binary answers.",
        group="What is assumed",
        gt=0,
        lt=1,
    )
    pool: int | None = option(
        None,
        "ppi: how many items the judge grades, the labelled ones among them.",
        group="What is assumed",
        default_text="those of the run, else 1000",
        ge=2,
        le=10**7,
    )
    criterion: str | None = option(
        None,
        "Only this criterion of the run.",
        common=True,
        group="What is assumed",
        default_text="all together",
    )
    groups: str | None = option(
        None,
        "Metadata of the run's items that says which belong together: whole groups are drawn.",
        group="What is assumed",
    )
    simulations: int = option(
        1000,
        "Simulated data sets, where there is no closed form.",
        group="What is assumed",
        ge=100,
        le=100_000,
    )
    seed: int = option(0, "Random seed of the simulations.", group="What is assumed", ge=0)
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
            raise InputError("half_width and at_least are two goals: give one of them")
