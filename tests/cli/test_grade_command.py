"""The installed command `rubricate grade`, as a user meets it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

COMMAND = Path(sys.executable).with_name("rubricate")


def results(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (folder / "results.jsonl").read_text().splitlines()]


def one_error_line(done: subprocess.CompletedProcess[str]) -> str:
    """The single error line; there is no traceback and nothing on standard output."""
    assert done.returncode == 1, done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr
    return lines[0]


def test_a_graded_dataset_prints_its_summary_and_writes_its_run_folder(
    installed, write_dataset, endpoint, tmp_path
):
    done = installed("grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url)
    assert done.returncode == 0, done.stderr
    for shown in ("speed", "boasting", "kappa", "1.00", "calls", "tokens", "seconds", "cost"):
        assert shown in done.stdout
    folder = tmp_path / "runs" / "data-m"
    assert "runs/data-m" in done.stdout
    assert [row["label"] for row in results(folder)] == ["MET", "UNMET", "UNMET", "MET"]
    assert len(endpoint.requests) == 4


def test_without_a_judge_the_built_in_one_grades_and_says_so(rubricate, write_dataset, tmp_path):
    done = rubricate("grade", write_dataset())
    assert done.returncode == 0, done.stderr
    assert "built-in judge" in done.stderr
    assert "--judge openai/gpt-6-luna" in done.stderr
    assert "not a replacement for a language model" in " ".join(done.stdout.split())
    rows = results(tmp_path / "runs" / "data-builtin")
    assert {row["judge"] for row in rows} == {"builtin"}
    assert rows[0]["label"] == "MET"
    assert rows[0]["probability"] > 0.5


def test_json_prints_the_summary_as_json(rubricate, write_dataset, endpoint):
    done = rubricate("grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--json")
    summary = json.loads(done.stdout)
    assert {s: n for s, n in summary["verdicts"].items() if n} == {"judged": 4}
    assert summary["agreement"] == {"n": 4, "accuracy": 1.0, "kappa": 1.0, "undefined": None}
    assert summary["score"]["mean"] == 0.5


def test_quiet_prints_nothing(rubricate, write_dataset, endpoint):
    done = rubricate(
        "grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--quiet"
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_rubric_file_takes_the_place_of_the_datasets_rubric(
    rubricate, write_dataset, endpoint, tmp_path
):
    (tmp_path / "r.yaml").write_text("- requirement: Says anything\n  name: anything\n")
    write_dataset(rubric=None, items=[{"submission": "x", "description": "d"}])
    judge = ("--judge", "m", "--base-url", endpoint.url, "--run-dir", "run")
    done = rubricate("grade", "data.json", "--rubric", "r.yaml", *judge)
    assert done.returncode == 0, done.stderr
    assert [row["criterion"] for row in results(tmp_path / "run")] == ["anything"]


def test_every_option_can_stand_in_the_config_file_and_the_command_line_wins(
    rubricate, write_dataset, endpoint, tmp_path
):
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    write_dataset("elsewhere/data.json")
    (folder / "rubric.yaml").write_text("- {name: only, requirement: Says anything}\n")
    items = [{"submission": "x", "description": "d"}] * 3
    write_dataset("elsewhere/data.json", items=items)
    (folder / "run.yaml").write_text(
        "data: data.json\nrubric: rubric.yaml\njudge: m\n"
        f"base_url: {endpoint.url}\nrun_dir: run\nlimit: 2\nconcurrency: 1\ntemperature: 0.5\n"
        "timeout: 9\nattempts: 2\ncannot_assess: zero\npartial: 0.25\njson: true\nquiet: true\n"
    )
    done = rubricate("grade", "--config", folder / "run.yaml")
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["items"], summary["cannot_assess"], summary["partial"]) == (2, "zero", 0.25)
    assert summary["run_dir"] == str(folder / "run")
    assert endpoint.requests[0].body["temperature"] == 0.5
    won = rubricate("grade", "--config", folder / "run.yaml", "--limit", "3")
    assert json.loads(won.stdout)["items"] == 3


def test_an_address_that_a_config_file_names_gets_no_key(
    rubricate, endpoint, write_dataset, tmp_path
):
    write_dataset()
    (tmp_path / "run.yaml").write_text(f"data: data.json\njudge: m\nbase_url: {endpoint.url}\n")
    told = ("grade", "--config", "run.yaml", "--no-cache")
    error = one_error_line(rubricate(*told, RUBRICATE_API_KEY="a-key-of-the-shell"))
    assert error.startswith("Error: run.yaml: base_url: the key in RUBRICATE_API_KEY goes only to")
    assert endpoint.requests == []
    named = rubricate(*told, "--base-url", endpoint.url, RUBRICATE_API_KEY="a-key-of-the-shell")
    assert named.returncode == 0, named.stderr
    assert rubricate(*told, "--run-dir", "keyless").returncode == 0
    sent = [request.headers.get("Authorization") for request in endpoint.requests]
    assert set(sent[: len(sent) // 2]) == {"(given)"}
    assert set(sent[len(sent) // 2 :]) == {None}


@pytest.mark.parametrize(
    ("config", "told"),
    [
        *(
            (f"data: {data}\nrubric: none.yaml\n", f"give '{data}' on the command line")
            for data in (
                "ssh://host/a.csv",
                "simplecache::https://host/a.csv",
                "reference://a.json",
            )
        ),
        ("data: data.json\njugde: m\n", "did you mean 'judge'"),
        ("data: data.json\nlimit: many\n", "run.yaml: limit"),
    ],
)
def test_a_config_file_that_cannot_be_meant_is_one_line(rubricate, tmp_path, config, told):
    (tmp_path / "run.yaml").write_text(config)
    error = one_error_line(rubricate("grade", "--config", "run.yaml"))
    assert "run.yaml" in error
    assert told in error


@pytest.mark.parametrize(
    "reply",
    ["I would say it is met.", "", '{"reason": "r", "evidence": [], "verdict": "PERHAPS"}'],
    ids=["not JSON", "empty", "not an allowed verdict"],
)
def test_an_unusable_reply_is_a_failed_verdict_and_exit_code_2(
    rubricate, write_dataset, tmp_path, reply
):
    with ScriptedEndpoint([Rule(criterion="Praises", reply=reply)]) as endpoint:
        judge = ("--judge", "m", "--base-url", endpoint.url, "--run-dir", "run")
        done = rubricate("grade", write_dataset(), *judge)
    assert done.returncode == 2, done.stderr
    assert "Failed verdicts by cause: unreadable_reply 2" in done.stdout
    failed = [row for row in results(tmp_path / "run") if row["criterion"] == "boasting"]
    for row in failed:
        assert (row["status"], row["label"], row["value"]) == ("failed", None, None)
        assert row["error"]["kind"] == "unreadable_reply"
    summary = json.loads((tmp_path / "run" / "summary.json").read_text())
    assert summary["verdicts"]["failed"] == 2
    assert summary["criteria"][1]["value"] is None
    assert len(endpoint.requests) == 2 + 2 * 3  # asked again twice each, with what was wrong
    assert "cannot be used" in endpoint.requests[-1].body["messages"][-1]["content"]


def test_an_unknown_option_is_a_usage_error_with_exit_code_1(rubricate, write_dataset):
    assert "--judgee" in one_error_line(rubricate("grade", write_dataset(), "--judgee", "m"))


@pytest.mark.parametrize(
    "number", [signal.SIGINT, signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)]
)
def test_an_interrupted_run_ends_cleanly_and_goes_on_from_there(
    rubricate, write_dataset, tmp_path, number
):
    items = [{"submission": f"answer {n}", "description": "d"} for n in range(40)]
    data = write_dataset(items=items)
    with ScriptedEndpoint(respond=lambda request: Rule(verdict="MET", delay=0.05)) as endpoint:
        options = ["grade", str(data), "--judge", "m", "--base-url", endpoint.url]
        options += ["--concurrency", "2", "--run-dir", "run"]
        process = subprocess.Popen(
            [COMMAND, *options],
            cwd=tmp_path,
            env={**os.environ, "NO_COLOR": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        while len(endpoint.requests) < 10:
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        if number == getattr(signal, "SIGHUP", None):  # of a lost ssh there are two
            process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == 130, errors
        assert "Interrupted." in errors
        assert "Traceback" not in errors
        rows = results(tmp_path / "run")
        judged = sum(row["status"] == "judged" for row in rows)
        assert 8 <= judged < 80
        assert sum((row["error"] or {}).get("kind") == "not_run" for row in rows) == 80 - judged
        before = len(endpoint.requests)
        again = rubricate(*options)
        assert again.returncode == 0, again.stderr
        assert len(endpoint.requests) - before == 80 - judged


ENDED = """
import asyncio, atexit, os
from rubricate.cli import _app, _grading, main

