"""Grading one report or a folder of them, in the words of the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate._files import user_path
from rubricate.analysis import Result
from rubricate.dialects._options import DialectOptions
from rubricate.dialects.researchrubrics._figures import Figures, ReportFigures, figures
from rubricate.dialects.researchrubrics._reports import ResearchReports, find_reports, reports_of
from rubricate.dialects.researchrubrics._results import (
    UNKNOWN_COST,
    ResultLines,
    result_line,
    results_path,
)
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, check_grading, read_tasks
from rubricate.errors import InputError, MissingExtraError, RunStopped
from rubricate.judge import (
    CHUNK_TOKENS,
    DocumentJudge,
    Endpoint,
    Explained,
    Judge,
    Model,
    JudgeLike,
    JudgesLike,
    ModelJudge,
    Panel,
    language_model,
    named_judge,
)
from rubricate.rubric import Verdict
from rubricate.run import ItemResult, RunOptions
from rubricate.run.results import Summary
from rubricate.settings import again, option, part, takes, takes_as_method
from rubricate.streaming import plain

if TYPE_CHECKING:
    import pandas

    from rubricate.dataset import Item

DEFAULT_MODEL = "litellm_proxy/gemini/gemini-2.5-pro-preview-06-05"
DEFAULT_REPORTS = "agent_responses/"
MAX_CONCURRENT = 20
MAX_RETRIES = 3
"""The page's defaults."""
_NUMBERS = ("score", "confidence", "cost", "weight")


@dataclass(frozen=True, slots=True)
class Batch:
    """Graded reports.

    Attributes:
        result: the core's result, with an item for each report.
        reports: what was graded, and what could not be.
    """

    result: Result
    reports: ResearchReports

    @property
    def summary(self) -> Summary:
        """The figures of the run: calls, tokens, cost, failures by cause."""
        return self.result.summary()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The result lines, report by report; what was not asked for has none."""
        return [line for item in self.result.items for line in _lines(item)]

    def figures(self) -> Figures:
        """Compliance by report, axis, domain and system, and agreement with people."""
        return figures(self.result)


def _lines(item: ItemResult) -> list[dict[str, Any]]:
    return [
        result_line(
            item.metadata,
            criterion,
            verdict,
            item.labels[name].label if name in item.labels else None,
        )
        for name, criterion in item.rubric.by_name.items()
        if (verdict := item.criteria[name]).error is None or verdict.error.kind != "not_run"
    ]


class EvaluatorCall(Endpoint, kw_only=False):
    """Arguments of `RubricEvaluator`."""

    model: JudgesLike = DEFAULT_MODEL
    max_concurrent: int = MAX_CONCURRENT
    max_retries: int = MAX_RETRIES
    _: KW_ONLY
    grading: str = "binary"
    chunk_tokens: int | None = CHUNK_TOKENS


class ReportOptions(DialectOptions):
    """The options of `rubricate.agrade` that concern the run alone; 0 is the evaluator's."""

    concurrency: int = option(
        0, "The most requests in flight.", group="Limits", default_text="the evaluator's"
    )
    attempts: int = option(
        0,
        "The most times that a request is sent if it fails while others succeed.",
        group="Limits",
        default_text="the evaluator's",
    )
    max_concurrent: int | None = option(
        None, "Another name of concurrency.", group="Limits", default_text="the evaluator's"
    )
    limit: int | None = again(RunOptions, "limit", None)

    def of(self, evaluator: RubricEvaluator) -> RunOptions:
        """The core's options, with the evaluator's where these are not set."""
        names = {field.name for field in fields(RunOptions)} & {
            field.name for field in fields(self)
        }
        most = self.concurrency or self.max_concurrent
        limits = {
            "attempts": self.attempts or 1 + evaluator.max_retries,
            "concurrency": evaluator.max_concurrent if most is None else most,
        }
        return RunOptions(**{name: getattr(self, name) for name in names} | limits)


class ReportCall(ReportOptions, kw_only=False):
    """Arguments of `evaluate_task_rubrics`."""

    markdown_file: str | Path
    tasks: str | Path = DEFAULT_TASKS
    evaluator: RubricEvaluator | None = None


class BatchCall(ReportOptions, kw_only=False):
    """Arguments of `evaluate_reports_batch`."""

    agent_responses_dir: str | Path | Mapping[str, str | Path] = DEFAULT_REPORTS
    output_file: str | Path | None = None
    _: KW_ONLY
    tasks: str | Path = DEFAULT_TASKS
    evaluator: RubricEvaluator | None = None


