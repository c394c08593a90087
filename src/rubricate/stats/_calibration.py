"""Calibration: is a judge that says 80 % right 80 % of the time? And maps that make it so."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import optimize, special

from rubricate.errors import InputError
from rubricate.stats._discrimination import folds_of, with_outcome
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_choice, count_of, number_of, same_length
from rubricate.stats._intervals import NO_VALUES, design_effect, exact_interval, mean_of
from rubricate.stats._numbers import Floats, Integers, numbers, probabilities_of
from rubricate.stats._resampling import (
    CHUNK,
    Bootstrap,
    Groups,
    batches,
    check_bootstrap,
    explained,
    jackknife_totals,
    rows_in,
)

MOST_BINS = 10_000
LEAST_CLUSTERS = 15
"""With fewer clusters the gain of a map has no interval: by simulation it covers 90 % with 14 items
and 96 % with 20 (without allowing for influential items 83 and 86 %)."""
FEW_CLUSTERS = f"no interval: it takes labels of {LEAST_CLUSTERS} items or groups at least"
NONE = "there is no probability with an outcome"
NO_INTERVAL = "no interval: noise makes it larger; see the test of miscalibration"


@dataclass(frozen=True, slots=True)
class ReliabilityBin:
    """One bin of a reliability table.

    Attributes:
        low, high: the bin has the probabilities `low <= p < high`; the last bin also `high`.
        n: the number of probabilities in the bin.
        mean_probability: their mean; None for n = 0.
        frequency: the share of true outcomes, with an exact interval.
    """

    low: float
    high: float
    n: int
    mean_probability: float | None
    frequency: Estimate


@dataclass(frozen=True, slots=True)
class Calibration:
    """How well probabilities fit the outcomes.

    Attributes:
        n: the number of pairs of a probability and an outcome.
        brier: the mean squared difference (Brier 1950), 0 to 1; 0 is best.
        expected_calibration_error: the mean over bins, weighted by their size, of the distance
            between mean probability and frequency (Naeini et al. 2015). Noise makes it larger than
            0 for calibrated probabilities, too, so it has no interval.
        calibration_error: the same less the noise that calibrated probabilities would have.
        miscalibration: p of the test that probabilities are calibrated: how often outcomes drawn
            with these probabilities have as large an error (Broecker and Smith 2007). None without
            draws. Above 0.05 no miscalibration is shown.
        bins: the reliability table.
        binning: a description of the bins.
        left_out: the number of pairs with a missing probability or outcome.
    """

    n: int
    brier: Estimate
    expected_calibration_error: Estimate
    calibration_error: Estimate
    miscalibration: float | None
    bins: tuple[ReliabilityBin, ...]
    binning: str
    left_out: int


def calibration(
    probabilities: Sequence[float | None],
    outcomes: Sequence[bool | None],
    *,
    bins: int = 10,
    binning: Literal["uniform", "quantile"] = "uniform",
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Calibration:
    """Brier score (Brier 1950), ECE (Naeini et al. 2015) and reliability table of probabilities.

    The Brier score has a t interval that allows for errors of a judge that was sure, which are rare
    and large: 1.9 values of 0 and of 1 are added (Agresti and Coull 1998).

    ECE depends on the bins, so `binning` describes them. With 50 pairs a calibrated judge has an
    ECE of 0.15 by noise alone: see `Calibration.calibration_error` and `miscalibration`.

    Args:
        probabilities: of the outcome being true, in [0, 1], (n,); None for a missing one.
        outcomes: true or false, (n,); None if unknown.
        bins: the largest number of bins, 1 to 10,000; equal `quantile` bins become one.
        binning: bins equally wide (`uniform`) or equally full (`quantile`).
        groups: the cluster of each pair, (n,). Default: pairs are independent.
        bootstrap: the number of draws, confidence and seed; None for no intervals and no test.

    Raises:
        InputError: different lengths, a probability outside [0, 1], an unknown binning.

    Example:
        >>> round(calibration([0.9, 0.8, 0.2, 0.4], [True, True, False, True]).brier.value, 4)
        0.1125
    """
    p, y, clusters = _with_outcome(probabilities, outcomes, groups)
    bins = count_of(bins, "bins", 1, MOST_BINS)
    check_choice(binning, "binning", "uniform", "quantile")
    if binning == "uniform":
        edges = np.linspace(0.0, 1.0, bins + 1)
    else:
        edges = np.unique(np.quantile(p, np.linspace(0, 1, bins + 1))) if len(p) else np.empty(0)
        edges = edges if len(edges) > 1 else np.array([0.0, 1.0])
    count = len(edges) - 1
    at = np.clip(np.searchsorted(edges, p, side="right") - 1, 0, count - 1)
    member = np.zeros((len(p), count))
    member[np.arange(len(p)), at] = 1.0

    check_bootstrap(bootstrap)
    brier = Estimate(None, undefined=NONE)
    if len(p):
        probability = 0.975 if bootstrap is None else bootstrap.tails[1]
        brier = mean_of((p - y) ** 2, clusters, probability, (0.0, 1.0), rare=True).mean
        brier = Estimate(brier.value) if bootstrap is None else brier
    gap = float(np.abs((p - y) @ member).sum())
    effect = design_effect(p - y, clusters)[0] if len(np.unique(clusters)) > 1 else 1.0
    words = f"{count} bins, {'equally wide' if binning == 'uniform' else 'equally full'}"
    return Calibration(
        n=len(p),
        brier=brier,
        expected_calibration_error=_without_interval(gap / len(p) if len(p) else None),
        calibration_error=_without_interval(_less_noise(p, member, gap, effect)),
        miscalibration=_miscalibration(p, member, gap, effect, bootstrap),
        bins=tuple(
            _bin(float(edges[i]), float(edges[i + 1]), p[at == i], y[at == i]) for i in range(count)
        ),
        binning=words,
        left_out=len(probabilities) - len(p),
    )


def _without_interval(value: float | None) -> Estimate:
    return Estimate(value, undefined=NONE if value is None else NO_INTERVAL)


def _less_noise(p: Floats, member: Floats, gap: float, effect: float) -> float | None:
    """The calibration error less its expectation for calibrated probabilities.

    `sqrt(error ** 2 - E(error ** 2))`, with the expectation for normal gaps of the bins (after
    Kumar, Liang and Ma 2019, who subtract the noise from squared errors).
    """
    if len(p) == 0:
        return None
    of_bins = effect * ((p * (1 - p)) @ member)
    size = math.sqrt(2 / math.pi) * float(np.sqrt(of_bins).sum())
    expected = size**2 + (1 - 2 / math.pi) * float(of_bins.sum())
    return math.sqrt(max(0.0, gap**2 - expected)) / len(p)


def _miscalibration(
    p: Floats,
    member: Floats,
    gap: float,
    effect: float,
    bootstrap: Bootstrap | None,
) -> float | None:
    """p of the test that probabilities are calibrated.

    Outcomes are drawn independently. If pairs of one cluster are correlated, the errors of the
    draws are multiplied by the root of the design effect (Kish 1965).
    """
    if bootstrap is None or len(p) < 2:
        return None
    generator = np.random.default_rng(bootstrap.seed)
    more = 0
    for batch in batches(bootstrap.resamples, len(p), 8 * CHUNK):
        drawn = p - (generator.random((rows_in(batch), len(p)), dtype=np.float32) < p)
        more += int((math.sqrt(effect) * np.abs(drawn @ member).sum(1) >= gap - 1e-9).sum())
    return (more + 1) / (bootstrap.resamples + 1)


def _with_outcome(
    probabilities: Sequence[float | None],
    happened: Sequence[bool | None],
    groups: Groups = None,
) -> tuple[Floats, Floats, Integers]:
    """Probabilities that have an outcome, with their outcomes and clusters."""
    chances = probabilities_of(probabilities, "probabilities")
    return with_outcome(chances, happened, groups, "probabilities")[:3]


def _bin(low: float, high: float, p: Floats, y: Floats) -> ReliabilityBin:
    mean = float(p.mean()) if len(p) else None
    return ReliabilityBin(low, high, len(p), mean, exact_interval(int(y.sum()), len(p)))


@dataclass(frozen=True, slots=True)
class IsotonicMap:
    """An increasing, continuous map of probabilities, fitted by isotonic regression.

    Pool-adjacent-violators (Ayer et al. 1955; for calibration Zadrozny and Elkan 2002), linear
    between the fitted points and constant outside them. It needs some hundred labels.

    Attributes:
        points: the judge's probabilities, increasing, (m,).
        values: the calibrated probabilities, (m,).

    Raises:
        InputError: there is no point, there are not as many values, or a number is not between 0
            and 1 or is lower than the one before it.
    """

    points: tuple[float, ...]
    values: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("points", "values"):
            array = numbers(getattr(self, name), name)
            if not ((array >= 0) & (array <= 1)).all() or (np.diff(array) < 0).any():
                raise InputError(f"{name}: they must be between 0 and 1 and must not decrease")
        if not same_length(points=self.points, values=self.values):
            raise InputError("points: there is none")

    @classmethod
    def fit(
        cls, probabilities: Sequence[float | None], outcomes: Sequence[bool | None]
    ) -> IsotonicMap:
        """Fit on a training split.

        Args:
            probabilities: the judge's, 0 to 1, (n,).
            outcomes: true or false (1 or 0), (n,).

        Raises:
            InputError: they differ in length, no probability has an outcome, or a number is out of
                range.

        Example:
            >>> IsotonicMap.fit([0.2, 0.6, 0.9], [False, True, True])(0.4)
            0.5
        """
        p, y, _ = _with_outcome(probabilities, outcomes)
        if len(p) == 0:
            raise InputError(f"probabilities, outcomes: {NONE}")
        points, index, count = np.unique(p, return_inverse=True, return_counts=True)
        means = np.bincount(index, weights=y) / count
        fitted = optimize.isotonic_regression(means, weights=count.astype(np.float64)).x
        inner = np.zeros(len(points), dtype=bool)
        inner[1:-1] = (fitted[1:-1] == fitted[:-2]) & (fitted[1:-1] == fitted[2:])
        return cls(tuple(points[~inner].tolist()), tuple(fitted[~inner].tolist()))

    def __call__(self, probability: float) -> float:
        """The calibrated probability; `InputError` for a number that is not between 0 and 1."""
        _check_probability(probability)
        return float(np.interp(probability, self.points, self.values))

    def to_dict(self) -> dict[str, Any]:
        """The map as JSON values; `read_calibration_map` reads it."""
        return {"kind": "isotonic", "points": list(self.points), "values": list(self.values)}


@dataclass(frozen=True, slots=True)
class PlattMap:
    """A logistic map of the probability's log-odds (Platt 1999): two numbers, for few labels.

    Attributes:
        slope, intercept: the calibrated log-odds are `slope * log-odds + intercept`.

    Raises:
        InputError: one is no number, or the slope is negative, which would reverse the order.

    Example:
        >>> fitted = PlattMap.fit([0.9, 0.8, 0.95, 0.3], [True, True, False, False])
        >>> round(fitted(0.9), 2)
        0.54
    """

    slope: float
    intercept: float

    def __post_init__(self) -> None:
        if not number_of(self.slope, "slope") >= 0:
            raise InputError(f"slope must be 0 or more, found {self.slope}")
        number_of(self.intercept, "intercept")

    @classmethod
    def fit(
        cls, probabilities: Sequence[float | None], outcomes: Sequence[bool | None]
    ) -> PlattMap:
        """Fit on a training split by maximum likelihood with Platt's smoothed targets, by
        Newton's method with halved steps.

        If the most likely map would decrease, it is constant instead.

        Args:
            probabilities: the judge's, 0 to 1, (n,).
            outcomes: true or false (1 or 0), (n,).

        Raises:
            InputError: they differ in length, the outcomes are not of both kinds, or a number is
                out of range.
        """
        p, y, _ = _with_outcome(probabilities, outcomes)
        positive, negative = float(y.sum()), float(len(y) - y.sum())
        if positive == 0 or negative == 0:
            raise InputError("a Platt map needs outcomes of both kinds, true and false")
        target = np.where(y == 1, (positive + 1) / (positive + 2), 1 / (negative + 2))
        score = _log_odds(p)

        best = _most_likely(score, target, math.log((positive + 1) / (negative + 1)))
        if best[0] < 0:
            return cls(0.0, float(special.logit(target.mean())))
        return cls(float(best[0]), float(best[1]))

    def __call__(self, probability: float) -> float:
        """The calibrated probability; `InputError` for a number that is not between 0 and 1."""
        _check_probability(probability)
        score = float(_log_odds(np.array([probability]))[0])
        return float(special.expit(self.slope * score + self.intercept))

    def to_dict(self) -> dict[str, Any]:
        """The map as JSON values; `read_calibration_map` reads it."""
        return {"kind": "platt", "slope": self.slope, "intercept": self.intercept}


def _most_likely(score: Floats, target: Floats, intercept: float) -> Floats:
    """Slope and intercept of maximum likelihood, starting at a slope of 0 and this intercept."""
    design, n = np.column_stack([score, np.ones(len(score))]), len(score)

    def loss(parameters: Floats) -> tuple[float, Floats]:
        logit = design @ parameters
        gradient = design.T @ (special.expit(logit) - target) / n
        return float((np.logaddexp(0, logit) - target * logit).sum()) / n, gradient

    best = np.array([0.0, intercept])
    least, gradient = loss(best)
    while np.abs(gradient).max() > 1e-12:
        chance = special.expit(design @ best)
        curvature = (design * (chance * (1 - chance))[:, None]).T @ design / n
        step = np.linalg.lstsq(curvature, gradient, rcond=None)[0]
        now, gradient = loss(best - step)
        while not now < least:  # the loss is convex: a step is too long, or there is none left
            step = step / 2
            if np.abs(step).max() <= 1e-12 * np.abs(best).max():
                return best
            now, gradient = loss(best - step)
        best, least = best - step, now
    return best


CalibrationMap = IsotonicMap | PlattMap
CalibrationMethod: TypeAlias = Literal["isotonic", "platt"]


@dataclass(frozen=True, slots=True)
class CalibrationGain:
    """The effect of maps on pairs that they were not fitted on; see `calibration_gain`.

    Attributes:
        n: the number of pairs of folds without which a map can be fitted; figures are of these.
        clusters: the number of clusters that they come from.
        brier_before, brier_after: the Brier score without and with the map.
        brier_gain: how much lower it is with the map, with a 95 % interval by cluster.
        least_gain: the lower bound of the gain with one-sided confidence of 95 %.
        error_before, error_after: `Calibration.calibration_error`, 10 bins equally wide.
        accuracy_before, accuracy_after: how often the more likely outcome is the true one.
        accuracy_gain: how much higher the accuracy is with the map, with a 95 % interval.
    """

    n: int
    clusters: int
    brier_before: float | None
    brier_after: float | None
    brier_gain: Estimate
    least_gain: float | None
    error_before: float | None
    error_after: float | None
    accuracy_before: float | None
    accuracy_after: float | None
    accuracy_gain: Estimate

    @property
    def why_not(self) -> str | None:
        """Why the map is not shown to be better than none; None where it is.

        A map is better if the least gain in the Brier score is above 0 and comes from 15 clusters
        or more, and the interval of the accuracy's gain is not below 0. In simulations
        (`tools/check_promises.py`) more than nine of ten such maps are better on other data.
        """
        if self.clusters < LEAST_CLUSTERS:
            needed = f"it takes {LEAST_CLUSTERS} items or groups with labels and probabilities"
            return f"{needed}, and there are {self.clusters}"
        if self.least_gain is None:
            return f"the gain in the Brier score has no interval ({self.brier_gain.undefined})"
        if self.least_gain <= 0:
            return f"the gain in the Brier score is {self.brier_gain}"
        if self.accuracy_gain.high is not None and self.accuracy_gain.high < 0:
            return f"the gain in accuracy is {self.accuracy_gain}"
        return None


def calibration_gain(
    probabilities: Sequence[float | None],
    outcomes: Sequence[bool | None],
    *,
    method: CalibrationMethod = "platt",
    groups: Groups = None,
    seed: int = 0,
) -> CalibrationGain:
    """The effect of a calibration map on new data, by cross-validation (Stone 1974).

    Clusters are assigned to ten folds at random; the pairs of each fold are mapped by a map fitted
    on the other folds. Folds are left out if all outcomes of the others are the same.

    Args:
        probabilities: of the outcome being true, in [0, 1], (n,); None for a missing one.
        outcomes: true or false, (n,); None if unknown.
        method: the map to fit.
        groups: the cluster of each pair, (n,); a cluster is never in two folds. Default: pairs are
            independent.
        seed: random seed of the folds.

    Raises:
        InputError: different lengths, a probability outside [0, 1], an unknown method.
    """
    p, y, clusters = _with_outcome(probabilities, outcomes, groups)
    check_choice(method, "method", "isotonic", "platt")
    folds = folds_of(clusters, count_of(seed, "seed"))
    kind = IsotonicMap if method == "isotonic" else PlattMap
    mapped = np.full(len(p), np.nan)
    for fold in np.unique(folds):
        held_out = folds == fold
        if len(np.unique(y[~held_out])) == 2:
            fitted = kind.fit(p[~held_out].tolist(), y[~held_out].tolist())
            mapped[held_out] = [fitted(chance) for chance in p[held_out].tolist()]
    known = ~np.isnan(mapped)
    p, y, mapped, clusters = p[known], y[known], mapped[known], clusters[known]
    gains = (p - y) ** 2 - (mapped - y) ** 2
    # Maps of all folds are alike, so that one item which the map gets wrong moves the whole gain.
    briers = [
        jackknife_totals(
            np.column_stack([gains, np.ones(len(gains))]),
            lambda totals: {"gain": totals[:, 0] / totals[:, 1]},
            scales={"gain": "mean"},
            clusters=clusters,
            bootstrap=Bootstrap(confidence=confidence),
        )["gain"]
        for confidence in (0.95, 0.9)
    ]
    count = len(np.unique(clusters))
    if count < LEAST_CLUSTERS:
        briers = [Estimate(brier.value, undefined=FEW_CLUSTERS) for brier in briers]
    right = [((chances >= 0.5) == y).astype(float) for chances in (p, mapped)]
    before, after = (
        calibration(chances.tolist(), y.tolist(), groups=clusters.tolist(), bootstrap=None)
        for chances in (p, mapped)
    )
    return CalibrationGain(
        n=len(gains),
        clusters=count,
        brier_before=before.brier.value,
        brier_after=after.brier.value,
        brier_gain=explained(briers[0], NO_VALUES),
        least_gain=briers[1].low,
        error_before=before.calibration_error.value,
        error_after=after.calibration_error.value,
        accuracy_before=float(right[0].mean()) if len(y) else None,
        accuracy_after=float(right[1].mean()) if len(y) else None,
        accuracy_gain=mean_of(right[1] - right[0], clusters, 0.975, (-1.0, 1.0)).mean,
    )


def read_calibration_map(data: Mapping[str, Any]) -> CalibrationMap:
    """The map that `to_dict` wrote.

    Args:
        data: the result of `to_dict`, perhaps read from JSON.

    Returns:
        A `PlattMap` (Platt 1999) or an `IsotonicMap` (Zadrozny and Elkan 2002).

    Raises:
        InputError: it is no map, or the map decreases.
    """
    why = "expected kind 'isotonic' with points and values, or 'platt' with slope and intercept"
    try:
        if data["kind"] == "isotonic":
            points, values = numbers(data["points"], "points"), numbers(data["values"], "values")
            return IsotonicMap(tuple(points.tolist()), tuple(values.tolist()))
        if data["kind"] == "platt":
            slope = number_of(data["slope"], "slope")
            return PlattMap(slope, number_of(data["intercept"], "intercept"))
    except InputError as error:
        why = error.message
    except (KeyError, IndexError, TypeError):
        pass
    raise InputError(f"data: not a calibration map: {why}")


def _check_probability(probability: float) -> None:
    if not 0 <= number_of(probability, "probability") <= 1:
        raise InputError(f"probability must be between 0 and 1, found {probability}")


def _log_odds(p: Floats) -> Floats:
    return np.asarray(special.logit(np.clip(p, 1e-6, 1 - 1e-6)))
