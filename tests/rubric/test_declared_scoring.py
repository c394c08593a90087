"""Declared scoring: raw item scores, aggregates and their bounds, and what files may say of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, InputError, Rubric, Verdict
from rubricate.rubric import (
    AGGREGATES,
    Aggregate,
    DeclaredScoring,
    Scored,
    Scoring,
    ScoringRules,
    score,
    values_of,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=150)
RAW = ScoringRules(declared=DeclaredScoring(items="raw"))
WEIGHTS = st.integers(-8, 8).map(lambda quarters: quarters / 4)
MET, UNMET = (Verdict("", "judged", "", value) for value in (1.0, 0.0))
FAILED = Verdict("", "failed")
NOT_APPLICABLE = Verdict("", "not_applicable")


def rubric_of(weights: Sequence[float]) -> list[Criterion]:
    return [Criterion(requirement="x", weight=weight) for weight in weights]


def raw_share(pairs: Iterable[tuple[float, Verdict]]) -> Fraction | None:
    """`sum(w v) / sum(w+)` over what was judged, as HealthBench has it."""
    judged = [(Fraction(w), Fraction(v.value)) for w, v in pairs if v.value is not None]
    points = sum(weight for weight, _ in judged if weight > 0)
    return sum(weight * value for weight, value in judged) / points if points else None


def completed(verdicts: Sequence[Verdict]) -> Iterator[tuple[Verdict, ...]]:
    """All that verdicts may become if failed ones come, with any answer, or stay away."""
    every = (FAILED, MET, UNMET, NOT_APPLICABLE)
    return product(*(every if verdict == FAILED else [verdict] for verdict in verdicts))


@PROPERTY
@given(st.lists(st.tuples(WEIGHTS, st.sampled_from([MET, UNMET, FAILED])), min_size=1, max_size=5))
def test_a_raw_score_and_its_bounds_are_those_of_the_published_formula(
    pairs: list[tuple[float, Verdict]],
) -> None:
    weights, verdicts = [list(column) for column in zip(*pairs, strict=True)]
    found = score(rubric_of(weights), verdicts, RAW)
    reachable = [raw_share(zip(weights, one, strict=True)) for one in completed(verdicts)]
    known = [one for one in reachable if one is not None]
    assert found.value == pytest.approx(raw_share(pairs))
    assert found.lowest == pytest.approx(min(known, default=None))
    assert found.highest == pytest.approx(max(known, default=None))


@pytest.mark.parametrize(
    ("declared", "weights", "expected"),
    [
        ({"items": "raw"}, [-3, -1], None),
        ({"items": "raw", "penalties_only": "avoided"}, [-3, -1], 0.25),
        ({"penalties_only": "none"}, [-3, -1], None),
        ({}, [-3, -1], 0.25),
        ({"items": "raw"}, [1, -2], -2.0),
        ({}, [1, -2], 0.0),
    ],
)
def test_what_penalty_criteria_alone_score_is_declared(
    declared: dict[str, Any], weights: list[float], expected: float | None
) -> None:
    verdicts = [UNMET, MET] if weights[0] > 0 else [MET, UNMET]
    rules = ScoringRules(declared=DeclaredScoring(**declared))
    assert score(rubric_of(weights), verdicts, rules).value == expected


def test_a_raw_score_never_rests_on_penalties_where_the_item_has_points_to_give() -> None:
    rules = ScoringRules(declared=DeclaredScoring(items="raw", penalties_only="avoided"))
    assert score(rubric_of([3, -1]), [FAILED, UNMET], rules).value is None


# Aggregates

ENDS = st.integers(0, 4).map(lambda quarters: quarters / 4)


@st.composite
def scores(draw: st.DrawFn, most: int = 4) -> list[list[float | None]]:
    """What each item's score may become: one value, or several with or without none."""
    choices = st.lists(st.one_of(st.none(), ENDS), min_size=1, max_size=3)
    return draw(st.lists(choices, min_size=1, max_size=most))


