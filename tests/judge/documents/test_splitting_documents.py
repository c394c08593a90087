"""Long documents: splitting them, choosing parts, outlines."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rubricate import Criterion, InputError
from rubricate.judge import DocumentJudge, ModelJudge, PythonModel, estimated_tokens, split_document
from rubricate.judge.documents._outline import is_about_the_whole, outline
from rubricate.judge.documents._selector import FEW, Relevance, selected

ROOT = Path(__file__).parents[3]
PROSE = st.text(st.sampled_from("abc deé.,!? 。漢字😀"), min_size=1, max_size=60)
BLOCKS = st.one_of(
    st.builds("{} {}\n".format, st.sampled_from(["#", "##", "###"]), PROSE),
    st.builds("{}\n\n".format, PROSE),
    st.lists(PROSE, min_size=1, max_size=9).map(lambda rows: "".join(f"- {r}\n" for r in rows)),
    st.lists(PROSE, min_size=1, max_size=9).map(
        lambda rows: "\n| a | b |\n|---|---|\n" + "".join(f"| {r} | x |\n" for r in rows) + "\n"
    ),
    st.lists(PROSE, max_size=9).map(lambda rows: "```\n" + "\n".join(rows) + "\n```\n"),
    st.sampled_from(
        ["\r\n", "\r", "```\n", "\x0b", "\u2028", "Title\n===\n", "> quoted\n", "\x00"]
    ),
)
DOCUMENTS = st.lists(BLOCKS, max_size=30).map("".join)


def by_word(text: str) -> int:
    """A tokenizer that does not add up: what stands between white space."""
    return len(text.split())


@given(
    DOCUMENTS, st.integers(8, 80), st.integers(0, 8), st.sampled_from([estimated_tokens, by_word])
)
def test_the_parts_without_what_they_repeat_are_the_document(text, budget, overlap, count):
    chunks = split_document(text, budget=budget, overlap=overlap, count=count)
    assert "".join(text[chunk.own : chunk.end] for chunk in chunks) == text
    assert [chunk.number for chunk in chunks] == list(range(1, len(chunks) + 1))
    for chunk in chunks:
        assert chunk.start <= chunk.own < chunk.end
        assert chunk.tokens == count(text[chunk.start : chunk.end])
        assert chunk.oversized == (chunk.tokens > budget)
        assert count(text[chunk.start : chunk.own]) <= overlap
        if chunk.oversized:  # one block that is not cut: a table or code
            block = text[chunk.own : chunk.end].lstrip()
            assert block.startswith(("|", "```", "    ", "\t", ">", "-")) or "```" in block


def test_real_reports_come_back_byte_for_byte():
    shared = Path(os.environ.get("RUBRICATE_SHARED_DATA", ROOT.parent / "shared" / "data"))
    reports = [*ROOT.glob("examples/reports/agent_responses/*.md"), *shared.glob("long-reports/*")]
    assert len(reports) >= 2
    for path in reports:
        text = path.read_bytes().decode()
        for budget in (200, 1000, 8000):
            chunks = split_document(text, budget=budget, overlap=budget // 20)
            assert "".join(text[chunk.own : chunk.end] for chunk in chunks) == text
            assert all(chunk.tokens <= budget or chunk.oversized for chunk in chunks)


def test_headings_stay_with_what_follows():
    text = "".join(f"## Heading {n}\n\n{'Words. ' * 12}\n\n" for n in range(20))
    for chunk in split_document(text, budget=90):
        assert text[chunk.own : chunk.end].startswith("## Heading")


def test_tables_and_code_are_kept_whole():
    rows = "\n".join(f"| row {n} | {n} |" for n in range(30))
    code = "```python\n" + "\n\n".join(f"line({n})" for n in range(30)) + "\n```"
    prose, table = "Words here. " * 20, f"| a | b |\n|---|---|\n{rows}"
    text = f"# One\n\n{prose}\n\n## Two\n\n{table}\n\n{code}\n\nEnd.\n"
    chunks = split_document(text, budget=60, overlap=0)
    texts = [text[chunk.own : chunk.end] for chunk in chunks]
    assert sum("| row 0 |" in one and "| row 29 |" in one for one in texts) == 1
    assert sum("line(0)" in one and "line(29)" in one for one in texts) == 1
    assert [chunk.oversized for chunk in chunks].count(True) == 2
    assert chunks[-1].path == ("One", "Two")


def test_code_that_is_never_closed_does_not_swallow_the_document():
    text = "# A\n\n```\n" + "A sentence that goes on. " * 200
    assert not any(chunk.oversized for chunk in split_document(text, budget=100))


def test_a_part_repeats_whole_sentences_of_the_one_before():
    text = " ".join(f"Sentence number {n} is here." for n in range(100))
    chunks = split_document(text, budget=60, overlap=20)
    assert len(chunks) > 5
    for chunk in chunks[1:]:
        assert text[chunk.start :].startswith("Sentence number")
        assert chunk.start < chunk.own


PARTS = [f"Section {n} talks of subject{n} and of money." for n in range(30)]


def test_few_parts_and_faults_and_what_holds_throughout_are_asked_of_all_parts():
    many, few = Relevance(PARTS), Relevance(PARTS[:FEW])
    assert selected(few, Criterion(requirement="Talks of subject3")) == list(range(FEW))
    for criterion in (
        Criterion(requirement="Talks of subject3", weight=-1),
        Criterion(requirement="Talks of subject3 throughout"),
        Criterion(requirement="Mentions giraffes"),
    ):
        assert selected(many, criterion) == list(range(30))


def test_of_many_parts_the_best_are_asked_and_no_word_of_the_criterion_is_left_out():
    asked = selected(Relevance(PARTS), Criterion(requirement="Talks of subject3, subject29 money"))
    assert {3, 29} <= set(asked)
    assert len(asked) < 15
    wordy = Criterion(requirement=" ".join(f"subject{n}" for n in range(30)))
    assert selected(Relevance(PARTS), wordy) == list(range(30))


@pytest.mark.parametrize(
    ("requirement", "tags", "whole"),
    [
        ("The report is well-structured", (), True),
        ("Has at least five citations", (), True),
        ("Is no longer than 3000 words long", (), True),
        ("Explains how sovereign funds are financed", (), False),
        ("Explains how sovereign funds are financed", ("whole",), True),
        ("Formatting and Layout: headings, lists and tables help the reader", (), True),
        ("Proposal of a Framework: proposes a concrete structure for evaluation", (), False),
        ("The report is well-structured", ("parts",), False),
    ],
)
def test_criteria_about_the_whole_are_known_by_their_words_or_their_tag(requirement, tags, whole):
    assert is_about_the_whole(Criterion(requirement=requirement, tags=tags)) is whole


def test_an_outline_keeps_to_the_budget_and_has_counts_and_sections():
    text = "\n\n".join(f"# Section {n}\n\n## Sub {n}\n\n{'Some words. ' * 50}" for n in range(60))
    whole = outline(text, budget=10_000, count=estimated_tokens)
    assert "headings 120" in whole
    assert "- Sub 59 (100 words): Some words." in whole
    for budget in (200, 1000, 3000):
        short = outline(text, budget=budget, count=estimated_tokens)
        assert estimated_tokens(short) <= budget
        assert "Section 0" in short


def test_a_budget_too_small_is_refused():
    with pytest.raises(InputError, match="a number from 200, found 10"):
        DocumentJudge(ModelJudge(PythonModel(len)), chunk_tokens=10)


def test_the_models_own_tokenizer_counts_where_it_has_one():
    model = PythonModel(lambda messages: "{}")
    assert not DocumentJudge(ModelJudge(model), chunk_tokens=200).reads_in_parts("word " * 120)
    model.count_tokens = lambda text: 2 * len(text.split())
    assert DocumentJudge(ModelJudge(model), chunk_tokens=200).reads_in_parts("word " * 120)
