"""Every report in every form: the same figures, and no text of somebody else's as markup."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Panel, PythonModel, Rubric, RubricDataset
from rubricate.analysis import (
    ReplayReport,
    Selection,
    agreement_report,
    cascade_report,
    certify,
    compare_runs,
    ppi_report,
    read_run,
    variance_report,
)
from rubricate.stats import Bootstrap
from rubricate.views import Change, Changes, Column, Report, Row, Table, as_text, numbers, say

HOSTILE = "<script>alert(1)</script> | **a** & b"
"""A criterion's name, which every report shows."""
FEW = Bootstrap(resamples=100)


def judge(name: str) -> PythonModel:
    def reply(messages: Any) -> dict[str, str]:
        text = messages[-1]["content"]
        yes = "good" in text or (name == "two" and "so-so" in text)
        return {"reason": "Since <b>so</b>", "verdict": "MET" if yes else "UNMET"}

    return PythonModel(reply, name=name)


@pytest.fixture(scope="module")
def dataset() -> RubricDataset:
    rubric = Rubric(
        [Criterion(name=HOSTILE, requirement="Is right"), Criterion(name="x", requirement="Is x")]
    )
    made = RubricDataset("How <i>fast</i>?", rubric)
    for number in range(6):
        text = f"{('good', 'bad', 'so-so')[number % 3]} <u>{number}</u>"
        label = "MET" if number % 2 else "UNMET"
        made.add_item(text, f"item {number}", ground_truth=[label, label])
    return made


@pytest.fixture(scope="module")
def reports(
    dataset: RubricDataset, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Callable[[], Report]]:
    folder = tmp_path_factory.mktemp("runs")
    judges = [judge("one"), judge("two")]
    alone = rubricate.grade(dataset, judges[0], run_dir=folder / "alone")
    rubricate.grade(dataset, judges[1], run_dir=folder / "other")
    panel = rubricate.grade(dataset, Panel(judges), run_dir=folder / "panel")
    runs = {name: read_run(folder / name) for name in ("alone", "other", "panel")}
    rubric = dataset.rubric
    assert rubric is not None
    pairs = rubricate.compare_pair("good", "bad", rubric=rubric, judge=judges[0])
    return {
        "summary": alone.summary,
        "agreement": lambda: agreement_report(runs["alone"], bootstrap=FEW),
        "comparison": lambda: compare_runs(runs["alone"], runs["other"]),
        "few labels": lambda: ppi_report(runs["alone"], next_items=1),
        "variance": lambda: variance_report([runs["panel"]], bootstrap=FEW),
        "cascade": lambda: cascade_report(runs["panel"], runs["other"]),
        "certificate": lambda: certify(runs["alone"], bootstrap=FEW),
        "replay": lambda: ReplayReport(panel.summary(), panel.summary()),
        "selection": lambda: Selection(runs["panel"], disagreements=True),
        "pairs": lambda: pairs,
        "attacks": lambda: rubricate.redteam(judges[0], limit=1),
        "estimate": lambda: rubricate.estimate(dataset, judges[0]),
    }


EVERY = (
    *("summary", "agreement", "comparison", "few labels", "variance", "cascade", "certificate"),
    *("replay", "selection", "pairs", "attacks", "estimate"),
)


class Tags(HTMLParser):
    """The text of a page, and its tags."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += f"\n{data}"


def figures(text: str) -> set[str]:
    """The numbers of a text, but those of times and folders."""
    kept = [line for line in text.splitlines() if "seconds" not in line and "folder" not in line]
    return set(re.findall(r"\d+\.\d+", "\n".join(kept)))


@pytest.mark.parametrize("name", EVERY)
def test_a_report_has_four_forms_with_the_same_figures(reports, name):
    report = reports[name]()
    told, markdown, page = str(report), report.to_markdown(), Tags(report.to_html())
    assert json.loads(json.dumps(report.to_dict()))
    assert markdown.startswith("# ")
    assert report.title in page.text
    assert figures(told) <= figures(markdown)
    assert figures(told) <= figures(page.text)


@pytest.mark.parametrize("name", EVERY)
def test_text_of_others_is_no_markup_in_any_form(reports, name):
    report = reports[name]()
    for source in (report.to_html(), report._repr_html_()):
        assert not {"script", "b", "i", "img"} & set(Tags(source).tags)
    markdown = report.to_markdown()
    assert "<script>" not in markdown
    assert not [line for line in markdown.splitlines() if "script" in line and "| **a**" in line]


def test_a_page_of_a_report_loads_and_runs_nothing(reports):
    page = reports["agreement"]().to_html()
    assert "default-src 'none'" in page
    assert not {"script", "img", "link", "iframe"} & set(Tags(page).tags)


class Long(Report):
    """Many changes, and a note after them."""

    title = "Long"

    def sections(self) -> Any:
        changed = [Change(f"i{n}", "c", "MET", "UNMET", "why", None, None) for n in range(30)]
        yield Changes("30 answers changed", changed)
        yield say("the note")


def test_a_terminal_shows_the_first_changes_and_documents_show_all_at_the_end():
    told, markdown, page = str(Long()), Long().to_markdown(), Long().to_html()
    assert told.count("MET -> UNMET") == 20
    assert told.endswith("... and 10 more: see --json\nthe note")
    assert markdown.index("the note") < markdown.index("## 30 answers changed")
    assert markdown.count("| MET<br>why | UNMET |") == 30
    assert page.index("the note") < page.index("30 answers changed")
    assert page.count("<tr>") == 31


@pytest.mark.parametrize("name", EVERY)
def test_a_document_says_its_title_once(reports, name):
    report = reports[name]()
    assert f"**{report.title}**" not in report.to_markdown().splitlines()
    assert f"<caption>{report.title}</caption>" not in report.to_html()


@pytest.mark.parametrize("width", [40, 60, 80, 200])
def test_a_table_breaks_no_name_and_leaves_out_no_column(width: int):
    headings = ["criterion", "abstained", "accuracy", "stratified kappa", "with verdict", "n"]
    columns = [Column("name", is_text=True), *numbers(*headings)]
    rows = [Row([f"{name} principle", *map(str, range(100, 106))]) for name in ("no", "energy")]
    text = as_text(lambda: [Table(columns, rows, "Title")], width)
    assert max(map(len, text.splitlines())) <= width
    words = text.split()
    for word in ("abstained", "accuracy", "stratified", "kappa", "with", "verdict", "principle"):
        assert word in words
    assert all(words.count(str(number)) == 2 for number in range(100, 106))
    assert words.count("Title") == 1


def test_what_an_estimate_lacks_is_said_below_its_table_in_every_format(reports):
    for text in (str(report := reports["agreement"]()), report.to_markdown(), report.to_html()):
        flat = " ".join(text.split())
        assert "Without an interval: kappa (all)" in flat
        assert flat.index("Without an interval: kappa (all)") < flat.index("kappa of all")
