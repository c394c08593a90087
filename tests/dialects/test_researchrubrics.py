"""Research reports under the names of the ResearchRubrics page."""

from __future__ import annotations

import asyncio
import json
import random
import subprocess
import sys
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from rubricate import InputError
from rubricate.analysis import read_run, scores_by
from rubricate.dialects.researchrubrics import (
    DEFAULT_MODEL,
    ReportOptions,
    RubricEvaluator,
    calculate_compliance_score,
    compliance,
    compliance_by_report,
    evaluate_reports_batch,
    evaluate_task_rubrics,
    figures,
    find_reports,
    read_tasks,
    result_of,
)
from rubricate.dialects.researchrubrics._results import UNKNOWN_COST
from rubricate.testing import Rule, ScriptedEndpoint

TASK = {
    "prompt": "How do states invest?",
    "sample_id": "t1",
    "domain": "Finance",
    "conceptual_breadth": "Moderate",
    "rubrics": [
        {"criterion": "Explains sovereign funds", "weight": 5, "axis": "content"},
        {"criterion": "Names giraffes elephants", "weight": 4.0, "axis": "content"},
        {"criterion": "Praises itself shamelessly", "weight": -5.0, "axis": "style"},
    ],
}
REPORT = "# Funds\r\n\r\nIt explains sovereign funds, and itself praises shamelessly.\r\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with one task and its report where the page has them."""
    monkeypatch.chdir(tmp_path)
    write_tasks(tmp_path / "data/researchrubrics/processed_data.jsonl", TASK)
    reports = tmp_path / "agent_responses"
    reports.mkdir()
    (reports / "t1.md").write_bytes(REPORT.encode())
    return tmp_path


def write_tasks(path: Path, *tasks: dict) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(task) + "\n" for task in tasks))
    return path


# The page


def test_the_page_grades_one_report(folder, monkeypatch):
    with ScriptedEndpoint() as endpoint:
        monkeypatch.setenv("LITELLM_API_KEY", "not-a-key")
        monkeypatch.setenv("API_BASE_URL", endpoint.url)
        results_df, compliance_score = asyncio.run(evaluate_task_rubrics("agent_responses/t1.md"))
    assert f"Compliance Score: {compliance_score:.2%}" == "Compliance Score: 0.00%"
    tokens = results_df["tokens_used"].sum()
    assert tokens * 1.25e-6 < results_df["cost"].sum() < tokens * 10e-6  # the page's prices
    assert len(results_df) == 3
    assert list(results_df["verdict"]) == ["Satisfied", "Not Satisfied", "Satisfied"]
    assert calculate_compliance_score(results_df) == compliance_score
    body = endpoint.requests[0].body
    assert body["model"] == "gemini/gemini-2.5-pro-preview-06-05"
    texts = json.dumps([request.body["messages"] for request in endpoint.requests])
    assert "How do states invest?" in texts
    assert "5.0" not in texts
    assert "the fault that the criterion describes is present" in texts


def test_a_cost_with_one_unknown_part_is_unknown_and_a_known_one_is_a_number():
    import pandas

    mixed = pandas.Series([0.2, UNKNOWN_COST, 0.1], dtype=object)
    assert f"{mixed.sum():.4f}" == f"{UNKNOWN_COST + 0.1:.2f}" == str(UNKNOWN_COST) == "unknown"


def test_the_page_sums_known_costs(folder, endpoint, monkeypatch):
    monkeypatch.setenv("API_BASE_URL", endpoint.url)
    monkeypatch.setenv("LITELLM_API_KEY", "not-a-key")
    other = "litellm_proxy/none"
    results_df, _ = asyncio.run(evaluate_task_rubrics("agent_responses/t1.md", model=other))
    assert f"Total cost: ${results_df['cost'].sum():.4f}" == "Total cost: $unknown"
    prices = folder / "prices.json"
    prices.write_text('{"m": {"input": 1.0, "output": 2.0}}')
    evaluator = RubricEvaluator("m", base_url=endpoint.url, prices=prices)
    results_df, _ = asyncio.run(evaluate_task_rubrics("agent_responses/t1.md", evaluator=evaluator))
    total = results_df["cost"].sum()
    assert total > 0
    assert f"Total cost: ${total:.4f}".startswith("Total cost: $0.0")


