"""What N items achieve for each figure, by a formula or by simulation from a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

import numpy as np
from scipy import optimize

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.agreement import FEW, Pair, labelled_pairs
from rubricate.analysis.comparison import scored_alike
from rubricate.analysis.planning._options import MOST_ITEMS, PlannedFigure, PlanOptions
from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    Estimate,
    clustered_mean,
    clustered_share,
    corrected_mean,
    corrected_mean_width,
    label_agreement,
    likely_differing,
    lower_end_power,
    mcnemar_power,
    mean_width,
    paired_power,
    share_width,
    stratified_agreement,
)
from rubricate.views import figure as shown
from rubricate.views import percent

ROUNDS = 999
"""Sign patterns of the permutation test per simulated data set, so that p has three digits."""
POOL = 1000
"""The default number of graded items if neither a run nor an option says how many."""
MOST_SIMULATED = 20_000
"""The maximum number of items for simulations; one data set of that size takes seconds."""
SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Shares of items that differ. The lowest power over these shares holds for any share. With only
the smallest possible share, plans promised up to 5 points too much (simulated flips of 1 to 10
criteria)."""
PRECISE, LEAST_SIMULATED = 0.0075, 40
"""A mean width is simulated until its relative standard error is this, with this many data sets at
least. Widths of 3,000 items then take 50 sets instead of 250. Half of it takes 4 times as many;
with twice as much, answers need 3 % more items to be as sure of the requested width."""
THREE_POINTS = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Gauss-Hermite nodes and weights for the mean of a function over a normal distribution."""


class PlanCall(PlanOptions, kw_only=False):
    """The arguments of `plan_report`."""

    figure: PlannedFigure
    run: FinishedRun | None = None
    other: FinishedRun | None = None
    on_simulation: Callable[[int], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Reached:
    """What N items achieve; None for what does not apply to the figure.

    Attributes:
        half_width: the mean half width of the interval.
        power: the probability of reaching the goal.
        difference: the true difference that a comparison detects with the requested power.
    """

    half_width: float | None = None
    power: float | None = None
    difference: float | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """One way to collect the data, or one assumption about the truth.

    Attributes:
        name: the name in the report.
        at: returns what N items achieve, from a number of simulations.
        how: the formula or the simulation, in words.
        simulated: whether it is a simulation.
        in_steps: whether the power is not monotonic, as for exact tests.
        labels: the number of labels per item.
        least: the smallest valid number of items.
        pool: the number of graded items, if not all of them are labelled.
        assumed: the assumptions, by name.
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

    @property
    def most(self) -> int:
        """The largest number of items to consider."""
        return self.pool or (MOST_SIMULATED if self.simulated else MOST_ITEMS)


def designs(options: PlanCall) -> list[Design]:
    """The designs for a figure, the main one first.

    Raises:
        InputError: an assumption is neither set nor available from the run.
    """
    if options.figure == "mean":
        return [_mean(options)]
    if options.figure == "ppi":
        return [_ppi(options)]
    if options.figure == "comparison":
        return _comparison(options)
    if options.run is not None:
        return _agreement_in_run(options, options.run)
    value, share = _assumption(options, "value"), options.share or 0.5
    if options.figure == "kappa":
        return [_kappa_of_table(options, value, share)]
    part = {"accuracy": 1.0, "sensitivity": share, "specificity": 1 - share}[options.figure]
    return [_share(options, value, part)]


def _assumption(options: PlanCall, name: str) -> float:
    value: float | None = getattr(options, name)
    if value is None:
        what = "a comparison" if options.figure == "comparison" else options.figure
        raise InputError(
            f"a plan for {what} without a run needs --{name} (an assumption), or a run that shows "
            "it"
        )
    return value


def simulated_intervals(
    draw: Callable[[np.random.Generator], Estimate],
    count: int,
    seed: int | Sequence[int],
    is_precise: Callable[[list[tuple[float, float]], int], bool] | None = None,
) -> tuple[list[tuple[float, float]], int]:
    """The intervals of simulated data sets that have one, and the number of data sets.

    Args:
        draw: simulates a data set and estimates its figure.
        count: the largest number of data sets.
        seed: the random seed.
        is_precise: whether these intervals, of this number of data sets, suffice. Default: never.
    """
    generator = np.random.default_rng(seed)
    intervals: list[tuple[float, float]] = []
    for drawn in range(1, count + 1):
        estimate = draw(generator)
        if estimate.low is not None and estimate.high is not None:
            intervals.append((estimate.low, estimate.high))
        if is_precise is not None and drawn >= LEAST_SIMULATED and is_precise(intervals, drawn):
            return intervals, drawn
    return intervals, count


