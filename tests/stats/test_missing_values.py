"""None, NaN and pandas' NA are missing, everywhere; sums that are equal but for rounding are."""

from __future__ import annotations

import math
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest

from rubricate.errors import InputError
from rubricate.stats import (
    Agreement,
    Bootstrap,
    IsotonicMap,
    PlattMap,
    accuracy_weights,
    annotator_agreement,
    calibration,
    clustered_mean,
    clustered_share,
    compare_paired,
    corrected_mean,
    dawid_skene,
    fleiss_kappa,
    holm,
    intraclass_correlation,
    krippendorff_alpha,
    label_agreement,
    mcnemar_test,
    mean_of_scores,
    next_to_label,
    permutation_test,
    read_calibration_map,
    reliability_weights,
    score_agreement,
    stratified,
    stratified_agreement,
    variance_components,
    wilcoxon_test,
)

NAN = math.nan
MISSING = [NAN, pd.NA, pd.NaT, np.float64("nan"), np.datetime64("NaT", "s"), Decimal("NaN")]
QUICK = Bootstrap(resamples=50)
RATINGS = [
    [1, 1, 2, None],
    [1, 1, 2, 2],
    [2, None, 1, 1],
    [1, 1, 1, 1],
    [None, 2, 2, 2],
    [3, 3, 1, 3],
]


def ids(value: object) -> str:
    return f"{type(value).__name__} {value}"


@pytest.mark.parametrize("gap", MISSING, ids=ids)
def test_nan_and_na_are_missing_as_none_is(gap):
    def with_gap(values):
        return [
            with_gap(one) if isinstance(one, list) else gap if one is None else one
            for one in values
        ]

    for level in ("nominal", "ordinal", "interval"):
        plain = krippendorff_alpha(RATINGS, level=level, bootstrap=QUICK)
        assert krippendorff_alpha(with_gap(RATINGS), level=level, bootstrap=QUICK) == plain
    pairs = [[1, None, 1], [2, 2, None], [1, 1, None], [None, 2, 2]]
    assert fleiss_kappa(with_gap(pairs)) == fleiss_kappa(pairs)
    assert fleiss_kappa(pairs).value is not None
    assert intraclass_correlation(with_gap(RATINGS)) == intraclass_correlation(RATINGS)
    labels = ["MET", "UNMET", None, "MET", "UNMET"], ["MET", None, "MET", "UNMET", "UNMET"]
    found = label_agreement(*map(with_gap, labels), undecided="wrong")
    assert found == label_agreement(*labels, undecided="wrong")
    assert sum(found.not_decided.values()) == 2
    people = {"a": labels[0], "b": labels[1]}
    gaps = {name: with_gap(given) for name, given in people.items()}
    assert annotator_agreement(with_gap(labels[0]), gaps) == annotator_agreement(labels[0], people)
    x, y = [1.0, None, 3.0, 4.0, 2.0], [1.0, 2.0, None, 5.0, 4.0]
    for function in (score_agreement, compare_paired, corrected_mean):
        assert function(with_gap(x), with_gap(y)) == function(x, y)
    flat = [None, 0.1, 0.4, 0.9, None, 1.0]
    for function in (clustered_mean, mean_of_scores, wilcoxon_test, permutation_test, holm):
        assert function(with_gap(flat)) == function(flat)
    happened = [True, None, False, True, True, False]
    assert calibration(with_gap(flat), with_gap(happened)) == calibration(flat, happened)
    assert clustered_share(with_gap(happened)) == clustered_share(happened)
    assert mcnemar_test(with_gap(happened), [0, 1, 1, 0, 1, 1]).differing == 4
    assert next_to_label(with_gap([None, True]), 2) == (0,)
    stratum = ["a", "a", "b", "b", "b"]
    assert stratified_agreement(*map(with_gap, labels), stratum).n == 3
    cube = [[[1], [2]], [[3], [None]], [[2], [2]], [[4], [1]]]
    assert variance_components(with_gap(cube)) == variance_components(cube)
    votes = [[0, 1], [1, None], [1, 1]]
    assert (
        dawid_skene(with_gap(votes)).prior == dawid_skene([[0, 1], [1, -1], [1, 1]]).prior
    ).all()


def test_tables_of_pandas_are_read_by_rows():
    table = pd.DataFrame({"a": [1, 2, 1], "b": [NAN, 2, 1], "c": [1, pd.NA, 2]})
    assert krippendorff_alpha(table).value == pytest.approx(0.5)
    column = pd.Series(["MET", pd.NA, "UNMET"], index=[7, 8, 9])
    found = label_agreement(column, ["MET", "MET", "UNMET"], groups=column)
    assert (found.n, found.figures["accuracy"].value) == (2, 1.0)


def test_labels_of_mixed_types_are_labels_unless_their_order_matters():
    found = label_agreement([1, "MET", NAN, 2], [1, "MET", "MET", "UNMET"])
    assert (found.n, found.labels) == (3, (1, 2, "MET", "UNMET"))
    assert krippendorff_alpha([[1, "MET"], ["MET", "MET"]]).value == pytest.approx(0.0)
    with pytest.raises(InputError, match="judge, human: labels of mixed types"):
        label_agreement([1, "MET"], [1, "MET"], ordered=True)
    with pytest.raises(InputError, match="ratings: labels of mixed types"):
        krippendorff_alpha([[1, "MET"], ["MET", "MET"]], level="ordinal")


