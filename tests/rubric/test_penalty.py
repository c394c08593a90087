"""What length costs, against the formula in fractions and by hand."""

from __future__ import annotations

import json

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from rubricate import Criterion, DataItem, InputError, Verdict
from rubricate.rubric import LengthPenalty, ScoringRules, score, split_thinking

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)
CRITERIA = [
    Criterion(name="point", requirement="x"),
    Criterion(name="other", requirement="y"),
    Criterion(name="fault", requirement="z", weight=-1),
]


@st.composite
def penalties(draw: st.DrawFn) -> LengthPenalty:
    free = draw(st.integers(0, 50))
    return LengthPenalty(
        free_budget=free,
        max_cap=free + draw(st.integers(1, 50)),
        penalty_at_cap=draw(st.integers(0, 8)) / 8,
        exponent=draw(st.integers(1, 12)) / 4,
    )


@given(penalties(), st.integers(0, 120))
@PROPERTY
def test_a_length_costs_what_the_formula_says(penalty, length):
    free, cap, most = penalty.free_budget, penalty.max_cap, penalty.penalty_at_cap
    if length <= free:
        expected = 0.0
    elif length >= cap:
        expected = most
    else:
        expected = most * ((length - free) / (cap - free)) ** penalty.exponent
    assert penalty.of("word " * length) == pytest.approx(expected, abs=1e-12)


@given(penalties(), st.integers(0, 120), st.integers(0, 120))
@PROPERTY
def test_longer_never_costs_less(penalty, one, other):
    assume(one <= other)
    assert 0 <= penalty.at(one) <= penalty.at(other) <= penalty.penalty_at_cap


@given(
    penalties(),
    st.integers(0, 120),
    st.lists(st.sampled_from(["MET", "UNMET", "CANNOT_ASSESS"]), min_size=3, max_size=3),
)
@PROPERTY
def test_value_and_bounds_are_lower_by_the_penalty_and_never_below_0(penalty, length, labels):
    verdicts = [c.verdict(label) for c, label in zip(CRITERIA, labels, strict=True)]
    before = score(CRITERIA, verdicts)
    after = before.less(penalty.of("word " * length))
    assert after.before_penalty == before.value
    assert after.penalty == penalty.at(length)
    for name in ("value", "lowest", "highest"):
        old, new = getattr(before, name), getattr(after, name)
        assert new == (None if old is None else max(0.0, old - after.penalty))


def test_the_defaults_are_6000_8000_half_and_1_6():
    penalty = LengthPenalty()
    assert penalty.at(6000) == 0.0
    assert penalty.at(8000) == penalty.at(10**6) == 0.5
    assert penalty.at(7000) == pytest.approx(0.5 * 0.5**1.6)


@pytest.mark.parametrize(
    ("submission", "thinking", "output"),
    [
        ('{"thinking": "a b c", "output": "d e"}', "a b c", "d e"),
        ({"thinking": "a b c", "output": "d e"}, "a b c", "d e"),
        ("<thinking>a b c</thinking>d e", "a b c", "d e"),
        ("<think>a b</think> d <THINK>c</THINK> e", "a b\nc", " d  e"),
        ("d e <thinking>a b c", "a b c", "d e "),
        ("<thinking>a b c</thinking><output>d e</output>", "a b c", "d e"),
        ("<OUTPUT>d</OUTPUT> e", "", "d e"),
        ("<output>d e", "", "<output>d e"),
        ("d e", "", "d e"),
        ('{"output": "d e"}', "", "d e"),
        ('{"answer": "d e"}', "", '{"answer": "d e"}'),
        ('{"thinking": 3}', "", '{"thinking": 3}'),
        ("{d e", "", "{d e"),
    ],
)
def test_thinking_is_told_from_output(submission, thinking, output):
    assert split_thinking(submission) == (thinking, output)


@pytest.mark.parametrize(("kind", "words"), [("ALL", 5), ("OUTPUT_ONLY", 2), ("THINKING_ONLY", 3)])
@pytest.mark.parametrize(
    "submission",
    ['{"thinking": "a b c", "output": "d e"}', "<thinking>a b c</thinking>d e"],
)
def test_only_the_text_that_is_named_counts(kind, words, submission):
    assert LengthPenalty(penalty_type=kind).length(submission) == words


def test_a_given_counter_counts_in_place_of_words():
    assert LengthPenalty(count=len, free_budget=0, max_cap=10).of("abcde") == pytest.approx(
        0.5 * 0.5**1.6
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"free_budget": 8000}, "max_cap must be above free_budget, found 8000 and 8000"),
        ({"free_budget": -1}, "free_budget must not be below 0"),
        ({"penalty_at_cap": 1.5}, "from 0 to 1"),
        ({"exponent": 0.0}, "above 0"),
        ({"penalty_type": "OUTPUT"}, "known: ALL, OUTPUT_ONLY, THINKING_ONLY"),
        ({"penalty_type": "output_only"}, "did you mean 'OUTPUT_ONLY'"),
        ({"free_bugdet": 1}, "did you mean 'free_budget'"),
        ({"words": 1}, "known: free_budget"),
        ({"max_cap": "8000"}, "max_cap cannot be '8000'"),
        ([8000], "expected keys"),
    ],
)
def test_a_penalty_that_makes_no_sense_is_an_error(given, message):
    with pytest.raises(InputError, match=message):
        LengthPenalty.from_dict(given)


def test_an_item_of_a_file_may_have_thinking_and_output_apart():
    parts = {"thinking": "hm", "output": "so"}
    item = DataItem.from_dict({"submission": parts, "description": ""})
    assert json.loads(item.submission) == parts


@pytest.mark.parametrize("missing", ["abstained", "failed"])
def test_a_score_that_rests_on_faults_alone_for_want_of_points_says_so(missing):
    point, fault = CRITERIA[0], CRITERIA[2]
    none = Verdict("", missing)
    absent = fault.verdict("UNMET")
    assert score([point, fault], [none, absent]).value == 1.0
    assert score([point, fault], [none, absent]).faults_only
    assert not score([point, fault], [point.verdict("UNMET"), absent]).faults_only
    assert not score([fault], [absent]).faults_only
    other = score([point, fault], [none, absent], ScoringRules("zero"))
    assert other.faults_only == (missing == "failed")


def test_a_penalty_that_is_built_in_python_is_checked_as_one_of_a_file():
    with pytest.raises(InputError, match="max_cap must be above free_budget"):
        LengthPenalty(free_budget=8000)
