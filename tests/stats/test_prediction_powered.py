"""Means corrected by a few labels: identities, and how often the intervals hold the truth."""

from __future__ import annotations

import numpy as np
import pytest

from rubricate.errors import InputError
from rubricate.stats import (
    clustered_share,
    corrected_mean,
    exact_interval,
    label_agreement,
    next_to_label,
    score_agreement,
    weights_by_chance,
)

TRUTH, SENSITIVITY, SPECIFICITY = 0.6, 0.9, 0.75


def draw(generator: np.random.Generator, n: int, labelled: int, share: float = TRUTH):
    truth = (generator.random(n) < share).astype(float)
    right = np.where(truth == 1, SENSITIVITY, SPECIFICITY)
    judge = np.where(generator.random(n) < right, truth, 1 - truth)
    human = [label if place < labelled else None for place, label in enumerate(truth.tolist())]
    return judge.tolist(), human


@pytest.mark.parametrize("labelled", [50, 200])
@pytest.mark.parametrize("share", [0.6, 0.8, 0.9])
def test_corrected_intervals_hold_the_truth_as_often_as_they_say(labelled, share):
    generator = np.random.default_rng(labelled)
    rounds = 400  # a standard error of 0.011: the bounds are at 2.7 of them
    held = dict.fromkeys(("naive", "labelled_only", "prediction_powered", "rogan_gladen"), 0)
    for _ in range(rounds):
        found = corrected_mean(*draw(generator, 1000, labelled, share))
        for name in held:
            estimate = getattr(found, name)
            held[name] += estimate.low is None or estimate.low <= share <= estimate.high
    assert held["naive"] / rounds < 0.6
    assert 0.92 <= held["labelled_only"] / rounds <= 0.98
    assert 0.92 <= held["prediction_powered"] / rounds <= 0.99  # wide where errors are few
    assert held["rogan_gladen"] / rounds >= 0.92  # somewhat wide, as its documentation says


@pytest.mark.parametrize(
    ("labelled", "share", "missed", "false_alarms"),
    [(20, 0.5, 0.0, 0.1), (20, 0.9, 0.0, 0.5), (50, 0.8, 0.01, 0.1), (100, 0.5, 0.02, 0.0)],
)
def test_a_good_judge_whose_errors_few_labels_rarely_show_gets_an_honest_interval(
    labelled, share, missed, false_alarms
):
    generator = np.random.default_rng(labelled)
    held = 0
    for _ in range(300):
        truth = (generator.random(1000) < share).astype(float)
        wrong = generator.random(1000) < np.where(truth == 1, missed, false_alarms)
        human = [label if place < labelled else None for place, label in enumerate(truth.tolist())]
        found = corrected_mean(np.abs(truth - wrong).tolist(), human).prediction_powered
        held += found.low <= share <= found.high
    assert held / 300 >= 0.92


