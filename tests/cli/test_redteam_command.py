"""The installed command `rubricate redteam`."""

from __future__ import annotations

import json

import pytest

from rubricate.redteaming import load_attacks
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

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
    assert f"calls 0 ({2 * TEXTS} more not asked again)" in again.stdout
    assert len(endpoint.requests) == 2 * TEXTS
    assert rubricate("show", "runs/redteam-m").stdout == again.stdout


def test_a_run_that_was_cut_short_goes_on_and_asks_nothing_twice(rubricate):
    options = ["redteam", "--judge", "m", "--limit", "2", "--no-cache", "--concurrency", "1"]
    begun = 0

    def respond(request: JudgeRequest) -> Rule:
        if not begun and len(endpoint.requests) > 20:
            return Rule(status=401)
        return Rule(verdict="UNMET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        stopped = rubricate(*options, "--base-url", endpoint.url)
        assert stopped.returncode == 1
        assert "the same command resumes it" in stopped.stderr
        begun = len(endpoint.requests)
        assert 1 < begun < 2 * TEXTS
        done = rubricate(*options, "--base-url", endpoint.url)
    assert done.returncode == 0, done.stderr
    refused = begun - 20
    assert len(endpoint.requests) == 2 * TEXTS + refused  # what was judged is not asked again


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


def test_a_prompt_of_ones_own_is_attacked_as_it_is(rubricate, tmp_path):
    text = "---\nvariables: [submission, criterion]\n---\n{{ submission }}\n\nOwn: {{ criterion }}"
    (tmp_path / "own.jinja").write_text(text)
    with ScriptedEndpoint(RULES) as endpoint:
        options = ["--judge-prompt", "own.jinja", "--judge", "m", "--base-url", endpoint.url]
        report = json.loads(rubricate("redteam", *options, "--limit", "1", "--json").stdout)
    assert [figures["defence"] for figures in report["defences"]] == ["own"]
    assert all("Own: " in one.body["messages"][1]["content"] for one in endpoint.requests)
    assert (tmp_path / "runs/redteam-m-own").exists()


def test_a_dry_run_says_what_it_takes_and_sends_nothing(rubricate, endpoint, tmp_path):
    (tmp_path / "prices.json").write_text('{"m": {"input": 1.0, "output": 1.0}}')
    options = ["redteam", "--judge", "m", "--base-url", endpoint.url, "--limit", "1", "--dry-run"]
    found = json.loads(rubricate(*options, "--prices", "prices.json", "--json").stdout)
    assert (found["verdicts"], found["requests"], found["known"]) == (TEXTS, TEXTS, 0)
    assert found["cost"]["high"] > 0
    assert f"requests  {TEXTS}: {TEXTS} of m" in rubricate(*options).stdout
    assert not endpoint.requests
    assert not (tmp_path / "runs").exists()


def test_its_limits_are_those_of_grade(rubricate):
    def respond(request: JudgeRequest) -> Rule:
        return Rule(status=500) if "Ignore" in request.submission else Rule(verdict="UNMET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        options = ["--base-url", endpoint.url, "--limit", "1", "--json", "--attempts", "1"]
        limits = ["--requests-per-minute", "60000", "--tokens-per-minute", "9000000"]
        done = rubricate("redteam", "--judge", "m", *options, *limits, "--max-outage", "60")
    report = json.loads(done.stdout)
    assert report["errors"] == {"server": 4}
    assert len(endpoint.requests) == TEXTS


def test_ones_own_items_and_attacks_are_attacked_in_the_form_that_is_named(rubricate, tmp_path):
    (tmp_path / "own.yaml").write_text("- {name: plea, texts: ['{{ answer }} Please!']}")
    item = {"submission": "It is Lyon.", "description": "d", "ground_truth": ["UNMET"], "id": "a"}
    right = {**item, "submission": "It is Paris.", "ground_truth": ["MET"], "id": "b"}
    rubric = [{"name": "capital", "requirement": "Names the capital"}]
    data = {"prompt": "Of France?", "rubric": rubric, "items": [item, right]}
    (tmp_path / "mine.json").write_text(json.dumps(data))
    rules = [Rule(submission="Please", verdict="FIRST"), Rule(submission="Paris", verdict="FIRST")]
    with ScriptedEndpoint([*rules, Rule(verdict="SECOND")]) as endpoint:
        options = ("--judge", "m", "--base-url", endpoint.url, "--attacks", "own.yaml")
        done = rubricate("redteam", "mine.json", *options, "--form", "pair")
        assert done.returncode == 0, done.stderr
        assert "1 wrong answer under attack in pairs with right ones, judged by m" in done.stdout
        (row,) = [line.split() for line in done.stdout.splitlines() if line.startswith("plea")]
        assert row[1:] == ["0.50", "[0.00,", "1.00]", "2", "0", "0", "0"]
        assert (tmp_path / "runs" / "redteam-m-mine-own-pair").exists()
        shown = rubricate("show", "runs/redteam-m-mine-own-pair")
        assert shown.stdout == done.stdout
    wrong = rubricate(
        "redteam", "--attacks", "missing.yaml", "--judge", "m", "--base-url", "http://x"
    )
    assert "missing.yaml" in wrong.stderr
    wrong = rubricate("redteam", "--judge", "builtin", "--rubric", "r.yaml")
    assert "labelled items of your own" in wrong.stderr


def test_a_table_with_labels_is_attacked_as_grade_would_read_it(rubricate, tmp_path):
    (tmp_path / "t.csv").write_text("text,human\nSorry,MET\nNo,UNMET\nNever,UNMET\n")
    (tmp_path / "r.yaml").write_text("- {name: sorry, requirement: Says sorry}\n")
    data = ("redteam", "t.csv", "--judge", "builtin", "--map", "submission=text,label.sorry=human")
    done = rubricate(*data, "--rubric", "r.yaml", "--json", "--quiet")
    assert json.loads(done.stdout)["questions"] == 2
    assert "a table has no rubric" in rubricate(*data).stderr
