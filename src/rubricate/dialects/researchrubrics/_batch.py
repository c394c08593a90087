"""A whole folder of reports."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate._sync import run_sync
from rubricate.dialects.researchrubrics._reports import find_reports
from rubricate.dialects.researchrubrics._results import ResultLines, results_path
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, read_tasks
from rubricate.dialects.researchrubrics.evaluate_single_report import Batch, RubricEvaluator

__all__ = ["DEFAULT_REPORTS", "aevaluate_reports_batch", "evaluate_reports_batch"]

DEFAULT_REPORTS = "agent_responses/"


async def aevaluate_reports_batch(
    agent_responses_dir: str | Path | Mapping[str, str | Path] = DEFAULT_REPORTS,
    output_file: str | Path | None = None,
    *,
    tasks: str | Path = DEFAULT_TASKS,
    evaluator: RubricEvaluator | None = None,
    **options: Any,
) -> Batch:
    """Grade all reports in a folder by the criteria of their tasks.

    Args:
        agent_responses_dir: the folder; or several, each by its system's name.
        output_file: the results file. Default: `results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        options: those of `RubricEvaluator.grade`. With `run_dir`, what an earlier batch into the
            same folder judged is not asked again.

    Returns: the batch. Where the run ended early, its `summary.stopped` says why.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    if evaluator is None:
        evaluator = RubricEvaluator()
    folders = agent_responses_dir
    if not isinstance(folders, Mapping):
        folders = {"": folders}
    kept = options.get("cache") or options.get("run_dir")
    reports = find_reports(
        folders,
        read_tasks(tasks, grading=evaluator.grading),
        cache=None if kept is None else user_path(kept) / "documents",
    )
    reports.survey(options.get("limit"))
    with ResultLines(output_file or results_path()) as output:
        return await evaluator.grade(reports, output, keep_rows=True, **options)


def evaluate_reports_batch(
    agent_responses_dir: str | Path | Mapping[str, str | Path] = DEFAULT_REPORTS,
    output_file: str | Path | None = None,
    *,
    tasks: str | Path = DEFAULT_TASKS,
    evaluator: RubricEvaluator | None = None,
    **options: Any,
) -> Batch:
    """`aevaluate_reports_batch` for plain code. Works in a script and inside a running loop."""
    return run_sync(
        lambda: aevaluate_reports_batch(
            agent_responses_dir, output_file, tasks=tasks, evaluator=evaluator, **options
        )
    )
