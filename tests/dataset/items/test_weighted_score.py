"""`compute_weighted_score` against the loop that is printed on the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, CriterionVerdict, Rubric, RubricDataset

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)
MET, UNMET, CANNOT_ASSESS = CriterionVerdict
OPTIONS = [
    {"label": "poor", "value": 0.25},
    {"label": "good", "value": 0.75},
    {"label": "n/a", "na": True},
    {"label": "n/a with a value", "value": 1.0, "na": True},
]


def page_score(
    rubric: Rubric, verdicts: Sequence[CriterionVerdict | str], normalize: bool
) -> float:
    """The page's loop."""
    score = 0.0
    total_positive = 0.0
    for i, verdict in enumerate(verdicts):
        criterion = rubric.rubric[i]
        weight = criterion.weight
        if criterion.is_multi_choice:
            assert criterion.options is not None
            opt = criterion.options[criterion.find_option_by_label(verdict)]
            if opt.na:
                continue
            assert opt.value is not None
            score += opt.value * weight
            if weight > 0:
                total_positive += weight
        else:
            parsed = CriterionVerdict(verdict)
            if parsed == CriterionVerdict.CANNOT_ASSESS:
                continue
            if parsed == CriterionVerdict.MET:
                score += weight
            if weight > 0:
                total_positive += weight
    if normalize:
        if total_positive > 0:
            return max(0.0, min(1.0, score / total_positive))
        return 0.0
    return score


@st.composite
def labelled_rubrics(draw: st.DrawFn) -> tuple[Rubric, list[CriterionVerdict | str]]:
    criteria, labels = [], []
    for _ in range(draw(st.integers(1, 6))):
        weight = draw(st.floats(-1e6, 1e6, allow_nan=False))
        if draw(st.booleans()):
            criteria.append(Criterion(weight=weight, requirement="x", options=OPTIONS))
            labels.append(draw(st.sampled_from([option["label"] for option in OPTIONS])))
        else:
            criteria.append(Criterion(weight=weight, requirement="x"))
            label = draw(st.sampled_from(CriterionVerdict))
            labels.append(draw(st.sampled_from([label, label.value])))
    return Rubric(criteria), labels


@PROPERTY
@given(labelled_rubrics(), st.booleans())
def test_the_score_is_the_pages_to_the_last_bit(
    labelled: tuple[Rubric, list[CriterionVerdict | str]], normalize: bool
) -> None:
    rubric, labels = labelled
    found = RubricDataset("p", rubric).compute_weighted_score(labels, normalize)
    assert found == page_score(rubric, labels, normalize)


def rubric(*weights: float, options: bool = False) -> Rubric:
    extra: dict[str, Any] = {"options": OPTIONS} if options else {}
    return Rubric([Criterion(weight=weight, requirement="x", **extra) for weight in weights])


def test_a_given_rubric_goes_before_the_global_one() -> None:
    dataset = RubricDataset("p", rubric(1, 1))
    assert dataset.compute_weighted_score(["good"], rubric=rubric(1, options=True)) == 0.75
    assert RubricDataset("p").compute_weighted_score([MET], True, rubric(1)) == 1.0


@pytest.mark.parametrize("label", [CANNOT_ASSESS, "CANNOT_ASSESS", None])
def test_an_abstention_and_a_missing_label_are_left_out_of_every_kind(label: Any) -> None:
    dataset = RubricDataset("p", rubric(3, 1, options=True))
    assert dataset.compute_weighted_score(["good", label]) == 0.75
    assert dataset.compute_weighted_score([label, label]) == 0.0
    assert RubricDataset("p", rubric(3, 1)).compute_weighted_score([MET, label]) == 1.0


BINARY_OR_NONE = "allowed: 'MET', 'UNMET', 'CANNOT_ASSESS'$"


@pytest.mark.parametrize(
    ("scored", "labels", "message"),
    [
        (None, [MET], "^Cannot compute score: no rubric provided and no global rubric set$"),
        *(
            (rubric(1, options=True), [verdict], "^Criterion 0 is multi-choice but got Criterion")
            for verdict in (MET, UNMET)
        ),
        *(
            (rubric(1, 1, options=True), ["good", label], f"^Criterion 1 has no label '{label}'")
            for label in ("MET", "Good", "", " good")
        ),
        *(
            (rubric(1), [label], f"^Criterion 0 has no label '{label}'; {BINARY_OR_NONE}")
            for label in ("met", "yes", "good", "")
        ),
        *(
            (rubric(1, 1), [MET] * count, f"{count} verdicts for a rubric of 2 criteria")
            for count in (0, 1, 3)
        ),
    ],
)
def test_what_cannot_be_scored_is_a_value_error_that_names_the_criterion(
    scored: Rubric | None, labels: list[Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RubricDataset("p", scored).compute_weighted_score(labels)
