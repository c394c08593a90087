"""Labels written back into a dataset's file."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from rubricate import RubricDataset
from rubricate.dataset import Adjudication, LabelFile, NewLabel, TableColumns, open_label_file
from rubricate.errors import InputError
from rubricate.rubric import Rubric

DATA: dict[str, Any] = {
    "name": "light",
    "prompt": "Wie schnell ist Licht? – é",
    "rubric": [{"name": "speed", "requirement": "Right"}, {"name": "tone", "requirement": "Kind"}],
    "owner": "kept",
    "items": [
        {
            "id": f"item-{n}",
            "submission": {"thinking": "hm", "output": "quick"},
            "description": "",
            "ground_truth": None,
            "note": n,
        }
        for n in range(3)
    ],
}
WRITERS = {
    "data.json": lambda: json.dumps(DATA, indent=2, ensure_ascii=False) + "\n",
    "line.json": lambda: json.dumps(DATA),
    "data.jsonl": lambda: "".join(
        json.dumps(line, ensure_ascii=False) + "\n"
        for line in ({**DATA, "items": []}, *DATA["items"])
    ),
    "data.yaml": lambda: yaml.safe_dump(DATA, allow_unicode=True, sort_keys=False),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "data.json"
    found.write_text(WRITERS["data.json"](), encoding="utf-8")
    return found


@pytest.mark.parametrize("name", WRITERS)
def test_a_label_changes_nothing_else_in_the_file(tmp_path, name):
    path = tmp_path / name
    path.write_text(WRITERS[name](), encoding="utf-8")
    before = path.read_text("utf-8")
    file = LabelFile(path)
    file.apply([NewLabel("item-1", "ann", "speed", "MET"), NewLabel("item-1", "b", "tone", "MET")])
    found = RubricDataset.from_file(path)
    assert found.items[1].annotations == {"ann": {"speed": "MET"}, "b": {"tone": "MET"}}
    assert found.items[1].extra == {"note": 1}
    assert path.read_text("utf-8").isascii() == before.isascii()
    file.apply([NewLabel("item-1", "ann", "speed", None), NewLabel("item-1", "b", "tone", None)])
    if name == "data.yaml":
        assert yaml.safe_load(path.read_text("utf-8")) == DATA
    else:
        assert path.read_text("utf-8").replace('"items": [], ', "") == before.replace(
            ', "items": []', ""
        )


def test_a_decision_is_the_ground_truth_and_can_be_taken_back(path):
    file = LabelFile(path)
    file.apply([NewLabel("item-0", "ann", "tone", "UNMET")])
    file.apply([Adjudication("item-0", "ann", "tone", "MET", "it is kind")])
    assert file.item("item-0").labels()["tone"].label == "MET"
    again = RubricDataset.from_file(path).items[0]
    assert again.ground_truth == [None, "MET"]
    assert again.adjudications == {
        "tone": {"annotator": "ann", "label": "MET", "reason": "it is kind"}
    }
    assert RubricDataset.from_dict(RubricDataset.from_file(path).to_dict()).items[0] == again
    file.apply([Adjudication("item-0", "ann", "tone", None)])
    assert file.item("item-0").labels()["tone"].label == "UNMET"
    assert RubricDataset.from_file(path).items[0].ground_truth is None


def test_a_decision_takes_the_place_of_the_reason_for_the_label_before(path):
    document = json.loads(path.read_text("utf-8"))
    names = [one["name"] for one in document["rubric"]]
    document["items"][0] |= {
        "ground_truth": ["UNMET"] * len(names),
        "ground_truth_reasons": ["old"] * len(names),
    }
    path.write_text(json.dumps(document), encoding="utf-8")
    LabelFile(path).apply([Adjudication("item-0", "ann", "tone", "MET", "it is kind")])
    labels = RubricDataset.from_file(path).items[0]
    found = dict(zip(names, labels.ground_truth_reasons, strict=True))
    assert found.pop("tone") == "it is kind"
    assert set(found.values()) == {"old"}


def test_people_may_say_of_any_kind_that_it_cannot_be_assessed():
    rubric = Rubric.from_dict(
        [
            {"requirement": "a"},
            {
                "requirement": "b",
                "options": [{"label": "x", "value": 0}, {"label": "y", "value": 1}],
            },
            {"requirement": "c", "kind": "scale"},
            {"requirement": "d", "kind": "metric", "tp_instructions": ["z"]},
        ]
    )
    found = [criterion.verdict("CANNOT_ASSESS") for criterion in rubric]
    assert [(one.status, one.value) for one in found] == [("abstained", None)] * 4


def test_comments_of_a_yaml_file_are_kept_beside_it(tmp_path):
    path = tmp_path / "data.yaml"
    text = "# from the workshop\n" + WRITERS["data.yaml"]()
    path.write_text(text, encoding="utf-8")
    LabelFile(path).apply([NewLabel("item-0", "ann", "tone", "MET")])
    assert (tmp_path / "data.yaml.before-labels").read_text("utf-8") == text


def test_processes_that_write_at_once_lose_no_label(path):
    program = (
        "import sys\n"
        "from rubricate.dataset import LabelFile, NewLabel\n"
        "file = LabelFile(sys.argv[1])\n"
        "for n in range(30):\n"
        "    label = 'MET' if n % 2 else 'UNMET'\n"
        "    file.apply([NewLabel(f'item-{n % 3}', f'{sys.argv[2]}-{n}', 'speed', label)])\n"
    )
    writers = [
        subprocess.Popen([sys.executable, "-c", program, str(path), name]) for name in ("a", "b")
    ]
    assert [writer.wait(timeout=60) for writer in writers] == [0, 0]
    names = [name for item in RubricDataset.from_file(path).items for name in item.annotations]
    assert sorted(names) == sorted(f"{who}-{n}" for who in "ab" for n in range(30))


def test_what_somebody_else_changed_meanwhile_is_taken_up(path):
    file = LabelFile(path)
    other = {**DATA, "items": [{**DATA["items"][2], "note": "edited"}]}
    path.write_text(json.dumps(other), encoding="utf-8")
    file.apply([NewLabel("item-2", "ann", "speed", "MET")])
    found = RubricDataset.from_file(path)
    assert [item.extra["note"] for item in found.items] == ["edited"]
    with pytest.raises(InputError, match="there is no item 'item-0'"):
        file.apply([NewLabel("item-0", "ann", "speed", "MET")])


def test_a_file_that_cannot_be_written_is_refused_at_once(path, monkeypatch):
    monkeypatch.setattr("os.access", lambda *_: False)
    with pytest.raises(InputError, match="cannot be written: labels go back into it"):
        LabelFile(path)


def test_labels_of_a_table_go_into_a_dataset_beside_it(tmp_path: Path):
    table = tmp_path / "answers.csv"
    table.write_text("qid,answer\n1,quick\n2,slow\n")
    rubric = Rubric.from_dict(DATA["rubric"])
    columns = TableColumns.parse("submission=answer,id=qid")
    file = open_label_file(str(table), rubric, columns)
    assert file.path == tmp_path / "answers.labelled.json"
    file.apply([NewLabel("2", "ann", "speed", "MET")])
    table.write_text("qid,answer\n1,quick\n2,slow\n3,new\n")
    again = open_label_file(str(table), rubric, columns)  # goes on, with the new row
    assert [entry.id for entry in again.items] == ["1", "2", "3"]
    assert again.item("2").data.annotations == {"ann": {"speed": "MET"}}
    (tmp_path / "other.csv").write_text("qid,answer\n")
    with pytest.raises(InputError, match="a table has no rubric: give --rubric"):
        open_label_file(str(tmp_path / "other.csv"))