def _is_width_precise(intervals: list[tuple[float, float]], _: int) -> bool:
    if len(intervals) < LEAST_SIMULATED:
        return False
    widths = np.diff(intervals)
    return bool(widths.std(ddof=1) <= PRECISE * widths.mean() * math.sqrt(len(widths)))


def _simulated(
    name: str,
    draw: Callable[[int, np.random.Generator], Estimate],
    options: PlanCall,
    source: str,
    **design: Any,
) -> Design:
    """A design by the intervals of simulated data sets; `draw` simulates one with N items."""

    @cache
    def at(n: int, simulations: int) -> Reached:
        if options.on_simulation is not None:
            options.on_simulation(n)
        lowest = options.at_least

        def is_power_precise(intervals: list[tuple[float, float]], drawn: int) -> bool:
            # as precise as a power of one half by all simulations; see Agresti and Coull 1998
            power = (sum(low >= (lowest or 0.0) for low, _ in intervals) + 2) / (drawn + 4)
            return power * (1 - power) / (drawn + 4) <= 0.25 / simulations

        is_precise = _is_width_precise if lowest is None else is_power_precise
        seed = [options.seed, n]
        intervals, drawn = simulated_intervals(partial(draw, n), simulations, seed, is_precise)
        if len(intervals) < 0.5 * drawn:
            return Reached(power=None if lowest is None else 0.0)
        half_width = math.fsum(high - low for low, high in intervals) / (2 * len(intervals))
        if lowest is None:
            return Reached(half_width=half_width)
        reached = sum(low >= lowest for low, _ in intervals)
        return Reached(half_width=half_width, power=reached / drawn)

    how = f"simulation: data sets drawn from {source}, each with its interval"
    return Design(name, at, how, simulated=True, **design)


def _resampled(
    name: str,
    estimate: Callable[[list[Any], list[int]], Estimate],
    options: PlanCall,
    rows: Sequence[Any],
    units: Sequence[Any],
    items: int,
    source: str,
    **design: Any,
) -> Design:
    """A design by resampling whole units of a run's rows, with replacement.

    Args:
        name: the name of the design.
        estimate: computes the figure from rows and the numbers of their units.
        options: the options of the plan.
        rows: the rows to draw from.
        units: the item, or group of items, of each row.
        items: the number of items behind the rows.
        source: a description of what is drawn from.
        design: other attributes of the design.
    """
    by_unit: dict[Any, list[Any]] = {}
    for unit, row in zip(units, rows, strict=True):
        by_unit.setdefault(unit, []).append(row)
    of_units = list(by_unit.values())
    what = "items" if len(of_units) == items else "groups of items"
    _check_enough(len(of_units), f"{what} of the run", options.run)

    def draw(n: int, generator: np.random.Generator) -> Estimate:
        count = max(2, round(n * len(of_units) / items))
        drawn = [of_units[place] for place in generator.integers(0, len(of_units), count)]
        numbers = [number for number, of_unit in enumerate(drawn) for _ in of_unit]
        return estimate([row for of_unit in drawn for row in of_unit], numbers)

    return _simulated(name, draw, options, source, **design)


def _check_enough(count: int, of_what: str, run: FinishedRun | None) -> None:
    """Raise `InputError` if so few items, alike by chance, would promise a narrow interval."""
    if count < FEW:
        raise InputError(
            f"a plan needs {FEW} {of_what} to see how much they vary, and there are {count}: plan "
            "without a run, from your own assumptions",
            file=None if run is None else run.path,
        )


# Agreement of a judge with people


