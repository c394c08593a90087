"""Agreement of numbers, against scipy, scikit-learn, krippendorff and published examples."""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from krippendorff import alpha
from scipy import stats
from sklearn import metrics

from rubricate.errors import InputError
from rubricate.stats import intraclass_correlation, score_agreement

PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)
decimals = st.integers(-40, 40).map(lambda number: number / 8)
steps = st.integers(1, 5)


def sides(numbers: st.SearchStrategy[Any]) -> st.SearchStrategy[list[tuple[float, float]]]:
    return st.lists(st.tuples(numbers, numbers), min_size=1, max_size=40)


def figures(both: list[tuple[float, float]], **options: Any) -> dict[str, float | None]:
    judge, human = [x for x, _ in both], [y for _, y in both]
    found = score_agreement(judge, human, bootstrap=None, **options)
    for estimate in found.figures.values():
        assert (estimate.value is None) is (estimate.undefined is not None)
    return {name: estimate.value for name, estimate in found.figures.items()}


@PROPERTY
@given(st.one_of(sides(decimals), sides(steps)))
def test_every_figure_is_that_of_an_independent_implementation(both: list[tuple[float, float]]):
    x, y = np.array(both, float).T
    value = figures(both)
    expected = {
        "bias": np.mean(x - y),
        "mae": metrics.mean_absolute_error(y, x),
        "rmse": metrics.root_mean_squared_error(y, x),
        "wasserstein": stats.wasserstein_distance(x, y),
        "ks": max(abs(np.mean(x <= at) - np.mean(y <= at)) for at in (*x, *y)),
    }
    constant = len(set(x)) < 2 or len(set(y)) < 2
    if constant:
        assert value["pearson"] is value["spearman"] is value["kendall_tau_b"] is None
    else:
        expected["pearson"] = stats.pearsonr(x, y).statistic
        expected["spearman"] = stats.spearmanr(x, y).statistic
        expected["kendall_tau_b"] = stats.kendalltau(x, y).statistic
    if len(set(x) | set(y)) > 1:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected["krippendorff_alpha"] = alpha(
                np.array([x, y]), level_of_measurement="interval"
            )
    else:
        assert value["krippendorff_alpha"] is None
    for name, theirs in expected.items():
        assert value[name] == pytest.approx(theirs, abs=1e-9), name


@PROPERTY
@given(sides(steps))
def test_a_scale_has_exact_and_near_accuracy_and_quadratic_kappa(both: list[tuple[float, float]]):
    value = figures(both, scale=True)
    judge, human = [int(x) for x, _ in both], [int(y) for _, y in both]
    assert value["exact_accuracy"] == pytest.approx(metrics.accuracy_score(human, judge))
    near = [abs(x - y) <= 1 for x, y in both]
    assert value["within_one_accuracy"] == pytest.approx(sum(near) / len(near))
    if len(both) > 1 and len(set(judge) | set(human)) > 1:
        theirs = metrics.cohen_kappa_score(
            human, judge, weights="quadratic", labels=[1, 2, 3, 4, 5]
        )
        assert value["quadratic_kappa"] == pytest.approx(theirs, abs=1e-9)
    else:
        assert value["quadratic_kappa"] is None


@PROPERTY
@given(st.one_of(sides(decimals), sides(steps)))
def test_the_intraclass_correlation_of_two_is_that_of_many(both: list[tuple[float, float]]):
    value, other = figures(both), intraclass_correlation(both, bootstrap=None)
    for name in ("icc_2_1", "icc_2_k"):
        if len(both) > 1 and value[name] is not None:
            assert other[name].value == pytest.approx(value[name], abs=1e-8, rel=1e-8)