def end(*_, kill=os.kill, own=os.getpid(), number=int(os.environ["NUMBER"])):
    kill(own, number)

class Last:
    def __del__(self, end=end):
        end()

class Loop(asyncio.SelectorEventLoop):
    def close(self):
        super().close()
        end()

moment = os.environ["MOMENT"]
if moment == "before the run":
    _app.app = lambda **_: end()
elif moment == "as its loop ends":
    asyncio.new_event_loop = asyncio.events.new_event_loop = Loop
elif moment == "when all is written":
    _grading._print_summary = end
elif moment == "at exit":
    atexit.register(end)
else:
    last = Last()
main()
"""


@pytest.mark.parametrize(
    ("moment", "name", "code"),
    [
        ("before the run", "SIGTERM", 130),
        ("as its loop ends", "SIGINT", 130),
        ("as its loop ends", "SIGTERM", 130),
        ("as its loop ends", "SIGHUP", 130),
        ("when all is written", "SIGTERM", 130),
        ("at exit", "SIGHUP", 0),
        ("as Python ends", "SIGINT", 0),
        ("as Python ends", "SIGTERM", 0),
    ],
)
def test_a_signal_before_and_after_the_run_kills_no_command(
    write_dataset, tmp_path, moment, name, code
):
    number = getattr(signal, name, signal.SIGTERM)
    done = subprocess.run(
        [sys.executable, "-c", ENDED, "grade", write_dataset(), "--quiet"],
        cwd=tmp_path,
        env={**os.environ, "MOMENT": moment, "NUMBER": str(int(number))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == code, done.stderr
    assert done.stderr in ("", "Interrupted.\n")


@pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="Windows has no SIGHUP")
def test_under_nohup_a_lost_terminal_ends_no_run(write_dataset, tmp_path):
    data = write_dataset(items=[{"submission": f"answer {n}", "description": "d"} for n in "123"])
    held = threading.Event()

    def respond(request: object) -> Rule:
        held.wait(60)
        return Rule(verdict="MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        process = subprocess.Popen(
            ["nohup", COMMAND, "grade", data, "--judge", "m", "--base-url", endpoint.url],
            cwd=tmp_path,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        while not endpoint.requests:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        process.send_signal(signal.SIGHUP)
        held.set()
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors


@pytest.mark.parametrize(("name", "verdicts"), [("physics.json", 147), ("recipes.json", 312)])
def test_the_built_in_judge_grades_the_shipped_examples(
    rubricate, tmp_path, shipped_example: Callable[[str], Path], name, verdicts
):
    done = rubricate("grade", shipped_example(name), "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    rows = results(tmp_path / "run")
    assert len(rows) == verdicts
    assert {row["status"] for row in rows} <= {"judged", "abstained"}


def test_examples_refit_the_built_in_judge_and_shows_out_of_fold_figures(
    rubricate, tmp_path, shipped_example: Callable[[str], Path]
):
    data = shipped_example("physics.json")
    done = rubricate("grade", data, "--examples", data, "--run-dir", "run")
    assert done.returncode == 0, done.stderr
    assert "out of fold" in " ".join(done.stdout.split())
    for command in ("agree", "calibrate", "cascade", "ppi", "certify"):
        assert "fitted to labels" in rubricate("trust", command, "run").stderr, command


def test_examples_are_shown_to_a_language_model(rubricate, write_dataset, endpoint):
    data = write_dataset()
    items = [
        {"submission": text, "description": "", "ground_truth": ["MET", "UNMET"]}
        for text in ("It is fast.", "So it is, very.", "Nobody knows about it.")
    ]
    examples = ("--examples", write_dataset("labelled.json", items=items), "--examples-count", "2")
    judge = ("--judge", "m", "--base-url", endpoint.url, "--examples-pick", "nearest")
    done = rubricate("grade", data, *judge, *examples)
    assert done.returncode == 0, done.stderr
    systems = [request.body["messages"][0]["content"] for request in endpoint.requests]
    assert all(system.count("\nSubmission: ") == 2 for system in systems)


def test_examples_without_labels_are_an_error_that_names_the_file(rubricate, write_dataset):
    items = [{"submission": "text", "description": ""}]
    data, bare = write_dataset(), write_dataset("bare.json", items=items)
    error = one_error_line(rubricate("grade", data, "--examples", bare))
    assert "bare.json: examples need labels" in error


@pytest.mark.parametrize("judges", [("m",), ("m", "n")])
def test_a_dead_endpoint_is_told_once_and_without_a_table_of_dashes(
    rubricate, write_dataset, judges
):
    named = [part for name in judges for part in ("--judge", name)]
    options = (*named, "--base-url", "http://127.0.0.1:9/v1", "--max-outage", "0.1")
    done = rubricate("grade", write_dataset(), *options, "--run-dir", "run", "--attempts", "1")
    assert done.returncode == 1
    assert (done.stdout + done.stderr).count("Connect call failed") == 1
    assert "Nothing was judged: of 4 verdicts 1 failed, 3 not run." in done.stdout
    assert "–" not in done.stdout
    shown = rubricate("show", "run")
    assert shown.stdout.count("Connect call failed") == 1
    assert "–" not in shown.stdout
