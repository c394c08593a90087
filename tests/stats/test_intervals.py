"""Intervals: published examples, scipy, and how often they hold the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats
from scipy import stats as scipy_stats
from statsmodels.regression.linear_model import OLS

from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    clustered_mean,
    clustered_share,
    exact_interval,
    mean_of_scores,
    stratified_mean,
)
from rubricate.stats import label_agreement as agree
from rubricate.stats._intervals import NO_SPREAD, SMALL_STRATUM


def test_the_exact_interval_of_a_published_example():
    # Newcombe (1998), table I, method 5: 81 of 263 gives 0.2527 to 0.3676; 0 of 20, 0 to 0.1684.
    found = exact_interval(81, 263)
    assert (found.low, found.high) == pytest.approx((0.2527, 0.3676), abs=5e-5)
    found = exact_interval(0, 20)
    assert (found.value, found.low, found.high) == pytest.approx((0.0, 0.0, 0.1684), abs=5e-5)


@pytest.mark.parametrize(("successes", "n"), [(0, 1), (1, 1), (3, 10), (50, 50), (999, 1000)])
def test_the_exact_interval_is_that_of_scipy(successes: int, n: int):
    found = exact_interval(successes, n, confidence=0.9)
    theirs = stats.binomtest(successes, n).proportion_ci(0.9, method="exact")
    assert (found.low, found.high) == pytest.approx((theirs.low, theirs.high), abs=1e-12)


@pytest.mark.parametrize("n", [1, 5, 10, 35, 100])
def test_the_exact_interval_covers_every_true_share_as_often_as_it_says(n: int):
    ends = [exact_interval(count, n) for count in range(n + 1)]
    for share in np.linspace(0.001, 0.999, 200):
        chances = stats.binom.pmf(np.arange(n + 1), n, share)
        covers = [end.low <= share <= end.high for end in ends]
        assert chances[covers].sum() >= 0.95


def test_a_proportion_of_nothing_is_undefined():
    assert exact_interval(0, 0).value is None
    with pytest.raises(InputError, match="between 0 and 3"):
        exact_interval(4, 3)


def test_the_mean_without_clusters_is_that_of_the_textbook():
    values = [1.0, 4.0, 2.0, 8.0, None]
    found = clustered_mean(values)
    low, high = stats.t.interval(0.95, 3, 3.75, stats.sem(values[:4]))
    assert (found.n, found.clusters, found.mean.value) == (4, 4, 3.75)
    assert (found.mean.low, found.mean.high) == pytest.approx((low, high))


def test_values_that_repeat_within_a_cluster_add_no_certainty():
    values = [0.1, 0.9, 0.4, 0.6]
    once = clustered_mean(values)
    thrice = clustered_mean(values * 3, groups=list("abcd") * 3)
    assert thrice.standard_error == pytest.approx(once.standard_error)
    assert thrice.clusters == 4


def test_one_cluster_has_a_mean_and_no_interval():
    found = clustered_mean([1.0, 2.0], groups=["a", "a"])
    assert (found.mean.value, found.mean.low, found.standard_error) == (1.5, None, None)
    assert "two groups" in (found.mean.undefined or "")
    assert clustered_mean([]).mean.undefined == "there are no values"


def test_the_same_seed_gives_the_same_interval_and_another_one_another():
    a, b = ["A", "B", "A", "B", "B"] * 8, ["A", "B", "B", "B", "A"] * 8
    first = agree(a, b)
    assert agree(a, b) == first
    other = agree(a, b, bootstrap=Bootstrap(seed=1)).figures["cohen_kappa"]
    assert other != first.figures["cohen_kappa"]


def test_clusters_that_repeat_leave_the_interval_of_kappa_nearly_as_it_is():
    a, b = ["A", "B", "A", "B", "B"] * 6, ["A", "B", "B", "B", "A"] * 6
    once = agree(a, b).figures["cohen_kappa"]
    many = agree(a * 5, b * 5, groups=[*range(30)] * 5).figures["cohen_kappa"]
    assert (many.low, many.high) == pytest.approx((once.low, once.high), abs=0.02)


def test_shares_of_independent_items_have_the_exact_interval():
    found = agree(["A"] * 20 + ["B"] * 10, ["A"] * 20 + ["A"] + ["B"] * 9)
    assert found.figures["accuracy"] == exact_interval(29, 30)
    assert found.by_label["A"]["precision"] == exact_interval(20, 20)
    assert found.by_label["B"]["false_positive_rate"] == exact_interval(1, 21)


def test_a_judge_that_is_always_right_has_an_interval_below_1_too():
    found = agree(["A", "B"] * 10, ["A", "B"] * 10, groups=[*range(10)] * 2)
    for name in ("macro_f1", "cohen_kappa", "gwet_ac1", "krippendorff_alpha", "matthews"):
        estimate = found.figures[name]
        assert estimate.value == pytest.approx(1)
        assert estimate.low is not None
        assert 0.2 < estimate.low < 0.9
        assert estimate.high is not None
        assert estimate.high >= estimate.value


@pytest.mark.parametrize(
    ("clusters", "size", "kappa", "share"),
    [(3, 7, 0.6, 0.5), (7, 3, 0.9, 0.9), (20, 1, 0.8, 0.6), (50, 1, 0.9, 0.7)],
)
def test_the_interval_of_kappa_holds_the_truth_from_20_labels_on(
    clusters: int, size: int, kappa: float, share: float
):
    """Pairs of one document have a share of their own, so that they belong together."""
    chance = np.random.default_rng(20261122)
    equal = kappa + (1 - kappa) * (share**2 + (1 - share) ** 2)
    met = share - (1 - equal) / 2
    cells = np.array([met, (1 - equal) / 2, (1 - equal) / 2, equal - met])
    held = there = 0
    for _ in range(150):
        shares = (
            chance.dirichlet(cells * 4, clusters) if size > 1 else np.tile(cells, (clusters, 1))
        )
        drawn = np.concatenate([chance.choice(4, size, p=one) for one in shares])
        judge, human = np.array(["A", "A", "B", "B"])[drawn], np.array(["A", "B", "A", "B"])[drawn]
        estimate = agree(
            judge.tolist(),
            human.tolist(),
            groups=np.repeat(np.arange(clusters), size).tolist() if size > 1 else None,
            bootstrap=Bootstrap(resamples=400),
        ).figures["cohen_kappa"]
        if estimate.value is not None:
            assert estimate.low is not None
            assert estimate.high is not None
            there += 1
            held += estimate.low <= kappa <= estimate.high
    assert held / there >= 0.92 - 2 * (0.92 * 0.08 / there) ** 0.5  # less the simulation's error


@pytest.mark.parametrize(("kappa", "share"), [(0.9, 0.9), (0.95, 0.85), (0.95, 0.5), (0.0, 0.9)])
def test_the_interval_of_kappa_holds_it_in_92_of_100_samples_of_20_pairs(
    kappa: float, share: float
):
    """Counted exactly, over all tables but the least likely."""
    apart = (1 - kappa) * share * (1 - share)
    cells = [share - apart, apart, apart, 1 - share - apart]
    tables = np.array(
        [
            (a, b, c, 20 - a - b - c)
            for a in range(21)
            for b in range(21 - a)
            for c in range(21 - a - b)
        ]
    )
    likely = stats.multinomial.pmf(tables, 20, cells)
    looked = held = 0.0
    for place in np.argsort(-likely)[:120]:
        judge = np.repeat(["A", "A", "B", "B"], tables[place]).tolist()
        human = np.repeat(["A", "B", "A", "B"], tables[place]).tolist()
        found = agree(judge, human, bootstrap=Bootstrap(resamples=500)).figures["cohen_kappa"]
        if found.low is not None and found.high is not None:
            looked += likely[place]
            held += likely[place] * (found.low <= kappa + 1e-9 and kappa - 1e-9 <= found.high)
    assert looked > 0.8
    assert held / looked >= 0.92


@pytest.mark.parametrize("documents", [50, 200])
@pytest.mark.parametrize(("mean", "together"), [(0.7, 0.25), (0.9, 0.3)])
def test_intervals_of_clustered_outcomes_hold_the_truth_as_often_as_they_say(
    documents: int, mean: float, together: float
):
    generator = np.random.default_rng(documents)
    rounds, size = 2000, 4
    groups = np.repeat(np.arange(documents), size).tolist()
    times = (1 - together) / together
    held = 0
    for _ in range(rounds):
        chances = generator.beta(mean * times, (1 - mean) * times, documents)
        values = (generator.random((documents, size)) < chances[:, None]).ravel()
        found = clustered_share(values.tolist(), groups=groups)
        held += found.low <= mean <= found.high
    assert 0.93 <= held / rounds <= 0.97


def test_accuracy_by_groups_is_a_clustered_share():
    judge, human = ["A", "B", "A", "B", "B"] * 6, ["A", "B", "B", "B", "A"] * 6
    groups = [place // 3 for place in range(30)]
    found = agree(judge, human, groups=groups)
    right = [one == other for one, other in zip(judge, human, strict=True)]
    assert found.figures["accuracy"] == clustered_share(right, groups=groups)
    recall = [one == "A" if other == "A" else None for one, other in zip(judge, human, strict=True)]
    assert found.by_label["A"]["recall"] == clustered_share(recall, groups=groups)
    assert clustered_share(right) == exact_interval(sum(right), 30)
    always = clustered_share([True] * 6, groups=list("aabbcc"))
    assert (always.value, always.high) == (1.0, 1.0)
    assert always.low < 0.7


def test_the_standard_error_of_clusters_of_one_size_is_that_of_statsmodels():
    generator = np.random.default_rng(7)
    groups = generator.permutation(np.repeat(np.arange(12), 5))
    values = generator.normal(size=60) + 0.5 * groups
    fitted = OLS(values, np.ones(60)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    count = len(set(groups.tolist()))
    found = clustered_mean(values.tolist(), groups=groups.tolist())
    expected = float(fitted.bse[0]) * math.sqrt(count / (count - 1))
    assert found.standard_error == pytest.approx(expected, abs=1e-9)
    assert found.freedom == 11


@pytest.mark.parametrize("together", [0.0, 0.5, 3.0])
def test_clusters_of_unequal_sizes_have_the_variance_and_freedom_of_bell_and_mccaffrey(
    together: float,
):
    generator = np.random.default_rng(8)
    sizes = np.array([1, 2, 2, 5, 9, 30])
    groups = np.repeat(np.arange(6), sizes)
    n = int(sizes.sum())
    values = generator.normal(size=n) + together * generator.normal(size=6)[groups]
    # CR2 by its matrices: residuals of each cluster times (I - H) to the power of -1/2.
    design, hat = np.ones((n, 1)), np.full((n, n), 1 / n)
    residual, variance, columns = values - values.mean(), 0.0, []
    for group in range(6):
        rows = np.flatnonzero(groups == group)
        inner = np.eye(len(rows)) - hat[np.ix_(rows, rows)]
        at, vectors = np.linalg.eigh(inner)
        root = vectors @ np.diag(at**-0.5) @ vectors.T
        weight = root.T @ design[rows, 0] / n
        variance += float(weight @ residual[rows]) ** 2
        columns.append((np.eye(n) - hat)[rows].T @ weight)
    # The correlation within clusters, by mean squares.
    means = np.array([values[groups == group].mean() for group in range(6)])
    between = (sizes * (means - values.mean()) ** 2).sum() / 5
    within = ((values - means[groups]) ** 2).sum() / (n - 6)
    size = (n - (sizes**2).sum() / n) / 5
    correlation = max(0.0, (between - within) / (between + (size - 1) * within))
    covariance = (1 - correlation) * np.eye(n) + correlation * (groups[:, None] == groups)
    gram = np.array(columns) @ covariance @ np.array(columns).T
    freedom = np.trace(gram) ** 2 / (gram**2).sum()

    found = clustered_mean(values.tolist(), groups=groups.tolist())
    assert found.standard_error == pytest.approx(math.sqrt(variance), abs=1e-12)
    assert found.freedom == pytest.approx(freedom, abs=1e-9)
    half = scipy_stats.t.ppf(0.975, freedom) * math.sqrt(variance)
    assert (found.mean.high - found.mean.low) / 2 == pytest.approx(half, abs=1e-9)


@pytest.mark.parametrize("clusters", [6, 12, 25])
def test_one_cluster_that_is_much_larger_than_the_others_is_known_to_say_little(clusters: int):
    # Questions with 4 to 10 answers each, and some with more than a hundred.
    generator = np.random.default_rng(clusters)
    held, rounds, mean = 0, 1000, 0.45
    for _ in range(rounds):
        large = generator.random(clusters) < 0.03
        sizes = np.where(large, 110, generator.integers(4, 11, clusters))
        share = generator.beta(mean * 3, (1 - mean) * 3, clusters)
        values = generator.random(sizes.sum()) < np.repeat(share, sizes)
        groups = np.repeat(np.arange(clusters), sizes).tolist()
        found = clustered_share(values.tolist(), groups=groups)
        held += found.low <= mean <= found.high
    assert held / rounds >= 0.92


def test_scores_that_are_all_the_same_leave_room_for_others():
    same = mean_of_scores([1.0] * 10)
    assert same.high == 1
    assert 0.6 < same.low < 0.9
    raw = mean_of_scores([7.0] * 10)  # what scores can be is not known
    assert (raw.low, raw.high, raw.undefined) == (None, None, NO_SPREAD)
    scores = [0.1, 0.5, 0.9, 0.3]
    assert mean_of_scores(scores) == clustered_mean(scores).mean.within(0, 1)


def test_the_mean_of_strata_has_the_interval_of_stratified_sampling():
    draw = np.random.default_rng(1)
    first, second = draw.random(8), 3 + 2 * draw.random(12)
    mean = stratified_mean([*first, *second], [1] * 8 + [2] * 12)
    parts = first.var(ddof=1) / 8 / 4, second.var(ddof=1) / 12 / 4
    assert mean.value == pytest.approx((first.mean() + second.mean()) / 2)
    half = (mean.high - mean.low) / 2
    assert half > 1.96 * math.sqrt(sum(parts))
    assert half < 2.3 * math.sqrt(sum(parts))
    assert stratified_mean([1.0] * 20, [1, 2] * 10).low < 0.95  # a stratum of ones may have others
    few = stratified_mean([*first, 0.5], [1] * 8 + [2])
    assert (few.low, few.undefined) == (None, SMALL_STRATUM)
