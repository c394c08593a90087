"""`autorubric.eval`: grade a dataset, and compare with people's labels."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from rubricate import dataset as core
from rubricate.dataset import DataItem
from rubricate.dialects._options import progress_line
from rubricate.dialects.autorubric._reports import EnsembleEvaluationReport, TokenUsage, usage_of
from rubricate.dialects.autorubric.graders import CriterionGrader
from rubricate.errors import InputError, RunStopped, shown
from rubricate.run import Progress
from rubricate.settings import Settings, takes

if TYPE_CHECKING:
    from rubricate.analysis import Result
    from rubricate.dialects.autorubric._metrics import Metrics


@dataclass(frozen=True)
class ItemResult:
    """One item with its report; `error` says why there is no score, where every verdict failed."""

    item_idx: int
    item: DataItem
    report: EnsembleEvaluationReport
    error: str | None = None


@dataclass(frozen=True)
class EvalResult:
    """A graded dataset.

    Attributes:
        item_results: the items in the dataset's order.
        total_items, successful_items, failed_items: how many; failed are those without any verdict.
        total_token_usage, total_completion_cost: what the run took; answers that were known from
            before cost nothing.
        errors: why items failed, with their indices.
        experiment_name, experiment_dir: the run folder, if there is one.
        result: the core's result: summary, tables, plots.
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
    result: Result = field(repr=False)

    def get_scores(self) -> list[float]:
        """The scores of the items that have one."""
        return [score for item in self.item_results if (score := item.report.score) is not None]

    def get_reports(self) -> list[EnsembleEvaluationReport]:
        """The reports of the items that did not fail."""
        return [item.report for item in self.filter_successful()]

    def filter_successful(self) -> list[ItemResult]:
        """The items that did not fail."""
        return [item for item in self.item_results if item.error is None]

    def filter_failed(self) -> list[ItemResult]:
        """The items that failed."""
        return [item for item in self.item_results if item.error is not None]

    def compute_metrics(
        self,
        dataset: core.RubricDataset,
        *,
        bootstrap: bool = False,
        n_bootstrap: int = 1000,
        cannot_assess: str = "exclude",
        confidence_level: float = 0.95,
        seed: int | None = None,
    ) -> Metrics:
        """How far the verdicts agree with people's labels.

        Args:
            dataset: the dataset that was graded, with labels.
            bootstrap: whether intervals are wanted; they are always in `report`.
            n_bootstrap: how many resamples they are made of.
            cannot_assess: `exclude` leaves out pairs in which one abstained; `as_category` takes
                an abstention for a label like the others.
            confidence_level: of the intervals.
            seed: of the resamples.

        Raises:
            InputError: there are no labels, or it is another dataset.
        """
        from rubricate.analysis import agreement_report, held_run
        from rubricate.dialects.autorubric._metrics import Metrics
        from rubricate.stats import Bootstrap

        policies = {"exclude": "exclude", "as_category": "label"}
        if cannot_assess not in policies:
            raise InputError(
                f"cannot_assess must be {' or '.join(policies)}, found {cannot_assess!r}: an "
                "abstention is not UNMET"
            )
        labels = {item.id: item.labels() for item in dataset.to_grade()}
        if missing_items := [item.id for item in self.result.items if item.id not in labels]:
            raise InputError(f"the dataset has no item '{missing_items[0]}', which was graded")
        items = [replace(item, labels=labels[item.id]) for item in self.result.items]
        report = agreement_report(
            held_run(replace(self.result, items=items)),
            undecided=policies[cannot_assess],  # type: ignore[arg-type]
            bootstrap=Bootstrap(n_bootstrap, seed=seed or 0, confidence=confidence_level),
        )
        return Metrics(report, [item.rubric for item in items], bootstrap)


class EvaluateCall(Settings, kw_only=False):
    """Arguments of `evaluate`."""

    elsewhere: ClassVar[Mapping[str, str]] = {
        "progress_style": "there is one line of progress, on standard error",
    }

    dataset: core.RubricDataset
    grader: CriterionGrader
    fail_fast: bool = False
    show_progress: bool = True
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


@takes(EvaluateCall)
async def evaluate(call: EvaluateCall) -> EvalResult:
    """Grade a dataset.

    Args:
        dataset: what is graded.
        grader: who grades.
        fail_fast: end the run with the first failed verdict (`RunStopped`).
        show_progress: a line of progress on standard error, where that is a terminal.
        max_concurrent_items: limits the requests in flight to those of N items.
        experiment_name: the run folder's name in `experiments_dir`; default none, and no folder.
        resume: continue where an earlier run of the name ended; False asks everything again.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
        RunStopped: the run ended before all was judged (a refused key, a dead endpoint); its
            `result` has what was judged, and with an `experiment_name` the next call continues.
    """
    dataset, grader, stop = call.dataset, call.grader, asyncio.Event()
    if not isinstance(grader, CriterionGrader):
        raise InputError(f"grader must be a CriterionGrader, found {type(grader).__name__}")
    name = call.experiment_name
    folder = None if name is None else Path(call.experiments_dir) / name

    def stop_if_failed(progress: Progress) -> None:
        if call.fail_fast and progress.failed:
            stop.set()

    listener = progress_line(stop_if_failed) if call.show_progress else stop_if_failed
    options = replace(
        grader.options(),
        run_dir=folder,
        fresh=not call.resume and folder is not None,
        stop=stop,
        on_progress=listener,
    )
    if call.max_concurrent_items is not None:
        longest = max((len(item.rubric) for item in dataset.to_grade()), default=1)
        at_once = call.max_concurrent_items * longest * len(grader.configs)
        options = replace(options, concurrency=min(options.concurrency, at_once))
    try:
        result, reports = await grader.run(dataset, options)
    except RunStopped as stopped:
        if not stop.is_set():
            raise
        raise _failed_fast(stopped.result) from None
    if call.fail_fast and result.failed:
        raise _failed_fast(result)
    items = [
        ItemResult(index, dataset.items[item.index], report, report.error)
        for index, (item, report) in enumerate(zip(result.items, reports, strict=True))
    ]
    failed = [item for item in items if item.error is not None]
    return EvalResult(
        item_results=items,
        total_items=len(items),
        successful_items=len(items) - len(failed),
        failed_items=len(failed),
        total_token_usage=usage_of(result.usage),
        total_completion_cost=result.usage.cost,
        errors=[(item.item_idx, item.error or "") for item in failed],
        experiment_name=name,
        experiment_dir=folder,
        result=result,
    )


def _failed_fast(result: Any) -> RunStopped:
    """What `fail_fast` ends a run with: the cause of the first failure."""
    causes = (
        f"item {item.index}, criterion '{name}': {verdict.error.kind}: {verdict.error.message}"
        for item in result.items
        for name, verdict in item.criteria.items()
        if verdict.error is not None and verdict.error.kind != "not_run"
    )
    cause = next(causes, "see the result")
    return RunStopped(f"a verdict failed, and fail_fast is set: {cause}", result=result)
