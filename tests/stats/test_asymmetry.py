"""How far answers lean to one of two sides."""

from __future__ import annotations

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.stats import asymmetry


def chance(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


def holds(
    pairs: int, criteria: int, lean: float, equal: float, repetitions: int
) -> tuple[int, int]:
    """How often the interval holds the truth, and how often it leaves out 0, of so many sets."""
    draw = random.Random(f"{pairs} {criteria} {lean} {equal}")
    better = (-2.0, -0.5, 0.0, 1.0)
    truth = (1 - equal) * sum(chance(one + lean) - chance(one - lean) for one in better) / 4
    held = found = 0
    for _ in range(repetitions):
        clusters: Counter[tuple[float, float]] = Counter()
        for _ in range(pairs):
            one = draw.choice(better)
            answers = [
                sum(
                    0.0 if draw.random() < equal else 1.0 - 2 * (draw.random() > chance(odds))
                    for odds in (lean + one, lean - one)
                )
                / 2
                for _ in range(criteria)
            ]
            clusters[sum(answers), sum(a * a for a in answers)] += 1
        estimate = asymmetry(
            [total for total, _ in clusters],
            squares=[square for _, square in clusters],
            sizes=[criteria] * len(clusters),
            counts=list(clusters.values()),
        )
        held += estimate.low <= truth <= estimate.high
        found += estimate.low > 0 or estimate.high < 0
    return held, found


@pytest.mark.parametrize(
    ("pairs", "criteria", "lean", "equal", "found"),
    [
        (60, 1, 0.0, 0.0, (0, 0.08)),  # noisy, and unbiased
        (60, 3, 0.0, 0.3, (0, 0.08)),
        (60, 3, 1.0, 0.0, (0.95, 1)),  # biased and noisy
        (60, 1, 0.6, 0.2, (0.3, 0.9)),
    ],
)
def test_the_interval_holds_the_bias_and_noise_is_none(pairs, criteria, lean, equal, found):
    held, told = holds(pairs, criteria, lean, equal, 300)
    assert held >= 0.92 * 300
    assert found[0] * 300 <= told <= found[1] * 300


def test_it_is_the_interval_of_bonett_and_price_for_single_answers():
    # 26 against 15 of 91 pairs: the formula of Bonett and Price (2012) by hand, with t
    estimate = asymmetry([1.0, -1.0, 0.0], counts=[26, 15, 50])
    middle = 11 / 93
    half = 1.98667 * math.sqrt((43 / 93 - middle**2) / 93)
    assert estimate.value == pytest.approx(11 / 91)
    # the effective number of answers is 90 of 91, with the variance that divides by n - 1
    assert (estimate.low, estimate.high) == pytest.approx((middle - half, middle + half), abs=2e-3)


@given(st.lists(st.sampled_from([-1.0, -0.5, 0.0, 0.5, 1.0]), min_size=1, max_size=30))
@settings(deadline=None)
def test_it_stays_in_its_bounds_and_turns_with_the_sides(answers):
    one, other = asymmetry(answers), asymmetry([-a for a in answers])
    assert -1 <= one.low <= one.value <= one.high <= 1
    assert (one.low, one.value, one.high) == pytest.approx((-other.high, -other.value, -other.low))
    assert one.low < one.high
    counts = Counter(answers)
    again = asymmetry(list(counts), counts=list(counts.values()))
    assert (again.low, again.high) == pytest.approx((one.low, one.high))


def test_without_an_answer_there_is_none():
    assert asymmetry([]).value is None
    assert asymmetry([]).undefined
