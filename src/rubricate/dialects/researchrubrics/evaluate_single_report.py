"""One report, and the evaluator that the page configures: the core's run in the page's words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rubricate._files import user_path
from rubricate.dialects._options import DialectOptions
from rubricate.dialects.researchrubrics._figures import Figures, Line, compliance, figures, lines_of
from rubricate.dialects.researchrubrics._reports import ResearchReport, ResearchReports
from rubricate.dialects.researchrubrics._results import UNKNOWN_COST, ResultLines, result_line
from rubricate.dialects.researchrubrics._tasks import DEFAULT_TASKS, check_grading, read_tasks
from rubricate.errors import InputError, MissingExtraError, RunStopped
from rubricate.judge import (
    CHUNK_TOKENS,
    DocumentJudge,
    Endpoint,
    Explained,
    Judge,
    JudgeLike,
    JudgesLike,
    ModelJudge,
    Panel,
    is_given,
    language_model,
    named_judge,
)
from rubricate.rubric import Verdict
from rubricate.run import RunOptions
from rubricate.settings import again, option, part, takes, takes_as_method

if TYPE_CHECKING:
    import pandas

    from rubricate.run.results import Summary


DEFAULT_MODEL = "litellm_proxy/gemini/gemini-2.5-pro-preview-06-05"
MAX_CONCURRENT = 20
MAX_RETRIES = 3
_NUMBERS = ("score", "confidence", "cost", "weight")


@dataclass
class Batch:
    """Graded reports.

    Attributes:
        summary: the run's figures: calls, tokens, cost, failures by cause.
        lines: what the figures of the reports need of the result lines.
        rows: the result lines, in the order in which they came; empty where they were not kept.
        without_report: the ids of tasks that no report is for, by system.
        without_task: files that no task is for.
    """

    summary: Summary
    lines: list[Line]
    rows: list[dict[str, Any]] = field(default_factory=list)
    without_report: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without_task: Sequence[Path] = ()

    def figures(self) -> Figures:
        """Compliance by report, axis, domain and system, and agreement with people."""
        return figures(self.lines)


class EvaluatorCall(Endpoint, kw_only=False):
    """What a `RubricEvaluator` is made with."""

    model: JudgesLike = DEFAULT_MODEL
    max_concurrent: int = MAX_CONCURRENT
    max_retries: int = MAX_RETRIES
    _: KW_ONLY
    grading: str = "binary"
    chunk_tokens: int | None = CHUNK_TOKENS


class ReportOptions(DialectOptions):
    """The options of `rubricate.agrade` that concern the run alone, and the evaluator's two."""

    concurrency: int = option(
        0, "The most requests in flight.", group="Limits", default_text="max_concurrent"
    )
    attempts: int = option(
        0,
        "How often a request that fails while others get through is sent, at most.",
        group="Limits",
        default_text="max_retries and one",
    )
    max_concurrent: int | None = option(
        None, "The page's name of it.", group="Limits", default_text="the evaluator's"
    )
    max_retries: int | None = option(
        None,
        "The page's way to say attempts: those after the first.",
        group="Limits",
        default_text="the evaluator's",
    )
    limit: int | None = again(RunOptions, "limit", None)

    def check(self) -> None:
        if self.max_retries is not None and self.max_retries < 0:
            raise InputError(f"max_retries must be 0 or more, found {self.max_retries!r}")

    def of(self, evaluator: RubricEvaluator) -> RunOptions:
        """The core's options, with the evaluator's where these do not say."""
        retries, most = self.max_retries, self.max_concurrent
        told = {
            "attempts": self.attempts
            or 1 + (evaluator.max_retries if retries is None else retries),
            "concurrency": self.concurrency or (evaluator.max_concurrent if most is None else most),
        }
        names = {one.name for one in fields(RunOptions)} & {one.name for one in fields(self)}
        return RunOptions(**{**{name: getattr(self, name) for name in names}, **told})


class ReportsCall(ReportOptions, kw_only=False):
    """What `RubricEvaluator.grade` is called with."""

    reports: ResearchReports
    output: ResultLines | None = None
    _: KW_ONLY
    keep_rows: bool = False


class ReportCall(ReportOptions, kw_only=False):
    """What `RubricEvaluator.evaluate_task_rubrics` is called with."""

    markdown_file: str | Path
    tasks: str | Path = DEFAULT_TASKS


