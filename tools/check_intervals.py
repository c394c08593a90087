"""Simulate the intervals in reports, and print the table of docs/coverage.md.

    python tools/check_intervals.py [--draws 500] [--only corrected,labels] [--cells]
        [--grid other|SEED] [--match "10 items"]

A cell is a number of items with one truth. For each cell, data sets are drawn (seed 20261123) and
passed to the public function that users call, to count how often a nominal 95 % interval contains
the truth. For each figure and number of items, the table shows the lowest coverage of all cells
and, in brackets, their mean. Draws without an interval do not count, and a cell counts if a fifth
of its draws have one. Cells below 92 % are drawn again five times as often, and only the new draws
count. `--cells` prints each cell.
"""

from __future__ import annotations

import argparse
import itertools
import multiprocessing
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import cache, partial
from typing import TypeAlias

import numpy as np
from scipy import special

from rubricate.stats import (
    Bootstrap,
    Estimate,
    _confusion,
    asymmetry,
    calibration,
    calibration_gain,
    clustered_mean,
    conformal_sets,
    corrected_mean,
    decision_threshold,
    fleiss_kappa,
    gwet_ac,
    intraclass_correlation,
    krippendorff_alpha,
    label_agreement,
    mean_of_scores,
    roc_auc,
    score_agreement,
    stratified_agreement,
    stratified_mean,
    variance_components,
)

SEED = 20261123


@dataclass(frozen=True)
class Grid:
    """The truths of all cells.

    Attributes:
        items: the numbers of items.
        shares: the shares of MET.
        right: the judge's accuracies.
        steps: the frequencies of the steps of a scale, even and skewed.
        criteria: the numbers of criteria of an item.
        flips, lost: the shares of verdicts that differ between two runs, and of these that become
            UNMET.
        places: how often the position of an answer decides.
        raters: the numbers of raters.
        apart: the spread of items and raters, relative to the noise of an answer.
        odds, spreads, sure: the centre and spread of log-odds, and the factor of a judge's
            overconfidence.
        correlations: the correlations of normal numbers from a judge and people.
        alike: how often an answer is that of the first of its group: their correlation is about the
            square of this.
        near: the share of a judge's errors on a scale that are one step off; the others are
            arbitrary.
        sides: the labels on which a judge of one criterion errs.
        layouts: the sizes of groups.
    """

    items: tuple[int, ...] = (10, 20, 50, 200)
    shares: tuple[float, ...] = (0.02, 0.1, 0.5, 0.9)
    right: tuple[float, ...] = (0.7, 0.9, 0.95, 0.99)
    steps: tuple[tuple[float, ...], ...] = (
        (0.1, 0.2, 0.4, 0.2, 0.1),
        (0.02, 0.05, 0.1, 0.33, 0.5),
        (0.01, 0.02, 0.05, 0.12, 0.8),
    )
    criteria: tuple[int, ...] = (1, 3, 10, 40)
    flips: tuple[float, ...] = (0.02, 0.1, 0.3)
    lost: tuple[float, ...] = (0.5, 0.8, 1.0)
    places: tuple[float, ...] = (0.02, 0.1, 0.3, 0.6)
    raters: tuple[int, ...] = (2, 3, 5)
    apart: tuple[tuple[float, float], ...] = ((1.0, 0.0), (1.0, 0.5), (1.0, 1.0), (3.0, 0.3))
    odds: tuple[float, ...] = (-3.0, 0.0, 2.0)
    spreads: tuple[float, ...] = (0.5, 2.0, 4.0)
    sure: tuple[float, ...] = (1.0, 2.5)
    correlations: tuple[float, ...] = (0.0, 0.5, 0.8, 0.95)
    alike: float = 0.35
    near: float = 0.8
    sides: tuple[str, ...] = ("both",)
    layouts: tuple[str, ...] = ("equal", "unequal")


OTHER = Grid(
    items=(8, 14, 30, 75, 120),
    shares=(0.01, 0.04, 0.25),
    right=(0.8, 0.93, 0.97, 0.995),
    steps=(
        (0.2, 0.5, 0.3),
        (0.02, 0.08, 0.9),
        (0.1, 0.15, 0.15, 0.2, 0.15, 0.15, 0.1),
        (0.005, 0.01, 0.015, 0.03, 0.06, 0.18, 0.7),
    ),
    criteria=(2, 6, 25),
    flips=(0.01, 0.05, 0.2),
    places=(0.05, 0.2, 0.5),
    raters=(3, 4),
    odds=(-2.0, 1.0, 3.0),
    correlations=(0.2, 0.7, 0.9, 0.98),
    alike=0.5,
    near=0.6,
    sides=("both", "false MET", "false UNMET"),
    layouts=("geometric",),
)


