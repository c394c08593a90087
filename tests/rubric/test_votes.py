"""Votes into verdicts, against a count in fractions that is written out here."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, InputError, MetricCriterion, ScaleCriterion, Verdict
from rubricate.rubric import STRATEGIES, Aggregation, Failure, Usage, aggregate, confidence

PROPERTY = settings(derandomize=True, deadline=None, max_examples=250)
OPTIONS = [
    {"label": "poor", "value": 0.0},
    {"label": "fair", "value": 0.25},
    {"label": "good", "value": 1.0},
    {"label": "does not apply", "na": True},
]
CRITERIA = st.sampled_from(
    [
        make(weight)
        for weight in (2.0, -1.0)
        for make in (
            lambda weight: Criterion(requirement="x", weight=weight),
            lambda weight: Criterion(requirement="x", weight=weight, options=OPTIONS),
            lambda weight: Criterion(
                requirement="x", weight=weight, options=OPTIONS, scale_type="nominal"
            ),
            lambda weight: ScaleCriterion(requirement="x", weight=weight, low=1, high=5),
            lambda weight: ScaleCriterion(requirement="x", weight=weight, higher_is_better=False),
        )
    ]
)


@st.composite
def elections(draw: st.DrawFn) -> tuple[Criterion, list[Verdict], list[float], str]:
    criterion = draw(CRITERIA)
    answers = [answer.label for answer in criterion.ask().answers]
    labels = draw(st.lists(st.sampled_from([*answers, None]), min_size=1, max_size=6))
    weights = draw(st.lists(st.integers(1, 8), min_size=len(labels), max_size=len(labels)))
    votes = [
        Verdict("", "failed", error=Failure("timeout", "late"))
        if label is None
        else vote(criterion, label)
        for label in labels
    ]
    strategy = draw(st.sampled_from(STRATEGIES[criterion.measurement]))
    return criterion, votes, [weight / 4 for weight in weights], strategy


def vote(criterion: Criterion, label: str, **fields: Any) -> Verdict:
    """The verdict of a judge who gave this answer."""
    status, value = criterion.worth(criterion.read(label))
    return Verdict("", status, label, value, **fields)


def counted(
    criterion: Criterion, votes: list[Verdict], weights: list[float], strategy: str
) -> tuple[str, Fraction | None, bool]:
    """Status, value and whether there was a tie, as the documentation words it."""
    weighted = "weighted" in strategy
    deciding = [
        (v, Fraction(w) if weighted else Fraction(1))
        for v, w in zip(votes, weights, strict=True)
        if v.status in ("judged", "not_applicable")
    ]
    if not deciding:
        came = any(v.status == "abstained" for v in votes)
        return ("abstained" if came else "failed"), None, False
    if strategy == "unanimous" and criterion.measurement == "nominal":
        labels = {v.label for v, _ in deciding}
        value = deciding[0][0].value
        if len(labels) > 1:
            return "abstained", None, False
        return ("judged", Fraction(value), False) if value is not None else (
            "not_applicable", None, False)  # fmt: skip
    apart = sum(w for v, w in deciding if v.value is None)
    scoring = [(Fraction(v.value), v.label, w) for v, w in deciding if v.value is not None]
    even = apart == sum(w for *_, w in scoring)
    if apart > sum(w for *_, w in scoring):
        return "not_applicable", None, False
    values = sorted(value for value, *_ in scoring)
    tied = False
    match strategy:
        case "unanimous":
            value = min(values)
        case "any" | "max":
            value = max(values)
        case "min":
            value = min(values)
        case "mean" | "weighted_mean":
            value = sum(v * w for v, _, w in scoring) / sum(w for *_, w in scoring)
        case "median":
            middle = len(values) // 2
            value = values[middle]
            if len(values) % 2 == 0:
                value = (values[middle - 1] + values[middle]) / 2
        case _:
            totals: Counter[Any] = Counter()
            for v, label, w in scoring:
                totals[v, label] += w  # type: ignore[assignment]
            leading = [v for (v, _), total in totals.items() if total == max(totals.values())]
            value = min(leading) if criterion.weight > 0 else max(leading)
            tied = len(leading) > 1
    return "judged", value, tied or even


@given(elections())
@PROPERTY
def test_votes_come_to_what_counting_them_by_hand_gives(election):
    criterion, votes, weights, strategy = election
    how = Aggregation(**{criterion.measurement: strategy})
    verdict = aggregate(criterion, votes, how, weights)
    status, value, tied = counted(criterion, votes, weights, strategy)
    assert (verdict.status, verdict.tied) == (status, tied)
    if value is None:
        assert verdict.value is None
    else:
        assert verdict.value == pytest.approx(float(value), abs=1e-12)
    assert verdict.votes == tuple(votes)


@given(elections())
@PROPERTY
def test_the_label_shown_is_the_nearest_to_the_value(election):
    criterion, votes, weights, strategy = election
    verdict = aggregate(criterion, votes, Aggregation(**{criterion.measurement: strategy}), weights)
    if verdict.status == "judged":
        worths = [criterion.value(label) for label in criterion.labels]
        nearest = min(abs(worth - verdict.value) for worth in worths if worth is not None)
        assert verdict.label is not None
        assert abs(criterion.value(verdict.label) - verdict.value) <= nearest + 1e-9


@given(elections(), st.integers(1, 6))
@PROPERTY
def test_below_the_quorum_a_verdict_is_failed_and_never_valued(election, quorum):
    criterion, votes, _, strategy = election
    how = Aggregation(**{criterion.measurement: strategy}, min_votes=quorum)
    verdict = aggregate(criterion, votes, how)
    deciding = sum(v.status in ("judged", "not_applicable") for v in votes)
    abstained = sum(v.status == "abstained" for v in votes)
    if deciding < quorum and (deciding or abstained < quorum):
        assert (verdict.status, verdict.value) == ("failed", None)
        assert verdict.error is not None
        assert verdict.error.kind == "quorum"
    else:
        assert verdict.status != "failed"


POINT = Criterion(name="point", requirement="x")


def test_a_verdict_adds_up_what_its_votes_took_and_speaks_for_those_it_agrees_with():
    votes = [
        vote(POINT, "UNMET", reason="I see nothing", usage=Usage(1, 10, cost=0.25)),
        vote(POINT, "MET", reason="There it is", usage=Usage(2, 20, cost=0.5), resumed=True),
        vote(POINT, "MET", reason="Yes", usage=Usage(1, 30, cost=0.25), resumed=True),
    ]
    verdict = aggregate(POINT, votes, Aggregation())
    assert verdict.reason == "There it is"
    assert verdict.usage == Usage(4, 60, cost=1.0)
    assert not verdict.resumed
    assert aggregate(POINT, votes[1:], Aggregation()).resumed


@pytest.mark.parametrize(
    ("labels", "probability", "sure"),
    [
        ([], 0.7, 0.7),  # one judge: its own probability
        ([], None, None),
        (["MET"], None, None),  # one vote says nothing of how sure it is
        (["MET", "MET", "UNMET"], None, 2 / 3),
        (["MET", "UNMET"], 0.9, 0.5),  # of both, the lower one
        (["MET", "MET"], 0.9, 0.9),
        (["MET", None, "CANNOT_ASSESS", "MET"], None, 0.5),  # failed and abstained are not for it
    ],
)
def test_confidence_is_the_lower_of_the_probability_and_the_share_of_the_votes(
    labels, probability, sure
):
    failed = Verdict("", "failed", error=Failure("timeout", "late"))
    votes = tuple(vote(POINT, label) if label else failed for label in labels)
    assert confidence(vote(POINT, "MET", probability=probability, votes=votes)) == sure
    for status in ("failed", "abstained"):
        assert confidence(replace(vote(POINT, "MET", probability=0.9), status=status)) is None


def test_votes_have_no_probability_together_but_a_single_one_keeps_its_own():
    votes = [vote(POINT, "MET", probability=0.9), vote(POINT, "MET", probability=0.8)]
    assert aggregate(POINT, votes, Aggregation()).probability is None
    alone = aggregate(POINT, votes[:1], Aggregation())
    assert (alone.probability, confidence(alone)) == (0.9, 0.9)


def test_weights_that_add_up_alike_but_for_rounding_are_a_tie():
    votes = [vote(POINT, "MET"), vote(POINT, "MET"), vote(POINT, "UNMET")]
    assert aggregate(POINT, votes, Aggregation(binary="weighted"), [0.1, 0.2, 0.3]).tied


def test_metric_criteria_take_the_mean_or_the_median_of_their_values():
    criterion = MetricCriterion(
        requirement="x", tp_instructions=["a", "b", "c"], metrics=["recall"]
    )
    counts = ("tp 3, fp 0, tn 0, fn 0", "tp 0, fp 0, tn 0, fn 3", "tp 0, fp 1, tn 0, fn 3")
    votes = [Verdict("", "judged", label, criterion.value(label)) for label in counts]
    mean = aggregate(criterion, votes, Aggregation())
    assert mean.value == pytest.approx(1 / 3)
    assert criterion.value(mean.label) == pytest.approx(mean.value, abs=1e-4)
    median = aggregate(criterion, votes, Aggregation(numeric="median"))
    assert (median.label, median.value) == (counts[1], 0.0)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"binary": "majorty"}, "did you mean 'majority'"),
        ({"ordinal": "majority"}, "known: mean, median"),
        ({"nominal": "mean"}, "known: mode, weighted_mode"),
        ({"min_votes": 0}, "at least 1"),
    ],
)
def test_a_strategy_that_is_none_is_an_error_with_those_that_are(given, message):
    with pytest.raises(InputError, match=message):
        Aggregation(**given)


@pytest.mark.parametrize("weights", [[1.0], [1.0, 0.0], [1.0, float("nan")], [1.0, -1.0]])
def test_weights_are_one_positive_number_a_judge(weights):
    with pytest.raises(InputError, match="weight"):
        aggregate(POINT, [vote(POINT, "MET"), vote(POINT, "MET")], Aggregation(), weights)
