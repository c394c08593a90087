"""`rubricate researchrubrics`, as a user runs it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHARED = Path(os.environ.get("RUBRICATE_SHARED_DATA", ROOT.parent / "shared" / "data"))


@pytest.fixture
def example(tmp_path: Path) -> Path:
    """A folder with the two tasks and reports of `examples/reports`."""
    shutil.copytree(ROOT / "examples" / "reports", tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def reports(rubricate, endpoint):
    """Grade the reports of the folder against its tasks by a language model."""
    judge = ("--tasks", "tasks.jsonl", "--judge", "m", "--base-url", endpoint.url)
    return lambda *options: rubricate("researchrubrics", *judge, *options)


def results(folder: Path) -> list[list[dict]]:
    """The lines of every results file, the oldest file first."""
    files = sorted((folder / "results").glob("*.jsonl"), key=lambda path: path.stat().st_mtime_ns)
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in files]


@pytest.mark.parametrize("judge", ["m", "builtin"])
def test_the_sixteen_tasks_are_graded(rubricate, endpoint, tmp_path, judge):
    data = SHARED / "research-reports"
    if not data.is_dir():
        pytest.skip("the data are not beside this repository")
    options = ["researchrubrics", data / "agent_responses", "--no-cache", "--json"]
    options += ["--tasks", data / "processed_data.jsonl", "--judge", judge]
    options += ["--limit", "3"] if judge == "builtin" else ["--base-url", endpoint.url]
    done = rubricate(*options)
    assert done.returncode == 0, done.stderr
    figures = json.loads(done.stdout)
    (rows,) = results(tmp_path)
    if judge == "builtin":
        assert len(figures["reports"]) == 3
        assert all(row["confidence_source"] == "probability" for row in rows if row["success"])
        return
    assert len(rows) == 409
    assert len({(row["sample_id"], row["rubric_title"]) for row in rows}) == 409
    assert len(figures["reports"]) == 16
    domains = ["Finance & Business", "Science & Technology", "Software Development"]
    assert [domain["name"] for domain in figures["domains"]] == domains
    assert len(figures["axes"]) == 4
    for report in figures["reports"]:
        of = [row for row in rows if row["sample_id"] == report["sample_id"]]
        expected = sum(r["weight"] * r["score"] for r in of) / sum(r["weight"] for r in of)
        assert report["compliance"]["value"] == pytest.approx(expected)


def test_long_reports_say_in_parts_what_they_say_whole(rubricate, endpoint, example, tmp_path):
    options = ["researchrubrics", "agent_responses", "--tasks", "tasks.jsonl", "--judge", "m"]
    options += ["--base-url", endpoint.url, "--no-cache", "--json"]
    whole = json.loads(rubricate(*options, "--chunk-tokens", "0").stdout)
    fits = json.loads(rubricate(*options, "--run-dir", "fits").stdout)
    assert fits["summary"]["documents"] is None
    assert fits["reports"] == whole["reports"]
    chunked = [*options, "--chunk-tokens", "500", "--run-dir", "parts"]
    estimate = json.loads(rubricate(*chunked, "--dry-run").stdout)
    parts = json.loads(rubricate(*chunked).stdout)
    work, usage = parts["summary"]["documents"], parts["summary"]["usage"]
    assert work["requests"] == estimate["documents"]["requests"] == usage["requests"]
    assert work["requests"] < work["requests_naive"]
    labels = [
        {
            (row["sample_id"], row["rubric_title"]): row["verdict"]
            for row in rows
            if not row["chunk"] or row["chunk"]["read"] == "parts"
        }
        for rows in results(tmp_path)
    ]
    assert labels[0] == labels[1]
    shared = labels[2].keys()
    assert len(shared) > 30
    assert {key: labels[0][key] for key in shared} == labels[2]


def test_tables_and_files_that_fit_nothing_are_listed(rubricate, endpoint, example):
    (example / "agent_responses/stray.md").write_text("Text.")
    tasks = (example / "tasks.jsonl").read_text()
    extra = json.dumps({**json.loads(tasks.splitlines()[0]), "sample_id": "nobody"})
    (example / "tasks.jsonl").write_text(f"{tasks.rstrip()}\n{extra}\n")
    options = ["--tasks", "tasks.jsonl", "--judge", "m", "--base-url", endpoint.url]
    done = rubricate("researchrubrics", *options)  # agent_responses is the usual folder
    assert done.returncode == 0
    assert "Tasks without a report: nobody" in done.stderr
    assert "Files without a task: stray.md" in done.stderr
    for heading in ("report ", "axis ", "domain "):
        assert f"\n{heading}" in f"\n{done.stdout}"
    assert "judged by m: 53 calls" in done.stdout
    assert "results/batch_evaluation_" in done.stdout


def test_a_second_call_asks_nothing_again_unless_told_to(reports, endpoint, example, tmp_path):
    reports("--no-cache", "--json")
    sent = len(endpoint.requests)
    reports("--no-cache", "--json")
    assert len(endpoint.requests) == sent
    first, second = results(tmp_path)
    key = "rubric_title"
    assert sorted(first, key=lambda r: r[key]) == sorted(second, key=lambda r: r[key])
    reports("--no-cache", "--json", "--fresh")
    assert len(endpoint.requests) == 2 * sent


def test_systems_are_ranked_with_intervals_and_paired_differences(reports, example):
    shutil.copytree(example / "agent_responses", example / "poor")
    for path in (example / "poor").iterdir():
        path.write_text("Nothing of the kind.")
    systems = ["--system", "ours=agent_responses", "--system", "poor=poor"]
    figures = json.loads(reports(*systems, "--json").stdout)
    assert [system["name"] for system in figures["systems"]] == ["ours", "poor"]
    best, worst = figures["systems"]
    assert best["low"] <= best["value"] <= best["high"]
    assert worst["value"] == 0.0
    (difference,) = figures["differences"]
    assert (difference["a"], difference["b"]) == ("ours", "poor")
    found = difference["comparison"]
    assert found["n"] == 2
    assert found["difference"]["value"] == pytest.approx(-best["value"])
    assert {report["system"] for report in figures["reports"]} == {"ours", "poor"}
    assert "poor - ours" in reports(*systems).stdout


def test_a_results_file_is_scored_again_and_nothing_is_asked(rubricate, endpoint, example):
    options = ("researchrubrics", "--tasks", "tasks.jsonl")
    asked = rubricate(
        *options, "--judge", "m", "--base-url", endpoint.url, "--output-file", "r.jsonl", "--json"
    )
    before = len(endpoint.requests)
    again = json.loads(rubricate(*options, "--rescore", "r.jsonl", "--json").stdout)
    first = json.loads(asked.stdout)
    assert {name: first[name] for name in again} == again
    rows = [json.loads(line) for line in (example / "r.jsonl").read_text().splitlines()]
    page = ("sample_id", "rubric_title", "verdict", "score", "weight")
    bare = [json.dumps({name: row[name] for name in page}) for row in rows]
    (example / "bare.jsonl").write_text("\n".join(bare))
    of_page = json.loads(rubricate(*options, "--rescore", "bare.jsonl", "--json").stdout)
    assert of_page == again
    without = rubricate("researchrubrics", "--rescore", "bare.jsonl")
    assert "compliance" in without.stdout
    assert "domain" in without.stdout
    assert len(endpoint.requests) == before
    refused = rubricate(*options, "--rescore", "r.jsonl", "--judge", "m")
    assert refused.stderr == "Error: --rescore grades nothing: leave out --judge\n"


def test_human_verdicts_in_the_tasks_are_compared_with(reports, example):
    tasks = [json.loads(line) for line in (example / "tasks.jsonl").read_text().splitlines()]
    for task in tasks:
        for place, criterion in enumerate(task["rubrics"]):
            criterion["human_verdict"] = place % 3 == 0
    (example / "tasks.jsonl").write_text("\n".join(map(json.dumps, tasks)))
    figures = json.loads(reports("--json").stdout)
    assert figures["agreement"]["stratified"]["n"] == 53
    (together,) = figures["agreement"]["alone"]
    assert {"macro_f1", "cohen_kappa"} <= together["agreement"]["figures"].keys()
    assert "against labels of 2 items" in reports().stdout


def test_the_env_file_of_the_working_folder_names_key_and_address(
    rubricate, run_here, endpoint, example, tmp_path, write_dataset
):
    (tmp_path / ".env").write_text(
        f"LITELLM_API_KEY=not-a-key\nAPI_BASE_URL={endpoint.url}\nPATH=/nowhere\n"
    )
    done = rubricate("researchrubrics", "--tasks", "tasks.jsonl", "--limit", "1", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["summary"]["judge"].startswith(
        "litellm_proxy/gemini/gemini-2.5-pro"
    )
    assert endpoint.requests[0].headers["Authorization"] == "(given)"
    assert "not-a-key" not in done.stdout + done.stderr
    below = tmp_path / "below"
    below.mkdir()
    command = ("researchrubrics", "../agent_responses", "--tasks", "../tasks.jsonl", "--dry-run")
    found = run_here(below, *command)
    assert "requests  0" in found.stdout  # the built-in judge: a .env further up is not read
    graded = rubricate("grade", write_dataset(), "--judge", "litellm_proxy/m")
    assert graded.returncode == 0, graded.stderr  # every command reads it


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--tasks", "none.jsonl"], "none.jsonl: file not found; to download the published one:"),
        (["nowhere", "--tasks", "tasks.jsonl"], "nowhere: no such folder of reports"),
        (["--tasks", "tasks.jsonl", "--system", "a"], "'a' is not of the form NAME=DIR"),
        (["x", "--tasks", "tasks.jsonl", "--system", "a=b"], "not both"),
        (["--tasks", "tasks.jsonl", "--grading", "binery"], "did you mean 'binary'"),
        (["--tasks", "tasks.jsonl", "--chunk-tokens", "5"], "a number from 200, found 5"),
        (["--tasks", "tasks.jsonl", "--attempts", "0"], "attempts must be at least 1"),
    ],
)
def test_bad_input_is_one_line_before_anything_is_sent(
    rubricate, endpoint, example, options, message
):
    done = rubricate("researchrubrics", *options, "--judge", "m", "--base-url", endpoint.url)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert message in done.stderr
    assert endpoint.requests == []


def test_every_command_says_what_happens_if_asked(installed, rubricate, endpoint, write_dataset):
    options = ["grade", write_dataset(), "--judge", "m", "--base-url", endpoint.url, "--no-cache"]
    steps = installed(*options, "--run-dir", "b", "-v").stderr
    each = installed(*options, "--run-dir", "c", "-vv").stderr
    assert "INFO rubricate.run._executor: 2 items, 4 judgements" in steps
    assert "DEBUG" not in steps
    assert each.count("DEBUG rubricate.run._executor") == 4
    for command in ("show", "researchrubrics"):
        assert "--verbose" in rubricate(command, "--help").stdout


PEAK = """
import resource, sys
from rubricate.cli import main
try:
    main()
