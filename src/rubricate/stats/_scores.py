"""Agreement of a judge's numbers with people's."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from rubricate.stats._agreement import SAME_STEP
from rubricate.stats._estimate import Estimate
from rubricate.stats._intervals import clustered_mean, wilson_interval
from rubricate.stats._labels import NO_PAIR
from rubricate.stats._numbers import numbers, same_length
from rubricate.stats._pairs import Pairs
from rubricate.stats._resampling import Bootstrap, Groups, bootstrap_totals, cells, groups_at

__all__ = ["ScoreAgreement", "score_agreement"]

CONSTANT = "one of the two gave one number throughout"
FEW = "it needs two pairs, and numbers that are not all the same"

_WHY = {
    "pearson": CONSTANT,
    "spearman": CONSTANT,
    "kendall_tau_b": CONSTANT,
    "icc_2_1": FEW,
    "icc_2_k": FEW,
    "krippendorff_alpha": FEW,
    "quadratic_kappa": "both gave one and the same number throughout",
}


@dataclass(frozen=True, slots=True)
class ScoreAgreement:
    """How far a judge's numbers agree with people's.

    Attributes:
        n: pairs that count: both gave a number.
        clusters: how many clusters they come from.
        judge_mean, human_mean: over these pairs; None for n = 0.
        figures: `bias` (the judge minus people, with a t interval), `mae`, `rmse`, `pearson`,
            `spearman`, `kendall_tau_b`, `icc_2_1`, `icc_2_k`, `krippendorff_alpha` (interval),
            `wasserstein` and `ks` (distances of the two distributions); of a scale also
            `exact_accuracy`, `within_one_accuracy` and `quadratic_kappa`.
        not_decided: pairs in which one gave no number, by cause.
    """

    n: int
    clusters: int
    judge_mean: float | None
    human_mean: float | None
    figures: Mapping[str, Estimate]
    not_decided: Mapping[str, int]


def score_agreement(
    judge: Sequence[float | None],
    human: Sequence[float | None],
    *,
    scale: bool = False,
    groups: Groups = None,
    bootstrap: Bootstrap | None = Bootstrap(),  # noqa: B008 (it is frozen)
) -> ScoreAgreement:
    """Agreement of two raters' numbers for the same things.

    The formulas and their sources: Pearson; Spearman with midranks; tau-b (Kendall 1945); ICC(2,1)
    and ICC(2,k), two-way random, absolute agreement, k = 2 (Shrout and Fleiss 1979); alpha with
    interval distances (Krippendorff 2011); the Wasserstein-1 distance and the Kolmogorov-Smirnov
    distance of the two empirical distributions; quadratic kappa (Cohen 1968).

    Intervals are bootstrapped, but for the bias, which has a t interval, and the two accuracies,
    which have Wilson's (1927) where there are no groups. That of a distance (`wasserstein`, `ks`)
    lies high when the distance is small, since resampling adds noise to both sides.

    Args:
        judge, human: numbers for the same things in the same order; None where there is none. Such
            pairs are left out and counted.
        scale: whether the numbers are steps of a scale (1, 2, 3, ...) or means of such. Then
            `exact_accuracy` is the share of pairs less than half a step apart, and
            `within_one_accuracy` that of pairs a step apart or less.
        groups: the cluster of each pair, for the intervals. Default: each by itself.
        bootstrap: how intervals are made; None for none.

    Raises:
        InputError: the sequences differ in length, or something is no number.
    """
    same_length(judge=judge, human=human)
    x, y = numbers(judge, "judge"), numbers(human, "human")
    causes = Counter(
        {
            "no human number": int(np.isnan(y).sum()),
            "no number of the judge": int((np.isnan(x) & ~np.isnan(y)).sum()),
        }
    )
    places = np.flatnonzero(~np.isnan(x) & ~np.isnan(y))
    x, y = x[places], y[places]
    kept = groups_at(groups, places)
    distinct, index = np.unique(np.stack([x, y], axis=1), axis=0, return_inverse=True)
    pairs = Pairs(distinct[:, 0], distinct[:, 1], steps=scale)
    spreads = bootstrap_totals(
        cells(index.reshape(-1), len(distinct)),
        pairs.statistics,
        groups=kept,
        bootstrap=bootstrap,
    )
    figures = {
        name: spread.estimate(_WHY.get(name, NO_PAIR) if len(x) else NO_PAIR)
        for name, spread in spreads.items()
    }
    if scale and len(x) and groups is None and bootstrap is not None:
        apart = np.abs(x - y)
        for name, hits in (
            ("exact_accuracy", apart < SAME_STEP),
            ("within_one_accuracy", apart <= 1),
        ):
            count = int(hits.sum())
            figures[name] = wilson_interval(count, len(x), confidence=bootstrap.confidence)
    if len(x) and bootstrap is not None:
        differences = [float(difference) for difference in x - y]
        mean = clustered_mean(differences, groups=kept, confidence=bootstrap.confidence)
        figures["bias"] = mean.mean
    return ScoreAgreement(
        n=len(x),
        clusters=len(x) if kept is None else len(set(kept)),
        judge_mean=float(x.mean()) if len(x) else None,
        human_mean=float(y.mean()) if len(x) else None,
        figures=figures,
        not_decided={cause: count for cause, count in causes.items() if count},
    )
