"""Compare what plans promise with simulated data: widths of intervals, and powers.

    python tools/check_plans.py [--sets 2000]

Each row is what `rubricate.stats` or `rubricate trust plan` says, and what the function that users
call then gives on simulated data sets. A width is to be within 5 % of what is found, a power within
3 points. About five minutes for 2,000 sets.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from rubricate.analysis import plan_report
from rubricate.stats import (
    Estimate,
    clustered_mean,
    clustered_share,
    corrected_mean,
    corrected_mean_width,
    krippendorff_alpha,
    label_agreement,
    lower_end_power,
    mcnemar_power,
    mcnemar_test,
    mean_width,
    paired_power,
    permutation_test,
    share_width,
    wilson_interval,
)

SEED = 20261123
WIDTH, POWER = 0.05, 0.03
"""How far a width may be off, as a share of it, and a power."""
SLOW = 4
"""Where an interval is bootstrapped, one in so many data sets is made."""


@dataclass(frozen=True)
class Checked:
    """A promise beside what was found, and the standard error of that."""

    name: str
    kind: str
    promised: float
    found: float
    error: float

    @property
    def off(self) -> float:
        """How far off it is: a width as a share of it, a power in points of 1."""
        apart = self.promised - self.found
        return apart / self.found if self.kind == "width" else apart

    @property
    def is_kept(self) -> bool:
        """Whether it is near enough, but for twice the error of the simulation."""
        slack = 2 * self.error / (self.found if self.kind == "width" else 1)
        return abs(self.off) <= (WIDTH if self.kind == "width" else POWER) + slack


def widths(
    name: str, promised: float, sets: int, interval: Callable[[np.random.Generator], Estimate]
) -> Checked:
    """Half the mean width of intervals of simulated data."""
    chance = np.random.default_rng(SEED)
    found = []
    for _ in range(sets):
        one = interval(chance)
        if one.low is not None and one.high is not None:
            found.append((one.high - one.low) / 2)
    error = float(np.std(found)) / math.sqrt(len(found))
    return Checked(name, "width", promised, float(np.mean(found)), error)


def powers(
    name: str, promised: float, sets: int, reached: Callable[[np.random.Generator], bool]
) -> Checked:
    """How often something is reached on simulated data."""
    chance = np.random.default_rng(SEED)
    found = sum(reached(chance) for _ in range(sets)) / sets
    return Checked(name, "power", promised, found, math.sqrt(found * (1 - found) / sets))


def of_shares(sets: int) -> Iterator[Checked]:
    """Accuracies, plain and in clusters, and the lower ends that certificates go by."""
    for n, share, promise in ((20, 0.5, 0.3), (20, 0.85, 0.6), (50, 0.97, 0.85), (200, 0.85, 0.78)):

        def interval(chance: np.random.Generator, n: int = n, share: float = share) -> Estimate:
            return wilson_interval(int(chance.binomial(n, share)), n)

        def certified(
            chance: np.random.Generator, n: int = n, share: float = share, promise: float = promise
        ) -> bool:
            return (wilson_interval(int(chance.binomial(n, share)), n).low or 0.0) >= promise

        yield widths(f"accuracy {share}, {n} labels", share_width(n, share), sets, interval)
        promised = lower_end_power(n, share, promise)
        yield powers(
            f"accuracy {share} shown to be {promise}, {n} labels", promised, sets, certified
        )
    for clusters, size, share, correlation in ((20, 5, 0.7, 0.3), (100, 5, 0.85, 0.3)):
        groups = np.repeat(np.arange(clusters), size).tolist()
        spread = (1 - correlation) / correlation

        def drawn(
            chance: np.random.Generator,
            clusters: int = clusters,
            size: int = size,
            share: float = share,
            spread: float = spread,
            groups: list[int] = groups,
        ) -> Estimate:
            of = chance.beta(share * spread, (1 - share) * spread, clusters)
            outcomes = chance.random((clusters, size)) < of[:, None]
            return clustered_share(outcomes.ravel().tolist(), groups=groups)

        promised = share_width(clusters * size, share, cluster_size=size, correlation=correlation)
        yield widths(f"accuracy {share}, {clusters} clusters of {size}", promised, sets, drawn)


def of_means(sets: int) -> Iterator[Checked]:
    """Means of scores, and prediction-powered ones."""
    for n in (20, 100):

        def mean(chance: np.random.Generator, n: int = n) -> Estimate:
            return clustered_mean(chance.beta(2, 2, n).tolist()).mean

        yield widths(f"mean of {n} scores", mean_width(n, math.sqrt(0.05)), sets, mean)
    for n, others, share, accuracy in (
        (20, 480, 0.5, 0.85),
        (20, 480, 0.7, 0.85),
        (50, 950, 0.6, 0.9),
        (200, 800, 0.8, 0.9),
    ):
        variance = share * (1 - share)
        moments = {
            "spread": math.sqrt(variance),
            "judge_spread": math.sqrt(variance),
            "correlation": 1 - (1 - accuracy) / (2 * variance),
        }

        def binary(
            chance: np.random.Generator,
            n: int = n,
            others: int = others,
            share: float = share,
            accuracy: float = accuracy,
        ) -> Estimate:
            truth = chance.random(n + others) < share
            wrong = np.where(truth, (1 - accuracy) / (2 * share), (1 - accuracy) / (2 - 2 * share))
            says = truth ^ (chance.random(n + others) < wrong)
            human = [float(one) if place < n else None for place, one in enumerate(truth)]
            return corrected_mean(says.astype(float).tolist(), human).prediction_powered

        promised = corrected_mean_width(n, others, share=share, seen=None, **moments)
        yield widths(f"PPI++, {n} labels of {n + others}, binary", promised, sets, binary)

    def scores(chance: np.random.Generator) -> Estimate:
        truth = chance.normal(0.5, 0.2, 500)
        says = truth + chance.normal(0, 0.1, 500)
        human = [float(one) if place < 50 else None for place, one in enumerate(truth)]
        return corrected_mean(says.tolist(), human).prediction_powered

    promised = corrected_mean_width(
        50, 450, spread=0.2, judge_spread=math.sqrt(0.05), correlation=0.2 / math.sqrt(0.05)
    )
    yield widths("PPI++, 50 labels of 500, scores", promised, sets, scores)


def of_comparisons(sets: int) -> Iterator[Checked]:
    """The permutation test on differences that are about normal, and McNemar's test."""
    for n, difference in ((20, 0.15), (30, 0.1), (100, 0.05)):

        def differs(
            chance: np.random.Generator, n: int = n, difference: float = difference
        ) -> bool:
            made = chance.normal(difference, 0.2, n).tolist()
            return (permutation_test(made, rounds=999).p_value or 1) < 0.05

        yield powers(
            f"permutation test, {n} differences of {difference}",
            paired_power(n, difference, 0.2),
            sets,
            differs,
        )
    for n, sizes, chances in (
        (20, (0, 1 / 3, -1 / 3, 2 / 3), (0.55, 0.3, 0.1, 0.05)),
        (50, (0, 1, -1), (0.88, 0.1, 0.02)),
        (100, (0, 1, -1), (0.88, 0.1, 0.02)),
    ):
        size, chances_of = np.array(sizes), np.array(chances)
        mean = float(size @ chances_of)

        def few_differ(
            chance: np.random.Generator,
            n: int = n,
            size: Any = size,
            chances_of: Any = chances_of,
        ) -> bool:
            made = chance.choice(size, n, p=chances_of).tolist()
            return (permutation_test(made, rounds=999).p_value or 1) < 0.05

        spread = math.sqrt(float(size**2 @ chances_of) - mean**2)
        share = 1 - chances[0]
        yield powers(
            f"permutation test, {n} differences of {mean:.2g}, {share:.2g} differ",
            paired_power(n, mean, spread, differing=share),
            sets,
            few_differ,
        )
    for n, difference, differing in ((50, 0.2, 0.3), (200, 0.1, 0.2)):
        better = (differing + difference) / 2

        def found(
            chance: np.random.Generator,
            n: int = n,
            better: float = better,
            worse: float = differing - better,
        ) -> bool:
            flips = chance.choice([1, -1, 0], n, p=[better, worse, 1 - better - worse])
            test = mcnemar_test((flips < 0).tolist(), (flips > 0).tolist())
            return (test.p_value or 1) <= 0.05

        yield powers(
            f"McNemar's test, {n} pairs, {differing} differ, difference {difference}",
            mcnemar_power(n, difference, differing),
            sets,
            found,
        )


