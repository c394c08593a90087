"""What a number of items gives, figure by figure: by a formula, or by drawing from a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import optimize

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.agreement import labelled_pairs
from rubricate.analysis.comparison import scored_alike
from rubricate.analysis.planning._options import PlannedFigure, PlanOptions
from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    Estimate,
    clustered_mean,
    clustered_share,
    corrected_mean,
    corrected_mean_width,
    label_agreement,
    lower_end_power,
    mcnemar_power,
    mean_width,
    paired_power,
    share_width,
    stratified_agreement,
)
from rubricate.views import figure as shown

RESAMPLES = 1000
"""Draws of an interval within a simulated data set. Half as many make its ends noisier than the
data sets are; twice as many take twice as long."""
ROUNDS = 999
"""Sign patterns of a permutation test within a simulated data set: p has three digits."""
POOL = 1000
"""Items that the judge grades, where neither a run nor an option says it."""
THREE_POINTS = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Gauss-Hermite nodes and weights: the mean of a function over a normal distribution is nearly its
mean over these."""
SHARES_DIFFERING = 5
"""Shares of items that differ, between the least that is possible and all, at which the power is
computed where nothing says how many do. With the least alone, plans promised up to 5 points too
much (simulated flips of 1 to 10 criteria)."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What a number of items gives; None for what the figure does not have.

    Attributes:
        half_width: how far the interval reaches to either side, on average.
        power: the probability of reaching the goal.
        difference: the true difference that is found with the power that is wanted.
    """

    half_width: float | None = None
    power: float | None = None
    difference: float | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """One way to do it, or one thing that may be true.

    Attributes:
        name: which, in words.
        at: what a number of items gives, by a number of simulations.
        how: the formula or the simulation, in words.
        simulated: whether it is a simulation.
        in_steps: whether the power rises like the teeth of a saw, as that of exact tests does.
        labels: labels that an item takes.
        least: the least number of items.
        pool: items that are graded, where that is not those that are counted.
        assumed: what is taken for true.
    """

    name: str
    at: Callable[[int, int], Reached]
    how: str
    simulated: bool = False
    in_steps: bool = False
    labels: float = 0.0
    least: int = 2
    pool: int | None = None
    assumed: Mapping[str, float] | None = None


def designs(
    figure: PlannedFigure,
    options: PlanOptions,
    run: FinishedRun | None,
    other: FinishedRun | None,
) -> list[Design]:
    """The ways to plan for a figure, the main one first.

    Raises:
        InputError: what must be assumed is neither given nor in the run.
    """
    if figure == "mean":
        return [_mean(options, run)]
    if figure == "ppi":
        return [_ppi(options, run)]
    if figure == "comparison":
        return _comparison(options, run, other)
    return _agreement(figure, options, run)


def _needed(value: float | None, name: str, figure: str) -> float:
    if value is None:
        raise InputError(
            f"a plan for {figure} without a run needs --{name} (what is taken for true), or a run "
            "to go by"
        )
    return value


def simulated_intervals(
    draw: Callable[[np.random.Generator], Estimate], count: int, seed: int | Sequence[int]
) -> list[tuple[float, float]]:
    """The ends of the intervals of simulated data sets, where there is an interval.

    Args:
        draw: makes a data set and gives its figure.
        count: how many data sets are made.
        seed: of the random numbers.
    """
    generator = np.random.default_rng(seed)
    figures = [draw(generator) for _ in range(count)]
    return [(one.low, one.high) for one in figures if one.low is not None and one.high is not None]


def _simulated(
    name: str,
    draw: Callable[[int, np.random.Generator], Estimate],
    options: PlanOptions,
    source: str,
    **design: Any,
) -> Design:
    """What the intervals of simulated data sets come to; `draw` makes one of a number of items."""

    @cache
    def at(n: int, simulations: int) -> Reached:
        intervals = simulated_intervals(partial(draw, n), simulations, [options.seed, n])
        if len(intervals) < 0.5 * simulations:
            return Reached(power=0.0 if options.at_least is not None else None)
        half_width = math.fsum(high - low for low, high in intervals) / (2 * len(intervals))
        if options.at_least is None:
            return Reached(half_width)
        reached = sum(low >= options.at_least for low, _ in intervals)
        return Reached(half_width, reached / simulations)

    how = f"simulation: data sets drawn from {source}, each with its interval"
    return Design(name, at, how, simulated=True, **design)


