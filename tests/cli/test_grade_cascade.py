"""`rubricate grade` with a cascade, as a user gives it."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

COMMAND = Path(sys.executable).with_name("rubricate")
RESULTS = "runs/data-builtin-cascade/results.jsonl"


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


def label_all(folder: Path, name: str, answers: dict[str, str]) -> list[Any]:
    """Label a file on the page that the installed command serves; what the page was told before."""
    command = [COMMAND, "label", name, "--no-browser", "--annotator", "ada"]
    serving = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
    assert serving.stdout is not None
    try:
        url = serving.stdout.readline().strip()
        origin = f"http://{urlsplit(url).netloc}"
        headers = {"Content-Type": "application/json", "Origin": origin}

        def ask(path: str, body: Any = None) -> Any:
            data = None if body is None else json.dumps(body).encode()
            request = urllib.request.Request(url + path, data, headers)
            return json.loads(urllib.request.urlopen(request, timeout=30).read())

        shown = []
        for one in ask("overview?annotator=ada")["items"]:
            shown.append(ask(f"item?id={one['id']}&annotator=ada"))
            for question in shown[-1]["questions"]:
                label = {"annotator": "ada", "item": one["id"], "criterion": question["criterion"]}
                ask("labels", {**label, "label": answers[question["criterion"]]})
        serving.send_signal(signal.SIGINT)
        assert "have all labels" in serving.communicate(timeout=30)[0]
        return shown
    finally:
        serving.kill()


def test_the_whole_round_people_label_on_the_page_and_the_same_command_reads_their_labels(
    rubricate, write_dataset, tmp_path
):
    answers = {"speed": "MET", "tone": "4", "sort": "a number"}
    rubric = [
        {"name": "speed", "requirement": "Gives roughly 300000 kilometres"},
        {"name": "tone", "kind": "scale", "low": 1, "high": 5, "requirement": "Is friendly"},
        {
            "name": "sort",
            "requirement": "What it is",
            "scale_type": "nominal",
            "options": [{"label": "a number", "value": 1}, {"label": "a joke", "value": 0}],
        },
    ]
    items = [{"submission": text, "description": ""} for text in ("300000 km/s", "Fast!")]
    options = ["grade", write_dataset(rubric=rubric, items=items), "--judge", "builtin"]
    options += ["--escalate-to", "people.yaml", "--threshold", "1"]
    done = rubricate(*options, "--json")
    assert (done.returncode, "6 verdicts wait for people in people.yaml" in done.stderr) == (
        2,
        True,
    )
    stages = json.loads(done.stdout)["stages"]
    assert [(one["asked"], one["decided"]) for one in stages] == [(6, 0), (6, 0)]
    shown = label_all(tmp_path, "people.yaml", answers)
    assert "builtin" not in json.dumps(shown)  # blind: what the judges said is in the file
    done = rubricate(*options, "--json")
    assert done.returncode == 0, done.stderr
    stages = json.loads(done.stdout)["stages"]
    assert (stages[1]["name"], stages[1]["asked"], stages[1]["decided"]) == ("people", 6, 6)
    rows = [json.loads(line) for line in (tmp_path / RESULTS).read_text().splitlines()]
    assert {row["criterion"]: row["label"] for row in rows} == answers
    assert "0 (" in rubricate(*options).stdout.split("calls")[1]  # and nothing is asked again


@pytest.mark.parametrize(
    ("option", "sent"),
    [
        (["--temperature", "0.5"], {"temperature": 0.5}),
        (["--max-tokens", "500"], {"max_tokens": 500}),
        (["--model-options", "seed=3"], {"seed": 3}),
        (["--timeout", "50"], {}),
    ],
)
@pytest.mark.parametrize("stages", [("builtin", "m"), ("m", "builtin")])
def test_what_is_for_models_says_nothing_to_the_built_in_judge_of_a_cascade(
    rubricate, write_dataset, endpoint, option, sent, stages
):
    first, second = stages
    options = ["grade", write_dataset(), "--judge", first, "--escalate-to", second, "--no-cache"]
    options += ["--threshold", "1", "--base-url", endpoint.url, "--quiet", *option]
    done = rubricate(*options)
    assert (done.returncode, done.stderr) == (0, "")
    assert endpoint.requests
    assert all(request.body.items() >= sent.items() for request in endpoint.requests)


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (["--temperature", "0.5"], "temperature is for models given by name"),
        (["--base-url", "http://127.0.0.1:9/v1"], "a base URL needs a judge"),
        (["--shuffle", "3"], "shuffle is for language models; builtin is none"),
    ],
)
def test_what_is_for_models_is_refused_where_a_cascade_asks_none(
    rubricate, write_dataset, option, message
):
    options = ["grade", write_dataset(), "--judge", "builtin", "--escalate-to", "people.jsonl"]
    done = rubricate(*options, "--threshold", "0.9", *option)
    assert done.returncode == 1
    assert message in done.stderr


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
    command = ("trust", "cascade", "cheap", "strong", "--promise", "0.8")
    done = rubricate(*command, "--threshold", "0.77", "--json")
    report = json.loads(done.stdout)
    assert (report["judge"], report["next_judge"], report["verdicts"]) == ("builtin", "m", 147)
    points = {point["threshold"]: point for point in report["points"]}
    assert points[0.0]["coverage"]["value"] == 1.0
    assert points[0.0]["overall"] == points[0.0]["agreement"]
    assert 0 < points[0.77]["coverage"]["value"] < 1
    assert points[None]["coverage"]["value"] == 0.0
    chosen = report["choice"]["chosen"]
    assert chosen["agreement"]["value"] > 0.8
    assert f"* {chosen['threshold']:g}" in rubricate(*command).stdout
    assert len(endpoint.requests) == before
    # The real cascade does what was foreseen.
    options = [*options[:2], "--escalate-to", "m", "--threshold", "0.77", "--no-cache", "--json"]
    summary = json.loads(rubricate(*options, "--base-url", endpoint.url).stdout)
    share = summary["stages"][0]["decided"] / 147
    assert share == pytest.approx(points[0.77]["coverage"]["value"])
    assert summary["agreement"]["accuracy"] == pytest.approx(points[0.77]["overall"]["value"])