def of_agreement(sets: int) -> Iterator[Checked]:
    """Kappa and alpha: the plan simulates them with fewer resamples and other data."""
    words = [("MET", "MET"), ("MET", "UNMET"), ("UNMET", "MET"), ("UNMET", "UNMET")]
    for n, kappa, share in ((50, 0.6, 0.5), (200, 0.7, 0.7)):
        point = plan_report("kappa", value=kappa, share=share, items=n).answers[0]
        apart = (1 - kappa) * share * (1 - share)
        cells = [share - apart, apart, apart, 1 - share - apart]

        def drawn(chance: np.random.Generator, n: int = n, cells: list[float] = cells) -> Estimate:
            pairs = [words[at] for at in chance.choice(4, n, p=cells)]
            return label_agreement([one for one, _ in pairs], [two for _, two in pairs]).figures[
                "cohen_kappa"
            ]

        yield widths(f"kappa {kappa}, {n} labels", point.half_width or 0.0, sets // SLOW, drawn)
    point = plan_report("agreement", value=0.6, raters=3, items=100).answers[0]

    def rated(chance: np.random.Generator) -> Estimate:
        of_item = chance.beta(0.5 * 1.5, 0.5 * 1.5, 100)
        return krippendorff_alpha((chance.random((100, 3)) < of_item[:, None]).astype(int).tolist())

    yield widths("alpha 0.6, 100 items, 3 raters", point.half_width or 0.0, sets // SLOW, rated)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--sets", type=int, default=2000)
    sets = options.parse_args().sets
    print("| plan | promised | found | off |\n|---|---:|---:|---:|")
    for part in (of_shares, of_means, of_comparisons, of_agreement):
        for one in part(sets):
            off = f"{100 * one.off:+.1f} {'%' if one.kind == 'width' else 'points'}"
            mark = "" if one.is_kept else " **not kept**"
            print(
                f"| {one.name}: {one.kind} | {one.promised:.3f} | {one.found:.3f} | {off}{mark} |"
            )


if __name__ == "__main__":
    main()