def _drawn(
    name: str,
    measure: Callable[[list[int], list[int]], Estimate],
    options: PlanOptions,
    units: Sequence[Any],
    items: int,
    source: str,
    **design: Any,
) -> Design:
    """Data sets of a run's rows, drawn by whole units (items, or groups) with replacement.

    Args:
        measure: the figure of some rows, by their places and the numbers of their units.
        units: the unit of each row.
        items: how many items there are in all.
        source: what is drawn from, in words.
    """
    places: dict[Any, list[int]] = {}
    for place, unit in enumerate(units):
        places.setdefault(unit, []).append(place)
    of_units = list(places.values())

    def draw(n: int, generator: np.random.Generator) -> Estimate:
        count = max(2, round(n * len(of_units) / items))
        chosen = [of_units[at] for at in generator.integers(0, len(of_units), count)]
        numbers = [number for number, rows in enumerate(chosen) for _ in rows]
        return measure([place for rows in chosen for place in rows], numbers)

    return _simulated(name, draw, options, source, **design)


# Agreement of a judge with people


def _agreement(
    figure: PlannedFigure, options: PlanOptions, run: FinishedRun | None
) -> list[Design]:
    if run is None:
        value = _needed(options.value, "value", figure)
        share = 0.5 if options.share is None else options.share
        if figure == "kappa":
            return [_kappa_of_table(options, value, share)]
        part = {"accuracy": 1.0, "sensitivity": share, "specificity": 1 - share}[figure]
        return [_share(figure, options, value, part, f"{figure} {shown(value)}")]
    pairs = labelled_pairs(run, options.criterion)
    strata = {pair.stratum: number for number, pair in enumerate(pairs)}
    kept, part = pairs, 1.0
    if figure in ("sensitivity", "specificity"):
        label = "MET" if figure == "sensitivity" else "UNMET"
        if len(strata) > 1 or not {pair.human for pair in pairs} <= {"MET", "UNMET"}:
            raise InputError(
                f"{figure} is of one binary criterion: name it with --criterion", file=run.path
            )
        kept = [pair for pair in pairs if pair.human == label]
        part = len(kept) / len(pairs)
        if not kept:
            raise InputError(f"no label of this run says {label}", file=run.path)
    if len(strata) == 1 and figure != "kappa" and options.groups is None:
        found = clustered_share([pair.equal for pair in kept], confidence=options.confidence)
        values = {"the run's": found.value, "its low end": found.low, "its high end": found.high}
        return [
            _share(figure, options, value, part, f"{figure} {shown(value)} ({which})")
            for which, value in values.items()
            if value is not None
        ]
    judge, human = [pair.judge for pair in kept], [pair.human for pair in kept]
    equal, of = [pair.equal for pair in kept], [strata[pair.stratum] for pair in kept]
    items = len({pair.item for pair in pairs})
    group_of = run.groups_by(options.groups)
    grouped = len({group_of[pair.item] for pair in pairs}) < len(pairs)
    bootstrap = Bootstrap(RESAMPLES, options.confidence)

    def measure(places: list[int], numbers: list[int]) -> Estimate:
        groups = numbers if grouped else None
        if figure != "kappa":
            outcomes = [equal[at] for at in places]
            return clustered_share(outcomes, groups=numbers, confidence=options.confidence)
        one, other = [judge[at] for at in places], [human[at] for at in places]
        if len(strata) == 1 and isinstance(judge[0], str):
            agreed = label_agreement(one, other, groups=groups, bootstrap=bootstrap)  # type: ignore[arg-type]
            return agreed.figures["cohen_kappa"]
        kinds = [of[at] for at in places]
        return stratified_agreement(one, other, kinds, groups=groups, bootstrap=bootstrap).kappa

    of_what = "the criterion" if len(strata) == 1 else f"{len(strata)} criteria together"
    return [
        _drawn(
            f"{figure}, {options.criterion or of_what}",
            measure,
            options,
            [group_of[pair.item] for pair in kept],
            items,
            f"the run's {len(pairs)} pairs of {items} items",
            labels=len(pairs) / items,
        )
    ]


