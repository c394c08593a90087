"""Answers to one question are one group, unless somebody says otherwise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, PythonModel, Rubric, RubricDataset
from rubricate.analysis import agreement_report, certify, compare_runs, ppi_report, read_run

QUESTIONS, ANSWERS = 12, 5


def graded(tmp_path: Path, name: str, flip: int = 0, questions: int = QUESTIONS) -> Path:
    """All answers to a question get the same verdict; those to every `flip`-th one the other."""
    dataset = RubricDataset("", Rubric([Criterion(name="c", requirement="x")]), name="d")
    for n in range(QUESTIONS * ANSWERS):
        question = n % questions
        said = (question % 3 > 0) != (flip > 0 and question % flip == 0)
        dataset.add_item(
            f"{n} says {said:d}",
            id=f"i{n}",
            prompt=f"question {question}",
            ground_truth=["MET" if question % 4 else "UNMET"],
            metadata={"topic": n % 20},
        )

    def model(messages: list[Any]) -> dict[str, Any]:
        met = "MET" if "says 1" in messages[-1]["content"] else "UNMET"
        return {"reason": "r", "evidence": [], "verdict": met}

    package.grade(dataset, PythonModel(model, name="m"), run_dir=tmp_path / name)
    return tmp_path / name


def test_repeated_prompts_are_groups_and_none_undoes_it(tmp_path: Path, rubricate: Any):
    run = read_run(graded(tmp_path, "run"))
    assert run.summary["prompts"] == QUESTIONS
    report, alone = agreement_report(run), agreement_report(run, groups="none")
    assert (report.groups, report.criteria[0].agreement.clusters) == ("prompt", QUESTIONS)
    assert (alone.groups, alone.criteria[0].agreement.clusters) == (None, QUESTIONS * ANSWERS)
    width, narrow = (
        each.high - each.low for each in (report.criteria[0].accuracy, alone.criteria[0].accuracy)
    )
    assert width > 1.5 * narrow
    assert agreement_report(run, groups="topic").groups == "topic"
    assert agreement_report(run, groups="prompt") == report
    assert (ppi_report(run).groups, certify(run).groups) == ("prompt", "prompt")
    shown = " ".join(rubricate("trust", "agree", "run").stdout.split())
    assert "groups by prompt, --groups none for items" in shown
    assert "over items" in " ".join(
        rubricate("trust", "agree", "run", "--groups", "none").stdout.split()
    )


def test_one_prompt_and_prompts_of_one_answer_each_are_no_groups(tmp_path: Path):
    for name, questions in (("one", 1), ("each", QUESTIONS * ANSWERS)):
        run = read_run(graded(tmp_path, name, questions=questions))
        assert run.grouping(None) is None
        assert agreement_report(run).groups is None


def test_a_folder_of_an_earlier_version_is_grouped_by_its_texts(tmp_path: Path):
    path = graded(tmp_path, "run")
    summary = json.loads((path / "summary.json").read_text("utf-8"))
    del summary["prompts"]
    (path / "summary.json").write_text(json.dumps(summary))
    assert read_run(path).grouping(None) == "prompt"
    (path / "items.jsonl").unlink()
    assert read_run(path).grouping(None) is None


def test_a_comparison_counts_the_questions_whose_answers_flipped(tmp_path: Path):
    runs = [read_run(graded(tmp_path, name, flip)) for name, flip in (("a", 0), ("b", 3))]
    by_prompt, alone = compare_runs(*runs), compare_runs(*runs, groups="none")
    assert f"{QUESTIONS * ANSWERS} items in {QUESTIONS} groups" in by_prompt.gate(0.1).why
    assert by_prompt.score.permutation.p_value > 10 * alone.score.permutation.p_value


def test_every_view_has_the_same_interval_of_the_score(tmp_path: Path, rubricate: Any):
    run = read_run(graded(tmp_path, "run"))
    from rubricate.analysis import list_runs, mean_score, read_summary

    groups = run.groups_by(run.grouping(None))
    interval = mean_score(run.item_scores, read_summary(run), groups=groups)
    listed = list_runs(tmp_path).runs[0].score
    assert (listed.low, listed.high) == (pytest.approx(interval.low), pytest.approx(interval.high))
    alone = mean_score(run.item_scores, read_summary(run))
    assert interval.high - interval.low > 1.5 * (alone.high - alone.low)
