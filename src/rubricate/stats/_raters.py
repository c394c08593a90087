"""How far any number of raters agree: alpha, Fleiss' kappa, intraclass correlations, Gwet's AC."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from rubricate.errors import InputError
from rubricate.stats._confusion import krippendorff_alpha as alpha_of_coincidences
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import (
    answers,
    brief,
    check_choice,
    in_order,
    labels_of,
    listed,
)
from rubricate.stats._numbers import numbers, t_quantile
from rubricate.stats._posterior import AGREE, DISAGREE, coefficient_intervals
from rubricate.stats._resampling import (
    TOO_FEW,
    Bootstrap,
    Floats,
    Groups,
    Integers,
    around,
    blocks,
    check_bootstrap,
    cluster_indices,
    drawn_squares,
    explained,
    groups_at,
    jackknife_error,
    jackknife_totals,
)
from rubricate.stats._strata import mean_of_strata
from rubricate.stats._unseen import FEW_DIFFER, few_differ

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Ratings: TypeAlias = Sequence[Sequence[Any]]
"""One row an item, one column a rater; None, NaN or NA where the rater did not rate the item."""

Weights: TypeAlias = Literal["identity", "linear", "quadratic"]

ONE_LABEL = "there is only one label to choose, or no item has two ratings"
LEVELS = ("nominal", "ordinal", "interval")
NO_ITEMS_APART = "all ratings, or all items' means, are the same"
ICC = ("icc_1_1", "icc_1_k", "icc_2_1", "icc_2_k", "icc_3_1", "icc_3_k")
SAME_RATINGS = "all ratings are the same, or no item has two"


def krippendorff_alpha(
    ratings: Ratings,
    *,
    level: Level = "nominal",
    labels: Sequence[Any] | None = None,
    strata: Sequence[Hashable] | None = None,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """Krippendorff's alpha of any number of raters, with any ratings missing.

    The formula is that of Krippendorff (2011), "Computing Krippendorff's Alpha-Reliability"; items
    with fewer than two ratings count for nothing. The interval is that of `label_agreement`, of
    numbers (`interval`) and over several criteria by leaving items out (the jackknife of Tukey
    1958), on the scale of Fisher's z. Over several criteria (`strata`) alpha is
    the mean of the criteria's, weighted by their numbers of ratings: one alpha of all would count
    it as agreement that raters know which criterion is met more often.

    Args:
        ratings: a row an item, a column a rater, None where there is no rating.
        level: how far two ratings are apart: `nominal` (equal or not), `ordinal` (ranks) or
            `interval` (numbers).
        labels: the order of the ratings, for `ordinal`. Default: those that occur, sorted.
        strata: the criterion of each row. Default: all are of one.
        groups: the cluster of each item. Default: each by itself.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: unknown level, a rating that is not one of `labels`, is no number where the
            level is `interval`, or has no order where it is `ordinal`.
    """
    check_choice(level, "level", *LEVELS)
    rows = [listed(row, f"ratings of item {item}") for item, row in _rows(ratings)]
    if level == "interval":
        contributions, statistic = _interval_contributions(rows), _interval_alpha
        sizes = contributions[:, 0]
    else:
        counts = counts_of(rows, labels, ranked=level == "ordinal")
        kinds = counts.shape[1]

        def statistic(totals: Floats) -> Floats:
            matrices = totals.reshape(-1, kinds, kinds)
            return alpha_of_coincidences(matrices, ordered=level == "ordinal")

        def parts(some: Floats) -> Floats:
            return _coincidences(some).reshape(len(some), kinds * kinds)

        if strata is None:
            alpha = _of_patterns(counts, parts, statistic, groups, bootstrap)
            return explained(alpha, SAME_RATINGS)
        contributions = parts(counts)
        sizes = contributions.sum(1)

    index = cluster_indices(strata, len(rows), "strata")
    count = 1 if strata is None else int(index.max(initial=-1)) + 1
    width = contributions.shape[1] + 1
    columns = (np.zeros_like(index) if strata is None else index)[:, None] * width
    entries = np.column_stack([sizes, contributions])
    blocks = sparse.csr_matrix(
        (
            entries.ravel(),
            (np.repeat(np.arange(len(rows)), width), (columns + np.arange(width)).ravel()),
        ),
        shape=(len(rows), count * width),
    )

    def statistics(totals: Floats) -> dict[str, Floats]:
        parts = totals.reshape(len(totals) * count, width)
        alphas = statistic(parts[:, 1:]).reshape(len(totals), count)
        return {"alpha": mean_of_strata(alphas, parts[:, 0].reshape(len(totals), count))}

    estimates = jackknife_totals(
        blocks,
        statistics,
        scales={"alpha": "correlation"},
        groups=groups,
        bootstrap=bootstrap,
        corrected=count > 1,
    )
    return explained(estimates["alpha"], SAME_RATINGS)


def _of_patterns(
    counts: Floats,
    parts: Callable[[Floats], Floats],
    statistic: Callable[[Floats], Floats],
    groups: Groups,
    bootstrap: Bootstrap | None,
) -> Estimate:
    """A figure of how often each item got each label, (n, K), with the interval of
    `coefficient_intervals`: of a prior in which raters all agree, or one gives another label.

    Args:
        parts: what rows of counts add to the totals, (n, p).
        statistic: from totals (b, p) to values (b,).
    """
    n, kinds = counts.shape
    raters = counts.sum(1)
    most = max(2.0, float(np.median(raters[raters > 1]))) if (raters > 1).any() else 2.0
    agree = most * np.eye(kinds)
    other = agree + np.roll(np.eye(kinds), max(1, kinds // 2), axis=1) - np.eye(kinds)
    patterns, index = np.unique(np.vstack([counts, agree, other]), axis=0, return_inverse=True)
    index = index.reshape(-1)
    worth = np.repeat([AGREE / kinds, DISAGREE / kinds], kinds)
    prior = np.bincount(index[n:], weights=worth, minlength=len(patterns)).astype(np.float64)
    added = parts(patterns)
    estimates = coefficient_intervals(
        index[:n],
        cluster_indices(groups, n),
        prior,
        lambda times: {"": statistic(times @ added)},
        bootstrap,
    )
    return estimates[""]


def _rows(ratings: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(listed(ratings, "ratings"))


def counts_of(
    ratings: Ratings, labels: Sequence[Any] | None = None, *, ranked: bool = False
) -> Floats:
    """How often each item got each label, (n, K); `ranked` where the order of labels matters."""
    rows = [answers(row, f"ratings of item {item}") for item, row in _rows(ratings)]
    if labels is None:
        present = {label for row in rows for label in row if label is not None}
        labels = in_order(present, "ratings", ranked=ranked)
    labels = labels_of(labels)
    index = {label: number for number, label in enumerate(labels)}
    counts = np.zeros((len(rows), max(1, len(labels))))
    for item, row in enumerate(rows):
        for label in row:
            if label is None:
                continue
            if label not in index:
                known = ", ".join(brief(name).strip("'") for name in labels)
                raise InputError(
                    f"ratings: {brief(label)} of item {item} is not one of the labels: {known}"
                )
            counts[item, index[label]] += 1
    return counts


def _coincidences(counts: Floats) -> Floats:
    """Each item's pairs of ratings by different raters, (n, K, K), over its raters less one."""
    raters = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    return np.asarray(pairs / np.maximum(raters - 1, 1)[:, None, None])


