"""`hf_dataset` on local folders and builders; `parquet_dataset`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rubricate import FieldSpec, InputError, Sample, hf_dataset, parquet_dataset

pytestmark = pytest.mark.filterwarnings("ignore")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    datasets = pytest.importorskip("datasets")
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    (tmp_path / "data").mkdir()
    return tmp_path / "data"


def write(folder: Path, count: int) -> Path:
    path = folder / "train.jsonl"
    rows = ({"input": f"q{n}", "target": str(n), "id": n} for n in range(count))
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def test_a_local_folder_is_read_and_its_changes_are_noticed(folder, capfd):
    write(folder, 10)
    dataset = hf_dataset(str(folder), "train")
    assert dataset[3] == Sample("q3", target="3", id=3)
    assert (dataset.name, dataset.location) == ("data", str(folder))
    write(folder, 1)
    assert len(hf_dataset(str(folder), "train")) == 1
    assert capfd.readouterr().out == ""


def test_a_builder_is_shuffled_as_datasets_does_and_ids_follow_the_record(folder):
    import datasets

    path = str(write(folder, 10))
    expected = datasets.load_dataset("json", data_files=path, split="train").shuffle(seed=3)
    dataset = hf_dataset("json", "train", data_files=path, shuffle=True, seed=3, auto_id=True)
    assert [s.target for s in dataset] == list(expected["target"])
    assert [s.id for s in dataset] == [int(s.target) + 1 for s in dataset]
    assert dataset.shuffled


def several(record: dict) -> list[Sample]:
    """As many samples as the record's number says, of 3."""
    return [Sample(f"{record['input']}-{n}") for n in range(record["id"] % 3)]


@pytest.mark.parametrize("limit", [None, 4])
def test_ids_follow_the_record_where_it_gives_several_samples(folder, limit):
    path = str(write(folder, 10))
    options = {"data_files": path, "sample_fields": several, "auto_id": True}
    expected = {s.input: s.id for s in hf_dataset("json", "train", **options)}
    assert list(expected.values()) == [2, 3, "3-2", 5, 6, "6-2", 8, 9, "9-2"]
    found = hf_dataset("json", "train", shuffle=3, limit=limit, **options)
    assert found.shuffled
    assert {s.input: s.id for s in found}.items() <= expected.items()
    plain = hf_dataset("json", "train", data_files=path, shuffle=3, limit=limit)
    assert [s.input for s in found] == [
        f"{s.input}-{n}" for s in plain for n in range(int(s.target) % 3)
    ]


def test_ids_follow_the_record_where_some_are_skipped(folder):
    path = write(folder, 6)
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    rows[1]["input"] = rows[4]["input"] = ""
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options = {"data_files": str(path), "auto_id": True, "on_error": "skip"}
    expected = {s.input: s.id for s in hf_dataset("json", "train", **options)}
    assert expected == {"q0": 1, "q2": 3, "q3": 4, "q5": 6}
    found = hf_dataset("json", "train", shuffle=True, seed=1, **options)
    assert {s.input: s.id for s in found} == expected
    assert [s.input for s in found] != list(expected)
    assert sorted(one.record for one in found.skipped) == [2, 5]


def test_ids_of_a_shuffled_stream_follow_the_record(folder):
    options = {"data_files": str(write(folder, 10)), "streaming": True, "auto_id": True}
    found = hf_dataset("json", "train", shuffle=3, **options)
    assert [s.id for s in found] == [int(s.target) + 1 for s in found]
    assert [s.id for s in found] != sorted(s.id for s in found)
    found = hf_dataset("json", "train", shuffle=3, sample_fields=several, **options)
    assert sorted(map(str, (s.id for s in found)))[:3] == ["2", "3", "3-2"]


def test_a_limit_above_the_length_is_the_whole(folder):
    path = str(write(folder, 4))
    assert len(hf_dataset("json", "train", data_files=path, limit=98)) == 4
    assert len(hf_dataset("json", "train", data_files=path, limit=2)) == 2
    assert len(hf_dataset("json", "train", data_files=path, limit=2, streaming=True)) == 2


