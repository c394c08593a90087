"""Grade a folder of reports, as on the page; `python -m` grades the page's folder."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY
from pathlib import Path

from rubricate.dialects import names_elsewhere
from rubricate._files import user_path
from rubricate.dialects.researchrubrics._reports import find_reports
from rubricate.dialects.researchrubrics._results import ResultLines, results_path
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, read_tasks
from rubricate.dialects.researchrubrics.evaluate_single_report import (
    DEFAULT_REPORTS,
    Batch,
    ReportOptions,
    RubricEvaluator as RubricEvaluator,
)
from rubricate.run import RunOptions
from rubricate.settings import again, takes
from rubricate.streaming import plain


class BatchCall(ReportOptions, kw_only=False):
    """Arguments of `evaluate_reports_batch`."""

    agent_responses_dir: str | Path | Mapping[str, str | Path] = DEFAULT_REPORTS
    output_file: str | Path | None = None
    _: KW_ONLY
    tasks: str | Path = DEFAULT_TASKS
    limit: int | None = again(RunOptions, "limit", None)


@takes(BatchCall)
async def aevaluate_reports_batch(call: BatchCall) -> Batch:
    """Grade all reports in a folder by the criteria of their tasks.

    With `run_dir`, a second call for the same folder only asks for what is missing.

    Args:
        agent_responses_dir: the folder, or several by the name of the system.
        output_file: the results file. Default: `results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl`.
        tasks: the tasks file.
        evaluator: the evaluator. Default: the page's model.
        model: only a model, instead of an evaluator.
        stop: set this to end the run early and cleanly.

    Returns: the batch. If the run ended early, its `summary.stopped` says why.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
    """
    evaluator = call.grader()
    folders = call.agent_responses_dir
    storage = call.cache or call.run_dir
    reports = find_reports(
        folders if isinstance(folders, Mapping) else {"": folders},
        read_tasks(call.tasks, grading=evaluator.grading),
        limit=call.limit,
        cache=None if storage is None else user_path(storage) / "documents",
    )
    with ResultLines(call.output_file or results_path()) as output:
        return await evaluator.grade(reports, call.of(evaluator), output)


evaluate_reports_batch = plain(BatchCall, aevaluate_reports_batch)

names_elsewhere(__name__)
