"""Accuracy and Cohen's kappa of counted pairs."""

from __future__ import annotations

import math
import warnings
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import cohen_kappa_score

from rubricate.stats import Agreement, agreement_of_counts

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
pairs = st.integers(2, 5).flatmap(
    lambda kinds: st.lists(
        st.tuples(st.sampled_from("ABCDE"[:kinds]), st.sampled_from("ABCDE"[:kinds])), max_size=60
    )
)


def split(both: list[tuple[str, str]]) -> tuple[list[str], list[str]]:
    return [first for first, _ in both], [second for _, second in both]


def agreement(judge: list[str], human: list[str]) -> Agreement:
    return agreement_of_counts(Counter(zip(judge, human, strict=True)))


def cohen_kappa(first: list[str], second: list[str]) -> float | None:
    return agreement(first, second).kappa


@PROPERTY
@given(pairs)
def test_kappa_is_that_of_scikit_learn(both: list[tuple[str, str]]):
    first, second = split(both)
    ours = cohen_kappa(first, second)
    if len(both) < 2:  # theirs is 0 where the only pair differs
        assert ours is None
        return
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = cohen_kappa_score(first, second)
    if ours is None:
        assert math.isnan(theirs)
    else:
        assert ours == pytest.approx(theirs, abs=1e-12)


@PROPERTY
@given(pairs)
def test_kappa_is_symmetric_and_at_most_one(both: list[tuple[str, str]]):
    first, second = split(both)
    kappa = cohen_kappa(first, second)
    assert kappa == cohen_kappa(second, first)
    assert kappa is None or -1 <= kappa <= 1


@PROPERTY
@given(st.lists(st.sampled_from("AB"), min_size=2).filter(lambda labels: len(set(labels)) == 2))
def test_kappa_is_one_exactly_where_all_pairs_are_equal(labels: list[str]):
    assert cohen_kappa(labels, labels) == 1.0
    other = ["B" if labels[0] == "A" else "A", *labels[1:]]
    assert cohen_kappa(labels, other) != 1.0


def test_kappa_of_a_worked_example():
    # Cohen's formula by hand: p_o = 0.7, p_e = 0.5
    first = ["yes"] * 25 + ["no"] * 25
    second = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4, abs=1e-12)


def test_agreement_without_pairs_is_undefined_and_says_why():
    found = agreement([], [])
    assert (found.n, found.accuracy, found.kappa) == (0, None, None)
    assert found.undefined == "no item has both a verdict and a label"


def test_agreement_on_one_label_throughout_is_undefined_and_says_why():
    found = agreement(["MET"] * 3, ["MET"] * 3)
    assert (found.n, found.accuracy, found.kappa) == (3, 1.0, None)
    assert "one and the same label throughout" in found.undefined


def test_one_label_on_one_side_only_is_agreement_by_chance():
    found = agreement(["MET"] * 4, ["MET", "MET", "UNMET", "UNMET"])
    assert (found.accuracy, found.kappa, found.undefined) == (0.5, 0.0, None)


@PROPERTY
@given(pairs)
def test_a_kappa_or_a_reason_is_given_and_never_both(both: list[tuple[str, str]]):
    found = agreement(*split(both))
    assert (found.kappa is None) is (found.undefined is not None)
    assert found.n == len(both)
