"""Verdicts as tables: data frames and files, from a result and from a run folder."""

from __future__ import annotations

import csv
import json
import sys
import tracemalloc
from pathlib import Path
from typing import Any

import orjson
import pandas
import polars
import pytest
from pyarrow import parquet

import rubricate
from rubricate import Criterion, FinishedRun, InputError, Result, Rubric, RubricDataset
from rubricate.analysis import spreadsheet_cell, table_columns
from rubricate.errors import MissingExtraError

SCORE = [
    *("item_score.value", "item_score.lowest", "item_score.highest", "item_score.raw"),
    *("item_score.coverage", "item_score.faults_only", "item_score.penalty"),
    *("item_score.before_penalty", "human_score"),
]
USAGE = [
    *("usage.requests", "usage.input_tokens", "usage.cached_tokens", "usage.output_tokens"),
    *("usage.cost", "usage.seconds", "usage.reasoning_tokens", "usage.estimated_cost"),
]


def judge(messages: Any) -> Any:
    prompt = messages[-1]["content"]
    if "broken" in prompt:
        raise ValueError("no")
    verdict = "UNMET" if "wrong" in prompt else "MET"
    return {"reason": f"={verdict}(1)", "verdict": verdict}


def dataset() -> RubricDataset:
    rubric = Rubric(
        [
            Criterion(name="facts", weight=2.0, requirement="Says facts"),
            Criterion(name="-boasting", weight=-1.0, requirement="Boasts"),
        ]
    )
    data = RubricDataset("How fast is light?", rubric, name="light")
    data.add_item("right", "@good", ["MET", "MET"], id="one")
    data.add_item("wrong", "bad", ["UNMET", None], id="two")
    data.add_item("broken", "worse", id="three")
    return data


