"""Small things that files of strangers have: null cells, short rows, home folders, addresses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rubricate import InputError, Rubric
from rubricate.analysis import read_run
from rubricate.dataset import csv_dataset, json_dataset, read_document_file, read_table


@pytest.mark.parametrize("field", ["metadata", "files", "sandbox", "choices"])
@pytest.mark.parametrize("cell", ["null", " null ", ""])
def test_a_null_in_a_field_that_holds_json_is_no_value(tmp_path, field, cell):
    path = tmp_path / "a.csv"
    path.write_text(f"input,target,{field}\nq,null,{cell}\n")
    (sample,) = csv_dataset(path)
    assert getattr(sample, field) is None
    assert sample.target == "null"
    lines = tmp_path / "a.jsonl"
    lines.write_text(json.dumps({"input": "q", field: cell}) + "\n")
    (sample,) = json_dataset(lines)
    assert getattr(sample, field) is None


@pytest.mark.parametrize("row", [",", " ,", ",,", "\t,  "])
def test_a_short_blank_row_is_ragged(tmp_path, row):
    path = tmp_path / "a.csv"
    path.write_text(f"input,target,id,note\na,b,1,\n{row}\n")
    with pytest.raises(
        InputError, match=r"a\.csv:3: record 2: the row has \d cells and the header 4"
    ):
        csv_dataset(path)
    found = csv_dataset(path, on_error="skip")
    assert (len(found), [one.line for one in found.skipped]) == (1, [3])


@pytest.mark.parametrize("row", ["", "   ", ",,,", " , ,\t, ", ",,,,,"])
def test_a_blank_row_is_left_out(tmp_path, row):
    path = tmp_path / "a.csv"
    path.write_text(f"input,target,id,note\na,b,1,\n{row}\nc,d,2,x\n{row}\n")
    assert [sample.id for sample in csv_dataset(path)] == ["1", "2"]


@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('{"input": "a"', 14),
        ('{"input": ', 11),
        ('  {"input": 3,, }', 15),
        ('\x1e{"input": }', 12),
        ('{"input": "é", x}', 16),
    ],
)
def test_the_column_of_a_broken_line_is_where_it_breaks(tmp_path, line, column, end):
    path = tmp_path / "a.jsonl"
    path.write_bytes(f'{{"input": "z"}}\n{line}{end}'.encode())
    with pytest.raises(InputError) as caught:
        json_dataset(path)
    assert (caught.value.line, caught.value.column) == (2, column)


def test_an_image_at_a_file_address_keeps_it(tmp_path):
    (tmp_path / "an image.png").write_bytes(b"")
    there = tmp_path / "an image.png"
    values = {
        there.as_uri(): there.as_uri(),
        f"file://localhost{tmp_path}/an%20image.png": f"file://localhost{tmp_path}/an%20image.png",
        "an image.png": str(there),
        "file:///nowhere/b.png": "file:///nowhere/b.png",
        "file://an image.png": "file://an image.png",
        "https://host.example/c.png": "https://host.example/c.png",
    }
    content = [{"type": "image", "image": value} for value in values]
    path = tmp_path / "a b.jsonl"
    path.write_text(json.dumps({"input": [{"role": "user", "content": content}]}) + "\n")
    for given in (path, path.as_uri()):
        (sample,) = json_dataset(given)
        assert [part.image for part in sample.input[0].content] == list(values.values())


def test_the_home_folder_is_written_as_a_tilde(tmp_path, monkeypatch, rubricate):
    monkeypatch.setenv("HOME", str(tmp_path))
    rubric = [{"name": "words", "requirement": "Has words"}]
    (tmp_path / "rubric.json").write_text(json.dumps(rubric))
    (tmp_path / "a.csv").write_text("submission,id\nsome words,1\n")
    (tmp_path / "report.md").write_text("text")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert Rubric.from_file("~/rubric.json").names == ["words"]
    assert read_document_file("~/report.md") == "text"
    assert read_table("~/a.csv", Rubric.from_file(Path("~/rubric.json"))).survey().items == 1
    (elsewhere / "run.yaml").write_text(
        "data: ~/a.csv\nrubric: ~/rubric.json\nrun_dir: ~/of-file\n"
    )
    told = ("grade", "--config=elsewhere/run.yaml", "--quiet")
    assert rubricate(*told, "--run-dir=~/named", "--cache=~/cache").returncode == 0
    assert rubricate(*told).returncode == 0
    for name in ("named", "of-file"):
        assert read_run(f"~/{name}").path == tmp_path / name
    assert (tmp_path / "cache/cache.sqlite").exists()
    out = rubricate("export", "~/named", "--output=~/out.csv")
    assert out.returncode == 0, out.stderr
    assert (tmp_path / "out.csv").exists()
    page = rubricate("report", "~/named", "--output=~/page.html")
    assert page.returncode == 0, page.stderr
    assert (tmp_path / "page.html").exists()
    assert not (tmp_path / "~").exists()
    assert not (elsewhere / "~").exists()
