"""Labels given on the page of a run are those that every reader of the run sees."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import PythonModel, RubricDataset
from rubricate.analysis import agreement_report, list_runs, read_run, read_summary
from rubricate.errors import InputError
from rubricate.report._labels import RunLabels

RUBRIC: list[dict[str, Any]] = [
    {"name": "fact", "weight": 2, "requirement": "States it"},
    {"name": "boast", "weight": -1, "requirement": "Boasts"},
    {"name": "clear", "weight": 1, "requirement": "Is clear", "scale": [1, 5], "kind": "scale"},
    {
        **{"name": "tone", "weight": 1, "requirement": "Which tone?"},
        "options": [{"label": "cold", "value": 0}, {"label": "warm", "value": 1}],
    },
]
LABELS = {
    "i0": ["MET", "UNMET", "4", "warm"],
    "i1": ["UNMET", "MET", "2", None],
    "i2": ["UNMET", "UNMET", "5", "cold"],
    "i4": ["MET", None, None, "CANNOT_ASSESS"],
}


def dataset(labels: dict[str, list[str | None]], **changes: Any) -> dict[str, Any]:
    items = [
        {
            "id": f"i{n}",
            "submission": f"answer {n}" + " and more" * n,
            "prompt": f"question {n}",
            "ground_truth": labels.get(f"i{n}"),
        }
        for n in range(6)
    ]
    return {"name": "d", "rubric": RUBRIC, "items": items, **changes}


def model(messages: list[Any]) -> dict[str, Any]:
    """Its answers depend on the criterion and on the length of the text alone."""
    text = messages[-1]["content"]
    number = sum(map(ord, text[-400:])) % 3
    for words, answers in (
        ("Is clear", (2, 3, 4)),
        ("Which tone?", ("cold", "warm", "warm")),
    ):
        if words in text:
            name = "score" if words == "Is clear" else "verdict"
            return {"reason": "r", "evidence": [], name: answers[number]}
    return {"reason": "r", "evidence": [], "verdict": ("MET", "UNMET", "MET")[number]}


def graded(folder: Path, data: dict[str, Any], **options: Any) -> Path:
    package.grade(
        RubricDataset.from_dict(data), PythonModel(model, name="m"), run_dir=folder, **options
    )
    return folder


def give(folder: Path, labels: dict[str, list[str | None]]) -> None:
    """Give labels as the page does."""
    run = RunLabels(read_run(folder))
    for item, of_item in labels.items():
        for criterion, label in zip(RUBRIC, of_item, strict=True):
            if label is not None:
                run.decide("ann", item, criterion["name"], label, f"why {item}")


HUMAN = ("human_label", "human_value", "human_score")


@pytest.mark.parametrize(
    "options",
    [{}, {"length_penalty": {"free_budget": 3, "max_cap": 9, "penalty_at_cap": 0.3}}],
    ids=["plain", "length penalty"],
)
def test_they_give_the_figures_of_a_run_that_was_graded_with_them(tmp_path: Path, options: Any):
    before = {"i2": ["MET", "MET", "1", "warm"], "i5": ["MET", "UNMET", "3", "cold"]}
    run = graded(tmp_path / "run", dataset(before), **options)
    give(run, LABELS)
    other = graded(tmp_path / "other", dataset({**before, **LABELS}), **options)
    now, meant = read_run(run), read_run(other)
    assert [[getattr(row, name) for name in HUMAN] for row in now.rows] == [
        [getattr(row, name) for name in HUMAN] for row in meant.rows
    ]
    shown, expected = read_summary(now), read_summary(meant)
    for name in ("agreement", "stratified", "criteria"):
        assert getattr(shown, name) == getattr(expected, name), name
    for name in ("labelled", "judge_mean", "human_mean", "mean"):
        assert getattr(shown.score, name) == pytest.approx(getattr(expected.score, name)), name
    assert shown.page_labels == 13
    a, b = agreement_report(now), agreement_report(meant)
    assert (a.whole[0].value, a.whole[1].value, a.whole[2]) == (
        b.whole[0].value,
        b.whole[1].value,
        b.whole[2],
    )
    (listed,) = list_runs(run).runs
    assert (listed.accuracy, listed.labels) == (expected.agreement.accuracy, expected.agreement.n)


def test_one_that_is_taken_back_leaves_what_the_run_was_graded_with(tmp_path: Path):
    run = graded(tmp_path / "run", dataset(LABELS))
    labels = RunLabels(replace(read_run(run), labels=None))
    assert labels.decide("ann", "i0", "fact", "UNMET", "no")["label"] == "UNMET"
    assert [row.human_label for row in read_run(run).rows[:4]] == ["UNMET", *LABELS["i0"][1:]]
    labels = RunLabels(replace(read_run(run), labels=None))  # the page is opened again
    assert labels.decide("ann", "i0", "fact", None, "")["label"] == "MET"
    assert [row.human_label for row in read_run(run).rows[:4]] == LABELS["i0"]
    assert labels.shown() == {}


def test_commands_say_where_they_are_from(tmp_path: Path, rubricate: Any):
    give(graded(tmp_path / "run", dataset({})), LABELS)
    assert "13 labels were given on the run's page" in rubricate("show", "run").stdout
    agree = " ".join(rubricate("trust", "agree", "run").stdout.split())
    assert "13 labels are from run/labelled.json" in agree
    done = rubricate("export", "run", "-o", "rows.jsonl")
    assert "13 labels are from run/labelled.json" in " ".join(done.stderr.split())
    rows = [json.loads(line) for line in (tmp_path / "rows.jsonl").read_text().splitlines()]
    assert sum(row["human_label"] is not None for row in rows) == 13
    assert {row["human_reason"] for row in rows if row["item"] == "i0"} == {"why i0"}


def test_a_label_of_another_text_is_ignored_and_one_of_another_rubric_refused(tmp_path: Path):
    run = graded(tmp_path / "run", dataset({}))
    give(run, LABELS)
    file = run / "labelled.json"
    data = json.loads(file.read_text())
    data["items"][0]["submission"] = "another answer"
    file.write_text(json.dumps(data))
    now = read_run(run)
    assert all(row.human_label is None for row in now.rows if row.item == "i0")
    assert now.labels is not None
    assert "labels of 1 items are ignored" in now.labels.text
    with pytest.raises(InputError, match="has another text of 'i0'"):
        RunLabels(read_run(run)).decide("ann", "i0", "fact", "MET", "")

    data["rubric"] = data["rubric"][:0:-1]  # without the first, reversed
    for item in data["items"]:
        item["ground_truth"] = item["ground_truth"][:0:-1]
        item["ground_truth_reasons"] = None
        item["adjudications"].pop("fact", None)
        item.get("selection", {}).pop("fact", None)
    file.write_text(json.dumps(data))
    assert [row.human_label for row in read_run(run).rows if row.item == "i2"] == [
        None,
        *LABELS["i2"][1:],
    ]

    data["rubric"][0]["options"][0]["label"] = "icy"
    data["items"][2]["ground_truth"][0] = "icy"
    data["items"][2]["adjudications"]["tone"]["label"] = "icy"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=r"labelled.json: i2: .*'icy'"):
        _ = read_run(run).rows
    file.write_text("{")
    with pytest.raises(InputError, match="labelled"):
        read_run(run)