PAGE = """
import asyncio
from pathlib import Path
from rubricate.dialects.researchrubrics.evaluate_single_report import evaluate_task_rubrics
async def main():
    # Evaluate a specific markdown file
    markdown_file = "agent_responses/t1.md"
    results_df, compliance_score = await evaluate_task_rubrics(markdown_file)
    # Display results
    print(f"Compliance Score: {compliance_score:.2%}")
    print(f"Evaluated {len(results_df)} rubrics")
asyncio.run(main())
"""


def test_the_pages_program_reads_key_and_address_from_its_env_file(folder, endpoint):
    pytest.importorskip("pandas")
    (folder / ".env").write_text(f"LITELLM_API_KEY=not-a-key\nAPI_BASE_URL={endpoint.url}\n")
    done = subprocess.run(
        [sys.executable, "-c", PAGE], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "Compliance Score: 0.00%\nEvaluated 3 rubrics\n", done.stderr
    assert len(endpoint.requests) == 3
    assert "not-a-key" not in done.stderr


def test_the_pages_scripts_grade_a_folder_and_show_the_scores(folder, endpoint):
    (folder / ".env").write_text(f"LITELLM_API_KEY=not-a-key\nAPI_BASE_URL={endpoint.url}\n")

    def script(name: str) -> subprocess.CompletedProcess[str]:
        module = f"rubricate.dialects.researchrubrics.{name}"
        command = [sys.executable, "-m", module]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)

    none_yet = script("calculate_compliance_score")
    assert (none_yet.returncode, none_yet.stderr.count("\n")) == (1, 1)
    graded, shown = script("evaluate_reports_batch"), script("calculate_compliance_score")
    assert (graded.returncode, shown.returncode, shown.stderr) == (0, 0, ""), graded.stderr
    assert "compliance 0.000, n 1" in graded.stdout
    assert "compliance 0.000, n 1" in shown.stdout
    (folder / ".env").unlink()
    without_key = script("evaluate_reports_batch")
    assert (without_key.returncode, without_key.stderr.count("\n")) == (1, 1)


def test_a_batch_takes_a_model_or_an_evaluator(folder):
    assert evaluate_reports_batch(model="builtin").result.judge == "builtin"
    with pytest.raises(InputError, match="either a model or an evaluator"):
        evaluate_reports_batch(model="builtin", evaluator=RubricEvaluator("builtin"))


def test_a_batch_writes_the_pages_fields(folder, endpoint):
    evaluator = RubricEvaluator("m", max_concurrent=5, base_url=endpoint.url)
    batch = evaluate_reports_batch(evaluator=evaluator)
    (path,) = (folder / "results").glob("batch_evaluation_*.jsonl")
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    page = "sample_id rubric_title verdict score confidence reasoning tokens_used cost success"
    assert list(rows[0])[:10] == [*page.split(), "weight"]
    assert len(rows) == len(batch.rows) == 3
    assert calculate_compliance_score(path) == 0.0
    assert batch.figures().reports[0].by_axis["content"].value == pytest.approx(5 / 9)


def test_a_failed_request_is_sent_again_as_often_as_max_retries_says(folder):
    rules = [Rule(criterion="giraffes", status=500, times=1)]
    rules += [Rule(criterion="Praises", status=429, times=1, headers={"Retry-After": "0"})]
    with ScriptedEndpoint(rules) as endpoint:
        evaluator = RubricEvaluator("m", base_url=endpoint.url, max_retries=1)
        _, score = asyncio.run(evaluate_task_rubrics("agent_responses/t1.md", evaluator=evaluator))
    assert score == 0.0
    assert len(endpoint.requests) == 5


