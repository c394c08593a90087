"""Agreement of any number of raters: alpha, Fleiss' kappa, intraclass correlations, Gwet's AC."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, TypeAlias

import numpy as np
from scipy import sparse

from rubricate.errors import InputError
from rubricate.stats._confusion import krippendorff_alpha as alpha_of_coincidences
from rubricate.stats._confusion import label_weights
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import (
    PLAIN,
    answers,
    brief,
    check_choice,
    in_order,
    labels_of,
    listed,
)
from rubricate.stats._numbers import Floats, Integers, numbers, t_quantile
from rubricate.stats._posterior import FAR, coefficient_intervals, two_priors
from rubricate.stats._resampling import (
    TOO_FEW,
    Bootstrap,
    Groups,
    around,
    blocks,
    check_bootstrap,
    cluster_indices,
    drawn_squares,
    explained,
    jackknife_error,
    jackknife_totals,
)
from rubricate.stats._strata import mean_of_strata
from rubricate.stats._unseen import (
    FEW_DIFFER,
    LEAST_LABELS,
    are_few,
    far_items,
    few_differ,
    is_skewed,
)

Level: TypeAlias = Literal["nominal", "ordinal", "interval"]
Ratings: TypeAlias = Sequence[Sequence[Any]]
"""One row an item, one column a rater; None, NaN or NA where the rater did not rate the item."""

Weights: TypeAlias = Literal["identity", "linear", "quadratic"]
POWERS: dict[Weights, int] = {"identity": 0, "linear": 1, "quadratic": 2}

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
    with fewer than two ratings are ignored. The interval is that of `label_agreement`; for numbers
    (`interval`) and over several criteria it is by leaving items out (the jackknife of Tukey 1958),
    on the scale of Fisher's z. Over several criteria (`strata`) alpha is the mean of the criteria's
    alphas, weighted by their numbers of ratings: one alpha of all would count it as agreement that
    raters know which criterion is met more often.

    Args:
        ratings: a row an item, a column a rater, (n, k); None for a missing rating.
        level: the distance of two ratings: `nominal` (equal or not), `ordinal` (ranks) or
            `interval` (numbers).
        labels: the order of the ratings, for `ordinal`. Default: those that occur, sorted.
        strata: the criterion of each row, (n,). Default: all are of one criterion.
        groups: the cluster of each item, (n,). Default: items are independent.
        bootstrap: the number of draws, confidence and seed; None for no interval.

    Returns:
        Alpha, at most 1, and 0 for chance.

    Raises:
        InputError: unknown level, or a rating that is not one of `labels`, is not a number
            (`interval`) or has no rank (`ordinal`).

    Example:
        >>> round(krippendorff_alpha([[1, 1], [1, 2], [2, 2], [2, 2]]).value, 3)
        0.533
    """
    check_choice(level, "level", *LEVELS)
    few, far = False, np.empty((0, 0))
    if level == "interval":
        table = _table(ratings)
        n = len(table)
        clusters = cluster_indices(groups, n)
        of_items = _interval_contributions(np.vstack([table, far_items(table)]))
        contributions, far = of_items[:n], of_items[n:]
        sizes, statistic = contributions[:, 0], _interval_alpha
        few = is_skewed(table, clusters)
    else:
        counts = counts_of(ratings, labels, ranked=level == "ordinal")
        n, kinds = counts.shape
        clusters = cluster_indices(groups, n)

        def statistic(totals: Floats) -> Floats:
            matrices = totals.reshape(-1, kinds, kinds)
            return alpha_of_coincidences(matrices, ordered=level == "ordinal")

        def parts(some: Floats) -> Floats:
            return _coincidences(some).reshape(len(some), kinds * kinds)

        if strata is None:
            ordered = level == "ordinal"
            alpha = _of_patterns(counts, parts, statistic, clusters, bootstrap, ordered=ordered)
            return explained(_if_others(alpha, counts, clusters), SAME_RATINGS)
        contributions = parts(counts)
        sizes = contributions.sum(1)

    index = cluster_indices(strata, n, "strata")
    count = 1 if strata is None else int(index.max(initial=-1)) + 1
    width = contributions.shape[1] + 1
    columns = (np.zeros_like(index) if strata is None else index)[:, None] * width
    entries = np.column_stack([sizes, contributions])
    totals_of = sparse.csr_matrix(
        (
            entries.ravel(),
            (np.repeat(np.arange(n), width), (columns + np.arange(width)).ravel()),
        ),
        shape=(n, count * width),
    )

    def statistics(totals: Floats) -> dict[str, Floats]:
        parts = totals.reshape(len(totals) * count, width)
        alphas = statistic(parts[:, 1:]).reshape(len(totals), count)
        return {"alpha": mean_of_strata(alphas, parts[:, 0].reshape(len(totals), count))}

    alpha = jackknife_totals(
        totals_of,
        statistics,
        scales={"alpha": "correlation"},
        clusters=clusters,
        bootstrap=bootstrap,
        corrected=count > 1,
        far=np.column_stack([far[:, :1], far]) if count == 1 and len(far) else None,
    )["alpha"]
    if few and alpha.low is not None:
        alpha = Estimate(alpha.value, undefined=FEW_DIFFER)
    return explained(alpha, SAME_RATINGS)


