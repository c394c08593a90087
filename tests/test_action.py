"""The GitHub Action: its script, run as the runner runs it, with a server in GitHub's place."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
SCRIPT = ROOT / "action" / "run.py"
TOKEN = "not-a-token"


class GitHub:
    """Comments of one pull request, kept; `refuses` answers everything with 403, and
    `breaks_off` ends every answer early."""

    def __init__(self) -> None:
        self.comments: list[dict[str, Any]] = []
        self.asked: list[tuple[str, str]] = []
        self.refuses = False
        self.breaks_off = False
        github = self

        class Handler(BaseHTTPRequestHandler):
            def log_message(self, *_: Any) -> None:
                pass

            def answer(self, status: int, data: Any) -> None:
                text = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(text) + github.breaks_off))
                self.end_headers()
                self.wfile.write(text)

            def taken(self) -> Any:
                github.asked.append((self.command, self.path))
                assert self.headers["Authorization"] == f"Bearer {TOKEN}"
                size = int(self.headers.get("Content-Length") or 0)
                return json.loads(self.rfile.read(size)) if size else None

            def do_GET(self) -> None:
                self.taken()
                page = int(re.findall(r"[?&]page=(\d+)", self.path)[0])
                found = github.comments[100 * (page - 1) : 100 * page]
                self.answer(403 if github.refuses else 200, found)

            def do_POST(self) -> None:
                user = {"type": "Bot", "login": "github-actions[bot]"}
                new = {"id": len(github.comments) + 1, "user": user, **self.taken()}
                if not github.refuses:
                    github.comments.append(new)
                self.answer(403 if github.refuses else 201, new)

            def do_PATCH(self) -> None:
                body = self.taken()["body"]
                (one,) = [c for c in github.comments if self.path.endswith(f"/{c['id']}")]
                one["body"] = body
                self.answer(200, one)

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"


@pytest.fixture
def github() -> Iterator[GitHub]:
    running = GitHub()
    yield running
    running.server.shutdown()
    running.thread.join()
    running.server.server_close()


Act = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def told(tmp_path: Path, github: GitHub, write_dataset: Any) -> Callable[..., dict[str, str]]:
    """The environment of the action's script with inputs, for pull request 7."""
    write_dataset()
    event = tmp_path / "event.json"
    event.write_text(json.dumps({"pull_request": {"number": 7}}))

    def environment(**inputs: str) -> dict[str, str]:
        defaults = {
            name: str(one["default"])
            for name, one in ACTION["inputs"].items()
            if "${{" not in str(one.get("default", "${{"))
        }
        given = {**defaults, "data": "data.json", "token": TOKEN}
        given |= {name.replace("_", "-"): value for name, value in inputs.items()}
        return {
            **{k: v for k, v in os.environ.items() if not k.startswith("GITHUB_")},
            **{f"INPUT_{k.upper().replace('-', '_')}": v for k, v in given.items()},
            "GITHUB_API_URL": github.address,
            "GITHUB_REPOSITORY": "owner/name",
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_OUTPUT": str(tmp_path / "output"),
            "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
            "RUBRICATE_CACHE": "",
            "HOME": str(tmp_path),
            "XDG_CACHE_HOME": str(tmp_path / "cache"),
        }

    return environment