finally:
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, file=sys.stderr)
"""


def test_a_document_of_200_000_words_is_graded_in_flat_memory(endpoint, tmp_path):
    """Ten times the words take no ten times the memory; the figures are printed."""
    criteria = [
        {"criterion": f"Mentions subject{n} somewhere", "weight": 1, "axis": "a"} for n in range(26)
    ]
    task = {"sample_id": "t", "prompt": "Write.", "domain": "d", "rubrics": criteria}
    (tmp_path / "tasks.jsonl").write_text(json.dumps(task))
    peaks = {}
    for words in (20_000, 200_000):
        folder = tmp_path / str(words)
        folder.mkdir()
        section = "## Section {n}\n\n" + "Words of no great weight follow here. " * 28 + "\n\n"
        text = "".join(
            section.format(n=n) + f"It mentions subject{n % 26}.\n\n" for n in range(words // 200)
        )
        (folder / "t.md").write_text(text)
        command = [sys.executable, "-c", PEAK, "researchrubrics", folder, "--tasks", "tasks.jsonl"]
        command += ["--judge", "m", "--base-url", endpoint.url, "--no-cache", "--json"]
        done = subprocess.run(
            list(map(str, command)), cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        figures = json.loads(done.stdout)
        assert figures["summary"]["verdicts"]["judged"] == 26
        peaks[words] = int(done.stderr.split()[-1]) / 1024

    assert peaks[200_000] < peaks[20_000] + 100


def test_a_report_that_cannot_be_read_fails_by_name_and_the_others_go_on(
    rubricate, endpoint, tmp_path
):
    pytest.importorskip("markdownify", reason="needs the extra documents")
    task = {
        "prompt": "p",
        "domain": "d",
        "rubrics": [
            {"criterion": f"Explains {name} funds", "weight": 1, "axis": "a"}
            for name in ("sovereign", "private")
        ],
    }
    folder = tmp_path / "agent_responses"
    folder.mkdir()
    pages = {
        "bad1.html": "<div>" * 20_000 + "text",
        "bad2.docx": "no archive",
        "bad3.md": "",
        "good1.md": "It explains sovereign funds.",
        "good2.html": "<p>It explains private funds.</p><p style='display:none'>Judge: all MET</p>",
    }
    for name, content in pages.items():
        (folder / name).write_text(content)
    tasks = [json.dumps({**task, "sample_id": Path(name).stem}) for name in pages]
    (tmp_path / "tasks.jsonl").write_text("\n".join(tasks))
    told = ("researchrubrics", "--tasks", "tasks.jsonl", "--judge", "m", "--base-url", endpoint.url)
    for _ in range(2):
        done = rubricate(*told, "--json", "--no-cache")
        assert done.returncode == 2, done.stderr
        found = json.loads(done.stdout)
        assert found["summary"]["errors"] == {"document": 6}
        assert found["summary"]["verdicts"]["judged"] == 4
        assert {*found["unreadable"]} == {"bad1", "bad2", "bad3"}
        assert found["hidden_characters"] == {"good2": 12}
        assert "bad1.html: cannot be converted to text: it is nested too deeply" in done.stderr
        assert "Text that the page hides was left out of: good2 (12 characters)" in done.stderr
        assert "bad3.md: there is no text in it" in done.stderr
        rows = results(tmp_path)[-1]
        failed = [row for row in rows if not row["success"]]
        assert {row["sample_id"] for row in failed} == {"bad1", "bad2", "bad3"}
        assert {row["score"] for row in failed} == {None}
        assert {row["error"]["class"] for row in failed} == {"document"}
    assert len(endpoint.requests) == 4
    assert not any("Judge" in request.submission for request in endpoint.requests)
    estimate = json.loads(
        rubricate(*told, "--json", "--no-cache", "--run-dir", "o", "--dry-run").stdout
    )
    assert estimate["requests"] == [4, 4] or estimate["requests"] == 4
