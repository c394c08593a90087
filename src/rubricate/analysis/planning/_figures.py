"""What so many items give, figure by figure: by a formula, or by drawing from a run."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from rubricate.analysis._finished import FinishedRun
from rubricate.analysis.agreement import item_score_components, labelled_pairs
from rubricate.analysis.comparison import scored_alike
from rubricate.analysis.few_labels import labelled_confidences
from rubricate.analysis.planning._options import PlannedFigure, PlanOptions
from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    Estimate,
    choose_threshold,
    clustered_mean,
    clustered_share,
    corrected_mean,
    corrected_mean_width,
    krippendorff_alpha,
    label_agreement,
    lower_end_power,
    mcnemar_power,
    mean_width,
    paired_power,
    share_width,
    stratified_agreement,
)
from rubricate.views import figure as shown

Floats: TypeAlias = NDArray[np.float64]
Integers: TypeAlias = NDArray[np.int64]
RESAMPLES = 1000
"""Of the bootstrap within a simulated data set."""
ROUNDS = 999
"""Of a permutation test within a simulated data set."""
POOL = 1000
ANSWERS = (1, 2, 3, 5)
"""How often a judge may be asked, of a mean."""
THREE_POINTS = ((-math.sqrt(3), 1 / 6), (0.0, 2 / 3), (math.sqrt(3), 1 / 6))
"""Of a normal distribution: its mean of a function is nearly that of these, so weighted."""


@dataclass(frozen=True, slots=True)
class Reached:
    """What so many items give; None for what the figure does not have.

    Attributes:
        half_width: how far the interval reaches to either side, on average.
        power: the probability of what is wanted.
        difference: the true difference that is found with the power that is wanted.
        stands: the share of a cascade's verdicts that stand, on average (0 where no threshold is
            found).
    """

    half_width: float | None = None
    power: float | None = None
    difference: float | None = None
    stands: float | None = None


@dataclass(frozen=True, slots=True)
class Design:
    """One way to do it, or one thing that may be true.

    Attributes:
        name: which, in words.
        at: what so many items give, by so many simulations.
        how: the formula or the simulation, in words.
        simulated: whether it is a simulation.
        in_steps: whether what is reached rises in a saw's teeth.
        labels: labels that an item takes.
        least: the least number of items.
        judges, replicates: who is asked about each, and how often.
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
    judges: int = 1
    replicates: int = 1
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
        return _mean(options, run)
    if figure == "ppi":
        return [_ppi(options, run)]
    if figure == "comparison":
        return _comparison(options, run, other)
    if figure == "cascade":
        return [_cascade(options, run)]
    if figure == "agreement":
        return [_agreement(options, run)]
    return _labels(figure, options, run)


# Drawing from a run


@dataclass(frozen=True)
class _Drawn:
    """Rows that are drawn by whole units (items, or groups of them), with replacement.

    Attributes:
        units: the places of each unit's rows.
        items: how many items there are in all.
        source: what is drawn from, in words.
    """

    units: Sequence[Integers]
    items: int
    source: str

    @classmethod
    def of(cls, units: Sequence[Any], items: int, source: str) -> _Drawn:
        """By the unit of each row."""
        places: dict[Any, list[int]] = {}
        for place, unit in enumerate(units):
            places.setdefault(unit, []).append(place)
        return cls([np.array(of) for of in places.values()], items, source)

    def draw(self, n: int, chance: np.random.Generator) -> tuple[Integers, list[int]]:
        """The places of the rows of about `n` items, and the number of each row's unit."""
        count = max(2, round(n * len(self.units) / self.items))
        chosen = [self.units[at] for at in chance.integers(0, len(self.units), count)]
        numbers = np.repeat(np.arange(count), [len(one) for one in chosen])
        return np.concatenate(chosen), numbers.tolist()

    def intervals(
        self, measure: Callable[[Integers, list[int]], Estimate], options: PlanOptions
    ) -> Callable[[int, int], Reached]:
        """What the intervals of simulated data sets come to."""

        @cache
        def at(n: int, simulations: int) -> Reached:
            chance = np.random.default_rng([options.seed, n])
            found = [measure(*self.draw(n, chance)) for _ in range(simulations)]
            ends = [
                (one.low, one.high) for one in found if one.low is not None and one.high is not None
            ]
            if len(ends) < 0.5 * simulations:
                return Reached(power=0.0 if options.at_least is not None else None)
            half_width = math.fsum(high - low for low, high in ends) / (2 * len(ends))
            if options.at_least is None:
                return Reached(half_width)
            reached = sum(low >= options.at_least for low, _ in ends)
            return Reached(half_width, reached / simulations)

        return at

    @property
    def how(self) -> str:
        """What is done, in words."""
        return f"simulation: data sets drawn from {self.source}, each with its interval"


