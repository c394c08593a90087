"""Quotes are found where they stand, and invented ones are not found."""

from __future__ import annotations

import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rubricate.judge.asking._evidence import locate
from rubricate.rubric import Evidence

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


def test_a_quote_with_a_slip_is_found_by_likeness_and_marked_as_a_paraphrase() -> None:
    slip = locate("It has four chambers, two atria and two ventrikles", TEXT)
    assert slip.start is not None
    assert slip.paraphrase
    assert not locate("it has four chambers; two atria", TEXT).paraphrase


STUDY = (
    "## Results\n\n"
    "- The study had **500 participants** over `12` weeks, and _all_ of them took 5 mg a day.\n"
    "- Side effects were [not severe](https://example.org/a_b) in the group that took the drug.\n"
    "* The trend was p < 0.05; the mass grew by 2*3 kg, as was likely to happen.\n"
    "It lay between 20 °C and 30 °C; of glucose there were 5 mg/dl in the blood.\n"
    "Blutdruck: Die Werte waren im Mittel nicht erhöht, so der Bericht der Klinik."
)


@pytest.mark.parametrize(
    "quote",
    [
        "The study had 500 participants over 12 weeks, and all of them took 5 mg a day.",
        "Results The study had 500 participants",
        "the study had **500 participants** over 12 weeks",
        "Side effects were not severe in the group",
        "a day. Side effects were not severe",
        "in the group that took the drug. The trend was p < 0.05",
        "the mass grew by 2*3 kg",
    ],
)
def test_markdown_that_the_judge_leaves_out_changes_nothing(quote: str) -> None:
    evidence = locate(quote, STUDY)
    assert evidence.start is not None
    assert not evidence.paraphrase


@pytest.mark.parametrize(
    "quote",
    [
        "The study had 900 participants over 12 weeks, and all of them took 5 mg a day.",
        "The study had 50 participants over 12 weeks, and all of them took 5 mg a day.",
        "The study had five participants over 12 weeks, and all of them took 5 mg a day.",
        "The study had 500 participants over 12 weeks, and all of them took 5 g a day.",
        "The study had 500 participants over 12 days, and all of them took 5 mg a day.",
        "The study had 500 participants over 12 weeks, and all of them took 5 a day.",
        "The study had 500 participants over 12 weeks, and none of them took 5 mg a day.",
        "The study had 500 participants over 12 weeks, and not all of them took 5 mg a day.",
        "Side effects were severe in the group that took the drug.",
        "Side effects were not severe in the group that never took the drug.",
        "Side effects weren't not severe in the group that took the drug.",
        "Side effects were not severe in the group that took no drug.",
        "The trend was p > 0.05; the mass grew by 2*3 kg, as was likely to happen.",
        "The trend was p < 0.05; the mass grew by 2*3 kg, as was unlikely to happen.",
        "The trend was p < 0.05; the mass grew by 23 kg, as was likely to happen.",
        "Die Werte waren im Mittel erhöht, so der Bericht der Klinik.",
        "Die Werte waren im Mittel nie erhöht, so der Bericht der Klinik.",
        "00 participants over 12 weeks",
        "It lay between 20 °F and 30 °C; of glucose there were 5 mg/dl in the blood.",
        "It lay between 20 °C and 30 °C; of glucose there were 5 mg/l in the blood.",
        "the study had 5",
    ],
)
def test_a_number_a_unit_or_a_negation_that_was_changed_is_no_quote(quote: str) -> None:
    assert found(quote, STUDY) is None


@pytest.mark.parametrize(
    "quote",
    [
        "The study had 500 participants over 12 weeks, and all of them take 5 mg a day.",
        "The study had 500 participants over 12 week, and all of those took 5 mg a day.",
        "Side effects were not severe in the large group that took the drug.",
    ],
)
def test_other_words_are_a_paraphrase_that_is_found_in_whole_words(quote: str) -> None:
    evidence = locate(quote, STUDY)
    assert evidence.paraphrase
    passage = found(quote, STUDY) or ""
    assert passage.split()[0] == quote.split(maxsplit=1)[0]
    assert passage.split()[-1].rstrip(".") == quote.rsplit(maxsplit=1)[-1].rstrip(".")


def test_words_within_words_are_taken_only_where_they_stand_nowhere_else() -> None:
    assert locate("art", "The heart of the art") == Evidence("art", 17, 20)
    assert locate("likely to fail", "It is unlikely to fail.").invented
    assert locate("took 50 mg", "She took 150 mg, he took 500 mg.").invented
    for part, text in (("50 mg", "150 mg"), ("able", "unable"), ("AA", ":ILAA")):
        assert locate(part, text).invented
    assert not locate("ventri", TEXT).invented


def test_a_verbatim_quote_is_found_where_it_stands_and_not_where_a_sentence_is_like_it() -> None:
    sections = [f"## {n}\n\nIn region {n} the yield was {n * 7} tons a year.\n" for n in range(99)]
    text = "\n".join(sections)
    for number in (1, 5, 55, 98):
        quote = f"In region {number} the yield was {number * 7} tons a year."
        assert locate(quote, text).start == text.index(quote)
        slip = locate(quote.replace("yield was", "yeild was"), text)
        assert slip.paraphrase
        assert slip.start == text.index(quote)
        assert locate(quote.replace("was", "was not"), text).invented


def test_of_several_places_one_in_the_spans_that_are_named_first_is_taken() -> None:
    text = "It is so. Later on: it is so."
    assert locate("it is so", text, [(10, 29)]).start == 20
    assert locate("It is so", text, [(10, 29)]).start == 0  # as it stands comes before
    assert locate("IT IS SO", text, [(10, 29)]).start == 20


@pytest.mark.parametrize(
    ("quote", "text"),
    [
        ("a" * 3000, "a" * 300_000),
        ("b " * 500, "a " * 200_000),
        ("x" * 20, " " * 300_000 + "[" * 100_000 + "](" * 100_000),
        ("* " * 500, "* " * 100_000),
        ("w" + "\u0301" * 100, "w" + "\u0301" * 300_000),
        ("... " * 300, "… " * 100_000),
        ("not 5 " * 100, "5 not " * 100_000),
    ],
)
def test_hostile_texts_take_no_time(quote: str, text: str) -> None:
    started = time.process_time()
    locate(quote, text)
    assert time.process_time() - started < 5


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
@example(text=":ILAA", start=3, length=2)
@example(text="an unable able", start=10, length=4)
def test_a_passage_of_whole_words_of_the_text_is_always_found(
    text: str, start: int, length: int
) -> None:
    end = start + length
    while 0 < start < len(text) and text[start - 1 : start + 1].isalnum():
        start -= 1
    while end < len(text) and text[end - 1 : end + 1].isalnum():
        end += 1
    if passage := text[start:end].strip():
        assert found(passage, text) is not None


@given(quote=st.text(max_size=60), text=st.text(max_size=200))
def test_offsets_stay_within_the_text(quote: str, text: str) -> None:
    evidence = locate(quote, text)
    if evidence.start is not None and evidence.end is not None:
        assert 0 <= evidence.start <= evidence.end <= len(text)