@pytest.fixture
def act_in_processes(tmp_path: Path, told: Callable[..., dict[str, str]]) -> Act:
    """Run the action's script, and what it runs, in processes of their own."""

    def run(**inputs: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-P", str(SCRIPT)],
            cwd=tmp_path,
            env=told(**inputs),
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


@pytest.fixture
def act(
    tmp_path: Path,
    told: Callable[..., dict[str, str]],
    run_here: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Act:
    """The same in this process."""

    def command(given: list[str], *, stdout: int | None, check: bool) -> Any:
        assert given[:4] == [sys.executable, "-P", "-m", "rubricate"]
        done = run_here(tmp_path, *given[4:])
        sys.stdout.write("" if stdout else done.stdout)
        sys.stderr.write(done.stderr)
        return done

    def run(**inputs: str) -> subprocess.CompletedProcess[str]:
        script = runpy.run_path(str(SCRIPT))["main"]
        processes = SimpleNamespace(run=command, DEVNULL=subprocess.DEVNULL)
        with monkeypatch.context() as patch:
            patch.setattr(os, "environ", told(**inputs))
            patch.chdir(tmp_path)
            patch.setitem(script.__globals__, "subprocess", processes)
            capsys.readouterr()
            code = script()
        shown = capsys.readouterr()
        return subprocess.CompletedProcess([], code, shown.out, shown.err)

    return run


def test_a_run_is_commented_once_and_the_next_one_writes_the_comment_anew(
    act: Act, act_in_processes: Act, github: GitHub, tmp_path: Path
):
    github.comments = [  # of people, one of whom copies the mark
        {"id": n, "user": {"type": "User"}, "body": "<!-- rubricate data.json -->\nmine"}
        for n in range(1, 131)
    ]
    done = act_in_processes()
    assert done.returncode == 0, done.stdout + done.stderr
    (own,) = [one for one in github.comments if one["user"]["type"] == "Bot"]
    assert own["body"].startswith("<!-- rubricate data.json -->\n# Summary of light")
    assert "| speed |" in own["body"]
    output = (tmp_path / "output").read_text()
    assert re.fullmatch(r"run-dir=runs/action\nscore=[\d.]+\noutcome=\n", output)
    assert own["body"] == (tmp_path / "summary.md").read_text()
    assert act(fail_if_confidence_bound_under="0.9").returncode == 6
    (own,) = [one for one in github.comments if one["user"]["type"] == "Bot"]
    assert "**below**: confidence bound of score" in own["body"]
    assert github.asked[-1][0] == "PATCH"
    assert all(one["body"].endswith("mine") for one in github.comments[:130])


def test_a_missed_threshold_fails_the_step_and_says_so_in_the_outputs(act: Act, tmp_path: Path):
    assert act(fail_if_confidence_bound_under="0.99").returncode == 6
    assert "outcome=below\n" in (tmp_path / "output").read_text()
    assert act(fail_if_worst_case_under="0").returncode == 0


def test_what_the_items_cannot_tell_passes_with_a_warning_or_fails(act: Act, tmp_path: Path):
    done = act(fail_under="0.9")
    assert (done.returncode, "Warning: the gate cannot tell" in done.stderr) == (0, True)
    assert "outcome=cannot tell\n" in (tmp_path / "output").read_text()
    assert act(fail_under="0.9", on_unclear="fail").returncode == 7


def test_a_baseline_is_compared_with_and_a_worse_run_fails(
    act: Act, github: GitHub, tmp_path: Path, write_dataset: Any
):
    rubric = [{"name": "speed", "weight": 1.0, "requirement": "Gives roughly 300000 kilometres"}]
    right = "Light travels at roughly 300000 kilometres a second."
    ids = "abcdefghijkl"
    write_dataset(rubric=rubric, items=[{"id": one, "submission": right} for one in ids])
    assert act(run_dir="base", comment="false").returncode == 0
    assert github.asked == []
    write_dataset(rubric=rubric, items=[{"id": one, "submission": "Bananas."} for one in ids])
    done = act(run_dir="new", baseline="base", fail_if_worse="0.02")
    assert done.returncode == 3, done.stdout + done.stderr
    assert "# Comparison of two runs" in github.comments[0]["body"]
    assert "Worse: the mean score changed by -1.000" in github.comments[0]["body"]


def test_what_cannot_be_graded_fails_without_a_comment_on_an_earlier_run(
    act: Act, github: GitHub, tmp_path: Path
):
    act(comment="false")
    (tmp_path / "data.json").write_text("{")
    done = act()
    assert done.returncode == 1
    assert "data.json" in done.stderr
    assert github.comments == []


def test_the_comparison_has_arguments_of_its_own(
    act: Act, github: GitHub, write_dataset: Any, tmp_path: Path
):
    for name, text in (("base", "Roughly 300000 kilometres."), ("new", "Bananas.")):
        write_dataset(items=[{"id": name, "submission": text} for name in "abcdefghijkl"])
        done = act(
            run_dir=name,
            baseline="base" if name == "new" else "",
            fail_if_worse="0.02",
            compare_arguments="--confirm 3 --judge builtin",
        )
    assert done.returncode == 3, done.stdout + done.stderr
    assert "held when asked" in github.comments[-1]["body"]


def test_arguments_that_cannot_be_split_are_one_line(act: Act, github: GitHub):
    done = act(arguments="--rubric 'rubric.yaml")
    assert (done.returncode, done.stderr) == (1, "Error: arguments: No closing quotation\n")
    assert github.asked == []


def test_an_answer_of_github_that_breaks_off_is_a_warning(act: Act, github: GitHub, tmp_path: Path):
    github.breaks_off = True
    done = act()
    assert done.returncode == 0, done.stderr
    assert "::warning::rubricate: the comment was not written (IncompleteRead" in done.stdout
    assert (tmp_path / "summary.md").exists()


def test_a_token_that_may_not_comment_is_a_warning(act: Act, github: GitHub, tmp_path: Path):
    github.refuses = True
    done = act()
    assert done.returncode == 0
    assert "::warning::rubricate: the comment was not written (HTTP Error 403" in done.stdout
    assert (tmp_path / "summary.md").exists()
    assert TOKEN not in done.stdout + done.stderr


def test_without_a_pull_request_nothing_is_asked(act: Act, github: GitHub, tmp_path: Path):
    (tmp_path / "event.json").write_text(json.dumps({"pull_request": {"number": "7/../1"}}))
    assert act().returncode == 0
    assert github.asked == []


def test_text_from_outside_mentions_nobody_links_nowhere_and_commands_nothing(
    act_in_processes: Act, github: GitHub, write_dataset: Any, tmp_path: Path
):
    hostile = "::add-mask::x\n@everyone fixes #1 https://evil.example www.evil.example <img src=x>"
    rubric = [{"name": hostile, "weight": 1.0, "requirement": "r"}]
    items = [{"id": hostile, "submission": hostile}]
    path = write_dataset(rubric=rubric, items=items)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"name": hostile}))
    (tmp_path / "rubricate.py").write_text("raise SystemExit('a module of the repository')")
    done = act_in_processes(data="data.json")
    assert done.returncode in (0, 2), done.stdout + done.stderr
    body = github.comments[0]["body"]
    assert "everyone" in body
    for live in ("@everyone", "#1", "https://evil", "www.evil", "<img"):
        assert live not in body
    lines = done.stdout.splitlines()
    begins = [n for n, line in enumerate(lines) if line.startswith("::stop-commands::")]
    for begin in begins:
        end = lines.index(lines[begin].replace("stop-commands::", "") + "::", begin)
        lines[begin : end + 1] = [""] * (end + 1 - begin)
    assert not [line for line in lines if line.startswith("::")]


def test_a_long_comment_is_cut_at_a_line(monkeypatch: pytest.MonkeyPatch):
    told = runpy.run_path(str(SCRIPT))["told"]
    text = told("| a |\n" * 50_000, {})
    assert len(text) < 65_536
    assert text.endswith("| a |\n\n(cut: the rest is in the run folder)\n")


def test_no_input_is_written_into_a_command_and_every_one_is_used():
    steps = ACTION["runs"]["steps"]
    commands = [step["run"] for step in steps if "run" in step]
    assert commands
    assert all("${{" not in command for command in commands)
    (env,) = [step["env"] for step in steps if "env" in step]
    named = {name.upper().replace("-", "_") for name in ACTION["inputs"]} - {"PYTHON_VERSION"}
    assert set(env) == {f"INPUT_{name}" for name in named}
    script = SCRIPT.read_text("utf-8") + commands[0]
    assert all(re.search(rf"\b(INPUT_)?{name}\b", script) for name in named)
    assert [step["uses"] for step in steps if "uses" in step] == ["actions/setup-python@v5"]
    assert {step.get("shell", "bash") for step in steps} == {"bash"}