def test_confidence_is_a_probability_or_what_the_judge_says_and_labelled_so(folder):
    stated = json.dumps({"reason": "r", "evidence": [], "verdict": "MET", "confidence": 0.85})
    odd = json.dumps({"reason": "r", "evidence": [], "verdict": "UNMET", "confidence": "high"})
    rules = [Rule(criterion="sovereign", reply=stated), Rule(criterion="giraffes", reply=odd)]
    run_dir = folder / "run"
    with ScriptedEndpoint(rules) as endpoint:
        for _ in range(2):  # the second from the journal
            evaluator = RubricEvaluator("m", base_url=endpoint.url)
            rows = evaluate_reports_batch(evaluator=evaluator, run_dir=run_dir).rows
            found = {row["rubric_title"]: row for row in rows}
            one = found["Explains sovereign funds"]
            assert (one["confidence"], one["confidence_source"]) == (0.85, "stated")
            assert found["Names giraffes elephants"]["confidence"] is None
    assert len(endpoint.requests) == 3
    assert "how sure you are" in endpoint.requests[0].body["messages"][1]["content"]
    rows = evaluate_reports_batch(evaluator=RubricEvaluator("builtin")).rows
    sources = {row["confidence_source"] for row in rows if row["success"]}
    assert sources == {"probability"}


def test_of_a_long_report_confidence_is_that_of_the_last_request(folder):
    (folder / "agent_responses/t1.md").write_text("## A\n\nSovereign funds.\n\n" * 90)

    def respond(request):
        if "NOTHING" in request.labels:
            return None
        stated = {"reason": "r", "evidence": ["Sovereign funds."], "verdict": "MET"}
        return Rule(reply=json.dumps({**stated, "confidence": 0.6}))

    with ScriptedEndpoint(respond=respond) as endpoint:
        evaluator = RubricEvaluator("m", base_url=endpoint.url, chunk_tokens=200)
        rows = evaluate_reports_batch(evaluator=evaluator).rows
    assert [(row["confidence"], row["confidence_source"]) for row in rows] == [(0.6, "stated")] * 3
    for row in rows:
        assert row["chunk"]["parts"] > 1
        (evidence,) = row["evidence"]
        assert (evidence["start"], evidence["end"], evidence["chunk"]) == (6, 22, 1)


def test_of_a_panel_confidence_is_the_share_of_votes(folder, endpoint):
    evaluator = RubricEvaluator(["m", "builtin"], base_url=endpoint.url, chunk_tokens=200)
    rows = evaluate_reports_batch(evaluator=evaluator).rows
    assert {row["confidence_source"] for row in rows} == {"votes"}


