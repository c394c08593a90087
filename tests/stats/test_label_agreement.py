"""Agreement of labels, against scikit-learn, krippendorff and published examples."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from krippendorff import alpha
from sklearn import metrics

from rubricate.errors import InputError
from rubricate.stats import Bootstrap, LabelAgreement, label_agreement

PROPERTY = settings(derandomize=True, deadline=None, max_examples=60)
LABELS = "ABCDE"
pairs = st.integers(1, 5).flatmap(
    lambda kinds: st.lists(
        st.tuples(st.sampled_from(LABELS[:kinds]), st.sampled_from(LABELS[:kinds])),
        min_size=1,
        max_size=40,
    )
)


def point(both: list[tuple[str, str]], **options: Any) -> LabelAgreement:
    judge, human = [one for one, _ in both], [other for _, other in both]
    return label_agreement(judge, human, bootstrap=None, **options)


def same(ours: float | None, theirs: float) -> bool:
    if ours is None:
        return not math.isfinite(theirs)
    return abs(ours - theirs) < 1e-9


def quiet(function: Callable[..., Any], *arguments: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*arguments, **options)
        except (ValueError, ZeroDivisionError):
            return math.nan


@PROPERTY
@given(pairs)
def test_every_figure_is_that_of_an_independent_implementation(both: list[tuple[str, str]]):
    judge, human = [one for one, _ in both], [other for _, other in both]
    found = point(both, ordered=True)
    if len(both) == 1:  # 0 where the only pair differs, which shows nothing
        assert found.figures["cohen_kappa"].value is None
        return
    value = {name: estimate.value for name, estimate in found.figures.items()}
    assert same(value["accuracy"], quiet(metrics.accuracy_score, human, judge))
    assert same(value["balanced_accuracy"], quiet(metrics.balanced_accuracy_score, human, judge))
    assert same(value["macro_f1"], quiet(metrics.f1_score, human, judge, average="macro"))
    for name, weights in (
        ("cohen_kappa", None),
        ("linear_kappa", "linear"),
        ("quadratic_kappa", "quadratic"),
    ):
        theirs = quiet(metrics.cohen_kappa_score, human, judge, weights=weights)
        assert same(value[name], theirs)
    if value["matthews"] is not None:
        assert same(value["matthews"], quiet(metrics.matthews_corrcoef, human, judge))
    else:
        assert len(set(judge)) == 1 or len(set(human)) == 1
    numbers = [[LABELS.index(label) for label in side] for side in (judge, human)]
    theirs = quiet(alpha, np.array(numbers, float), level_of_measurement="ordinal")
    assert same(value["krippendorff_alpha"], theirs)
    nominal = point(both).figures["krippendorff_alpha"].value
    assert same(nominal, quiet(alpha, np.array(numbers, float), level_of_measurement="nominal"))
    theirs = quiet(metrics.confusion_matrix, human, judge)
    assert (np.array(found.confusion) == theirs).all()


@PROPERTY
@given(pairs)
def test_every_label_has_the_figures_of_scikit_learn_or_a_reason(both: list[tuple[str, str]]):
    judge, human = [one for one, _ in both], [other for _, other in both]
    found = point(both)
    names = list(found.labels)
    precision, recall, f1, _ = metrics.precision_recall_fscore_support(
        human, judge, labels=names, zero_division=np.nan
    )
    for place, label in enumerate(names):
        figures = found.by_label[label]
        assert same(figures["precision"].value, precision[place])
        assert same(figures["recall"].value, recall[place])
        assert same(figures["f1"].value, f1[place])
        other = [one for one, truth in both if truth != label]
        rate = other.count(label) / len(other) if other else math.nan
        assert same(figures["false_positive_rate"].value, rate)
        missed = metrics.recall_score(
            [truth == label for _, truth in both],
            [one == label for one, _ in both],
            zero_division=np.nan,
        )
        assert same(figures["false_negative_rate"].value, 1 - missed)
        for estimate in figures.values():
            assert (estimate.value is None) is (estimate.undefined is not None)


@PROPERTY
@given(pairs, st.randoms(use_true_random=False))
def test_the_order_of_the_items_does_not_matter(both: list[tuple[str, str]], random: Any):
    shuffled = list(both)
    random.shuffle(shuffled)
    assert point(shuffled, ordered=True) == point(both, ordered=True)


@PROPERTY
@given(pairs)
def test_figures_keep_to_their_bounds(both: list[tuple[str, str]]):
    for name, estimate in point(both, ordered=True).figures.items():
        if estimate.value is not None:
            low = 0 if name in ("accuracy", "balanced_accuracy", "macro_f1") else -1
            if name != "krippendorff_alpha":
                assert low - 1e-12 <= estimate.value <= 1 + 1e-12


def test_gwets_own_example_of_the_kappa_paradox():
    # Gwet (2008), table 2, and Cicchetti and Feinstein: 118 and 2 agree, 5 and 0 do not: kappa is
    # near 0 while the raters agree on 118 of 125.
    both = [("A", "A")] * 118 + [("A", "B")] * 5 + [("B", "A")] * 2
    found = point(both).figures
    observed, share = 118 / 125, (123 + 120) / 250
    chance = 2 * share * (1 - share)
    assert found["gwet_ac1"].value == pytest.approx((observed - chance) / (1 - chance), abs=1e-12)
    assert found["gwet_ac1"].value == pytest.approx(0.9408, abs=1e-4)
    assert found["cohen_kappa"].value == pytest.approx(-0.0234, abs=1e-4)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("AABACBBCAACBABCABAAC", "ABBACBBCACCBABCAAAAC", 0.777158774373259),
        ("AAAAAAAAAA", "AAAAAAAAAB", 0.889502762430939),
        ("ABABABAB", "BABABABA", -1.0),
        ("ABCDABCDAABBCCDDAC", "ABCDABDCAABBCDDDBC", 0.703703703703704),
    ],
)
def test_ac1_is_that_of_irrcac(one: str, other: str, expected: float):
    # What irrCAC 0.4.4 gives (CAC(...).gwet(), 15 digits); it needs an older numpy than we.
    found = point(list(zip(one, other, strict=True))).figures["gwet_ac1"].value
    assert found == pytest.approx(expected, abs=1e-9)


@PROPERTY
@given(pairs)
def test_ac1_is_its_formula_counted_pair_by_pair(both: list[tuple[str, str]]):
    names = sorted({label for pair in both for label in pair})
    found = point(both).figures["gwet_ac1"].value
    if len(names) < 2:
        assert found is None
        return
    agreed = sum(one == other for one, other in both) / len(both)
    given_labels = [label for pair in both for label in pair]
    shares = [given_labels.count(name) / len(given_labels) for name in names]
    chance = sum(share * (1 - share) for share in shares) / (len(names) - 1)
    assert found == pytest.approx((agreed - chance) / (1 - chance), abs=1e-9)


def test_ac1_counts_labels_that_could_have_been_given():
    both = [("A", "A")] * 6 + [("B", "B")] * 3 + [("A", "B")]
    two, three = point(both), point(both, labels=["A", "B", "C"])
    assert two.figures["gwet_ac1"].value < three.figures["gwet_ac1"].value
    assert two.figures["macro_f1"] == three.figures["macro_f1"]


def test_linear_and_quadratic_kappa_use_the_order_that_is_given():
    both = [("low", "low"), ("high", "low"), ("middle", "middle"), ("high", "high")]
    ordered = point(both, labels=["low", "middle", "high"], ordered=True)
    numbers = [[2 if x == "high" else 1 if x == "middle" else 0 for x in pair] for pair in both]
    first, second = zip(*numbers, strict=True)
    theirs = metrics.cohen_kappa_score(second, first, weights="quadratic")
    assert ordered.figures["quadratic_kappa"].value == pytest.approx(theirs, abs=1e-12)


def test_undecided_pairs_are_left_out_and_counted_by_default():
    judge = ["MET", "CANNOT_ASSESS", None, "MET", "UNMET"]
    human = ["MET", "MET", "MET", None, "CANNOT_ASSESS"]
    found = label_agreement(judge, human, bootstrap=None)
    assert (found.n, found.undecided) == (1, "exclude")
    assert found.not_decided == {
        "human abstained": 1,
        "judge abstained": 1,
        "no answer of the judge": 1,
        "no human label": 1,
    }


def test_an_abstention_can_count_as_a_label_or_as_wrong():
    judge = ["MET", "CANNOT_ASSESS", None, "CANNOT_ASSESS"]
    human = ["MET", "MET", "MET", "CANNOT_ASSESS"]
    labels = ["MET", "UNMET", "CANNOT_ASSESS"]
    label = label_agreement(judge, human, labels=labels, undecided="label", bootstrap=None)
    assert (label.n, label.figures["accuracy"].value) == (3, pytest.approx(2 / 3))
    wrong = label_agreement(judge, human, labels=labels, undecided="wrong", bootstrap=None)
    assert (wrong.n, wrong.figures["accuracy"].value) == (3, pytest.approx(1 / 3))
    assert wrong.by_label["MET"]["recall"].value == pytest.approx(1 / 3)
    assert wrong.not_decided == label.not_decided


def test_without_a_pair_every_figure_is_undefined_and_says_why():
    found = label_agreement([None, "MET"], ["MET", None], labels=["MET", "UNMET"])
    assert found.n == 0
    for estimate in (*found.figures.values(), *found.by_label["MET"].values()):
        assert (estimate.value, estimate.low) == (None, None)
        assert estimate.undefined == "there is no pair in which both decided"


def test_one_label_throughout_has_accuracy_but_no_kappa():
    found = label_agreement(["MET"] * 5, ["MET"] * 5)
    assert found.figures["accuracy"].value == 1.0
    assert found.figures["cohen_kappa"].value is None
    assert "one and the same label" in (found.figures["cohen_kappa"].undefined or "")


def test_unusable_labels_are_refused_in_one_line():
    with pytest.raises(InputError, match="judge has 1, human has 2"):
        label_agreement(["A"], ["A", "B"])
    with pytest.raises(InputError, match=r"^judge: 'C' is not one of the labels: A, B"):
        label_agreement(["C"], ["A"], labels=["A", "B"])
    with pytest.raises(InputError, match=r"^human: 'C' is not one of the labels: A, B"):
        label_agreement(["A"], ["C"], labels=["A", "B"])
    with pytest.raises(InputError, match="without an order"):
        label_agreement(["A"], ["A"], ordered=True, undecided="wrong")


def test_intervals_of_clusters_are_near_those_of_a_bootstrap_over_scikit_learn():
    generator = np.random.default_rng(5)
    human = generator.integers(0, 3, 120)
    judge = np.where(generator.random(120) < 0.7, human, generator.integers(0, 3, 120))
    documents = np.repeat(np.arange(40), 3)
    found = label_agreement(
        [LABELS[x] for x in judge],
        [LABELS[x] for x in human],
        groups=documents.tolist(),
        bootstrap=Bootstrap(resamples=4000),
    )
    other = np.random.default_rng(6)
    kappas = []
    for _ in range(400):
        rows = np.concatenate([3 * d + np.arange(3) for d in other.integers(0, 40, 40)])
        kappas.append(metrics.cohen_kappa_score(human[rows], judge[rows]))
    estimate = found.figures["cohen_kappa"]
    assert (estimate.low, estimate.high) == pytest.approx(
        tuple(np.quantile(kappas, [0.025, 0.975])), abs=0.02
    )
    assert found.clusters == 40
