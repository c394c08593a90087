"""Scores by tag from the shell: graded with, shown again, exported, on the page."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

HOSTILE = "<script>alert(1)</script>\x1b[31m"


def criterion(name: str, points: int, tag: str) -> dict[str, object]:
    return {
        "name": name,
        "kind": "regex",
        "requirement": f"Says {name}",
        "pattern": name,
        "points": points,
        "tags": [f"axis:{tag}"],
    }


@pytest.fixture
def data(tmp_path: Path) -> str:
    rubric = [criterion("apple", 3, "a"), criterion("pear", 1, "b"), criterion("fool", -2, HOSTILE)]
    items = [
        {"id": "x", "submission": "apple", "description": "", "metadata": {"domain": "fruit"}},
        {"id": "y", "submission": "fool", "description": "", "metadata": {"domain": "words"}},
        {"id": "z", "submission": "pear", "description": "", "metadata": {"domain": "fruit"}},
    ]
    path = tmp_path / "data.json"
    path.write_text(json.dumps({"prompt": "p", "rubric": rubric, "items": items}))
    return path.name


def test_a_finished_run_is_scored_by_tag_and_nothing_is_asked(rubricate, data, tmp_path) -> None:
    assert rubricate("grade", data, "--run-dir", "run", "-q").returncode == 0
    before = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    shown = rubricate("show", "run", "--by", "axis", "--by", "domain", "--json")
    groups = {
        one["field"]: {group["name"]: group["value"] for group in one["groups"]}
        for one in json.loads(shown.stdout)["scoring"]["by"]
    }
    assert groups["axis"] == {"a": pytest.approx(1 / 3), "b": pytest.approx(1 / 3), HOSTILE: 2 / 3}
    assert groups["domain"] == {"fruit": 0.5, "words": 0.0}
    assert {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()} == before
    printed = rubricate("show", "run", "--by", "axis").stdout
    assert "by axis" in printed
    assert "\x1b[31m" not in printed


def test_a_run_by_tag_and_the_same_run_shown_by_tag_say_the_same(rubricate, data) -> None:
    told = rubricate("grade", data, "--run-dir", "told", "--by", "axis", "--by", "domain", "--json")
    assert rubricate("grade", data, "--run-dir", "plain", "-q").returncode == 0
    again = rubricate("show", "plain", "--by", "axis", "--by", "domain", "--json")
    assert json.loads(told.stdout)["scoring"] == json.loads(again.stdout)["scoring"]
    assert json.loads(told.stdout)["scoring"]["overall"]["value"] == pytest.approx(1 / 3)


def test_scores_by_tag_are_columns_of_items_and_a_table_of_the_page(
    rubricate, data, tmp_path
) -> None:
    assert rubricate("grade", data, "--run-dir", "run", "--by", "axis", "-q").returncode == 0
    assert rubricate("export", "run", "--by", "item", "-o", "items.csv").returncode == 0
    with (tmp_path / "items.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [row["tag_scores.axis:a"] for row in rows] == ["1.0", "0.0", "0.0"]
    assert rubricate("report", "run", "-o", "page.html").returncode == 0
    page = (tmp_path / "page.html").read_text()
    assert "<h2>by axis</h2>" in page
    assert "<script>alert" not in page


@pytest.mark.parametrize("command", [("grade", "data.json", "--run-dir", "new"), ("show", "run")])
def test_a_field_that_nothing_has_is_one_line(rubricate, data, command, tmp_path) -> None:
    assert rubricate("grade", data, "--run-dir", "run", "-q").returncode == 0
    done = rubricate(*command, "--by", "domian")
    assert done.returncode == 1
    assert done.stderr.endswith("did you mean 'domain'?\n")
    assert done.stderr.count("\n") == 1
    assert not (tmp_path / "new" / "results.jsonl").exists()


def test_what_picks_verdicts_does_not_go_with_scores_by_tag(rubricate, data) -> None:
    assert rubricate("grade", data, "--run-dir", "run", "-q").returncode == 0
    done = rubricate("show", "run", "--by", "axis", "--item", "x")
    assert "Error: --by is for the whole run: leave out --item" in done.stderr
