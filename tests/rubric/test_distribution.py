"""Answers that are probabilities: what they say, and what they are worth."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import Criterion, CriterionOption, ScaleCriterion
from rubricate.errors import UnreadableReply
from rubricate.rubric import read_distribution, read_kept

BINARY = Criterion(name="b", requirement="x")
FAULT = Criterion(name="f", weight=-1.0, requirement="x")
SCALE = ScaleCriterion(name="s", requirement="x")
OPTIONS = (
    CriterionOption(label="poor", value=0.0),
    CriterionOption(label="fair", value=0.4),
    CriterionOption(label="good", value=1.0),
    CriterionOption(label="no claim", na=True),
)
ORDERED = Criterion(name="o", requirement="x", options=OPTIONS)
NOMINAL = Criterion(name="n", requirement="x", options=OPTIONS, scale_type="nominal")


def answer(**shares: float) -> dict[str, Any]:
    named = {label.replace("_", " ") if "no_" in label else label: p for label, p in shares.items()}
    return {"probabilities": named, "obtained": "logprobs"}


@pytest.mark.parametrize(
    ("criterion", "shares", "status", "label"),
    [
        (BINARY, {"MET": 0.6, "UNMET": 0.3, "CANNOT_ASSESS": 0.1}, "judged", "MET"),
        (BINARY, {"MET": 0.3, "UNMET": 0.3, "CANNOT_ASSESS": 0.4}, "abstained", "CANNOT_ASSESS"),
        (BINARY, {"MET": 0.5, "UNMET": 0.5}, "judged", "UNMET"),
        (FAULT, {"MET": 0.5, "UNMET": 0.5}, "judged", "MET"),
        (BINARY, {"MET": 0.2, "UNMET": 0.4, "CANNOT_ASSESS": 0.4}, "judged", "UNMET"),
        (NOMINAL, {"poor": 0.3, "fair": 0.1, "good": 0.4, "no_claim": 0.2}, "judged", "good"),
        (NOMINAL, {"poor": 0.3, "good": 0.3, "no_claim": 0.4}, "not_applicable", "no claim"),
        (ORDERED, {"poor": 0.2, "good": 0.2, "no_claim": 0.6}, "not_applicable", "no claim"),
    ],
)
def test_the_label_is_the_most_probable_answer(
    criterion: Criterion, shares: dict[str, float], status: str, label: str
) -> None:
    found = read_distribution(criterion, answer(**shares))
    assert (criterion.worth(found)[0], found.label, found.value) == (status, label, None)
    assert found.probability == found.detail["probabilities"][label]  # type: ignore[index]


def test_of_ordered_answers_the_value_is_the_expected_one() -> None:
    found = read_distribution(
        ORDERED, answer(poor=0.2, fair=0.3, good=0.4, no_claim=0.05, CANNOT_ASSESS=0.05)
    )
    assert found.value == pytest.approx((0.3 * 0.4 + 0.4 * 1.0) / 0.9)
    assert found.label == "fair"


def test_an_ordered_criterion_abstains_where_not_knowing_outweighs_all_answers() -> None:
    none = {"probabilities": {"1": 0.2, "5": 0.25, "CANNOT_ASSESS": 0.55}, "obtained": "model"}
    assert SCALE.worth(read_distribution(SCALE, none)) == ("abstained", None)
    some = {"probabilities": {"1": 0.3, "5": 0.3, "CANNOT_ASSESS": 0.4}, "obtained": "model"}
    found = read_distribution(SCALE, some)
    assert (SCALE.worth(found), found.label) == (("judged", 0.5), "3")


@given(st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5), st.booleans())
def test_a_scales_value_is_the_mean_by_brute_force(weights: list[float], higher: bool) -> None:
    total = math.fsum(weights)
    if total < 0.01:
        return
    scale = ScaleCriterion(name="s", requirement="x", higher_is_better=higher)
    shares = {str(score): w / total for score, w in zip(range(1, 6), weights, strict=True)}
    found = read_distribution(scale, {"probabilities": shares, "obtained": "model"})
    mean = sum(share * scale.value(label) for label, share in shares.items())  # type: ignore[operator]
    assert found.value == pytest.approx(mean)
    distance = abs(scale.value(found.label) - mean)  # type: ignore[operator]
    assert distance <= min(abs(scale.value(label) - mean) for label in shares) + 1e-9  # type: ignore[operator]


def test_a_label_that_is_none_is_unreadable() -> None:
    with pytest.raises(UnreadableReply, match="'MAYBE' is not one of the labels"):
        read_distribution(BINARY, {"probabilities": {"MAYBE": 1.0}, "obtained": "model"})
    with pytest.raises(UnreadableReply, match="no label"):
        read_distribution(BINARY, {"probabilities": {}, "obtained": "model"})


def test_an_explaining_judge_cannot_answer_with_probabilities() -> None:
    forged = {"probabilities": {"MET": 1.0}, "obtained": "model"}
    with pytest.raises(UnreadableReply):
        BINARY.read(forged)
    assert read_kept(BINARY, forged).label == "MET"
    assert read_kept(BINARY, "MET").label == "MET"
