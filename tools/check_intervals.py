"""Simulate the intervals that reports show, and print the table of docs/statistics.md.

    python tools/check_intervals.py [--draws 500] [--only ppi,difference] [--cells]

A cell is a number of items with one truth. Each draws data sets (seed 20261123), gives them to the
public function that users call, and counts how often a nominal 95 % interval holds the truth. The
table shows, for each figure and number of items, the lowest coverage of all cells and, in brackets,
their mean. Draws without an interval do not count; a cell counts where a fifth of its draws have
one. `--cells` prints each cell.
"""

from __future__ import annotations

import argparse
import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

from rubricate.analysis.planning._designs import simulated_intervals
from rubricate.stats import (
    Estimate,
    clustered_mean,
    corrected_mean,
    intraclass_correlation,
    variance_components,
)

SEED = 20261123
ITEMS = (10, 20, 50, 200)
SHARES = (0.02, 0.1, 0.5, 0.9)
"""Of MET."""
RIGHT = (0.7, 0.9, 0.95, 0.99)
"""How often the judge is right."""
STEPS = ((0.1, 0.2, 0.4, 0.2, 0.1), (0.02, 0.05, 0.1, 0.33, 0.5), (0.01, 0.02, 0.05, 0.12, 0.8))
"""How often each answer from 1 to 5 is given, even and skewed."""
LEAST = 0.2
"""Of draws with an interval: in a cell with fewer, the coverage says more of chance."""

Draw: TypeAlias = Callable[[np.random.Generator], Estimate]


@dataclass(frozen=True)
class Cell:
    """One truth, and how to draw an interval for it."""

    name: str
    items: int
    truth: float
    draw: Draw


