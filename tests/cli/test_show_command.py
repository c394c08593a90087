"""`rubricate show` of some verdicts, and `--json` on every command."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from schemas import check_schema

from rubricate.cli._commands import COMMANDS as KNOWN
from rubricate.testing import Rule, ScriptedEndpoint

LONG = "Roughly 300000 kilometres a second. " + "And so on, and so forth. " * 40


@pytest.fixture
def graded(rubricate, write_dataset, endpoint):
    """A run of three items, one of which the judge gets wrong and one of which it cannot judge."""
    items = [
        {"submission": text, "id": id, "description": description, "ground_truth": labels}
        for text, id, description, labels in (
            (LONG, "long", "right", ["MET", "MET"]),
            ("Fast, shamelessly.", "short", "s", ["UNMET", "MET"]),
            ("Broken.", "broken", "b", ["UNMET", None]),
        )
    ]
    rules = [
        Rule(submission="Broken", criterion="Praises", reply="nonsense"),
        Rule(submission="Fast", verdict="MET", evidence=["shamelessly", "never said"]),
    ]
    with ScriptedEndpoint(rules) as judge:
        options = ("--judge", "m", "--base-url", judge.url, "--run-dir", "run", "--quiet")
        done = rubricate("grade", write_dataset(items=items), *options)
    assert done.returncode == 2, done.stderr
    return rubricate


def told(done) -> list[tuple[str, str]]:
    """The items and criteria that JSON output has."""
    return [
        (item["item"], verdict["criterion"])
        for item in json.loads(done.stdout)["items"]
        for verdict in item["verdicts"]
    ]


def test_option_item_shows_its_text_and_every_verdict_with_reason_and_quotes(graded):
    shown = graded("show", "run", "--item", "short")
    assert shown.returncode == 2
    lines = shown.stdout
    assert "short  s  score" in lines
    assert "How fast is light?" in lines
    assert "Fast, shamelessly." in lines
    assert "“shamelessly”" in lines
    assert "“never said” (not in the submission)" in lines
    assert "boasting (penalty)" in lines
    assert told(graded("show", "run", "--item", "short", "--item", "long", "--json")) == [
        *(("long", "speed"), ("long", "boasting"), ("short", "speed"), ("short", "boasting")),
    ]


def test_a_paraphrase_is_marked_in_results_on_the_terminal_and_after_a_rerun(
    rubricate, write_dataset, tmp_path
):
    quotes = ["Light covered about 300000 kilometres", "Light covers about 900000 kilometres"]
    text = "Light covers about 300000 kilometres a second."
    items = [{"submission": text, "id": "one", "description": "d"}]
    with ScriptedEndpoint([Rule(verdict="MET", evidence=quotes)]) as judge:
        options = ("--judge", "m", "--base-url", judge.url, "--run-dir", "run", "--quiet")
        for _ in range(2):
            assert rubricate("grade", write_dataset(items=items), *options).returncode == 0
            shown = rubricate("show", "run", "--item", "one").stdout
            assert f"“{quotes[0]}” (a paraphrase)" in " ".join(shown.split())
            assert f"“{quotes[1]}” (not in the submission)" in " ".join(shown.split())
            row = json.loads((tmp_path / "run" / "results.jsonl").read_text().splitlines()[0])
            assert row["evidence"] == [
                {"quote": quotes[0], "start": 0, "end": 36, "paraphrase": True},
                {"quote": quotes[1], "start": None, "end": None},
            ]
        assert len(judge.requests) == 2


def test_option_criterion_shows_what_it_asks_and_its_verdicts_with_excerpts(graded):
    shown = graded("show", "run", "--criterion", "speed")
    assert "speed, weight 2: Gives roughly 300000 kilometres" in shown.stdout
    assert "in the run: MET 2, UNMET 1, accuracy 0.67 (n 3)" in shown.stdout
    assert "characters more)" in shown.stdout
    assert "3 verdicts of 3 items" in shown.stdout


def test_option_failed_shows_the_causes(graded):
    shown = graded("show", "run", "--failed")
    assert "unreadable_reply" in shown.stdout
    assert "1 verdict of 1 item" in shown.stdout
    assert told(graded("show", "run", "--failed", "--json")) == [("broken", "boasting")]


def test_option_disagreements_shows_what_differs_from_the_labels(graded):
    found = [("long", "boasting"), ("short", "speed")]
    assert told(graded("show", "run", "--disagreements", "--json")) == found
    both = graded("show", "run", "--disagreements", "--criterion", "speed", "--json")
    assert told(both) == found[1:]
    assert "No verdicts match." in graded("show", "run", "--disagreements", "--failed").stdout
    shown = graded("show", "run", "--disagreements").stdout
    assert shown.count("How fast is light?") == 2  # to decide who is right


def test_disagreements_without_labels_are_those_of_the_judges(rubricate, write_dataset):
    items = [{"submission": "Roughly 300000 kilometres a second.", "description": "d"}]
    with ScriptedEndpoint([Rule(verdict="UNMET")]) as judge:
        rubricate(
            *("grade", write_dataset(items=items), "--judge", "m", "--judge", "builtin"),
            *("--base-url", judge.url, "--run-dir", "run", "--quiet"),
        )
    shown = rubricate("show", "run", "--disagreements")
    assert "m: UNMET" in shown.stdout
    assert "builtin: MET" in shown.stdout
    rubricate("grade", write_dataset(items=items), "--run-dir", "alone", "--quiet")
    refused = rubricate("show", "alone", "--disagreements")
    assert "the run has no human labels, and one judge" in refused.stderr


@pytest.mark.parametrize("width", ["40", "72"])
def test_the_tables_fit_the_width(graded, width):
    shown = graded("show", "run", "--item", "short", "--item", "broken", COLUMNS=width)
    *tables, to_copy = shown.stdout.splitlines()
    assert max(map(len, tables)) <= int(width)
    assert to_copy.endswith("rubricate view run")


def test_what_is_not_in_the_run_is_one_line_with_a_suggestion(graded):
    for option, name, hint in (
        ("--item", "shrt", "no item 'shrt'; did you mean 'short'?"),
        ("--criterion", "sped", "no criterion 'sped'; did you mean 'speed'?"),
        ("--criterion", "taste", "no criterion 'taste' (it has speed, boasting)"),
    ):
        refused = graded("show", "run", option, name)
        assert refused.returncode == 1
        assert refused.stderr == f"Error: the run has {hint}\n"


COMMANDS = {
    "grade": ("data.json", "--run-dir", "again"),
    "show": ("run",),
    "runs": (".",),
    "batches": (".",),
    "export": ("run", "-o", "table.csv"),
    "report": ("run",),
    "trust agree": ("run",),
    "trust calibrate": ("run", "--force"),
    "trust cascade": ("run",),
    "compare": ("run", "run"),
    "trust variance": ("run", "run"),
    "trust plan": ("mean", "run"),
    "trust ppi": ("run",),
    "trust certify": ("run",),
    "trust anchors": ("run", "--judge", "builtin"),
    "trust replay": ("votes.json",),
    "redteam": ("--limit", "1"),
    "compare-pair": ("data.json", "data.json", "--judge", "m"),
    "researchrubrics": (
        *("reports/agent_responses", "--tasks", "reports/tasks.jsonl", "--judge", "m"),
    ),
    "init": ("start",),
    "judges": (),
}
NO_RESULTS = {"label", "schema", "view"}
"""Commands that print no results."""
SCHEMA = {"grade": "summary", "show": "summary"}
"""The schemas that do not have their command's name."""


