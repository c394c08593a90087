"""`autorubric.eval`: grade a dataset, and compare the verdicts with labels from people."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from rubricate.dialects import names_elsewhere
from rubricate import dataset as core
from rubricate._documents import read_document
from rubricate._files import Replacement, user_path
from rubricate.dataset import DataItem
from rubricate.dialects._options import progress_line
from rubricate.dialects.autorubric._reports import (
    EnsembleEvaluationReport,
    TokenUsage,
    Voters,
    report_of,
    usage_of,
)
from rubricate.dialects.autorubric.dataset import RubricDataset
from rubricate.dialects.autorubric.graders import CriterionGrader
from rubricate.errors import InputError, RunStopped, shown, check_type
from rubricate.rubric import Usage
from rubricate.run import ItemResult as CoreItemResult, Progress
from rubricate.settings import Settings, takes

if TYPE_CHECKING:
    from rubricate.analysis import Result
    from rubricate.dialects.autorubric.metrics import MetricsResult

RECORD = "experiment.json"
"""The file of a run folder for what the core's files do not have of an experiment."""


@dataclass(frozen=True)
class EvalTimingStats:
    """Durations of items: the sum of the seconds of their requests."""

    total_duration_seconds: float
    mean_item_duration_seconds: float
    min_item_duration_seconds: float
    max_item_duration_seconds: float
    p50_item_duration_seconds: float
    p95_item_duration_seconds: float
    items_per_second: float

    @classmethod
    def from_durations(cls, durations: Sequence[float], total_duration: float) -> EvalTimingStats:
        """Summarize the durations of items and of the whole run."""
        ordered = sorted(durations) or [0.0]
        p50, p95 = (ordered[min(int(len(ordered) * at), len(ordered) - 1)] for at in (0.5, 0.95))
        rate = len(durations) / total_duration if total_duration > 0 else 0.0
        mean = fmean(ordered)
        return cls(total_duration, mean, ordered[0], ordered[-1], p50, p95, rate)

    def to_dict(self) -> dict[str, float]:
        """Return the figures by name."""
        return asdict(self)


@dataclass(frozen=True)
class ItemResult:
    """An item with its report; `error` says why there is no score if every verdict failed."""

    item_idx: int
    item: DataItem
    report: EnsembleEvaluationReport
    error: str | None = None

    @property
    def duration_seconds(self) -> float:
        """The total duration of its requests."""
        verdicts = self.report.result.criteria.values()
        return Usage.total(verdict.usage for verdict in verdicts).seconds

    def to_dict(self) -> dict[str, Any]:
        """Return the item's index, its report and its outcome as JSON values."""
        report = self.report.model_dump()
        criteria = report.pop("report")
        return {
            "item_idx": self.item_idx,
            "duration_seconds": self.duration_seconds,
            "error": self.error,
            "report": {**report, "report_type": "ensemble", "criterion_reports": criteria},
        }


