"""Grading one report or a folder of them, in the words of the page."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate.dialects import names_elsewhere
from rubricate._files import user_path
from rubricate.analysis import Result
from rubricate.dialects._options import DialectOptions, graded
from rubricate.dialects.researchrubrics._figures import Figures, ReportFigures, figures
from rubricate.dialects.researchrubrics._reports import ResearchReports, reports_of
from rubricate.dialects.researchrubrics._results import (
    UNKNOWN_COST,
    ResultLines,
    result_line,
)
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, check_grading, read_tasks
from rubricate.errors import InputError, RunStopped, extra_needed
from rubricate.judge import (
    CHUNK_TOKENS,
    DocumentJudge,
    Endpoint,
    Explained,
    HTTPModel,
    Judge,
    JudgeLike,
    Model,
    JudgesLike,
    ModelJudge,
    Panel,
    language_model,
    named_judge,
)
from rubricate.judge.models import ModelPrice
from rubricate.rubric import Verdict
from rubricate.run.results import Summary
from rubricate.settings import option, part, takes, takes_as_method

if TYPE_CHECKING:
    import pandas

    from rubricate.dataset import Item

DEFAULT_MODEL = "litellm_proxy/gemini/gemini-2.5-pro-preview-06-05"
DEFAULT_REPORTS = "agent_responses/"
PAGE_PRICES = {DEFAULT_MODEL: ModelPrice(input=1.25, output=10.0)}
"""The page's price of its default model, which no table of prices has under that name."""
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
        return [
            result_line(item.metadata, item.rubric.by_name[name], verdict, item.labels.get(name))
            for item in self.result.items
            for name, verdict in item.criteria.items()
            if verdict.status != "not_run"
        ]

    def figures(self) -> Figures:
        """Compliance by report, axis, domain and system, and agreement with people."""
        return figures(self.result)


class EvaluatorCall(Endpoint, kw_only=False):
    """Arguments of `RubricEvaluator`."""

    model: JudgesLike = DEFAULT_MODEL
    max_concurrent: int = MAX_CONCURRENT
    max_retries: int = MAX_RETRIES
    _: KW_ONLY
    grading: str = "binary"
    chunk_tokens: int | None = CHUNK_TOKENS


class ReportOptions(DialectOptions):
    """The options of `rubricate.agrade` that concern the run alone, and who grades.

    Attributes:
        evaluator: who grades. Default: the page's model.
        model: the same by a model alone, as for `RubricEvaluator`.
    """

    evaluator: RubricEvaluator | None = None
    model: JudgesLike = None
    max_concurrent: int | None = option(
        None, "Another name of concurrency.", group="Limits", default_text="the evaluator's"
    )

    def check(self) -> None:
        if self.model is not None and self.evaluator is not None:
            raise InputError("give a model or an evaluator, which has its own; not both")

    def grader(self) -> RubricEvaluator:
        """Who grades."""
        return self.evaluator or RubricEvaluator(self.model or DEFAULT_MODEL)

    def of(self, evaluator: RubricEvaluator) -> DialectOptions:
        """The options of the run, with the evaluator's where these are not set."""
        most = evaluator.max_concurrent if self.max_concurrent is None else self.max_concurrent
        return part(DialectOptions, self).unless_set(
            concurrency=most, attempts=1 + evaluator.max_retries
        )


class ReportCall(ReportOptions, kw_only=False):
    """Arguments of `evaluate_task_rubrics`."""

    markdown_file: str | Path
    tasks: str | Path = DEFAULT_TASKS


class RubricEvaluator:
    """Grades reports with one judge or several.

        RubricEvaluator(max_concurrent=5)
        RubricEvaluator("openai/gpt-6-luna", max_concurrent=20, max_retries=3)

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
        self, reports: ResearchReports, options: DialectOptions, output: ResultLines | None = None
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

        def write_line(item: Item, name: str, verdict: Verdict) -> None:
            if output is not None:
                metadata, criterion = item.data.metadata, item.rubric.by_name[name]
                output.add(result_line(metadata, criterion, verdict, item.labels().get(name)))

        try:
            result = await graded(reports.dataset, self.judge, options, write_line)
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
        model: the same by a model alone.
        stop: set this to end the run early and cleanly.

    Returns: a table with a row for each criterion (the columns are those of the results file), and
    the compliance score; None if no criterion was judged that can give points. A cost without a
    price prints as `unknown`, and so does every sum with it.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    with extra_needed("evaluate_task_rubrics", "pandas"):
        import pandas
    evaluator = call.grader()
    path = user_path(call.markdown_file)
    tasks = {task.sample_id: task for task in read_tasks(call.tasks, grading=evaluator.grading)}
    if path.stem not in tasks:
        raise InputError(f"no task has the sample_id '{path.stem}' in {call.tasks}", file=path)
    reports = reports_of([("", tasks[path.stem], path)], name=path.stem)
    batch = await evaluator.grade(reports, call.of(evaluator))
    if batch.result.stopped is not None:
        raise RunStopped(batch.result.stopped)
    table = pandas.DataFrame(batch.rows)
    for name in _NUMBERS:
        table[name] = pandas.array(table[name].tolist(), dtype="Float64")
    if table["cost"].isna().any():  # pandas would leave it out of a sum, which is then too low
        table["cost"] = table["cost"].astype(object).where(table["cost"].notna(), UNKNOWN_COST)
    return table, ReportFigures.of(batch.result.items[0]).compliance.value


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
    if model == DEFAULT_MODEL and endpoint.prices is None:
        model = HTTPModel(DEFAULT_MODEL, **{**vars(endpoint), "prices": PAGE_PRICES})
    language = language_model(model, endpoint)
    if language is None:
        return named_judge(model)
    judge = ModelJudge(language, Explained(states_confidence=True))
    return judge if chunk_tokens is None else DocumentJudge(judge, chunk_tokens=chunk_tokens)


names_elsewhere(__name__)
