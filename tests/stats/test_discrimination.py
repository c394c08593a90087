"""The area under the ROC curve, and the threshold that costs least."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import optimize, stats
from sklearn import metrics

from rubricate.errors import InputError
from rubricate.stats import decision_threshold, roc_auc


def drawn(
    seed: int, clusters: int, size: int, apart: float = 1.0, together: float = 0.0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores that are normal, higher by `apart` where the outcome is true; and their documents."""
    chance = np.random.default_rng(seed)
    groups = np.repeat(np.arange(clusters), size)
    outcome = chance.random(len(groups)) < 0.5
    shared = chance.normal(size=clusters)[groups]
    own = chance.normal(size=len(groups))
    return apart * outcome + together**0.5 * shared + (1 - together) ** 0.5 * own, outcome, groups


@pytest.mark.parametrize("seed", range(5))
def test_the_area_is_that_of_scikit_learn(seed: int):
    scores, outcome, _ = drawn(seed, 40, 1)
    rounded = np.round(scores, 1)  # ties
    found = roc_auc(rounded.tolist(), outcome.tolist())
    assert found.value == pytest.approx(metrics.roc_auc_score(outcome, rounded), abs=1e-12)


def test_the_interval_is_the_wider_of_delongs_and_newcombes():
    scores, outcome, _ = drawn(3, 60, 1)
    scores = np.round(scores, 1)
    true_scores, false = scores[outcome], scores[~outcome]
    beats = (true_scores[:, None] > false) + 0.5 * (true_scores[:, None] == false)
    area = beats.mean()
    parts = beats.mean(1).var(ddof=1) / len(true_scores), beats.mean(0).var(ddof=1) / len(false)
    variance = sum(parts)
    apart = parts[0] ** 2 / (len(true_scores) - 1) + parts[1] ** 2 / (len(false) - 1)
    half = stats.t.ppf(0.975, variance**2 / apart) * math.sqrt(variance) / (area * (1 - area))
    middle = math.log(area / (1 - area))
    delong = [1 / (1 + math.exp(-end)) for end in (middle - half, middle + half)]
    others = 60 / 2 - 1
    t = stats.t.ppf(0.975, 59)

    def excess(true: float) -> float:  # Newcombe (2006), method 5
        factor = 1 + others * ((1 - true) / (2 - true) + true / (1 + true))
        variance = true * (1 - true) * factor / (len(true_scores) * len(false))
        return (area - true) ** 2 - t**2 * variance

    newcombe = optimize.brentq(excess, 0, area), optimize.brentq(excess, area, 1)
    found = roc_auc(scores.tolist(), outcome.tolist())
    expected = min(delong[0], newcombe[0]), max(delong[1], newcombe[1])
    assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_few_labels_of_one_kind_widen_the_interval_or_leave_none():
    held, made = 0, 0
    for seed in range(300):
        chance = np.random.default_rng([5, seed])
        outcome = chance.random(200) < 0.05
        scores = chance.normal(size=200) + outcome
        found = roc_auc(scores.tolist(), outcome.tolist())
        if outcome.sum() < 5:
            assert (found.low, found.undefined is None) == (None, False)
            continue
        made += 1
        held += found.low <= stats.norm.cdf(0.5**0.5) <= found.high
    assert made > 250
    assert held / made >= 0.92


def test_items_that_come_five_times_say_no_more_than_once():
    scores, outcome, _ = drawn(4, 30, 1)
    once = roc_auc(scores.tolist(), outcome.tolist())
    groups = [*range(30)] * 5
    many = roc_auc(scores.tolist() * 5, outcome.tolist() * 5, groups=groups)
    assert many.value == pytest.approx(once.value)
    assert (many.low, many.high) == pytest.approx((once.low, once.high), abs=0.01)


@pytest.mark.parametrize(
    ("clusters", "size", "apart", "together"),
    [(20, 1, 1.0, 0.0), (50, 1, 2.0, 0.0), (8, 5, 1.0, 0.4), (20, 10, 1.5, 0.3)],
)
def test_the_interval_holds_the_truth_nearly_as_often_as_it_says(
    clusters: int, size: int, apart: float, together: float
):
    truth = stats.norm.cdf(apart / math.sqrt(2))
    held = there = 0
    for seed in range(300):
        scores, outcome, groups = drawn(seed, clusters, size, apart, together)
        found = roc_auc(
            scores.tolist(), outcome.tolist(), groups=groups.tolist() if size > 1 else None
        )
        if found.low is not None and found.high is not None:
            there += 1
            held += found.low <= truth <= found.high
    assert there > 290
    assert held / there > 0.92 - 0.03


