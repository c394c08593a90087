"""Whole batches: a folder of reports, or the results of one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rubricate._files import user_path
from rubricate._sync import run_sync
from rubricate.dialects.researchrubrics._batch import Batch, BatchOptions
from rubricate.dialects.researchrubrics._compliance import Compliance, compliance
from rubricate.dialects.researchrubrics._figures import Line, lines_of
from rubricate.dialects.researchrubrics._reports import find_reports
from rubricate.dialects.researchrubrics._results import ResultLines, read_results, results_path
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, read_tasks
from rubricate.dialects.researchrubrics.evaluate_single_report import RubricEvaluator
from rubricate.errors import InputError

if TYPE_CHECKING:
    import pandas

__all__ = [
    "aevaluate_reports_batch",
    "calculate_compliance_score",
    "compliance_by_report",
    "evaluate_reports_batch",
]

REPORTS = "agent_responses/"


async def aevaluate_reports_batch(
    agent_responses_dir: str | Path | Mapping[str, str | Path] = REPORTS,
    output_file: str | Path | None = None,
    *,
    tasks: str | Path = DEFAULT_TASKS,
    evaluator: RubricEvaluator | None = None,
    **options: Unpack[BatchOptions],
) -> Batch:
    """Grade all reports in a folder by the criteria of their tasks.

    Args:
        agent_responses_dir: the folder; or several, each by its system's name.
        output_file: the results file. Default: `results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        options: those of `BatchOptions`. With `run_dir`, what an earlier batch into the same folder
            judged is not asked again.

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
    agent_responses_dir: str | Path | Mapping[str, str | Path] = REPORTS,
    output_file: str | Path | None = None,
    *,
    tasks: str | Path = DEFAULT_TASKS,
    evaluator: RubricEvaluator | None = None,
    **options: Unpack[BatchOptions],
) -> Batch:
    """`aevaluate_reports_batch` for plain code. Works in a script and inside a running loop."""
    return run_sync(
        lambda: aevaluate_reports_batch(
            agent_responses_dir, output_file, tasks=tasks, evaluator=evaluator, **options
        )
    )


def calculate_compliance_score(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> float | None:
    """The compliance score of one report's results.

    Args:
        results: a results file, its lines, or the table of `evaluate_task_rubrics`.

    Returns: `sum(weight * score) / sum(positive weights)` over the criteria with a score, not
    clamped; 0.0 without positive weights; None where none of those was judged.

    Raises:
        InputError: the results cannot be read, or are of several reports.
    """
    scores = compliance_by_report(results)
    if len(scores) != 1:
        raise InputError(
            f"expected the results of one report, found {len(scores)}: use compliance_by_report"
        )
    return next(iter(scores.values())).value


def compliance_by_report(
    results: str | Path | Iterable[Mapping[str, Any]] | pandas.DataFrame,
) -> dict[str, Compliance]:
    """The compliance score of every report in some results, with its bounds.

    Returns: by `sample_id`, behind the system's name if there is one.
    """
    grouped: dict[str, list[Line]] = {}
    for line in _lines(results):
        name = f"{line.system}/{line.sample_id}" if line.system else line.sample_id
        grouped.setdefault(name, []).append(line)
    return {
        name: compliance((line.weight, line.score) for line in of_report)
        for name, of_report in grouped.items()
    }


def _lines(results: Any) -> list[Line]:
    if isinstance(results, str | Path):
        return lines_of(read_results(results))
    if hasattr(results, "to_dict"):
        table = results.astype(object)
        return lines_of(table.where(table.notna(), None).to_dict("records"))
    return lines_of(results)
