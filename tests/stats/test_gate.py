"""`bound_test`: below a bound, not below it, or these items cannot tell."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from rubricate.errors import InputError
from rubricate.stats import BoundTest, bound_e_value, bound_test, mcnemar_power, permutation_test


def of_differences(values, margin=0.02, **options) -> BoundTest:
    limits = options.pop("limits", (-1.0, 1.0))
    return bound_test(
        values, -margin, limits=limits, differences=True, distance=margin or None, **options
    )


@pytest.mark.parametrize(
    ("down", "up", "same", "side"),
    [
        (12, 0, 88, "below"),
        (12, 11, 77, "cannot tell"),
        (3, 0, 17, "cannot tell"),  # one in eight coins gives three heads in a row
        (0, 20, 80, "not below"),
        (0, 0, 20, "cannot tell"),
        (0, 0, 200, "not below"),
    ],
)
def test_a_mean_is_below_not_below_or_not_to_be_told(down, up, same, side):
    found = of_differences([-1.0] * down + [1.0] * up + [0.0] * same)
    assert found.side == side
    assert found.low <= found.value <= found.high
    assert (found.p_value is not None) == (found.high < -0.02)


@pytest.mark.parametrize(("items", "side"), [(100, "cannot tell"), (165, "not below")])
def test_as_many_items_without_a_flip_as_the_margin_is_narrow_exclude_it(items, side):
    # The exact bound of Clopper and Pearson of 0 in n at 4 %: 1 - 0.04 ** (1 / n).
    found = of_differences([0.0] * items)
    assert found.low == pytest.approx(-(1 - 0.04 ** (1 / items)), abs=1e-6)
    assert found.side == side
    groups = [place // 10 for place in range(items)]
    assert of_differences([0.0] * items, groups=groups).side == "cannot tell"


def test_it_says_how_many_items_would_tell_and_is_right():
    few = of_differences([0.0] * 20)
    assert few.items_needed == math.ceil(math.log(0.04) / math.log(0.98))
    assert of_differences([0.0] * few.items_needed).side == "not below"
    noisy = [1.0, -1.0] * 5 + [0.0] * 40
    needed = of_differences(noisy).items_needed
    more = of_differences(noisy * math.ceil(needed / 50))
    assert more.power == pytest.approx(0.8, abs=0.03)
    assert 0.02 < more.detectable < 0.022  # a drop has more spread than no change


def test_no_drop_beyond_the_limits_is_named_as_one_that_is_found():
    few = bound_test([0.0] * 3, -0.02, limits=(-1, 1), differences=True)
    more = bound_test([0.0] * 13 + [-1.0, 1.0], -0.02, limits=(-1, 1), differences=True)
    assert few.detectable is None
    assert 0.02 + more.detectable < 1


def test_nothing_shows_that_nothing_changed_at_all():
    found = of_differences([1.0, -1.0] * 20, margin=0.0)
    assert (found.side, found.items_needed) == ("cannot tell", None)


def test_noise_of_the_judge_widens_what_a_lucky_sample_shows():
    values = [0.0] * 300
    plain, noisy = of_differences(values), of_differences(values, noise=[0.2] * 300)
    assert (plain.side, noisy.side) == ("not below", "cannot tell")
    assert noisy.low < plain.low
    generator = np.random.default_rng(3)
    judged = generator.normal(0.0, 0.5, 100).clip(-1, 1).tolist()
    found = of_differences(judged, margin=0.12, noise=[0.24] * 100)
    assert found.replicates_needed == 2 or found.side != "cannot tell"
    assert of_differences(judged, margin=0.12).replicates_needed is None


@pytest.mark.parametrize("flips", [0.05, 0.2])
@pytest.mark.parametrize(("items", "criteria", "size"), [(20, 1, 1), (50, 3, 1), (100, 1, 4)])
def test_an_unchanged_system_is_seldom_below(items, criteria, size, flips):
    generator = np.random.default_rng(items + criteria)
    groups = np.repeat(np.arange(items // size), size)
    below = 0
    for _ in range(200):
        runs = generator.random((2, items // size, criteria)) < flips / 2
        difference = (runs[0].mean(1) - runs[1].mean(1))[groups]
        below += of_differences(difference.tolist(), 0.0, groups=groups.tolist()).side == "below"
    assert below <= stats.binom.ppf(0.999, 200, 0.05)


def test_it_finds_the_drop_that_a_plan_promises():
    items, differing = 100, 0.2
    drop = next(d / 1000 for d in range(1, 200) if mcnemar_power(items, d / 1000, differing) >= 0.8)
    generator = np.random.default_rng(5)
    shares = [(differing + drop) / 2, (differing - drop) / 2, 1 - differing]
    found = sum(
        of_differences(generator.choice([-1.0, 1.0, 0.0], items, p=shares).tolist(), 0.0).side
        == "below"
        for _ in range(200)
    )
    assert found >= stats.binom.ppf(0.001, 200, 0.8)


def test_it_finds_the_drop_that_it_names_at_its_own_spread():
    generator = np.random.default_rng(7)
    named = of_differences([1.0, -1.0] * 5 + [0.0] * 90)
    drop = 0.02 + named.detectable
    shares = [0.05 + drop, 0.05, 0.9 - drop]
    found = sum(
        of_differences(generator.choice([-1.0, 1.0, 0.0], 100, p=shares).tolist()).side == "below"
        for _ in range(200)
    )
    assert 0.95 >= found / 200 >= stats.binom.ppf(0.001, 200, 0.8) / 200


def test_scores_are_held_against_a_threshold():
    assert bound_test([1.0] * 30, 0.9).side == "cannot tell"
    assert bound_test([1.0] * 60, 0.9).side == "not below"
    assert bound_test([0.5, 0.7] * 20, 0.9).side == "below"
    assert bound_test([0.85, 0.95] * 5, 0.9).side == "cannot tell"
    raw = bound_test([10.0, 12.0, 9.0, 11.0, 10.0, 12.0], 3.0, limits=None)
    assert raw.side == "not below"


@pytest.mark.parametrize("values", [[], [0.3], [None, None], [0.0] * 5])
def test_without_items_or_spread_nothing_is_shown(values):
    found = bound_test(values, -0.1, limits=None)
    assert (found.side, found.low, found.power) == ("cannot tell", None, None)


def test_large_gains_that_were_not_seen_are_not_taken_for_impossible():
    # Small losses of nearly all, and a gain of 1 in 22 that makes up for them: seen in few samples.
    assert of_differences([-0.05] * 19 + [0.0], 0.0).side == "cannot tell"
    assert of_differences([-0.05] * 95 + [0.0] * 5, 0.0).side == "below"
    assert bound_test([1.0] * 20 + [0.9] * 20, 0.93).side == "cannot tell"


def test_the_p_is_that_of_the_permutation_test_on_one_side():
    values = [-1.0] * 9 + [1.0] + [0.0] * 30
    found = of_differences(values, 0.0)
    assert found.p_value == permutation_test(values).p_value / 2 == 11 / 1024


@pytest.mark.parametrize("size", [1, 5])
def test_a_bet_against_an_unchanged_system_wins_nothing_on_average(size):
    chance = np.random.default_rng(3)
    won = []
    for _ in range(2000):
        a, b = (np.repeat(chance.random(40 // size) < 0.7, size) * 1.0 for _ in range(2))
        won.append(bound_e_value((b - a).tolist(), 0.0, groups=(np.arange(40) // size).tolist()))
    assert np.mean(won) < 1 + 3 * np.std(won) / 2000**0.5
    assert np.mean(np.array(won) >= 20) < 0.05


def test_a_bet_on_a_drop_wins_with_every_item():
    won = [bound_e_value([-1.0] * n, 0.0) for n in (0, 1, 5, 20)]
    assert won[0] == 1.0
    assert won == sorted(won)
    assert won[-1] > 1000
    assert bound_e_value([-1.0] * 20, 0.0, groups=["one"] * 20) < 2


def test_what_is_no_number_is_refused():
    for values, bound in (([0.5, 2.0], 0.0), ([None], 0.0), ([0.5], 1.0), ([0.5], float("nan"))):
        with pytest.raises(InputError):
            bound_e_value(values, bound)
    with pytest.raises(InputError, match="bound"):
        bound_test([0.5, 0.6], float("nan"))
    with pytest.raises(InputError, match="noise has 1 numbers for 2 values"):
        bound_test([0.5, 0.6], 0.5, noise=[0.1])


def test_where_the_limit_is_not_ruled_out_it_is_the_bound():
    assert bound_test([0.4, 1.0], 1.0).high == 1.0
    assert bound_test([0.4, 1.0], 1.0).side == "cannot tell"