def _of_patterns(
    counts: Floats,
    parts: Callable[[Floats], Floats],
    statistic: Callable[[Floats], Floats],
    clusters: Integers,
    bootstrap: Bootstrap | None,
    *,
    ordered: bool = False,
) -> Estimate:
    """A statistic of the counts of each label for each item, (n, K), with the interval of
    `coefficient_intervals`, whose priors have all raters agree, or one of them disagree: also from
    one end of an order to the other.

    Args:
        parts: what rows of counts add to the totals, (n, p).
        statistic: from totals (b, p) to values (b,).
    """
    n, kinds = counts.shape
    raters = counts @ np.ones(kinds)
    several = np.sort(raters[raters > 1])
    most = float(several[len(several) // 2]) if len(several) else 2.0
    of_priors, worths = _patterns_of_priors(kinds, most, ordered=ordered and kinds > 2)
    rows = np.vstack([counts, of_priors])
    # A row as one number, if it fits: rows take numpy ten times as long to tell apart.
    places = (rows.max() + 1) ** np.arange(kinds)
    code = rows @ places if places[-1] < 2**40 else rows
    _, first, index = np.unique(code, axis=0, return_index=True, return_inverse=True)
    patterns, index = rows[first], index.reshape(-1)
    priors = [np.bincount(index[n:], worth, len(patterns)).astype(float) for worth in worths]
    of, added = {"": statistic}, parts(patterns)
    return coefficient_intervals(index[:n], clusters, priors, of, bootstrap, parts=added)[""]


@lru_cache(maxsize=32)
def _patterns_of_priors(kinds: int, most: float, *, ordered: bool) -> tuple[Floats, list[Floats]]:
    """Items of `most` raters, (m, K), and how many of each either prior is worth, (m,): all agree,
    one of them differs, and one is at the other end of an order."""
    agree = most * np.eye(kinds)
    other = agree + np.roll(np.eye(kinds), max(1, kinds // 2), axis=1) - np.eye(kinds)
    far = np.zeros((2, kinds))
    far[:, [0, -1]] = [[most - 1, 1], [1, most - 1]]
    far = far[: 2 * ordered]
    each = np.repeat(np.eye(3), [kinds, kinds, len(far)], axis=1)
    worths = two_priors(each[0] / kinds, each[1] / kinds)
    worths[1] += FAR / 2 * each[2]
    return np.vstack([agree, other, far]), worths


def _if_others(estimate: Estimate, counts: Floats, clusters: Integers) -> Estimate:
    """Without interval if too few items have another label than the commonest, counts (n, K)."""
    common = counts @ np.ones(counts.shape[1]) == counts[:, counts.sum(axis=0).argmax()]
    if estimate.low is not None and are_few(common, clusters, LEAST_LABELS):
        return Estimate(estimate.value, undefined=FEW_DIFFER)
    return estimate


def _rows(ratings: Any) -> Iterable[tuple[int, Any]]:
    return enumerate(listed(ratings, "ratings"))


def counts_of(
    ratings: Ratings, labels: Sequence[Any] | None = None, *, ranked: bool = False
) -> Floats:
    """The counts of each label for each item, (n, K); `ranked` if the order of labels matters."""
    rows = [
        row if type(row) is list else listed(row, f"ratings of item {item}")
        for item, row in _rows(ratings)
    ]
    every = [label for row in rows for label in row]
    if not PLAIN.issuperset(map(type, every)):
        every = [
            label
            for item, row in enumerate(rows)
            for label in answers(row, f"ratings of item {item}")
        ]
    if labels is None:
        labels = in_order(set(every) - {None}, "ratings", ranked=ranked)
    labels = labels_of(labels)
    kinds = max(1, len(labels))
    column = {label: number for number, label in enumerate(labels)} | {None: kinds}
    item_of = np.repeat(np.arange(len(rows)), [len(row) for row in rows])
    try:
        columns = np.fromiter(map(column.__getitem__, every), np.int64, len(every))
    except KeyError:
        at, label = next(pair for pair in enumerate(every) if pair[1] not in column)
        known = ", ".join(brief(name).strip("'") for name in labels)
        raise InputError(
            f"ratings: {brief(label)} of item {item_of[at]} is not one of the labels: {known}"
        ) from None
    counts = np.bincount(item_of * (kinds + 1) + columns, minlength=len(rows) * (kinds + 1))
    return counts.reshape(len(rows), kinds + 1)[:, :kinds].astype(np.float64)


def _coincidences(counts: Floats) -> Floats:
    """Each item's pairs of ratings by two raters, (n, K, K), divided by its raters less one."""
    raters = counts.sum(1)
    pairs = counts[:, :, None] * counts[:, None, :]
    pairs -= counts[:, :, None] * np.eye(counts.shape[1])
    return np.asarray(pairs / np.maximum(raters - 1, 1)[:, None, None])


def _table(ratings: Ratings) -> Floats:
    """Numbers, (n, k); NaN for missing ratings, also at the end of shorter rows."""
    rows = [numbers(row, f"ratings of item {item}") for item, row in _rows(ratings)]
    table = np.full((len(rows), max(map(len, rows), default=0)), np.nan)
    for item, row in enumerate(rows):
        table[item, : len(row)] = row
    return table


def _interval_contributions(table: Floats) -> Floats:
    """For each item the number of ratings, their sum, sum of squares and squared distances."""
    known = ~np.isnan(table)
    count = known.sum(1).astype(np.float64)
    values = np.where(known, table - (table[known].mean() if known.any() else 0.0), 0.0)
    sums = values.sum(1)
    apart = np.where(known, values - (sums / np.maximum(count, 1))[:, None], 0.0)
    distances = 2 * count * (apart**2).sum(1) / np.maximum(count - 1, 1)
    contributions = np.column_stack([count, sums, (values**2).sum(1), distances])
    return np.asarray(contributions * (count > 1)[:, None])


def _interval_alpha(totals: Floats) -> Floats:
    n, sums, squares, apart = totals.T
    expected = 2 * (n * squares - sums**2)
    # If all ratings are the same, the rest is rounding, not spread.
    expected = np.where(expected <= 1e-12 * n * np.maximum(squares, 1e-300), np.nan, expected)
    return np.asarray(1 - (n - 1) * apart / expected)


def fleiss_kappa(
    ratings: Ratings,
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> Estimate:
    """Fleiss' kappa (Fleiss 1971) of items that all have the same number of ratings.

    Items without any rating are left out. It is undefined if the numbers of ratings differ; use
    `krippendorff_alpha` for such data.

    Args:
        ratings: a row an item, a column a rater, (n, k); None for a missing rating.
        groups: the cluster of each item, (n,). Default: items are independent.
        bootstrap: the number of draws, confidence and seed; None for no interval.

    Returns:
        Kappa, at most 1, and 0 for chance.

    Raises:
        InputError: the ratings are no table of labels, or there are not as many groups as items.

    Example:
        >>> round(fleiss_kappa([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 3)
        0.467
    """
    counts = counts_of(ratings)
    raters = counts @ np.ones(counts.shape[1])
    rated = raters > 0
    clusters, counts = cluster_indices(groups, len(counts))[rated], counts[rated]
    many = float(raters.max(initial=0))
    if many < 2:
        return Estimate(None, undefined="no item has two ratings")
    if (raters[rated] < many).any():
        return Estimate(None, undefined="the items have different numbers of ratings")

    def parts(some: Floats) -> Floats:
        equal = (some * (some - 1)).sum(1) / (many * (many - 1))
        return np.column_stack([some, equal, np.ones(len(some))])

    def statistic(totals: Floats) -> Floats:
        n = totals[:, -1]
        ones = np.ones(totals.shape[1] - 2)
        shares = totals[:, :-2] / (n * many)[:, None]
        chance = shares**2 @ ones
        single = (shares > 0) @ ones < 2
        kappa = (totals[:, -2] / n - chance) / (1 - chance)
        return np.where(single, np.nan, kappa)

    kappa = _of_patterns(counts, parts, statistic, clusters, bootstrap)
    return explained(_if_others(kappa, counts, clusters), "all ratings are the same")


def intraclass_correlation(
    ratings: Ratings,
    *,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> dict[str, Estimate]:
    """The six intraclass correlations of Shrout and Fleiss (1979), of one rater and of all k.

    `icc_1_1` and `icc_1_k`: each item has different raters (one-way). `icc_2_1` and `icc_2_k`: the
    raters are a sample of all possible raters, and have to agree absolutely (two-way random).
    `icc_3_1` and `icc_3_k`: these raters alone, whose means may differ (two-way mixed,
    consistency). Only items that every rater rated count. Intervals are by the jackknife over items
    of the logarithm of the ratio of mean squares (Arvesen and Schmitz 1970). Those of `icc_2_1` and
    `icc_2_k` also allow for other raters (generalized confidence intervals, Weerahandi 1993), so
    they are wide for few raters. If fewer than 5 items differ, there are no intervals.

    Args:
        ratings: numbers; a row an item, a column a rater, (n, k); None for a missing rating.
        groups: the cluster of each item, (n,). Default: items are independent.
        bootstrap: the number of draws, confidence and seed; None for no intervals.

    Returns:
        The six by name (`icc_1_1` to `icc_3_k`), each at most 1; None with the reason if one is
        undefined.

    Raises:
        InputError: rows differ in length, or a rating is no number.

    Example:
        >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]
        >>> ratings += [[7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
        >>> round(intraclass_correlation(ratings)["icc_3_1"].value, 2)
        0.71
    """
    check_bootstrap(bootstrap)
    if len({len(listed(row, f"ratings of item {item}")) for item, row in _rows(ratings)}) > 1:
        raise InputError("ratings: the rows are not equally long; use None for a missing rating")
    table = _table(ratings)
    complete = ~np.isnan(table).any(axis=1)
    clusters = cluster_indices(groups, len(table))[complete]
    return icc_of(table[complete], clusters, bootstrap)


def icc_of(table: Floats, clusters: Integers, bootstrap: Bootstrap | None) -> dict[str, Estimate]:
    """`intraclass_correlation` without missing numbers, (n, k), in these clusters (n,)."""
    n, k = table.shape
    if n < 2 or k < 2:
        few = Estimate(None, undefined="it needs two items that two raters or more all rated")
        return dict.fromkeys(ICC, few)
    table = table - table.mean()
    contributions, far = (
        np.column_stack([of, of.sum(1) ** 2 / k, (of**2).sum(1), np.ones(len(of))])
        for of in (table, far_items(table))
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = _two_way(contributions.sum(axis=0, keepdims=True), k)
        ends = _log_ratio_ends(contributions, far, squares, k, clusters, bootstrap)
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
    """The mean squares of items, of raters and of the residual, and the number of items."""
    columns, rows, squares, n = totals[:, :k], totals[:, k], totals[:, k + 1], totals[:, k + 2]
    middle = columns.sum(1) ** 2 / (n * k)
    between_raters = (columns**2).sum(1) / n - middle
    residual = np.maximum(squares - rows - between_raters, 0.0)
    same = squares - middle <= 1e-12 * np.maximum(squares, 1e-300)
    residual[residual <= 1e-12 * squares] = 0.0  # rounding
    items = np.where(same, np.nan, (rows - middle) / (n - 1))
    return items, between_raters / (k - 1), residual / ((n - 1) * (k - 1)), n


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
    far: Floats,
    squares: tuple[Floats, Floats, Floats, Floats],
    k: int,
    clusters: Integers,
    bootstrap: Bootstrap | None,
) -> dict[str, tuple[float, float] | str | None]:
    """The ends of the interval of the logarithm of each ratio, or why there are none."""
    kinds = _ratios(*squares)
    if bootstrap is None or len(np.unique(clusters)) < 2:
        return dict.fromkeys(kinds, None if bootstrap is None else TOO_FEW)
    of_blocks = blocks(contributions, clusters, bootstrap.seed)
    whole = contributions.sum(axis=0)
    without, with_far = (
        {kind: np.log(between / within) for kind, (between, within) in _ratios(*squares).items()}
        for squares in (_two_way(whole - of_blocks, k), _two_way(whole + far, k))
    )
    generator = np.random.default_rng(bootstrap.seed)
    items, raters, rest, n = squares
    drawn = _ratios(items, drawn_squares(raters, k - 1, generator, bootstrap.resamples), rest, n)
    tails = bootstrap.tails
    ends: dict[str, tuple[float, float] | str | None] = {}
    for kind, logarithms in without.items():
        middle = float(np.log(kinds[kind][0] / kinds[kind][1])[0])
        error = jackknife_error(logarithms, tails[1], with_far[kind] - middle)
        if isinstance(error, str):
            ends[kind] = error
        elif kind == "icc_2":
            noise = generator.standard_t(error.freedom, bootstrap.resamples)
            among = np.log(drawn[kind][0] / drawn[kind][1]) + error.size * noise
            low, high = np.quantile(among, tails).tolist()
            ends[kind] = low, high
        else:
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
    "Handbook of Inter-Rater Reliability", chapters 3 and 5). Unlike kappa it does not fall if
    nearly all ratings are the same. The interval is that of `label_agreement`.

    Args:
        ratings: a row an item, a column a rater, (n, k); None for a missing rating.
        weights: how far two labels agree: only equal ones (`identity`), or less by the distance of
            their ranks (`linear`) or by its square (`quadratic`).
        labels: all possible labels, in order. Default: those that occur, sorted.
        groups: the cluster of each item, (n,). Default: items are independent.
        bootstrap: the number of draws, confidence and seed; None for no interval.

    Returns:
        AC1 or AC2, at most 1, and 0 for chance.

    Raises:
        InputError: unknown weights, the ratings are no table of labels, or a rating is not one of
            `labels`.

    Example:
        >>> round(gwet_ac([["a", "a"], ["a", "b"], ["b", "b"], ["b", "b"]]).value, 3)
        0.529
    """
    check_choice(weights, "weights", "identity", "linear", "quadratic")
    counts = counts_of(ratings, labels, ranked=weights != "identity")
    kinds = counts.shape[1]
    weight = label_weights(kinds, POWERS[weights])
    factor = weight.sum() / max(1, kinds * (kinds - 1))

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
        chance = factor * (1 - share**2 @ np.ones(kinds))
        kappas = (totals[:, 0] / totals[:, 1] - chance) / (1 - chance)
        return kappas if kinds > 1 else np.full_like(kappas, np.nan)

    clusters = cluster_indices(groups, len(counts))
    ordered = weights != "identity"
    ac = _of_patterns(counts, parts, statistic, clusters, bootstrap, ordered=ordered)
    return explained(ac, ONE_LABEL)