def _share(figure: str, options: PlanOptions, value: float, part: float, name: str) -> Design:
    """A share of outcomes of which only a part of the items has one."""

    def at(n: int, _: int) -> Reached:
        counts = [(n, 1.0)]
        if part < 1:
            middle, spread = n * part, math.sqrt(n * part * (1 - part))
            counts = [(max(1, round(middle + z * spread)), weight) for z, weight in THREE_POINTS]
        level = options.confidence
        width = math.fsum(
            weight * share_width(count, value, confidence=level) for count, weight in counts
        )
        if options.at_least is None:
            return Reached(width)
        lowest = options.at_least
        return Reached(
            width,
            math.fsum(
                weight * lower_end_power(count, value, lowest, confidence=level)
                for count, weight in counts
            ),
        )

    return Design(
        name,
        at,
        "closed form: Wilson's interval (1927) over the binomial distribution",
        in_steps=options.at_least is not None,
        labels=1.0,
        assumed={figure: value, **({} if part == 1 else {"share of items": part})},
    )


def _kappa_of_table(options: PlanOptions, kappa: float, share: float) -> Design:
    """Kappa of two who say MET equally often."""
    apart = (1 - kappa) * share * (1 - share)
    cells = np.array([share - apart, apart, apart, 1 - share - apart])
    if min(cells) < 0:
        raise InputError(f"kappa {kappa:g} cannot be at a share of {share:g}")
    bootstrap = Bootstrap(RESAMPLES, options.confidence)

    def draw(n: int, generator: np.random.Generator) -> Estimate:
        counts = generator.multinomial(n, cells)
        one = np.repeat(["MET", "MET", "UNMET", "UNMET"], counts).tolist()
        other = np.repeat(["MET", "UNMET", "MET", "UNMET"], counts).tolist()
        return label_agreement(one, other, bootstrap=bootstrap).figures["cohen_kappa"]

    return _simulated(
        f"kappa {shown(kappa)}",
        draw,
        options,
        "pairs of two who say MET equally often",
        labels=1.0,
        assumed={"kappa": kappa, "share of MET": share},
    )


# Means


def _values(run: FinishedRun, criterion: str | None) -> dict[str, float]:
    """Each item's score, or its value of a criterion."""
    if criterion is None:
        scores = run.item_scores
    else:
        scores = {row.item: row.value for row in run.rows if row.criterion == criterion}
        if not scores:
            raise InputError(f"the run has no criterion '{criterion}'", file=run.path)
    known = {item: value for item, value in scores.items() if value is not None}
    if len(known) < 2:
        raise InputError("a plan needs a run of two scored items or more", file=run.path)
    return known


def _mean(options: PlanOptions, run: FinishedRun | None) -> Design:
    if run is None:
        spread = _needed(options.spread, "spread", "mean")
        name = f"spread {shown(spread)}"
    else:
        of_items = _values(run, options.criterion)
        values = list(of_items.values())
        if options.groups is not None:
            group_of = run.groups_by(options.groups)

            def measure(places: list[int], groups: list[int]) -> Estimate:
                drawn = [values[at] for at in places]
                return clustered_mean(drawn, groups=groups, confidence=options.confidence).mean

            units = [group_of[item] for item in of_items]
            name, source = f"mean, by {options.groups}", f"the run's {len(values)} items"
            return _drawn(name, measure, options, units, len(values), source)
        spread = float(np.std(values, ddof=1))
        if spread == 0:
            raise InputError(
                "all items of this run have the same score: there is no spread to go by"
            )
        name = f"as in the run, spread {shown(spread)}"
    return Design(
        name,
        lambda n, _: Reached(mean_width(n, spread, confidence=options.confidence)),
        "closed form: the t interval of a mean",
        assumed={"spread": spread},
    )


