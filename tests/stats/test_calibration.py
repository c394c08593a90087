"""Calibration, against scikit-learn."""

from __future__ import annotations

import json

import numpy as np
import pytest
from sklearn.calibration import calibration_curve
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss

from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    IsotonicMap,
    PlattMap,
    calibration,
    calibration_gain,
    read_calibration_map,
)


@pytest.fixture
def overconfident() -> tuple[list[float], list[bool]]:
    """2,000 probabilities whose log-odds are twice too large."""
    generator = np.random.default_rng(4)
    log_odds = generator.normal(0, 1.5, 2000)
    truth = generator.random(2000) < 1 / (1 + np.exp(-log_odds))
    return (1 / (1 + np.exp(-2 * log_odds))).tolist(), truth.tolist()


def test_brier_and_the_reliability_table_are_those_of_scikit_learn(overconfident):
    p, y = overconfident
    found = calibration(p, y)
    assert found.brier.value == pytest.approx(brier_score_loss(y, p), abs=1e-12)
    assert found.brier.low < found.brier.value < found.brier.high
    frequency, mean = calibration_curve(y, p, n_bins=10)
    filled = [row for row in found.bins if row.n]
    assert [row.frequency.value for row in filled] == pytest.approx(frequency.tolist())
    assert [row.mean_probability for row in filled] == pytest.approx(mean.tolist())
    gaps = sum(row.n * abs(row.frequency.value - row.mean_probability) for row in filled)
    assert found.expected_calibration_error.value == pytest.approx(gaps / 2000, abs=1e-12)
    assert found.binning == "10 bins, equally wide"


def test_bins_can_be_equally_full(overconfident):
    found = calibration(*overconfident, bins=5, binning="quantile")
    assert [row.n for row in found.bins] == [400] * 5
    assert found.binning == "5 bins, equally full"
    assert [row.n for row in calibration([0.5] * 4, [True] * 4, binning="quantile").bins] == [4]


def test_pairs_with_one_missing_are_left_out_and_counted():
    found = calibration([0.5, None, 1.0], [True, True, None])
    assert (found.n, found.left_out) == (1, 2)
    nothing = calibration([None], [True])
    assert nothing.brier.value is None
    assert nothing.brier.undefined == "there is no probability with an outcome"


def test_an_isotonic_map_is_that_of_scikit_learn(overconfident):
    p, y = overconfident
    ours = IsotonicMap.fit(p, y)
    theirs = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    for probability in np.linspace(0, 1, 101):
        assert ours(probability) == pytest.approx(theirs.predict([probability])[0], abs=1e-9)
    assert len(ours.points) < 200


def test_a_platt_map_finds_the_slope_that_undoes_overconfidence(overconfident):
    p, y = overconfident
    found = PlattMap.fit(p, y)
    assert found.slope == pytest.approx(0.5, abs=0.05)
    log_odds = np.log(np.array(p) / (1 - np.array(p)))[:, None]
    theirs = LogisticRegression(C=1e9).fit(log_odds, y)
    assert found.slope == pytest.approx(theirs.coef_[0, 0], abs=0.01)
    before, after = calibration(p, y), calibration([found(x) for x in p], y)
    assert after.expected_calibration_error.value < before.expected_calibration_error.value / 3


def test_maps_are_written_and_read_again(overconfident):
    for made in (IsotonicMap.fit(*overconfident), PlattMap.fit(*overconfident)):
        assert read_calibration_map(json.loads(json.dumps(made.to_dict()))) == made
    for bad in ({}, {"kind": "isotonic", "points": [1], "values": []}, {"kind": "beta"}):
        with pytest.raises(InputError, match="not a calibration map"):
            read_calibration_map(bad)


def test_the_gain_of_a_map_is_measured_on_pairs_that_it_was_not_fitted_on():
    """With ten clusters each is a fold."""
    generator = np.random.default_rng(1)
    p = generator.random(50)
    y = generator.random(50) < 0.5 + (p - 0.5) / 3
    groups = np.arange(50) % 10
    gains = np.empty(50)
    for group in range(10):
        out = groups == group
        fitted = PlattMap.fit(p[~out].tolist(), y[~out].tolist())
        mapped = np.array([fitted(one) for one in p[out]])
        gains[out] = (p[out] - y[out]) ** 2 - (mapped - y[out]) ** 2
    found = calibration_gain(p.tolist(), y.tolist(), groups=groups.tolist(), seed=3)
    assert (found.n, found.clusters) == (50, 10)
    assert found.brier_gain.value == pytest.approx(float(gains.mean()))
    assert found.brier_gain.low is None
    assert found.brier_before - found.brier_after == pytest.approx(found.brier_gain.value)


