"""Grade one report or a folder of reports, as on the page."""

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
"""The price that the page states for its default model. Price tables have no model of that name."""
MAX_CONCURRENT = 20
MAX_RETRIES = 3
"""The page's defaults."""
_NUMBERS = ("score", "confidence", "cost", "weight")


@dataclass(frozen=True, slots=True)
class Batch:
    """Graded reports.

    Attributes:
        result: the core's result, with an item for each report.
        reports: the reports, also those that could not be graded.
    """

    result: Result
    reports: ResearchReports

    @property
    def summary(self) -> Summary:
        """The figures of the run: calls, tokens, cost, failures by cause."""
        return self.result.summary()

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The result lines by report; verdicts that were not requested have no line."""
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
    """The options of `rubricate.agrade` that only concern the run, and the evaluator.

    Attributes:
        evaluator: the evaluator. Default: the page's model.
        model: only a model, as for `RubricEvaluator`.
    """

    evaluator: RubricEvaluator | None = None
    model: JudgesLike = None
    max_concurrent: int | None = option(
        None, "Another name of concurrency.", group="Limits", default_text="the evaluator's"
    )

    def check(self) -> None:
        if self.model is not None and self.evaluator is not None:
            raise InputError("pass either a model or an evaluator, which has its own model")

    def grader(self) -> RubricEvaluator:
        """Return the evaluator."""
        return self.evaluator or RubricEvaluator(self.model or DEFAULT_MODEL)

    def of(self, evaluator: RubricEvaluator) -> DialectOptions:
        """Return the options of the run, with those of the evaluator where these are not set."""
        most = evaluator.max_concurrent if self.max_concurrent is None else self.max_concurrent
        return part(DialectOptions, self).unless_set(
            concurrency=most, attempts=1 + evaluator.max_retries
        )


class ReportCall(ReportOptions, kw_only=False):
    """Arguments of `evaluate_task_rubrics`."""

    markdown_file: str | Path
    tasks: str | Path = DEFAULT_TASKS


class RubricEvaluator:
    """Grade reports with one judge or several.

        RubricEvaluator(max_concurrent=5)
        RubricEvaluator("openai/gpt-6-luna", max_concurrent=20, max_retries=3)

    Args:
        model: the judge, as for `rubricate.grade`: a name, a judge, a model, a callable, or a list
            of several. Default: the page's model, with `LITELLM_API_KEY` and `API_BASE_URL`.
        max_concurrent: the maximum number of requests in flight (`concurrency` of
            `rubricate.grade`).
        max_retries: how often a failed request is retried (`attempts` minus 1).
        grading: `binary` (Satisfied, Not Satisfied) or `ternary`, with Partially Satisfied.
        chunk_tokens: language models read longer reports in parts; None for never.
        endpoint: options for the endpoint of models by name, as for `rubricate.grade`; see
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
        self.judge: Judge = judge_of_reports(call.model, call.chunk_tokens, call)

    async def grade(
        self, reports: ResearchReports, options: DialectOptions, output: ResultLines | None = None
    ) -> Batch:
        """Grade reports by the criteria of their tasks.

        Args:
            reports: the reports.
            options: the options of the run.
            output: the file for result lines, which are written as verdicts arrive.

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
        except RunStopped as stopped:  # the summary shows the reason
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
        markdown_file: the report, whose name is the `sample_id` of its task.
        tasks: the tasks file.
        evaluator: the evaluator. Default: the page's model.
        model: only a model, instead of an evaluator.
        stop: set this to end the run early and cleanly.

    Returns: a table with a row for each criterion (the columns are those of the results file), and
    the compliance score; None if no criterion was judged that can give points. A cost without a
    known price is printed as `unknown`, and so is every sum that includes it.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        RunStopped: the run ended early.
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
    if table["cost"].isna().any():  # pandas would leave it out of sums, which would be too low
        table["cost"] = table["cost"].astype(object).where(table["cost"].notna(), UNKNOWN_COST)
    return table, ReportFigures.of(batch.result.items[0]).compliance.value


def judge_of_reports(model: JudgesLike, chunk_tokens: int | None, endpoint: Endpoint) -> Judge:
    """Return the judge of an evaluator; the arguments are those of `RubricEvaluator`."""
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
    """Create a judge. Language models state how sure they are, and read long reports in parts."""
    if model == DEFAULT_MODEL and endpoint.prices is None:
        options = {**vars(part(Endpoint, endpoint)), "prices": PAGE_PRICES}
        model = HTTPModel(DEFAULT_MODEL, needs_key=not endpoint.dry_run, **options)
    language = language_model(model, endpoint)
    if language is None:
        return named_judge(model)
    judge = ModelJudge(language, Explained(states_confidence=True))
    return judge if chunk_tokens is None else DocumentJudge(judge, chunk_tokens=chunk_tokens)


names_elsewhere(__name__)