def _interval_contributions(ratings: Ratings) -> Floats:
    """Of each item: its ratings, their sum, their sum of squares, and how far they are apart."""
    rows = [numbers(row, f"ratings of item {item}") for item, row in _rows(ratings)]
    known = np.concatenate([row[~np.isnan(row)] for row in rows]) if rows else np.empty(0)
    middle = float(known.mean()) if len(known) else 0.0
    contributions = np.zeros((len(rows), 4))
    for item, row in enumerate(rows):
        values = row[~np.isnan(row)] - middle
        count = len(values)
        if count < 2:
            continue
        apart = 2 * count * float(((values - values.mean()) ** 2).sum()) / (count - 1)
        contributions[item] = count, values.sum(), (values**2).sum(), apart
    return contributions


def _interval_alpha(totals: Floats) -> Floats:
    n, sums, squares, apart = totals.T
    expected = 2 * (n * squares - sums**2)
    # What is left of rounding where all ratings are the same is no spread.
    expected = np.where(expected <= 1e-12 * n * np.maximum(squares, 1e-300), np.nan, expected)
    return np.asarray(1 - (n - 1) * apart / expected)


def fleiss_kappa(
    ratings: Ratings,
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """Fleiss' kappa (Fleiss 1971) of items that all have the same number of ratings.

    Items without any rating are left out. Where the numbers of ratings differ it is undefined;
    `krippendorff_alpha` takes such data.

    Args:
        ratings: a row an item, a column a rater, None where there is no rating.
        groups: the cluster of each item. Default: each by itself.
        bootstrap: how the interval is made; None for none.

    Raises:
        InputError: the ratings are no table of labels, or there are not as many groups as items.
    """
    counts = counts_of(ratings)
    rated = np.flatnonzero(counts.sum(1) > 0)
    kept = groups_at(groups, rated, len(counts))
    counts = counts[rated]
    raters = np.unique(counts.sum(1))
    if len(raters) == 0 or raters[0] < 2:
        return Estimate(None, undefined="no item has two ratings")
    if len(raters) > 1:
        return Estimate(None, undefined="the items have different numbers of ratings")
    many = float(raters[0])

    def parts(some: Floats) -> Floats:
        equal = (some * (some - 1)).sum(1) / (many * (many - 1))
        return np.column_stack([some, equal, np.ones(len(some))])

    def statistic(totals: Floats) -> Floats:
        n = totals[:, -1]
        shares = totals[:, :-2] / (n * many)[:, None]
        chance = (shares**2).sum(1)
        single = (totals[:, :-2] > 0).sum(1) < 2
        kappa = (totals[:, -2] / n - chance) / (1 - chance)
        return np.where(single, np.nan, kappa)

    kappa = _of_patterns(counts, parts, statistic, kept, bootstrap)
    return explained(kappa, "all ratings are the same")


def intraclass_correlation(
    ratings: Ratings,
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> dict[str, Estimate]:
    """The six intraclass correlations of Shrout and Fleiss (1979), of one rater and of all k.

    `icc_1_1` and `icc_1_k`: each item is rated by other raters (one-way). `icc_2_1` and `icc_2_k`:
    the raters are a sample of those there could be, and have to agree absolutely (two-way random).
    `icc_3_1` and `icc_3_k`: these raters alone, whose means may differ (two-way mixed,
    consistency). Only items that every rater rated count. Intervals are by the
    jackknife over items of the logarithm of the ratio of mean squares (Arvesen and Schmitz 1970).
    Those of `icc_2_1` and `icc_2_k` also say how little few raters tell of others (generalized
    confidence intervals, Weerahandi 1993). Where fewer than 5 items differ, there are none.

    Args:
        ratings: numbers; a row an item, a column a rater, None where there is no rating.
        groups: the cluster of each item. Default: each by itself.
        bootstrap: how the intervals are made; None for none.

    Returns:
        The six by name (`icc_1_1` to `icc_3_k`), each at most 1; None with the reason where one is
        undefined.

    Raises:
        InputError: rows differ in length, or something is no number.
    """
    check_bootstrap(bootstrap)
    rows = [numbers(row, f"ratings of item {item}") for item, row in _rows(ratings)]
    if len({len(row) for row in rows}) > 1:
        raise InputError("ratings: the rows are not equally long; put None where none was given")
    k = len(rows[0]) if rows else 0
    table = np.array(rows).reshape(len(rows), k)
    complete = np.flatnonzero(~np.isnan(table).any(axis=1))
    kept = groups_at(groups, complete, len(rows))
    return icc_of(table[complete], cluster_indices(kept, len(complete)), bootstrap)


def icc_of(table: Floats, clusters: Integers, bootstrap: Bootstrap | None) -> dict[str, Estimate]:
    """`intraclass_correlation` of numbers that are all there, (n, k), in these clusters (n,)."""
    n, k = table.shape
    if n < 2 or k < 2:
        few = Estimate(None, undefined="it needs two items that two raters or more all rated")
        return dict.fromkeys(ICC, few)
    table = table - table.mean()
    contributions = np.column_stack(
        [table, table.sum(1) ** 2 / k, (table**2).sum(1), np.ones(len(table))]
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = _two_way(contributions.sum(axis=0, keepdims=True), k)
        ends = _log_ratio_ends(contributions, squares, k, clusters, bootstrap)
        if bootstrap is not None and few_differ(table, clusters):
            ends = dict.fromkeys(ends, FEW_DIFFER)
        estimates = {}
        for kind, (between, within) in _ratios(*squares).items():
            for raters, name in ((k, "1"), (1, "k")):
                value = float(_correlation(between / within, raters)[0])
                end = ends[kind]
                if not np.isfinite(value):
                    estimates[f"{kind}_{name}"] = Estimate(None, undefined=NO_ITEMS_APART)
                elif end is None or isinstance(end, str):
                    estimates[f"{kind}_{name}"] = Estimate(value, undefined=end)
                else:
                    low, high = _correlation(np.exp(np.array(end)), raters).tolist()
                    estimates[f"{kind}_{name}"] = around(value, low, high)
    return {name: estimates[name] for name in ICC}


def _two_way(totals: Floats, k: int) -> tuple[Floats, Floats, Floats, Floats]:
    """The mean squares of items, of raters and of what is left, and the number of items."""
    columns, rows, squares, n = totals[:, :k], totals[:, k], totals[:, k + 1], totals[:, k + 2]
    middle = columns.sum(1) ** 2 / (n * k)
    between_raters = (columns**2).sum(1) / n - middle
    left = np.maximum(squares - rows - between_raters, 0.0)
    same = squares - middle <= 1e-12 * np.maximum(squares, 1e-300)
    left[left <= 1e-12 * squares] = 0.0  # what is left of rounding
    items = np.where(same, np.nan, (rows - middle) / (n - 1))
    return items, between_raters / (k - 1), left / ((n - 1) * (k - 1)), n


def _ratios(
    items: Floats, raters: Floats, rest: Floats, n: Floats
) -> dict[str, tuple[Floats, Floats]]:
    """For each kind of correlation the mean square between items, and the one within them."""
    of_raters = (raters - rest) / n
    within = rest + of_raters
    return {
        "icc_1": (items, within),
        "icc_2": (items + of_raters, within),
        "icc_3": (items, rest),
    }


def _correlation(ratio: Floats, raters: int) -> Floats:
    """From the ratio of the mean squares; `raters` is k for one rater, 1 for the mean of all k."""
    return np.asarray(1 - raters / (ratio + raters - 1))


def _log_ratio_ends(
    contributions: Floats,
    squares: tuple[Floats, Floats, Floats, Floats],
    k: int,
    clusters: Integers,
    bootstrap: Bootstrap | None,
) -> dict[str, tuple[float, float] | str | None]:
    """The ends of the interval of the logarithm of each ratio, or why there are none."""
    kinds = _ratios(*squares)
    if bootstrap is None or clusters.max() < 1:
        return dict.fromkeys(kinds, None if bootstrap is None else TOO_FEW)
    of_blocks = blocks(contributions, clusters, bootstrap.seed)
    without = _ratios(*_two_way(contributions.sum(axis=0) - of_blocks, k))
    generator = np.random.default_rng(bootstrap.seed)
    items, raters, rest, n = squares
    drawn = _ratios(items, drawn_squares(raters, k - 1, generator, bootstrap.resamples), rest, n)
    tails = bootstrap.tails
    ends: dict[str, tuple[float, float] | str | None] = {}
    for kind, (between, within) in without.items():
        error = jackknife_error(np.log(between / within))
        if isinstance(error, str):
            ends[kind] = error
        elif kind == "icc_2":
            noise = generator.standard_t(error.freedom, bootstrap.resamples)
            among = np.log(drawn[kind][0] / drawn[kind][1]) + error.size * noise
            low, high = np.quantile(among, tails).tolist()
            ends[kind] = low, high
        else:
            middle = float(np.log(kinds[kind][0] / kinds[kind][1])[0])
            half = t_quantile(tails[1], error.freedom) * error.size
            ends[kind] = middle - half, middle + half
    return ends


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
    nearly all ratings are the same. The interval is as that of `label_agreement`.

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

    def parts(some: Floats) -> Floats:
        raters = some.sum(1)
        several = raters > 1
        agreed = (some * (some @ weight - 1)).sum(1)
        return np.column_stack(
            [
                np.where(several, agreed / np.maximum(raters * (raters - 1), 1), 0.0),
                several,
                some / np.maximum(raters, 1)[:, None],
                raters > 0,
            ]
        )

    def statistic(totals: Floats) -> Floats:
        share = totals[:, 2:-1] / totals[:, -1:]
        chance = weight.sum() * (share * (1 - share)).sum(1) / max(1, kinds * (kinds - 1))
        kappas = (totals[:, 0] / totals[:, 1] - chance) / (1 - chance)
        return kappas if kinds > 1 else np.full_like(kappas, np.nan)

    return explained(_of_patterns(counts, parts, statistic, groups, bootstrap), ONE_LABEL)


def label_weights(kinds: int, weights: Weights) -> Floats:
    """How far labels agree, (K, K): 1 for equal ones."""
    if weights == "identity" or kinds < 2:
        return np.eye(kinds)
    places = np.arange(kinds)
    distance = np.abs(places[:, None] - places[None, :]) / (kinds - 1)
    return np.asarray(1 - distance ** (1 if weights == "linear" else 2))
