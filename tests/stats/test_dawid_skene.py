"""Reliability from votes alone: planted accuracies come back."""

from __future__ import annotations

import numpy as np
import pytest

from rubricate import InputError
from rubricate.stats import accuracy_weights, dawid_skene, reliability_weights

PLANTED = np.array([0.95, 0.85, 0.75, 0.65, 0.55])


def simulated(
    labels: int, *, tasks: int = 1500, seed: int = 1, missing: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """True labels, and the votes of judges who are right as often as `PLANTED` says."""
    chance = np.random.default_rng(seed)
    truth = chance.choice(
        labels, size=tasks, p=np.arange(1, labels + 1) / (labels * (labels + 1) / 2)
    )
    right = chance.random((tasks, len(PLANTED))) < PLANTED
    wrong = (truth[:, None] + chance.integers(1, labels, right.shape)) % labels
    votes = np.where(right, truth[:, None], wrong)
    votes[chance.random(votes.shape) < missing] = -1
    return truth, votes


@pytest.mark.parametrize("labels", [2, 3, 5])
@pytest.mark.parametrize("missing", [0.0, 0.3])
def test_planted_accuracies_are_recovered_within_0_05(labels, missing):
    truth, votes = simulated(labels, missing=missing)
    found = dawid_skene(votes)
    assert np.abs(found.accuracy - PLANTED).max() < 0.05
    assert found.converged
    majority = np.array([np.bincount(row[row >= 0], minlength=labels).argmax() for row in votes])
    assert (found.posterior.argmax(axis=1) == truth).mean() > (majority == truth).mean()


def test_the_same_votes_give_the_same_estimate_within_the_bound_of_iterations():
    _, votes = simulated(2, tasks=100)
    one, other = dawid_skene(votes, iterations=5), dawid_skene(votes, iterations=5)
    assert one.iterations == 5
    assert np.array_equal(one.confusion, other.confusion)


def test_probabilities_add_up_and_a_task_without_votes_has_the_prior():
    _, votes = simulated(3, tasks=50)
    votes[7] = -1
    found = dawid_skene(votes)
    assert np.allclose(found.posterior.sum(axis=1), 1)
    assert np.allclose(found.confusion.sum(axis=2), 1)
    assert np.allclose(found.posterior[7], found.prior)


@pytest.mark.parametrize(
    ("votes", "message"),
    [([[-1, -1]], "no votes"), ([0, 1], "a row a task"), ([[0.5]], "whole numbers")],
)
def test_what_is_no_table_of_votes_is_refused(votes, message):
    with pytest.raises(InputError, match=message):
        dawid_skene(votes)


def test_weights_follow_reliability_with_and_without_labels():
    truth, votes = simulated(2)
    names = "abcde"
    by_judge = {name: [str(v) for v in votes[:, i]] for i, name in enumerate(names)}
    for weights in (
        reliability_weights([by_judge]),
        accuracy_weights([(by_judge, [str(label) for label in truth])]),
    ):
        assert list(weights) == list(names)
        assert sorted(names, key=weights.__getitem__, reverse=True) == list(names)
        assert sum(weights.values()) == pytest.approx(len(names))
        log_odds = np.log(PLANTED / (1 - PLANTED))
        assert list(weights.values()) == pytest.approx(log_odds / log_odds.mean(), abs=0.2)


def test_sets_of_labels_are_weighed_by_their_votes_and_gaps_are_no_votes():
    few = {"a": ["x", "y"], "b": ["y", None]}
    many = {"a": ["MET"] * 20, "b": ["UNMET"] * 20}
    truth = (["x", "y"], ["MET"] * 20)
    weights = accuracy_weights([(few, truth[0]), (many, truth[1])])
    assert weights["a"] > 10 * weights["b"] > 0


def test_a_judge_who_is_never_wrong_has_a_finite_weight():
    weights = accuracy_weights([({"a": ["x"] * 9, "b": ["x"] * 8 + ["y"]}, ["x"] * 9)])
    assert 1 < weights["a"] < 2
