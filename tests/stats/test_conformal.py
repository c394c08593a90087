"""Sets of labels that hold the right one as often as they say."""

from __future__ import annotations

import math

import numpy as np
import pytest

from rubricate.errors import InputError
from rubricate.stats import conformal_sets

LABELS = ("poor", "fair", "good")


def judged(
    chance: np.random.Generator, clusters: int, size: int = 1, spread: float = 0.0
) -> tuple[list[dict[str, float]], list[str], list[int]]:
    """A judge that is too sure of itself, by document more or less so."""
    groups = np.repeat(np.arange(clusters), size)
    truth = chance.integers(0, 3, len(groups))
    hard = chance.random(clusters)[groups] < spread
    logits = chance.normal(size=(len(groups), 3))
    logits[np.arange(len(groups)), truth] += np.where(hard, -1.0, 1.5)
    shares = np.exp(2 * logits)
    shares /= shares.sum(1, keepdims=True)
    given = [dict(zip(LABELS, one, strict=True)) for one in shares.tolist()]
    return given, [LABELS[at] for at in truth], groups.tolist()


@pytest.mark.parametrize("coverage", [0.8, 0.9])
@pytest.mark.parametrize("n", [19, 100])
def test_new_items_have_their_label_in_the_set_as_often_as_promised(n: int, coverage: float):
    chance = np.random.default_rng(7)
    held = []
    for _ in range(120):
        sets = conformal_sets(*judged(chance, n)[:2], coverage=coverage)
        given, truth, _ = judged(chance, 20)
        held += [label in sets(shares) for shares, label in zip(given, truth, strict=True)]
    assert np.mean(held) > coverage - 0.015
    assert np.mean(held) < coverage + 0.06  # and no more cautious than it has to be


def test_it_holds_for_new_documents_where_the_items_of_one_belong_together():
    chance = np.random.default_rng(8)
    known, blind = [], []
    for _ in range(100):
        given, truth, groups = judged(chance, 12, 10, spread=0.3)
        by_group = conformal_sets(given, truth, coverage=0.8, groups=groups)
        by_item = conformal_sets(given, truth, coverage=0.8)
        new, right, _ = judged(chance, 4, 10, spread=0.3)
        for shares, label in zip(new, right, strict=True):
            known.append(label in by_group(shares))
            blind.append(label in by_item(shares))
    assert np.mean(known) > 0.78
    assert np.mean(known) > np.mean(blind)


def test_by_label_it_holds_for_the_items_of_each():
    chance = np.random.default_rng(9)

    def skewed(n: int) -> tuple[list[dict[str, float]], list[str]]:
        met = chance.random(n) < 0.9
        p = np.clip(0.75 + 0.2 * chance.normal(size=n) - 0.25 * ~met, 0.01, 0.99)
        return [{"MET": one, "UNMET": 1 - one} for one in p.tolist()], [
            "MET" if one else "UNMET" for one in met
        ]

    found: dict[bool, list[bool]] = {True: [], False: []}
    for _ in range(60):
        given, truth = skewed(300)
        new, right = skewed(100)
        for by_label, held in found.items():
            sets = conformal_sets(given, truth, coverage=0.9, by_label=by_label)
            held += [
                label in sets(shares)
                for shares, label in zip(new, right, strict=True)
                if label == "UNMET"
            ]
    assert np.mean(found[True]) > 0.87
    assert np.mean(found[False]) < 0.7


def test_of_independent_items_the_threshold_is_the_textbooks():
    p = np.random.default_rng(3).random(30)
    given = [{"MET": one, "UNMET": 1 - one} for one in p.tolist()]
    sets = conformal_sets(given, ["MET"] * 30, coverage=0.9)
    scores = np.sort(1 - p)
    assert sets.thresholds["MET"] == pytest.approx(1 - scores[math.ceil(31 * 0.9) - 1])


def test_too_few_items_leave_every_label_open():
    given = [{"MET": 0.99, "UNMET": 0.01}] * 5
    sets = conformal_sets(given, ["MET"] * 5, coverage=0.9)
    assert sets.thresholds == {"MET": 0.0, "UNMET": 0.0}
    assert sets({"MET": 0.999, "UNMET": 0.001}) == ("MET", "UNMET")
    assert sets.single.value == 0


def test_a_set_is_never_empty_and_begins_with_the_likeliest():
    given = [{"MET": 0.99, "UNMET": 0.01}, {"MET": 0.02, "UNMET": 0.98}] * 50
    sets = conformal_sets(given, ["MET", "UNMET"] * 50, coverage=0.9)
    assert sets({"MET": 0.6, "UNMET": 0.4}) == ("MET",)
    assert sets.single.value == 1
    assert sets.single_right.value == 1
    assert sets.held_out.value == 1


def test_what_is_no_probability_is_refused():
    with pytest.raises(InputError, match="probabilities of item 0: none for its label 'MAYBE'"):
        conformal_sets([{"MET": 0.5}], ["MAYBE"])
    with pytest.raises(InputError, match="is not between 0 and 1"):
        conformal_sets([{"MET": 1.5}], ["MET"])
    with pytest.raises(InputError, match="a mapping of labels"):
        conformal_sets([0.5], ["MET"])  # type: ignore[list-item]
