"""One report, and the evaluator that the page configures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from rubricate._files import user_path
from rubricate.dialects.researchrubrics._batch import (
    DEFAULT_MODEL,
    MAX_CONCURRENT,
    MAX_RETRIES,
    Batch,
    BatchOptions,
    JudgeOptions,
    chosen_report_judge,
    grade_reports,
)
from rubricate.dialects.researchrubrics._compliance import compliance
from rubricate.dialects.researchrubrics._reports import Report, Reports
from rubricate.dialects.researchrubrics._results import UNKNOWN_COST, ResultLines
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, check_grading, read_tasks
from rubricate.errors import InputError, MissingExtraError, RunStopped
from rubricate.judge import Judge, JudgesLike, Model, Panel

if TYPE_CHECKING:
    import pandas

__all__ = ["RubricEvaluator", "evaluate_task_rubrics"]

_NUMBERS = ("score", "confidence", "cost", "weight")


class RubricEvaluator:
    """Grades reports with one judge or several.

    RubricEvaluator(max_concurrent=5)
    RubricEvaluator("openai/gpt-4.1-mini", max_concurrent=20, max_retries=3)

    Args:
        model: who grades, as for `rubricate.grade`: a name, a judge, a model, a callable, or
            several in a list. Default: the page's model, by `LITELLM_API_KEY` and `API_BASE_URL`.
        max_concurrent: the most requests in flight.
        max_retries: how often a request that failed is sent again: after 2^n seconds the nth time,
            unless the endpoint says after how many.
        grading: `binary` (Satisfied, Not Satisfied) or `ternary`, with Partially Satisfied.
        options: `base_url`, `temperature`, `timeout` and `prices` as for `rubricate.grade`, and
            `chunk_tokens`, over which a report is read in parts (8,000; None for never).

    Raises:
        InputError: something given cannot be used, or a key is missing.
    """

    def __init__(
        self,
        model: JudgesLike = DEFAULT_MODEL,
        max_concurrent: int = MAX_CONCURRENT,
        max_retries: int = MAX_RETRIES,
        *,
        grading: str = "binary",
        **options: Unpack[JudgeOptions],
    ) -> None:
        self.grading = check_grading(grading)
        self.max_concurrent = max_concurrent
        self.max_retries = max_retries
        self._made_here = not isinstance(model, Judge | Model | Panel)
        self._judge = chosen_report_judge(model, options)

    @property
    def name(self) -> str:
        """What results call the judge."""
        return self._judge.name

    async def grade(
        self,
        reports: Reports,
        output: ResultLines | None = None,
        *,
        keep_rows: bool = False,
        **options: Unpack[BatchOptions],
    ) -> Batch:
        """Grade reports; see `grade_reports`. A run that ended early is in the batch's summary."""
        options.setdefault("max_concurrent", self.max_concurrent)
        options.setdefault("max_retries", self.max_retries)
        try:
            return await grade_reports(reports, self._judge, output, keep_rows=keep_rows, **options)
        finally:
            if self._made_here:
                await self._judge.aclose()

    async def evaluate_task_rubrics(
        self,
        markdown_file: str | Path,
        tasks: str | Path = DEFAULT_TASKS,
        **options: Unpack[BatchOptions],
    ) -> tuple[pandas.DataFrame, float | None]:
        """Grade one report; see the function of this name."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("evaluate_task_rubrics", "pandas") from None
        path = user_path(markdown_file)
        known = {task.sample_id: task for task in read_tasks(tasks, grading=self.grading)}
        if path.stem not in known:
            raise InputError(f"no task has the sample_id '{path.stem}' in {tasks}", file=path)
        report = Report(path.stem, "", known[path.stem], path)
        batch = await self.grade(Reports([report], path.stem), keep_rows=True, **options)
        if batch.summary.stopped is not None:
            raise RunStopped(batch.summary.stopped)
        table = pandas.DataFrame(_in_order(batch.rows, report))
        for name in _NUMBERS:
            table[name] = pandas.array(table[name].tolist(), dtype="Float64")
        if table["cost"].isna().any():  # pandas would leave it out of a sum, which is then too low
            table["cost"] = table["cost"].astype(object).where(table["cost"].notna(), UNKNOWN_COST)
        score = compliance((line.weight, line.score) for line in batch.lines)
        return table, score.value


def _in_order(rows: list[dict[str, Any]], report: Report) -> list[dict[str, Any]]:
    """The rows in the order of the task's criteria."""
    places: dict[str, int] = {}
    for place, criterion in enumerate(report.task.criteria):
        places.setdefault(criterion.title, place)
    return sorted(rows, key=lambda row: places[row["rubric_title"]])


async def evaluate_task_rubrics(
    markdown_file: str | Path,
    tasks: str | Path = DEFAULT_TASKS,
    *,
    evaluator: RubricEvaluator | None = None,
    **options: Unpack[BatchOptions],
) -> tuple[pandas.DataFrame, float | None]:
    """Grade one report by the criteria of its task (extra `pandas`).

    Args:
        markdown_file: the report, named by its task's `sample_id`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        options: those of `BatchOptions`.

    Returns: a table with a row for each criterion (the columns are those of the results file), and
    the compliance score; None where no criterion that it is made of was judged. A cost without a
    price prints as `unknown`, and so does every sum with it.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    if evaluator is None:
        evaluator = RubricEvaluator()
    return await evaluator.evaluate_task_rubrics(markdown_file, tasks, **options)