def _agreement_in_run(options: PlanCall, run: FinishedRun) -> list[Design]:
    figure = options.figure
    pairs = labelled_pairs(run, options.criterion)
    criteria = {pair.stratum for pair in pairs}
    counted, part = pairs, 1.0
    if figure in ("sensitivity", "specificity"):
        label = "MET" if figure == "sensitivity" else "UNMET"
        if len(criteria) > 1 or not {pair.human for pair in pairs} <= {"MET", "UNMET"}:
            raise InputError(
                f"{figure} is of one binary criterion: name it with --criterion", file=run.path
            )
        counted = [pair for pair in pairs if pair.human == label]
        part = len(counted) / len(pairs)
        if not counted:
            raise InputError(f"no label of this run says {label}", file=run.path)
    groups_of_run = run.grouping(options.groups)
    if len(criteria) == 1 and figure != "kappa" and groups_of_run is None:
        share = clustered_share([pair.equal for pair in counted], confidence=options.confidence)
        values = {"the run's": share.value, "its low end": share.low, "its high end": share.high}
        if (share.low or 0.0) < 0.5 < (share.high or 1.0):
            values["in its interval"] = 0.5
        return [
            _share(options, value, part, f" ({which})")
            for which, value in values.items()
            if value is not None
        ]
    items = len({pair.item for pair in pairs})
    if figure == "kappa" and len({pair.equal for pair in pairs}) == 1:
        raise InputError(
            "the labels of this run are all as the judge's verdicts, or none is, so they do not "
            "show how kappa varies: plan without a run, from value and share",
            file=run.path,
        )
    group_of = run.groups_by(groups_of_run)
    grouped = len({group_of[pair.item] for pair in pairs}) < len(pairs)
    bootstrap = Bootstrap(confidence=options.confidence)
    number = {stratum: place for place, stratum in enumerate(criteria)}

    def estimate(drawn: list[Pair], numbers: list[int]) -> Estimate:
        if figure != "kappa":
            equal = [pair.equal for pair in drawn]
            return clustered_share(equal, groups=numbers, confidence=options.confidence)
        return stratified_agreement(
            [pair.judge for pair in drawn],
            [pair.human for pair in drawn],
            [number[pair.stratum] for pair in drawn],
            groups=numbers if grouped else None,
            bootstrap=bootstrap,
        ).kappa

    of_what = "the criterion" if len(criteria) == 1 else f"{len(criteria)} criteria together"
    return [
        _resampled(
            f"{figure}, {options.criterion or of_what}",
            estimate,
            options,
            counted,
            [group_of[pair.item] for pair in counted],
            items,
            f"the run's {len(pairs)} pairs of {items} items",
            labels=len(pairs) / items,
        )
    ]


def _share(options: PlanCall, value: float, part: float, which: str = "") -> Design:
    """A design for a share of outcomes that only some of the items have."""
    confidence, lowest = options.confidence, options.at_least

    def at(n: int, _: int) -> Reached:
        counts = [(n, 1.0)]
        if part < 1:
            middle, spread = n * part, math.sqrt(n * part * (1 - part))
            counts = [(max(1, round(middle + z * spread)), weight) for z, weight in THREE_POINTS]
        widths = [
            weight * share_width(count, value, confidence=confidence) for count, weight in counts
        ]
        if lowest is None:
            return Reached(half_width=math.fsum(widths))
        powers = [
            weight * lower_end_power(count, value, lowest, confidence=confidence)
            for count, weight in counts
        ]
        return Reached(half_width=math.fsum(widths), power=math.fsum(powers))

    return Design(
        f"{options.figure} {shown(value)}{which}",
        at,
        "closed form: the exact interval (Clopper and Pearson 1934) over the binomial distribution",
        in_steps=lowest is not None,
        labels=1.0,
        assumed={options.figure: value, **({} if part == 1 else {"share of items": part})},
    )


def _kappa_of_table(options: PlanCall, kappa: float, share: float) -> Design:
    """A design for the kappa of two raters with the same share of MET."""
    apart = (1 - kappa) * share * (1 - share)
    cells = np.array([share - apart, apart, apart, 1 - share - apart])
    if min(cells) < 0:
        raise InputError(f"kappa {kappa:g} is impossible with a share of {share:g}")
    bootstrap = Bootstrap(confidence=options.confidence)

    def draw(n: int, generator: np.random.Generator) -> Estimate:
        counts = generator.multinomial(n, cells)
        judge = np.repeat(["MET", "MET", "UNMET", "UNMET"], counts).tolist()
        human = np.repeat(["MET", "UNMET", "MET", "UNMET"], counts).tolist()
        return label_agreement(judge, human, bootstrap=bootstrap).figures["cohen_kappa"]

    return _simulated(
        f"kappa {shown(kappa)}",
        draw,
        options,
        "pairs of two raters who say MET equally often",
        labels=1.0,
        assumed={"kappa": kappa, "share of MET": share},
    )


# Means


def _values(run: FinishedRun, criterion: str | None) -> dict[str, float]:
    """The score of each item, or its value on a criterion."""
    if criterion is None:
        scores = run.item_scores
    else:
        scores = {row.item: row.value for row in run.rows if row.criterion == criterion}
        if not scores:
            raise InputError(f"the run has no criterion '{criterion}'", file=run.path)
    known = {item: value for item, value in scores.items() if value is not None}
    _check_enough(len(known), "scored items of the run", run)
    return known