def _needed(value: float | None, name: str, figure: str) -> float:
    if value is None:
        raise InputError(
            f"a plan for {figure} without a run needs --{name.replace('_', '-')} (what is taken "
            "for true), or a run to go by"
        )
    return value


# Agreement of a judge with people


def _labels(figure: PlannedFigure, options: PlanOptions, run: FinishedRun | None) -> list[Design]:
    if run is None:
        value = _needed(options.value, "value", figure)
        share = 0.5 if options.share is None else options.share
        if figure == "kappa":
            return [_kappa_of_table(options, value, share)]
        part = {"accuracy": 1.0, "sensitivity": share, "specificity": 1 - share}[figure]
        return [_share(figure, options, value, part, f"{figure} {shown(value)}")]
    pairs = labelled_pairs(run, options.criterion)
    strata = {pair.stratum for pair in pairs}
    alone = len(strata) == 1
    if figure in ("sensitivity", "specificity"):
        label = "MET" if figure == "sensitivity" else "UNMET"
        if not alone or not {pair.human for pair in pairs} <= {"MET", "UNMET"}:
            raise InputError(
                f"{figure} is of one binary criterion: name it with --criterion", file=run.path
            )
        kept = [pair for pair in pairs if pair.human == label]
        part = len(kept) / len(pairs)
    else:
        kept, part = pairs, 1.0
    if not kept:
        raise InputError(f"no label of this run says {label}", file=run.path)
    items = len({pair.item for pair in pairs})
    source = f"{len(pairs)} pairs of {items} items"
    if alone and figure != "kappa" and options.groups is None:
        found = clustered_share([pair.equal for pair in kept], confidence=options.confidence)
        truths = [
            ("the run's", found.value),
            ("its low end", found.low),
            ("its high end", found.high),
        ]
        return [
            _share(figure, options, value, part, f"{figure} {shown(value)} ({which})")
            for which, value in truths
            if value is not None
        ]
    group_of = run.groups_by(options.groups)
    drawn = _Drawn.of([group_of[pair.item] for pair in kept], items, f"the run's {source}")
    own = len({group_of[pair.item] for pair in pairs}) == len(pairs)
    bootstrap = Bootstrap(RESAMPLES, options.confidence)
    if figure == "kappa":
        judge, human = [pair.judge for pair in kept], [pair.human for pair in kept]
        number = {stratum: place for place, stratum in enumerate(strata)}
        of = [number[pair.stratum] for pair in kept]  # whole numbers are looked up sooner

        def measure(places: Integers, groups: list[int]) -> Estimate:
            at = places.tolist()
            sides = [judge[one] for one in at], [human[one] for one in at]
            clusters = None if own else groups
            if alone and isinstance(judge[0], str):
                agreed = label_agreement(*sides, groups=clusters, bootstrap=bootstrap)
                return agreed.figures["cohen_kappa"]
            return stratified_agreement(
                *sides, [of[one] for one in at], groups=clusters, bootstrap=bootstrap
            ).kappa

    else:
        equal = np.array([pair.equal for pair in kept], dtype=float)

        def measure(places: Integers, groups: list[int]) -> Estimate:
            return clustered_share(
                equal[places].tolist(), groups=groups, confidence=options.confidence
            )

    what = options.criterion or ("the criterion" if alone else f"{len(strata)} criteria together")
    return [
        Design(
            f"{figure}, {what}",
            drawn.intervals(measure, options),
            drawn.how,
            simulated=True,
            labels=len(pairs) / items,
        )
    ]