class RubricEvaluator:
    """Grades reports with one judge or several.

        RubricEvaluator(max_concurrent=5)
        RubricEvaluator("openai/gpt-4.1-mini", max_concurrent=20, max_retries=3)

    Args:
        model: who grades, as for `rubricate.grade`: a name, a judge, a model, a callable, or
            several in a list. Default: the page's model, by `LITELLM_API_KEY` and `API_BASE_URL`.
        max_concurrent: the most requests in flight (`concurrency` of `rubricate.grade`).
        max_retries: how often a request that failed is sent again (`attempts`, less the first).
        grading: `binary` (Satisfied, Not Satisfied) or `ternary`, with Partially Satisfied.
        chunk_tokens: a language model reads a longer report in parts; None for never.
        endpoint: how models that are given by name are reached, as for `rubricate.grade`; see
            `help(RubricEvaluator.__init__)`.

    Attributes:
        judge: the core's judge.

    Raises:
        InputError: an argument cannot be used, or a key is missing; nothing has been sent.
    """

    @takes_as_method(EvaluatorCall)
    def __init__(self, call: EvaluatorCall) -> None:
        if call.max_retries < 0:
            raise InputError(f"max_retries must be 0 or more, found {call.max_retries!r}")
        self.grading = check_grading(call.grading)
        self.max_concurrent = call.max_concurrent
        self.max_retries = call.max_retries
        self._closes_judge = not isinstance(call.model, Judge | Model)
        self.judge: Judge = _judge(call.model, call.chunk_tokens, part(Endpoint, call))

    async def grade(
        self, reports: ResearchReports, options: ReportOptions, output: ResultLines | None = None
    ) -> Batch:
        """Grade reports by the criteria of their tasks.

        Args:
            reports: the reports.
            options: of the run.
            output: where result lines go, each as soon as its verdict is there.

        Returns: the batch. If the run ended early, its `summary.stopped` says why.

        Raises:
            InputError: an option cannot be used; nothing has been sent.
        """
        from rubricate.grading import collected
        from rubricate.streaming import ResultStream

        def write_line(item: Item, name: str, verdict: Verdict) -> None:
            if output is not None:
                people = item.labels()
                label = people[name].label if name in people else None
                criterion = item.rubric.by_name[name]
                output.add(result_line(item.data.metadata, criterion, verdict, label))

        stream = ResultStream(
            reports.dataset,
            self.judge,
            options.of(self),
            stop=options.stop,
            on_verdict=write_line,
        )
        try:
            result = await collected(stream)
        except RunStopped as stopped:  # the summary says why
            if stopped.result is None:
                raise
            result = stopped.result
        finally:
            if self._closes_judge:
                await self.judge.aclose()
        return Batch(result, reports)


@takes(ReportCall)
async def evaluate_task_rubrics(call: ReportCall) -> tuple[pandas.DataFrame, float | None]:
    """Grade one report by the criteria of its task (extra `pandas`).

    Args:
        markdown_file: the report, named by its task's `sample_id`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        stop: set this to end the run early and cleanly.

    Returns: a table with a row for each criterion (the columns are those of the results file), and
    the compliance score; None if no criterion was judged that can give points. A cost without a
    price prints as `unknown`, and so does every sum with it.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("evaluate_task_rubrics", "pandas") from None
    evaluator = RubricEvaluator() if call.evaluator is None else call.evaluator
    path = user_path(call.markdown_file)
    tasks = {task.sample_id: task for task in read_tasks(call.tasks, grading=evaluator.grading)}
    if path.stem not in tasks:
        raise InputError(f"no task has the sample_id '{path.stem}' in {call.tasks}", file=path)
    reports = reports_of([("", tasks[path.stem], path)], name=path.stem)
    batch = await evaluator.grade(reports, call)
    if batch.result.stopped is not None:
        raise RunStopped(batch.result.stopped)
    table = pandas.DataFrame(batch.rows)
    for name in _NUMBERS:
        table[name] = pandas.array(table[name].tolist(), dtype="Float64")
    if table["cost"].isna().any():  # pandas would leave it out of a sum, which is then too low
        table["cost"] = table["cost"].astype(object).where(table["cost"].notna(), UNKNOWN_COST)
    return table, ReportFigures.of(batch.result.items[0]).compliance.value


@takes(BatchCall)
async def aevaluate_reports_batch(call: BatchCall) -> Batch:
    """Grade all reports in a folder by the criteria of their tasks.

    With `run_dir`, a second call for the same folder asks only for what is missing.

    Args:
        agent_responses_dir: the folder; or several, each by its system's name.
        output_file: the results file. Default: `results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        stop: set this to end the run early and cleanly.

    Returns: the batch. If the run ended early, its `summary.stopped` says why.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
    """
    evaluator = RubricEvaluator() if call.evaluator is None else call.evaluator
    folders = call.agent_responses_dir
    storage = call.cache or call.run_dir
    reports = find_reports(
        folders if isinstance(folders, Mapping) else {"": folders},
        read_tasks(call.tasks, grading=evaluator.grading),
        limit=call.limit,
        cache=None if storage is None else user_path(storage) / "documents",
    )
    with ResultLines(call.output_file or results_path()) as output:
        return await evaluator.grade(reports, call, output)


evaluate_reports_batch = plain(BatchCall, aevaluate_reports_batch)


def _judge(model: JudgesLike, chunk_tokens: int | None, endpoint: Endpoint) -> Judge:
    several: list[Any] = list(model) if isinstance(model, list | tuple) else [model]
    if len(several) == 1:
        return _single_judge(several[0], chunk_tokens, endpoint)
    return Panel(
        [
            _single_judge(
                name,
                chunk_tokens,
                endpoint if isinstance(name, str) and name != "builtin" else Endpoint(),
            )
            for name in several
        ]
    )


def _single_judge(model: JudgeLike, chunk_tokens: int | None, endpoint: Endpoint) -> Judge:
    """A judge; a language model states how sure it is, and reads long reports in parts."""
    language = language_model(model, endpoint)
    if language is None:
        return named_judge(model)
    judge = ModelJudge(language, Explained(states_confidence=True))
    return judge if chunk_tokens is None else DocumentJudge(judge, chunk_tokens=chunk_tokens)