def drawn_grid(seed: int) -> Grid:
    """Draw a grid at random."""
    chance = np.random.default_rng(seed)

    def between(*ends: float) -> tuple[float, ...]:
        """Draw a number within each pair of ends, uniform on a logarithmic scale for small ones."""
        low, high = np.log(ends[:-1]), np.log(ends[1:])
        return tuple(float(f"{one:.3g}") for one in np.exp(chance.uniform(low, high)).tolist())

    def counts(*ends: float) -> tuple[int, ...]:
        return tuple(round(one) for one in between(*ends))

    def steps(even: float) -> tuple[float, ...]:
        found = chance.dirichlet(np.full(5, even)) + 0.01
        first = [round(one, 3) for one in (found[:4] / found.sum()).tolist()]
        return (*first, round(1 - sum(first), 3))

    wrong = between(0.004, 0.03, 0.08, 0.2, 0.35)
    return Grid(
        items=counts(9, 16, 36, 90, 300),
        shares=between(0.01, 0.06, 0.3, 0.7, 0.97),
        right=tuple(round(1 - one, 4) for one in wrong[::-1]),
        steps=(steps(5.0), steps(1.0), steps(0.4)),
        criteria=counts(1, 3, 6, 16, 50),
        flips=between(0.01, 0.05, 0.2, 0.5),
        lost=(0.5, *between(0.55, 0.95), 1.0),
        places=between(0.01, 0.05, 0.2, 0.5, 0.9),
        raters=counts(2, 2.4, 4.4, 9),
        apart=((1.0, 0.0), *zip(between(0.5, 1, 2, 4), between(0.1, 0.4, 0.8, 2), strict=True)),
        odds=tuple(np.round(chance.uniform((-4.0, -1.0, 1.0), (-1.5, 1.0, 3.5)), 2).tolist()),
        spreads=between(0.3, 1, 3, 5),
        sure=(1.0, *between(1.2, 4)),
        correlations=(*between(0.05, 0.3, 0.6, 0.9), 0.97),
        alike=between(0.15, 0.6)[0],
        near=between(0.4, 1.0)[0],
    )


GRID = Grid()
DRAWS = Bootstrap(1000)
"""The resamples of bootstrapped intervals; reports have 2,000. All data sets share a seed, so that
with 400 resamples the ends are off by the same amount in all of them, and coverage by up to 4
points."""
LEAST = 0.2
"""The minimum share of draws with an interval; with fewer, coverage is mostly chance."""
MOST_PAIRS = 2000
"""The maximum number of pairs of several criteria together; more take as long as all other rows."""
DOUBTFUL, AGAIN = 0.92, 5
"""Cells with a coverage below the first number, which may be chance, are drawn again this many
times as often, and only the new draws count: the lowest of a hundred exact intervals covers 90 % in
200 draws."""


def shift_of(right: float) -> float:
    """Return the distance between a judge's scores of MET and UNMET for which the area under the
    curve is `right`."""
    return float(np.sqrt(2) * special.ndtri(right))


SCALE_FIGURES = (
    "exact_accuracy",
    "within_one_accuracy",
    "quadratic_kappa",
    "krippendorff_alpha",
    "icc_2_1",
    "icc_3_1",
    "pearson",
    "spearman",
    "kendall_tau_b",
    "mae",
    "rmse",
    "bias",
)
OF_MET = ("precision", "recall", "f1", "false_positive_rate")
ICC = ("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k")
ORDINAL = "ordinal alpha of three raters, scale"

Found: TypeAlias = dict[str, Estimate]
Draw: TypeAlias = Callable[[np.random.Generator], Found]


@dataclass(frozen=True)
class Cell:
    """A truth, and how to draw an interval for it."""

    name: str
    items: int
    truth: dict[str, float]
    draw: Draw


