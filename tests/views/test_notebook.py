"""What a notebook shows of rubrics and datasets, and of a run on its way."""

from __future__ import annotations

import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rubricate import (
    Criterion,
    Group,
    RegexCriterion,
    Rubric,
    RubricDataset,
    grade,
    read_run,
)
from rubricate.dataset import MemoryDataset, Sample
from rubricate.rubric import Usage
from rubricate.run import Progress, RunOptions
from rubricate.run._notebook import bar_html, shown_in_notebook

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>&\x1b[31m"


def test_a_rubric_is_a_table_of_its_tree():
    rubric = Rubric(
        [
            Group(name="code", weight=2, criteria=[Criterion(name="runs", requirement="It runs")]),
            RegexCriterion(name="link", pattern="http", requirement="Has a link"),
        ],
        name="essay",
        guidelines="Be fair",
    )
    html = rubric._repr_html_()
    for words in ("Rubric essay: 2 criteria", "Be fair", "<b>code</b>", "It runs", "MET, UNMET"):
        assert words in html
    assert html.index("<b>code</b>") < html.index("<b>runs</b>") < html.index("<b>link</b>")


def test_a_dataset_shows_its_first_items_and_says_how_many_more_there_are():
    rubric = Rubric([Criterion(name="a", requirement="r")])
    dataset = RubricDataset("Why?", rubric, name="essays")
    for number in range(12):
        dataset.add_item(f"Because {number}", id=f"item-{number}")
    html = dataset._repr_html_()
    assert "Dataset essays: 12 items, 0 of them labelled" in html
    assert "Because 9" in html
    assert "Because 10" not in html
    assert "and 2 more items" in html
    assert "<b>a</b>" in html
    assert "0 items" in RubricDataset(None, None)._repr_html_()


def test_samples_are_shown_with_input_and_target():
    html = MemoryDataset([Sample(input="2+2", target=["4", "four"])], name="sums")._repr_html_()
    assert "Dataset sums: 1 samples" in html
    assert "4 four" in html


def test_a_run_from_a_folder_is_named_by_it(tmp_path: Path):
    grade([{"submission": "x"}], rubric=["Says x"], run_dir=tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert repr(run) == f"<FinishedRun: {tmp_path / 'run'}, judged by builtin>"


def test_hostile_texts_are_no_markup():
    rubric = Rubric(
        [Criterion(name=f"n {HOSTILE}", requirement=HOSTILE)], name=HOSTILE, guidelines=HOSTILE
    )
    dataset = RubricDataset(HOSTILE, rubric, name=HOSTILE)
    dataset.add_item(HOSTILE, HOSTILE, id="x" + HOSTILE)
    samples = MemoryDataset([Sample(input=HOSTILE, target=HOSTILE, id=HOSTILE)], name=HOSTILE)
    bar = bar_html(Progress(total=2, trouble=HOSTILE), 1.0)
    for html in (rubric._repr_html_(), dataset._repr_html_(), samples._repr_html_(), bar):
        assert "<script" not in html
        assert "<img" not in html
        assert "&lt;script&gt;" in html


@pytest.fixture
def displayed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What a notebook's display was given, as if this were one."""
    shown: list[str] = []

    def display(html: Any, display_id: bool) -> Any:
        shown.append(html._repr_html_())
        return SimpleNamespace(update=lambda html: shown.append(html._repr_html_()))

    shell = SimpleNamespace(kernel=object())
    module = SimpleNamespace(get_ipython=lambda: shell)
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setitem(sys.modules, "IPython.display", SimpleNamespace(display=display))
    return shown


def tell(options: RunOptions, done: int) -> None:
    options.report_progress(Progress(total=2, done=done, calls=done, usages=[Usage(cost=None)]))


def test_a_run_in_a_notebook_shows_a_bar_that_ends_full(
    displayed: list[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("rubricate.run._notebook.BEGIN", 0.0)
    monkeypatch.setattr("rubricate.run._notebook.REFRESH", 3600.0)
    options = shown_in_notebook(RunOptions())
    for done in (0, 1, 2, 2):
        tell(options, done)
    assert len(displayed) == 2
    assert 'value="0" max="2"' in displayed[0]
    assert 'value="2" max="2"' in displayed[1]
    assert "judged 2 of 2, 0 failed" in displayed[1]


def test_a_quick_run_shows_none(displayed: list[str]):
    options = shown_in_notebook(RunOptions())
    tell(options, 2)
    assert displayed == []


def test_who_listens_is_told_and_no_bar_is_shown(displayed: list[str]):
    told: list[int] = []
    options = RunOptions(on_progress=lambda progress: told.append(progress.done))
    assert shown_in_notebook(options) is options


def test_outside_a_notebook_nothing_is_shown(monkeypatch: pytest.MonkeyPatch):
    options = RunOptions()
    assert shown_in_notebook(options) is options
    terminal = SimpleNamespace(get_ipython=SimpleNamespace)
    monkeypatch.setitem(sys.modules, "IPython", terminal)
    assert shown_in_notebook(options) is options


def test_grade_shows_one_in_a_notebook(displayed: list[str], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("rubricate.run._notebook.BEGIN", 0.0)
    dataset = RubricDataset("Why?", Rubric([Criterion(name="a", requirement="says because")]))
    dataset.add_item("because")
    grade(dataset)
    assert "judged 1 of 1" in displayed[-1]
