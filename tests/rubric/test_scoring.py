"""The scorer against the formulas of the design, worked out here in fractions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, InputError, Verdict
from rubricate.rubric import CannotAssess, Score, ScoringRules, check_cannot_assess, score

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
    """(weight, value) of all that counts, as the design words it."""
    pairs = []
    for criterion, verdict in zip(asked, verdicts, strict=True):
        weight, value = Fraction(criterion.weight), None
        match verdict.status, strategy:
            case "judged", _:
                assert verdict.value is not None
                value = Fraction(verdict.value)
            case "failed", _:
                pass
            case _, "zero":
                value = Fraction(0)
            case _, "partial":
                value = Fraction(partial) if weight > 0 else Fraction(0)
            case _, "fail":
                value = Fraction(criterion.value_range[weight < 0])
        if value is not None:
            pairs.append((weight, value))
    return pairs


def expected_value(pairs: Sequence[tuple[Fraction, Fraction]]) -> Fraction | None:
    raw = sum(weight * value for weight, value in pairs)
    positive = sum(weight for weight, _ in pairs if weight > 0)
    everything = sum(abs(weight) for weight, _ in pairs)
    if positive:
        return min(Fraction(1), max(Fraction(0), raw / positive))
    if everything:
        return min(Fraction(1), max(Fraction(0), 1 + raw / everything))
    return None


def near(number: Fraction | None) -> Any:
    return None if number is None else pytest.approx(float(number), abs=1e-12)


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
    assert result.value == near(expected_value(pairs))
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


@PROPERTY
@given(judged_items(), st.sampled_from(STRATEGIES), SHARES, st.randoms(use_true_random=False))
def test_the_order_of_the_criteria_does_not_matter(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess, partial: float, random: Any
) -> None:
    pairs = list(zip(*item, strict=True))
    random.shuffle(pairs)
    shuffled = [list(column) for column in zip(*pairs, strict=True)]
    first = score(*item, ScoringRules(strategy, partial))
    again = score(*shuffled, ScoringRules(strategy, partial))
    for name in Score.__slots__:
        assert getattr(again, name) == pytest.approx(getattr(first, name), abs=1e-12)


@PROPERTY
@given(judged_items(), st.sampled_from(STRATEGIES), st.sampled_from([0.5, 2.0, 1024.0]))
def test_scaling_all_weights_changes_no_score(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess, factor: float
) -> None:
    asked, verdicts = item
    scaled = [c.model_copy(update={"weight": c.weight * factor}) for c in asked]
    first = score(asked, verdicts, ScoringRules(strategy))
    again = score(scaled, verdicts, ScoringRules(strategy))
    assert (again.value, again.lowest, again.highest) == (first.value, first.lowest, first.highest)


@PROPERTY
@given(judged_items())
def test_a_failed_verdict_counts_as_if_nobody_had_asked(
    item: tuple[list[Criterion], list[Verdict]],
) -> None:
    kept = [(c, v) for c, v in zip(*item, strict=True) if v.status != "failed"]
    for strategy in STRATEGIES:
        result = score(*item, ScoringRules(strategy))
        without = score([c for c, _ in kept], [v for _, v in kept], ScoringRules(strategy))
        assert (result.value, result.raw) == (without.value, without.raw)


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


def test_the_raw_sum_is_neither_divided_nor_clamped() -> None:
    result = score([binary(1), binary(-5)], [judged(1), judged(1)])
    assert (result.raw, result.value) == (-4.0, 0.0)


def test_only_faults_left_count_down_from_one_even_where_the_rubric_has_more() -> None:
    result = score([binary(2), binary(-1), binary(-1)], [ABSTAINED, judged(1), judged(0)])
    assert result.value == 0.5


@pytest.mark.parametrize("verdict", [ABSTAINED, NOT_APPLICABLE, FAILED])
def test_nothing_left_is_no_score(verdict: Verdict) -> None:
    result = score([binary(1), binary(-1)], [verdict, verdict])
    assert (result.value, result.raw, result.coverage) == (None, 0.0, 0.0)


def test_weights_of_zero_alone_give_no_score() -> None:
    result = score([binary(0)], [judged(1)])
    assert (result.value, result.lowest, result.highest) == (None, None, None)
    assert result.coverage == 1.0


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


def test_as_many_verdicts_as_criteria_are_needed() -> None:
    with pytest.raises(InputError, match="1 verdicts for 2 criteria"):
        score([binary(1), binary(1)], [FAILED])


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
        if (value := expected_value(expected_pairs(asked, completed, strategy, partial)))
        is not None
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
        expected_value(expected_pairs(asked, completed, "skip", 0.0))
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


@PROPERTY
@given(judged_items(), st.sampled_from(STRATEGIES))
def test_the_bounds_are_the_value_where_nothing_is_missing(
    item: tuple[list[Criterion], list[Verdict]], strategy: CannotAssess
) -> None:
    kept = [(c, v) for c, v in zip(*item, strict=True) if v.status not in MISSING]
    result = score([c for c, _ in kept], [v for _, v in kept], ScoringRules(strategy))
    assert result.lowest == result.value == result.highest


@pytest.mark.parametrize("missing", [ABSTAINED, FAILED])
def test_a_missing_verdict_widens_the_bounds_by_its_share(missing: Verdict) -> None:
    result = score([binary(3), binary(1), binary(-1)], [judged(1), missing, judged(0)])
    assert (result.lowest, result.value, result.highest) == (0.75, 1.0, 1.0)


def test_a_missing_fault_lowers_the_lowest() -> None:
    result = score([binary(4), binary(-1)], [judged(1), FAILED])
    assert (result.lowest, result.value, result.highest) == (0.75, 1.0, 1.0)


def test_some_missing_verdicts_may_come_and_others_not() -> None:
    # The lowest is reached when the fault is found and the options' verdict, worth 0.6, stays out.
    asked = [binary(5), binary(5), options(10, 0.6, 0.9), binary(-1)]
    result = score(asked, [judged(1), judged(0), FAILED, FAILED])
    assert result.lowest == 0.4
    # The highest is reached when the second fault is ruled out and nothing positive comes.
    asked = [binary(0.25), binary(-1), binary(-1)]
    result = score(asked, [FAILED, judged(1), FAILED])
    assert (result.lowest, result.value, result.highest) == (0.0, 0.0, 0.5)


def test_nothing_judged_leaves_everything_possible() -> None:
    result = score([binary(1), binary(-1)], [FAILED, FAILED])
    assert (result.lowest, result.value, result.highest) == (0.0, None, 1.0)


def test_what_does_not_apply_is_not_missing() -> None:
    result = score([binary(1), binary(1)], [judged(1), NOT_APPLICABLE])
    assert (result.lowest, result.value, result.highest, result.coverage) == (1.0, 1.0, 1.0, 1.0)


# The parts


@pytest.mark.parametrize(
    ("given", "strategy"), [("skip", "skip"), ("SKIP", "skip"), ("Partial", "partial")]
)
def test_a_strategy_is_named_in_any_letter_case(given: str, strategy: str) -> None:
    assert check_cannot_assess(given, 0.5) == strategy


def test_a_misspelt_strategy_is_an_error_with_the_right_spelling() -> None:
    with pytest.raises(InputError, match=r"unknown strategy 'partail'.*did you mean 'partial'"):
        check_cannot_assess("partail", 0.5)


@pytest.mark.parametrize("partial", [-0.1, 1.1, float("nan")])
def test_the_partial_share_is_between_0_and_1(partial: float) -> None:
    with pytest.raises(InputError, match="partial must be between 0 and 1"):
        check_cannot_assess("partial", partial)