def _share(figure: str, options: PlanOptions, value: float, part: float, name: str) -> Design:
    """A share of outcomes of which only a part of the items has one."""

    def numbers_of(n: int) -> list[tuple[int, float]]:
        middle, spread = n * part, math.sqrt(n * part * (1 - part))
        return [(max(1, round(middle + z * spread)), weight) for z, weight in THREE_POINTS]

    def at(n: int, _: int) -> Reached:
        given = numbers_of(n) if part < 1 else [(n, 1.0)]
        width = math.fsum(
            weight * share_width(count, value, confidence=options.confidence)
            for count, weight in given
        )
        if options.at_least is None:
            return Reached(width)
        power = math.fsum(
            weight * lower_end_power(count, value, options.at_least, confidence=options.confidence)
            for count, weight in given
        )
        return Reached(width, power)

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
    both, neither = share - apart, 1 - share - apart
    if min(both, neither) < 0:
        raise InputError(f"kappa {kappa:g} cannot be at a share of {share:g}")
    cells = np.array([both, apart, apart, neither])
    words = [("MET", "MET"), ("MET", "UNMET"), ("UNMET", "MET"), ("UNMET", "UNMET")]
    bootstrap = Bootstrap(RESAMPLES, options.confidence)

    @cache
    def at(n: int, simulations: int) -> Reached:
        chance = np.random.default_rng([options.seed, n])
        widths, reached = [], 0
        for counts in chance.multinomial(n, cells, simulations):
            pairs = [pair for pair, count in zip(words, counts, strict=True) for _ in range(count)]
            found = label_agreement(
                [one for one, _ in pairs], [other for _, other in pairs], bootstrap=bootstrap
            ).figures["cohen_kappa"]
            if found.low is not None and found.high is not None:
                widths.append((found.high - found.low) / 2)
                reached += options.at_least is not None and found.low >= options.at_least
        power = None if options.at_least is None else reached / simulations
        if len(widths) < 0.5 * simulations:
            return Reached(power=power)
        return Reached(math.fsum(widths) / len(widths), power)

    return Design(
        f"kappa {shown(kappa)}",
        at,
        "simulation: pairs of two who say MET equally often, each data set with its interval",
        simulated=True,
        labels=1.0,
        assumed={"kappa": kappa, "share of MET": share},
    )