def test_what_cannot_be_loaded_is_one_clear_error(folder):
    write(folder, 1)
    with pytest.raises(InputError, match="split"):
        hf_dataset(str(folder), None)
    with pytest.raises(InputError, match="test"):
        hf_dataset(str(folder), "test")


@pytest.mark.parametrize(
    ("call", "extra"),
    [("hf_dataset('x', 'train')", "hf"), ("parquet_dataset('x.parquet')", "parquet")],
)
def test_without_its_extra_a_reader_says_what_to_install(tmp_path, call, extra):
    (tmp_path / "x.parquet").touch()
    program = (
        "import sys; sys.modules['datasets'] = sys.modules['pyarrow'] = None\n"
        f"from rubricate import hf_dataset, parquet_dataset; {call}"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=dict(os.environ),
    )
    assert f"[{extra}]" in done.stderr.splitlines()[-1]


def test_parquet_rows_become_samples(tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    columns = {
        "input": ["a", "b"],
        "target": ["x", None],
        "choices": [["p", "q"], None],
        "score": [0.5, float("nan")],
    }
    path = tmp_path / "a.parquet"
    parquet.write_table(arrow.table(columns), path)
    dataset = parquet_dataset(path, FieldSpec(metadata=["score"]), auto_id=True)
    assert [s.target for s in dataset] == ["x", ""]
    assert [s.choices for s in dataset] == [["p", "q"], None]
    assert [s.metadata for s in dataset] == [{"score": 0.5}, {"score": None}]
    assert [s.id for s in dataset] == [1, 2]
    assert len(parquet_dataset(path, limit=1)) == 1
    path.write_text("no")
    with pytest.raises(InputError, match=r"a\.parquet: is not readable Parquet"):
        parquet_dataset(path)


class _Busy(OSError):
    """As the Hub's errors: with the response."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.response = type("Response", (), {"status_code": status})()


@pytest.mark.parametrize(
    ("error", "retry", "tries"),
    [
        (ConnectionError("no way"), True, 4),
        (TimeoutError("too late"), True, 4),
        (_Busy(429), True, 4),
        (_Busy(503), True, 4),
        (_Busy(404), True, 1),
        (FileNotFoundError("no such dataset"), True, 1),
        (ConnectionError("no way"), False, 1),
    ],
)
def test_the_hub_is_asked_again_where_it_may_answer_soon(folder, monkeypatch, error, retry, tries):
    import datasets
    import huggingface_hub.constants

    waits: list[float] = []
    asked: list[dict] = []

    def load_dataset(**options):
        asked.append(options)
        raise error

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("rubricate.dataset.samples._hf.time.sleep", waits.append)
    with pytest.raises(InputError, match="cannot be loaded"):
        hf_dataset("some/where", "train", retry=retry)
    assert len(asked) == tries
    assert waits == [1.0, 2.0, 4.0][: tries - 1]


def test_offline_nobody_waits_for_the_hub(folder, monkeypatch):
    import datasets
    import huggingface_hub.constants

    def load_dataset(**options):
        raise ConnectionError("offline")

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(datasets, "load_dataset", load_dataset)
    monkeypatch.setattr("rubricate.dataset.samples._hf.time.sleep", lambda wait: 1 / 0)
    with pytest.raises(InputError, match="cannot be loaded"):
        hf_dataset("some/where", "train")


@pytest.mark.parametrize("error", [ImportError("no 'socksio'"), KeyError("x"), OSError("refused")])
def test_whatever_the_hub_client_raises_is_one_line(error, monkeypatch):
    datasets = pytest.importorskip("datasets")

    def refuse(**options: object) -> None:
        raise error

    monkeypatch.setattr(datasets, "load_dataset", refuse)
    with pytest.raises(InputError, match=f"cannot be loaded: {type(error).__name__}"):
        hf_dataset("owner/name", "train", retry=False)