@pytest.fixture(params=["result", "folder"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Result | FinishedRun:
    """The same verdicts, from memory and read back."""
    result = rubricate.grade(dataset(), judge, run_dir=tmp_path / "run")
    return result if request.param == "result" else rubricate.read_run(tmp_path / "run")


def test_the_columns_of_a_table_by_verdict_stay(run):
    assert list(run.to_pandas().columns) == [
        *("item", "description", "prompt", "submission", "reference"),
        *("criterion", "weight", "status", "label", "value"),
        *("human_label", "human_value", "human_reason", "human_selection"),
        *("probability", "reason", "evidence"),
        *(*USAGE, "error.kind", "error.message", "judge", "resumed", "detail", "tied", "order"),
        *("stage", *SCORE),
    ]


def test_the_columns_of_a_table_by_item_stay(run):
    assert list(run.to_pandas(by="item").columns) == [
        *(
            "item",
            "description",
            "prompt",
            "submission",
            "reference",
            "tags",
            *SCORE,
            "judged",
            "abstained",
            "not_applicable",
        ),
        *("failed", "skipped", "not_run"),
        *(*USAGE, "verdict.facts", "value.facts", "human_label.facts"),
        *("verdict.-boasting", "value.-boasting", "human_label.-boasting"),
    ]


def test_a_table_has_the_texts_that_were_judged_unless_they_are_left_out(run):
    for by in ("verdict", "item"):
        frame, short = run.to_pandas(by=by), run.to_polars(by=by, texts=False)
        assert frame["prompt"].unique().tolist() == ["How fast is light?"]
        assert frame["submission"].unique().tolist() == ["right", "wrong", "broken"]
        assert frame["reference"].isna().all()
        texts = {"prompt", "submission", "reference"}
        assert short.columns == [name for name in frame if name not in texts]


def test_every_column_is_documented():
    page = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text("utf-8")
    for name in (*table_columns("verdict"), *table_columns("item")):
        assert f"`{name}`" in page, name


def test_a_row_by_item_has_each_criterions_verdict_and_no_number_for_a_failure(run):
    one, two, three = run.to_pandas(by="item").to_dict("records")
    assert (one["verdict.facts"], one["value.facts"], one["human_label.facts"]) == (
        *("MET", 1.0),
        "MET",
    )
    assert (one["item_score.value"], one["human_score"]) == (0.5, 0.5)
    assert (two["verdict.-boasting"], two["value.-boasting"]) == ("UNMET", 0.0)
    assert (three["verdict.facts"], three["failed"]) == ("failed", 2)
    assert pandas.isna(three["value.facts"])
    assert pandas.isna(three["item_score.value"])


def test_polars_and_pandas_say_the_same(run):
    for by in ("verdict", "item"):
        theirs = run.to_polars(by=by)
        assert theirs.columns == list(run.to_pandas(by=by).columns)
        assert theirs["item_score.value"].dtype == polars.Float64
    assert run.to_polars()["value"].to_list() == [1.0, 1.0, 0.0, 0.0, None, None]


@pytest.mark.parametrize("by", ["verdict", "item"])
def test_files_hold_what_a_data_frame_holds(run, by, tmp_path):
    frame = run.to_polars(by=by)
    for name in ("t.csv", "t.jsonl", "t.parquet"):
        write = getattr(run, f"to_{name[2:]}")
        assert write(tmp_path / name, by=by) == len(frame)
    with (tmp_path / "t.csv").open(newline="", encoding="utf-8") as file:
        header, *cells = csv.reader(file)
    assert header == frame.columns
    values = header.index("item_score.value")
    assert [row[values] for row in cells] == [
        "" if value is None else str(value) for value in frame["item_score.value"]
    ]
    lines = [orjson.loads(line) for line in (tmp_path / "t.jsonl").read_bytes().splitlines()]
    assert [list(line) for line in lines] == [frame.columns] * len(frame)
    assert polars.from_arrow(parquet.read_table(tmp_path / "t.parquet")).equals(frame)


def test_a_result_and_its_folder_give_the_same_file(tmp_path):
    result = rubricate.grade(dataset(), judge, run_dir=tmp_path / "run")
    for by in ("verdict", "item"):
        result.to_csv(tmp_path / "a.csv", by=by)
        rubricate.read_run(tmp_path / "run").to_csv(tmp_path / "b.csv", by=by)
        assert (tmp_path / "a.csv").read_bytes() == (tmp_path / "b.csv").read_bytes()


def test_formulas_are_neutralised_unless_cells_are_to_be_raw_and_numbers_are_left(run, tmp_path):
    run.to_csv(tmp_path / "plain.csv", raw_cells=True)
    run.to_csv(tmp_path / "safe.csv")
    with (tmp_path / "plain.csv").open(newline="") as file:
        plain = list(csv.DictReader(file))
    with (tmp_path / "safe.csv").open(newline="") as file:
        safe = list(csv.DictReader(file))
    assert plain[0]["reason"] == "=MET(1)"
    assert safe[0]["reason"] == "'=MET(1)"
    assert (safe[0]["description"], safe[1]["criterion"]) == ("'@good", "'-boasting")
    assert safe[1]["weight"] == plain[1]["weight"] == "-1.0"
    assert safe[2]["description"] == "bad"


@pytest.mark.parametrize("begin", ["=", "+", "-", "@", "\t", "\r", "\n", "＝"])
def test_every_beginning_that_a_spreadsheet_runs_is_neutralised(begin, tmp_path):
    data = RubricDataset("p", Rubric([Criterion(name="a", requirement="r")]))
    data.add_item("text", f"{begin}1+1")
    rubricate.grade(data, judge).to_csv(tmp_path / "t.csv")
    with (tmp_path / "t.csv").open(newline="") as file:
        (row,) = csv.DictReader(file)
    assert row["description"] == f"'{begin}1+1"


@pytest.mark.parametrize("text", ["-1", "+3.5", "-.5e-3", "1", "a=b", "'=1", "", "(-1)"])
def test_a_number_as_text_and_what_no_spreadsheet_runs_stays(text):
    assert spreadsheet_cell(text) == text


@pytest.mark.parametrize("text", ["-1+1", "+49 30 1234", "-", "=1", "--1", "-1\n=2", "-٣"])
def test_what_only_begins_as_a_number_is_neutralised(text):
    assert spreadsheet_cell(text) == f"'{text}"


def test_a_panels_judges_have_columns_of_their_own(tmp_path):
    result = rubricate.grade(dataset(), [judge, "builtin"], run_dir=tmp_path / "run")
    frame = rubricate.read_run(tmp_path / "run").to_pandas()
    assert frame.columns.equals(result.to_pandas().columns)
    found = [name for name in frame.columns if name.startswith(("votes.", "judge_scores."))]
    assert [name.partition(".")[0] for name in found] == ["judge_scores"] * 2 + ["votes"] * 2
    assert set(frame["votes.builtin"]) == {"UNMET", "abstained"}
    by_item = result.to_pandas(by="item")
    assert "judge_scores.builtin" in by_item
    assert not any(name.startswith("votes.") for name in by_item)


def test_annotators_and_metadata_have_columns_of_their_own(tmp_path):
    data = dataset()
    annotated = {"ann": {"facts": "MET"}, "bo": {"facts": "UNMET"}}
    for item, length in zip(data, (3, 4.5, 7), strict=True):
        item.metadata |= {"length": length, "source": "web" if length > 4 else 5}
    data[0].annotations = annotated
    result = rubricate.grade(data, judge, run_dir=tmp_path / "run")
    for table in (result, rubricate.read_run(tmp_path / "run")):
        frame = table.to_polars()
        assert frame["annotations.bo"].to_list() == ["UNMET", *[None] * 5]
        assert frame["metadata.length"].to_list() == [3.0, 3.0, 4.5, 4.5, 7.0, 7.0]
        assert table.to_polars(by="item")["metadata.source"].to_list() == ["5", "web", "web"]


def test_a_misspelt_by_gets_a_suggestion(run, tmp_path):
    with pytest.raises(InputError, match="found 'items'; did you mean 'item'"):
        run.to_csv(tmp_path / "t.csv", by="items")


def test_a_missing_package_is_one_line_that_says_how_to_install(run, tmp_path, monkeypatch):
    for package, call, extra in (
        ("polars", run.to_polars, "polars"),
        ("pandas", run.to_pandas, "pandas"),
        ("pyarrow", lambda: run.to_parquet(tmp_path / "t.parquet"), "parquet"),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, package, None)
            with pytest.raises(MissingExtraError, match=rf"pip install .*\[{extra}\]"):
                call()


@pytest.mark.parametrize(
    ("form", "verdicts", "most"),
    [("to_csv", 2_000, 1e6), ("to_jsonl", 2_000, 1e6), ("to_parquet", 10_000, 18e6)],
)
def test_a_large_run_is_written_without_holding_its_rows(tmp_path, form, verdicts, most):
    """Thousands of verdicts of 2 kB pass through a few, and Parquet's through a group of rows."""
    rubricate.grade(dataset(), judge, run_dir=tmp_path / "run", limit=1)
    lines = tmp_path / "run" / "results.jsonl"
    row = json.loads(lines.read_text().splitlines()[0])
    row["reason"] = "because " * 250
    texts = lines.with_name("items.jsonl")
    item = json.loads(texts.read_text())
    with lines.open("w") as file, texts.open("w") as items:
        for number in range(verdicts):
            file.write(json.dumps({**row, "item": f"item-{number}"}) + "\n")
            items.write(json.dumps({**item, "item": f"item-{number}"}) + "\n")
    write = getattr(rubricate.read_run(tmp_path / "run"), form)
    write(tmp_path / "t")  # what reads rows is built once
    tracemalloc.start()
    try:
        assert write(tmp_path / "t") == verdicts
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < most


def test_option_output_by_and_raw_cells_of_export(rubricate, tmp_path, write_dataset):
    rubricate("grade", write_dataset(), "--run-dir", "run")
    done = rubricate("export", "run", "-o", "v.csv")
    assert done.stdout == f"v.csv: 4 rows, {len(table_columns('verdict'))} columns\n"
    assert rubricate("export", "run", "-o", "v.jsonl").returncode == 0
    told = json.loads(
        rubricate("export", "run", "-o", "i.parquet", "--by", "item", "--json").stdout
    )
    assert (told["file"], told["rows"]) == ("i.parquet", 2)
    assert "verdict.speed" in told["columns"]
    assert "verdict.speed" in parquet.read_table(tmp_path / "i.parquet").column_names
    assert rubricate("export", "run", "-o", "s.csv", "--raw-cells").returncode == 0
    assert rubricate("export", "run", "-o", "t.csv", "--no-texts").returncode == 0
    headings = [(tmp_path / name).read_text().splitlines()[0] for name in ("s.csv", "t.csv")]
    assert headings[0].replace("prompt,submission,reference,", "") == headings[1]


def test_export_refuses_what_it_cannot_write(rubricate, tmp_path, write_dataset):
    rubricate("grade", write_dataset(), "--run-dir", "run")
    assert (
        "must end in one of .csv, .jsonl, .parquet"
        in rubricate(*("export", "run", "-o", "t.xlsx")).stderr
    )
    assert (
        "--raw-cells is for .csv"
        in rubricate(*("export", "run", "-o", "t.jsonl", "--raw-cells")).stderr
    )
    assert (
        "did you mean 'item'" in rubricate(*("export", "run", "-o", "t.csv", "--by", "itm")).stderr
    )
    assert "no such run folder" in rubricate("export", "nowhere", "-o", "t.csv").stderr
