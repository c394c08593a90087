"""The installed command `rubricate compare-pair`."""

from __future__ import annotations

import json

import pytest

from rubricate.testing import Rule, ScriptedEndpoint

RUBRIC = [
    {"name": "speed", "weight": 2, "requirement": "Gives roughly 300000 kilometres"},
    {"name": "boasting", "weight": -1, "requirement": "Praises itself shamelessly"},
]
GOOD, BAD = "Roughly 300000 kilometres.", "Shamelessly it praises itself."


@pytest.fixture
def compare(rubricate, tmp_path, endpoint):
    (tmp_path / "rubric.json").write_text(json.dumps(RUBRIC))
    (tmp_path / "good.txt").write_text(GOOD)
    (tmp_path / "bad.md").write_text(BAD)

    def run(*arguments):
        judge = ("--rubric", "rubric.json", "--judge", "m", "--base-url", endpoint.url)
        return rubricate("compare-pair", *arguments, *judge)

    return run


def test_two_files_are_compared_and_nothing_is_asked_twice(compare, endpoint, tmp_path):
    done = compare("good.txt", "bad.md", "--prompt", "How fast?")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stdout.splitlines() if line.startswith("all")]
    assert rows == [["all", "1", "0", "0", "0", "0", "0", "1.00", "[0.03,", "1.00]"]]
    assert "position bias 0.00" in done.stdout
    assert (tmp_path / "runs/pair-good-bad-m/journal.sqlite").exists()
    turned = json.loads(compare("bad.md", "good.txt", "--prompt", "How fast?", "--json").stdout)
    usage = turned["usage"]
    assert (turned["overall"]["second"], usage["calls"], usage["cached"]) == (1, 0, 4)
    assert len(endpoint.requests) == 4


def test_its_run_is_shown_again_as_it_was_until_another_run_has_the_folder(
    rubricate, compare, endpoint, write_dataset
):
    folder = ("--run-dir", "run")
    done = compare("good.txt", "bad.md", *folder)
    assert done.stdout.startswith(rubricate("show", "run").stdout)
    assert "FIRST" in rubricate("show", "run", "--criterion", "speed").stdout
    told = compare("good.txt", "bad.md", *folder, "--json")
    assert rubricate("show", "run", "--json").stdout == told.stdout
    write_dataset()
    grade = ("grade", "data.json", *folder, "--judge", "m", "--base-url", endpoint.url)
    assert "has the results of a run that differs in command:" in rubricate(*grade).stderr
    assert rubricate("show", "run", "--json").stdout == told.stdout
    rubricate(*grade, "--fresh")
    assert "position bias" not in rubricate("show", "run").stdout


def test_two_texts_are_compared_as_they_stand(compare, endpoint):
    report = json.loads(compare(GOOD, BAD, "--texts", "--json").stdout)
    assert report["results"][0]["outcome"] == "first"
    assert {(r.submission, r.second) for r in endpoint.requests} == {(GOOD, BAD), (BAD, GOOD)}