def as_scored(may_be: Sequence[float | None], value: float | None, *pair: Any) -> Scored:
    known = [one for one in may_be if one is not None]
    return Scored(value, min(known, default=None), max(known, default=None), *pair)


@PROPERTY
@given(scores(), st.sampled_from(["mean", "clipped_mean"]), st.integers(-3, 0))
def test_the_bounds_of_a_mean_hold_for_every_completion_of_its_items(
    items: list[list[float | None]], name: str, shift: int
) -> None:
    formula = AGGREGATES[name]
    moved = [[None if v is None else 2 * v + shift for v in one] for one in items]
    # A score that is there stays one: only those that are missing may stay away.
    moved = [[one[0], *(v for v in one[1:] if one[0] is None or v is not None)] for one in moved]
    found = formula.of([as_scored(one, one[0]) for one in moved])
    means = [value for one in product(*moved) if (value := mean_of(formula, one)) is not None]
    assert found.value == pytest.approx(mean_of(formula, [one[0] for one in moved]))
    if not means:
        assert (found.lowest, found.highest) == (None, None)
        return
    assert found.lowest is not None
    assert found.highest is not None
    assert found.lowest - 1e-12 <= min(means)
    assert max(means) <= found.highest + 1e-12


def mean_of(formula: Aggregate, values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    if not known:
        return None
    mean = sum(known) / len(known)
    return min(1.0, max(0.0, mean)) if formula.name == "clipped_mean" else mean


def race(pairs: Sequence[tuple[float | None, float | None]]) -> float | None:
    """RACE's score: each target against its reference, then the mean over tasks."""
    shares = [t / (t + r) for t, r in pairs if t is not None and r is not None and t + r > 0]
    return sum(shares) / len(shares) if shares else None


@PROPERTY
@given(st.lists(st.tuples(*[st.lists(ENDS, min_size=1, max_size=2)] * 2), min_size=1, max_size=3))
def test_the_bounds_against_references_hold_for_every_completion(
    tasks: list[tuple[list[float], list[float]]],
) -> None:
    formula = AGGREGATES["against_reference"]
    given = [
        as_scored(may_be, may_be[0], str(task), is_reference)
        for task, sides in enumerate(tasks)
        for is_reference, may_be in enumerate(sides)
    ]
    found = formula.of(given)
    choices = [list(product(*sides)) for sides in tasks]
    reachable = [value for one in product(*choices) if (value := race(one)) is not None]
    assert found.value == pytest.approx(race([one[0] for one in choices]))
    if reachable:
        assert found.lowest is not None
        assert found.highest is not None
        assert found.lowest - 1e-12 <= min(reachable)
        assert max(reachable) <= found.highest + 1e-12


def test_several_items_may_be_set_against_one_reference() -> None:
    given = [
        Scored(0.6, 0.6, 0.6, "t", False),
        Scored(0.2, 0.2, 0.2, "t", False),
        Scored(0.2, 0.2, 0.2, "t", True),
    ]
    found = AGGREGATES["against_reference"].of(given)
    assert found.values == (pytest.approx(0.75), 0.5)
    assert found.pairs == ("t", "t")


# Files


@pytest.mark.parametrize(
    ("declared", "message"),
    [
        ({"items": "rawe"}, "scoring.items: unknown word 'rawe' (known: clamped, raw)"),
        ({"items": "claped"}, "did you mean 'clamped'?"),
        ({"agregate": "mean"}, "did you mean 'aggregate'?"),
        ({"aggregate": "cliped_mean"}, "did you mean 'clipped_mean'?"),
        ({"colour": "red"}, "scoring: unknown key 'colour' (known: items, "),
        ({"by": 3}, "scoring.by: must be a list"),
        ({"by": [""]}, "scoring.by: must not be empty"),
        ({"cannot_assess": "zeor"}, "scoring.cannot_assess: unknown cannot_assess 'zeor'"),
        ({"partial": 2.0}, "partial: must be at most 1"),
        ({"reference": "r:h"}, "'reference' is for an aggregate in pairs, not mean"),
        (
            {"aggregate": "macro_mean", "groups": ["d"], "pairs": "task"},
            "'pairs' is not for macro_mean, whose intervals are by 'groups'",
        ),
        ({"aggregate": "against_reference"}, "the aggregate against_reference needs 'pairs'"),
        (
            {"aggregate": "against_reference", "pairs": "task", "reference": "human"},
            "'reference' is a tag such as role:reference",
        ),
        (
            {"aggregate": "against_reference", "pairs": "t", "reference": "r:h", "items": "raw"},
            "is for items: clamped, not raw",
        ),
    ],
)
def test_a_declaration_that_cannot_be_meant_is_one_line(
    declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        Rubric.from_dict({"criteria": [{"requirement": "x"}], "scoring": declared})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_declared_scoring_and_tags_are_written_back_as_they_mean() -> None:
    rubric = Rubric.from_yaml(
        "scoring: {items: raw, aggregate: clipped_mean, by: tags}\n"
        "criteria:\n- {requirement: x, points: 5, tags: {axis: accuracy, theme: [a, b]}}\n"
    )
    assert rubric[0].weight == 5.0
    assert rubric[0].tags == ("axis:accuracy", "theme:a", "theme:b")
    again = Rubric.from_yaml(rubric.to_yaml())
    assert (again.scoring, again[0].tags, again[0].weight) == (
        rubric.scoring,
        rubric[0].tags,
        5.0,
    )
    assert "scoring" not in str(Rubric([Criterion(requirement="x")]).to_dict())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"points": 3, "weight": 2}, "points are the weight: found points 3 and weight 2"),
        ({"points": "3"}, "points must be a number, found '3'"),
        ({"points": True}, "points must be a number, found True"),
    ],
)
def test_points_are_the_weight_and_nothing_else(given: dict[str, Any], message: str) -> None:
    assert Rubric.from_dict([{"requirement": "x", "points": -3, "weight": -3.0}])[0].weight == -3.0
    with pytest.raises(InputError) as caught:
        Rubric.from_dict([{"requirement": "x", **given}])
    assert str(caught.value) == f"[0]: {message}"


