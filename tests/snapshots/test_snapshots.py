"""What runs say, in every form that has readers: JSON, terminal text, the page, tables.

The files in the folders beside this one are what the commands gave. Where a change means them to
change (a word, a figure), renew them and read the diff:

    pytest -n 0 tests/snapshots --renew-snapshots

Times, addresses, folders, the version and keys that depend on an address are made equal; nothing
else is. JSON is compared without regard to the order of an object's keys.
"""

from __future__ import annotations

import base64
import difflib
import json
import re
import subprocess
import zlib
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from rubricate import __version__
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

HERE = Path(__file__).parent
INPUTS = HERE / "inputs"
Command = Callable[..., "subprocess.CompletedProcess[str]"]
WIDTH = 96
"""Columns that a JSON value may take on one line."""

AGREEMENT = re.compile(r"(?ms)^\S[^\n]* against labels of .*?(?=^Distributions$)")
"""The tables of agreement on a page."""

VARYING = re.compile(r"(seconds|timestamp|_time|^size)$")
"""Keys whose values differ from run to run: times, and how well a page with times packs."""


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def lines_of(value: Any, indent: str = "", key: str = "", end: str = "") -> list[str]:
    """JSON in lines that a diff can be read by: what is short stands on one line."""
    line = f"{indent}{key}{compact(value)}{end}"
    if len(line) <= WIDTH or not isinstance(value, list | dict) or not value:
        return [line]
    parts = [(f"{compact(k)}: ", v) for k, v in value.items()] if isinstance(value, dict) else []
    parts = parts or [("", one) for one in value]
    inner = [
        line
        for number, (name, one) in enumerate(parts, start=1)
        for line in lines_of(one, f"{indent} ", name, "," if number < len(parts) else "")
    ]
    left, right = "{}" if isinstance(value, dict) else "[]"
    return [f"{indent}{key}{left}", *inner, f"{indent}{right}{end}"]


class Equal:
    """Makes what differs from run to run equal."""

    def __init__(self, folder: Path) -> None:
        self._folder = str(folder)
        self._keys: dict[str, str] = {}

    def text(self, text: str) -> str:
        text = text.replace(self._folder, "FOLDER")
        text = re.sub(r"127\.0\.0\.1:\d+", "127.0.0.1:PORT", text)
        text = text.replace(f'"{__version__}"', '"VERSION"').replace(
            f"rubricate {__version__}", "rubricate VERSION"
        )
        text = re.sub(r"\b[0-9a-f]{32}\b", self._key, text)
        text = re.sub(r"\b[0-9a-f]{64}\b", "HASH", text)
        text = re.sub(r"\d{4}-\d\d-\d\dT[\d:+]+", "TIME", text)
        text = re.sub(r"\d{8}_\d{6}(-\d+)?", "DATE_TIME", text)
        text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", "TIME", text)
        text = re.sub(r"^(seconds +)[\d.]+|\b[\d.]+ s$", r"\1SECONDS", text, flags=re.MULTILINE)
        return "\n".join(line.rstrip() for line in text.splitlines()).strip() + "\n"

    def _key(self, found: re.Match[str]) -> str:
        return self._keys.setdefault(found[0], f"KEY-{len(self._keys)}")

    def data(self, value: Any, key: str = "") -> Any:
        if isinstance(value, dict):
            return {self.text(k)[:-1]: self.data(v, k) for k, v in sorted(value.items())}
        if isinstance(value, list):
            # The page leaves out what takes less than 0.05 s.
            kept = [one for one in value if not re.fullmatch(r"[\d.]+ s", str(one))]
            return [self.data(one, key) for one in kept]
        if isinstance(value, str):
            return "VARIES" if VARYING.search(key) else self._string(value)
        if isinstance(value, int | float) and VARYING.search(key):
            return "VARIES"
        return float(f"{value:.6g}") if isinstance(value, float) else value

    def _string(self, value: str) -> str:
        return "VERSION" if value == __version__ else self.text(value)[:-1]

    def json(self, value: Any) -> str:
        return "\n".join(lines_of(self.data(value))) + "\n"