def test_two_columns_of_a_table_and_two_tables_are_compared(compare, tmp_path):
    rows = [{"q": "How fast?", "old": BAD, "new": GOOD}, {"q": "Why?", "old": BAD, "new": BAD}]
    (tmp_path / "both.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    done = compare("both.jsonl", "--columns", "old,new", "--map", "prompt=q", "--json")
    report = json.loads(done.stdout)
    assert [one["outcome"] for one in report["results"]] == ["second", "tie"]
    assert "prompt" not in done.stderr
    told = "No column of both.jsonl is the prompt: the judge does not see the task. Name it: --map"
    assert told in compare("both.jsonl", "--columns", "old,new").stderr
    (tmp_path / "labelled.jsonl").write_text(json.dumps(rows[0] | {"label.other": "MET"}) + "\n")
    labelled = ("labelled.jsonl", "--columns", "old,new")
    assert "has no criterion 'other'" in compare(*labelled).stderr
    assert compare(*labelled, "--map", "prompt=q,ignore=label.*").returncode == 0
    for name, text in (("a", GOOD), ("b", BAD)):
        (tmp_path / f"{name}.json").write_text(json.dumps([{"id": "x", "submission": text}]))
    report = json.loads(compare("a.json", "b.json", "--json").stdout)
    assert [(one["id"], one["outcome"]) for one in report["results"]] == [("x", "first")]


def test_a_dry_run_says_what_it_takes_and_sends_nothing(compare, endpoint, tmp_path):
    done = compare("good.txt", "bad.md", "--dry-run", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert (found["pairs"], found["items"], found["verdicts"], found["known"]) == (1, 2, 4, 0)
    shown = compare("good.txt", "bad.md", "--dry-run").stdout
    assert shown.startswith("pairs     1, each asked about in both orders\nverdicts  4 of 2 items")
    assert not endpoint.requests
    assert not (tmp_path / "runs").exists()


def test_a_failed_answer_ends_with_exit_code_2_and_is_told(rubricate, compare):
    with ScriptedEndpoint([Rule(criterion="Gives", reply="no JSON")]) as endpoint:
        options = ["--rubric", "rubric.json", "--judge", "m", "--base-url", endpoint.url]
        done = rubricate("compare-pair", "good.txt", "bad.md", *options)
    assert done.returncode == 2
    assert "failed 2" in done.stdout
    assert (
        "Failed verdicts by cause: unreadable_reply 2\nFirst failure: unreadable_reply"
        in done.stdout
    )
    assert "need more --max-tokens" in done.stdout
    assert "run folder runs/pair-good-bad-m" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["good.txt"], "name what to compare it with"),
        (["good.txt", "missing.txt"], "file not found"),
        (["good.txt", "rubric.json"], "a text and a dataset cannot be compared"),
        (["rubric.json", "good.txt"], "a dataset and a text cannot be compared"),
        (["good.txt", "bad.md", "--columns", "a,b"], "two texts were given"),
        (["rubric.json", "--columns", "a"], "not of the form old,new"),
        (["rubric.json", "rubric.json", "--prompt", "x"], "a dataset has its own"),
        (["rubric.json", "--columns", "old,new"], "there is no column 'old'"),
        (["twice.json", "twice.json"], "twice.json: items share an id: 'x'"),
        (["book.xlsx", "book.xlsx"], "book.xlsx: is a spreadsheet: save it as CSV"),
        (["rows.jsonl", "rows.jsonl"], "say which has the texts, with --map submission=COLUMN"),
        (["rows.jsonl", "--columns", "answer,q", "--map", "promt=q"], "did you mean 'prompt'?"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_sent(
    compare, endpoint, tmp_path, arguments, problem
):
    item = {"submission": "s", "description": "d", "id": "x"}
    twice = {"prompt": "p", "rubric": RUBRIC, "items": [item, item]}
    (tmp_path / "twice.json").write_text(json.dumps(twice))
    (tmp_path / "rows.jsonl").write_text('{"q": "?", "answer": "a"}\n')
    (tmp_path / "book.xlsx").write_text("PK")
    done = compare(*arguments)
    assert done.returncode == 1
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not endpoint.requests
    assert not (tmp_path / "runs").exists()


def test_a_dataset_without_a_rubric_is_told_which_option_to_give(rubricate, tmp_path):
    item = {"submission": "s", "description": "d"}
    for rubric in ({}, {"rubric": None}):
        (tmp_path / "bare.json").write_text(json.dumps({"prompt": "p", **rubric, "items": [item]}))
        done = rubricate("compare-pair", "bare.json", "bare.json", "--judge", "openai/m")
        assert (done.returncode, done.stderr.count("\n")) == (1, 1)
        assert "give --rubric" in done.stderr


def test_it_needs_a_language_model(rubricate, compare):
    for judge in ([], ["--judge", "builtin"]):
        done = rubricate("compare-pair", "good.txt", "bad.md", "--rubric", "rubric.json", *judge)
        assert (done.returncode, "language model" in done.stderr) == (1, True)
    told = ("--rubric", "rubric.json", "--judge", "opnai/m")
    done = rubricate("compare-pair", "good.txt", "bad.md", *told)
    assert (done.returncode, "did you mean 'openai/m'?" in done.stderr) == (1, True)
