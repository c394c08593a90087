"""Agreement over several criteria, none of which is mixed with another."""

from __future__ import annotations

import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import InputError
from rubricate.stats import (
    Bootstrap,
    agreement_of_counts,
    krippendorff_alpha,
    score_agreement,
    stratified,
    stratified_agreement,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
LABELS = {"a": ["x", "y", "z"], "b": [0.0, 1.0, 2.5], "c": ["x", "y"], "d": [3.0, 4.0]}
pairs = st.lists(
    st.sampled_from(sorted(LABELS)).flatmap(
        lambda name: st.tuples(
            st.just(name), st.sampled_from(LABELS[name]), st.sampled_from(LABELS[name])
        )
    ),
    max_size=60,
)


@PROPERTY
@given(pairs)
def test_it_is_the_mean_of_the_criterias_kappas_weighted_by_n(found: list[tuple]):
    names, judge, human = ([one[side] for one in found] for side in range(3))
    each = [
        agreement_of_counts(Counter((a, b) for other, a, b in found if other == name))
        for name in LABELS
    ]
    ours = stratified(each)
    theirs = stratified_agreement(judge, human, names, bootstrap=None)
    assert ours.n == theirs.n == len(found)
    known = [one for one in each if one.kappa is not None and one.n > 1]
    assert theirs.strata - theirs.left_out == len(known)
    if found:
        assert theirs.accuracy.value == pytest.approx(ours.accuracy)
    if not known:
        assert ours.kappa is theirs.kappa.value is None
        assert ours.undefined
        assert theirs.kappa.undefined
        return
    mean = sum(one.n * one.kappa for one in known) / sum(one.n for one in known)
    assert ours.kappa == pytest.approx(mean, abs=1e-12)
    assert theirs.kappa.value == pytest.approx(mean, abs=1e-9)
    kappas = [one.kappa for one in known]
    assert min(kappas) - 1e-9 <= mean <= max(kappas) + 1e-9


@PROPERTY
@given(st.lists(st.tuples(*[st.sampled_from([1.0, 2.0, 2.5, 4.0])] * 2), min_size=2, max_size=40))
def test_the_kappa_of_counted_steps_is_that_with_squared_distances(found: list[tuple]):
    theirs = score_agreement(
        [one for one, _ in found], [other for _, other in found], scale=True, bootstrap=None
    ).figures
    ours = agreement_of_counts(Counter(found))
    assert ours.accuracy == pytest.approx(theirs["exact_accuracy"].value)
    kappa = theirs["quadratic_kappa"].value
    assert ours.kappa == (None if kappa is None else pytest.approx(kappa, abs=1e-9))


@pytest.mark.parametrize(
    "shares", [(0.5, 0.5, 0.5), (0.95, 0.5, 0.05), (0.9, 0.8, 0.1), (0.99, 0.01, 0.5)]
)
def test_a_judge_that_tosses_a_coin_has_about_no_kappa_whatever_the_shares(shares):
    """It knows how often each criterion is met, and nothing of the texts."""
    generator = random.Random(7)
    kappas, mixed, held, shown = [], [], 0, 0
    for _ in range(60):
        found = [
            (name, *("MET" if generator.random() < share else "UNMET" for _ in range(2)))
            for name, share in zip("abc", shares, strict=True)
            for _ in range(50)
        ]
        names, judge, human = ([one[side] for one in found] for side in range(3))
        kappa = stratified_agreement(judge, human, names, bootstrap=Bootstrap(200)).kappa
        kappas.append(kappa.value)
        shown += kappa.low is not None
        held += kappa.low is not None and kappa.low <= 0 <= kappa.high
        mixed.append(agreement_of_counts(Counter(zip(judge, human, strict=True))).kappa)
    assert abs(sum(kappas) / len(kappas)) < 0.03
    assert held >= 0.87 * shown  # intervals of 95 %; none where a label is too rare
    if len(set(shares)) > 1:
        assert sum(mixed) / len(mixed) > 0.25  # what one table of all pairs would say


def test_a_criterion_that_needs_no_kappa_counts_for_the_accuracy_only():
    found = stratified_agreement(
        ["a", "b", "0.50", "0.25"],
        ["a", "b", "0.50", "0.75"],
        ["x", "x", "y", "y"],
        without_kappa={"y"},
        bootstrap=None,
    )
    assert (found.n, found.accuracy.value, found.kappa.value) == (4, 0.75, 1.0)
    assert (found.strata, found.left_out) == (1, 0)


def test_the_interval_knows_which_pairs_are_of_one_item():
    judge = ["a", "b"] * 20
    human = ["a", "b", "b", "a"] * 10
    names = ["x", "y"] * 20
    alone = stratified_agreement(judge, human, names)
    items = [place // 4 for place in range(40)]
    together = stratified_agreement(judge, human, names, groups=items)
    assert (alone.clusters, together.clusters) == (40, 10)
    assert alone.accuracy.value == together.accuracy.value
    assert alone.accuracy.low != together.accuracy.low


def test_no_pair_is_undefined_and_other_lengths_are_an_error():
    found = stratified_agreement([], [], [])
    assert (found.n, found.accuracy.value, found.kappa.value) == (0, None, None)
    assert found.kappa.undefined
    with pytest.raises(InputError, match="not equally long"):
        stratified_agreement(["a"], ["a"], [])


def test_alpha_over_criteria_is_the_mean_of_theirs_weighted_by_ratings():
    generator = random.Random(3)
    rows = [
        [generator.choice(["a", "b"]) if name == "x" else "b" for _ in range(2)]
        for name in ("x", "y")
        for _ in range(20)
    ]
    rows[-1] = ["a", "b"]
    names = ["x"] * 20 + ["y"] * 20
    each = [krippendorff_alpha(part, bootstrap=None).value for part in (rows[:20], rows[20:])]
    whole = krippendorff_alpha(rows, strata=names, bootstrap=None).value
    assert whole == pytest.approx(sum(each) / 2)
    assert krippendorff_alpha(rows, bootstrap=None).value > whole + 0.1
    interval = krippendorff_alpha(rows, strata=names)
    assert interval.low < interval.value < interval.high
