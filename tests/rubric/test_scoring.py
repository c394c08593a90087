"""The scorer against the formulas of the design, worked out here in fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from formula import near, weighed, worth
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, InputError, Verdict
from rubricate.rubric import CannotAssess, ScoringRules, check_cannot_assess, score

PROPERTY = settings(derandomize=True, deadline=None, max_examples=150)
ENUMERATION = settings(derandomize=True, deadline=None, max_examples=150)

WEIGHTS = st.integers(-12, 12).map(lambda quarters: quarters / 4)
SHARES = st.integers(0, 8).map(lambda eighths: eighths / 8)
STRATEGIES: Sequence[CannotAssess] = ("skip", "zero", "partial", "fail")
MISSING = ("abstained", "failed")


@st.composite
def criteria(draw: st.DrawFn) -> Criterion:
    weight = draw(WEIGHTS)
    if draw(st.booleans()):
        return Criterion(requirement="x", weight=weight)
    values = draw(st.lists(SHARES, min_size=2, max_size=3))
    options = [{"label": f"option {index}", "value": value} for index, value in enumerate(values)]
    if draw(st.booleans()):
        options.append({"label": "does not apply", "na": True})
    return Criterion(requirement="x", weight=weight, options=options)


def answers(criterion: Criterion) -> list[Verdict]:
    """Every answer that a judge may give, as a verdict."""
    verdicts = []
    for answer in criterion.ask().answers:
        verdicts.append(criterion.verdict_of(criterion.read(answer.label)))
    return verdicts


@st.composite
def judged_items(draw: st.DrawFn, most: int = 6) -> tuple[list[Criterion], list[Verdict]]:
    asked = draw(st.lists(criteria(), min_size=1, max_size=most))
    failed = Verdict("", "failed")
    return asked, [draw(st.sampled_from([*answers(c), failed])) for c in asked]


def expected_pairs(
    asked: Iterable[Criterion], verdicts: Iterable[Verdict], strategy: str, partial: float
) -> list[tuple[Fraction, Fraction]]:
    """(weight, value) of all that counts."""
    return [
        (Fraction(criterion.weight), value)
        for criterion, verdict in zip(asked, verdicts, strict=True)
        if (value := worth(criterion, verdict, strategy, partial)) is not None
    ]


def binary(weight: float) -> Criterion:
    return Criterion(requirement="x", weight=weight)


def options(weight: float, *values: float) -> Criterion:
    made = [{"label": str(index), "value": value} for index, value in enumerate(values)]
    return Criterion(requirement="x", weight=weight, options=made)


def judged(value: float) -> Verdict:
    return Verdict("", "judged", "", value)


ABSTAINED = Verdict("", "abstained", "CANNOT_ASSESS")
NOT_APPLICABLE = Verdict("", "not_applicable", "n/a")
FAILED = Verdict("", "failed")


# The value


@PROPERTY
@given(judged_items(), st.sampled_from(STRATEGIES), SHARES)
def test_value_and_raw_sum_follow_the_designs_formula(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess, partial: float
) -> None:
    asked, verdicts = item
    result = score(asked, verdicts, ScoringRules(strategy, partial))
    pairs = expected_pairs(asked, verdicts, strategy, partial)
    assert result.value == near(weighed(pairs))
    assert result.raw == near(Fraction(sum(weight * value for weight, value in pairs)))


@PROPERTY
@given(judged_items())
def test_coverage_is_the_share_of_applicable_criteria_that_were_judged(
    item: tuple[list[Criterion], list[Verdict]],
) -> None:
    statuses = [verdict.status for verdict in item[1]]
    applicable = len(statuses) - statuses.count("not_applicable")
    expected = statuses.count("judged") / applicable if applicable else 0.0
    assert score(*item).coverage == expected


@pytest.mark.parametrize(
    ("weights", "values", "expected"),
    [
        ([2, 1, 1], [1, 0, 0.5], 2.5 / 4),
        ([2, -1], [1, 1], 0.5),
        ([2, -1], [1, 0], 1.0),
        ([1, -5], [1, 1], 0.0),
        ([-1, -3], [0, 0], 1.0),
        ([-1, -3], [1, 0], 0.75),
        ([-1, -3], [1, 1], 0.0),
        ([0, 1], [0, 1], 1.0),
        ([0, -1], [1, 0], 1.0),
    ],
)
def test_worked_examples(weights: list[float], values: list[float], expected: float) -> None:
    result = score([binary(w) for w in weights], [judged(v) for v in values])
    assert result.value == result.lowest == result.highest == expected


@pytest.mark.parametrize(
    ("strategy", "positive", "negative"),
    [("skip", 1.0, 1.0), ("zero", 0.5, 1.0), ("partial", 0.625, 1.0), ("fail", 0.5, 0.0)],
)
@pytest.mark.parametrize("verdict", [ABSTAINED, NOT_APPLICABLE])
def test_what_an_answer_outside_the_score_does_is_the_strategys_choice(
    verdict: Verdict, strategy: CannotAssess, positive: float, negative: float
) -> None:
    for weight, expected in ((1.0, positive), (-1.0, negative)):
        verdicts = [judged(1), verdict]
        result = score([binary(1), binary(weight)], verdicts, ScoringRules(strategy, 0.25))
        assert result.value == expected


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_failure_is_never_a_zero_under_any_strategy(strategy: CannotAssess) -> None:
    result = score([binary(1), binary(1)], [judged(1), FAILED], ScoringRules(strategy))
    assert (result.value, result.lowest, result.highest) == (1.0, 0.5, 1.0)
    assert result.coverage == 0.5


# The bounds


def completions(
    asked: Sequence[Criterion], verdicts: Sequence[Verdict]
) -> Iterable[tuple[Verdict, ...]]:
    """All that the verdicts may become if missing ones come: any of them, with any answer."""
    return product(
        *(
            [verdict, *answers(criterion)] if verdict.status in MISSING else [verdict]
            for criterion, verdict in zip(asked, verdicts, strict=True)
        )
    )


@ENUMERATION
@given(judged_items(most=4), st.sampled_from(STRATEGIES), SHARES)
def test_every_score_that_can_come_lies_within_the_bounds_and_both_are_reached(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess, partial: float
) -> None:
    asked, verdicts = item
    result = score(asked, verdicts, ScoringRules(strategy, partial))
    reachable = [
        value
        for completed in completions(asked, verdicts)
        if (value := weighed(expected_pairs(asked, completed, strategy, partial))) is not None
    ]
    assert result.lowest == near(min(reachable, default=None))
    assert result.highest == near(max(reachable, default=None))


@ENUMERATION
@given(
    st.lists(st.tuples(SHARES, st.booleans()), min_size=1, max_size=3),
    st.lists(st.tuples(WEIGHTS, SHARES, SHARES), min_size=1, max_size=4),
)
def test_the_bounds_hold_where_only_faults_are_judged(
    faults: list[tuple[float, bool]], missing: list[tuple[float, float, float]]
) -> None:
    asked = [binary(-weight - 0.25) for weight, _ in faults]
    asked += [options(weight, *values) for weight, *values in missing]
    verdicts = [judged(float(met)) for _, met in faults] + [FAILED] * len(missing)
    result = score(asked, verdicts)
    reachable = [
        weighed(expected_pairs(asked, completed, "skip", 0.0))
        for completed in completions(asked, verdicts)
    ]
    assert result.lowest == near(min(value for value in reachable if value is not None))
    assert result.highest == near(max(value for value in reachable if value is not None))


@PROPERTY
@given(judged_items(), st.sampled_from(STRATEGIES), SHARES)
def test_the_value_lies_within_its_bounds_and_they_within_0_and_1(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess, partial: float
) -> None:
    result = score(*item, ScoringRules(strategy, partial))
    if result.value is not None:
        assert result.lowest is not None
        assert result.highest is not None
        assert 0.0 <= result.lowest <= result.value <= result.highest <= 1.0


@pytest.mark.parametrize(
    ("asked", "verdicts", "lowest", "value", "highest", "coverage"),
    [
        # a missing verdict widens the bounds by its share
        ([binary(3), binary(1), binary(-1)], [1, ABSTAINED, 0], 0.75, 1.0, 1.0, 2 / 3),
        ([binary(3), binary(1), binary(-1)], [1, FAILED, 0], 0.75, 1.0, 1.0, 2 / 3),
        # a missing fault lowers the lowest
        ([binary(4), binary(-1)], [1, FAILED], 0.75, 1.0, 1.0, 0.5),
        # with nothing judged everything is possible, and there is no value
        ([binary(1), binary(-1)], [FAILED, FAILED], 0.0, None, 1.0, 0.0),
        ([binary(1), binary(-1)], [ABSTAINED, ABSTAINED], 0.0, None, 1.0, 0.0),
        ([binary(1), binary(-1)], [NOT_APPLICABLE, NOT_APPLICABLE], None, None, None, 0.0),
        # what does not apply is not missing
        ([binary(1), binary(1)], [1, NOT_APPLICABLE], 1.0, 1.0, 1.0, 1.0),
        # weights of 0 alone give no score
        ([binary(0)], [1], None, None, None, 1.0),
        # faults that are left alone count down from 1
        ([binary(2), binary(-1), binary(-1)], [ABSTAINED, 1, 0], 0.0, 0.5, 0.5, 2 / 3),
        # the lowest has the fault found, and the options' verdict, worth 0.6, staying out
        (
            [binary(5), binary(5), options(10, 0.6, 0.9), binary(-1)],
            [1, 0, FAILED, FAILED],
            0.4,
            0.5,
            0.7,
            0.5,
        ),
        # the highest has the second fault ruled out, and nothing positive coming
        ([binary(0.25), binary(-1), binary(-1)], [FAILED, 1, FAILED], 0.0, 0.0, 0.5, 1 / 3),
    ],
)
def test_missing_verdicts_widen_the_bounds_and_are_no_zero(
    asked: list[Criterion],
    verdicts: list[Any],
    lowest: float | None,
    value: float | None,
    highest: float | None,
    coverage: float,
) -> None:
    result = score(asked, [one if isinstance(one, Verdict) else judged(one) for one in verdicts])
    assert (result.lowest, result.value, result.highest) == (lowest, value, highest)
    assert result.coverage == coverage


# The parts


def test_a_strategy_is_named_in_any_letter_case_and_rightly_spelt() -> None:
    for word, strategy in (("skip", "skip"), ("SKIP", "skip"), ("Partial", "partial")):
        assert check_cannot_assess(word, 0.5) == strategy
    with pytest.raises(
        InputError, match=r"unknown cannot_assess 'partail'.*did you mean 'partial'"
    ):
        check_cannot_assess("partail", 0.5)


@pytest.mark.parametrize("partial", [-0.1, 1.1, float("nan")])
def test_the_partial_share_is_between_0_and_1(partial: float) -> None:
    with pytest.raises(InputError, match="partial must be between 0 and 1"):
        check_cannot_assess("partial", partial)
