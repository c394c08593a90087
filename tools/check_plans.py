"""Compare the promises of plans with simulated data: widths of intervals, and powers.

    python tools/check_plans.py [--sets 2000]

Each row compares the promise of `rubricate.stats` or `rubricate trust plan` with the result of the
function that users call on simulated data sets. A width must be within 5 % of the result, a power
within 3 points; a power "at least" may be lower than the result. It takes about five minutes for
2,000 sets.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
from check_intervals import flipped, judged, shares_of

from rubricate.analysis import plan_report
from rubricate.analysis.planning._designs import simulated_intervals
from rubricate.stats import (
    Estimate,
    clustered_mean,
    clustered_share,
    corrected_mean,
    corrected_mean_width,
    exact_interval,
    label_agreement,
    lower_end_power,
    mcnemar_power,
    mcnemar_test,
    mean_width,
    paired_power,
    permutation_test,
    share_width,
)

SEED = 20261123
WIDTH, POWER, GUESS = 0.05, 0.03, 0.15
"""The allowed errors: of a width, as a share of it; of a power; and of a power whose share of
differing items is a guess."""
GUESSED = "power by a guess"
SLOW = 4
"""For bootstrapped intervals, only one in this many data sets is used."""
Chance = np.random.Generator


@dataclass(frozen=True)
class Checked:
    """A promise with the result, and the standard error of the result."""

    name: str
    kind: str
    promised: float
    found: float
    error: float

    @property
    def off(self) -> float:
        """The error: for a width, as a share of it; for a power, in points."""
        apart = self.promised - self.found
        return apart / self.found if self.kind == "width" else apart

    @property
    def is_kept(self) -> bool:
        """Whether the error is small enough, allowing for twice its standard error."""
        slack = 2 * self.error / (self.found if self.kind == "width" else 1)
        off = self.off if self.kind == "power at least" else abs(self.off)
        return off <= {"width": WIDTH, GUESSED: GUESS}.get(self.kind, POWER) + slack


def widths(name: str, promised: float, sets: int, draw: Callable[[Chance], Estimate]) -> Checked:
    """Check half the mean width of intervals on simulated data."""
    found = [(high - low) / 2 for low, high in simulated_intervals(draw, sets, SEED)[0]]
    error = float(np.std(found)) / math.sqrt(len(found))
    return Checked(name, "width", promised, float(np.mean(found)), error)


def powers(
    name: str,
    promised: float,
    sets: int,
    reached: Callable[[Chance], bool],
    kind: str = "power",
) -> Checked:
    """Check how often something is reached on simulated data."""
    chance = np.random.default_rng(SEED)
    found = sum(reached(chance) for _ in range(sets)) / sets
    return Checked(name, kind, promised, found, math.sqrt(found * (1 - found) / sets))


def of_shares(sets: int) -> Iterator[Checked]:
    """Accuracies, with and without clusters, and the lower ends that certificates use."""

    def interval(n: int, share: float, chance: Chance) -> Estimate:
        return exact_interval(int(chance.binomial(n, share)), n)

    def certified(n: int, share: float, promise: float, chance: Chance) -> bool:
        return (interval(n, share, chance).low or 0.0) >= promise

    def clustered(
        clusters: int, size: int, share: float, spread: float, chance: Chance
    ) -> Estimate:
        of = chance.beta(share * spread, (1 - share) * spread, clusters)
        outcomes = chance.random((clusters, size)) < of[:, None]
        groups = np.repeat(np.arange(clusters), size).tolist()
        return clustered_share(outcomes.ravel().tolist(), groups=groups)

    for n, share, promise in ((20, 0.5, 0.3), (20, 0.85, 0.6), (50, 0.97, 0.85), (200, 0.85, 0.78)):
        name, width = f"accuracy {share}, {n} labels", share_width(n, share)
        yield widths(name, width, sets, partial(interval, n, share))
        power = lower_end_power(n, share, promise)
        name = f"accuracy {share} shown to be {promise}, {n} labels"
        yield powers(name, power, sets, partial(certified, n, share, promise))
    for clusters, size, share, together in ((20, 5, 0.7, 0.3), (100, 5, 0.85, 0.3)):
        width = share_width(clusters * size, share, cluster_size=size, correlation=together)
        draw = partial(clustered, clusters, size, share, (1 - together) / together)
        yield widths(f"accuracy {share}, {clusters} clusters of {size}", width, sets, draw)


def of_means(sets: int) -> Iterator[Checked]:
    """Means of scores, and prediction-powered means."""

    def mean(n: int, chance: Chance) -> Estimate:
        return clustered_mean(chance.beta(2, 2, n).tolist()).mean

    def corrected(n: int, truth: np.ndarray, says: np.ndarray) -> Estimate:
        human = [float(one) if place < n else None for place, one in enumerate(truth)]
        return corrected_mean(says.astype(float).tolist(), human).prediction_powered

    def binary(n: int, items: int, share: float, accuracy: float, chance: Chance) -> Estimate:
        missed, alarms = (1 - accuracy) / (2 * share), (1 - accuracy) / (2 - 2 * share)
        return corrected(n, *judged(items, share, missed, alarms, chance))

    def scores(chance: Chance) -> Estimate:
        truth = chance.normal(0.5, 0.2, 500)
        return corrected(50, truth, truth + chance.normal(0, 0.1, 500))

    for n in (20, 100):
        width = mean_width(n, math.sqrt(0.05))
        yield widths(f"mean of {n} scores", width, sets, partial(mean, n))
    for n, items, share, accuracy in (
        (20, 500, 0.5, 0.85),
        (20, 500, 0.7, 0.85),
        (50, 1000, 0.6, 0.9),
        (200, 1000, 0.8, 0.9),
    ):
        variance = share * (1 - share)
        width = corrected_mean_width(
            n,
            items - n,
            share=share,
            spread=math.sqrt(variance),
            judge_spread=math.sqrt(variance),
            correlation=1 - (1 - accuracy) / (2 * variance),
        )
        draw = partial(binary, n, items, share, accuracy)
        yield widths(f"PPI++, {n} labels of {items}, binary", width, sets, draw)
    width = corrected_mean_width(
        50, 450, spread=0.2, judge_spread=math.sqrt(0.05), correlation=0.2 / math.sqrt(0.05)
    )
    yield widths("PPI++, 50 labels of 500, scores", width, sets, scores)


SKEWED = "rare large losses"
DIFFERENCES = {
    "flips": ((0, 1, -1), (0.88, 0.1, 0.02)),
    "thirds": ((0, 1 / 3, -1 / 3, 2 / 3), (0.55, 0.3, 0.1, 0.05)),
    "tenths": ((0, 0.1, -0.1, 0.2, -0.2), (0.4, 0.3, 0.15, 0.1, 0.05)),
    SKEWED: ((0, -1, 0.05), (0.65, 0.06, 0.29)),
}
"""Typical differences between two runs, with the share of items for each."""


def differs(differences: np.ndarray) -> bool:
    """Whether a permutation test finds the differences significant."""
    return (permutation_test(differences.tolist(), rounds=999).p_value or 1) < 0.05


def of_comparisons(sets: int) -> Iterator[Checked]:
    """The permutation test, if all items differ and if few do, and McNemar's test."""
    for n, difference in ((20, 0.15), (30, 0.1), (100, 0.05)):
        yield powers(
            f"permutation test, {n} differences of {difference}",
            paired_power(n, difference, 0.2, differing=1),
            sets,
            lambda chance, n=n, mean=difference: differs(chance.normal(mean, 0.2, n)),  # type: ignore[misc]
        )
    for (name, (sizes, shares)), n in product(DIFFERENCES.items(), (20, 50, 100)):
        mean = float(np.dot(sizes, shares))
        spread, differing = math.sqrt(np.dot(np.square(sizes), shares) - mean**2), 1 - shares[0]

        def detected(  # in the right direction
            n: int, sizes: tuple[float, ...], shares: tuple[float, ...], up: bool, chance: Chance
        ) -> bool:
            drawn = chance.choice(sizes, n, p=shares)
            return differs(drawn) and (drawn.sum() > 0) == up

        draw = partial(detected, n, sizes, shares, mean > 0)
        known = paired_power(n, mean, spread, differing=differing)
        if name != SKEWED:
            yield powers(f"{n} differences, {name}, {differing:.2g} differ", known, sets, draw)
        plan = plan_report("comparison", spread=spread, difference=mean, items=n).answers
        for point, kind in zip(plan, (GUESSED, "power at least"), strict=True):
            name_of_row = f"{n} differences, {name}, by spread"
            yield powers(name_of_row, point.power or 0.0, sets, draw, kind)
    for n, criteria, flips, lost in ((100, 1, 0.12, 5 / 6), (50, 5, 0.2, 0.7), (200, 2, 0.05, 0.9)):

        def changed(n: int, criteria: int, flips: float, lost: float, chance: Chance) -> bool:
            return differs(np.array(flipped(n, shares_of(criteria, 1.0), flips, lost, chance)))

        mean = flips * (2 * lost - 1)
        spread = math.sqrt((flips - mean**2) / criteria)
        point = plan_report("comparison", spread=spread, difference=mean, items=n).answers[0]
        yield powers(
            f"plan by spread alone, {n} items, flips of {criteria} criteria",
            point.power or 0.0,
            sets,
            partial(changed, n, criteria, flips, lost),
            GUESSED,
        )
    for n, difference, differing in ((50, 0.2, 0.3), (200, 0.1, 0.2)):
        better = (differing + difference) / 2

        def found(n: int, better: float, worse: float, chance: Chance) -> bool:
            flips = chance.choice([1, -1, 0], n, p=[better, worse, 1 - better - worse])
            test = mcnemar_test((flips < 0).tolist(), (flips > 0).tolist())
            return (test.p_value or 1) <= 0.05

        yield powers(
            f"McNemar's test, {n} pairs, {differing} differ, difference {difference}",
            mcnemar_power(n, difference, differing),
            sets,
            partial(found, n, better, differing - better),
        )


