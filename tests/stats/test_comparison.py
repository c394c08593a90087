"""Comparing two systems, against scipy and published examples."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from statsmodels.stats.multitest import multipletests

from rubricate.errors import InputError
from rubricate.stats import (
    benjamini_hochberg,
    clustered_mean,
    compare_paired,
    holm,
    mcnemar_test,
    permutation_test,
    smallest_detectable_difference,
    wilcoxon_test,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
differences = st.lists(st.integers(-8, 8).map(lambda number: number / 4), min_size=1, max_size=9)


@PROPERTY
@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40))
def test_mcnemar_is_the_binomial_test_of_the_flips(both):
    found = mcnemar_test([a for a, _ in both], [b for _, b in both])
    better = sum(b > a for a, b in both)
    flips = sum(a != b for a, b in both)
    expected = stats.binomtest(better, flips).pvalue if flips else 1.0
    assert found.p_value == pytest.approx(expected, abs=1e-12)
    assert (found.differing, found.exact) == (flips, True)


@PROPERTY
@given(differences)
def test_small_permutation_tests_count_every_pattern(values):
    found = permutation_test(values)
    assert found.exact
    total = abs(sum(values))
    reached = [
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= total - 1e-12
        for signs in itertools.product((1, -1), repeat=len(values))
    ]
    assert found.p_value == pytest.approx(sum(reached) / len(reached), abs=1e-12)


def test_large_permutation_tests_come_near_the_exact_one():
    values = np.random.default_rng(0).normal(0.4, 1, 40)
    found = permutation_test(values.tolist())
    assert not found.exact
    theirs = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
    )
    assert found.p_value == pytest.approx(theirs.pvalue, abs=0.01)
    assert permutation_test(values.tolist()) == found


def test_clusters_flip_as_one():
    values = [1.0, 1.0, 1.0, 1.0]
    assert permutation_test(values).p_value == 2 / 16
    assert permutation_test(values, groups=["a", "a", "b", "b"]).p_value == 2 / 4


@PROPERTY
@given(differences)
def test_wilcoxon_is_that_of_scipy(values):
    found = wilcoxon_test(values)
    rest = [value for value in values if value]
    if not rest:
        assert found.p_value == 1.0
        return
    method = "exact" if found.exact else "approx"
    assert found.p_value == pytest.approx(stats.wilcoxon(rest, method=method).pvalue)


def test_holms_correction_of_a_worked_example():
    # Holm (1979): 0.01 * 4, 0.02 * 3, 0.03 * 2, 0.04 * 1, each at least the one before.
    assert holm([0.03, 0.01, 0.04, 0.02]) == pytest.approx([0.06, 0.04, 0.06, 0.06])
    assert holm([None, 0.02, 0.5]) == [None, 0.04, 0.5]
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


@settings(PROPERTY, max_examples=20)  # statsmodels collects garbage at every call
@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_holms_correction_is_that_of_statsmodels(p_values):
    expected = multipletests(p_values, method="holm")[1]
    assert holm(p_values) == pytest.approx(expected.tolist(), abs=1e-9)


def test_the_smallest_detectable_difference_is_blooms_multiple():
    # Bloom (1995): 2.8 standard errors for a power of 0.8 at the 5 % level.
    assert smallest_detectable_difference(1.0) == pytest.approx(2.80, abs=0.005)
    assert smallest_detectable_difference(0.0) == 0.0
    with pytest.raises(InputError):
        smallest_detectable_difference(1.0, power=80)


def test_a_comparison_tells_the_difference_and_how_sure_it_is():
    generator = np.random.default_rng(2)
    a = generator.random(80)
    b = a + 0.1 + generator.normal(0, 0.1, 80)
    found = compare_paired([*a.tolist(), 1.0], [*b.tolist(), None])
    assert (found.n, found.left_out) == (80, 1)
    low, high = stats.t.interval(0.95, 79, np.mean(b - a), stats.sem(b - a))
    assert (found.difference.low, found.difference.high) == pytest.approx((low, high))
    assert found.permutation.p_value < 0.001
    assert found.mcnemar is None
    assert found.smallest_detectable == pytest.approx(2.8016 * stats.sem(b - a), abs=1e-4)


def test_binary_outcomes_get_mcnemars_test_too():
    found = compare_paired([1, 0, 0, 0, 0, 0, 0], [1, 1, 1, 1, 1, 1, 1])
    assert found.mcnemar is not None
    assert found.mcnemar.p_value == pytest.approx(2 / 2**6)


@pytest.mark.parametrize(
    ("items", "criteria", "flips"), [(10, 1, 0.1), (50, 1, 0.02), (20, 3, 0.1)]
)
def test_the_interval_of_few_flips_holds_the_truth_as_often_as_it_says(items, criteria, flips):
    generator = np.random.default_rng(items)
    held = wrong = 0
    for _ in range(300):
        lost = (generator.random((items, criteria)) < flips).mean(1)
        found = clustered_mean((-lost).tolist(), bounds=(-1.0, 1.0)).mean
        held += found.low <= -flips <= found.high
        one_sided = clustered_mean((-lost).tolist(), bounds=(-1.0, 1.0), confidence=0.9).mean
        wrong += one_sided.low > -flips
    assert held / 300 >= 0.92
    assert wrong / 300 <= 0.08


def test_a_comparison_of_nothing_is_undefined_and_says_why():
    found = compare_paired([None, 1.0], [1.0, None])
    assert (found.n, found.left_out, found.mean_a) == (0, 2, None)
    assert found.difference.undefined == "no item has both numbers"
    assert found.permutation.p_value is None


def test_swapping_the_systems_flips_the_sign_and_nothing_else():
    a, b = [0.1, 0.4, 0.3, 0.9, 0.5], [0.3, 0.3, 0.6, 1.0, 0.4]
    one, other = compare_paired(a, b), compare_paired(b, a)
    assert one.difference.value == pytest.approx(-other.difference.value)
    assert one.difference.low == pytest.approx(-other.difference.high)
    assert one.permutation == other.permutation
    assert one.wilcoxon == other.wilcoxon


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
def test_the_correction_of_benjamini_and_hochberg_is_that_of_statsmodels(p_values):
    expected = multipletests(p_values, method="fdr_bh")[1]
    assert benjamini_hochberg(p_values) == pytest.approx(expected.tolist(), abs=1e-9)


def test_a_missing_p_value_counts_for_none():
    assert benjamini_hochberg([None, 0.02, 0.5]) == [None, 0.04, 0.5]
    assert benjamini_hochberg([]) == []
