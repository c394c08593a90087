"""Variance components agree with other ways to get them, and with what data were made from."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import InputError
from rubricate.stats import intraclass_correlation, variance_components


def by_loops(table: np.ndarray) -> dict[str, float]:
    """Two factors with replicates, by the textbook's sums (Searle et al. 1992, table 4.8)."""
    a, b, r = table.shape
    mean, rows, columns = table.mean(), table.mean((1, 2)), table.mean((0, 2))
    cells = table.mean(2)
    ms_a = b * r * sum((rows[i] - mean) ** 2 for i in range(a)) / (a - 1)
    ms_b = a * r * sum((columns[j] - mean) ** 2 for j in range(b)) / (b - 1)
    ss_ab = sum(
        (cells[i, j] - rows[i] - columns[j] + mean) ** 2 for i, j in product(range(a), range(b))
    )
    ms_ab = r * ss_ab / ((a - 1) * (b - 1))
    ss_e = sum((table[i, j, k] - cells[i, j]) ** 2 for i, j, k in np.ndindex(a, b, r))
    ms_e = ss_e / (a * b * (r - 1))
    return {
        "item": max(0.0, (ms_a - ms_ab) / (b * r)),
        "judge": max(0.0, (ms_b - ms_ab) / (a * r)),
        "item x judge": max(0.0, (ms_ab - ms_e) / r),
        "sampling": ms_e,
    }


@settings(max_examples=50, derandomize=True, deadline=None)
@given(st.integers(0, 10**6), st.integers(2, 6), st.integers(2, 4), st.integers(2, 3))
def test_two_factors_with_replicates_agree_with_the_textbooks_sums(seed, items, judges, replicates):
    table = np.random.default_rng(seed).integers(0, 3, (items, judges, replicates)) / 2
    found = variance_components(table.tolist(), bootstrap=None)
    for name, value in by_loops(table).items():
        assert found.components[name] == pytest.approx(value, abs=1e-9)


def test_one_factor_agrees_with_the_intraclass_correlation():
    generator = np.random.default_rng(1)
    table = generator.normal(size=(40, 1)) + 0.5 * generator.normal(size=(40, 4)) + [0, 0.3, 0.6, 1]
    found = variance_components(table[:, :, None].tolist(), bootstrap=None)
    share = found.shares["item"].value
    assert share == pytest.approx(intraclass_correlation(table.tolist())["icc_2_1"].value, abs=1e-9)
    assert list(found.components) == ["item", "judge", "item x judge, sampling"]


def test_what_data_were_made_from_is_found_again():
    made = {"item": 2.0, "judge": 0.5, "prompt": 0.25, "item x judge": 0.4, "sampling": 1.0}
    found = {name: [] for name in made}
    for seed in range(40):
        draw = np.random.default_rng(seed).normal
        table = draw(size=(50, 1, 1, 1)) * 2**0.5 + draw(size=(1, 6, 1, 1)) * 0.5**0.5
        table = table + draw(size=(1, 1, 6, 1)) * 0.5 + draw(size=(50, 6, 1, 1)) * 0.4**0.5
        table = table + draw(size=(50, 6, 6, 2))
        parts = variance_components(table.tolist(), ("judge", "prompt"), bootstrap=None).components
        assert len(parts) == 8
        for name, values in found.items():
            values.append(parts[name])
    for name, value in made.items():
        assert np.mean(found[name]) == pytest.approx(value, rel=0.2)


def test_shares_add_up_and_have_intervals():
    generator = np.random.default_rng(3)
    table = generator.normal(size=(60, 1, 1)) + generator.normal(size=(60, 3, 2))
    found = variance_components(table.tolist())
    assert sum(share.value for share in found.shares.values()) == pytest.approx(1)
    item = found.shares["item"]
    assert item.low < 0.5 < item.high
    assert found.levels == {"judge": 3, "replicate": 2}


def test_replicates_of_one_judge_are_items_and_sampling():
    found = variance_components([[[1, 1, 0]], [[0, 0, 0]], [[1, 1, 1]], [[None, 1, 1]]])
    assert list(found.components) == ["item", "sampling"]
    assert (found.n, found.left_out) == (3, 1)


def test_what_cannot_be_taken_apart_says_why():
    same = variance_components([[[1], [1]], [[1], [1]], [[1], [1]]])
    assert same.shares["item"].undefined == "all numbers are the same"
    few = variance_components([[[1], [1]], [[1], [None]]])
    assert few.shares["item"].undefined == "it needs two items with all their numbers"
    with pytest.raises(InputError, match="no spread to take apart"):
        variance_components([[[1]], [[0]]])
    with pytest.raises(InputError, match="expected item, judge, replicate"):
        variance_components([[1, 2]])


@pytest.mark.parametrize(("items", "judges"), [(20, 2), (50, 3)])
def test_two_or_three_judges_say_little_of_all_others(items, judges):
    held = {"judge": 0, "icc": 0}
    for seed in range(200):
        draw = np.random.default_rng([items, seed]).normal
        table = draw(size=(items, 1)) + 0.5 * draw(size=(1, judges)) + draw(size=(items, judges))
        share = variance_components(table[:, :, None].tolist()).shares["judge"]
        correlation = intraclass_correlation(table.tolist())["icc_2_1"]
        held["judge"] += share.low <= 0.25 / 2.25 <= share.high
        held["icc"] += correlation.low <= 1 / 2.25 <= correlation.high
    assert min(held.values()) / 200 >= 0.92


def test_what_differs_on_few_items_has_no_interval():
    same = [[[1.0, 1.0], [1.0, 1.0]]] * 12
    other = [[[0.0, 0.0], [0.0, 0.0]]] * 12
    once = variance_components([[[1.0, 0.0], [1.0, 1.0]], *same, *other])
    for share in once.shares.values():
        assert share.value is not None
        assert (share.low, share.undefined) == (None, "no interval: too few items differ")
    rated = intraclass_correlation([[5, 4, 5], *[[5, 5, 5]] * 12, *[[3, 3, 3]] * 12])
    for correlation in rated.values():
        assert 0.9 < correlation.value < 1
        assert correlation.undefined == "no interval: too few items differ"