class TaskCall(ReportCall):
    """What `evaluate_task_rubrics` is called with."""

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
        judge: who grades, as the core has it.

    Raises:
        InputError: something given cannot be used, or a key is missing; nothing has been sent.
    """

    @takes_as_method(EvaluatorCall)
    def __init__(self, call: EvaluatorCall) -> None:
        self.grading = check_grading(call.grading)
        self.max_concurrent = call.max_concurrent
        self.max_retries = call.max_retries
        self._made_here = not is_given(call.model)
        self.judge: Judge = _judge(call.model, call.chunk_tokens, part(Endpoint, call))

    @property
    def name(self) -> str:
        """What results call the judge."""
        return self.judge.name

    @takes_as_method(ReportsCall)
    async def grade(self, call: ReportsCall) -> Batch:
        """Grade reports by the criteria of their tasks, all in one pool.

        Args:
            reports: the reports.
            output: where result lines go, each as soon as it is there.
            keep_rows: whether they are kept in memory, too.
            stop: set this to end the run early and cleanly.

        Returns: the batch. Where the run ended early, its `summary.stopped` says why.

        Raises:
            InputError: something given cannot be used; nothing has been sent.
        """
        from rubricate.streaming import ResultStream

        reports, output = call.reports, call.output
        rows: list[dict[str, Any]] = []
        lines: list[Line] = []

        def on_verdict(item: Any, name: str, verdict: Verdict) -> None:
            report = reports.reports[item.id]
            row = result_line(report, report.task.criteria[name], verdict)
            lines.extend(lines_of([row]))
            if call.keep_rows:
                rows.append(row)
            if output is not None:
                output.add(row)

        try:
            stream = ResultStream(
                reports,
                self.judge,
                call.of(self),
                stop=call.stop,
                on_verdict=on_verdict,
            )
            async with stream:
                with suppress(RunStopped):  # the summary says why
                    async for _ in stream:
                        pass
        finally:
            if self._made_here:
                await self.judge.aclose()
        summary = stream.summary()
        return Batch(summary, lines, rows, reports.without_report, reports.without_task)

    @takes_as_method(ReportCall)
    async def evaluate_task_rubrics(
        self, call: ReportCall
    ) -> tuple[pandas.DataFrame, float | None]:
        """Grade one report; see the function of this name."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("evaluate_task_rubrics", "pandas") from None
        path = user_path(call.markdown_file)
        known = {task.sample_id: task for task in read_tasks(call.tasks, grading=self.grading)}
        if path.stem not in known:
            raise InputError(f"no task has the sample_id '{path.stem}' in {call.tasks}", file=path)
        task = known[path.stem]
        reports = ResearchReports([ResearchReport(path.stem, "", task, path)], path.stem)
        own = {one.name: getattr(call, one.name) for one in fields(ReportOptions)}
        batch = await self.grade(reports, keep_rows=True, **own)
        if batch.summary.stopped is not None:
            raise RunStopped(batch.summary.stopped)
        titles = [criterion.title for criterion in task.criteria.values()]
        rows = sorted(batch.rows, key=lambda row: titles.index(row["rubric_title"]))
        table = pandas.DataFrame(rows)
        for name in _NUMBERS:
            table[name] = pandas.array(table[name].tolist(), dtype="Float64")
        if table["cost"].isna().any():  # pandas would leave it out of a sum, which is then too low
            table["cost"] = table["cost"].astype(object).where(table["cost"].notna(), UNKNOWN_COST)
        return table, compliance((line.weight, line.score) for line in batch.lines).value


@takes(TaskCall)
async def evaluate_task_rubrics(call: TaskCall) -> tuple[pandas.DataFrame, float | None]:
    """Grade one report by the criteria of its task (extra `pandas`).

    Args:
        markdown_file: the report, named by its task's `sample_id`.
        tasks: the tasks file.
        evaluator: who grades. Default: the page's model.
        stop: set this to end the run early and cleanly.

    Returns: a table with a row for each criterion (the columns are those of the results file), and
    the compliance score; None where no criterion that it is made of was judged. A cost without a
    price prints as `unknown`, and so does every sum with it.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged.
    """
    evaluator = RubricEvaluator() if call.evaluator is None else call.evaluator
    own = {one.name: getattr(call, one.name) for one in fields(ReportCall)}
    return await evaluator.evaluate_task_rubrics(**own)


def _judge(model: JudgesLike, chunk_tokens: int | None, endpoint: Endpoint) -> Judge:
    several: list[Any] = list(model) if isinstance(model, list | tuple) else [model]
    if len(several) == 1:
        return _one(several[0], chunk_tokens, endpoint)
    return Panel(
        [
            _one(
                one,
                chunk_tokens,
                endpoint if isinstance(one, str) and one != "builtin" else Endpoint(),
            )
            for one in several
        ]
    )


def _one(model: JudgeLike, chunk_tokens: int | None, endpoint: Endpoint) -> Judge:
    """A judge; a language model says how sure it is, and reads long reports in parts."""
    asked = language_model(model, endpoint)
    if asked is None:
        return named_judge(model)
    judge = ModelJudge(asked, Explained(states_confidence=True))
    return judge if chunk_tokens is None else DocumentJudge(judge, chunk_tokens=chunk_tokens)
