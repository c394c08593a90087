"""How figures are written."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.stats import Estimate
from rubricate.views._format import (
    dollars,
    ends,
    estimate_text,
    figure,
    opening,
    p_text,
    percent,
    tell_apart,
    weight_text,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (float("nan"), "–"),
        (0.0, "0.00"),
        (-0.0, "0.00"),
        (-1e-17, "0.00"),
        (1.0, "1.00"),
        (1 - 1e-12, "1.00"),
        (0.5, "0.50"),
        (0.9989, "0.999"),
        (0.9967, "0.997"),
        (0.99999, ">0.999"),
        (0.000001, "<0.001"),
        (0.004, "0.004"),
        (-0.004, "-0.004"),
        (-0.9999, "<-0.999"),
        (2.4999, "2.50"),
    ],
)
def test_a_number_is_not_written_as_0_or_1_unless_it_is(value, text):
    assert figure(value) == text


@PROPERTY
@given(st.floats(-1, 1))
def test_no_number_is_written_as_minus_0_nor_as_a_bound_that_it_is_not(value: float):
    for text in (figure(value), figure(value, 3), figure(value, sign=True)):
        shown = float(text.lstrip("<>"))
        assert shown != 0 or not text.startswith("-")
        if abs(abs(value) - 1) > 1e-8 and abs(value) > 1e-8:
            assert abs(shown) not in (0.0, 1.0)
        if text[0] in "<>":
            assert value < shown if text[0] == "<" else value > shown


@pytest.mark.parametrize(
    ("share", "text"),
    [
        (None, "–"),
        (1.0, "100%"),
        (0.0, "0%"),
        (0.5, "50%"),
        (599 / 600, "99.8%"),
        (0.99995, "99.995%"),
        (1 / 600, "0.1%"),
        (0.9499, "94%"),
    ],
)
def test_100_per_cent_is_all_and_0_is_none(share, text):
    assert percent(share) == text


@PROPERTY
@given(st.integers(1, 10**7), st.data())
def test_a_part_is_never_100_per_cent(whole: int, data: st.DataObject):
    part = data.draw(st.integers(0, whole))
    text = percent(part / whole)
    assert (text == "100%") is (part == whole)
    assert (text == "0%") is (part == 0)


def test_a_p_value_is_never_0():
    assert (p_text(0.0), p_text(0.0004), p_text(0.0204)) == ("<0.001", "<0.001", "0.020")


def test_an_unknown_cost_is_not_0():
    assert (dollars(None), dollars(0.0)) == ("unknown", "$0")
    assert (dollars(0.00003), dollars(0.00012), dollars(4e-7)) == (
        "$0.00003",
        "$0.0001",
        "$0.0000004",
    )


def test_weights_that_differ_are_both_told():
    assert weight_text(5.0) == "5"
    assert weight_text(None, (-5.0, 5.0)) == "-5 to 5"


def test_an_interval_stays_inside_what_a_figure_can_be():
    found = Estimate(0.97, 0.938, 1.002).within(0.0, 1.0)
    assert estimate_text(found) == "0.97 [0.94, 1.00]"
    assert ends(found.low, found.high, 3) == "0.938 to 1.000"
    assert Estimate(None, undefined="why").within(0, 1) == Estimate(None, undefined="why")


def test_the_opening_of_a_text_is_one_line_and_says_whether_more_comes():
    assert opening(" a\n b ") == "a b"
    assert opening("x" * 100, 10) == "x" * 9 + "…"
    assert opening("a" + " " * 5000 + "b", 10) == "a…"
    assert opening("") == ""


def test_descriptions_that_repeat_or_have_no_letter_tell_nothing_apart():
    assert tell_apart(["Q1", "Q1", "sky", "7", ""]) == [False, False, True, False, False]
