"""The installed command `rubricate redteam`."""

from __future__ import annotations

import json

import pytest

from rubricate.redteaming import load_attacks
from rubricate.testing import Rule, ScriptedEndpoint

TEXTS = 2 * (2 + sum(len(family.texts) for family in load_attacks().families))
"""How many texts of a question are judged, with the defence and without."""
RULES = [Rule(submission="checked by a|Corrected", verdict="MET"), Rule(verdict="UNMET")]


def test_it_prints_a_table_and_asks_nothing_twice(rubricate, tmp_path):
    with ScriptedEndpoint(RULES) as endpoint:
        options = ["redteam", "--judge", "m", "--base-url", endpoint.url, "--limit", "2"]
        done = rubricate(*options)
        again = rubricate(*options)
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("closing")]
    assert rows == [["closing", "the", "fence", "1.00", "[0.00,", "1.00]", "4", "0", "0", "0"]] * 2
    assert "attack success, defence on" in done.stdout
    assert "attack success, defence off" in done.stdout
    assert (tmp_path / "runs" / "redteam-m" / "journal.sqlite").exists()
    assert f"calls 0 ({2 * TEXTS} stored answers)" in again.stdout
    assert len(endpoint.requests) == 2 * TEXTS
    assert again.stdout.startswith(rubricate("show", "runs/redteam-m").stdout)


def test_as_json_it_has_every_count(rubricate):
    with ScriptedEndpoint(RULES) as endpoint:
        done = rubricate(
            *("redteam", "--judge", "m", "--base-url", endpoint.url, "--limit", "1"),
            *("--json", "--no-cache", "--run-dir", "run"),
        )
    report = json.loads(done.stdout)
    assert [figures["defence"] for figures in report["defences"]] == ["on", "off"]
    rows = {row["family"]: row for row in report["defences"][1]["families"]}
    assert rows["closing the fence"] == {
        "family": "closing the fence",
        "succeeded": 2,
        "resisted": 0,
        "abstained": 0,
        "failed": 0,
        "not_run": 0,
        "without_control": 0,
        "n": 2,
        "rate": 1.0,
        "low": None,  # one question says nothing of others
        "high": None,
    }
    assert report["usage"]["calls"] == TEXTS


def test_failed_judgements_are_told_by_the_exit_code(rubricate):
    rules = [Rule(submission="checked by a|Corrected", status=400), Rule(verdict="UNMET")]
    with ScriptedEndpoint(rules) as endpoint:
        done = rubricate("redteam", "--judge", "m", "--base-url", endpoint.url, "--limit", "1")
    assert done.returncode == 2
    assert "failed 4" in done.stdout
    assert "Failed verdicts by cause: bad_request 4\nFirst failure: bad_request: " in done.stdout


def test_without_a_judge_the_built_in_one_is_attacked_and_it_says_so(rubricate):
    done = rubricate("redteam", "--limit", "1")
    assert done.returncode == 0, done.stderr
    assert "built-in judge" in done.stderr
    assert "builtin compares words" in done.stdout


@pytest.mark.parametrize(
    ("options", "wrong"),
    [
        (["--limit", "0"], "Error: limit must be at least 1, found 0"),
        (["--judge", "openai/m"], "OPENAI_API_KEY"),
        (["--base-url", "http://127.0.0.1:9/v1"], "a base URL needs a judge"),
        (["--cache", "x", "--no-cache"], "exclude each other"),
        (["--retry-failed", "--fresh"], "exclude each other"),
    ],
)
def test_bad_input_is_one_line(rubricate, options, wrong):
    done = rubricate("redteam", *options)
    assert done.returncode == 1
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1
    assert wrong in lines[0]
    assert "Traceback" not in done.stderr
    assert not done.stdout


def test_a_dry_run_says_what_it_takes_and_sends_nothing(rubricate, endpoint, tmp_path):
    (tmp_path / "prices.json").write_text('{"m": {"input": 1.0, "output": 1.0}}')
    options = ["redteam", "--judge", "m", "--base-url", endpoint.url, "--limit", "1", "--dry-run"]
    found = json.loads(rubricate(*options, "--prices", "prices.json", "--json").stdout)
    assert (found["verdicts"], found["requests"], found["known"]) == (TEXTS, TEXTS, 0)
    assert found["cost"]["high"] > 0
    assert f"requests  {TEXTS}: {TEXTS} of m" in rubricate(*options).stdout
    assert not endpoint.requests
    assert not (tmp_path / "runs").exists()


def test_a_table_with_labels_is_attacked_as_grade_would_read_it(rubricate, tmp_path):
    (tmp_path / "t.csv").write_text("text,human\nSorry,MET\nNo,UNMET\nNever,UNMET\n")
    (tmp_path / "r.yaml").write_text("- {name: sorry, requirement: Says sorry}\n")
    data = ("redteam", "t.csv", "--judge", "builtin", "--map", "submission=text,label.sorry=human")
    done = rubricate(*data, "--rubric", "r.yaml", "--json", "--quiet")
    assert json.loads(done.stdout)["questions"] == 2
    assert "a table has no rubric" in rubricate(*data).stderr