def test_every_command_is_in_the_table_of_those_that_print_json():
    names = KNOWN.keys() - {"trust"}
    assert names == set(COMMANDS) | NO_RESULTS


@pytest.mark.parametrize("command", COMMANDS)
def test_option_json_of_every_command_prints_one_json_value_and_nothing_else(
    command, rubricate, write_dataset, shipped_example, endpoint, tmp_path
):
    arguments = COMMANDS[command]
    if command == "researchrubrics":
        shutil.copytree(shipped_example("reports"), tmp_path / "reports")
    if "data.json" in arguments:
        write_dataset()
    if "run" in arguments:
        rubricate("grade", shipped_example("physics.json"), "--run-dir", "run", "--quiet")
    if command == "trust replay":
        item = {"submission": "s", "description": "d", "ground_truth": ["MET", "UNMET"]}
        votes = {name: {"speed": "MET", "boasting": "UNMET"} for name in ("a", "b")}
        write_dataset("votes.json", items=[{**item, "metadata": {"votes": votes}}] * 3)
    if "m" in arguments:
        arguments = (*arguments, "--base-url", endpoint.url)
    done = rubricate(*command.split(), *arguments, "--json")
    assert done.returncode in (0, 2), done.stderr
    printed = json.loads(done.stdout)
    assert isinstance(printed, dict)
    check_schema(SCHEMA.get(command, command.split()[-1]), printed)


