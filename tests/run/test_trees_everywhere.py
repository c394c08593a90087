"""A tree goes wherever a list of criteria does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    DataItem,
    Group,
    Panel,
    PythonModel,
    RewardFunction,
    Rubric,
    RubricDataset,
    read_run,
)
from rubricate.analysis import compare_runs
from rubricate.dataset import LabelFile
from rubricate.labelling import LabelSession
from rubricate.rubric import flat_weights

HOSTILE = "</script><b>\x1b[31m{{7*7}}"


def criterion(name: str, weight: float = 1.0) -> Criterion:
    return Criterion(name=name, requirement=f"Says {name}.", weight=weight)


TREE = Rubric(
    [
        Group(
            name="code",
            weight=3,
            criteria=[
                criterion("train", 2),
                Group(name="tests", criteria=[criterion("unit"), criterion("leak", -1)]),
            ],
        ),
        criterion("readme"),
    ],
    name="tree",
)


def says(messages: Any) -> dict[str, Any]:
    prompt = messages[1]["content"]
    submission, asked = prompt.split("</submission-")[:2]
    name = asked.split("Says ")[1].split(".")[0]
    verdict = "MET" if name in submission else "UNMET"
    return {"reason": "r", "evidence": [], "verdict": verdict}


def judge(name: str = "m") -> PythonModel:
    return PythonModel(says, name=name)


def dataset(rubric: Rubric = TREE) -> RubricDataset:
    texts = ("train unit readme", "train unit leak", "nothing")
    labels = [["MET", "MET", "UNMET", "MET"], ["MET", "UNMET", "UNMET", "UNMET"], ["UNMET"] * 4]
    items = [
        DataItem(text, id=str(n), ground_truth=list(labels[n])) for n, text in enumerate(texts)
    ]
    return RubricDataset("Write.", rubric, items)


@pytest.mark.parametrize("suffix", ["json", "yaml", "jsonl"])
def test_from_a_file_through_a_run_to_its_rows_and_back(suffix: str, tmp_path: Path) -> None:
    path = tmp_path / f"data.{suffix}"
    dataset().to_file(path)
    run = tmp_path / "run"
    result = rubricate.grade(RubricDataset.from_file(path), judge(), run_dir=run)
    assert [item.score.value for item in result] == pytest.approx([1.0, 0.5, 0.0])
    assert [item.groups["tests"].value for item in result] == [1.0, 0.0, 0.0]
    assert result.items[1].human_groups["code"].value == pytest.approx(2 / 3)
    rows = [json.loads(line) for line in (run / "results.jsonl").read_text().splitlines()]
    assert ["groups" in row for row in rows] == [True, False, False, False] * 3
    assert rows[4]["groups"] == {
        "code": {
            "value": pytest.approx(2 / 3),
            "lowest": pytest.approx(2 / 3),
            "highest": pytest.approx(2 / 3),
            "coverage": 1.0,
            "human": pytest.approx(2 / 3),
        },
        "tests": {"value": 0.0, "lowest": 0.0, "highest": 0.0, "coverage": 1.0, "human": 0.0},
    }
    read = read_run(run)
    assert isinstance(read.rubrics, Rubric)
    assert read.rubrics.to_dict() == TREE.to_dict()
    assert read.human_scores == {item.id: item.human_score.value for item in result}  # type: ignore[union-attr]
    again = rubricate.grade(RubricDataset.from_file(path), judge(), run_dir=run)
    assert (again.calls, again.resumed) == (0, 12)


def test_a_tree_of_an_items_own_and_the_same_criteria_as_a_list_share_their_answers(
    tmp_path: Path,
) -> None:
    rubricate.grade(dataset(Rubric(TREE.criteria)), judge(), run_dir=tmp_path)
    own = dataset()
    for item in own.items:
        item.rubric = TREE
    result = rubricate.grade(own, judge(), run_dir=tmp_path)
    assert result.calls == 0
    assert result.items[1].score.value == pytest.approx(0.5)


def test_in_a_panel_and_in_a_cascade() -> None:
    panel = Panel([judge("a"), judge("b"), PythonModel(lambda _: "?", name="mute")])
    for judges in (panel, Cascade([panel, judge("c")], 0.9)):
        result = rubricate.grade(dataset(), judges)
        assert [item.groups["code"].value for item in result] == pytest.approx([1.0, 2 / 3, 0.0])


def test_runs_compare_by_the_second_ones_tree(tmp_path: Path) -> None:
    rubricate.grade(dataset(Rubric(TREE.criteria)), judge(), run_dir=tmp_path / "a")
    rubricate.grade(dataset(), judge(), run_dir=tmp_path / "b")
    report = compare_runs(read_run(tmp_path / "a"), read_run(tmp_path / "b"))
    assert report.score is not None
    assert report.score.mean_a == report.score.mean_b == pytest.approx(0.5)


def test_a_reward_has_the_values_of_groups() -> None:
    told: dict[str, float] = {}
    with RewardFunction(TREE, judge()) as reward:
        texts = ["train unit readme", "train unit leak"]
        batch = reward.score_batch(texts)
        reward(texts, log_metric=told.__setitem__)
    assert batch.scores == pytest.approx([1.0, 0.5])
    assert [one["tests"] for one in batch.groups] == [1.0, 0.0]
    assert told["tree/tests"] == 0.5
    assert told["tree/code"] == pytest.approx(5 / 6)


def test_people_see_where_a_criterion_stands(tmp_path: Path) -> None:
    dataset().to_file(tmp_path / "data.json")
    session = LabelSession(LabelFile(tmp_path / "data.json"))
    shown = session.item("0", "ann")["questions"]
    assert [one["path"] for one in shown] == [("code",), ("code", "tests"), ("code", "tests"), ()]


def test_two_texts_are_compared_with_each_groups_weight_shared_out() -> None:
    assert flat_weights(TREE.tree) == {"train": 2.0, "unit": 0.5, "leak": -0.5, "readme": 1.0}
    assert flat_weights(TREE.criteria) == {"train": 2.0, "unit": 1.0, "leak": -1.0, "readme": 1.0}

    def better(messages: Any) -> dict[str, Any]:
        asked = messages[1]["content"].rsplit("Says ", 1)[1]
        first = messages[1]["content"].index("aaa") < messages[1]["content"].index("bbb")
        verdict = ("FIRST" if first else "SECOND") if asked.startswith("train") else "EQUAL"
        return {"reason": "r", "evidence": [], "verdict": verdict}

    report = rubricate.compare_pair("aaa", "bbb", rubric=TREE, judge=PythonModel(better, name="m"))
    assert report.results[0].preference == pytest.approx((2.0 + 0.5 * 2.0) / 4.0)


def test_hostile_names_of_groups_and_gates_stay_text(tmp_path: Path, run_here: Any) -> None:
    first = {"name": HOSTILE, "requirement": "Says nothing."}
    behind = {"name": "b", "requirement": "Says b.", "requires": HOSTILE}
    rubric = Rubric.from_dict(
        [{"name": f"g {HOSTILE}", "criteria": [first, behind]}, {"name": "c", "requirement": "x."}]
    )
    data = RubricDataset("p", rubric, [DataItem("text", id="1")])
    unmet = PythonModel(lambda _: {"reason": "r", "evidence": [], "verdict": "UNMET"}, name="m")
    rubricate.grade(data, unmet, run_dir=tmp_path / "run")
    for command in (["show"], ["show", "--json"], ["show", "--by", "tags"], ["report"]):
        done = run_here(tmp_path, command[0], "run", *command[1:])
        assert "Traceback" not in done.stderr
        assert "\x1b[31m" not in done.stdout + done.stderr
    page = (tmp_path / "run" / "report.html").read_text()
    assert HOSTILE not in page
    assert "<b>\x1b" not in page
