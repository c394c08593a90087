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
        "How far the interval may reach to either side, such as 0.05.",
        common=True,
        group="What is wanted",
    )
    at_least: float | None = option(
        None,
        "What the interval's lower end must reach (accuracy, sensitivity, specificity, kappa).",
        common=True,
        group="What is wanted",
    )
    difference: float | None = option(
        None,
        "comparison: the true difference that must be found.",
        common=True,
        group="What is wanted",
    )
    power: float = option(
        0.8,
        "The probability with which the goal is reached.",
        common=True,
        group="What is wanted",
    )
    significance: float = option(
        0.05, "comparison: the p that counts as significant.", group="What is wanted"
    )
    confidence: float = option(0.95, "The interval's coverage.", group="What is wanted")
    items: int | None = option(
        None,
        "Show what this many items give (labelled items, where labels count).",
        common=True,
        group="What is wanted",
    )
    value: float | None = option(
        None,
        "The true figure (accuracy, sensitivity, specificity, kappa; of ppi the judge's accuracy).",
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
    differing: float | None = option(
        None,
        "comparison: the true share of items that differ. Without --spread, of binary answers.",
        group="What is assumed",
    )
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
    seed: int = option(0, "Random seed of the simulations.", group="What is assumed")
    label_cost: float | None = option(
        None,
        "US dollars for a person's label.",
        common=True,
        group="What it costs",
        unit="US dollars",
    )

    def check(self) -> None:
        for names, low, high in (
            (("power", "significance", "confidence"), 0, 1),
            (("half_width", "at_least", "share", "differing"), 0, 1),
            (("difference",), -1, 1),
        ):
            for name in names:
                value = getattr(self, name)
                if value is not None and (not low < value < high or value == 0):
                    limits = f"between {low} and {high}" + ", not 0" * (low < 0)
                    raise InputError(f"{name} must be {limits}, found {value:g}")
        for name, most in (("value", 1.0), ("spread", 1.0)):
            value = getattr(self, name)
            if value is not None and not 0 < value <= most:
                raise InputError(
                    f"{name} must be above 0 and no more than {most:g}, found {value:g}"
                )
        for name, least, most in (
            ("items", 2, MOST_ITEMS),
            ("pool", 2, 10**7),
            ("simulations", 100, 10**5),
            ("seed", 0, 2**53),
            ("label_cost", 0, 10**9),
        ):
            value = getattr(self, name)
            if value is not None and not least <= value <= most:
                raise InputError(f"{name} must be from {least} to {most}, found {value:g}")
        if self.half_width is not None and self.at_least is not None:
            raise InputError("half_width and at_least are two goals: give one of them")
