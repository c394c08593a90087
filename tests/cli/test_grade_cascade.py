"""`rubricate grade` with a cascade, as a user gives it."""

from __future__ import annotations

import json

import pytest
import yaml

from rubricate import RubricDataset


def test_options_escalate_to_and_threshold_ask_another_judge_where_the_first_is_not_sure(
    rubricate, write_dataset, endpoint
):
    options = ["grade", write_dataset(), "--judge", "builtin", "--escalate-to", "m", "--no-cache"]
    options += ["--base-url", endpoint.url, "--json"]
    done = rubricate(*options, "--threshold", "0.999")
    summary = json.loads(done.stdout)
    assert (summary["judge"], summary["run_dir"]) == ("builtin > m", "runs/data-builtin-cascade")
    assert [stage["asked"] for stage in summary["stages"]] == [4, len(endpoint.requests)]
    assert len(endpoint.requests) > 0
    before = len(endpoint.requests)
    summary = json.loads(rubricate(*options, "--threshold", "0").stdout)
    assert [stage["decided"] for stage in summary["stages"]] == [4, 0]
    assert len(endpoint.requests) == before
    shown = rubricate("show", "runs/data-builtin-cascade").stdout
    assert "1 builtin" in shown
    told = rubricate(*options[:-1], "--threshold", "1", "--fresh", "--dry-run").stdout
    assert "requests  0 to 4: 4 of m at most" in told or "requests  4" in told


def test_people_label_a_file_and_the_same_command_reads_their_labels(
    rubricate, write_dataset, tmp_path
):
    options = ["grade", write_dataset(), "--judge", "builtin", "--escalate-to", "people.jsonl"]
    options += ["--threshold", "1"]
    done = rubricate(*options)
    assert done.returncode == 2
    asked = RubricDataset.from_file(tmp_path / "people.jsonl")
    waiting = sum(len(item.rubric or ()) for item in asked)
    assert f"{waiting} verdicts wait for people in people.jsonl" in done.stderr
    for item in asked:
        item.annotations = {"ada": dict.fromkeys(item.rubric.names, "MET")}
    asked.to_file(tmp_path / "people.jsonl")
    done = rubricate(*options, "--json")
    assert done.returncode == 0
    stages = json.loads(done.stdout)["stages"]
    assert (stages[1]["name"], stages[1]["decided"]) == ("people", waiting)


def test_a_configuration_file_has_all_of_a_cascade(rubricate, write_dataset, endpoint, tmp_path):
    settings = {
        "data": str(write_dataset()),
        "judge": ["m", "n"],
        "escalate_to": ["o", "people.json"],
        "threshold": [0.9, 0.5],
        "base_url": endpoint.url,
        "json": True,
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(settings))
    summary = json.loads(rubricate("grade", "--config", "run.yaml").stdout)
    assert [stage["name"] for stage in summary["stages"]] == ["m + n", "o", "people"]
    assert [stage["threshold"] for stage in summary["stages"]] == [0.9, 0.5, None]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (["--escalate-to", "m"], "--escalate-to needs --threshold"),
        (["--threshold", "0.5"], "give --escalate-to"),
        (["--escalate-to", "m", "--threshold", "8"], "between 0 and 1, found 8"),
        (["--escalate-to", "data.json", "--threshold", "0.5"], "is the graded dataset itself"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_sent(
    rubricate, write_dataset, endpoint, given, message
):
    done = rubricate(
        "grade", write_dataset().name, "--base-url", endpoint.url, "--judge", "a", *given
    )
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert message in done.stderr
    assert endpoint.requests == []


def test_a_cascade_is_tried_out_over_two_finished_runs(rubricate, shipped_example, endpoint):
    data = shipped_example("physics.json")
    options = ["grade", data, "--quiet", "--no-cache"]
    rubricate(*options, "--run-dir", "cheap")
    rubricate(*options, "--run-dir", "strong", "--judge", "m", "--base-url", endpoint.url)
    before = len(endpoint.requests)
    done = rubricate("cascade", "cheap", "strong", "--threshold", "0.77", "--json")
    report = json.loads(done.stdout)
    assert (report["judge"], report["next_judge"], report["verdicts"]) == ("builtin", "m", 147)
    points = {point["threshold"]: point for point in report["points"]}
    assert points[0.0]["coverage"]["value"] == 1.0
    assert points[0.0]["overall"] == points[0.0]["agreement"]
    assert 0 < points[0.77]["coverage"]["value"] < 1
    assert points[None]["coverage"]["value"] == 0.0
    chosen = report["choice"]["chosen"]
    assert chosen["agreement"]["value"] > 0.9
    assert f"* {chosen['threshold']:g}" in rubricate("cascade", "cheap", "strong").stdout
    assert len(endpoint.requests) == before
    # The real cascade does what was foreseen.
    options = [*options[:2], "--escalate-to", "m", "--threshold", "0.77", "--no-cache", "--json"]
    summary = json.loads(rubricate(*options, "--base-url", endpoint.url).stdout)
    share = summary["stages"][0]["decided"] / 147
    assert share == pytest.approx(points[0.77]["coverage"]["value"])
    assert summary["agreement"]["accuracy"] == pytest.approx(points[0.77]["overall"]["value"])
