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
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

import numpy as np

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
ERRORS = ("false MET", "false UNMET", "both")
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
    share: float, right: float, kind: str, n: int, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """People's answers and the judge's, with its errors all of one kind or as often of both."""
    truth = chance.random(n) < share
    wrong = chance.random(n)
    if kind == "both":
        return truth, truth ^ (wrong < 1 - right)
    if kind == "false MET":
        return truth, truth | (wrong < (1 - right) / (1 - share))
    return truth, truth & (wrong >= (1 - right) / share)


def judges() -> Iterator[tuple[float, float, str]]:
    """The share of MET, how often the judge is right, and the kind of its errors."""
    for share, right, kind in itertools.product(SHARES, RIGHT, ERRORS):
        if 1 - right < {"false MET": 1 - share, "false UNMET": share, "both": 1}[kind]:
            yield share, right, kind


def corrected(figure: str) -> Iterator[Cell]:
    """A mean of 1,000 verdicts that some labels correct."""
    for n, (share, right, kind) in itertools.product(ITEMS, judges()):

        def draw(
            chance: np.random.Generator,
            n: int = n,
            share: float = share,
            right: float = right,
            kind: str = kind,
        ) -> Estimate:
            truth, says = judged(share, right, kind, 1000, chance)
            human = [*truth[:n].astype(float).tolist(), *[None] * (1000 - n)]
            found: Estimate = getattr(corrected_mean(says.astype(float).tolist(), human), figure)
            return found

        yield Cell(f"MET {share}, right {right}, {kind}", n, share, draw)


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
    for n, criteria, flips, lost in itertools.product(
        ITEMS, (1, 3, 10, 40), (0.02, 0.1, 0.3), (0.5, 0.8, 1.0)
    ):

        def draw(
            chance: np.random.Generator,
            n: int = n,
            criteria: int = criteria,
            flips: float = flips,
            lost: float = lost,
        ) -> Estimate:
            changed = flipped(n, criteria, flips, lost, chance)
            level = 0.9 if one_sided else 0.95
            found = clustered_mean(changed, confidence=level, bounds=(-1.0, 1.0)).mean
            return Estimate(found.value, found.low, 1.0 if one_sided else found.high)

        name = f"{criteria} criteria, {flips} flip, {lost} of them to UNMET"
        yield Cell(name, n, flips * (1 - 2 * lost), draw)


def scores() -> Iterator[Cell]:
    """The mean score of items: of some criteria, or of one answer from 1 to 5."""
    for n, criteria, share in itertools.product(ITEMS, (1, 3, 10, 40), (0.02, 0.1, 0.5)):

        def met(
            chance: np.random.Generator, n: int = n, criteria: int = criteria, share: float = share
        ) -> Estimate:
            found = chance.binomial(criteria, share, n) / criteria
            return clustered_mean(found.tolist(), bounds=(0.0, 1.0)).mean

        yield Cell(f"{criteria} criteria, MET {share}", n, share, met)
    for n, steps in itertools.product(ITEMS, STEPS):

        def rated(
            chance: np.random.Generator, n: int = n, steps: tuple[float, ...] = steps
        ) -> Estimate:
            found = chance.choice(5, n, p=steps) / 4
            return clustered_mean(found.tolist(), bounds=(0.0, 1.0)).mean

        mean = float(np.array(steps) @ np.arange(5)) / 4
        yield Cell(f"1 to 5 with {steps}", n, mean, rated)


def raters(figure: str) -> Iterator[Cell]:
    """Numbers of raters that are a sample: an intraclass correlation, or the judges' share."""
    for n, k, (items, between) in itertools.product(
        ITEMS, (2, 3, 5), ((1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (3.0, 0.3))
    ):

        def draw(
            chance: np.random.Generator,
            n: int = n,
            k: int = k,
            items: float = items,
            between: float = between,
        ) -> Estimate:
            rated = items * chance.normal(size=(n, 1)) + between * chance.normal(size=(1, k))
            rated = rated + chance.normal(size=(n, k))
            if figure == "judge":
                return variance_components(rated[:, :, None].tolist()).shares[figure]
            return intraclass_correlation(rated.tolist())[figure]

        whole = items**2 + between**2 + 1
        truth = (between if figure == "judge" else items) ** 2 / whole
        if figure == "icc_2_k":
            truth = items**2 / (items**2 + (between**2 + 1) / k)
        yield Cell(f"{k} raters, items {items} and raters {between} apart", n, truth, draw)


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
    chance = np.random.default_rng([SEED, cell.items])
    held = made = 0
    for _ in range(draws):
        found = cell.draw(chance)
        if found.low is not None and found.high is not None:
            made += 1
            held += found.low - 1e-12 <= cell.truth <= found.high + 1e-12
    return held / max(made, 1), made / draws


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