def _agreement(options: PlanOptions, run: FinishedRun | None) -> Design:
    """Krippendorff's alpha of people among themselves."""
    bootstrap = Bootstrap(RESAMPLES, options.confidence)
    if run is None:
        alpha = _needed(options.value, "value", "agreement")
        share = 0.5 if options.share is None else options.share
        raters, together = options.raters, (1 - alpha) / alpha

        @cache
        def at(n: int, simulations: int) -> Reached:
            chance = np.random.default_rng([options.seed, n])
            widths = []
            for _ in range(simulations):
                # Beta-binomial: the correlation of two raters is alpha.
                of_item = np.full(n, share)
                if together > 0:
                    of_item = chance.beta(share / together, (1 - share) / together, n)
                else:
                    of_item = (chance.random(n) < share).astype(float)
                ratings = (chance.random((n, raters)) < of_item[:, None]).astype(int)
                found = krippendorff_alpha(ratings.tolist(), bootstrap=bootstrap)
                if found.low is not None and found.high is not None:
                    widths.append((found.high - found.low) / 2)
            if len(widths) < 0.5 * simulations:
                return Reached()
            return Reached(math.fsum(widths) / len(widths))

        return Design(
            f"alpha {shown(alpha)}, {raters} raters",
            at,
            "simulation: beta-binomial ratings, each data set with its interval",
            simulated=True,
            labels=float(raters),
            assumed={"alpha": alpha, "share of MET": share, "raters": float(raters)},
        )
    rows = [
        row
        for row in run.rows
        if len(row.annotations) > 1 and options.criterion in (None, row.criterion)
    ]
    if not rows:
        raise InputError(
            "this run has no item with labels of several people (annotations)", file=run.path
        )
    kinds = {run.criteria[row.criterion].measurement for row in rows}
    if "ordinal" in kinds or len(kinds) > 1:
        raise InputError(
            "agreement is planned for criteria of one kind, labels or numbers: name one with "
            "--criterion",
            file=run.path,
        )
    numeric = kinds & {"numeric", "scale"}
    level: Any = "interval" if numeric else "nominal"
    ratings = [
        [float(label) if numeric else label for label in row.annotations.values()] for row in rows
    ]
    group_of = run.groups_by(options.groups)
    items = len({row.item for row in rows})
    drawn = _Drawn.of(
        [group_of[row.item] for row in rows], items, f"the run's {len(rows)} rated answers"
    )

    def measure(places: Integers, groups: list[int]) -> Estimate:
        at = places.tolist()
        return krippendorff_alpha(
            [ratings[one] for one in at],
            level=level,
            strata=[rows[one].criterion for one in at],
            groups=groups,
            bootstrap=bootstrap,
        )

    return Design(
        "alpha of the run's annotators",
        drawn.intervals(measure, options),
        drawn.how,
        simulated=True,
        labels=sum(map(len, ratings)) / items,
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


def _mean(options: PlanOptions, run: FinishedRun | None) -> list[Design]:
    how = "closed form: the t interval of a mean"
    if run is None:
        spread = _needed(options.spread, "spread", "mean")
        noise = options.noise
        if noise is None:
            return [_mean_of(options, spread, f"spread {shown(spread)}", how)]
        how += ", variance components"
        return [
            _mean_of(
                options,
                math.sqrt(spread**2 - noise**2 + noise**2 / answers),
                f"{answers} answers each" if answers > 1 else "one answer each",
                how,
                replicates=answers,
            )
            for answers in ANSWERS
        ]
    values = _values(run, options.criterion)
    if options.groups is not None:
        group_of = run.groups_by(options.groups)
        listed = list(values.values())
        drawn = _Drawn.of(
            [group_of[item] for item in values], len(values), f"the run's {len(values)} items"
        )

        def measure(places: Integers, groups: list[int]) -> Estimate:
            return clustered_mean(
                [listed[at] for at in places.tolist()], groups=groups, confidence=options.confidence
            ).mean

        name = f"mean, by {options.groups}"
        return [Design(name, drawn.intervals(measure, options), drawn.how, simulated=True)]
    spread = float(np.std(list(values.values()), ddof=1))
    if spread == 0:
        raise InputError("all items of this run have the same score: there is no spread to go by")
    components = item_score_components(run, options.criterion)
    if components is None:
        return [_mean_of(options, spread, f"as in the run, spread {shown(spread)}", how)]
    item, between, again = components.item, components.interaction, components.sampling
    return [
        _mean_of(
            options,
            math.sqrt(item + between / judges + again / (judges * answers)),
            f"{judges} judge{'s' * (judges > 1)} x {answers} answer{'s' * (answers > 1)}",
            f"{how}, variance components of the run's answers",
            judges=judges,
            replicates=answers,
        )
        for judges in range(1, components.judges + 1)
        for answers in (ANSWERS if components.replicates > 1 else (1,))
        if item + between + again > 0
    ]


def _mean_of(
    options: PlanOptions,
    spread: float,
    name: str,
    how: str,
    *,
    judges: int = 1,
    replicates: int = 1,
) -> Design:
    def at(n: int, _: int) -> Reached:
        return Reached(mean_width(n, spread, confidence=options.confidence))

    return Design(name, at, how, judges=judges, replicates=replicates, assumed={"spread": spread})


def _ppi(options: PlanOptions, run: FinishedRun | None) -> Design:
    how = "closed form: the variance of PPI++ (Angelopoulos et al. 2023)"
    if options.groups is not None:
        raise InputError("groups: the formula for ppi takes items as independent; leave it out")
    if run is None:
        accuracy = _needed(options.value, "value", "ppi")
        share = 0.5 if options.share is None else options.share
        both_ways = 2 * share * (1 - share)
        spread, correlation = math.sqrt(both_ways / 2), 1 - (1 - accuracy) / both_ways
        if correlation < -1:
            raise InputError(f"accuracy {accuracy:g} cannot be at a share of {share:g}")
        pool, labels = options.pool or POOL, 1.0
        moments = {"spread": spread, "judge_spread": spread, "correlation": correlation}
        known: float | None = share
        seen = None
        name = f"accuracy {shown(accuracy)}, {pool} items graded"
        assumed = {"accuracy": accuracy, "share of MET": share}
    else:
        judge = _values(run, options.criterion)
        human = (
            run.human_scores
            if options.criterion is None
            else {
                row.item: row.human_value for row in run.rows if row.criterion == options.criterion
            }
        )
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
        pool = options.pool or len(judge)
        labels = 1.0
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
        name = f"the run's judge, {pool} items graded"
        assumed = dict(moments)

    def at(n: int, _: int) -> Reached:
        unlabelled = pool - n
        if unlabelled < 0:
            return Reached()
        return Reached(
            corrected_mean_width(
                n, unlabelled, share=known, seen=seen, confidence=options.confidence, **moments
            )
        )

    return Design(name, at, how, labels=labels, pool=pool, assumed=assumed)


# A comparison of two runs


def _comparison(
    options: PlanOptions, run: FinishedRun | None, other: FinishedRun | None
) -> list[Design]:
    if run is not None and other is not None:
        return [_comparison_of(options, *_differences(run, other, options))]
    if run is not None:
        raise InputError(
            "a plan for a comparison goes by two runs of the same items; or without a run by "
            "--spread or --differing"
        )
    spread, differing = options.spread, options.differing
    if spread is None and differing is None:
        _needed(None, "spread", "a comparison")
    made = []
    if spread is not None and differing is None:
        made.append(
            Design(
                f"permutation test, spread {shown(spread)}",
                _power(options, partial(_by_t, spread, None, options), 1.0),
                "closed form: noncentral t, for differences that are about normal",
                assumed={"spread": spread},
            )
        )
    if spread is not None:
        few = "as few items differ as can" if differing is None else f"{shown(differing)} differ"
        made.append(
            Design(
                f"permutation test, spread {shown(spread)}, {few}",
                _power(options, partial(_by_t, spread, differing or 0.0, options), 1.0),
                "closed form: noncentral t or the sign test over the items that differ",
                assumed={"spread": spread},
            )
        )
    if differing is not None:
        if abs(options.difference or 0.0) > differing:
            raise InputError(
                f"a difference of {options.difference:g} cannot be where {differing:g} of the "
                "items differ"
            )
        made.append(
            Design(
                f"McNemar's test, {shown(differing)} differ",
                _power(options, partial(_by_mcnemar, differing, options), differing),
                "closed form: the exact test of McNemar",
                in_steps=True,
                assumed={"differing": differing},
            )
        )
    return made


def _by_t(
    spread: float, differing: float | None, options: PlanOptions, n: int, difference: float
) -> float:
    """Where this share of the items differs, or as many more as scores from 0 to 1 take."""
    if differing is not None:
        together = spread**2 + difference**2
        least = max(together, 1.001 * difference**2 / together)
        differing = min(1.0, max(differing, least))
    return paired_power(
        n, difference, spread, significance=options.significance, differing=differing or 1.0
    )


def _by_mcnemar(differing: float, options: PlanOptions, n: int, difference: float) -> float:
    return mcnemar_power(n, difference, differing, significance=options.significance)


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

    @cache
    def power(n: int, difference: float, simulations: int) -> float:
        count = max(2, round(n * len(sums) / len(differences)))
        chance = np.random.default_rng([options.seed, n])
        drawn = both[
            chance.choice(len(both), (simulations, count), p=_tilted(both, size, difference))
        ]
        signs = chance.choice(np.array([-1.0, 1.0]), (count, ROUNDS))
        observed = np.abs(drawn.sum(1)) - 1e-10 * np.abs(drawn).sum(1)
        reached = (np.abs(drawn @ signs) >= observed[:, None]).sum(1)
        return float(((reached + 1) / (ROUNDS + 1) < options.significance).mean())

    def at(n: int, simulations: int) -> Reached:
        if wanted is not None:
            return Reached(power=power(n, wanted, simulations))
        few = max(100, simulations // 4)
        return Reached(difference=_where(lambda d: power(n, d, few), 0.999 * most, options.power))

    spread = float(np.std(differences))
    return Design(
        "permutation test, differences like these runs'",
        at,
        f"simulation: draws of the runs' {len(differences)} differences, of either sign, each data "
        "set with its permutation test",
        simulated=True,
        least=max(2, math.ceil(2 * len(differences) / len(sums))),
        assumed={"spread": spread, "items that differ": float((np.array(differences) != 0).mean())},
    )


def _tilted(sums: Floats, sizes: Floats, difference: float) -> Floats:
    """How often each sum is drawn, for this mean difference an item."""
    scale = float(np.abs(sums).max())

    def of(theta: float) -> Floats:
        weights = np.exp(theta * (sums / scale - 1))
        return np.asarray(weights / weights.sum())

    def above(theta: float) -> float:
        chances = of(theta)
        return float(chances @ sums) - difference * float(chances @ sizes)

    low, high = (0.0, 1.0) if difference > 0 else (-1.0, 0.0)
    if difference > 0:
        while above(high) < 0 and high < 1e3:
            high *= 2
    else:
        while above(low) > 0 and low > -1e3:
            low *= 2
    return (
        of(float(optimize.brentq(above, low, high))) if above(low) * above(high) < 0 else of(high)
    )


def _differences(
    run: FinishedRun, other: FinishedRun, options: PlanOptions
) -> tuple[list[float], list[Any]]:
    """B minus A, item by item, and what each item belongs to."""
    alike = scored_alike(run, other)
    if options.criterion is None:
        both = dict(alike.scores)
    else:
        both = {
            pair.b.item: (pair.verdict_a.value, pair.verdict_b.value)
            for pair in alike.pairs
            if pair.b.criterion == options.criterion
            and pair.verdict_a is not None
            and pair.verdict_a.value is not None
            and pair.verdict_b.value is not None
        }
    if len(both) < 3:
        raise InputError(
            "a plan for a comparison needs three items or more that both runs scored",
            file=other.path,
        )
    group_of = other.groups_by(options.groups)
    return [b - a for a, b in both.values()], [group_of[item] for item in both]


# A cascade's threshold


def _cascade(options: PlanOptions, run: FinishedRun | None) -> Design:
    least = math.ceil(math.log(options.risk) / math.log(options.promise))
    if run is None:
        raise InputError(
            "a plan for a cascade draws from a labelled run of its first judge: name one (in any "
            f"case a promise of {options.promise:g} at a risk of {options.risk:g} takes {least} "
            "labels)"
        )
    pairs = [
        pair
        for pair in labelled_confidences(run, options.criterion)
        if pair.confidence is not None and pair.agrees is not None
    ]
    if not pairs:
        raise InputError(
            f"{run.path}: no verdict has a label and says how sure it is: a cascade needs a judge "
            "with probabilities, or several judges"
        )
    group_of = run.groups_by(options.groups)
    sure = np.array([pair.confidence for pair in pairs], dtype=float)
    agrees = np.array([pair.agrees for pair in pairs], dtype=float)
    items = len({pair.item for pair in pairs})
    drawn = _Drawn.of(
        [group_of[pair.item] for pair in pairs], items, f"the run's {len(pairs)} labelled verdicts"
    )

    @cache
    def at(n: int, simulations: int) -> Reached:
        chance = np.random.default_rng([options.seed, n])
        found, stands = 0, 0.0
        for _ in range(simulations):
            places, groups = drawn.draw(n, chance)
            chosen = choose_threshold(
                sure[places].tolist(),
                agrees[places].tolist(),
                promise=options.promise,
                risk=options.risk,
                groups=groups,
            ).chosen
            if chosen is not None:
                found += 1
                stands += float((sure >= chosen.threshold).mean())
        return Reached(power=found / simulations, stands=stands / simulations)

    return Design(
        "a threshold that keeps the promise",
        at,
        f"simulation: {drawn.source}, drawn by item, and the threshold chosen on them",
        simulated=True,
        labels=len(pairs) / items,
    )
