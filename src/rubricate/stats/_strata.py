"""Agreement over several criteria, none of which is mixed with another, with intervals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Hashable, Sequence, Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from rubricate.stats import _confusion
from rubricate.stats._agreement import NO_KAPPA, SAME_STEP
from rubricate.stats._estimate import Estimate
from rubricate.stats._inputs import answers, number_of, same_length
from rubricate.stats._intervals import share_of
from rubricate.stats._labels import NO_PAIR
from rubricate.stats._numbers import Floats, Integers, effective, outcomes, weights_of
from rubricate.stats._posterior import coefficient_intervals, table_priors
from rubricate.stats._resampling import (
    Bootstrap,
    Groups,
    cluster_indices,
    explained,
    jackknife_totals,
    renumbered,
)
from rubricate.stats._unseen import LEAST_OTHERS

RARE = (
    f"no interval: in most criteria fewer than {LEAST_OTHERS} pairs differ from the commonest one"
)


@dataclass(frozen=True, slots=True)
class StratifiedAgreement:
    """The agreement of a judge and people over several criteria.

    Attributes:
        n: the number of pairs that count.
        clusters: the number of clusters that they come from.
        strata: the number of criteria that can have a kappa.
        left_out: the number of those without one: one answer throughout, or one pair.
        accuracy: of all pairs.
        kappa: the mean of the criteria's kappas, weighted by their numbers of pairs.
    """

    n: int
    clusters: int
    strata: int
    left_out: int
    accuracy: Estimate
    kappa: Estimate


def stratified_agreement(
    judge: Sequence[str] | Sequence[float] | Sequence[str | float],
    human: Sequence[str] | Sequence[float] | Sequence[str | float],
    strata: Sequence[Hashable],
    *,
    equal: Sequence[bool] | None = None,
    without_kappa: Collection[Hashable] = (),
    groups: Groups = None,
    weights: Sequence[float] | None = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> StratifiedAgreement:
    """The agreement of pairs of several criteria, each with its own chance.

    This is `stats.stratified` with intervals: the accuracy's is that of `clustered_share`, kappa's
    is by leaving clusters out (the jackknife of Tukey 1958, on the scale of Fisher's z, with the
    quantile of t), around kappa less its bias, which adds up over many small criteria. With a
    single criterion it is that of `label_agreement`.

    A kappa of all pairs together (in one confusion matrix) would count it as agreement that both
    sides know which criterion is met more often; the stratified one is about 0 for a judge that
    tosses a coin for each criterion, whatever the shares.

    Args:
        judge, human: answers for the same items in the same order, (n,): labels, or numbers, which
            are steps of a scale (kappa then has squared distances); a label and a number are two
            labels. Pairs with None for one of them are left out.
        strata: the criterion of each pair, (n,).
        equal: whether each pair counts as equal, for the accuracy. Default: equal labels, and
            numbers that are less than half a step apart.
        without_kappa: criteria whose pairs count for the accuracy only, as labels: those whose
            answers are numbers that are not on a scale.
        groups: the cluster of each pair, such as its item. Default: pairs are independent.
        weights: what each pair counts, (n,); see `label_agreement`. Default: all the same.
        bootstrap: the number of draws, confidence and seed; None for no intervals.

    Returns:
        The accuracy, 0 to 1, and kappa, at most 1 and 0 for chance.

    Raises:
        InputError: the sequences differ in length, or an answer is neither label nor number.

    Example:
        >>> agreement = stratified_agreement(
        ...     ["yes", "no", "yes", "no"], ["yes", "no", "yes", "yes"], ["a", "a", "b", "b"]
        ... )
        >>> agreement.accuracy.value, agreement.kappa.value
        (0.75, 0.5)
    """
    columns = {"judge": answers(judge, "judge"), "human": answers(human, "human")}
    if equal is not None:
        columns["equal"] = answers(outcomes(equal, "equal"), "equal")
    of = answers(strata, "strata")
    clusters = cluster_indices(groups, same_length(strata=of, **columns))
    rows = list(zip(*columns.values(), strict=True))
    kept = [at for at, row in enumerate(rows) if None not in row]
    n, clusters, of = len(kept), renumbered(clusters[kept]), [of[at] for at in kept]
    pairs = [rows[at][:2] for at in kept]
    worth = None if weights is None else effective(weights_of(weights, len(rows))[kept])
    judged, truth = [label for label, _ in pairs], [label for _, label in pairs]
    index = cluster_indices(of, n)
    distinct = {pair: _are_numbers(pair) for pair in dict.fromkeys(pairs)}
    in_steps = np.array([distinct[pair] for pair in pairs], dtype=bool)
    excluded: Any = list(without_kappa) if isinstance(without_kappa, Set) else without_kappa
    without = set(answers(excluded, "without_kappa"))
    counts = np.array([stratum not in without for stratum in of], dtype=bool)
    labelled, stepped = (np.flatnonzero(which & counts) for which in (~in_steps, in_steps))
    cells, tables, kinds = _of_labels(judged, truth, index, labelled)
    moments, places, scales = _of_steps(judged, truth, index, stepped)
    width, count = tables * kinds * kinds, int(clusters.max(initial=-1)) + 1

    def kappas(totals: Floats) -> tuple[Floats, Floats]:
        counted = totals[:, :width].reshape(len(totals), tables, kinds, kinds)
        moments = totals[:, width:].reshape(len(totals), scales, MOMENTS)
        weights = np.concatenate([counted.sum((-2, -1)), moments[..., 0]], axis=1)
        kappas = np.concatenate([_confusion.cohen_kappa(counted), _kappa_of(moments)], axis=1)
        return np.where(weights < 2, np.nan, kappas), weights

    def kappa(totals: Floats) -> Floats:
        return mean_of_strata(*kappas(totals))

    each_worth = np.ones(n) if worth is None else worth
    every = sparse.csr_matrix(
        (
            np.concatenate([each_worth[labelled], (moments * each_worth[stepped, None]).ravel()]),
            (
                np.concatenate([clusters[labelled], np.repeat(clusters[stepped], MOMENTS)]),
                np.concatenate([cells, width + places.ravel()]),
            ),
        ),
        shape=(count, width + scales * MOMENTS),
    )
    with np.errstate(divide="ignore", invalid="ignore"):
        each = kappas(np.asarray(every.sum(axis=0)).reshape(1, -1))[0][0]
    if tables == 1 and not scales:
        intervals = coefficient_intervals(
            cells,
            clusters[labelled],
            table_priors(kinds, ordered=False),
            {"kappa": kappa},
            bootstrap,
            None if worth is None else worth[labelled],
        )
    else:
        few = _few_others(pairs, index)
        intervals = jackknife_totals(
            every,
            lambda totals: {"kappa": kappa(totals)},
            scales={"kappa": "correlation"},
            clusters=np.arange(count),
            bootstrap=None if few else bootstrap,
            corrected=True,
        )
        if few and bootstrap is not None:
            intervals["kappa"] = replace(intervals["kappa"], undefined=RARE)
    if equal is None:
        is_hit = {pair: _equal(*pair) for pair in distinct}
        hits = np.array([is_hit[pair] for pair in pairs], dtype=np.float64)
    else:
        hits = np.array([rows[at][2] for at in kept], dtype=np.float64)
    if not n:
        accuracy = Estimate(None, undefined=NO_PAIR)
    elif bootstrap is None:
        accuracy = Estimate(float(np.average(hits, weights=worth)))
    else:
        accuracy = share_of(hits, clusters, bootstrap.confidence, worth=worth)
    return StratifiedAgreement(
        n=n,
        clusters=count,
        strata=len(each),
        left_out=int(np.isnan(each).sum()),
        accuracy=accuracy,
        kappa=explained(intervals["kappa"], NO_KAPPA if n else NO_PAIR),
    )


def _few_others(pairs: Sequence[tuple[Any, Any]], strata: Integers) -> bool:
    """Whether most pairs belong to criteria where few pairs differ from the commonest one. Their
    kappas are biased, which resampling does not reveal."""
    of: dict[int, list[int]] = {}
    for (stratum, _), count in Counter(zip(strata.tolist(), pairs, strict=True)).items():
        of.setdefault(stratum, []).append(count)
    enough = [sum(counts) for counts in of.values() if sum(counts) - max(counts) >= LEAST_OTHERS]
    return 2 * sum(enough) < len(pairs)


MOMENTS = 6
"""n, x, y, x squared, y squared, and the squared difference."""


def _are_numbers(pair: tuple[Any, Any]) -> bool:
    """Whether both answers are numbers; `InputError` for what is neither number nor label."""
    if isinstance(pair[0], str) or isinstance(pair[1], str):
        return False
    for answer in pair:
        number_of(answer, "judge, human")
    return True


def _equal(first: str | float, second: str | float) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return abs(first - second) < SAME_STEP


def mean_of_strata(values: Floats, weights: Floats) -> Floats:
    """The weighted mean along the last axis of what is not NaN; NaN where nothing is."""
    known = ~np.isnan(values)
    weight = np.where(known, weights, 0.0)
    below = weight.sum(-1)
    above = np.where(known, values * weight, 0.0).sum(-1)
    return np.where(below == 0, np.nan, above / np.where(below == 0, 1.0, below))


def _of_labels(
    judge: Sequence[Any], human: Sequence[Any], strata: Integers, indices: Integers
) -> tuple[Integers, int, int]:
    """The cell of each of these pairs in the S confusion matrices of K labels, S and K."""
    at = indices.tolist()
    of = strata[indices].tolist()
    triples = list(zip(of, [human[i] for i in at], [judge[i] for i in at], strict=True))
    number: dict[int, int] = {}
    labels: dict[int, dict[Any, int]] = {}
    cells = {}
    for triple in dict.fromkeys(triples):
        stratum, *answers_of = triple
        known = labels.setdefault(stratum, {})
        truth, answer = (known.setdefault(label, len(known)) for label in answers_of)
        cells[triple] = number.setdefault(stratum, len(number)), truth, answer
    most = max(map(len, labels.values()), default=1)
    column = {of: (s * most + truth) * most + answer for of, (s, truth, answer) in cells.items()}
    return np.array([column[triple] for triple in triples], dtype=np.int64), len(number), most


def _of_steps(
    judge: Sequence[Any], human: Sequence[Any], strata: Integers, indices: Integers
) -> tuple[Floats, Integers, int]:
    """The moments of each of these pairs, their columns among those of S strata, and S."""
    present, index = np.unique(strata[indices], return_inverse=True)
    x, y = (np.array([side[at] for at in indices.tolist()], float) for side in (judge, human))
    size = np.maximum(np.bincount(index, minlength=len(present)), 1)
    middle = (np.bincount(index, x + y, len(present)) / (2 * size))[index] if len(index) else 0.0
    x, y = x - middle, y - middle
    moments = np.stack([np.ones(len(x)), x, y, x * x, y * y, (x - y) ** 2], axis=1)
    return moments, index[:, None] * MOMENTS + np.arange(MOMENTS), len(present)


def _kappa_of(moments: Floats) -> Floats:
    """Kappa with squared distances (Cohen 1968) by moments (..., M)."""
    n, x, y, xx, yy, apart = np.moveaxis(moments, -1, 0)
    expected = n * (xx + yy) - 2 * x * y
    # If both gave one number throughout, the rest is rounding, not spread.
    expected = np.where(expected <= 1e-12 * n * (xx + yy), np.nan, expected)
    return np.asarray(1 - n * apart / expected)
