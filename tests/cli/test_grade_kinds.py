"""`rubricate grade` with every kind of criterion in one rubric file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

RUBRIC = """
criteria:
  - {name: quality, kind: scale, requirement: Answers the question well,
     levels: {1: wrong and unclear, 5: clear and correct}}
  - {name: contradiction, weight: -1, requirement: Steps contradict each other}
  - name: answer
    requirement: What is the answer?
    options: [{label: yes it is, value: 1}, {label: it is not, value: 0}]
  - {name: steps, kind: regex, pattern: '^Step \\d', flags: [MULTILINE]}
  - name: organs
    kind: metric
    requirement: Organs that the text names
    tp_instructions: [heart, lung]
    fp_instructions: [spleen]
    metrics: [precision, recall]
    score_metric: recall
  - {name: brief, kind: code, function: 'checks:brief', weight: 0.5}
"""
ROWS: list[dict[str, Any]] = [
    {
        "id": "one",
        "submission": "Step 4 - The heart pumps.\nStep 4 - Yes it is.",
        "label.quality": 4,
        "label.contradiction": False,
        "label.answer": "yes it is",
        "label.steps": True,
        "label.organs": 0.5,
        "label.brief": 1,
    },
    {"id": "two", "submission": "It is not: heart, lung and spleen. Score 5." + " More." * 20},
]
CODE = """
async def brief(submission, item):
    assert item.id in ("one", "two")
    return max(0.0, 1.0 - len(submission) / 100)
"""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    (tmp_path / "rubric.yaml").write_text(RUBRIC)
    (tmp_path / "checks.py").write_text(CODE)
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return tmp_path


def results(folder: Path) -> dict[tuple[str, str], dict[str, Any]]:
    lines = (folder / "run/results.jsonl").read_text().splitlines()
    return {(row["item"], row["criterion"]): row for row in map(json.loads, lines)}


def test_one_rubric_of_all_six_kinds_grades_and_resumes(rubricate, endpoint, files) -> None:
    def grade(*options: str) -> dict[str, Any]:
        done = rubricate(
            *("grade", "rows.jsonl", "--rubric", "rubric.yaml", "--judge", "m", "--json"),
            *("--base-url", endpoint.url, "--run-dir", "run", "--allow-code", *options),
        )
        assert done.returncode == 0, done.stderr
        return json.loads(done.stdout)

    summary = grade()
    assert len(endpoint.requests) == 2 * 4
    found = results(files)
    values = {key: row["value"] for key, row in found.items()}
    assert values["one", "quality"] == 0.75
    assert values["one", "contradiction"] == 0.0
    assert values["one", "answer"] == 1.0
    assert (values["one", "steps"], values["two", "steps"]) == (1.0, 0.0)
    assert found["one", "steps"]["evidence"] == [{"quote": "Step 4", "start": 0, "end": 6}]
    assert found["two", "organs"]["label"] == "tp 2, fp 1, tn 0, fn 0"
    assert found["two", "organs"]["detail"]["expected_fp"] == ["spleen"]
    assert values["two", "organs"] == 1.0
    assert values["two", "brief"] == 0.0
    assert found["two", "brief"]["judge"] == "code"
    assert found["one", "organs"]["human_value"] == 0.5
    by_name = {criterion["name"]: criterion for criterion in summary["criteria"]}
    assert by_name["quality"]["labels"] == {"4": 1, "5": 1}
    assert by_name["organs"]["agreement"]["accuracy"] == 1.0
    assert by_name["steps"]["agreement"]["accuracy"] == 1.0
    assert summary["score"]["scored"] == 2
    again = grade()
    assert len(endpoint.requests) == 2 * 4
    assert again["usage"]["resumed"] == 12
    assert again["score"] == summary["score"]


def test_code_that_a_file_names_runs_only_where_it_is_allowed(rubricate, files) -> None:
    done = rubricate("grade", "rows.jsonl", "--rubric", "rubric.yaml", "--run-dir", "run")
    assert done.returncode == 1
    assert done.stderr.endswith(
        "the rubric names code to be run: checks:brief. If you trust it, allow it with "
        "--allow-code (allow_code=True)\n"
    )
    assert not (files / "run/results.jsonl").exists()


def test_code_that_is_not_there_is_an_error_before_anything_is_sent(
    rubricate, endpoint, files
) -> None:
    (files / "checks.py").unlink()
    done = rubricate(
        *("grade", "rows.jsonl", "--rubric", "rubric.yaml", "--judge", "m"),
        *("--base-url", endpoint.url, "--allow-code"),
    )
    assert done.returncode == 1
    assert "cannot load 'checks:brief': ModuleNotFoundError" in done.stderr
    assert endpoint.requests == []


def test_a_rubric_of_patterns_and_code_needs_no_judge(rubricate, files) -> None:
    rubric = [
        {"name": "steps", "kind": "regex", "pattern": "step"},
        {"name": "brief", "kind": "code", "function": "checks:brief"},
    ]
    (files / "rubric.json").write_text(json.dumps(rubric))
    (files / "config.yaml").write_text("rubric: rubric.json\nmap: ignore=label.*\n")
    done = rubricate("grade", "rows.jsonl", "--config", "config.yaml", "--allow-code", "--json")
    assert done.returncode == 0
    assert "builtin" not in done.stderr
    summary = json.loads(done.stdout)
    assert (summary["judge"], summary["note"]) == ("code", None)
    assert summary["usage"]["requests"] == 0
    assert summary["verdicts"]["judged"] == 4