def test_a_field_is_looked_for_in_tags_and_then_in_metadata() -> None:
    assert values_of("theme", ["theme:a", "theme:b", "word"], {"theme": "c"}) == ("a", "b")
    assert values_of("theme", ["word"], {"theme": 3}) == ("3",)
    assert values_of("tags", ["theme:a", "word"], {}) == ("theme:a", "word")
    assert values_of("theme", [], {}) == ()


@pytest.mark.parametrize(
    ("told", "declared", "expected"),
    [
        ({}, {"cannot_assess": "zero"}, ("zero", 0.5)),
        ({"cannot_assess": "ZERO"}, {"cannot_assess": "zero"}, ("zero", 0.5)),
        ({"partial": 0.25}, {"cannot_assess": "partial"}, ("partial", 0.25)),
        ({"cannot_assess": "fail"}, {}, ("fail", 0.5)),
    ],
)
def test_what_the_run_is_told_and_what_is_declared_go_together(
    told: dict[str, Any], declared: dict[str, Any], expected: tuple[str, float]
) -> None:
    rules = Scoring(**told).under(DeclaredScoring(**declared))
    assert (rules.cannot_assess, rules.partial) == expected


@pytest.mark.parametrize(
    ("told", "declared", "message"),
    [
        (
            {"cannot_assess": "skip"},
            {"cannot_assess": "zero"},
            "the rubric declares cannot_assess zero, and the option sets skip: leave one out",
        ),
        (
            {"partial": 0.5},
            {"partial": 0.25},
            "the rubric declares partial 0.25, and the option sets 0.5: leave one out",
        ),
        (
            {"length_penalty": {"free_budget": 1, "max_cap": 2}},
            {"items": "raw"},
            "the rubric declares raw scores, and a length penalty is of scores in [0, 1]: "
            "leave one out",
        ),
    ],
)
def test_an_option_that_contradicts_the_declaration_is_refused(
    told: dict[str, Any], declared: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError) as caught:
        Scoring(**told).under(DeclaredScoring(**declared))
    assert str(caught.value) == message
