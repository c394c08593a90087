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

from rubricate.stats import Estimate, corrected_mean

SEED = 20261123
ITEMS = (10, 20, 50, 200)
SHARES = (0.02, 0.1, 0.5, 0.9)
"""Of MET."""
RIGHT = (0.7, 0.9, 0.95, 0.99)
"""How often the judge is right."""
ERRORS = ("false MET", "false UNMET", "both")
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


FIGURES: dict[str, tuple[str, Callable[[], Iterator[Cell]]]] = {
    "ppi": ("PPI++ mean of yes and no", partial(corrected, "prediction_powered")),
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