def test_ternary_has_a_verdict_in_between(folder):
    rules = [
        Rule(criterion="sovereign", verdict="Partially Satisfied"),
        Rule(criterion="giraffes", verdict="Not Satisfied"),
        Rule(criterion="Praises", verdict="Partially Satisfied"),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        evaluator = RubricEvaluator("m", base_url=endpoint.url, grading="ternary")
        table, score = asyncio.run(
            evaluate_task_rubrics("agent_responses/t1.md", evaluator=evaluator)
        )
    assert list(table["score"]) == [0.5, 0.0, 0.5]
    assert score == pytest.approx((2.5 - 2.5) / 9)
    text = endpoint.requests[0].body["messages"][1]["content"]
    assert "Partially Satisfied" in text
    with pytest.raises(InputError, match="did you mean 'ternary'"):
        RubricEvaluator("m", base_url="http://localhost/v1", grading="ternery")


# Compliance


def test_the_compliance_score_is_not_clamped():
    assert compliance([(5, 1), (4, 1), (-5, 1)]).value == pytest.approx(4 / 9)
    faults = [(5, 0), (4, 0), (-5, 1), (-4, 1), (-3, 1)]
    assert compliance(faults).value == pytest.approx(-12 / 9)
    assert compliance([(-5, 1), (-4, 0)]).value == pytest.approx(4 / 9)
    assert compliance([]).value is None


def test_a_failed_criterion_is_missing_and_neither_0_nor_passed(folder):
    with ScriptedEndpoint([Rule(criterion="giraffes", status=400)]) as endpoint:
        evaluator = RubricEvaluator("m", base_url=endpoint.url)
        batch = evaluate_reports_batch(evaluator=evaluator)
    row = next(row for row in batch.rows if "giraffes" in row["rubric_title"])
    assert (row["verdict"], row["score"], row["success"]) == (None, None, False)
    assert row["error"]["class"] == "bad_request"
    found = batch.figures().reports[0].compliance
    assert (found.value, found.judged, found.missing) == (0.0, 2, 1)
    assert (found.lowest, found.highest) == (0.0, pytest.approx(4 / 9))
    assert compliance([(5, None), (-5, 1)]).value is None


def test_compliance_is_as_published_on_simulated_verdicts():
    """`sum(w s) / sum(w+)` of each report, as its page has it; their mean; by axis likewise."""
    draw = random.Random(7)
    rows = [
        {
            "sample_id": f"t{task}",
            "axis": draw.choice(("content", "style")),
            "domain": f"d{task % 3}",
            "weight": float(weight),
            "score": draw.choice((0.0, 0.5, 1.0)),
        }
        for task in range(200)
        for weight in [5, *(draw.choice((5, 4, 2, -2, -5)) for _ in range(draw.randint(3, 25)))]
    ]
    found = figures(result_of(rows))

    def published(of):
        score = sum(row["weight"] * row["score"] for row in of)
        return score / sum(row["weight"] for row in of if row["weight"] > 0)

    by_task = {f"t{task}": [r for r in rows if r["sample_id"] == f"t{task}"] for task in range(200)}
    scores = {task: published(of) for task, of in by_task.items()}
    assert {one.sample_id: one.compliance.value for one in found.reports} == pytest.approx(
        scores, abs=1e-12
    )
    assert found.overall.value == pytest.approx(fmean(scores.values()), abs=1e-12)
    for domain in found.domains:
        of = [scores[task] for task, lines in by_task.items() if lines[0]["domain"] == domain.name]
        assert domain.value == pytest.approx(fmean(of), abs=1e-12)


def test_failures_are_counted_by_axis_with_what_they_cost():
    def row(axis, weight, score):
        return {"sample_id": "t", "axis": axis, "weight": weight, "score": score}

    style, content = figures(
        result_of(
            [
                row("content", 4.0, 0.0),
                row("content", 2.0, 0.5),
                row("content", -3.0, 0.0),
                row("style", -5.0, 1.0),
                row("style", -4.0, None),
                row("style", 3.0, 0.0),
                row("", 9.0, 0.0),
            ]
        )
    ).failures
    assert (style.axis, style.judged, style.not_satisfied, style.penalties) == ("style", 2, 1, 1)
    assert (content.judged, content.not_satisfied, content.partly, content.lost) == (3, 1, 1, 5.0)
    assert (style.lost, style.share) == (8.0, pytest.approx(8 / 13))


def test_a_penalty_that_failed_is_said_in_the_headline_with_the_bounds():
    rows = [
        {"sample_id": "t", "axis": "a", "weight": 4.0, "score": 1.0},
        {"sample_id": "t", "axis": "a", "weight": -3.0, "score": None},
        {"sample_id": "t", "axis": "a", "weight": 4.0, "score": None},
    ]
    found = figures(result_of(rows))
    shown = str(found)
    assert "compliance 1.000, n 1" in shown
    assert (
        "verdicts missing: 2, 1 of them on penalty criteria, which cost nothing here; with them "
        "between 0.125 and 1.000"
    ) in " ".join(shown.split())
    assert "2 (1 penalty)" in shown
    assert (found.overall.lowest, found.reports[0].compliance.penalties_missing) == (0.125, 1)


def test_a_run_of_reports_declares_the_pages_scoring(folder, endpoint):
    batch = evaluate_reports_batch(
        evaluator=RubricEvaluator("m", base_url=endpoint.url), run_dir="run"
    )
    found = batch.summary.scoring
    assert found is not None
    assert found.overall.value == batch.figures().reports[0].compliance.value
    assert found.by[0].groups == list(batch.figures().axes)
    assert scores_by(read_run("run"), ["axis"]).by == found.by


@pytest.mark.parametrize(
    ("options", "concurrency", "attempts"),
    [
        ({}, 5, 3),
        ({"max_concurrent": 7}, 7, 3),
        ({"concurrency": 9, "attempts": 4}, 9, 4),
    ],
)
def test_options_of_a_batch_take_precedence_over_the_evaluators(options, concurrency, attempts):
    evaluator = RubricEvaluator("builtin", 5, 2)
    options = ReportOptions(**options).of(evaluator)
    assert (options.concurrency, options.attempts) == (concurrency, attempts)


def test_options_of_a_batch_are_checked_by_name_and_type(folder):
    with pytest.raises(TypeError, match="max_cots"):
        evaluate_reports_batch(evaluator=RubricEvaluator("builtin"), max_cots=1)
    with pytest.raises(InputError, match="max_retries must be 0 or more, found -1"):
        RubricEvaluator("builtin", max_retries=-1)
    with pytest.raises(InputError, match="max_concurrent must be a whole number"):
        evaluate_reports_batch(evaluator=RubricEvaluator("builtin"), max_concurrent="5")


def test_the_difference_of_two_systems_is_of_what_was_judged_in_both():
    def rows(system, task, *scores):
        return [
            {"system": system, "sample_id": task, "rubric_title": title, "weight": 1.0, "score": s}
            for title, s in zip("abc", scores, strict=True)
        ]

    lines = [row for task in "xyz" for row in rows("one", task, 1.0, 0.0, 0.0)]
    lines += [row for task in "xyz" for row in rows("two", task, 1.0, None, 0.0)]
    (found,) = figures(result_of(lines)).differences
    assert (found.comparison.difference.value, found.comparison.n, found.one_sided) == (0.0, 3, 3)


def test_compliance_reads_results_of_other_programs(tmp_path):
    path = tmp_path / "results.jsonl"
    rows = [
        {"sample_id": "a", "weight": 4.0, "score": 1.0},
        {"sample_id": "a", "weight": 2.0, "score": 0.0},
        {"sample_id": "b", "weight": 1.0, "score": None},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = compliance_by_report(path)
    assert found["a"].value == pytest.approx(4 / 6)
    assert found["b"].value is None
    with pytest.raises(InputError, match="found 2: use compliance_by_report"):
        calculate_compliance_score(path)
    for field, wrong in (("weight", None), ("weight", "4"), ("score", "high"), ("score", 5)):
        with pytest.raises(InputError, match=rf"result 2: the {field} must be .* found {wrong!r}"):
            compliance_by_report([rows[0], {**rows[1], field: wrong}])
    path.write_text('{"sample_id": "a"}\n')
    with pytest.raises(InputError, match=r"results.jsonl:1: the line has no 'weight'"):
        calculate_compliance_score(path)


# Agreement


def test_figures_do_not_depend_on_the_order_in_which_verdicts_came():
    rows = [
        {"sample_id": task, "axis": axis, "weight": weight, "score": score, "domain": "d"}
        for task in ("t1", "t2", "t3")
        for axis in ("style", "content")
        for weight, score in ((0.1, 1.0), (0.2, 1.0), (0.7, 0.0), (-0.3, 1.0))
    ]
    shown = figures(result_of(rows)).to_dict()
    for seed in range(5):
        random.Random(seed).shuffle(rows)
        assert figures(result_of(rows)).to_dict() == shown


def test_agreement_with_people_is_the_cores_resampled_by_task():
    def row(task: str, verdict: str | None, human: str) -> dict[str, object]:
        score = None if verdict is None else float(verdict == "Satisfied")
        names = {"sample_id": task, "weight": 1.0, "score": score}
        return {**names, "verdict": verdict, "human_verdict": human}

    yes, no = "Satisfied", "Not Satisfied"
    rows = [row("a", yes, yes), row("a", yes, yes), row("b", yes, yes)]
    rows += [row("b", no, yes), row("b", no, no), row("b", None, yes)]
    found = figures(result_of(rows)).agreement
    assert (found.groups, found.items, found.stratified.n) == ("sample_id", 2, 5)
    assert found.stratified.accuracy.value == pytest.approx(4 / 5)
    assert figures(result_of([{**one, "human_verdict": None} for one in rows])).agreement is None


# Bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_id": "../t1"}, "'../t1' contains a path"),
        ({"sample_id": ""}, "needs a sample_id"),
        ({"prompt": None}, "needs a prompt"),
        ({"rubrics": []}, "one criterion at least"),
        ({"rubrics": [{"criterion": "x", "weight": "5"}]}, r"rubrics\[0\].weight: expected a num"),
        ({"rubrics": [{"criterion": "x", "wieght": 5}]}, "did you mean 'weight'"),
        ({"rubrics": [{"criterion": "x", "weight": float("inf")}]}, "a finite number"),
        (
            {"rubrics": [{"criterion": "x", "weight": 1, "human_verdict": "Satisfyed"}]},
            "did you mean 'Satisfied'",
        ),
        (
            {"rubrics": [{"criterion": "x", "weight": 1, "counter": "wrods", "at_most": 5}]},
            "did you mean 'words'",
        ),
    ],
)
def test_a_bad_task_is_refused_with_its_line(tmp_path, change, message):
    path = write_tasks(tmp_path / "tasks.jsonl", TASK, {**TASK, "sample_id": "t2", **change})
    with pytest.raises(InputError, match=message) as caught:
        read_tasks(path)
    assert "tasks.jsonl:2" in str(caught.value)


