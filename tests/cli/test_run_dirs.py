"""Default run folders: the same run's again, and no other run's."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rubricate import Criterion, Rubric
from rubricate.cli._run_dirs import criteria_of
from rubricate.testing import Rule, ScriptedEndpoint

ROOT = Path(__file__).parents[2]
ITEMS = [{"submission": "short words", "description": ""}, {"submission": "x", "description": ""}]


@pytest.fixture
def grade(rubricate, endpoint, tmp_path):
    """Grade `data.json` with a language model, without the shared answers; gives the summary."""
    write(tmp_path / "data.json", words="Has several words")

    def run(*options: Any, data: str = "data.json", url: str = endpoint.url) -> dict[str, Any]:
        told = ("grade", data, "--judge", "m", "--base-url", url, "--no-cache", "--json", *options)
        done = rubricate(*told)
        assert done.returncode == 0, done.stderr
        return {**json.loads(done.stdout), "stderr": done.stderr}

    return run


def write(path: Path, items: Any = ITEMS, **requirements: str) -> Path:
    rubric = [{"name": name, "requirement": text} for name, text in requirements.items()]
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps({"prompt": "p", "rubric": rubric, "items": items}))
    return path


def results(folder: str | Path) -> list[tuple[str, str]]:
    lines = (Path(folder) / "results.jsonl").read_text().splitlines()
    return [(row["item"], row["criterion"]) for row in map(json.loads, lines)]


def test_the_same_command_goes_on_in_the_same_folder(grade, endpoint):
    for options in ([], ["--limit", "1"], ["--concurrency", "1"], ["--partial", "0.2"]):
        found = grade(*options)
        assert found["run_dir"] == "runs/data-m"
        assert "differs in" not in found["stderr"]
    assert len(endpoint.requests) == 2


@pytest.mark.parametrize(
    ("options", "what"),
    [
        (["--chunk-tokens", "500"], "chunk tokens"),
        (["--temperature", "0.7"], "temperature"),
        (["--mode", "explained", "--shuffle", "3"], "shuffle"),
        (["--rubric", "other.json"], "rubric"),
        (["--criteria-per-call", "all"], "criteria per call"),
        (["--replicates", "2"], "replicates"),
    ],
)
def test_another_run_of_the_same_name_gets_a_folder_of_its_own(
    grade, rubricate, tmp_path, options, what
):
    (tmp_path / "other.json").write_text(json.dumps([{"name": "words", "requirement": "Is long"}]))
    assert grade()["run_dir"] == "runs/data-m"
    kept = tmp_path / "runs/data-m"
    before = (kept / "results.jsonl").read_bytes()
    for _ in range(2):
        found = grade(*options)
        assert found["run_dir"].startswith(f"runs/{kept.name}-")
        assert f"runs/{kept.name} has a run that differs in {what}" in found["stderr"]
        assert f"this one is in {found['run_dir']}" in found["stderr"]
    assert found["usage"]["requests"] == 0  # the second time
    assert (kept / "results.jsonl").read_bytes() == before
    assert len(list((tmp_path / "runs").glob("[!.]*"))) == 2


def test_another_panel_is_another_run_and_a_further_judge_the_same(grade):
    assert grade("--judge", "n")["run_dir"] == "runs/data-panel"
    assert grade("--judge", "n", "--judge", "builtin")["run_dir"] == "runs/data-panel"
    fewer = grade("--judge", "n")
    assert fewer["run_dir"] != "runs/data-panel"
    assert "runs/data-panel has a run that differs in judge: this one is in" in fewer["stderr"]
    other = grade("--judge", "o")
    assert other["run_dir"] not in ("runs/data-panel", fewer["run_dir"])


def test_another_address_is_another_run(grade, tmp_path):
    grade()
    with ScriptedEndpoint() as second:
        found = grade(url=second.url)
    assert found["run_dir"] != "runs/data-m"
    assert "differs in address" in found["stderr"]


def test_other_data_of_the_same_name_is_another_run(grade, tmp_path):
    grade()
    write(tmp_path / "elsewhere/data.json", ITEMS[:1], words="Has several words")
    found = grade(data="elsewhere/data.json")
    assert "differs in data" in found["stderr"]
    assert grade(data="./data.json")["run_dir"] == "runs/data-m"
    assert grade(data=str(tmp_path / "data.json"))["run_dir"] == "runs/data-m"


def test_changed_weights_and_criteria_and_further_items_are_the_same_run(grade, endpoint, tmp_path):
    path = write(tmp_path / "data.json", words="Has words", style="Has style")
    grade()
    data = json.loads(path.read_text())
    data["rubric"][0]["weight"] = 5
    data["rubric"][1]["requirement"] = "Has much style"
    data["rubric"].append({"name": "third", "requirement": "Has a third thing"})
    data["items"].append({"submission": "y", "description": ""})
    path.write_text(json.dumps(data))
    found = grade()
    assert found["run_dir"] == "runs/data-m"
    assert len(endpoint.requests) == 4 + 2 + 2 + 3


def test_a_rubric_that_shares_no_criterion_is_another_run(grade, tmp_path):
    grade()
    before = results(tmp_path / "runs/data-m")
    write(tmp_path / "data.json", style="Has style")
    found = grade()
    assert "differs in criteria" in found["stderr"]
    assert results(tmp_path / "runs/data-m") == before
    assert {name for _, name in results(tmp_path / found["run_dir"])} == {"style"}


@pytest.mark.parametrize(
    ("told", "what"),
    [
        (("--temperature", "1"), "temperature"),
        (("--judge", "n", "--judge", "builtin"), ""),  # a further judge
        (("--rubric", "other.json"), "rubric"),
        (("elsewhere/data.json",), "data"),
        (("--cannot-assess", "zero"), ""),
        (("--limit", "1"), ""),
    ],
)
def test_results_of_another_run_in_a_named_folder_are_not_replaced(
    grade, rubricate, endpoint, tmp_path, told, what
):
    write(tmp_path / "elsewhere/data.json", words="Has several words")
    (tmp_path / "other.json").write_text(json.dumps([{"name": "style", "requirement": "Is long"}]))
    grade("--run-dir", "named")
    before, requests = (tmp_path / "named/results.jsonl").read_bytes(), len(endpoint.requests)
    data = () if told[0].endswith("data.json") else ("data.json",)
    judge = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--run-dir", "named")
    done = rubricate("grade", *data, *told, *judge)
    if what:
        assert done.returncode == 1
        assert f"named: this run folder has the results of a run that differs in {what}" in (
            done.stderr
        )
        assert len(done.stderr.splitlines()) == 1
        assert (tmp_path / "named/results.jsonl").read_bytes() == before
        assert len(endpoint.requests) == requests
        done = rubricate("grade", *data, *told, *judge, "--fresh")
    assert done.returncode == 0, done.stderr


def test_another_run_in_a_named_folder_says_what_it_would_take_elsewhere_and_begun_anew(
    rubricate, endpoint, tmp_path
):
    """A criterion of two is another one: one folder asks about that one, --fresh about both."""
    write(tmp_path / "data.json", words="Has several words", style="Has style")
    judge = ("--judge", "m", "--base-url", endpoint.url, "--cache", "cache", "--quiet")
    rubric = [{"name": name, "requirement": name} for name in ("words", "other")]
    rubric[0]["requirement"] = "Has several words"
    (tmp_path / "other.json").write_text(json.dumps(rubric))
    assert rubricate("grade", "data.json", "--run-dir", "a", *judge).returncode == 0
    told = ("grade", "data.json", "--rubric", "other.json", *judge)
    refused = rubricate(*told, "--run-dir", "a").stderr
    found = re.findall(r"takes (\d+) requests?", refused)
    taken = []
    for more in (("--run-dir", "b"), ("--run-dir", "a", "--fresh")):
        before = len(endpoint.requests)
        assert rubricate(*told, *more).returncode == 0
        taken.append(len(endpoint.requests) - before)
    assert [int(count) for count in found] == taken
    assert taken[0] < taken[1]


def test_a_named_folder_is_known_again_from_another_place(rubricate, run_here, endpoint, tmp_path):
    write(tmp_path / "project/data.json", words="Has several words")
    judge = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--quiet")
    calls = [
        (tmp_path / "project", "data.json", "run"),
        (tmp_path, "project/data.json", "project/run"),
        (tmp_path, tmp_path / "project/data.json", tmp_path / "project/run"),
    ]
    for cwd, data, folder in calls:
        done = run_here(cwd, "grade", data, "--run-dir", folder, *judge)
        assert done.returncode == 0, done.stderr
    (tmp_path / "project").rename(tmp_path / "moved")
    done = rubricate("grade", "moved/data.json", "--run-dir", "moved/run", *judge)
    assert done.returncode == 0, done.stderr
    assert len(endpoint.requests) == 2


def test_a_run_of_which_every_verdict_failed_is_no_results(grade, rubricate, endpoint, tmp_path):
    with ScriptedEndpoint([Rule(status=404)]) as refusing:
        told = ("--judge", "n", "--base-url", refusing.url, "--no-cache", "--run-dir", "named")
        assert rubricate("grade", "data.json", *told).returncode == 1
    assert grade("--run-dir", "named")["run_dir"] == "named"


def test_a_folder_of_an_earlier_version_is_taken_as_it_is(grade, tmp_path):
    grade()
    (tmp_path / "runs/data-m/run.json").unlink()
    assert grade("--temperature", "1")["run_dir"] == "runs/data-m"


def test_a_dry_run_takes_no_folder(grade, rubricate, endpoint, tmp_path):
    told = ("grade", "data.json", "--judge", "m", "--base-url", endpoint.url)
    assert rubricate(*told, "--dry-run", "--temperature", "1").returncode == 0
    assert not (tmp_path / "runs").exists()
    assert grade()["run_dir"] == "runs/data-m"


def test_pairs_attacks_and_reports_have_their_own_folders_too(rubricate, endpoint, tmp_path):
    write(tmp_path / "a.json", words="Has words")
    write(tmp_path / "b.json", words="Has words")
    folder = tmp_path / "agent_responses"
    folder.mkdir()
    (folder / "t.md").write_text("A text about funds.")
    criterion = {"criterion": "Explains funds", "weight": 1, "axis": "a"}
    task = {"prompt": "p", "sample_id": "t", "domain": "d", "rubrics": [criterion]}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task))
    model = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--quiet")
    for command, change in (
        (("compare-pair", "a.json", "b.json"), ("--temperature", "1")),
        (("redteam", "--limit", "1"), ("--temperature", "1")),
        (("researchrubrics", "--tasks", "tasks.jsonl"), ("--chunk-tokens", "300")),
    ):
        before = len(list((tmp_path / "runs").glob("[!.]*")))
        for options in ((), change, (), change):
            done = rubricate(*command, *model, *options)
            assert done.returncode == 0, done.stderr
        assert len(list((tmp_path / "runs").glob("[!.]*"))) == before + 2


def test_criteria_without_a_name_go_by_what_they_require():
    rubric = Rubric([Criterion(requirement="Is short"), Criterion(name="a", requirement="Is true")])
    assert criteria_of(rubric) == ["Is short", "a"]
