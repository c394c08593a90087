"""Shares of many criteria: each is drawn to the others, the more the fewer its outcomes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from rubricate.errors import InputError
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_share, count_of, listed, same_length
from rubricate.stats._intervals import NO_COUNT, effective_number
from rubricate.stats._numbers import Floats, effective, outcomes, weights_of
from rubricate.stats._resampling import Groups, cluster_indices

MEANS = np.linspace(0.005, 0.995, 100)
"""Means of the criteria's shares that are considered."""
SPREADS = np.linspace(0.5, 40, 80) / 40.5
"""`k / (1 + k)` for the number of outcomes k that the other criteria are worth."""
DRAWS = 4000


@dataclass(frozen=True, slots=True)
class PooledShare:
    """A criterion's share, drawn to those of the others.

    Attributes:
        share: the mean of its posterior distribution, with the interval.
        lowest: the probability that it is the lowest of all.
    """

    share: Estimate
    lowest: float


def pooled_shares(
    successes: Sequence[Sequence[bool | None]],
    *,
    groups: Sequence[Groups] | None = None,
    weights: Sequence[Sequence[float]] | None = None,
    confidence: float = 0.95,
    seed: int = 0,
) -> list[PooledShare]:
    """Shares of several criteria by partial pooling.

    With ten outcomes a criterion, the lowest of many raw shares is mostly the unluckiest. The
    shares are taken as a sample of a beta distribution, whose mean (uniform) and size
    (`k / (1 + k)` uniform) are integrated out on a grid (Gelman et al. 2013, section 5.3), so
    that the interval knows that they are estimated. Clusters and weights count as in
    `clustered_share`, by the effective number of outcomes.

    Args:
        successes: for each criterion its outcomes, true or false; None for a missing one.
        groups: for each criterion the cluster of each outcome. Default: outcomes are independent.
        weights: for each criterion what each outcome counts. Default: all the same.
        confidence: the intervals' nominal coverage.
        seed: random seed of the draws.

    Returns:
        A share from 0 to 1 for each criterion, in their order; undefined without outcomes.

    Raises:
        InputError: fewer than two criteria, different lengths, or an outcome that is not true or
            false.

    Example:
        >>> shares = pooled_shares([[1] * 9 + [0], [1] * 8 + [0] * 2, [1] * 10, [1] * 3 + [0] * 7])
        >>> " ".join(f"{each.share.value:.1f}" for each in shares)
        '0.9 0.8 0.9 0.4'
    """
    check_share(confidence, "confidence")
    seed = count_of(seed, "seed")
    every = listed(successes, "successes")
    if len(every) < 2:
        raise InputError("successes must have two criteria or more")
    sides = {"successes": every}
    if groups is not None:
        sides["groups"] = listed(groups, "groups")
    if weights is not None:
        sides["weights"] = listed(weights, "weights")
    same_length(**sides)
    counts = [
        _counts(
            hits,
            None if groups is None else sides["groups"][at],
            None if weights is None else sides["weights"][at],
        )
        for at, hits in enumerate(every)
    ]
    part, whole = (np.array(side) for side in zip(*counts, strict=True))
    drawn = _drawn(part, whole, np.random.default_rng(seed))
    known = whole > 0
    lowest = np.zeros(len(every))
    if known.any():
        places = np.flatnonzero(known)[drawn[:, known].argmin(axis=1)]
        lowest = np.bincount(places, minlength=len(every)) / len(drawn)
    tails = (1 - confidence) / 2, (1 + confidence) / 2
    shares = []
    for at, is_known in enumerate(known):
        estimate = Estimate(None, undefined=NO_COUNT)
        if is_known:
            low, high = np.quantile(drawn[:, at], tails).tolist()
            estimate = Estimate(float(drawn[:, at].mean()), low, high)
        shares.append(PooledShare(estimate, float(lowest[at])))
    return shares


def _counts(hits: object, groups: Groups, weights: object) -> tuple[float, float]:
    """The successes and the number of outcomes of a criterion, as independent ones."""
    array = outcomes(hits, "successes")
    clusters = cluster_indices(groups, len(array))
    worth = np.ones(len(array)) if weights is None else weights_of(weights, len(array))
    known = ~np.isnan(array)
    if not known.any():
        return 0.0, 0.0
    array, worth, clusters = array[known], effective(worth[known]), clusters[known]
    _, index = np.unique(clusters, return_inverse=True)
    parts = np.bincount(index, worth * array).astype(np.float64)
    wholes = np.bincount(index, worth).astype(np.float64)
    share = float(parts.sum() / wholes.sum())
    number = effective_number(parts, wholes)[0] if len(wholes) > 1 else 1.0
    return share * number, number


def _drawn(part: Floats, whole: Floats, generator: np.random.Generator) -> Floats:
    """Draws of the criteria's shares, (draws, criteria)."""
    mean, spread = (axis.ravel() for axis in np.meshgrid(MEANS, SPREADS))
    size = spread / (1 - spread)
    a, b = mean * size, (1 - mean) * size
    fit = np.zeros(len(a))
    for hits, n in zip(part.tolist(), whole.tolist(), strict=True):
        fit += special.betaln(a + hits, b + n - hits) - special.betaln(a, b)
    chance = np.exp(fit - fit.max())
    at = generator.choice(len(a), DRAWS, p=chance / chance.sum())
    shapes = a[at][:, None] + part, b[at][:, None] + whole - part
    return np.asarray(generator.beta(*shapes))
