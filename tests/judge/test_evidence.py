"""Quotes are found where they stand, and invented ones are not found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate.judge._evidence import locate

TEXT = (
    "The heart pumps “blood” through the body — about five litres a minute.\n"
    "It has four chambers;  two atria and two ventricles. The İstanbul study says so."
)


def found(quote: str, text: str = TEXT) -> str | None:
    evidence = locate(quote, text)
    assert evidence.quote == quote
    if evidence.start is None or evidence.end is None:
        return None
    return text[evidence.start : evidence.end]


@pytest.mark.parametrize(
    ("quote", "passage"),
    [
        ("four chambers", "four chambers"),
        (" four chambers ", "four chambers"),
        ("FOUR chambers; two atria", "four chambers;  two atria"),
        ('pumps "blood" through', "pumps “blood” through"),
        ("the body - about five", "the body — about five"),
        ('"two atria and two ventricles"', "two atria and two ventricles"),
        ("litres a minute. It has", "litres a minute.\nIt has"),
        ("The heart pumps ... four chambers", TEXT[: TEXT.index(";")]),
        ("The heart pumps […] five litres", TEXT[: TEXT.index(" a minute")]),
        ("two atria and two ventricles...", "two atria and two ventricles"),
    ],
)
def test_a_quote_is_found_in_other_spelling(quote: str, passage: str) -> None:
    assert found(quote) == passage


def test_a_quote_with_a_slip_is_found_by_likeness() -> None:
    assert found("It has four chambers, two atria and two ventrikles") is not None


@pytest.mark.parametrize(
    "quote",
    [
        "The liver cleans the blood of the whole body in minutes",
        "liver",
        "",
        "...",
        "four chambers ... The heart pumps",
        "x" * 500,
    ],
)
def test_an_invented_quote_has_no_place(quote: str) -> None:
    assert found(quote) is None


@given(text=st.text(max_size=200), start=st.integers(0, 200), length=st.integers(1, 60))
def test_a_passage_of_the_text_is_always_found(text: str, start: int, length: int) -> None:
    passage = text[start : start + length].strip()
    if passage:
        assert found(passage, text) is not None


@given(quote=st.text(max_size=60), text=st.text(max_size=200))
def test_offsets_stay_within_the_text(quote: str, text: str) -> None:
    evidence = locate(quote, text)
    if evidence.start is not None and evidence.end is not None:
        assert 0 <= evidence.start <= evidence.end <= len(text)