def test_sums_that_are_equal_but_for_rounding_are_equal():
    assert permutation_test([-0.6, 0.2, 0.1, 0.3]).p_value == 1.0
    assert permutation_test([0.1, 0.2, -0.3], groups=["a", "a", "a"]).differing == 0
    assert compare_paired([0.3] * 12, [0.1 + 0.2] * 12).permutation.p_value == 1.0
    assert permutation_test([None, 1.0, 2.0]) == permutation_test([1.0, 2.0])
    rounded = wilcoxon_test([0.3 - 0.2, 0.1, 0.2 - 0.1, 0.5])
    assert rounded == wilcoxon_test([1, 1, 1, 5])
    assert not rounded.exact


def test_p_values_and_outcomes_that_are_none_are_refused():
    assert holm([NAN, 0.01, 0.2]) == [None, 0.02, 0.2]
    for wrong in ([1.7, -0.2], [-0.2]):
        with pytest.raises(InputError, match="p_values"):
            holm(wrong)
    with pytest.raises(InputError, match="successes: 7 at position 0 is not true or false"):
        clustered_share([7, 2, 1], groups=["a", "a", "b"])
    with pytest.raises(InputError, match="values: 1e\\+200 at position 1 is too large"):
        clustered_mean([1.0, 1e200])


@pytest.mark.parametrize(("first", "second"), [(0.5, 0.5), (0.3, 0.1 + 0.2), (0.2, 0.7)])
def test_differences_that_are_all_the_same_show_nothing_of_other_items(first, second):
    found = compare_paired([first] * 12, [second] * 12)
    assert found.difference.value == pytest.approx(second - first)
    assert found.difference.low < second - first - 0.2
    assert found.difference.high > second - first + 0.1
    assert found.smallest_detectable > 0.2
    with_judge = corrected_mean([2.0, 3.0, 4.0, 5.0] * 3, [3.0, 4.0, None, None] * 3)
    assert with_judge.tuning is not None
    for constant in (corrected_mean([first] * 9, [second] * 4 + [None] * 5), with_judge):
        for estimate in (constant.naive, constant.prediction_powered):
            assert estimate.value is not None
            assert (estimate.low is None) == (estimate.undefined is not None)


@pytest.mark.parametrize(
    "data",
    [
        {"kind": "platt", "slope": NAN, "intercept": 0},
        {"kind": "platt", "slope": -1, "intercept": 0},
        {"kind": "platt", "slope": 1, "intercept": "0"},
        {"kind": "isotonic", "points": [0.1, 0.9], "values": [0.2, 7]},
        {"kind": "isotonic", "points": [0.1, 0.9], "values": [0.8, 0.2]},
        {"kind": "isotonic", "points": [0.9, 0.1], "values": [0.2, 0.8]},
        {"kind": "isotonic", "points": [0.1, NAN], "values": [0.2, 0.8]},
        {"kind": "isotonic", "points": [], "values": []},
    ],
)
def test_maps_that_fall_or_leave_the_probabilities_are_refused(data):
    with pytest.raises(InputError, match=r"not a calibration map: (points|values|slope|intercept)"):
        read_calibration_map(data)


def test_maps_of_a_judge_that_is_wrong_way_round_are_flat_and_can_be_read():
    p, y = [0.1, 0.2, 0.8, 0.9, 0.3], [True, True, False, False, False]
    for kind in (PlattMap, IsotonicMap):
        fitted = kind.fit(p, y)
        assert fitted(0.1) == pytest.approx(fitted(0.9), abs=1e-12)
        assert 0.3 < fitted(0.5) < 0.5
        assert read_calibration_map(fitted.to_dict()) == fitted


def test_names_of_judges_and_annotators_are_their_own_affair():
    votes = {"truth": ["a", "b"], 1: ["a", "a"], "1": ["b", "a"]}
    assert accuracy_weights([(votes, ["a", "b"])])["truth"] > 1
    with pytest.raises(InputError, match="not equally long: truth has 1, 'truth' has 2"):
        accuracy_weights([({"truth": ["a", "b"]}, ["a"])])
    with pytest.raises(InputError, match="not equally long: 1 has 1, '1' has 2"):
        reliability_weights([{1: ["a"], "1": ["b", "a"]}])
    with pytest.raises(InputError, match="labels are too many"):
        dawid_skene([[10**30, 1]])
    assert annotator_agreement(["a", "b"], {"judge": ["a", "b"]}).against["judge"].n == 2


def test_parts_without_a_figure_count_for_none_and_are_no_nan():
    found = stratified([Agreement(3, NAN, NAN), Agreement(4, 0.5, 0.1)])
    assert found == Agreement(4, 0.5, 0.1)
    with pytest.raises(InputError, match="strata: n"):
        stratified([Agreement(-3, None, None)])


def test_a_confidence_that_rounds_to_certainty_is_refused():
    for wrong in (1 - 1e-16, 1e-300):
        with pytest.raises(InputError, match="confidence must be between 0 and 1"):
            clustered_share([1, 0, 1], groups=["a", "a", "b"], confidence=wrong)
