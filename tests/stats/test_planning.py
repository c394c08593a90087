"""Widths and powers that a plan names beforehand are those that the data then give."""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import stats as scipy_stats

from rubricate import InputError
from rubricate.stats import (
    corrected_mean,
    corrected_mean_width,
    exact_interval,
    lower_end_power,
    mcnemar_power,
    mcnemar_test,
    mean_width,
    paired_power,
    share_width,
)


@pytest.mark.parametrize("part", ["of_shares", "of_means", "of_comparisons"])
def test_widths_are_within_5_percent_and_powers_within_3_points(
    part: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "tools"))
    import check_plans

    for found in getattr(check_plans, part)(200):
        assert found.is_kept, found
    del sys.modules["check_plans"], sys.modules["check_intervals"]


def test_widths_and_powers_of_shares_are_sums_over_all_outcomes():
    for n, share, promise in ((30, 0.8, 0.7), (57, 0.95, 0.9), (200, 0.8, 0.75)):
        ends = [exact_interval(count, n) for count in range(n + 1)]
        weights = scipy_stats.binom.pmf(np.arange(n + 1), n, share)
        expected = sum(w * (e.high - e.low) / 2 for w, e in zip(weights, ends, strict=True))
        assert share_width(n, share) == pytest.approx(expected, abs=1e-9)
        reached = weights[[end.low >= promise for end in ends]].sum()
        assert lower_end_power(n, share, promise) == pytest.approx(reached, abs=1e-9)


def test_mcnemars_power_is_the_sum_over_all_tables():
    n, difference, differing = 12, 0.3, 0.5
    better, worse = (differing + difference) / 2, (differing - difference) / 2
    total = 0.0
    for b in range(n + 1):
        for c in range(n + 1 - b):
            pairs = [(0, 1)] * b + [(1, 0)] * c + [(0, 0)] * (n - b - c)
            p_value = mcnemar_test([one for one, _ in pairs], [two for _, two in pairs]).p_value
            if p_value is not None and p_value <= 0.05:
                chances = [better, worse, 1 - differing]
                total += scipy_stats.multinomial.pmf([b, c, n - b - c], n, chances)
    assert mcnemar_power(n, difference, differing) == pytest.approx(total, abs=1e-9)


@pytest.mark.parametrize(("n", "difference", "spread"), [(10, 0.1, 0.1), (100, 0.05, 0.2)])
def test_the_power_of_a_paired_comparison_is_the_noncentral_ts(n, difference, spread):
    shift = difference / spread * math.sqrt(n)
    critical = scipy_stats.t.ppf(0.975, n - 1)
    expected = scipy_stats.nct.sf(critical, n - 1, shift)
    expected += scipy_stats.nct.cdf(-critical, n - 1, shift)
    for each in (difference, -difference):
        assert paired_power(n, each, spread, differing=1) == pytest.approx(expected, abs=1e-4)


def test_items_that_do_not_differ_give_no_power():
    flips = {"difference": 0.08, "spread": 0.3371}  # 10 % better, 2 % worse
    assert paired_power(20, differing=1, **flips) > 0.15
    by_sign = pytest.approx(mcnemar_power(20, 0.08, 0.12), abs=0.005)
    assert paired_power(20, differing=0.12, **flips) == by_sign
    assert paired_power(20, **flips) == by_sign  # what is not known is not promised
    with pytest.raises(InputError, match=r"differing must be 0\.0533 or more"):
        paired_power(20, differing=0.05, **flips)
    # By flipping signs, five clusters can show no difference.
    every = {"difference": 0.5, "spread": 0.01, "differing": 1}
    assert paired_power(5, **every) == paired_power(20, cluster_size=4, **every) == 0
    assert paired_power(6, **every) > 0.99


def test_a_prediction_powered_plan_is_never_wider_than_the_labels_alone():
    moments = {"spread": 0.4, "judge_spread": 0.4}
    alone = mean_width(50, 0.4)
    for useless in (0, -0.5):
        width = corrected_mean_width(50, 950, correlation=useless, **moments)
        assert width == pytest.approx(alone)
    assert corrected_mean_width(50, 950, correlation=0.9, **moments) < 0.6 * alone


def test_a_plan_expects_the_errors_that_the_labels_so_far_leave_possible():
    moments = {"spread": 0.5, "judge_spread": 0.5, "correlation": 1.0, "share": 0.5}
    few, many = (corrected_mean_width(200, 800, seen=seen, **moments) for seen in (20, 200))
    assert 1.3 * many < few < share_width(200, 0.5)
    judge = [float(place % 2) for place in range(1000)]
    human = [one if place < 20 else None for place, one in enumerate(judge)]
    found = corrected_mean(judge, human).prediction_powered
    planned = corrected_mean_width(20, 980, **moments)
    assert planned == pytest.approx((found.high - found.low) / 2, rel=0.03)


def test_what_cannot_be_is_refused_by_name():
    with pytest.raises(InputError, match=r"^differing must be from 0\.3 to 1, found 0\.2$"):
        mcnemar_power(20, 0.3, 0.2)
    with pytest.raises(InputError, match=r"^n: 3 in clusters of 2 make fewer than two clusters$"):
        mean_width(3, 0.2, cluster_size=2)