@PROPERTY
@given(st.one_of(sides(decimals), sides(steps)), st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(both: list[tuple[float, float]], random: Any):
    shuffled = list(both)
    random.shuffle(shuffled)
    assert figures(shuffled) == pytest.approx(figures(both), nan_ok=False, abs=1e-12)


def test_the_intraclass_correlation_of_shrout_and_fleiss():
    # Shrout and Fleiss (1979), table 2: 6 targets by 4 judges; ICC(2,1) = .29, ICC(2,4) = .62.
    ratings = [
        [9, 2, 5, 8],
        [6, 1, 3, 2],
        [8, 4, 6, 8],
        [7, 1, 2, 6],
        [10, 5, 6, 9],
        [6, 2, 4, 7],
    ]
    found = intraclass_correlation(ratings)
    assert found["icc_2_1"].value == pytest.approx(0.29, abs=0.005)
    assert found["icc_2_k"].value == pytest.approx(0.62, abs=0.005)
    assert found["icc_2_1"].low < found["icc_2_1"].value < found["icc_2_1"].high


def test_the_bias_has_a_t_interval():
    judge, human = [3.0, 4.0, 5.0, 4.5, 2.0], [2.5, 4.0, 4.0, 5.0, 1.0]
    bias = score_agreement(judge, human).figures["bias"]
    differences = np.array(judge) - np.array(human)
    low, high = stats.t.interval(0.95, 4, differences.mean(), stats.sem(differences))
    assert (bias.low, bias.high) == pytest.approx((low, high))


def test_missing_numbers_are_left_out_and_counted():
    found = score_agreement([1, None, 3, 4], [1, 2, None, 3], scale=True)
    assert found.n == 2
    assert found.not_decided == {"no human number": 1, "no number of the judge": 1}


def test_without_a_pair_every_figure_is_undefined_and_says_why():
    found = score_agreement([None], [1.0], scale=True)
    assert (found.n, found.judge_mean) == (0, None)
    for estimate in found.figures.values():
        assert estimate.value is None
        assert estimate.undefined


def test_what_is_no_number_is_refused():
    with pytest.raises(InputError, match="judge: 'four' at position 1 is not a number"):
        score_agreement([1.0, "four"], [1.0, 2.0])  # type: ignore[list-item]
    with pytest.raises(InputError, match="infinite"):
        score_agreement([math.inf], [1.0])


def test_intervals_are_those_of_a_jackknife_over_scipy_with_unseen_documents():
    generator = np.random.default_rng(3)
    human = generator.normal(size=60)
    judge = human + generator.normal(size=60)
    documents = np.repeat(np.arange(20), 3)
    found = score_agreement(judge.tolist(), human.tolist(), groups=documents.tolist())
    for name, statistic in (("spearman", stats.spearmanr), ("kendall_tau_b", stats.kendalltau)):
        without = np.array(
            [
                statistic(judge[documents != one], human[documents != one]).statistic
                for one in range(20)
            ]
        )
        point = statistic(judge, human).statistic
        squares = (without - without.mean()) ** 2
        unseen = stats.norm.ppf(0.975) ** 2 / 2  # documents like the most influential one
        error = np.sqrt(19 / 20 * (squares.sum() + unseen * squares.max()))
        half = stats.t.ppf(0.975, 19) * error / (1 - point**2)
        ends = np.tanh(np.arctanh(point) - half), np.tanh(np.arctanh(point) + half)
        estimate = found.figures[name]
        assert (estimate.low, estimate.high) == pytest.approx(ends, abs=1e-9)


def test_the_interval_of_a_correlation_holds_the_truth_with_few_documents():
    chance = np.random.default_rng(11)
    held = 0
    for _ in range(150):
        shared = np.repeat(chance.normal(size=(7, 2)), 3, axis=0)
        one, other = (np.sqrt(0.4) * shared + np.sqrt(0.6) * chance.normal(size=(21, 2))).T
        judge = 0.8 * one + 0.6 * other
        found = score_agreement(
            judge.tolist(), one.tolist(), groups=np.repeat(np.arange(7), 3).tolist()
        ).figures["pearson"]
        assert found.low is not None
        assert found.high is not None
        held += found.low <= 0.8 <= found.high
    assert held >= 0.88 * 150  # 92 % less the simulation's error


def test_a_figure_that_hangs_on_one_item_has_no_interval():
    found = score_agreement([1.0, 1.0, 1.0, 2.0], [1.0, 2.0, 3.0, 2.0]).figures["pearson"]
    assert found.value is not None
    assert (found.low, found.high) == (None, None)
    assert "without one of the items" in (found.undefined or "")