def _mean(options: PlanCall) -> Design:
    run, confidence = options.run, options.confidence
    if run is None:
        spread = _assumption(options, "spread")
        name = f"spread {shown(spread)}"
    else:
        by_item = _values(run, options.criterion)
        values = list(by_item.values())
        by = run.grouping(options.groups)
        if by is not None:
            group_of = run.groups_by(by)
            return _resampled(
                f"mean, by {by}",
                lambda drawn, groups: (
                    clustered_mean(drawn, groups=groups, confidence=confidence).mean
                ),
                options,
                values,
                [group_of[item] for item in by_item],
                len(values),
                f"the run's {len(values)} items",
            )
        spread = float(np.std(values, ddof=1))
        if spread == 0:
            raise InputError("all items of this run have the same score, so the spread is unknown")
        name = f"as in the run, spread {shown(spread)}"
    return Design(
        name,
        lambda n, _: Reached(half_width=mean_width(n, spread, confidence=confidence)),
        "closed form: the t interval of a mean",
        assumed={"spread": spread},
    )


def _ppi(options: PlanCall) -> Design:
    if options.groups is not None:
        raise InputError("groups: the formula for ppi takes items as independent; leave it out")
    if options.run is not None:
        return _ppi_of_run(options, options.run)
    accuracy, share = _assumption(options, "value"), options.share or 0.5
    both_ways = 2 * share * (1 - share)
    spread, correlation = math.sqrt(both_ways / 2), 1 - (1 - accuracy) / both_ways
    if correlation < -1:
        raise InputError(f"accuracy {accuracy:g} is impossible with a share of {share:g}")
    return _ppi_design(
        options,
        f"accuracy {shown(accuracy)}",
        options.pool or POOL,
        {"spread": spread, "judge_spread": spread, "correlation": correlation, "share": share},
        {"accuracy": accuracy, "share of MET": share},
    )


def _ppi_of_run(options: PlanCall, run: FinishedRun) -> Design:
    by_item = _values(run, options.criterion)
    human = run.human_scores
    if options.criterion is not None:
        human = {
            row.item: row.human_value for row in run.rows if row.criterion == options.criterion
        }
    pairs = [
        (by_item[item], value)
        for item, value in human.items()
        if value is not None and item in by_item
    ]
    _check_enough(len(pairs), "labelled items of the run", run)
    judge, people = (np.array(side) for side in zip(*pairs, strict=True))
    every = np.array([*by_item.values()])
    if not (people.std() > 0 and every.std() > 0 and judge.std() > 0):
        raise InputError("the run's labels, or its scores, are all the same", file=run.path)
    labels = 1.0
    if options.criterion is None:
        labels = sum(human[row.item] is not None for row in run.rows) / len(pairs)
    moments: dict[str, Any] = {
        "spread": float(people.std(ddof=1)),
        "judge_spread": float(every.std(ddof=1)),
        "correlation": float(np.corrcoef(judge, people)[0, 1]),
    }
    pool, binary = options.pool or len(by_item), {}
    if np.isin(np.concatenate([every, people]), (0.0, 1.0)).all():
        binary = {"share": float(people.mean()), "seen": len(pairs)}
    elif not corrected_mean([*judge, *every], [*people, *[None] * len(every)]).tuning:
        moments["correlation"] = 0.0  # too few errors were observed to estimate their rate
    return _ppi_design(options, "the run's judge", pool, {**moments, **binary}, moments, labels)


def _ppi_design(
    options: PlanOptions,
    name: str,
    pool: int,
    moments: Mapping[str, Any],
    assumed: Mapping[str, float],
    labels: float = 1.0,
) -> Design:
    def at(n: int, _: int) -> Reached:
        if n > pool:
            return Reached()
        width = corrected_mean_width(n, pool - n, confidence=options.confidence, **moments)
        return Reached(half_width=width)

    how = "closed form: the variance of PPI++ (Angelopoulos et al. 2023)"
    name = f"{name}, {pool} items graded"
    return Design(name, at, how, labels=labels, pool=pool, assumed=assumed)


# A comparison of two runs


def _comparison(options: PlanCall) -> list[Design]:
    if options.run is not None:
        if options.other is None:
            raise InputError(
                "a plan for a comparison needs two runs of the same items; or, without a run, "
                "--spread or --differing"
            )
        return [_comparison_of_runs(options, options.run, options.other)]
    spread, differing = options.spread, options.differing
    if differing is None:
        spread = _assumption(options, "spread")
    elif abs(options.difference or 0.0) > differing:
        raise InputError(
            f"a difference of {options.difference:g} cannot be where {differing:g} of the items "
            "differ"
        )
    ways = []
    how = (
        "closed form: noncentral t or the sign test, the lower of both; up to 14 points off if "
        "differences are very skewed, such as a few large losses and many small gains"
    )
    if spread is not None:
        share = differing or likely_differing(options.difference or 0.0, spread)
        few = f", {percent(share)} differ" + ("" if differing else " (a guess)")
        ways.append(_permutation(options, spread, [differing], few, how))
        if differing is None:
            ways.append(_permutation(options, spread, SHARES, ", however many differ", how))
    if differing is not None:

        def power(n: int, difference: float, _: int, differing: float = differing) -> float:
            return mcnemar_power(n, difference, differing, significance=options.significance)

        ways.append(
            Design(
                f"McNemar's test, {shown(differing)} differ",
                _detected(options, power, differing),
                "closed form: the exact test of McNemar",
                in_steps=True,
                assumed={"differing": differing},
            )
        )
    return ways


