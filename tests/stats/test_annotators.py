"""Several annotators, against krippendorff and published examples."""

from __future__ import annotations

import math
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from krippendorff import alpha
from statsmodels.regression.linear_model import OLS
from statsmodels.stats import inter_rater

from rubricate.errors import InputError
from rubricate.stats import (
    annotator_agreement,
    fleiss_kappa,
    intraclass_correlation,
    krippendorff_alpha,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
tables = st.integers(2, 4).flatmap(
    lambda raters: st.lists(
        st.lists(st.one_of(st.none(), st.integers(1, 4)), min_size=raters, max_size=raters),
        min_size=1,
        max_size=15,
    )
)


@pytest.mark.parametrize("level", ["nominal", "ordinal", "interval"])
@PROPERTY
@given(table=tables)
def test_alpha_is_that_of_an_independent_implementation(level, table):
    ours = krippendorff_alpha(table, level=level, bootstrap=None)
    data = np.array([[math.nan if x is None else x for x in row] for row in table]).T
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            theirs = alpha(data, level_of_measurement=level)
        except (ValueError, ZeroDivisionError):
            theirs = math.nan
    if ours.value is None:
        # The other one gives a number for a single value throughout, where 0 stands over 0.
        pairable = [x for row in table if sum(y is not None for y in row) > 1 for x in row]
        assert len(set(pairable) - {None}) < 2
        assert ours.undefined
    else:
        assert ours.value == pytest.approx(theirs, abs=1e-9)


def test_alpha_of_krippendorffs_own_example():
    # Krippendorff (2011), example D: nominal 0.743, ordinal 0.815, interval 0.849.
    observers = [
        "1 2 3 3 2 1 4 1 2 . . .",
        "1 2 3 3 2 2 4 1 2 5 . 3",
        ". 3 3 3 2 3 4 2 2 5 1 .",
        "1 2 3 3 2 4 4 1 2 5 1 .",
    ]
    columns = [[None if x == "." else int(x) for x in row.split()] for row in observers]
    table = [list(row) for row in zip(*columns, strict=True)]
    for level, expected in (("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)):
        found = krippendorff_alpha(table, level=level)  # type: ignore[arg-type]
        assert found.value == pytest.approx(expected, abs=0.0006)
        assert found.low < found.value < found.high


def test_fleiss_kappa_of_a_published_example():
    # The worked example of Fleiss' kappa: 14 raters, 10 subjects, 5 categories; kappa = 0.210.
    counts = [
        [0, 0, 0, 0, 14],
        [0, 2, 6, 4, 2],
        [0, 0, 3, 5, 6],
        [0, 3, 9, 2, 0],
        [2, 2, 8, 1, 1],
        [7, 7, 0, 0, 0],
        [3, 2, 6, 3, 0],
        [2, 5, 3, 2, 2],
        [6, 5, 2, 1, 0],
        [0, 2, 2, 3, 7],
    ]
    table = [[kind for kind, count in enumerate(row) for _ in range(count)] for row in counts]
    found = fleiss_kappa(table)
    assert found.value == pytest.approx(0.20993, abs=1e-5)
    assert found.low < found.value < found.high


complete = st.integers(2, 5).flatmap(
    lambda raters: st.lists(
        st.lists(st.sampled_from("ABC"), min_size=raters, max_size=raters), min_size=1, max_size=15
    )
)


@PROPERTY
@given(table=complete)
def test_fleiss_kappa_is_that_of_statsmodels(table):
    ours = fleiss_kappa(table, bootstrap=None)
    if len({label for row in table for label in row}) < 2:
        assert ours.value is None
        assert ours.undefined
        return
    counts, _ = inter_rater.aggregate_raters(np.array(table))
    assert ours.value == pytest.approx(inter_rater.fleiss_kappa(counts), abs=1e-9)


@PROPERTY
@given(seed=st.integers(0, 2**32 - 1))
def test_the_intraclass_correlation_is_that_of_an_analysis_of_variance(seed):
    generator = np.random.default_rng(seed)
    n, k = int(generator.integers(3, 12)), int(generator.integers(2, 5))
    table = generator.integers(1, 6, (n, k)) + generator.random((n, 1))
    found = intraclass_correlation(table.tolist(), bootstrap=None)
    items = np.eye(n)[np.repeat(np.arange(n), k), 1:]
    raters = np.eye(k)[np.tile(np.arange(k), n), 1:]

    def left(*columns):
        return OLS(table.ravel(), np.column_stack([np.ones(n * k), *columns])).fit().ssr

    rest = left(items, raters)
    of_items = (left(raters) - rest) / (n - 1)
    of_raters = (left(items) - rest) / (k - 1)
    rest /= (n - 1) * (k - 1)
    one = (of_items - rest) / (of_items + (k - 1) * rest + k * (of_raters - rest) / n)
    mean = (of_items - rest) / (of_items + (of_raters - rest) / n)
    assert found["icc_2_1"].value == pytest.approx(one, abs=1e-9, rel=1e-9)
    assert found["icc_2_k"].value == pytest.approx(mean, abs=1e-9, rel=1e-9)


def test_fleiss_kappa_is_undefined_with_a_reason():
    assert "different numbers" in (fleiss_kappa([[1, 2], [1, None, 2, 2]]).undefined or "")
    assert "same" in (fleiss_kappa([[1, 1], [1, 1]]).undefined or "")
    assert "two ratings" in (fleiss_kappa([[1], [None]]).undefined or "")


def test_a_judge_is_compared_with_each_with_the_majority_and_with_the_ceiling():
    annotators = {
        "ann": ["MET", "UNMET", "MET", "UNMET", None],
        "bea": ["MET", "UNMET", "UNMET", "UNMET", "MET"],
        "cas": ["MET", "MET", "MET", "UNMET", "UNMET"],
    }
    judge = ["MET", "UNMET", "MET", "MET", "MET"]
    found = annotator_agreement(judge, annotators)
    assert {name: one.n for name, one in found.against.items()} == {"ann": 4, "bea": 5, "cas": 5}
    assert found.consensus.n == 4  # the fifth has one vote each: no majority
    assert found.consensus.figures["accuracy"].value == pytest.approx(3 / 4)
    assert set(found.among) == set(annotators)
    shares = [one.figures["accuracy"].value for one in found.among.values()]
    assert found.ceiling["accuracy"] == pytest.approx(sum(shares) / 3)
    rows = list(zip(*annotators.values(), strict=True))
    assert found.alpha == krippendorff_alpha(rows, level="nominal")


def test_annotators_who_give_numbers_have_their_mean_as_consensus():
    annotators = {"ann": [1.0, 2.0, 4.0], "bea": [2.0, None, 5.0]}
    found = annotator_agreement([1.5, 2.0, 4.5], annotators, level="interval", bootstrap=None)
    assert found.consensus.figures["mae"].value == 0.0
    assert found.alpha.value is not None


def test_one_annotator_has_no_ceiling():
    found = annotator_agreement(["A", "B"], {"ann": ["A", "B"]})
    assert (dict(found.among), dict(found.ceiling)) == ({}, {})
    assert found.alpha.value is None
    with pytest.raises(InputError, match="there is none"):
        annotator_agreement(["A"], {})


@pytest.mark.parametrize("people", [2, 3, 5])
@pytest.mark.parametrize(("met", "error"), [(0.5, 0.1), (0.2, 0.1), (0.5, 0.25)])
def test_a_perfect_judge_reaches_what_is_said_against_annotators_who_err(people, met, error):
    generator = np.random.default_rng(people)
    truth = generator.random(20_000) < met
    labels = {str(n): truth ^ (generator.random(20_000) < error) for n in range(people)}
    words = {name: np.where(each, "MET", "UNMET").tolist() for name, each in labels.items()}
    judge = np.where(truth, "MET", "UNMET").tolist()
    found = annotator_agreement(judge, words, bootstrap=None)
    for name in ("accuracy", "cohen_kappa"):
        reached = found.consensus.figures[name].value
        assert found.perfect[name].value == pytest.approx(reached, abs=0.025), name
    assert found.perfect["accuracy"].value >= found.against["0"].figures["accuracy"].value - 0.025


def test_a_perfect_judge_of_numbers_has_the_correlation_of_the_truth_with_the_mean():
    generator = np.random.default_rng(2)
    truth = generator.normal(size=20_000)
    people = {str(n): (truth + generator.normal(size=20_000)).tolist() for n in range(3)}
    found = annotator_agreement(truth.tolist(), people, level="interval", bootstrap=None)
    assert found.perfect["pearson"].value == pytest.approx(
        found.consensus.figures["pearson"].value, abs=0.01
    )