def judged(
    n: int, share: float, missed: float, alarms: float, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """People's answers and the judge's, which misses a part of the MET and makes false alarms."""
    truth = chance.random(n) < share
    return truth, truth ^ (chance.random(n) < np.where(truth, missed, alarms))


def judges() -> Iterator[tuple[str, float, float, float]]:
    """A judge in words, the share of MET, and how often it errs on each label."""
    for share, right in itertools.product(SHARES, RIGHT):
        wrong = 1 - right
        for kind, missed, alarms in (
            ("false MET", 0.0, wrong / (1 - share)),
            ("false UNMET", wrong / share, 0.0),
            ("both", wrong, wrong),
        ):
            if max(missed, alarms) < 1:
                yield f"MET {share}, right {right}, {kind}", share, missed, alarms


def corrected(figure: str) -> Iterator[Cell]:
    """A mean of 1,000 verdicts that some labels correct."""

    def draw(n: int, of: Sequence[float], chance: np.random.Generator) -> Estimate:
        share, missed, alarms = of
        truth, says = judged(1000, share, missed, alarms, chance)
        human = [*truth[:n].astype(float).tolist(), *[None] * (1000 - n)]
        found: Estimate = getattr(corrected_mean(says.astype(float).tolist(), human), figure)
        return found

    for n, (name, *of) in itertools.product(ITEMS, judges()):
        yield Cell(name, n, of[0], partial(draw, n, of))


def flipped(
    items: int, criteria: int, flips: float, lost: float, chance: np.random.Generator
) -> list[float]:
    """How much each item's score changed: a part of the verdicts flip, a part of these to UNMET."""
    flip = chance.random((items, criteria)) < flips
    down = chance.random((items, criteria)) < lost
    changed: list[float] = (flip * np.where(down, -1.0, 1.0)).mean(1).tolist()
    return changed


def differences(one_sided: bool) -> Iterator[Cell]:
    """B minus A, as `compare_paired` makes it; or its lower end alone, for non-inferiority."""

    def draw(of: tuple[int, int, float, float], chance: np.random.Generator) -> Estimate:
        level = 0.9 if one_sided else 0.95
        found = clustered_mean(flipped(*of, chance), confidence=level, bounds=(-1.0, 1.0)).mean
        return Estimate(found.value, found.low, 1.0 if one_sided else found.high)

    for of in itertools.product(ITEMS, (1, 3, 10, 40), (0.02, 0.1, 0.3), (0.5, 0.8, 1.0)):
        n, criteria, flips, lost = of
        name = f"{criteria} criteria, {flips} flip, {lost} of them to UNMET"
        yield Cell(name, n, flips * (1 - 2 * lost), partial(draw, of))


def scores() -> Iterator[Cell]:
    """The mean score of items: of some criteria, or of one answer from 1 to 5."""

    def met(n: int, criteria: int, share: float, chance: np.random.Generator) -> Estimate:
        found = chance.binomial(criteria, share, n) / criteria
        return clustered_mean(found.tolist(), bounds=(0.0, 1.0)).mean

    def rated(n: int, steps: tuple[float, ...], chance: np.random.Generator) -> Estimate:
        found = chance.choice(5, n, p=steps) / 4
        return clustered_mean(found.tolist(), bounds=(0.0, 1.0)).mean

    for n, criteria, share in itertools.product(ITEMS, (1, 3, 10, 40), (0.02, 0.1, 0.5)):
        yield Cell(f"{criteria} criteria, MET {share}", n, share, partial(met, n, criteria, share))
    for n, steps in itertools.product(ITEMS, STEPS):
        mean = float(np.array(steps) @ np.arange(5)) / 4
        yield Cell(f"1 to 5 with {steps}", n, mean, partial(rated, n, steps))


def raters(figure: str) -> Iterator[Cell]:
    """Numbers of raters that are a sample: an intraclass correlation, or the judges' share."""

    def draw(n: int, k: int, items: float, between: float, chance: np.random.Generator) -> Estimate:
        rated = items * chance.normal(size=(n, 1)) + between * chance.normal(size=(1, k))
        rated = rated + chance.normal(size=(n, k))
        if figure == "judge":
            return variance_components(rated[:, :, None].tolist()).shares[figure]
        return intraclass_correlation(rated.tolist())[figure]

    for n, k, (items, between) in itertools.product(
        ITEMS, (2, 3, 5), ((1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (3.0, 0.3))
    ):
        whole = items**2 + between**2 + 1
        truth = (between if figure == "judge" else items) ** 2 / whole
        if figure == "icc_2_k":
            truth = items**2 / (items**2 + (between**2 + 1) / k)
        name = f"{k} raters, items {items} and raters {between} apart"
        yield Cell(name, n, truth, partial(draw, n, k, items, between))


FIGURES: dict[str, tuple[str, Callable[[], Iterator[Cell]]]] = {
    "ppi": ("PPI++ mean of yes and no", partial(corrected, "prediction_powered")),
    "difference": ("difference of two runs", partial(differences, False)),
    "margin": ("lower end of a difference, one-sided", partial(differences, True)),
    "score": ("mean score", scores),
    "icc": ("ICC(2,1)", partial(raters, "icc_2_1")),
    "icck": ("ICC(2,k)", partial(raters, "icc_2_k")),
    "judges": ("share of judges (`trust variance`)", partial(raters, "judge")),
    "gladen": ("Rogan-Gladen mean of yes and no", partial(corrected, "rogan_gladen")),
}


def coverage(cell: Cell, draws: int) -> tuple[float, float]:
    """The share of intervals that hold the truth, and of draws with an interval."""
    ends = simulated_intervals(cell.draw, draws, [SEED, cell.items])
    held = sum(low - 1e-12 <= cell.truth <= high + 1e-12 for low, high in ends)
    return held / max(len(ends), 1), len(ends) / draws


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=500)
    options.add_argument("--only", default=",".join(FIGURES))
    options.add_argument("--cells", action="store_true")
    given = options.parse_args()
    print(f"| figure | {' | '.join(f'{n} items' for n in ITEMS)} |")
    print(f"|---|{'---:|' * len(ITEMS)}")
    for name in given.only.split(","):
        title, cells = FIGURES[name]
        found: dict[int, list[float]] = {}
        for cell in cells():
            share, made = coverage(cell, given.draws)
            if given.cells:
                print(f"  {title}, {cell.items} items, {cell.name}: {share:.3f} of {made:.2f}")
            if made >= LEAST:
                found.setdefault(cell.items, []).append(100 * share)
        row = [
            f"{min(found[n]):.1f} ({np.mean(found[n]):.1f})" if n in found else "no interval"
            for n in ITEMS
        ]
        print(f"| {title} | {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
