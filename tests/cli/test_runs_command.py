"""`rubricate runs`: every run folder is a line, also one that is broken."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from rubricate.analysis import list_runs, read_run
from rubricate.stats import mean_of_scores
from rubricate.testing import Rule, ScriptedEndpoint


@pytest.fixture
def runs(tmp_path: Path, rubricate: Any, write_dataset: Any, endpoint: Any) -> Path:
    """Two runs of the same data, the second of them gated, and a folder that is no run."""
    write_dataset()
    grade = ("grade", "data.json", "--no-cache", "--quiet", "--run-dir")
    rubricate(*grade, "runs/plain")
    judge = ("--judge", "m", "--base-url", endpoint.url)
    rubricate(*grade, "runs/exp/gated", *judge, "--fail-if-worst-case-under", "0.9")
    (tmp_path / "runs" / "notes").mkdir()
    os.utime(tmp_path / "runs" / "plain" / "summary.json", (1e9, 1e9))
    return tmp_path / "runs"


def listed(rubricate: Any, *arguments: str | Path) -> dict[str, dict[str, Any]]:
    done = rubricate("runs", *arguments, "--json")
    assert done.returncode == 0, done.stderr
    return {one["run"]: one for one in json.loads(done.stdout)["runs"]}


def test_each_run_is_listed_with_its_figures_the_oldest_first(runs: Path, rubricate: Any):
    found = listed(rubricate)
    assert list(found) == ["plain", "exp/gated"]
    plain, gated = found.values()
    assert plain["when"] == "2001-09-09T01:46:40+00:00"
    assert (plain["state"], plain["kind"], plain["dataset"]) == ("complete", "grade", "light")
    summary = json.loads((runs / "plain" / "summary.json").read_text())
    assert plain["score"]["value"] == summary["score"]["mean"]
    assert plain["accuracy"] == summary["agreement"]["accuracy"]
    assert plain["labels"] == 4
    assert (gated["thresholds"], gated["judge"]) == ("below", "m")
    shown = rubricate("runs").stdout
    assert shown.index("plain") < shown.index("exp/gated")
    assert "below threshold" in shown


def test_the_interval_is_that_of_the_items_scores(runs: Path):
    one = list_runs(runs).runs[1]
    scores = list(read_run(runs / "exp" / "gated").item_scores.values())
    assert len(scores) == 2
    assert one.score == mean_of_scores(scores)


def test_folders_that_cannot_be_read_are_lines_and_no_end(runs: Path, rubricate: Any):
    for name in ("damaged", "other", "short", "begun", "folder"):
        shutil.copytree(runs / "plain", runs / name)
    (runs / "damaged" / "summary.json").write_text("{")
    (runs / "other" / "summary.json").write_text('{"judge": "x"}')
    (runs / "short" / "results.jsonl").write_text("")
    (runs / "begun" / "summary.json").unlink()
    (runs / "folder" / "summary.json").unlink()
    (runs / "folder" / "summary.json").mkdir()
    found = listed(rubricate)
    states = {name: one["state"] for name, one in found.items()}
    assert states.pop("begun") == "not ended"
    unreadable = {"damaged", "other", "short", "folder"}
    assert {name for name, state in states.items() if state == "unreadable"} == unreadable
    assert all(found[name]["problem"] for name in unreadable)
    assert "is incomplete: it has 0 lines for 4 verdicts" in found["short"]["problem"]
    assert rubricate("runs").returncode == 0


def test_a_line_of_results_that_is_no_object_makes_its_run_unreadable(runs: Path, rubricate: Any):
    path = runs / "plain" / "results.jsonl"
    path.write_text("[]\n" * 4)
    assert listed(rubricate)["plain"]["state"] == "unreadable"


def test_a_run_that_ended_early_says_why(tmp_path: Path, rubricate: Any, write_dataset: Any):
    write_dataset()
    with ScriptedEndpoint([Rule(status=401)]) as judge:
        rubricate("grade", "data.json", "--judge", "m", "--base-url", judge.url, "--no-cache")
    (found,) = listed(rubricate).values()
    assert found["state"] == "stopped early"
    assert "401" in found["problem"]
    assert (found["score"], found["failed"]) == (None, 4)


def test_comparisons_of_pairs_and_attacks_are_told_as_such(
    tmp_path: Path, rubricate: Any, write_dataset: Any, endpoint: Any
):
    write_dataset()
    judge = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--quiet")
    rubricate("compare-pair", "data.json", "data.json", "--run-dir", "runs/pairs", *judge)
    rubricate("redteam", "data.json", "--run-dir", "runs/attacks", *judge)
    found = listed(rubricate)
    assert {name: one["kind"] for name, one in found.items()} == {
        "pairs": "compare-pair",
        "attacks": "redteam",
    }
    assert all(one["score"] is None for one in found.values())
    (tmp_path / "runs" / "pairs" / "results.jsonl").write_text("")
    assert listed(rubricate)["pairs"]["state"] == "unreadable"
    assert "None" not in rubricate("runs").stdout


def test_a_run_folder_itself_and_an_empty_and_a_missing_folder(
    runs: Path, rubricate: Any, tmp_path: Path
):
    assert list(listed(rubricate, "runs/plain")) == ["."]
    (tmp_path / "none").mkdir()
    assert "No runs in none" in rubricate("runs", "none").stdout
    missing = rubricate("runs", "nowhere")
    assert (missing.returncode, missing.stdout) == (1, "")
    assert "nowhere: no such folder" in missing.stderr


def test_links_are_not_followed_and_hostile_names_do_nothing(
    runs: Path, rubricate: Any, tmp_path: Path
):
    (runs / "loop").symlink_to(runs, target_is_directory=True)
    summary = runs / "plain" / "summary.json"
    data = json.loads(summary.read_text()) | {"dataset": "\x1b[31m[red]<b>|x", "judge": "a\nb"}
    summary.write_text(json.dumps(data))
    assert set(listed(rubricate)) == {"plain", "exp/gated"}
    shown = rubricate("runs", "-o", "list.html")
    assert "\x1b" not in shown.stdout
    assert "<b>" not in (tmp_path / "list.html").read_text()