@dataclass(frozen=True)
class EvalResult:
    """A graded dataset.

    Attributes:
        item_results: the items in the dataset's order.
        total_items, successful_items, failed_items: numbers of items; an item without any verdict
            counts as failed.
        total_token_usage, total_completion_cost: tokens and cost of the run; reused answers cost
            nothing.
        errors: why items failed, with their indices.
        experiment_name, experiment_dir: the run folder, if there is one.
        started_at, completed_at: when the run started and ended.
        result: the core's result: summary, tables, plots.
        voters: the `judge_id` and weight of each judge, by its name in the core.
    """

    item_results: list[ItemResult]
    total_items: int
    successful_items: int
    failed_items: int
    total_token_usage: TokenUsage
    total_completion_cost: float | None
    errors: list[tuple[int, str]]
    experiment_name: str | None
    experiment_dir: Path | None
    started_at: datetime
    completed_at: datetime
    result: Result = field(repr=False)
    voters: Voters = field(repr=False)

    @classmethod
    def of(
        cls,
        result: Result,
        items: Sequence[DataItem],
        record: Mapping[str, Any],
        folder: Path | None,
    ) -> EvalResult:
        """Convert a result of the core.

        Args:
            result: the result.
            items: the dataset's items.
            record: the contents of `experiment.json`.
            folder: the run folder.
        """
        voters = {name: (judge_id, weight) for name, (judge_id, weight) in record["voters"].items()}
        reports = [report_of(item, voters, record["normalize"]) for item in result.items]
        each = [
            ItemResult(index, items[item.index], report, report.error)
            for index, (item, report) in enumerate(zip(result.items, reports, strict=True))
        ]
        failed = [item for item in each if item.error is not None]
        return cls(
            item_results=each,
            total_items=len(each),
            successful_items=len(each) - len(failed),
            failed_items=len(failed),
            total_token_usage=usage_of(result.usage),
            total_completion_cost=result.usage.cost,
            errors=[(item.item_idx, item.error or "") for item in failed],
            experiment_name=None if folder is None else folder.name,
            experiment_dir=folder,
            started_at=datetime.fromisoformat(record["started_at"]),
            completed_at=datetime.fromisoformat(record["completed_at"]),
            result=result,
            voters=voters,
        )

    @classmethod
    def from_experiment(cls, experiment_path: str | Path) -> EvalResult:
        """Load the result of `evaluate(experiment_name=...)` from its run folder.

        Raises:
            InputError: the folder has no such result.
        """
        from rubricate.analysis import Items, Result, read_run

        folder = user_path(experiment_path)
        run, record = read_run(folder), read_document(folder / RECORD)
        dataset = RubricDataset.from_dict(record["dataset"])
        graded = list(dataset.to_grade())
        items = []
        for index, rows in enumerate(run.item_rows()):
            verdicts = {row.criterion: row for row in rows}
            item = CoreItemResult.scored(graded[index], verdicts, run.rules, index=index)
            items.append(replace(item, score=rows[0].item_score))
        usage = Usage.total(row.usage for rows in run.item_rows() for row in rows)
        result = Result(
            judge=run.judge,
            dataset=dataset.name,
            usage=usage,
            run_usage=usage,
            calls=usage.requests,
            seconds=run.summary["usage"]["seconds"],
            rules=run.rules,
            items=Items(items),
            run_dir=folder,
        )
        return cls.of(result, dataset.items, record, folder)

    @property
    def timing_stats(self) -> EvalTimingStats:
        """The durations of the run and of its items."""
        durations = [item.duration_seconds for item in self.item_results]
        return EvalTimingStats.from_durations(durations, self.result.seconds)

    def get_scores(self) -> list[float]:
        """Return the scores of the items that have one."""
        return [score for item in self.item_results if (score := item.report.score) is not None]

    def get_reports(self) -> list[EnsembleEvaluationReport]:
        """Return the reports of the items that did not fail."""
        return [item.report for item in self.filter_successful()]

    def filter_successful(self) -> list[ItemResult]:
        """Return the items that did not fail."""
        return [item for item in self.item_results if item.error is None]

    def filter_failed(self) -> list[ItemResult]:
        """Return the items that failed."""
        return [item for item in self.item_results if item.error is not None]

    def compute_metrics(self, dataset: core.RubricDataset, **options: Any) -> MetricsResult:
        """Compare the verdicts with labels from people; see `metrics.compute_metrics`."""
        from rubricate.dialects.autorubric.metrics import compute_metrics

        return compute_metrics(self, dataset, **options)


