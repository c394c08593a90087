"""The steps of the GitHub Action: grade, compare, comment, and fail by the thresholds.

Everything comes by the environment, as `action.yml` sets it and as GitHub's runner does; nothing
passes a shell. Texts from outside (submissions, reasons, names of files) reach the log, where no
line of theirs is taken for a command, and the comment, where they mention nobody and link nowhere.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import secrets
import shlex
import subprocess
import sys
import urllib.request
from pathlib import Path
from typing import Any

LONGEST = 60_000
"""Characters of a comment; GitHub takes 65,536."""
TIMEOUT = 30
"""Seconds that one request to GitHub may take."""
FINE, SOME_FAILED = 0, 2
THRESHOLDS = ("FAIL_UNDER", "FAIL_IF_CONFIDENCE_BOUND_UNDER", "FAIL_IF_WORST_CASE_UNDER")
MARK = "<!-- rubricate {} -->"
"""The first line of a comment, by which the next run finds it."""


def main() -> int:
    """Run all steps; gives the exit code."""
    run_dir = given("RUN_DIR") or "runs/action"
    figures, report = Path(run_dir) / "summary.json", Path(run_dir) / "report.md"
    report.unlink(missing_ok=True)
    before = written(figures)
    graded = grade(run_dir)
    summary = read_json(figures)
    if written(figures) == before or not isinstance(summary, dict):
        return graded or 1  # nothing was graded: the folder may have an earlier run's figures
    compared = FINE
    if baseline := given("BASELINE"):
        gate = ["--fail-if-worse", given("FAIL_IF_WORSE"), *unclear()]
        gate = gate if given("FAIL_IF_WORSE") else []
        arguments = ["compare", baseline, run_dir, "-o", str(report), *gate]
        compared = with_more("COMPARE_ARGUMENTS", arguments)
    if not report.exists():
        rubricate("show", run_dir, "-o", str(report), quiet=True)
    reached = summary.get("thresholds") or {}
    score = (summary.get("score") or {}).get("mean")
    append("GITHUB_OUTPUT", f"run-dir={one_line(run_dir)}\n")
    append("GITHUB_OUTPUT", f"score={'' if score is None else float(score)}\n")
    append("GITHUB_OUTPUT", f"outcome={one_line(str(reached.get('outcome', '')))}\n")
    if report.exists():
        text = told(report.read_text("utf-8"), summary)
        append("GITHUB_STEP_SUMMARY", text)
        if given("COMMENT").lower() != "false":
            comment(text)
    codes = (graded if graded != SOME_FAILED else FINE, compared, graded)
    return next((code for code in codes if code != FINE), FINE)


def given(name: str) -> str:
    """An input, without the spaces around it; empty where it was not given."""
    return os.environ.get(f"INPUT_{name}", "").strip()


def written(path: Path) -> int | None:
    """When a file was written; None where it is not there."""
    return path.stat().st_mtime_ns if path.exists() else None


def grade(run_dir: str) -> int:
    """Grade the dataset; gives the exit code."""
    arguments = [given("DATA"), "--run-dir", run_dir]
    for option in ("JUDGE", *THRESHOLDS):
        if value := given(option):
            arguments.append(f"--{option.lower().replace('_', '-')}={value}")
    if any(map(given, THRESHOLDS)):
        arguments += unclear()
    return with_more("ARGUMENTS", ["grade", *arguments])


def with_more(name: str, arguments: list[str]) -> int:
    """Run a command with the further arguments of an input; gives the exit code."""
    try:
        more = shlex.split(given(name))
    except ValueError as error:
        print(f"Error: {name.lower().replace('_', '-')}: {error}", file=sys.stderr)
        return 1
    return rubricate(*arguments, *more)


def unclear() -> list[str]:
    """What a gate does that cannot tell, as arguments."""
    return [f"--on-unclear={given('ON_UNCLEAR')}"] if given("ON_UNCLEAR") else []


def rubricate(*arguments: str, quiet: bool = False) -> int:
    """Run a command; no line that it prints is a command to the runner.

    A module of the repository cannot stand in for one of the package (`-P`).
    """
    end = secrets.token_hex(16)
    print(f"::stop-commands::{end}", flush=True)
    try:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "rubricate", *arguments],
            check=False,
            stdout=subprocess.DEVNULL if quiet else None,
        )
    finally:
        print(f"\n::{end}::", flush=True)
    return done.returncode


def told(report: str, summary: dict[str, Any]) -> str:
    """The report as a comment: the thresholds first, and nothing in it that GitHub links."""
    checks = (summary.get("thresholds") or {}).get("checks", ())
    lines = [f"- {check_text(check)}\n" for check in checks]
    head = f"{''.join(lines)}\n" if lines else ""
    text = unlinked(f"{head}{report}")
    if len(text) > LONGEST:
        text = text[:LONGEST].rpartition("\n")[0] + "\n\n(cut: the rest is in the run folder)\n"
    return f"{MARK.format(mark_name())}\n{text}"


def check_text(check: dict[str, Any]) -> str:
    """A threshold and what became of it."""
    name = markdown(check["criterion"] or "score")
    value = "none" if check["value"] is None else f"{check['value']:.3f}"
    return f"**{check['outcome']}**: {check['figure']} of {name} {value}, {check['threshold']:g}"


def markdown(text: str) -> str:
    """Text without markup of its own."""
    safe = one_line(text).replace("&", "&amp;").replace("<", "&lt;")
    return re.sub(r"([\\|`*_\[\]])", r"\\\1", safe)


def unlinked(text: str) -> str:
    """Text that mentions nobody and links nowhere: a space of no width stands in what would."""
    text = re.sub(r"(@|#|\bGH-)(?=\w)", "\\1\u200b", text, flags=re.IGNORECASE)
    return re.sub(r"(://|\bwww\.)", "\\1\u200b", text, flags=re.IGNORECASE)


def mark_name() -> str:
    """What tells this comment from that of another dataset."""
    return re.sub(r"[^\w./-]|-{2,}", "_", given("DATA"))[:100]


def one_line(text: str) -> str:
    return " ".join(text.split())


# GitHub


def comment(text: str) -> None:
    """Write the comment on the pull request, or write it anew; what goes wrong is a warning.

    A run for a fork has a token that may not comment.
    """
    number, token = pull_request(), given("TOKEN")
    if number is None or not token:
        return
    api = os.environ.get("GITHUB_API_URL", "https://api.github.com")
    place = f"{api}/repos/{os.environ.get('GITHUB_REPOSITORY', '')}/issues"
    try:
        known = find(f"{place}/{number}/comments", token, text.partition("\n")[0])
        if known is None:
            request("POST", f"{place}/{number}/comments", token, {"body": text})
        else:
            request("PATCH", f"{place}/comments/{known}", token, {"body": text})
    except (http.client.HTTPException, OSError, ValueError, KeyError, TypeError) as error:
        warn(f"the comment was not written ({error}); the job summary has it")
        if isinstance(error, urllib.error.HTTPError):
            error.close()


def pull_request() -> int | None:
    """The number of the pull request that the run is for."""
    event = read_json(Path(os.environ.get("GITHUB_EVENT_PATH", "")))
    if not isinstance(event, dict):
        return None
    number = (event.get("pull_request") or {}).get("number")
    return number if type(number) is int else None


def find(address: str, token: str, mark: str) -> int | None:
    """The comment that an earlier run wrote; a person's is none, whatever it begins with."""
    page = 1
    while True:
        comments = request("GET", f"{address}?per_page=100&page={page}", token)
        for one in comments:
            is_ours = one["user"]["type"] == "Bot" and (one["body"] or "").startswith(mark)
            if is_ours:
                return int(one["id"])
        if len(comments) < 100:
            return None
        page += 1


def request(method: str, address: str, token: str, body: Any = None) -> Any:
    """Ask GitHub's interface; gives the JSON of its answer."""
    asked = urllib.request.Request(
        address,
        method=method,
        data=None if body is None else json.dumps(body).encode(),
        headers={
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "Content-Type": "application/json",
            "X-GitHub-Api-Version": "2022-11-28",
        },
    )
    with urllib.request.urlopen(asked, timeout=TIMEOUT) as answer:
        return json.load(answer)


# The runner


def append(variable: str, text: str) -> None:
    """Append to a file of the runner, if there is one."""
    if name := os.environ.get(variable):
        with Path(name).open("a", encoding="utf-8") as file:
            file.write(text)


def warn(text: str) -> None:
    """A warning in the run's log."""
    escaped = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    print(f"::warning::rubricate: {escaped}", flush=True)


def read_json(path: Path) -> Any:
    """A file's JSON; None where it is not there or none."""
    try:
        return json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        return None


if __name__ == "__main__":
    sys.exit(main())