@pytest.mark.parametrize("labelled", [20, 50, 100])
@pytest.mark.parametrize("size", [1, 2])
def test_labels_without_an_error_are_worth_no_more_than_the_errors_they_leave_possible(
    labelled, size
):
    judge = [float(place % 2) for place in range(1000)]
    human = [one if place < labelled else None for place, one in enumerate(judge)]
    groups = [place // (2 * size) for place in range(1000)] if size > 1 else None
    found = corrected_mean(judge, human, groups=groups)
    possible = exact_interval(0, labelled).high  # errors; labels then correlate by at most
    correlation = 1 - 2 * possible
    assert 1 <= found.effective_labels / labelled < 1 / (1 - correlation**2)
    assert found.prediction_powered.low < 0.5 < found.prediction_powered.high
    assert found.prediction_powered.high - found.prediction_powered.low > possible


def test_scores_get_the_judges_help_once_it_was_seen_to_err():
    labels = [(place * 7) % 5 / 4 for place in range(40)]

    def judged(errors: int) -> list[float]:
        return [abs(label - 0.25 * (place < errors)) for place, label in enumerate(labels)]

    human = labels + [None] * 400
    for errors in (0, 4):
        found = corrected_mean(judged(errors) + labels * 10, human)
        assert found.prediction_powered == found.labelled_only
        assert (found.tuning, found.effective_labels) == (0.0, 40)
    assert corrected_mean(judged(5) + labels * 10, human).effective_labels > 80


@pytest.mark.parametrize("documents", [50, 200])
def test_corrected_intervals_of_clusters_hold_the_truth_as_often_as_they_say(documents):
    generator = np.random.default_rng(documents)
    groups = np.repeat(np.arange(600), 3).tolist()
    held = 0
    for _ in range(400):
        chance = generator.beta(0.8 * 7 / 3, 0.2 * 7 / 3, (600, 1))
        truth = (generator.random((600, 3)) < chance).ravel().astype(float)
        judge = np.where(generator.random(1800) < 0.85, truth, 1 - truth)
        human = [*truth[: 3 * documents].tolist(), *[None] * (1800 - 3 * documents)]
        found = corrected_mean(judge.tolist(), human, groups=groups).prediction_powered
        held += found.low <= 0.8 <= found.high
    assert 0.92 <= held / 400 <= 0.98


def test_a_good_judge_makes_labels_worth_more():
    found = corrected_mean(*draw(np.random.default_rng(1), 2000, 100))
    width = found.prediction_powered.high - found.prediction_powered.low
    alone = found.labelled_only.high - found.labelled_only.low
    assert width < alone
    assert found.effective_labels == pytest.approx(100 * (alone / width) ** 2, rel=0.05)
    assert found.effective_labels > 140
    assert (found.labelled, found.unlabelled, found.left_out) == (100, 1900, 0)


def test_a_useless_judge_does_no_harm():
    generator = np.random.default_rng(2)
    human = (generator.random(60) < 0.5).astype(float).tolist()
    judge = [1 - label for label in human] + generator.random(500).round().tolist()
    found = corrected_mean(judge, human + [None] * 500)
    assert found.tuning == 0.0
    assert found.prediction_powered == found.labelled_only
    assert found.effective_labels == pytest.approx(60)
    assert found.rogan_gladen.value is None
    assert "no better than chance" in (found.rogan_gladen.undefined or "")


def test_the_estimate_is_the_formula_of_the_paper():
    judge = [0.2, 0.9, 0.5, 0.7, 0.1, 0.8, 0.6, 0.3]
    human = [0.3, 1.0, 0.4, 0.6, None, None, None, None]
    found = corrected_mean(judge, human)
    f, y, g = np.array(judge[:4]), np.array(human[:4], float), np.array(judge[4:])
    tuning = np.cov(y, f)[0, 1] / ((1 + 4 / 4) * np.var(judge, ddof=1))
    value = tuning * g.mean() + (y - tuning * f).mean()
    assert found.tuning == pytest.approx(tuning)
    assert found.prediction_powered.value == pytest.approx(value)


def test_rogan_and_gladens_own_formula():
    # Sensitivity 4/5, specificity 4/5 and an apparent share of 0.5 give (0.5 - 0.2) / 0.6.
    human = [1.0] * 5 + [0.0] * 5 + [None] * 10
    judge = [1, 1, 1, 1, 0] + [0, 0, 0, 0, 1] + [1, 0] * 5
    found = corrected_mean(judge, human)
    assert (found.sensitivity, found.specificity) == (0.8, 0.8)
    assert found.rogan_gladen.value == pytest.approx(0.5)
    assert found.rogan_gladen.low < 0.5 < found.rogan_gladen.high


def test_items_that_repeat_in_a_cluster_add_no_certainty():
    judge, human = draw(np.random.default_rng(3), 100, 40)
    once = corrected_mean(judge, human)
    thrice = corrected_mean(judge * 3, human * 3, groups=[*range(100)] * 3)
    assert thrice.labelled_only.low == pytest.approx(once.labelled_only.low)
    width = once.prediction_powered.high - once.prediction_powered.low
    again = thrice.prediction_powered.high - thrice.prediction_powered.low
    assert again == pytest.approx(width, rel=0.02)


def test_where_nothing_is_labelled_only_the_naive_mean_is_left():
    found = corrected_mean([1.0, 0.0, None], [None, None, 1.0])
    assert found.naive == clustered_share([True, False], groups=[0, 1])
    assert (found.labelled, found.left_out) == (0, 1)
    assert found.prediction_powered.undefined
    assert found.rogan_gladen.undefined
    assert found.tuning is found.effective_labels is None


def test_all_labelled_is_the_plain_mean():
    found = corrected_mean([1.0, 0.0, 1.0], [1.0, 1.0, 0.0])
    assert found.prediction_powered == found.labelled_only


def test_what_to_label_next_is_a_random_sample():
    labelled = [True, False, False, True, False, False]
    chosen = next_to_label(labelled, 3)
    assert len(chosen) == 3
    assert set(chosen) <= {1, 2, 4, 5}
    assert next_to_label(labelled, 3) == chosen
    assert set(next_to_label(labelled, 10)) == {1, 2, 4, 5}
    with pytest.raises(InputError, match="0 or more"):
        next_to_label(labelled, -1)


def test_weights_sum_to_the_items_and_none_is_below_one():
    assert weights_by_chance([0.1, 0.1, 0.2], 10) == pytest.approx([4, 4, 2])
    weights = weights_by_chance([0.9, 0.001, 0.002, 0.004], 20)
    assert (weights[0], sum(weights)) == (1.0, pytest.approx(20))
    assert weights[1] / weights[2] == pytest.approx(2)
    assert weights_by_chance([0.5, 0.1], 2) == [1.0, 1.0]
    with pytest.raises(InputError, match="2 or more"):
        weights_by_chance([0.5, 0.1], 1)


def test_weights_that_are_all_the_same_change_no_figure():
    generator = np.random.default_rng(3)
    human = (generator.random(60) < 0.4).astype(float)
    judge = np.where(generator.random(60) < 0.8, human, 1 - human)
    words = [["MET" if met else "UNMET" for met in side] for side in (judge, human)]
    plain, weighted = (label_agreement(*words, weights=each) for each in (None, [3.0] * 60))
    for name in ("accuracy", "cohen_kappa", "macro_f1"):
        a, b = plain.figures[name], weighted.figures[name]
        assert b.value == pytest.approx(a.value)
        assert b.low == pytest.approx(a.low, abs=0.02)
    numbers = score_agreement(judge, human), score_agreement(judge, human, weights=[2.0] * 60)
    for name in ("bias", "pearson", "mae"):
        a, b = (each.figures[name] for each in numbers)
        assert (b.value, b.high) == (pytest.approx(a.value), pytest.approx(a.high, abs=0.03))


def test_items_chosen_where_the_judge_is_unsure_give_unbiased_figures_by_their_weights():
    """A judge right in 95 % of easy items and 40 % of hard ones, which are chosen more often."""
    generator = np.random.default_rng(1)
    hard = np.arange(1000) % 4 == 0
    right = generator.random(1000) < np.where(hard, 0.4, 0.95)
    human = (generator.random(1000) < 0.5).astype(float)
    judge = np.where(right, human, 1 - human)
    chance = np.where(hard, 2.0, 1.0) / 1250
    naive, weighted, held, mean_held = [], [], [], []
    for _ in range(200):
        chosen = np.argsort(generator.random(1000) / chance)[:60]
        worth = weights_by_chance(chance[chosen].tolist(), 1000)
        share = clustered_share(right[chosen].tolist(), weights=worth)
        naive.append(right[chosen].mean())
        weighted.append(share.value)
        held.append(share.low <= right.mean() <= share.high)
        labels, weights = np.full((2, 1000), np.nan)
        labels[chosen], weights[chosen] = human[chosen], worth
        mean = corrected_mean(judge, labels, weights=weights).prediction_powered
        mean_held.append(mean.low <= human.mean() <= mean.high)
    assert np.mean(weighted) == pytest.approx(right.mean(), abs=0.012)
    assert np.mean(naive) < right.mean() - 0.06
    assert np.mean(held) > 0.92
    assert np.mean(mean_held) > 0.92


def test_the_share_of_rogan_and_gladen_is_open_where_the_judge_may_be_no_better_than_chance():
    human = [1.0] * 6 + [0.0] * 6 + [None] * 88
    judge = [1.0, 1.0, 1.0, 1.0, 0.0, 0.0] + [1.0, 1.0, 0.0, 0.0, 0.0, 0.0] + [1.0, 0.0] * 44
    wide = corrected_mean(judge, human).rogan_gladen
    assert (wide.low, wide.high) == (0.0, 1.0)
    sharp = corrected_mean([1.0] * 6 + [0.0] * 6 + [1.0, 0.0] * 44, human).rogan_gladen
    assert 0.2 < sharp.low < 0.5 < sharp.high < 0.8
