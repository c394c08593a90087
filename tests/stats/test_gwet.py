"""Gwet's coefficients and the intraclass correlations, beside independent packages' figures."""

from __future__ import annotations

import pytest

from rubricate.errors import InputError
from rubricate.stats import gwet_ac, intraclass_correlation, label_agreement, score_agreement

RATINGS = [
    [1, 1, 2, 1],
    [2, 2, 3, 2],
    [3, 3, 3, 3],
    [3, 3, 3, 3],
    [2, 2, 2, 2],
    [1, 2, 3, 4],
    [4, 4, 4, 4],
    [1, 1, 2, 1],
    [2, 2, 2, 2],
    [None, 5, 5, 5],
    [None, None, 1, 1],
    [None, None, 3, None],
]
SCORES = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
"""Shrout and Fleiss (1979), table 2."""


@pytest.mark.parametrize(
    ("weights", "expected"),
    [  # irrCAC 0.4.4 of these ratings
        ("identity", 0.719455470861846),
        ("linear", 0.832760280566634),
        ("quadratic", 0.904619970193741),
    ],
)
def test_gwets_coefficients_of_many_raters_are_those_of_irrcac(weights, expected):
    found = gwet_ac(RATINGS, weights=weights)
    assert found.value == pytest.approx(expected, abs=1e-9)
    assert found.low is not None
    assert found.low < expected < (found.high or 0)


def test_of_two_raters_they_are_those_of_irrcac_and_of_label_agreement():
    pairs = [(row[1], row[2]) for row in RATINGS if row[1] and row[2]]
    found = label_agreement(
        [b for _, b in pairs], [a for a, _ in pairs], labels=[1, 2, 3, 4, 5], ordered=True
    ).figures
    for weights, name, expected in (
        ("identity", "gwet_ac1", 0.512195121951219),
        ("linear", "linear_ac2", 0.782608695652174),
        ("quadratic", "quadratic_ac2", 0.923076923076923),
    ):
        many = gwet_ac(pairs, weights=weights, labels=[1, 2, 3, 4, 5])
        assert found[name].value == pytest.approx(expected, abs=1e-9)
        assert many.value == pytest.approx(expected, abs=1e-9)


def test_the_intraclass_correlations_are_those_of_pingouin():
    expected = {  # pingouin 0.6.1; Shrout and Fleiss (1979) round them to two places
        "icc_1_1": 0.1657417684054755,
        "icc_1_k": 0.44279713367926876,
        "icc_2_1": 0.28976377952755916,
        "icc_2_k": 0.6200505475989893,
        "icc_3_1": 0.7148407148407154,
        "icc_3_k": 0.9093155423770697,
    }
    found = intraclass_correlation(SCORES)
    assert {name: one.value for name, one in found.items()} == pytest.approx(expected, abs=1e-9)


def test_those_of_two_raters_are_in_the_agreement_of_scores():
    pair = [[row[0], row[2]] for row in SCORES]
    of_table = intraclass_correlation(pair)
    of_pairs = score_agreement(*zip(*pair, strict=True)).figures
    for name, expected in (  # pingouin 0.6.1
        ("icc_1_1", -0.14551083591331276),
        ("icc_1_k", -0.3405797101449277),
        ("icc_3_1", 0.7250000000000005),
        ("icc_3_k", 0.8405797101449277),
    ):
        assert of_table[name].value == pytest.approx(expected, abs=1e-9)
        assert of_pairs[name].value == pytest.approx(expected, abs=1e-9)


def test_one_label_and_unknown_weights_have_no_coefficient():
    assert gwet_ac([[1, 1], [1, 1]]).value is None
    assert gwet_ac([[1, None], [2, None]]).undefined
    with pytest.raises(InputError, match="weights must be identity, linear or quadratic"):
        gwet_ac([[1, 2]], weights="cubic")  # type: ignore[arg-type]