def test_a_tasks_file_that_is_missing_broken_or_ambiguous_is_refused(tmp_path):
    with pytest.raises(InputError, match="huggingface-cli download ScaleAI/researchrubrics"):
        read_tasks(tmp_path / "none.jsonl")
    path = tmp_path / "tasks.jsonl"
    path.write_text(json.dumps(TASK) + '\n{"prompt": \n')
    with pytest.raises(InputError, match=r"tasks\.jsonl:2:.*Failed to parse JSON"):
        read_tasks(path)
    write_tasks(path, TASK, {**TASK, "sample_id": "t2"}, TASK)
    with pytest.raises(InputError, match="'t1' is defined twice, first in line 1") as caught:
        read_tasks(path)
    assert caught.value.line == 3


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t1.md", b"", "there is no text in it"),
        ("t1.pdf", b"not a pdf", "cannot be converted to text"),
    ],
)
def test_a_report_that_is_no_text_is_refused_before_anything_is_sent(
    folder, endpoint, name, content, message
):
    (folder / "agent_responses/t1.md").unlink()
    (folder / "agent_responses" / name).write_bytes(content)
    evaluator = RubricEvaluator("m", base_url=endpoint.url)
    with pytest.raises(InputError, match=message) as caught:
        evaluate_reports_batch(evaluator=evaluator)
    assert name in str(caught.value)
    assert endpoint.requests == []


