"""What a plan is asked for: what is wanted, what is assumed, what it costs."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, get_args

from rubricate.errors import InputError
from rubricate.settings import Settings, option

PlannedFigure = Literal[
    "accuracy",
    "sensitivity",
    "specificity",
    "kappa",
    "agreement",
    "mean",
    "ppi",
    "comparison",
    "cascade",
]
FIGURES: tuple[PlannedFigure, ...] = get_args(PlannedFigure)


class Wanted(Settings):
    """What is to be reached, or how many there are to reach something with."""

    half_width: float | None = option(
        None,
        "How far the interval is to reach to either side, such as 0.05.",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    at_least: float | None = option(
        None,
        "A certificate: what the interval's lower end is to reach (accuracy, sensitivity, "
        "specificity, kappa).",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    difference: float | None = option(
        None,
        "comparison: the true difference that is to be found.",
        common=True,
        group="What is wanted",
        gt=-1,
        lt=1,
    )
    power: float = option(
        0.8,
        "The probability with which it is to be reached.",
        common=True,
        group="What is wanted",
        gt=0,
        lt=1,
    )
    significance: float = option(
        0.05, "comparison: the p that counts as significant.", group="What is wanted", gt=0, lt=1
    )
    promise: float = option(
        0.9, "cascade: the agreement of verdicts that stand.", group="What is wanted", gt=0, lt=1
    )
    risk: float = option(
        0.05, "cascade: the probability of promising too much.", group="What is wanted", gt=0, lt=1
    )
    confidence: float = option(0.95, "The interval's coverage.", group="What is wanted", gt=0, lt=1)
    items: int | None = option(
        None,
        "The other way round: what so many items give (labelled ones, where labels count).",
        common=True,
        group="What is wanted",
        ge=2,
        le=10**6,
    )
    budget: float | None = option(
        None,
        "The other way round: what so many US dollars give.",
        common=True,
        group="What is wanted",
        unit="US dollars",
        gt=0,
        lt=1e12,
    )

    def check(self) -> None:
        if self.difference == 0:
            raise InputError("difference must be above or below 0, found 0")
        goals = [self.half_width is not None, self.at_least is not None]
        if sum(goals) > 1:
            raise InputError("half_width and at_least are two goals: give one of them")
        if self.items is not None and self.budget is not None:
            raise InputError("items and budget say the same in two ways: give one of them")


class Assumed(Settings):
    """What is taken for true where no run says it, and what of a run is looked at."""

    value: float | None = option(
        None,
        "The true figure (accuracy, sensitivity, specificity, kappa, agreement; of ppi the "
        "judge's accuracy).",
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
    noise: float | None = option(
        None,
        "mean: the part of it that comes from asking again, a standard deviation.",
        group="What is assumed",
        gt=0,
        le=1,
    )
    differing: float | None = option(
        None,
        "comparison of binary answers by McNemar's test: the true share of items that differ.",
        group="What is assumed",
        gt=0,
        lt=1,
    )
    raters: int = option(
        2, "agreement: how many people label each item.", group="What is assumed", ge=2, le=100
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
    seed: int = option(0, "Of the simulations.", group="What is assumed", ge=0)

    def check(self) -> None:
        if self.noise is not None and self.spread is not None and self.noise > self.spread:
            raise InputError("noise is a part of spread: it cannot be larger")


class Costs(Settings):
    """What items and labels cost; default: what the run's answers took."""

    judge: str | None = option(
        None,
        "Price the run's tokens as this judge's, such as openai/gpt-4.1-mini.",
        common=True,
        group="What it costs",
    )
    prices: str | Path | None = option(
        None,
        "A file of prices by model, before the built-in ones.",
        group="What it costs",
        input_type=str | None,
        is_path=True,
    )
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
        if self.prices is not None and self.judge is None:
            raise InputError("prices are those of a judge: give both")


class PlanOptions(Wanted, Assumed, Costs):
    """Everything that a plan can be told."""