def of_agreement(sets: int) -> Iterator[Checked]:
    """Kappa, which the plan simulates with fewer resamples and other data."""
    words = [("MET", "MET"), ("MET", "UNMET"), ("UNMET", "MET"), ("UNMET", "UNMET")]

    def drawn(n: int, cells: list[float], chance: Chance) -> Estimate:
        one, other = zip(*(words[at] for at in chance.choice(4, n, p=cells)), strict=True)
        return label_agreement(one, other).figures["cohen_kappa"]

    for n, kappa, share in ((50, 0.6, 0.5), (200, 0.7, 0.7)):
        width = plan_report("kappa", value=kappa, share=share, items=n).answers[0].half_width
        apart = (1 - kappa) * share * (1 - share)
        cells = [share - apart, apart, apart, 1 - share - apart]
        name = f"kappa {kappa}, {n} labels"
        yield widths(name, width or 0.0, sets // SLOW, partial(drawn, n, cells))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", type=int, default=2000)
    sets = options.parse_args().sets
    print("| plan | promised | found | off |\n|---|---:|---:|---:|")
    for part in (of_shares, of_means, of_comparisons, of_agreement):
        for row in part(sets):
            off = f"{100 * row.off:+.1f} {'%' if row.kind == 'width' else 'points'}"
            mark = "" if row.is_kept else " **not kept**"
            name = f"{row.name}: {row.kind}"
            print(f"| {name} | {row.promised:.3f} | {row.found:.3f} | {off}{mark} |", flush=True)


if __name__ == "__main__":
    main()