def test_reports_and_tasks_that_do_not_fit_are_said(folder):
    tasks = read_tasks()
    (folder / "agent_responses/other.md").write_text("text")
    found = find_reports({"": "agent_responses"}, [*tasks])
    assert [path.name for path in found.without_task] == ["other.md"]
    write_tasks(folder / "two.jsonl", TASK, {**TASK, "sample_id": "t2"})
    found = find_reports({"": "agent_responses"}, read_tasks("two.jsonl"))
    assert found.without_report == {"": ["t2"]}
    (folder / "agent_responses/t1.txt").write_text("text")
    with pytest.raises(InputError, match=r"two files for one task: t1\.md and t1\.txt"):
        find_reports({"": "agent_responses"}, tasks)
    with pytest.raises(InputError, match="no such folder"):
        find_reports({"": "nowhere"}, tasks)
    (folder / "empty").mkdir()
    with pytest.raises(InputError, match=r"no report is named after a task, such as t1\.md"):
        find_reports({"": "empty"}, tasks)


def test_a_web_page_is_graded_as_text_that_is_converted_once(folder, endpoint):
    (folder / "agent_responses/t1.md").unlink()
    page = "<html><body><h1>Funds</h1><p>It explains <b>sovereign</b> funds.</p></body></html>"
    (folder / "agent_responses/t1.html").write_text(page)
    evaluator = RubricEvaluator("m", base_url=endpoint.url)
    batch = evaluate_reports_batch(evaluator=evaluator, run_dir=folder / "run")
    assert len(list((folder / "run/documents").iterdir())) == 1
    assert endpoint.requests[0].submission.strip() == "# Funds\n\nIt explains **sovereign** funds."
    assert batch.figures().reports[0].compliance.value == pytest.approx(5 / 9)
    assert batch.reports.without_report == {"": []}