def judged(
    n: int, share: float, missed: float, alarms: float, chance: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Draw labels of people and of a judge, who misses some MET and raises false alarms."""
    truth = chance.random(n) < share
    return truth, truth ^ (chance.random(n) < np.where(truth, missed, alarms))


SIDES = ("false MET", "false UNMET", "both")


def judges(sides: Sequence[str] = SIDES) -> Iterator[tuple[str, float, float, float]]:
    """Return judges in words, with the share of MET and the error rate on each label."""
    for share, right in itertools.product(GRID.shares, GRID.right):
        wrong = 1 - right
        for kind, missed, alarms in (
            ("false MET", 0.0, wrong / (1 - share)),
            ("false UNMET", wrong / share, 0.0),
            ("both", wrong, wrong),
        ):
            if kind in sides and max(missed, alarms) < 1:
                yield f"MET {share}, right {right}, {kind}", share, missed, alarms


def corrected() -> Iterator[Cell]:
    """A mean of 1,000 verdicts, corrected by some labels."""

    titles = {
        "prediction_powered": "PPI++ mean of yes and no",
        "labelled_only": "labels alone",
        "rogan_gladen": "Rogan-Gladen mean of yes and no",
    }

    def draw(n: int, of: Sequence[float], chance: np.random.Generator) -> Found:
        share, missed, alarms = of
        truth, says = judged(1000, share, missed, alarms, chance)
        human = [*truth[:n].astype(float).tolist(), *[None] * (1000 - n)]
        found = corrected_mean(says.astype(float).tolist(), human)
        return {title: getattr(found, figure) for figure, title in titles.items()}

    for n, (name, *of) in itertools.product(GRID.items, judges()):
        yield Cell(name, n, dict.fromkeys(titles.values(), of[0]), partial(draw, n, of))


def strata() -> Iterator[Cell]:
    """The macro mean of a declared scoring: groups differ in size and mean."""

    title = "macro mean of groups"

    def draw(
        at: np.ndarray, shares: np.ndarray, criteria: int, chance: np.random.Generator
    ) -> Found:
        found = chance.binomial(criteria, shares[at]) / criteria
        return {title: stratified_mean(found.tolist(), at.tolist())}

    for n, count, share, criteria in itertools.product(
        GRID.items, (2, 4), GRID.shares, GRID.criteria
    ):
        shares = np.clip(share + np.linspace(-0.3, 0.3, count), 0.01, 0.99)
        at = np.sort(np.arange(n) * (np.arange(n) % 3 > 0) % count)
        name = f"{count} groups, {criteria} criteria, MET {share}"
        yield Cell(name, n, {title: float(shares.mean())}, partial(draw, at, shares, criteria))


def lean() -> Iterator[Cell]:
    """Position bias: 1 or -1 if the position decided, in a share of questions asked twice."""

    title = "position bias"

    def draw(n: int, chances: tuple[float, ...], chance: np.random.Generator) -> Found:
        return {title: asymmetry(chance.choice([1, 0, -1], n, p=chances).tolist())}

    for n, places, first in itertools.product(GRID.items, GRID.places, GRID.lost):
        chances = (places * first, 1 - places, places * (1 - first))
        name = f"the place decides {places}, {first} of them for the first"
        truth = {title: places * (2 * first - 1)}
        yield Cell(name, n, truth, partial(draw, n, chances))


def held_out() -> Iterator[Cell]:
    """Figures on held-out parts of the data: the truth is their mean over data sets."""

    names: tuple[str, ...] = (
        "cost of a threshold",
        "saved by a threshold",
        "gain of a calibration map",
        "accuracy that a calibration map gains",
        "conformal sets with the label",
        "single conformal labels that are right",
    )

    def draw(n: int, share: float, right: float, chance: np.random.Generator) -> Found:
        truth = chance.random(n) < share
        odds = 1.5 * (truth * shift_of(right) - shift_of(right) / 2 + chance.normal(size=n))
        says = special.expit(odds).tolist()
        cheap = decision_threshold(says, truth.tolist(), false_negative_cost=3.0)
        gain = calibration_gain(says, truth.tolist())
        shares = [{True: one, False: 1 - one} for one in says]
        sets = conformal_sets(shares, truth.tolist())
        gains = (gain.brier_gain, gain.accuracy_gain)
        found = (cheap.cost, cheap.saved, *gains, sets.held_out, sets.single_right)
        return dict(zip(names, found, strict=True))

    for n, share, right in itertools.product(GRID.items, GRID.shares[1:3], GRID.right[1:2]):
        known: dict[str, list[float]] = {name: [] for name in names}
        for seed in range(100):
            for name, one in draw(n, share, right, np.random.default_rng([1, seed])).items():
                if one.value is not None:
                    known[name].append(one.value)
        truth = {name: float(np.mean(values)) for name, values in known.items()}
        yield Cell(f"MET {share}, right {right}", n, truth, partial(draw, n, share, right))


def ordered() -> Iterator[Cell]:
    """Ordered options as labels."""

    names: tuple[str, ...] = (
        "linear_kappa",
        "quadratic_kappa",
        "linear_ac2",
        "quadratic_ac2",
        "krippendorff_alpha",
    )

    def figures(pair: np.ndarray, kinds: int, bootstrap: Bootstrap | None) -> Found:
        judge, human = ([str(step) for step in side] for side in (pair % kinds, pair // kinds))
        steps_in_order = [str(step) for step in range(kinds)]
        found = label_agreement(
            judge, human, labels=steps_in_order, ordered=True, bootstrap=bootstrap
        ).figures
        return {f"{name} of ordered options": found[name] for name in names}

    def draw(n: int, joint: np.ndarray, chance: np.random.Generator) -> Found:
        return figures(chance.choice(joint.size, n, p=joint.ravel()), len(joint), DRAWS)

    for n, steps, right in itertools.product(GRID.items, GRID.steps, GRID.right):
        joint = np.array(steps)[:, None] * noisy(right, len(steps))
        counts = np.round(joint.ravel() * 20_000).astype(int)
        truth = figures(np.repeat(np.arange(joint.size), counts), len(steps), None)
        values = {name: float(one.value or 0.0) for name, one in truth.items()}
        name = f"steps {steps}, right {right}"
        yield Cell(name, n, values, partial(draw, n, joint))


HEAVY = {"": 1.0, ", one weight of 10": 10.0}
"""The weight of the first criterion; the others have 1."""


def shares_of(criteria: int, heavy: float) -> np.ndarray:
    """Return the share of each criterion in a score."""
    weights = np.array([heavy] + [1.0] * (criteria - 1))
    return np.asarray(weights / weights.sum())


def flipped(
    items: int, shares: np.ndarray, flips: float, lost: float, chance: np.random.Generator
) -> list[float]:
    """Draw how much the score of each item changed: some verdicts flip, some of these to UNMET."""
    flip = chance.random((items, len(shares))) < flips
    down = chance.random((items, len(shares))) < lost
    changed: list[float] = (flip * np.where(down, -1.0, 1.0) @ shares).tolist()
    return changed


def differences() -> Iterator[Cell]:
    """B minus A, as in `compare_paired`."""

    def draw(
        title: str,
        shares: np.ndarray,
        of: tuple[int, float, float],
        chance: np.random.Generator,
    ) -> Found:
        n, flips, lost = of
        changed = flipped(n, shares, flips, lost, chance)
        return {title: clustered_mean(changed, bounds=(-1.0, 1.0), reach=shares[0]).mean}

    for heavy, criteria in itertools.product(HEAVY, GRID.criteria):
        title, shares = f"difference of two runs{heavy}", shares_of(criteria, HEAVY[heavy])
        for n, flips, lost in itertools.product(GRID.items, GRID.flips, GRID.lost):
            name = f"{criteria} criteria, {flips} flip, {lost} of them to UNMET"
            truth = {title: flips * (1 - 2 * lost)}
            yield Cell(name, n, truth, partial(draw, title, shares, (n, flips, lost)))


def scores() -> Iterator[Cell]:
    """The mean score of items: over some criteria, or from one answer from 1 to 5."""

    def met(
        title: str, n: int, shares: np.ndarray, share: float, chance: np.random.Generator
    ) -> Found:
        found = np.minimum(1.0, (chance.random((n, len(shares))) < share) @ shares)
        return {title: mean_of_scores(found.tolist(), reach=shares[0])}

    def rated(n: int, steps: tuple[float, ...], chance: np.random.Generator) -> Found:
        found = chance.choice(len(steps), n, p=steps) / (len(steps) - 1)
        return {"mean score": mean_of_scores(found.tolist())}

    for heavy, criteria in itertools.product(HEAVY, GRID.criteria):
        title, shares = f"mean score{heavy}", shares_of(criteria, HEAVY[heavy])
        for n, share in itertools.product(GRID.items, GRID.shares):
            name = f"{criteria} criteria, MET {share}"
            yield Cell(name, n, {title: share}, partial(met, title, n, shares, share))
    for n, steps in itertools.product(GRID.items, GRID.steps):
        mean = float(np.array(steps) @ np.linspace(0, 1, len(steps)))
        yield Cell(f"steps {steps}", n, {"mean score": mean}, partial(rated, n, steps))


def raters() -> Iterator[Cell]:
    """Numbers from a sample of raters: intraclass correlations, and the share due to judges."""

    def draw(n: int, k: int, items: float, between: float, chance: np.random.Generator) -> Found:
        rated = items * chance.normal(size=(n, 1)) + between * chance.normal(size=(1, k))
        rated = rated + chance.normal(size=(n, k))
        found = intraclass_correlation(rated.tolist(), bootstrap=DRAWS)
        shares = variance_components(rated[:, :, None].tolist(), bootstrap=DRAWS).shares
        return {
            **{name: found[name] for name in ("icc_2_1", "icc_2_k", "icc_3_1")},
            "share of items": shares["item"],
            "share of judges": shares["judge"],
        }

    for n, k, (items, between) in itertools.product(GRID.items, GRID.raters, GRID.apart):
        whole = items**2 + between**2 + 1
        truth = {
            "icc_2_1": items**2 / whole,
            "icc_2_k": items**2 / (items**2 + (between**2 + 1) / k),
            "icc_3_1": items**2 / (items**2 + 1),
            "share of items": items**2 / whole,
            "share of judges": between**2 / whole,
        }
        name = f"{k} raters, items {items} and raters {between} apart"
        yield Cell(name, n, truth, partial(draw, n, k, items, between))


def group_sizes(n: int, layout: str) -> np.ndarray:
    """Return the group of each of n answers: about 4 each; 1 up to a fifth of all in one group; or
    5 to 30 groups, each a fifth smaller than the one before."""
    groups = max(3, n // 4)
    if layout == "equal":
        return np.arange(n) % groups
    if layout == "geometric":
        groups = min(30, max(5, groups))
        shares = 0.8 ** np.arange(groups)
        bounds = np.cumsum(1 + (n - groups) * shares / shares.sum())
        return np.searchsorted(bounds, np.arange(n) + 0.5)
    sizes = np.minimum(1 / np.arange(1, groups + 1) ** 0.7, 1.0)
    bounds = np.cumsum(sizes / sizes.sum())
    return np.searchsorted(bounds, (np.arange(n) + 0.5) / n)


def alike(group: np.ndarray | None, draws: np.ndarray, chance: np.random.Generator) -> np.ndarray:
    """Replace a third of the draws by the first of their group."""
    if group is None:
        return draws
    first = np.unique(group, return_index=True)[1][group]
    return np.where(chance.random(len(draws)) < GRID.alike, draws[first], draws)


def table_of(share: float, missed: float, alarms: float) -> np.ndarray:
    """Return the shares of UNMET and MET (people's in rows, the judge's in columns)."""
    return np.array(
        [[(1 - share) * (1 - alarms), (1 - share) * alarms], [share * missed, share * (1 - missed)]]
    )


def labels(grouped: bool) -> Iterator[Cell]:
    """Yes and no on one criterion, and the probabilities of a judge."""

    def draw(
        n: int, of: tuple[float, float, float], layout: str | None, chance: np.random.Generator
    ) -> Found:
        share, missed, alarms = of
        group = None if layout is None else group_sizes(n, layout)
        truth = alike(group, chance.random(n), chance) < share
        wrong = np.where(truth, missed, alarms)
        says = truth ^ (alike(group, chance.random(n), chance) < wrong)
        apart = shift_of(1 - share * missed - (1 - share) * alarms)
        scores = alike(group, chance.normal(size=n), chance) + truth * apart
        groups = None if group is None else group.tolist()
        found = label_agreement(
            np.where(says, "MET", "UNMET").tolist(),
            np.where(truth, "MET", "UNMET").tolist(),
            labels=["UNMET", "MET"],
            groups=groups,
            bootstrap=DRAWS,
        )
        names: tuple[str, ...] = ("accuracy", "balanced_accuracy", "macro_f1")
        names += ("cohen_kappa", "gwet_ac1")
        figures = {name: found.figures[name] for name in (*names, "krippendorff_alpha", "matthews")}
        figures |= {name: found.by_label["MET"][name] for name in OF_MET}
        figures["auc"] = roc_auc(scores.tolist(), truth.tolist(), groups=groups)
        return {f"{name}, by groups" if grouped else name: one for name, one in figures.items()}

    for n, (name, *of), layout in itertools.product(
        GRID.items, judges(GRID.sides), GRID.layouts if grouped else (None,)
    ):
        share, missed, alarms = of
        table = table_of(*of)
        right = float(np.trace(table))
        whole = table[None] * 1e9
        f1 = 2 * np.diagonal(table) / (table.sum(0) + table.sum(1))
        truth = {
            "accuracy": right,
            "balanced_accuracy": 1 - (missed + alarms) / 2,
            "recall": 1 - missed,
            "precision": float(table[1, 1] / table[:, 1].sum()),
            "false_positive_rate": alarms,
            "macro_f1": float(f1.mean()),
            "cohen_kappa": float(_confusion.cohen_kappa(whole)[0]),
            "gwet_ac1": float(_confusion.gwet_ac(whole)[0]),
            "krippendorff_alpha": float(
                _confusion.krippendorff_alpha(whole + np.swapaxes(whole, 1, 2))[0]
            ),
            "matthews": float(_confusion.matthews(whole)[0]),
            "f1": float(f1[1]),
            "auc": float(special.ndtr(shift_of(right) / np.sqrt(2))),
        }
        if grouped:
            truth = {f"{name}, by groups": one for name, one in truth.items()}
        where = f"{name}, groups {layout}"
        yield Cell(where, n, truth, partial(draw, n, (share, missed, alarms), layout))


def together() -> Iterator[Cell]:
    """Yes and no on several criteria: the row for all of them."""

    def draw(n: int, criteria: int, of: tuple[float, ...], chance: np.random.Generator) -> Found:
        share, missed, alarms = of
        truth = chance.random((n, criteria)) < share
        says = truth ^ (chance.random((n, criteria)) < np.where(truth, missed, alarms))
        found = stratified_agreement(
            np.where(says, "MET", "UNMET").ravel().tolist(),
            np.where(truth, "MET", "UNMET").ravel().tolist(),
            np.tile(np.arange(criteria), n).tolist(),
            groups=np.repeat(np.arange(n), criteria).tolist(),
            bootstrap=DRAWS,
        )
        return {"stratified kappa": found.kappa, "accuracy of all criteria": found.accuracy}

    for n, criteria, (name, *of) in itertools.product(
        GRID.items, GRID.criteria, judges(GRID.sides)
    ):
        if n * criteria > MOST_PAIRS:
            continue
        table = table_of(*of)
        kappa = float(_confusion.cohen_kappa(table[None] * 1e9)[0])
        truth = {"stratified kappa": kappa, "accuracy of all criteria": float(np.trace(table))}
        yield Cell(f"{criteria} criteria, {name}", n, truth, partial(draw, n, criteria, tuple(of)))


def several() -> Iterator[Cell]:
    """Yes and no, and answers from 1 to 5, from three raters with the same accuracy."""

    def yes_or_no(n: int, of: tuple[float, ...], chance: np.random.Generator) -> Found:
        share, missed, alarms = of
        truth = chance.random((n, 1)) < share
        wrong = chance.random((n, 3)) < np.where(truth, missed, alarms)
        rated = (truth ^ wrong).astype(int).tolist()
        return {
            "fleiss_kappa": fleiss_kappa(rated, bootstrap=DRAWS),
            "alpha of three raters": krippendorff_alpha(rated, bootstrap=DRAWS),
            "gwet_ac of three raters": gwet_ac(rated, labels=[0, 1], bootstrap=DRAWS),
        }

    for n, (name, *of) in itertools.product(GRID.items, judges(GRID.sides)):
        share, missed, alarms = of
        rated = share * (1 - missed) + (1 - share) * alarms
        apart = share * missed * (1 - missed) + (1 - share) * alarms * (1 - alarms)
        gwet = 2 * rated * (1 - rated)
        kappa = 1 - apart / (rated * (1 - rated))
        truth = dict.fromkeys(("fleiss_kappa", "alpha of three raters"), kappa)
        truth["gwet_ac of three raters"] = 1 - 2 * apart / (1 - gwet)
        yield Cell(name, n, truth, partial(yes_or_no, n, tuple(of)))


def noisy(right: float, kinds: int) -> np.ndarray:
    """Return how often a step of a scale is answered for another: right, one off, or any."""
    place = np.arange(kinds)
    near = (abs(place[:, None] - place) == 1).astype(float)
    near /= near.sum(1, keepdims=True)
    wrong = GRID.near * near + (1 - GRID.near) / kinds
    return np.asarray(right * np.eye(kinds) + (1 - right) * wrong)


def scales(of_three: bool) -> Iterator[Cell]:
    """Steps of a scale, by a judge and people, or by three raters."""

    def two(n: int, joint: np.ndarray, layout: str | None, chance: np.random.Generator) -> Found:
        pair = chance.choice(joint.size, n, p=joint.ravel())
        group = None if layout is None else group_sizes(n, layout)
        pair = alike(group, pair, chance)
        human, judge = pair // len(joint) + 1.0, pair % len(joint) + 1.0
        found = score_agreement(
            judge.tolist(),
            human.tolist(),
            scale=True,
            groups=None if group is None else group.tolist(),
            bootstrap=DRAWS,
        ).figures
        return {f"{name}, scale": found[name] for name in SCALE_FIGURES}

    def three(n: int, steps: Sequence[float], right: float, chance: np.random.Generator) -> Found:
        truth = chance.choice(len(steps), n, p=steps)
        edges = noisy(right, len(steps)).cumsum(1)
        rated = (chance.random((n, 3, 1)) > edges[truth][:, None, :]).sum(2)
        found = intraclass_correlation(rated.tolist(), bootstrap=DRAWS)
        figures = {f"{name} of three raters, scale": found[name] for name in ICC}
        alpha = krippendorff_alpha(rated.tolist(), level="interval", bootstrap=DRAWS)
        ordinal = krippendorff_alpha(rated.tolist(), level="ordinal", bootstrap=DRAWS)
        return figures | {"alpha of three raters, scale": alpha, ORDINAL: ordinal}

    for n, steps, right in itertools.product(GRID.items, GRID.steps, GRID.right):
        name = f"steps {steps}, right {right}"
        errors = noisy(right, len(steps))
        if of_three:
            pairs = np.einsum("t,ta,tb->ab", steps, errors, errors)
            truth = {f"{one} of three raters, scale": _correlation(pairs) for one in ICC[:1]}
            one = _correlation(pairs)
            for kind in ICC:
                value = one if kind.endswith("1") else 3 * one / (1 + 2 * one)
                truth[f"{kind} of three raters, scale"] = value
            truth["alpha of three raters, scale"] = one
            truth[ORDINAL] = float(
                _confusion.krippendorff_alpha(pairs[None] * 1e9, ordered=True)[0]
            )
            yield Cell(name, n, truth, partial(three, n, steps, right))
            continue
        truth = {f"{name}, scale": one for name, one in of_scale(steps, right).items()}
        for layout in (None, GRID.layouts[-1]):
            where = f"{name}, groups {layout}"
            joint = np.array(steps)[:, None] * errors
            yield Cell(where, n, truth, partial(two, n, joint, layout))


def _correlation(joint: np.ndarray) -> float:
    place = np.arange(len(joint))
    x, y = joint.sum(1) @ place, joint.sum(0) @ place
    apart = (joint * np.outer(place - x, place - y)).sum()
    squares = joint.sum(1) @ (place - x) ** 2 * (joint.sum(0) @ (place - y) ** 2)
    return float(apart / np.sqrt(squares))


@cache
def of_scale(steps: tuple[float, ...], right: float) -> dict[str, float]:
    """Return the true figures: those of enough pairs to make the shares integers."""
    kinds = len(steps)
    joint = np.array(steps)[:, None] * noisy(right, kinds)
    counts = np.round(joint.ravel() * 20_000).astype(int)
    pair = np.repeat(np.arange(joint.size), counts)
    found = score_agreement(
        (pair % kinds).tolist(), (pair // kinds).tolist(), scale=True, bootstrap=None
    ).figures
    return {name: float(found[name].value or 0.0) for name in SCALE_FIGURES}


def probabilities() -> Iterator[Cell]:
    """The Brier score of calibrated and of overconfident probabilities."""

    def chances(
        n: int, shape: tuple[float, float], sure: float, chance: np.random.Generator
    ) -> tuple[np.ndarray, np.ndarray]:
        odds = shape[0] + shape[1] * chance.normal(size=n)
        return special.expit(odds), special.expit(sure * odds)

    def draw(n: int, shape: tuple[float, float], sure: float, chance: np.random.Generator) -> Found:
        right, says = chances(n, shape, sure, chance)
        truth = chance.random(n) < right
        return {"brier": calibration(says.tolist(), truth.tolist(), bootstrap=DRAWS).brier}

    for n, middle, spread, sure in itertools.product(
        GRID.items, GRID.odds, GRID.spreads, GRID.sure
    ):
        shape = (middle, spread)
        right, says = chances(200_000, shape, sure, np.random.default_rng(SEED))
        brier = float((right * (1 - says) ** 2 + (1 - right) * says**2).mean())
        name = f"log-odds {middle} by {spread}, sure {sure}"
        yield Cell(name, n, {"brier": brier}, partial(draw, n, shape, sure))


def numbers() -> Iterator[Cell]:
    """Correlations and mean errors of normal numbers from a judge and people."""

    figures = "pearson spearman kendall_tau_b mae rmse bias icc_2_1 icc_3_1 krippendorff_alpha"
    names = figures.split()

    def draw(
        n: int, judge: float, kind: str, layout: str | None, chance: np.random.Generator
    ) -> Found:
        group = None if layout is None else group_sizes(n, layout)
        at = alike(group, np.arange(n), chance)
        people = chance.normal(size=n)
        says = judge * people + np.sqrt(1 - judge**2) * chance.normal(size=n)
        figures = score_agreement(
            says[at].tolist(),
            people[at].tolist(),
            groups=None if group is None else group.tolist(),
            bootstrap=DRAWS,
        ).figures
        return {f"{name}, {kind}": figures[name] for name in names}

    for n, judge, layout in itertools.product(GRID.items, GRID.correlations, (None, *GRID.layouts)):
        spread = np.sqrt(2 - 2 * judge)
        truth = dict.fromkeys(names, judge) | {
            "spearman": 6 / np.pi * np.arcsin(judge / 2),
            "kendall_tau_b": 2 / np.pi * np.arcsin(judge),
            "mae": spread * np.sqrt(2 / np.pi),
            "rmse": spread,
            "bias": 0.0,
        }
        kind = "numbers" if layout is None else "numbers by groups"
        named = {f"{name}, {kind}": float(value) for name, value in truth.items()}
        name = f"correlation {judge}, groups {layout}"
        yield Cell(name, n, named, partial(draw, n, judge, kind, layout))


FIGURES: dict[str, Callable[[], Iterator[Cell]]] = {
    "held": held_out,
    "difference": differences,
    "score": scores,
    "strata": strata,
    "lean": lean,
    "several": several,
    "labels": partial(labels, False),
    "corrected": corrected,
    "groups": partial(labels, True),
    "numbers": numbers,
    "raters": raters,
    "probabilities": probabilities,
    "three": partial(scales, True),
    "ordered": ordered,
    "scales": partial(scales, False),
    "together": together,
}


CELLS: dict[str, list[Cell]] = {}
"""The cells of each row, created before the processes start."""


def coverage(job: tuple[str, int, int]) -> tuple[str, int, dict[str, tuple[float, float]]]:
    """Return, for each figure of a cell, the share of intervals that contain the truth, and the
    share of draws with an interval."""
    of, at, draws = job
    cell = CELLS[of][at]
    shares = _shares(cell, at, range(draws))
    if any(share < DOUBTFUL and made >= LEAST for share, made in shares.values()):
        shares = _shares(cell, at, range(draws, (1 + AGAIN) * draws))
    return cell.name, cell.items, shares


def _shares(cell: Cell, at: int, draws: range) -> dict[str, tuple[float, float]]:
    held: Counter[str] = Counter()
    made: Counter[str] = Counter()
    for draw in draws:
        found = cell.draw(np.random.default_rng([SEED, at, draw]))
        for name, one in found.items():
            if one.low is not None and one.high is not None:
                made[name] += 1
                held[name] += one.low - 1e-9 <= cell.truth[name] <= one.high + 1e-9
    count = len(draws)
    return {name: (held[name] / max(1, made[name]), made[name] / count) for name in cell.truth}


def use_grid(name: str) -> None:
    """Use the default grid, the other one, or one drawn with this seed."""
    global GRID  # noqa: PLW0603 (a script, before it begins)
    GRID = {"usual": Grid(), "other": OTHER}.get(name) or drawn_grid(int(name))


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--draws", type=int, default=500)
    options.add_argument("--only", default=",".join(FIGURES))
    options.add_argument("--cells", action="store_true")
    options.add_argument("--match", default="", help="a regular expression of cells")
    options.add_argument("--processes", type=int, default=1)
    options.add_argument("--grid", default="usual", help="usual, other, or the seed of a drawn one")
    arguments = options.parse_args()
    use_grid(arguments.grid)
    print(f"| figure | {' | '.join(f'{n} items' for n in GRID.items)} |")
    print(f"|---|{'---:|' * len(GRID.items)}")
    CELLS.update({of: list(FIGURES[of]()) for of in arguments.only.split(",")})
    start = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(arguments.processes, mp_context=start) as pool:
        for of, cells in CELLS.items():
            jobs = [
                (of, at, arguments.draws)
                for at, cell in enumerate(cells)
                if re.search(arguments.match, f"{cell.items} items, {cell.name}")
            ]
            table: dict[str, dict[int, list[float]]] = {}
            for cell, items, shares in pool.map(coverage, jobs):
                for name, (share, made) in shares.items():
                    if arguments.cells:
                        print(f"  {name}, {items} items, {cell}: {share:.3f} of {made:.2f}")
                    row = table.setdefault(name, {})
                    if made >= LEAST:
                        row.setdefault(items, []).append(100 * share)
            for name, row in table.items():
                shown = [
                    f"{min(row[n]):.1f} ({np.mean(row[n]):.1f})" if n in row else "no interval"
                    for n in GRID.items
                ]
                print(f"| {name} | {' | '.join(shown)} |", flush=True)


if __name__ == "__main__":
    main()
