"""Gwet's agreement coefficients AC1 and AC2 of any number of raters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from rubricate.stats._annotators import Ratings, counts_of
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import check_choice
from rubricate.stats._jackknife import jackknife_totals
from rubricate.stats._resampling import Bootstrap, Floats, Groups

Weights: TypeAlias = Literal["identity", "linear", "quadratic"]
ONE_LABEL = "there is only one label to choose, or no item has two ratings"


def gwet_ac(
    ratings: Ratings,
    *,
    weights: Weights = "identity",
    labels: Sequence[Any] | None = None,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """Gwet's AC1 (`identity`) or AC2 of any number of raters, with any ratings missing.

    `(p_a - p_e) / (1 - p_e)` with the chance agreement `T sum(q (1 - q)) / (K (K - 1))`: q is a
    label's share, K the number of labels and T the sum of the weights (Gwet 2008; Gwet 2014,
    "Handbook of Inter-Rater Reliability", chapters 3 and 5). Unlike kappa it does not fall where
    nearly all ratings are the same. The interval is that of the jackknife.

    Args:
        ratings: a row an item, a column a rater; None where there is no rating.
        weights: how far two labels agree: only equal ones (`identity`), or less by the distance of
            their places (`linear`) or by its square (`quadratic`).
        labels: the labels that may be given, in order. Default: those that were, sorted.
        groups: the cluster of each item. Default: each by itself.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: unknown weights, the ratings are no table of labels, or one is not of `labels`.
    """
    check_choice(weights, "weights", "identity", "linear", "quadratic")
    counts = counts_of(ratings, labels, ranked=weights != "identity")
    kinds = counts.shape[1]
    weight = label_weights(kinds, weights)
    raters = counts.sum(1)
    several = raters > 1
    agreed = (counts * (counts @ weight - 1)).sum(1)
    contributions = np.column_stack(
        [
            np.where(several, agreed / np.maximum(raters * (raters - 1), 1), 0.0),
            several,
            counts / np.maximum(raters, 1)[:, None],
            raters > 0,
        ]
    )

    def statistics(totals: Floats) -> dict[str, Floats]:
        share = totals[:, 2:-1] / totals[:, -1:]
        chance = weight.sum() * (share * (1 - share)).sum(1) / max(1, kinds * (kinds - 1))
        found = (totals[:, 0] / totals[:, 1] - chance) / (1 - chance)
        return {"ac": found if kinds > 1 else np.full_like(found, np.nan)}

    found = jackknife_totals(
        contributions, statistics, scales={"ac": "correlation"}, groups=groups, bootstrap=bootstrap
    )
    return found["ac"].estimate(ONE_LABEL)


def label_weights(kinds: int, weights: Weights) -> Floats:
    """How far labels agree, (K, K): 1 for equal ones."""
    if weights == "identity" or kinds < 2:
        return np.eye(kinds)
    places = np.arange(kinds)
    distance = np.abs(places[:, None] - places[None, :]) / (kinds - 1)
    return np.asarray(1 - distance ** (1 if weights == "linear" else 2))
