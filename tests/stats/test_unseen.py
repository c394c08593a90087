"""No observed error or spread is not evidence of none: intervals are wide, or there are none."""

from __future__ import annotations

import numpy as np
import pytest

from rubricate import stats
from rubricate.errors import InputError
from rubricate.stats import (
    Bootstrap,
    calibration,
    intraclass_correlation,
    krippendorff_alpha,
    label_agreement,
    mean_of_scores,
    score_agreement,
)
from rubricate.stats._unseen import far_items

SHORT = Bootstrap(200)


@pytest.mark.parametrize(
    ("n", "share", "right"), [(10, 0.9, 0.99), (20, 0.9, 0.99), (50, 0.1, 0.95)]
)
def test_f1_of_few_items_or_rare_errors_is_covered(n: int, share: float, right: float):
    table = np.array(
        [[(1 - share) * right, (1 - share) * (1 - right)], [share * (1 - right), share * right]]
    )
    each = 2 * np.diagonal(table) / (table.sum(0) + table.sum(1))
    true = {"f1": each[1], "macro_f1": each.mean(), "balanced_accuracy": right, "accuracy": right}
    covered, made = dict.fromkeys(true, 0), dict.fromkeys(true, 0)
    for seed in range(150):
        chance = np.random.default_rng([n, seed])
        people = chance.random(n) < share
        judge = people ^ (chance.random(n) > right)
        agreement = label_agreement(
            np.where(judge, "MET", "UNMET").tolist(),
            np.where(people, "MET", "UNMET").tolist(),
            labels=["UNMET", "MET"],
            bootstrap=SHORT,
        )
        figures = {**agreement.figures, "f1": agreement.by_label["MET"]["f1"]}
        for name, value in true.items():
            if figures[name].low is not None:
                made[name] += 1
                covered[name] += figures[name].low <= value <= figures[name].high
    for name in true:
        assert covered[name] >= 0.92 * made[name], name
    assert made["f1"] > 100


@pytest.mark.parametrize(("n", "failing"), [(20, 0.05), (50, 0.02), (100, 0.02)])
def test_the_score_where_one_criterion_outweighs_the_others_and_seldom_fails_is_covered(
    n: int, failing: float
):
    shares = np.array([10.0] + [1.0] * 9) / 19
    covered = without = 0
    for seed in range(300):
        chance = np.random.default_rng([n, seed])
        scores = ((chance.random((n, 10)) >= failing) @ shares).clip(0, 1).tolist()
        found, blind = mean_of_scores(scores, reach=shares[0]), mean_of_scores(scores)
        assert None not in (found.low, found.high, blind.low, blind.high)
        covered += found.low <= 1 - failing <= found.high  # type: ignore[operator]
        without += blind.low <= 1 - failing <= blind.high  # type: ignore[operator]
    assert covered >= 0.92 * 300 > without


@pytest.mark.parametrize("reach", [-0.1, float("nan"), float("inf"), "much"])
def test_a_reach_that_is_no_size_is_refused(reach: object):
    for function in (mean_of_scores, lambda a, reach: stats.compare_paired(a, a, reach=reach)):
        with pytest.raises(InputError, match="reach"):
            function([0.2, 0.5, 0.9], reach=reach)  # type: ignore[arg-type, operator]


def test_an_interval_that_has_seen_the_whole_reach_of_an_answer_is_the_one_of_t():
    scores = [0.2, 0.4, 0.6, 0.8, 1.0] * 6
    assert mean_of_scores(scores, reach=0.4) == mean_of_scores(scores)


def test_without_answers_of_people_with_a_label_means_over_labels_have_no_interval():
    agreement = label_agreement(["a", "a", "b"] * 5, ["a"] * 15, bootstrap=SHORT)
    for name in ("balanced_accuracy", "macro_f1"):
        assert agreement.figures[name].value is not None
        assert agreement.figures[name].low is None
        assert "each label" in (agreement.figures[name].undefined or "")


def test_a_judge_that_was_sure_and_right_ten_times_may_have_a_brier_score_of_a_tenth():
    brier = calibration([0.99] * 10, [True] * 10).brier
    assert brier.value == pytest.approx(0.0001)
    assert brier.high is not None
    assert 0.1 < brier.high < 0.6


def test_errors_of_a_scale_that_was_not_used_have_no_interval():
    figures = score_agreement([5.0] * 10, [5.0] * 10, scale=True).figures
    for name in ("bias", "mae", "rmse"):
        assert (figures[name].value, figures[name].low) == (0.0, None)
        assert figures[name].undefined


def test_numbers_that_are_mostly_the_same_need_ten_others():
    ratings = [[5, 5, 5]] * 15 + [[5, 4, 5], [4, 4, 3], [2, 1, 2], [3, 4, 5], [1, 1, 2], [4, 3, 4]]
    assert krippendorff_alpha(ratings, level="interval").low is None
    assert intraclass_correlation(ratings)["icc_3_1"].low is None
    more = ratings + ratings[15:]
    assert krippendorff_alpha(more, level="interval").low is not None
    judge, people = [float(row[0]) for row in ratings], [float(row[1]) for row in ratings]
    assert score_agreement(judge, people, scale=True).figures["quadratic_kappa"].low is None


RARE_ERRORS = [(5, 5)] * 150 + [(4, 4)] * 30 + [(1, 1)] * 10 + [(4, 5), (5, 4)] * 5
"""Of a judge and people, on a scale from 1 to 5: no error from one end to the other."""
WORST = (1, 5)


@pytest.mark.parametrize("name", ["quadratic_kappa", "krippendorff_alpha", "pearson", "icc_3_1"])
def test_one_error_from_end_to_end_that_was_not_seen_is_in_the_interval_of_a_scale(name: str):
    judge, human = zip(*RARE_ERRORS, strict=True)
    seen = stats.score_agreement(judge, human, scale=True).figures[name]
    once = stats.score_agreement((*judge, 1), (*human, 5), scale=True).figures[name]
    assert seen.low < once.value < seen.value < seen.high


def test_it_is_in_that_of_ordered_options_and_of_several_raters_too():
    judge, human = ([str(step) for step in side] for side in zip(*RARE_ERRORS, strict=True))
    seen = stats.label_agreement(judge, human, ordered=True).figures["quadratic_kappa"]
    once = stats.label_agreement([*judge, "1"], [*human, "5"], ordered=True)
    assert seen.low < once.figures["quadratic_kappa"].value < seen.value
    rated = [(*pair, pair[1]) for pair in RARE_ERRORS]
    worst = [*rated, (*WORST, 5)]
    seen, once = (stats.krippendorff_alpha(some, level="interval") for some in (rated, worst))
    assert seen.low < once.value < seen.value
    seen, once = (stats.intraclass_correlation(some)["icc_1_1"] for some in (rated, worst))
    assert seen.low < once.value < seen.value


def test_where_raters_often_differ_how_far_they_do_was_seen():
    apart = [(step, step % 4 + 1) for step in (1, 2, 3, 4)] * 10
    assert not len(far_items(np.array(apart, dtype=float)))
    missing = np.array([[1.0, 1.0, np.nan], [5.0, np.nan, 5.0], [np.nan, np.nan, 2.0]])
    assert np.array_equal(
        far_items(missing), [[5.0, 1.0, np.nan], [1.0, 5.0, np.nan]], equal_nan=True
    )
