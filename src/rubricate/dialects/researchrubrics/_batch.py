"""A whole folder of reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, fields
from pathlib import Path

from rubricate._files import user_path
from rubricate._sync import run_sync
from rubricate.dialects.researchrubrics._reports import find_reports
from rubricate.dialects.researchrubrics._results import ResultLines, results_path
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, read_tasks
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    Batch,
    ReportOptions,
    RubricEvaluator,
)
from rubricate.settings import takes

DEFAULT_REPORTS = "agent_responses/"


class BatchCall(ReportOptions, kw_only=False):
    """What `evaluate_reports_batch` is called with."""

    agent_responses_dir: str | Path | Mapping[str, str | Path] = DEFAULT_REPORTS
    output_file: str | Path | None = None
    _: KW_ONLY
    tasks: str | Path = DEFAULT_TASKS
    evaluator: RubricEvaluator | None = None


@takes(BatchCall)
async def aevaluate_reports_batch(call: BatchCall) -> Batch:
    """Grade all reports in a folder by the criteria of their tasks.

    With `run_dir`, what an earlier batch into the same folder judged is not asked again.

    Args:
        agent_responses_dir: the folder; or several, each by its system's name.
        output_file: the results file. Default: `results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        stop: set this to end the run early and cleanly.

    Returns: the batch. Where the run ended early, its `summary.stopped` says why.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    return await _evaluated(call)


@takes(BatchCall)
def evaluate_reports_batch(call: BatchCall) -> Batch:
    """`aevaluate_reports_batch` for plain code. Works in a script and inside a running loop.

    Args:
        agent_responses_dir, output_file, tasks, evaluator, stop: as for `aevaluate_reports_batch`.
    """
    return run_sync(lambda: _evaluated(call))


async def _evaluated(call: BatchCall) -> Batch:
    evaluator = RubricEvaluator() if call.evaluator is None else call.evaluator
    folders = call.agent_responses_dir
    if not isinstance(folders, Mapping):
        folders = {"": folders}
    kept = call.cache or call.run_dir
    reports = find_reports(
        folders,
        read_tasks(call.tasks, grading=evaluator.grading),
        cache=None if kept is None else user_path(kept) / "documents",
    )
    reports.survey(call.limit)
    own = {one.name: getattr(call, one.name) for one in fields(ReportOptions)}
    with ResultLines(call.output_file or results_path()) as output:
        return await evaluator.grade(reports, output, keep_rows=True, **own)