def _ppi(options: PlanOptions, run: FinishedRun | None) -> Design:
    if options.groups is not None:
        raise InputError("groups: the formula for ppi takes items as independent; leave it out")
    labels, seen = 1.0, None
    known: float | None
    if run is None:
        accuracy = _needed(options.value, "value", "ppi")
        known = 0.5 if options.share is None else options.share
        both_ways = 2 * known * (1 - known)
        spread, correlation = math.sqrt(both_ways / 2), 1 - (1 - accuracy) / both_ways
        if correlation < -1:
            raise InputError(f"accuracy {accuracy:g} cannot be at a share of {known:g}")
        moments = {"spread": spread, "judge_spread": spread, "correlation": correlation}
        pool, name = options.pool or POOL, f"accuracy {shown(accuracy)}"
        assumed = {"accuracy": accuracy, "share of MET": known}
    else:
        judge = _values(run, options.criterion)
        human = run.human_scores
        if options.criterion is not None:
            of_criterion = [row for row in run.rows if row.criterion == options.criterion]
            human = {row.item: row.human_value for row in of_criterion}
        both = [
            (judge[item], value)
            for item, value in human.items()
            if value is not None and item in judge
        ]
        if len(both) < 3:
            raise InputError(
                "a plan for ppi needs labels on three items or more of the run", file=run.path
            )
        f, y = (np.array(side) for side in zip(*both, strict=True))
        every = np.array([*judge.values()])
        if not (y.std() > 0 and every.std() > 0 and f.std() > 0):
            raise InputError("the run's labels, or its scores, are all the same", file=run.path)
        pool, name = options.pool or len(judge), "the run's judge"
        if options.criterion is None:
            labels = sum(human[row.item] is not None for row in run.rows) / len(both)
        moments = {
            "spread": float(y.std(ddof=1)),
            "judge_spread": float(every.std(ddof=1)),
            "correlation": float(np.corrcoef(f, y)[0, 1]),
        }
        binary = bool(np.isin(np.concatenate([every, y]), (0.0, 1.0)).all())
        known, seen = (float(y.mean()), len(both)) if binary else (None, None)
        if not binary and not corrected_mean([*f, *every], [*y, *[None] * len(every)]).tuning:
            moments["correlation"] = 0.0  # too few errors were seen to say how rare they are
        assumed = dict(moments)

    def at(n: int, _: int) -> Reached:
        if n > pool:
            return Reached()
        level = options.confidence
        return Reached(
            corrected_mean_width(n, pool - n, share=known, seen=seen, confidence=level, **moments)
        )

    how = "closed form: the variance of PPI++ (Angelopoulos et al. 2023)"
    name = f"{name}, {pool} items graded"
    return Design(name, at, how, labels=labels, pool=pool, assumed=assumed)


# A comparison of two runs


def _comparison(
    options: PlanOptions, run: FinishedRun | None, other: FinishedRun | None
) -> list[Design]:
    if run is not None:
        if other is None:
            raise InputError(
                "a plan for a comparison goes by two runs of the same items; or without a run by "
                "--spread or --differing"
            )
        return [_comparison_of(options, *_differences(run, other, options))]
    spread, differing = options.spread, options.differing
    if differing is None:
        spread = _needed(spread, "spread", "a comparison")
    if differing is not None and abs(options.difference or 0.0) > differing:
        raise InputError(
            f"a difference of {options.difference:g} cannot be where {differing:g} of the items "
            "differ"
        )
    made = []
    if spread is not None:
        few = "" if differing is None else f", {shown(differing)} differ"
        made.append(
            Design(
                f"permutation test, spread {shown(spread)}{few}",
                _power(options, partial(_by_permutation, options, spread), 1.0),
                "closed form: noncentral t or the sign test, the lower of both"
                + ("" if few else ", however many items differ"),
                assumed={"spread": spread},
            )
        )
    if differing is not None:

        def by_mcnemar(n: int, difference: float, differing: float = differing) -> float:
            return mcnemar_power(n, difference, differing, significance=options.significance)

        made.append(
            Design(
                f"McNemar's test, {shown(differing)} differ",
                _power(options, by_mcnemar, differing),
                "closed form: the exact test of McNemar",
                in_steps=True,
                assumed={"differing": differing},
            )
        )
    return made


def _by_permutation(options: PlanOptions, spread: float, n: int, difference: float) -> float:
    """The power where a share of the items differs, or as many more as scores from 0 to 1 take;
    the least power where nothing says how many do."""
    together = spread**2 + difference**2
    least = max(together, 1.001 * difference**2 / together)
    shares = [options.differing]
    if options.differing is None:
        shares = np.geomspace(min(1.0, least), 1.0, SHARES_DIFFERING).tolist()
    return min(
        paired_power(
            n,
            difference,
            spread,
            significance=options.significance,
            differing=min(1.0, max(share or 0.0, least)),
        )
        for share in shares
    )