class EvalConfig(Settings):
    """The options for grading a dataset.

    Fields:
        fail_fast: end the run with the first failed verdict (`RunStopped`).
        show_progress: show a line of progress on standard error, if that is a terminal.
        progress_style: has no effect, because there is only one style.
        max_concurrent_items: limits the requests in flight to those of N items.
        experiment_name: the name of the run folder in `experiments_dir`. Default: no folder.
        resume: continue an earlier run of that name; False asks everything again.
    """

    fail_fast: bool = False
    show_progress: bool = True
    progress_style: str = "simple"
    max_concurrent_items: int | None = None
    experiment_name: str | None = None
    experiments_dir: str | Path = "experiments"
    resume: bool = True

    def check(self) -> None:
        name, most = self.experiment_name, self.max_concurrent_items
        if name is not None and (name in ("", ".", "..") or Path(name).name != name):
            raise InputError(f"experiment_name must be the name of a folder, found {shown(name)}")
        if most is not None and most < 1:
            raise InputError(f"max_concurrent_items must be at least 1, found {most}")


class EvaluateCall(EvalConfig, kw_only=False):
    """Arguments of `evaluate`."""

    dataset: core.RubricDataset
    grader: CriterionGrader


@takes(EvaluateCall)
async def evaluate(call: EvaluateCall) -> EvalResult:
    """Grade a dataset.

    Args:
        dataset: the items to grade.
        grader: the grader.
        fail_fast, show_progress, progress_style, max_concurrent_items, experiment_name,
            experiments_dir, resume: see `EvalConfig`.

    Raises:
        InputError: an argument cannot be used; nothing has been sent.
        RunStopped: the run ended early (an invalid key, an endpoint that is down). Its `result` has
            the verdicts so far, and with an `experiment_name` the next call continues the run.
    """
    return await EvalRunner(call.dataset, call.grader, call).run()


class EvalRunner:
    """Grades a dataset; see `evaluate`."""

    def __init__(
        self,
        dataset: core.RubricDataset,
        grader: CriterionGrader,
        config: EvalConfig | None = None,
    ) -> None:
        self.dataset, self.grader, self.config = dataset, grader, config or EvalConfig()

    async def run(self) -> EvalResult:
        """Grade the dataset, or continue the run in the folder of that name."""
        stop, begin = asyncio.Event(), datetime.now(UTC)
        check_type(self.grader, CriterionGrader, "a CriterionGrader", ("grader",))
        name = self.config.experiment_name
        folder = None if name is None else Path(self.config.experiments_dir) / name

        def stop_if_failed(progress: Progress) -> None:
            if self.config.fail_fast and progress.failed:
                stop.set()

        listener = progress_line(stop_if_failed) if self.config.show_progress else stop_if_failed
        options = replace(
            self.grader.options(),
            run_dir=folder,
            fresh=not self.config.resume and folder is not None,
            stop=stop,
            on_progress=listener,
        )
        if self.config.max_concurrent_items is not None:
            longest = max((len(item.rubric) for item in self.dataset.to_grade()), default=1)
            at_once = self.config.max_concurrent_items * longest * len(self.grader.configs)
            options = options.changed(concurrency=min(options.concurrency, at_once))
        judge, voters = self.grader.to_judge()
        try:
            result = await self.grader.run(self.dataset, judge, options)
        except RunStopped as stopped:
            if not stop.is_set():
                raise
            raise _failed_fast(stopped.result) from None
        if self.config.fail_fast and result.failed:
            raise _failed_fast(result)
        record = {
            "started_at": begin.isoformat(),
            "completed_at": datetime.now(UTC).isoformat(),
            "normalize": self.grader.normalize,
            "voters": voters,
        }
        if folder is not None:
            whole = self.dataset.to_dict()
            with Replacement(user_path(folder) / RECORD) as file:
                file.write(json.dumps({**record, "dataset": whole}, default=str).encode())
        return EvalResult.of(result, self.dataset.items, record, folder)


def _failed_fast(result: Any) -> RunStopped:
    """Create the error with which `fail_fast` ends a run: the cause of the first failure."""
    causes = (
        f"item {item.index}, criterion '{name}': {verdict.error.kind}: {verdict.error.message}"
        for item in result.items
        for name, verdict in item.criteria.items()
        if verdict.status == "failed"
    )
    cause = next(causes, "see the result")
    return RunStopped(f"a verdict failed, and fail_fast is set: {cause}", result=result)


names_elsewhere(__name__)