def _permutation(
    options: PlanCall, spread: float, shares: Sequence[float | None], which: str, how: str
) -> Design:
    power = partial(_permutation_power, options, spread, shares)
    return Design(
        f"permutation test, spread {shown(spread)}{which}",
        _detected(options, power, 1.0),
        how,
        assumed={"spread": spread},
    )


def _permutation_power(
    options: PlanOptions,
    spread: float,
    shares: Sequence[float | None],
    n: int,
    difference: float,
    _: int,
) -> float:
    """The lowest power over shares of items that differ.

    Each share is at least the smallest one that scores in [0, 1] can have with this spread.
    """
    together = spread**2 + difference**2
    least = min(1.0, max(together, 1.001 * difference**2 / together))
    differing = {None if share is None else max(share, least) for share in shares}
    power = partial(paired_power, n, difference, spread, significance=options.significance)
    return min(power(differing=share) for share in differing)


def _detected(
    options: PlanOptions, power: Callable[[int, float, int], float], most: float
) -> Callable[[int, int], Reached]:
    """The power for the requested difference, or the smallest difference with the requested power.

    Args:
        options: the options of the plan.
        power: computes the power from N items, a true difference and a number of simulations.
        most: the largest possible difference.
    """

    def at(n: int, simulations: int) -> Reached:
        if options.difference is not None:
            return Reached(power=power(n, options.difference, simulations))
        fewer = max(100, simulations // 4)
        if power(n, most, fewer) < options.power:
            return Reached()
        low, high = 0.0, most
        while high - low > 0.002 * most:
            middle = (low + high) / 2
            is_enough = power(n, middle, fewer) >= options.power
            low, high = (low, middle) if is_enough else (middle, high)
        return Reached(difference=high)

    return at


def _comparison_of_runs(options: PlanOptions, run: FinishedRun, other: FinishedRun) -> Design:
    """A design for the permutation test, with differences like those of two runs.

    To plan for another mean difference, the runs' differences and their opposites are drawn with
    other probabilities (exponential tilting, Efron 1981). The sizes of differences and the share of
    ties thus stay those of the runs.
    """
    alike = scored_alike(run, other)
    scores = alike.scores if options.criterion is None else alike.values(options.criterion)
    _check_enough(len(scores), "items that both runs scored", other)
    group_of = other.groups_by(other.grouping(options.groups))
    differences = np.array([b - a for a, b in scores.values()])
    _, index = np.unique([str(group_of[item]) for item in scores], return_inverse=True)
    sums, sizes = np.bincount(index, differences), np.bincount(index).astype(float)
    both, size = np.concatenate([sums, -sums]), np.concatenate([sizes, sizes])
    most, scale = float((np.abs(sums) / sizes).max()), float(np.abs(both).max())
    if most == 0:
        raise InputError("these runs do not differ on any item, so there is nothing to draw from")
    if options.difference is not None and abs(options.difference) >= most:
        raise InputError(
            f"a difference of {options.difference:g} is impossible: the differences of these runs "
            f"are at most {most:.3g}"
        )

    def tilted(theta: float) -> np.ndarray:
        weights = np.exp(theta * (both / scale) - abs(theta))
        return np.asarray(weights / weights.sum())

    @cache
    def power(n: int, difference: float, simulations: int) -> float:
        def above(theta: float) -> float:
            shares = tilted(theta)
            return float(shares @ both) - abs(difference) * float(shares @ size)

        high = 1.0  # opposites are included: a decrease is detected as often as an increase
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

    return Design(
        "permutation test, differences like these runs'",
        _detected(options, power, 0.999 * most),
        f"simulation: draws of the runs' {len(differences)} differences, of either sign, each data "
        "set with its permutation test",
        simulated=True,
        least=max(2, math.ceil(2 * len(differences) / len(sums))),
        assumed={
            "spread": float(np.std(differences)),
            "items that differ": float((differences != 0).mean()),
        },
    )