def _power(
    options: PlanOptions, power: Callable[[int, float], float], most: float
) -> Callable[[int, int], Reached]:
    """The power for the difference that is wanted, or the difference that is found with one."""

    def at(n: int, _: int) -> Reached:
        if options.difference is not None:
            return Reached(power=power(n, options.difference))
        return Reached(difference=_where(partial(power, n), most, options.power))

    return at


def _where(power: Callable[[float], float], most: float, wanted: float) -> float | None:
    """The least difference of this power; None where even the most has less."""
    if power(most) < wanted:
        return None
    low, high = 0.0, most
    while high - low > 0.002 * most:
        middle = (low + high) / 2
        low, high = (low, middle) if power(middle) >= wanted else (middle, high)
    return high


def _comparison_of(
    options: PlanOptions, differences: Sequence[float], units: Sequence[Any]
) -> Design:
    """The permutation test on differences like those of two runs.

    Where the truth is another difference than theirs, each is drawn the more often the more it is
    like that one: exponential tilting (Efron 1981) of the differences and their opposites. So
    there are no other sizes than theirs, and ties as in them.
    """
    _, index = np.unique(np.array([str(unit) for unit in units]), return_inverse=True)
    sums, sizes = np.bincount(index, differences), np.bincount(index).astype(float)
    both, size = np.concatenate([sums, -sums]), np.concatenate([sizes, sizes])
    most = float((np.abs(sums) / sizes).max())
    if most == 0:
        raise InputError("these runs do not differ on any item: there is nothing to go by")
    wanted = options.difference
    if wanted is not None and abs(wanted) >= most:
        raise InputError(
            f"a difference of {wanted:g} cannot be with differences like these runs', of which the "
            f"largest is {most:.3g}"
        )
    scale = float(np.abs(both).max())

    def tilted(theta: float) -> np.ndarray:
        weights = np.exp(theta * (both / scale) - abs(theta))
        return np.asarray(weights / weights.sum())

    @cache
    def power(n: int, difference: float, simulations: int) -> float:
        def above(theta: float) -> float:
            shares = tilted(theta)
            return float(shares @ both) - abs(difference) * float(shares @ size)

        high = 1.0  # the opposites are among them: a fall is as likely to be found as a rise
        while above(high) < 0 and high < 1e3:
            high *= 2
        theta = float(optimize.brentq(above, 0.0, high)) if above(0.0) * above(high) < 0 else high
        count = max(2, round(n * len(sums) / len(differences)))
        generator = np.random.default_rng([options.seed, n])
        drawn = both[generator.choice(len(both), (simulations, count), p=tilted(theta))]
        signs = generator.choice(np.array([-1.0, 1.0]), (count, ROUNDS))
        observed = np.abs(drawn.sum(1)) - 1e-10 * np.abs(drawn).sum(1)
        reached = (np.abs(drawn @ signs) >= observed[:, None]).sum(1)
        return float(((reached + 1) / (ROUNDS + 1) < options.significance).mean())

    def at(n: int, simulations: int) -> Reached:
        if wanted is not None:
            return Reached(power=power(n, wanted, simulations))
        few = max(100, simulations // 4)
        return Reached(difference=_where(lambda d: power(n, d, few), 0.999 * most, options.power))

    differ = float((np.array(differences) != 0).mean())
    return Design(
        "permutation test, differences like these runs'",
        at,
        f"simulation: draws of the runs' {len(differences)} differences, of either sign, each data "
        "set with its permutation test",
        simulated=True,
        least=max(2, math.ceil(2 * len(differences) / len(sums))),
        assumed={"spread": float(np.std(differences)), "items that differ": differ},
    )


def _differences(
    run: FinishedRun, other: FinishedRun, options: PlanOptions
) -> tuple[list[float], list[Any]]:
    """B minus A, item by item, and what each item belongs to."""
    alike = scored_alike(run, other)
    both = alike.scores if options.criterion is None else alike.values(options.criterion)
    if len(both) < 3:
        raise InputError(
            "a plan for a comparison needs three items or more that both runs scored",
            file=other.path,
        )
    group_of = other.groups_by(options.groups)
    return [b - a for a, b in both.values()], [group_of[item] for item in both]