def test_option_prompt_shows_what_was_sent_to_the_letter_and_every_reply(graded):
    shown = graded("show", "run", "--item", "broken", "--criterion", "boasting", "--prompt")
    assert shown.stdout.count("--- reply\nnonsense\n") == 3
    picked = ("--item", "broken", "--criterion", "boasting", "--prompt", "--json")
    (item,) = json.loads(graded("show", "run", *picked).stdout)["items"]
    (verdict,) = item["verdicts"]
    (conversation,) = verdict["conversations"]
    assert conversation["judge"] == "m"
    exchanges = conversation["exchanges"]
    assert [one["reply"] for one in exchanges] == ["nonsense"] * 3
    assert [len(one["messages"]) for one in exchanges] == [2, 4, 4]
    for one in exchanges:
        for message in one["messages"]:
            assert f"--- {message['role']}\n{message['content']}\n" in shown.stdout


def test_option_prompt_wants_to_know_of_which_verdicts(graded):
    asked = graded("show", "run", "--prompt")
    assert asked.returncode == 1
    assert "select them with --item" in asked.stderr


@pytest.mark.parametrize("keep", ["half a line", "whole lines", "no last line break", "nothing"])
def test_results_that_are_not_whole_are_told_by_every_command(graded, tmp_path, keep):
    path = tmp_path / "run" / "results.jsonl"
    whole = path.read_bytes()
    lines = whole.splitlines(keepends=True)
    left = {
        "half a line": whole[: len(whole) * 2 // 3],
        "whole lines": b"".join(lines[:-2]),
        "no last line break": whole[:-1],
        "nothing": b"",
    }[keep]
    path.write_bytes(left)
    for command in (
        ("show", "run"),
        ("show", "run", "--json"),
        ("show", "run", "--criterion", "speed"),
        ("report", "run"),
        ("trust", "agree", "run"),
        ("export", "run", "-o", "t.csv"),
        ("compare", "run", "run"),
    ):
        done = graded(*command)
        assert (done.returncode, done.stdout) == (1, ""), command
        assert "results.jsonl: is incomplete: it has" in done.stderr, command
        assert "run the same grade command again" in done.stderr, command
    path.write_bytes(whole)
    assert graded("show", "run").returncode == 2


@pytest.mark.parametrize(
    "command",
    [
        ("show", "run"),
        ("show", "run", "--item", "1"),
        ("show", "run", "--by", "tags"),
        ("trust", "agree", "run"),
        ("trust", "ppi", "run"),
        ("trust", "variance", "run", "again"),
        ("compare", "run", "again"),
    ],
)
def test_a_report_is_written_in_the_form_that_its_file_ends_in(
    rubricate: Any, write_dataset: Any, tmp_path: Path, command: tuple[str, ...]
):
    labels = ["MET", "UNMET", "MET", "UNMET", "MET"]
    items = [
        {"id": str(n), "submission": f"It is {n}00000 km/s.", "description": "", "tags": ["a"]}
        | {"ground_truth": [label, label]}
        for n, label in enumerate(labels, 1)
    ]
    write_dataset(items=items)
    for folder in ("run", "again"):
        done = rubricate("grade", "data.json", "--run-dir", folder, "-q")
        assert done.returncode == 0
    shown = rubricate(*command).stdout
    for form in ("md", "html", "json"):
        done = rubricate(*command, "-o", f"out.{form}")
        assert (done.returncode, done.stdout, done.stderr) == (0, shown, "")
    assert (tmp_path / "out.md").read_text().startswith("# ")
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")
    assert json.loads((tmp_path / "out.json").read_text()) == json.loads(
        rubricate(*command, "--json").stdout
    )


def test_texts_that_were_changed_by_hand_are_named_with_their_line(graded, tmp_path):
    path = tmp_path / "run" / "items.jsonl"
    lines = path.read_bytes().splitlines()
    lines[1] = json.dumps({**json.loads(lines[1]), "context": 0}).encode()
    path.write_bytes(b"\n".join(lines) + b"\n")
    done = graded("show", "run", "--failed")
    assert (done.returncode, len(done.stderr.splitlines())) == (1, 1)
    assert "items.jsonl:2: " in done.stderr