def test_criteria_that_count_need_no_judge(folder, endpoint):
    counted = {"criterion": "Is short", "weight": 2, "counter": "words", "at_most": 100}
    write_tasks(folder / "tasks.jsonl", {**TASK, "rubrics": [counted]})
    evaluator = RubricEvaluator("m", base_url=endpoint.url)
    table, score = asyncio.run(
        evaluate_task_rubrics("agent_responses/t1.md", "tasks.jsonl", evaluator=evaluator)
    )
    assert (score, table["reasoning"][0]) == (1.0, "words: 9")
    assert endpoint.requests == []


def foreign_line(**fields: Any) -> dict[str, Any]:
    """A result line as the page has it."""
    line = {"sample_id": "t1", "rubric_title": "A", "verdict": "Satisfied", "score": 1.0}
    return {**line, "confidence": 0.9, "success": True, "weight": 4.0, **fields}


def test_a_line_of_elsewhere_that_did_not_succeed_is_missing_whatever_its_score(tmp_path):
    path = tmp_path / "results.jsonl"
    failed = foreign_line(rubric_title="B", verdict="Error", score=0.0, success=False, weight=2.0)
    path.write_text("".join(json.dumps(line) + "\n" for line in (foreign_line(), failed)))
    [found] = compliance_by_report(path).values()
    assert (found.value, found.lowest, found.highest) == (1.0, pytest.approx(2 / 3), 1.0)


@pytest.mark.parametrize(("verdict", "score"), [("Satisfied", 0.0), ("Not Satisfied", 1)])
def test_a_verdict_and_a_score_that_contradict_each_other_are_refused(verdict, score):
    with pytest.raises(InputError, match=r"result 2: the verdict is '.*Satisfied' and the score"):
        compliance_by_report([foreign_line(), foreign_line(verdict=verdict, score=score)])


@pytest.mark.parametrize("judge", [DEFAULT_MODEL, "openai/gpt-6-luna"])
def test_a_dry_run_needs_no_api_key(folder, monkeypatch, judge):
    for name in ("LITELLM_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    command = [sys.executable, "-m", "rubricate", "researchrubrics", "--judge", judge]
    done = subprocess.run([*command, "--dry-run"], capture_output=True, text=True, check=True)
    assert "requests  3" in done.stdout
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert "API_KEY" in done.stderr