def test_a_perfect_order_has_an_interval_below_1():
    found = roc_auc([index / 10 for index in range(10)], [0] * 5 + [1] * 5)
    assert found.value == 1
    assert found.low is not None
    assert 0.4 < found.low < 0.8
    assert found.high == 1


def test_criteria_that_are_met_more_often_than_others_are_no_merit():
    chance = np.random.default_rng(0)
    often = chance.random(400) < 0.9
    seldom = chance.random(400) < 0.1
    scores = [0.9] * 400 + [0.1] * 400  # knows the criterion, and nothing else
    outcome = [*often.tolist(), *seldom.tolist()]
    assert (roc_auc(scores, outcome).value or 0) > 0.85
    found = roc_auc(scores, outcome, strata=["often"] * 400 + ["seldom"] * 400)
    assert found.value == 0.5


def test_without_a_contrast_there_is_no_area():
    assert roc_auc([0.1, 0.9], [1, 1]).undefined == "there is no pair of a true and a false outcome"
    few = roc_auc([0.1, 0.9, 0.8], [0, 1, 1])
    assert few.value == 1
    assert "five items or groups" in (few.undefined or "")


def test_the_threshold_costs_least_of_all():
    chance = np.random.default_rng(1)
    p = np.round(chance.random(80), 2)
    outcome = chance.random(80) < p**2
    found = decision_threshold(
        p.tolist(), outcome.tolist(), false_positive_cost=3, false_negative_cost=1
    )

    def cost(threshold: float) -> float:
        says = p >= threshold
        return float((3 * (says & ~outcome) + (~says & outcome)).mean())

    assert found.threshold is not None
    assert cost(found.threshold) == pytest.approx(min(cost(one) for one in [*np.unique(p), 1.1]))
    assert found.cost_at_half.value == pytest.approx(cost(0.5))


def test_of_calibrated_probabilities_it_is_near_the_share_of_the_costs():
    chance = np.random.default_rng(2)
    p = chance.random(20_000)
    outcome = chance.random(20_000) < p
    found = decision_threshold(
        p.tolist(), outcome.tolist(), false_positive_cost=4, false_negative_cost=1
    )
    assert found.threshold == pytest.approx(0.8, abs=0.05)
    assert (found.saved.low or 0) > 0


def test_the_cost_is_what_new_data_cost_and_not_what_the_chosen_data_do():
    """Probabilities that say nothing: a threshold chosen on them looks better than it is."""
    held_out, chosen_on, fair = [], [], []
    for seed in range(200):
        chance = np.random.default_rng(seed)
        p, outcome = chance.random(30), chance.random(30) < 0.5
        found = decision_threshold(p.tolist(), outcome.tolist(), seed=seed)
        assert found.threshold is not None
        held_out.append(found.cost.value or 0.0)
        chosen_on.append(float(((p >= found.threshold) != outcome).mean()))
        fair.append(0.5)
    assert np.mean(chosen_on) < 0.42
    assert np.mean(held_out) > 0.49


def test_groups_are_never_in_two_parts():
    """Each document has one outcome and one probability: only another document could tell."""
    chance = np.random.default_rng(5)
    groups = np.repeat(np.arange(12), 6)
    p = chance.random(12)[groups]
    outcome = (chance.random(12) < 0.5)[groups]
    apart = decision_threshold(p.tolist(), outcome.tolist(), groups=groups.tolist())
    mixed = decision_threshold(p.tolist(), outcome.tolist())
    assert (apart.cost.value or 0) > (mixed.cost.value or 0)


def test_costs_and_probabilities_out_of_range_are_refused():
    with pytest.raises(InputError, match="false_positive_cost must be between"):
        decision_threshold([0.1], [1], false_positive_cost=0)
    with pytest.raises(InputError, match="probabilities: 7 at position 0"):
        decision_threshold([7.0], [1])
    none = decision_threshold([0.1, 0.2], [1, 1])
    assert none.threshold is None
    assert none.undefined
