"""What `rubricate compare-pair` and `rubricate redteam` print where a run ends early, and how the
same command goes on."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

COMMAND = Path(sys.executable).with_name("rubricate")
RUBRIC = [
    {"name": "speed", "weight": 2, "requirement": "Gives roughly 300000 kilometres"},
    {"name": "boasting", "weight": -1, "requirement": "Praises itself shamelessly"},
]
PAIR = ("both.jsonl", "--columns", "old,new", "--map", "prompt=q,id=n", "--rubric", "rubric.json")
COMMANDS = {"compare-pair": PAIR, "redteam": ("--limit", "3")}
NOBODY = "http://127.0.0.1:9/v1"
ALL = {"compare-pair": 120, "redteam": 144}
"""How many judgements each is."""


def known(report: dict[str, Any]) -> int:
    """The judgements that were read from the journal or the cache."""
    return report["usage"]["resumed"] + report["usage"]["cached"]


@pytest.fixture(params=COMMANDS)
def command(request, tmp_path) -> str:
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC))
    rows = [{"n": f"i{n}", "q": "?", "old": f"old {n}", "new": f"new {n}"} for n in range(30)]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return request.param


def told(command: str, url: str, *more: str) -> list[str]:
    judge = ("--judge", "m", "--base-url", url, "--run-dir", "run", "--no-cache")
    return [command, *COMMANDS[command], *judge, *more]


def asked(endpoint: ScriptedEndpoint) -> Counter[str]:
    """How often each request was sent."""
    return Counter(json.dumps(one.body["messages"]) for one in endpoint.requests)


def ended(options: list[str], tmp_path: Any, endpoint: ScriptedEndpoint, number: int) -> Any:
    """The process of a command, ended by a signal after some requests; and what it printed."""
    process = subprocess.Popen(
        [COMMAND, *options],
        cwd=tmp_path,
        env={**os.environ, "NO_COLOR": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    while len(endpoint.requests) < 30:
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)
    process.send_signal(number)
    printed, errors = process.communicate()
    return process, printed, errors


@pytest.mark.parametrize(
    ("command", "number"),
    [("compare-pair", signal.SIGINT), ("redteam", signal.SIGTERM)],
    indirect=["command"],
)
def test_an_interrupted_command_prints_what_was_had_and_the_same_one_goes_on(
    rubricate, command, tmp_path, number
):
    as_json = ("--json",) if number == signal.SIGINT else ()
    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        options = told(command, endpoint.url, "--concurrency", "2", *as_json)
        process, printed, errors = ended(options, tmp_path, endpoint, number)
        assert process.returncode == 130, errors
        assert errors.endswith(
            "Interrupted. What was judged is in run; the same command resumes it.\n"
        )
        if as_json:
            report = json.loads(printed)
            assert report["stopped"] == "interrupted"
            judged = ALL[command] - report["not_run"]
            assert 20 <= report["usage"]["calls"] == judged < ALL[command]
            assert report["not_run"] == report["verdicts"]["not_run"]
            assert report["first_error"] is None
        else:
            assert "Stopped early: interrupted" in printed
            assert "not run" in printed
        whole = json.loads(rubricate(*told(command, endpoint.url, "--json")).stdout)
        again = asked(endpoint)
    assert (whole["stopped"], whole["verdicts"]["failed"], whole["not_run"]) == (None, 0, 0)
    assert whole["usage"]["calls"] + known(whole) == len(again) == ALL[command]
    assert again.total() - len(again) <= 2  # those that were in flight


def test_an_interruption_before_anything_is_asked_says_so_and_leaves_nothing(tmp_path):
    """The table is a pipe that nobody writes to: the command waits for its first row."""
    os.mkfifo(tmp_path / "rows.jsonl")
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC))
    table = ("rows.jsonl", "--columns", "old,new", "--rubric", "rubric.json")
    process = subprocess.Popen(
        [COMMAND, "compare-pair", *table, "--judge", "m", "--base-url", NOBODY],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    with (tmp_path / "rows.jsonl").open("w"):  # it has opened the other end
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
    assert (process.returncode, errors) == (130, "Interrupted.\n")
    assert not (tmp_path / "runs").exists()


PRICES = {"m": {"input": 1000.0, "output": 1000.0}}
LIMITS = {
    "cost": (("--prices", "prices.json", "--max-cost", "3"), "maximum cost"),
    "time": (("--max-time", "0.0001"), "maximum time"),
    "a refused key": ((), "401"),
    "a dead endpoint": (("--base-url", NOBODY, "--attempts", "1"), "cannot reach"),
}


@pytest.mark.parametrize("why", LIMITS)
def test_a_command_that_cannot_go_on_prints_what_was_had_and_says_why(
    rubricate, command, tmp_path, why
):
    (tmp_path / "prices.json").write_text(json.dumps(PRICES))
    limits, reason = LIMITS[why]
    resumes = why in ("cost", "a refused key")
    rules = [Rule(delay=0.001, times=9), Rule(status=401)] if why == "a refused key" else []
    with ScriptedEndpoint(rules) as endpoint:
        options = told(command, endpoint.url, *limits, "--concurrency", "1")
        done = rubricate(*options, "--json")
        report = json.loads(done.stdout)
        shown = rubricate(*options)
    assert (done.returncode, shown.returncode) == (1, 1)
    assert reason in report["stopped"]
    assert f"Error: {report['stopped']}" in done.stderr
    end = "the same command resumes it" if resumes else "Nothing was judged."
    assert end in done.stderr
    assert report["usage"]["calls"] + report["not_run"] == ALL[command]
    assert 0 < report["not_run"] == report["verdicts"]["not_run"]
    cause = shown.stderr.removeprefix("Error: ").split(". What was judged")[0]
    cause = cause.split(". Nothing was judged")[0]
    if resumes:
        assert 0 < report["usage"]["calls"] < ALL[command]
        assert f"Stopped early: {cause}" in " ".join(shown.stdout.split())
    else:
        assert cause not in shown.stdout  # it is told once
        assert f"Nothing was judged: of {ALL[command]} verdicts " in shown.stdout


def test_quiet_prints_errors_alone_and_json_nothing_else(rubricate, command, endpoint):
    options = told(command, endpoint.url, "--quiet")
    done = rubricate(*options)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    json.loads(rubricate(*options, "--json").stdout)
    stopped = rubricate(*told(command, endpoint.url, "--fresh", "-q", "--max-time", "0.0001"))
    assert (stopped.returncode, stopped.stdout) == (1, "")
    assert len(stopped.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", ["compare-pair"], indirect=True)
def test_a_stdout_without_the_tables_characters_is_no_error(installed, command, endpoint):
    done = installed(*told(command, endpoint.url, "--limit", "1"), PYTHONIOENCODING="ascii")
    assert done.returncode == 0, done.stderr
    assert "judged by m" in done.stdout
    assert done.stdout.isascii()
