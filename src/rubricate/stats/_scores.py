"""Agreement of a judge's numbers with people's."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from rubricate.stats._agreement import ONE_PAIR, SAME_STEP
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_flag, same_length
from rubricate.stats._intervals import mean_of, share_of, weighted_mean
from rubricate.stats._labels import NO_PAIR
from rubricate.stats._numbers import Floats, Integers, effective, numbers, weights_of
from rubricate.stats._posterior import Coefficient, coefficient_intervals, table_priors
from rubricate.stats._raters import icc_of
from rubricate.stats._resampling import (
    Bootstrap,
    Groups,
    Scale,
    cells,
    complete_cases,
    explained,
    jackknife_totals,
)
from rubricate.stats._unseen import FEW_DIFFER, LEAST_OF_RANGE, are_few, is_skewed, mostly_same

CONSTANT = "one of the two gave one number throughout"
SAME = "both gave one and the same number throughout"

_WHY = {
    **dict.fromkeys(("pearson", "spearman", "kendall_tau_b"), CONSTANT),
    **dict.fromkeys(("quadratic_kappa", "krippendorff_alpha"), SAME),
}
COEFFICIENTS = {"pearson", "spearman", "kendall_tau_b", "krippendorff_alpha", "quadratic_kappa"}
SCALES: dict[str, Scale] = {
    **dict.fromkeys(("mae", "rmse"), "size"),
    **dict.fromkeys(COEFFICIENTS, "correlation"),
}
STEPS = 12
"""Coefficients of scales up to this many steps have the interval of a confusion matrix, which
allows for answers that were not seen: without it, kappa of skewed scores covered 70 to 90 %."""
NOT_WEIGHTED = {
    *("kendall_tau_b", "wasserstein", "ks"),
    *("icc_1_1", "icc_2_1", "icc_3_1", "icc_1_k", "icc_2_k", "icc_3_k"),
}
WITHOUT_WEIGHTS = "it is not defined for weighted labels"
NO_DISTANCE = "no interval: samples of one distribution are apart too"


@dataclass(frozen=True, slots=True)
class LevelBias:
    """The bias of a judge at one step of a scale.

    Attributes:
        level: the step that people gave; means of several people count for the nearest.
        n: the number of pairs with it.
        bias: the judge minus people, with a t interval.
    """

    level: float
    n: int
    bias: Estimate


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """The agreement of a judge's numbers with people's.

    Attributes:
        n: the number of pairs that count: both gave a number.
        clusters: the number of clusters that they come from.
        judge_mean, human_mean: over these pairs; None for n = 0.
        figures: `bias` (the judge minus people), `mae`, `rmse`, `pearson`, `spearman`,
            `kendall_tau_b`, the six `icc_1_1` to `icc_3_k`, `krippendorff_alpha` (interval),
            `wasserstein` and `ks` (distances of the two distributions); for a scale also
            `exact_accuracy`, `within_one_accuracy` and `quadratic_kappa`.
        not_decided: the number of pairs without one of the two numbers, by cause.
        levels: for a scale, the bias at each step that people gave, the lowest first.
    """

    n: int
    clusters: int
    judge_mean: float | None
    human_mean: float | None
    figures: Mapping[str, Estimate]
    not_decided: Mapping[str, int]
    levels: tuple[LevelBias, ...] = ()


def score_agreement(
    judge: Sequence[float | None],
    human: Sequence[float | None],
    *,
    scale: bool = False,
    groups: Groups = None,
    weights: Sequence[float] | None = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> ScoreAgreement:
    """Agreement of two raters' numbers for the same items.

    The formulas and their sources: Pearson; Spearman with midranks; tau-b (Kendall 1945); the
    intraclass correlations, k = 2 (Shrout and Fleiss 1979; see `intraclass_correlation`); alpha
    with interval distances (Krippendorff 2011); the Wasserstein-1 distance (earth mover's) and the
    Kolmogorov-Smirnov distance of the two empirical distributions; quadratic kappa (Cohen 1968).

    The bias, and the mean errors of a scale, have the interval of `clustered_mean`, which allows
    for errors up to the range of the numbers; the two accuracies that of `clustered_share`, and the
    intraclass correlations those of `intraclass_correlation`. Coefficients of a scale of up to 12
    steps have the interval of `label_agreement`. The others have that of the jackknife (Tukey 1958)
    with the quantile of t: correlations on the scale of Fisher's z (1921), mean errors on that of
    their logarithm. If more than half of all numbers are the same, coefficients have an interval
    only if 10 items or groups have others. Two samples of one distribution have a distance
    (`wasserstein`, `ks`) above 0, so that an interval would never contain 0: there is none.

    Args:
        judge, human: numbers for the same items in the same order, (n,); None for a missing one.
            Such pairs are left out and counted.
        scale: whether the numbers are steps of a scale (1, 2, 3, ...) or means of steps. Then
            `exact_accuracy` is the share of pairs less than half a step apart, and
            `within_one_accuracy` that of pairs a step apart or less.
        groups: the cluster of each pair, for the intervals. Default: pairs are independent.
        weights: what each pair counts, (n,): one over the chance with which its item was chosen.
            The intraclass correlations, tau-b, the distances and the bias by step are without
            weights only. Default: all the same.
        bootstrap: the number of draws, confidence and seed; None for no intervals.

    Returns:
        Errors and distances in the unit of the numbers, accuracies from 0 to 1, correlations from
        -1 to 1.

    Raises:
        InputError: the sequences differ in length, or a value is no number.

    Example:
        >>> agreement = score_agreement([1, 2, 3, 5], [1, 2, 4, 4], scale=True)
        >>> agreement.figures["exact_accuracy"].value, agreement.figures["mae"].value
        (0.5, 0.5)
    """
    check_flag(scale, "scale")
    same_length(judge=judge, human=human)
    x, y = numbers(judge, "judge"), numbers(human, "human")
    causes = Counter(
        {
            "no human number": int(np.isnan(y).sum()),
            "no number of the judge": int((np.isnan(x) & ~np.isnan(y)).sum()),
        }
    )
    is_weighted = weights is not None
    worth = np.ones(len(x)) if weights is None else weights_of(weights, len(x))
    _, clusters, (x, y, worth) = complete_cases(groups, x, y, worth)
    worth = effective(worth)
    table = np.stack([x, y], axis=1)
    in_steps = bool(scale and len(x) and (table == np.round(table)).all())
    if in_steps and float(np.ptp(table)) < STEPS:
        least, kinds = table.min(), int(np.ptp(table)) + 1
        index = ((y - least) * kinds + x - least).astype(np.int64)
        counts = np.bincount(index, worth, kinds**2).astype(np.float64)
        spreads = _of_table(counts.reshape(kinds, kinds))
        spreads |= coefficient_intervals(
            index,
            clusters,
            table_priors(kinds, ordered=True),
            _of_cells(kinds),
            bootstrap,
            worth if is_weighted else None,
        )
    else:
        distinct, index = np.unique(table, axis=0, return_inverse=True)
        spreads = jackknife_totals(
            sparse.diags(worth) @ cells(index.reshape(-1), len(distinct)),
            _Pairs(distinct[:, 0], distinct[:, 1], steps=scale).statistics,
            scales=SCALES,
            clusters=clusters,
            bootstrap=bootstrap,
        )
    figures = {
        name: explained(figure, _WHY.get(name, NO_PAIR) if len(x) else NO_PAIR)
        for name, figure in spreads.items()
    }
    figures |= icc_of(table, clusters, bootstrap)
    if is_weighted:
        for name in NOT_WEIGHTED & figures.keys():
            figures[name] = Estimate(None, undefined=WITHOUT_WEIGHTS)
    if len(x) and bootstrap is not None:
        names = ("bias", "mae", "rmse") if scale else ("bias",)
        shared = (x, y, clusters, bootstrap, worth if is_weighted else None)
        figures |= {name: _error_interval(name, *shared) for name in names}
        for name in ("wasserstein", "ks") if not is_weighted else ():
            figures[name] = Estimate(figures[name].value, undefined=NO_DISTANCE)
        if is_skewed(table, clusters):
            for name in COEFFICIENTS & figures.keys():
                value, why = figures[name].value, figures[name].undefined
                figures[name] = Estimate(value, undefined=why if value is None else FEW_DIFFER)
        if scale:
            apart = np.abs(x - y)
            for name, hits in (
                ("exact_accuracy", apart < SAME_STEP),
                ("within_one_accuracy", apart <= 1),
            ):
                figures[name] = share_of(
                    hits,
                    clusters,
                    bootstrap.confidence,
                    independent=groups is None,
                    worth=worth if is_weighted else None,
                )
    kappa = figures.get("quadratic_kappa")
    if kappa is not None and kappa.value is not None and len(x) == 1:
        figures["quadratic_kappa"] = Estimate(None, undefined=ONE_PAIR)
    return ScoreAgreement(
        n=len(x),
        clusters=len(set(clusters.tolist())),
        judge_mean=float(np.average(x, weights=worth)) if len(x) else None,
        human_mean=float(np.average(y, weights=worth)) if len(x) else None,
        figures=figures,
        not_decided={cause: count for cause, count in causes.items() if count},
        levels=_by_level(x, y, clusters, bootstrap) if scale and not is_weighted else (),
    )


def _of_table(counts: Floats) -> dict[str, Estimate]:
    """What counts of steps, people's in rows and the judge's in columns, show without a model."""
    n, steps = float(counts.sum()), np.arange(len(counts))
    apart = steps - steps[:, None]
    until = np.abs(np.cumsum(counts.sum(axis=0) - counts.sum(axis=1)))
    values = {
        "bias": (counts * apart).sum() / n,
        "mae": (counts * np.abs(apart)).sum() / n,
        "rmse": math.sqrt((counts * apart**2).sum() / n),
        "wasserstein": until.sum() / n,
        "ks": until.max() / n,
        "exact_accuracy": np.trace(counts) / n,
        "within_one_accuracy": counts[np.abs(apart) <= 1].sum() / n,
    }
    return {name: Estimate(float(value)) for name, value in values.items()}


def _of_cells(kinds: int) -> dict[str, Coefficient]:
    """The coefficients of confusion matrices of steps, as functions of their cells, (b, K * K)."""
    steps = np.arange(kinds) - (kinds - 1) / 2
    x, y, ones = np.tile(steps, kinds), np.repeat(steps, kinds), np.ones(kinds)
    powers = np.column_stack([np.ones(kinds**2), x, y, x * x, y * y, x * y])
    of_x, of_y = np.tile(np.eye(kinds), (kinds, 1)), np.repeat(np.eye(kinds), kinds, axis=0)
    midranks = np.triu(np.ones((kinds, kinds))) - np.eye(kinds) / 2 - 0.5
    corner = np.triu(np.ones((kinds, kinds)), 1)[:, 1:]
    before = np.kron(corner, corner)  # the cells above and left of each inner cell
    inner = np.arange(kinds**2).reshape(kinds, kinds)[1:, 1:].ravel()

    def moments(counts: Floats) -> Floats:
        return np.asarray((counts @ powers).T)

    def ratio(above: Floats, below: Floats, whole: Floats) -> Floats:
        # If one side, or both, gave one number throughout, the rest is rounding, not spread.
        return np.asarray(above / np.where(below <= 1e-12 * whole, np.nan, below))

    def pearson(counts: Floats) -> Floats:
        n, x, y, xx, yy, xy = moments(counts)
        spread = np.sqrt(np.maximum(n * xx - x * x, 0.0) * np.maximum(n * yy - y * y, 0.0))
        return np.clip(ratio(n * xy - x * y, spread, n * n), -1.0, 1.0)

    def quadratic_kappa(counts: Floats) -> Floats:
        n, x, y, xx, yy, xy = moments(counts)
        return 1 - ratio(n * (xx + yy - 2 * xy), n * (xx + yy) - 2 * x * y, n * n)

    def alpha(counts: Floats) -> Floats:
        n, x, y, xx, yy, xy = moments(counts)
        pooled = 2 * n * (xx + yy) - (x + y) ** 2
        return 1 - ratio((2 * n - 1) * (xx + yy - 2 * xy), pooled, n * n)

    def spearman(counts: Floats) -> Floats:
        columns, rows = counts @ of_x, counts @ of_y
        dx, dy = columns @ midranks, rows @ midranks
        tables = counts.reshape(-1, kinds, kinds)
        spread = np.sqrt((columns * dx * dx @ ones) * (rows * dy * dy @ ones))
        above = np.einsum("bij,bj,bi->b", tables, dx, dy)
        return np.clip(ratio(above, spread, (columns @ ones) ** 3), -1.0, 1.0)

    def kendall(counts: Floats) -> Floats:
        concordant = np.einsum("bp,bp->b", counts[:, inner], counts @ before)
        return _tau_b(counts @ powers[:, 0], concordant, counts @ of_x, counts @ of_y, counts)

    return {
        "pearson": pearson,
        "spearman": spearman,
        "kendall_tau_b": kendall,
        "krippendorff_alpha": alpha,
        "quadratic_kappa": quadratic_kappa,
    }


def _error_interval(
    name: str,
    x: Floats,
    y: Floats,
    clusters: Integers,
    bootstrap: Bootstrap,
    worth: Floats | None = None,
) -> Estimate:
    """Bias, mean or root mean squared error with the interval of `clustered_mean`, for errors up to
    the range of the numbers."""
    most = float(np.ptp([x, y]))
    errors = {"bias": x - y, "mae": np.abs(x - y), "rmse": (x - y) ** 2}[name]
    same = mostly_same(errors) if name == "rmse" and most > 0 else None
    if name == "rmse":
        most **= 2
        # One error from end to end makes most of a mean square, and few items do not show the ends.
        if same is not None and len(x) < LEAST_OF_RANGE and are_few(same, clusters):
            return Estimate(math.sqrt(np.average(errors, weights=worth)), undefined=FEW_DIFFER)
    if worth is not None:
        mean = weighted_mean(errors, worth, clusters, bootstrap.tails[1])
    else:
        bounds = (-most if name == "bias" else 0.0, most) if most > 0 else None
        mean = mean_of(errors, clusters, bootstrap.tails[1], bounds, rare=same is not None).mean
    if name == "bias":
        return mean
    mean = mean.within(0.0, math.inf)
    return mean.mapped(math.sqrt) if name == "rmse" else mean


def _by_level(
    x: Floats, y: Floats, clusters: Integers, bootstrap: Bootstrap | None
) -> tuple[LevelBias, ...]:
    nearest = np.floor(y + 0.5)
    levels = []
    for level in np.unique(nearest).tolist():
        at = nearest == level
        bias = Estimate(float((x[at] - y[at]).mean()))
        if bootstrap is not None:
            bias = _error_interval("bias", x[at], y[at], clusters[at], bootstrap)
        levels.append(LevelBias(level, int(at.sum()), bias))
    return tuple(levels)


class _Pairs:
    """Distinct pairs (x, y), x the judge's number and y a person's, that resamples only weight.

    So everything that needs an order is sorted once. A statistic takes weights (b, p) and returns
    (b,), NaN where it is undefined.

    Args:
        x, y: (p,) each.
        steps: whether the numbers are steps of a scale, which adds exact and within-one accuracy
            and quadratic kappa.
    """

    def __init__(self, x: Floats, y: Floats, *, steps: bool) -> None:
        self.x, self.y, self.steps = x, y, steps
        _, self._of_x = np.unique(x, return_inverse=True)
        _, self._of_y = np.unique(y, return_inverse=True)
        self._x_cells = cells(self._of_x, int(self._of_x.max(initial=-1)) + 1)
        self._y_cells = cells(self._of_y, int(self._of_y.max(initial=-1)) + 1)
        pooled, position = np.unique(np.concatenate([x, y]), return_inverse=True)
        self._gaps = np.diff(pooled)
        of_x, of_y = (cells(part, len(pooled)) for part in (position[: len(x)], position[len(x) :]))
        self._pooled, self._step = of_x + of_y, of_x - of_y
        self._concordant = _ConcordantPairs(x, y)

    def statistics(self, weights: Floats) -> dict[str, Floats]:
        """All statistics of each weighting, (b, p)."""
        n = weights.sum(1)
        difference = self.x - self.y
        of_x, of_y = _sums(weights, self._x_cells), _sums(weights, self._y_cells)
        constant = np.where(((of_x > 0).sum(1) < 2) | ((of_y > 0).sum(1) < 2), np.nan, 1.0)
        statistics = {
            "bias": weights @ difference / n,
            "mae": weights @ np.abs(difference) / n,
            "rmse": np.sqrt(weights @ difference**2 / n),
            "pearson": constant * _correlation(weights, self.x, self.y),
            "spearman": constant
            * _correlation(weights, _midranks(of_x)[:, self._of_x], _midranks(of_y)[:, self._of_y]),
            "kendall_tau_b": constant * self._kendall(weights, of_x, of_y),
            **self._two_raters(weights),
            **self._distances(weights),
        }
        if self.steps:
            statistics["exact_accuracy"] = weights @ (np.abs(difference) < SAME_STEP) / n
            statistics["within_one_accuracy"] = weights @ (np.abs(difference) <= 1) / n
        return statistics

    def _two_raters(self, weights: Floats) -> dict[str, Floats]:
        """Coefficients that treat the two sides as two raters, from moments."""
        n = weights.sum(1)
        mean_x, mean_y = weights @ self.x / n, weights @ self.y / n
        xx = (weights * (self.x - mean_x[:, None]) ** 2).sum(1) / n
        yy = (weights * (self.y - mean_y[:, None]) ** 2).sum(1) / n
        apart = weights @ (self.x - self.y) ** 2 / n
        shift = (mean_x - mean_y) ** 2
        same = (_sums(weights, self._pooled) > 0).sum(1) < 2
        # Krippendorff (2011) with interval distances: 2 n values are pooled.
        pooled = np.where(same, np.nan, xx + yy + shift / 2)
        coefficients = {"krippendorff_alpha": 1 - (2 * n - 1) / (2 * n) * apart / pooled}
        if self.steps:  # Cohen (1968) with squared distances
            coefficients["quadratic_kappa"] = np.where(same, np.nan, 1 - apart / (xx + yy + shift))
        return coefficients

    def _kendall(self, weights: Floats, of_x: Floats, of_y: Floats) -> Floats:
        return _tau_b(weights.sum(1), self._concordant.count(weights), of_x, of_y, weights)

    def _distances(self, weights: Floats) -> dict[str, Floats]:
        """How far the two distributions are apart, whichever number belongs to which."""
        n = weights.sum(1)
        apart = np.abs(np.cumsum(_sums(weights, self._step), axis=1))
        return {"wasserstein": apart[:, :-1] @ self._gaps / n, "ks": apart.max(1, initial=0.0) / n}


class _ConcordantPairs:
    """Counts pairs that both sides put in the same order, without ties.

    A merge sort (Knight 1966) whose steps are the same for every weighting: at each level, it
    counts pairs of the left and the right half of a block of which the left one has the smaller y.
    """

    def __init__(self, x: Floats, y: Floats) -> None:
        self._order = np.lexsort((-y, x))  # ties of x from the highest y, so that they never count
        height = y[self._order]
        self._levels: list[tuple[Integers, Floats, Integers]] = []
        indices = np.arange(len(x))
        width = 1
        while width < len(x):
            block, in_left = indices // (2 * width), (indices // width) % 2 == 0
            merged = np.lexsort((in_left, height, block))
            starts = block * 2 * width
            self._levels.append((merged, in_left[merged].astype(np.float64), starts))
            width *= 2

    def count(self, weights: Floats) -> Floats:
        """The weight of concordant pairs of each weighting, (b,)."""
        ordered = weights[:, self._order]
        concordant = np.zeros(len(weights))
        for merged, in_left, starts in self._levels:
            here = ordered[:, merged]
            lower = here * in_left
            until = np.cumsum(lower, axis=1)
            before = (until - lower)[:, starts]  # the left weight of the blocks before
            concordant += ((here - lower) * (until - before)).sum(1)
        return concordant


def _tau_b(n: Floats, concordant: Floats, of_x: Floats, of_y: Floats, pairs: Floats) -> Floats:
    """Kendall's tau-b (1945) from counts of concordant pairs, values and distinct pairs."""
    every = n * (n - 1) / 2
    ties_x, ties_y, ties_both = (
        (np.einsum("bp,bp->b", count, count) - n) / 2 for count in (of_x, of_y, pairs)
    )
    discordant = every - ties_x - ties_y + ties_both - concordant
    return np.asarray((concordant - discordant) / np.sqrt((every - ties_x) * (every - ties_y)))


def _sums(weights: Floats, groups: Any) -> Floats:
    return np.ascontiguousarray((groups.T @ weights.T).T)


def _midranks(counts: Floats) -> Floats:
    """The rank of each value in order, ties in the middle; counts (b, values)."""
    return np.asarray(np.cumsum(counts, axis=1) - (counts - 1) / 2)


def _correlation(weights: Floats, x: Floats, y: Floats) -> Floats:
    """Pearson's; x and y are (p,) or (b, p)."""
    n = weights.sum(1)
    dx = x - ((weights * x).sum(1) / n)[:, None]
    dy = y - ((weights * y).sum(1) / n)[:, None]
    above = (weights * dx * dy).sum(1)
    correlation = above / np.sqrt((weights * dx * dx).sum(1) * (weights * dy * dy).sum(1))
    return np.asarray(np.clip(correlation, -1.0, 1.0))
