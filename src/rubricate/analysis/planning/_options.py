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
    )
    at_least: float | None = option(
        None,
        "A certificate: what the interval's lower end is to reach (accuracy, sensitivity, "
        "specificity, kappa).",
        common=True,
        group="What is wanted",
    )
    difference: float | None = option(
        None,
        "comparison: the true difference that is to be found.",
        common=True,
        group="What is wanted",
    )
    power: float = option(
        0.8,
        "The probability with which it is to be reached.",
        common=True,
        group="What is wanted",
    )
    significance: float = option(
        0.05, "comparison: the p that counts as significant.", group="What is wanted"
    )
    promise: float = option(
        0.9, "cascade: the agreement of verdicts that stand.", group="What is wanted"
    )
    risk: float = option(
        0.05, "cascade: the probability of promising too much.", group="What is wanted"
    )
    confidence: float = option(0.95, "The interval's coverage.", group="What is wanted")
    items: int | None = option(
        None,
        "The other way round: what so many items give (labelled ones, where labels count).",
        common=True,
        group="What is wanted",
    )
    budget: float | None = option(
        None,
        "The other way round: what so many US dollars give.",
        common=True,
        group="What is wanted",
        unit="US dollars",
    )

    def check(self) -> None:
        for name in ("power", "significance", "promise", "risk", "confidence"):
            if not 0 < getattr(self, name) < 1:
                raise InputError(f"{name} must be between 0 and 1, found {getattr(self, name):g}")
        for name in ("half_width", "at_least"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise InputError(f"{name} must be between 0 and 1, found {value:g}")
        if self.difference is not None and not 0 < abs(self.difference) < 1:
            raise InputError(
                f"difference must be above 0 and below 1, either way, found {self.difference:g}"
            )
        if self.items is not None and not 2 <= self.items <= 10**6:
            raise InputError(f"items must be from 2 to 1000000, found {self.items}")
        if self.budget is not None and not 0 < self.budget < 1e12:
            raise InputError(f"budget must be above 0, found {self.budget:g}")
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
    )
    share: float | None = option(
        None,
        "The true share of MET in people's labels.",
        group="What is assumed",
        default_text="0.5",
    )
    spread: float | None = option(
        None,
        "The true standard deviation: mean, of items' scores; comparison, of items' differences.",
        common=True,
        group="What is assumed",
    )
    noise: float | None = option(
        None,
        "mean: the part of it that comes from asking again, a standard deviation.",
        group="What is assumed",
    )
    differing: float | None = option(
        None,
        "comparison of binary answers by McNemar's test: the true share of items that differ.",
        group="What is assumed",
    )
    raters: int = option(2, "agreement: how many people label each item.", group="What is assumed")
    pool: int | None = option(
        None,
        "ppi: how many items the judge grades, the labelled ones among them.",
        group="What is assumed",
        default_text="those of the run, else 1000",
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
        1000, "Simulated data sets, where there is no closed form.", group="What is assumed"
    )
    seed: int = option(0, "Of the simulations.", group="What is assumed")

    def check(self) -> None:
        if self.value is not None and not 0 < self.value <= 1:
            raise InputError(f"value must be above 0 and no more than 1, found {self.value:g}")
        for name in ("share", "differing"):
            value = getattr(self, name)
            if value is not None and not 0 < value < 1:
                raise InputError(f"{name} must be between 0 and 1, found {value:g}")
        for name in ("spread", "noise"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1:
                raise InputError(
                    f"{name} is of scores from 0 to 1: it must be above 0 and no more than 1, "
                    f"found {value:g}"
                )
        if self.noise is not None and self.spread is not None and self.noise > self.spread:
            raise InputError("noise is a part of spread: it cannot be larger")
        if not 2 <= self.raters <= 100:
            raise InputError(f"raters must be from 2 to 100, found {self.raters}")
        if self.pool is not None and not 2 <= self.pool <= 10**7:
            raise InputError(f"pool must be from 2 to 10000000, found {self.pool}")
        if not 100 <= self.simulations <= 100_000:
            raise InputError(f"simulations must be from 100 to 100000, found {self.simulations}")
        if self.seed < 0:
            raise InputError(f"seed must be 0 or more, found {self.seed}")


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
    )

    def check(self) -> None:
        if self.label_cost is not None and not 0 <= self.label_cost < 1e9:
            raise InputError(f"label_cost must be 0 or more, found {self.label_cost:g}")
        if self.prices is not None and self.judge is None:
            raise InputError("prices are those of a judge: give both")


class PlanOptions(Wanted, Assumed, Costs):
    """Everything that a plan can be told."""