class Page(HTMLParser):
    """What a page shows, in lines: its text, titles and the shapes of its plots; and its data."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.data: dict[str, Any] = {}
        self._open: list[tuple[str, dict[str, str | None]]] = []
        self.feed(source)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._open.append((tag, given))
        said = [f"{name}={given[name]}" for name in ("title", "aria-label", "alt") if name in given]
        if tag in ("circle", "line", "path", "polyline", "polygon", "rect"):
            said = [f"{name}={value}" for name, value in given.items()]
        if said:
            self.lines.append(f"<{tag} {' '.join(said)}>")

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        tag, given = self._open[-1] if self._open else ("", {})
        if tag == "script" and given.get("type"):
            packed = zlib.decompress(base64.b64decode(data), -zlib.MAX_WBITS)
            self.data[str(given["id"])] = json.loads(packed)
        elif tag not in ("script", "style") and data.strip():
            self.lines.append(" ".join(data.split()))


@pytest.fixture
def snapshots(request: pytest.FixtureRequest) -> Callable[[str, dict[str, str]], None]:
    """Compare texts by file name with the files of a folder, or write these anew."""

    def compare(folder: str, found: dict[str, str]) -> None:
        kept = HERE / folder
        if request.config.getoption("renew_snapshots"):
            kept.mkdir(exist_ok=True)
            for path in kept.iterdir():
                path.unlink()
            for name, text in found.items():
                (kept / name).write_text(text, "utf-8", newline="\n")
        expected = {path.name: path.read_text("utf-8") for path in kept.iterdir()}
        assert sorted(found) == sorted(expected)
        differences = [
            line
            for name, text in found.items()
            for line in difflib.unified_diff(
                expected[name].splitlines(), text.splitlines(), f"{folder}/{name}", "now", n=1
            )
        ]
        if differences:
            pytest.fail("\n".join(differences), pytrace=False)

    return compare


def with_equal_times(run: Path) -> None:
    """Write times into a run that are the same each time, so that its figures of times are too."""
    results = run / "results.jsonl"
    lines = results.read_text("utf-8").splitlines()
    results.write_text(
        "".join(
            re.sub(r'"seconds":[^,}]+', f'"seconds":{number / 64}', line) + "\n"
            for number, line in enumerate(lines)
        ),
        "utf-8",
    )
    summary = run / "summary.json"
    text = summary.read_text("utf-8")
    summary.write_text(re.sub(r'"seconds": ?[\d.e-]+', '"seconds": 0.5', text), "utf-8")


def views(rubricate: Command, folder: Path, commands: dict[str, tuple[str, ...]]) -> dict[str, str]:
    """What a run folder holds and what commands say of it, by the name of the file to keep it in.

    What a command writes to `out.SUFFIX` is kept in place of what it prints. Figures of agreement
    are kept of runs whose commands show them: a new figure changes these snapshots alone.
    """
    equal = Equal(folder)
    found = {}
    for name in ("items.jsonl", "results.jsonl"):
        lines = (folder / "run" / name).read_text("utf-8").splitlines()
        found[f"{name}.txt"] = equal.json([json.loads(line) for line in lines])
    found["summary.json.txt"] = equal.json(
        json.loads((folder / "run" / "summary.json").read_text())
    )
    shown = equal.json(json.loads(rubricate("show", "run", "--json").stdout))
    assert shown == found["summary.json.txt"]
    for name, arguments in commands.items():
        done = rubricate(*arguments)
        assert "Traceback" not in done.stderr
        assert done.returncode in (0, 2), done.stderr
        written = next((one for one in arguments if one.startswith("out.")), None)
        if written == "out.html":
            page = Page((folder / written).read_text("utf-8"))
            text = equal.text("\n".join(page.lines))
            if "agree" not in commands:
                text = AGREEMENT.sub("", text)
            found[f"{name}.txt"] = text
            if "--compare" in arguments:  # the fullest page; its data have one form
                found[f"{name}-data.txt"] = equal.json(page.data)
        elif written is not None:
            found[f"{name}.txt"] = equal.text((folder / written).read_text("utf-8"))
        elif "--json" in arguments:
            found[f"{name}.txt"] = equal.json(json.loads(done.stdout))
        else:
            told = "".join(f"\n--- stderr\n{done.stderr}" for _ in "1" if done.stderr.strip())
            found[f"{name}.txt"] = equal.text(done.stdout + told)
    return found


def asked(rubricate: Command, endpoint: ScriptedEndpoint, *arguments: str | Path) -> str:
    """Grade one request after the other, into a run with equal times; what it printed."""
    options = ("--base-url", endpoint.url, "--concurrency", "1", "--no-cache")
    done = rubricate("grade", *arguments, *options)
    assert done.returncode in (0, 2), done.stderr
    return f"{done.stdout}\n--- stderr\n{done.stderr}"


FORMS = {
    "show": ("show", "run"),
    "agree": ("trust", "agree", "run"),
    "agree-json": ("trust", "agree", "run", "--json", "--resamples", "200"),
    "prompts": ("show", "run", "--disagreements", "--prompt"),
    "export": ("export", "run", "-o", "out.csv", "--no-texts"),
}
PLAIN = [
    Rule(submission="breaks the judge", criterion="kilometres", reply="nonsense"),
    Rule(submission="Perhaps", criterion="kilometres", verdict="CANNOT_ASSESS", reason="No word"),
    Rule(submission="endless", status=400, message="This model's maximum context length is 10"),
    Rule(
        submission="for it has no mass",
        criterion="kilometres",
        verdict="MET",
        reason="It says <so>",
        evidence=["300000 kilometres a second", "never said at all"],
    ),
]
AFTER = [
    Rule(submission="Light is roughly", criterion="kilometres", verdict="UNMET", reason="No more"),
    Rule(submission="Fast", criterion="shamelessly", verdict="UNMET", reason="That is modest"),
    Rule(submission="Fast", criterion="clear", verdict=4, reason="Clearer"),
    Rule(submission="derives it", criterion="deep", verdict="explains it", reason="No proof"),
]


def test_a_run_of_all_kinds_of_criteria_with_failures_and_labels(rubricate, snapshots, tmp_path):
    for run, rules in (("run", PLAIN), ("after", [*AFTER, *PLAIN])):
        with ScriptedEndpoint(rules) as endpoint:
            told = asked(
                rubricate, endpoint, INPUTS / "plain.yaml", "--judge", "openai/m", "--run-dir", run
            )
        with_equal_times(tmp_path / run)
    forms = {
        **FORMS,
        "failed": ("show", "run", "--failed"),
        "item": ("show", "run", "--item", "right", "--json"),
        "compare": ("compare", "run", "after"),
        "compare-json": ("compare", "run", "after", "--json"),
        "compare-markdown": ("compare", "run", "after", "-o", "out.md"),
        "page": ("report", "run", "--compare", "after", "-o", "out.html"),
        "page-json": ("report", "run", "-o", "run/other.html", "--json"),
    }
    found = views(rubricate, tmp_path, forms)
    snapshots("plain", {"grade.txt": Equal(tmp_path).text(told), **found})


def otherwise(request: JudgeRequest) -> Rule | None:
    """One judge of the panel sees no zebra."""
    differs = "otherwise" in request.submission and "zebra" in request.criterion
    return Rule(verdict="UNMET") if differs and request.body["model"] == "n" else None


def test_a_panel_with_a_cascade_over_documents_read_in_parts(rubricate, snapshots, tmp_path):
    with ScriptedEndpoint(respond=otherwise) as endpoint:
        told = asked(
            *(rubricate, endpoint, INPUTS / "panel.yaml", "--judge", "m", "--judge", "n"),
            *("--weights", "2,1", "--escalate-to", "o", "--threshold", "0.9"),
            *("--chunk-tokens", "200", "--run-dir", "run"),
        )
    with_equal_times(tmp_path / "run")
    shown = {name: FORMS[name] for name in ("show", "export")}
    forms = {**shown, "page": ("report", "run", "-o", "out.html")}
    found = views(rubricate, tmp_path, forms)
    snapshots("panel", {"grade.txt": Equal(tmp_path).text(told), **found})


def even(request: JudgeRequest) -> Rule | None:
    """Of one submission the judge does not know what to say."""
    unsure = request.submission.startswith("Maybe") and "MET" in request.labels
    share = {"MET": 0.5, "UNMET": 0.4, "CANNOT_ASSESS": 0.1}
    return Rule(probabilities=share) if unsure else None


def test_rubrics_of_single_items_in_probability_mode(rubricate, snapshots, tmp_path):
    with ScriptedEndpoint(respond=even) as endpoint:
        told = asked(
            *(rubricate, endpoint, INPUTS / "probability.yaml", "--judge", "m"),
            *("--mode", "probability", "--permutations", "2", "--run-dir", "run"),
        )
    with_equal_times(tmp_path / "run")
    found = views(rubricate, tmp_path, {**FORMS, "page": ("report", "run", "-o", "out.html")})
    snapshots("probability", {"grade.txt": Equal(tmp_path).text(told), **found})


def test_what_can_be_said_of_runs_and_judges(
    rubricate, snapshots, shipped_example, endpoint, tmp_path
):
    physics, equal = shipped_example("physics.json"), Equal(tmp_path)
    (tmp_path / "rubric.yaml").write_text("- {name: speed, requirement: Gives 300000 kilometres}")
    (tmp_path / "old.txt").write_text("Some 300000 kilometres a second.")
    (tmp_path / "new.txt").write_text("Fast.")
    for run, more in (("run", ()), ("twice", ("--replicates", "2", "--limit", "9"))):
        rubricate("grade", physics, "--judge", "builtin", "--run-dir", run, "--no-cache", *more)
    commands = {
        "ppi": ("trust", "ppi", "run"),
        "calibrate": ("trust", "calibrate", "run", "-o", "map.json", "--force"),
        "cascade": ("trust", "cascade", "run"),
        "certify": ("trust", "certify", "run", "-o", "certificate.json"),
        "replay": ("trust", "replay", shipped_example("ttcw.json")),
        "variance": ("trust", "variance", "twice"),
        "redteam": ("redteam", "--judge", "builtin", "--limit", "2", "--run-dir", "attacked"),
        "compare-pair": (
            *("compare-pair", "old.txt", "new.txt", "--rubric", "rubric.yaml"),
            *("--judge", "m", "--base-url", endpoint.url, "--run-dir", "pair"),
        ),
    }
    found = {}
    for name, arguments in commands.items():
        # All figures of agreement are in a certificate; test_trust_commands.py has them.
        for more in ((),) if name == "certify" else ((), ("--json",)):
            done = rubricate(*arguments, *more)
            assert done.returncode in (0, 2), done.stderr
            text = equal.json(json.loads(done.stdout)) if more else equal.text(done.stdout)
            found[f"{name}{'-json' * len(more)}.txt"] = text
    snapshots("trust", found)


def test_research_reports(rubricate, snapshots, shipped_example, tmp_path):
    with ScriptedEndpoint() as endpoint:
        given = ("--judge", "m", "--base-url", endpoint.url, "--no-cache", "--concurrency", "1")
        given = ("researchrubrics", shipped_example("reports") / "agent_responses", *given)
        given = (*given, "--tasks", shipped_example("reports") / "tasks.jsonl", "--run-dir", "run")
        done = rubricate(*given)
        again = rubricate(*given, "--json")
    equal = Equal(tmp_path)
    rows = [
        json.loads(line)
        for path in sorted((tmp_path / "results").iterdir())[:1]
        for line in path.read_text("utf-8").splitlines()
    ]
    found = {
        "printed.txt": equal.text(done.stdout + done.stderr),
        "printed-json.txt": equal.json(json.loads(again.stdout)),
        "results.txt": equal.json(rows),
    }
    snapshots("reports", found)