@pytest.mark.parametrize("method", ["platt", "isotonic"])
def test_a_map_of_calibrated_probabilities_is_seldom_called_better(method):
    generator = np.random.default_rng(2)
    shown = 0
    for _ in range(100):
        p = generator.random(60)
        y = generator.random(60) < p
        shown += calibration_gain(p.tolist(), y.tolist(), method=method).why_not is None
    assert shown <= 5


def test_a_map_that_undoes_overconfidence_is_shown_to_be_better(overconfident):
    p, y = overconfident
    for method in ("platt", "isotonic"):
        assert calibration_gain(p, y, method=method).why_not is None
    few = calibration_gain(p, y, groups=[place % 9 for place in range(2000)])
    assert (
        few.why_not == "it takes 15 items or groups with labels and probabilities, and there are 9"
    )


def test_a_gain_needs_outcomes_of_both_kinds():
    found = calibration_gain([0.2, 0.9, None], [True, True, False])
    assert (found.n, found.brier_after, found.accuracy_after) == (0, None, None)
    assert found.brier_gain.undefined == "there are no values"
    assert found.why_not is not None


def test_unusable_probabilities_are_refused():
    with pytest.raises(InputError, match=r"1\.5 at position 0 is not between 0 and 1"):
        calibration([1.5], [True])
    with pytest.raises(InputError, match="true or false"):
        calibration([0.5], [2])  # type: ignore[list-item]
    with pytest.raises(InputError, match="both kinds"):
        PlattMap.fit([0.5, 0.6], [True, True])


def test_noise_is_no_calibration_error_and_a_bias_is():
    found: dict[float, list[float]] = {0.0: [], 0.2: []}
    shown = dict.fromkeys(found, 0)
    for shift, errors in found.items():
        for seed in range(200):
            chance = np.random.default_rng([50, seed])
            p = chance.random(50)
            y = chance.random(50) < np.clip(p - shift, 0, 1)
            one = calibration(p.tolist(), y.tolist(), bootstrap=Bootstrap(resamples=200))
            assert one.calibration_error.value <= one.expected_calibration_error.value + 1e-12
            assert one.calibration_error.low is one.expected_calibration_error.low is None
            errors.append(one.calibration_error.value)
            shown[shift] += one.miscalibration < 0.05
    assert np.mean(found[0.0]) < 0.05  # that of the plain one is 0.15
    assert 0.12 < np.mean(found[0.2]) < 0.25
    assert shown[0.0] / 200 <= 0.09
    assert shown[0.2] / 200 >= 0.4


def test_pairs_that_repeat_in_a_cluster_show_no_more_miscalibration():
    chance = np.random.default_rng(7)
    p = chance.random(30)
    y = chance.random(30) < p
    once = calibration(p.tolist(), y.tolist())
    groups = np.repeat(np.arange(30), 10).tolist()
    many = calibration(np.repeat(p, 10).tolist(), np.repeat(y, 10).tolist(), groups=groups)
    alone = calibration(np.repeat(p, 10).tolist(), np.repeat(y, 10).tolist())
    assert many.calibration_error.value == pytest.approx(once.calibration_error.value)
    assert many.miscalibration == pytest.approx(once.miscalibration, abs=0.3)
    assert alone.miscalibration < 0.01 < many.miscalibration


def test_the_error_without_a_map_is_that_of_the_same_pairs_by_groups():
    chance = np.random.default_rng(5)
    sure = chance.random(120)
    outcomes = [bool(one) for one in chance.random(120) < sure**2]
    groups = [at // 3 for at in range(120)]
    gain = calibration_gain(sure.tolist(), outcomes, groups=groups)
    same = calibration(sure.tolist(), outcomes, groups=groups, bootstrap=None)
    assert gain.n == 120
    assert gain.error_before == pytest.approx(same.calibration_error.value)
