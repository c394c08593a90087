"""From files to records, case by case: formats, encodings, compression, limits and errors."""

import gzip
from pathlib import Path

import pytest

from rubricate.dialects.inspect_ai.dataset import (
    Dataset,
    csv_dataset,
    file_dataset,
    json_dataset,
)


def inputs(dataset: Dataset) -> list[str]:
    return [sample.input for sample in dataset]


@pytest.fixture
def write(tmp_path: Path):
    """Writes a file; `.gz` names are compressed."""

    def write_(name: str, content: str | bytes) -> Path:
        data = content.encode() if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_


def refused(read, path: Path, *args, **options) -> str:
    """The message with which a file is refused; it begins with the file."""
    with pytest.raises(ValueError) as caught:
        list(read(path, *args, **options))
    message = str(caught.value)
    assert message.startswith(str(path))
    return message


CSV = "input,target,id\none,A,1\ntwo,B,2\n"
JSON = '[{"input": "one", "target": "A"}, {"input": "two", "target": "B"}]'
LINES = '{"input": "one", "target": "A"}\n{"input": "two", "target": "B"}\n'


# --- which reader, name, location


@pytest.mark.parametrize("name", ["a.json.gz", "a.jsonl.gz"])
def test_compression_may_still_be_asked_for_to_be_inferred(write, name):
    path = write(name, JSON if name == "a.json.gz" else LINES)
    assert inputs(json_dataset(str(path), fs_options={"compression": "infer"})) == ["one", "two"]


def test_the_location_is_that_of_the_file_itself(write, tmp_path, monkeypatch):
    write("a.csv", CSV)
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "link.csv").symlink_to(tmp_path / "a.csv")
    monkeypatch.chdir(tmp_path)
    for given in ("sub/../a.csv", f"{tmp_path}//a.csv", "sub/link.csv"):
        assert csv_dataset(given).location == str(tmp_path / "a.csv")


def test_files_are_looked_for_beside_the_link_that_was_given(write, tmp_path):
    write("a.jsonl", '{"input": "x", "files": {"f": "f.txt", "up": "../a.jsonl"}}\n')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "f.txt").write_text("text")
    link = tmp_path / "sub" / "link.jsonl"
    link.symlink_to(tmp_path / "a.jsonl")
    (sample,) = json_dataset(link)
    assert sample.files == {"f": str(tmp_path / "sub" / "f.txt"), "up": str(tmp_path / "a.jsonl")}


def test_two_dots_behind_a_link_lead_where_the_disk_says(write, tmp_path):
    write("a.jsonl", '{"input": "x", "setup": "link/../run.sh"}\n')
    (tmp_path / "far" / "inner").mkdir(parents=True)
    (tmp_path / "far" / "run.sh").write_text("true")
    (tmp_path / "link").symlink_to(tmp_path / "far" / "inner")
    (sample,) = json_dataset(tmp_path / "a.jsonl")
    assert sample.setup == str(tmp_path / "far" / "run.sh")


def test_file_dataset_takes_the_options_of_text_for_every_file(write):
    for name, content in (("a.csv", CSV), ("a.json", JSON), ("a.jsonl", LINES)):
        options = {"limit": 1, "dialect": "excel", "encoding": "utf-8", "name": "mine"}
        dataset = file_dataset(write(name, content), **options)
        assert (dataset.name, inputs(dataset)) == ("mine", ["one"])
    bare = write("b.csv", "one,A\n")
    assert inputs(file_dataset(bare, fieldnames=["input", "target"])) == ["one"]


# --- JSON and JSON Lines


def test_the_record_separator_is_accepted_and_of_twin_keys_the_last_counts(write):
    path = write("a.jsonl", '\x1e{"input": "one", "input": "1"}\n\x1e{"input": "two"}\n')
    assert inputs(json_dataset(path)) == ["1", "two"]


@pytest.mark.parametrize(
    "line", ['{"input": ', "{'input': 'x'}", "null", "5", '"text"', "[1]", '{"input": "a"} {}']
)
def test_a_line_that_is_no_object_is_refused_with_file_and_line(write, line):
    assert "a.jsonl:2" in refused(json_dataset, write("a.jsonl", f'{{"input": "one"}}\n{line}\n'))
    document = '[\n{"input": "one"},\n{"input": }\n]'
    assert "a.json:3" in refused(json_dataset, write("a.json", document))
