"""Grading reports: the core's run, with the page's results file as a view of it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict

from rubricate.dialects.researchrubrics._figures import Figures, Line, figures, lines_of
from rubricate.dialects.researchrubrics._reports import Reports
from rubricate.dialects.researchrubrics._results import ResultLines, result_line
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    CHUNK_TOKENS,
    ConfidentJudge,
    DocumentJudge,
    GroupJudge,
    Judge,
    JudgesLike,
    Model,
    Panel,
    choose_judge,
    judge_or_model,
)
from rubricate.rubric import Verdict
from rubricate.run import Limits, Progress, RetryPolicy, Sender

if TYPE_CHECKING:
    from rubricate.run import RunEstimate
    from rubricate.run.results import Summary

__all__ = [
    "DEFAULT_MODEL",
    "MAX_CONCURRENT",
    "MAX_RETRIES",
    "Batch",
    "BatchOptions",
    "JudgeOptions",
    "aestimate_reports",
    "chosen_report_judge",
    "grade_reports",
]

DEFAULT_MODEL = "litellm_proxy/gemini/gemini-2.5-pro-preview-06-05"
MAX_CONCURRENT = 20
MAX_RETRIES = 3
FIRST_WAIT, LONGEST_WAIT = 2.0, 64.0
"""Seconds: back-off doubles from the one to the other, by up to half less so that requests do not
come back together."""


class JudgeOptions(TypedDict, total=False):
    """How the judge is made; as for `rubricate.agrade`, but for `chunk_tokens`, which is 8,000
    unless something else is said (None for whole reports)."""

    base_url: str | None
    temperature: float | None
    max_tokens: int | None
    timeout: float
    prices: str | Path | None
    chunk_tokens: int | None


class BatchOptions(TypedDict, total=False):
    """How reports are graded.

    `max_concurrent`: the most requests in flight (20). `max_retries`: how often a request that
    failed is sent again (3), after 2^n seconds unless the endpoint says otherwise. `run_dir`, the
    folder of journal and results, `fresh`, `cache`, `limit`, `max_cost`, `on_progress`, `stop`: as
    for `rubricate.agrade`.
    """

    max_concurrent: int
    max_retries: int
    run_dir: str | Path | None
    fresh: bool
    cache: str | Path | None
    limit: int | None
    max_cost: float | None
    on_progress: Callable[[Progress], None] | None
    stop: asyncio.Event | None


@dataclass
class Batch:
    """Graded reports.

    Attributes:
        rows: the result lines, in the order in which they came; empty where they were not kept.
        without_report: the ids of tasks that no report is for, by system.
        without_task: files that no task is for.
        lines: what the figures need of them.
        summary: the run's figures: calls, tokens, cost, failures by cause.
    """

    summary: Summary
    lines: list[Line]
    rows: list[dict[str, Any]] = field(default_factory=list)
    without_report: Mapping[str, Sequence[str]] = field(default_factory=dict)
    without_task: Sequence[Path] = ()

    def figures(self) -> Figures:
        """Compliance by report, axis, domain and system, and agreement with people."""
        return figures(self.lines)


def chosen_report_judge(model: JudgesLike, options: JudgeOptions) -> GroupJudge | Panel:
    """The judge that is meant; language models read long reports in parts.

    Raises:
        InputError: no such judge, or a key is missing; nothing has been sent.
    """
    several = list(model) if isinstance(model, list | tuple) else [model]
    if isinstance(model, Panel):
        return model
    judges = [_one(judge, options, alone=len(several) == 1) for judge in several]
    return choose_judge(judges[0]) if len(judges) == 1 else Panel(judges)


def _one(model: Any, options: JudgeOptions, *, alone: bool) -> Judge:
    """A judge; a language model says how sure it is, and reads long reports in parts."""
    told: dict[str, Any] = {**options}
    budget = told.pop("chunk_tokens", CHUNK_TOKENS)
    if not (alone or (isinstance(model, str) and model != "builtin")):
        told = {}
    chosen = judge_or_model(model, **told)
    if not isinstance(chosen, Model):
        return chosen
    judge = ConfidentJudge(chosen)
    return judge if budget is None else DocumentJudge(judge, chunk_tokens=budget)


async def aestimate_reports(
    reports: Reports, judge: GroupJudge | Panel, **options: Any
) -> RunEstimate:
    """What grading reports would take; nothing is sent or written. Options: `run_dir`, `cache`,
    `fresh` and `limit`, as for `grade_reports`."""
    from rubricate.grading import aestimate

    return await aestimate(reports, judge, **options)


async def grade_reports(
    reports: Reports,
    judge: GroupJudge | Panel,
    output: ResultLines | None = None,
    *,
    keep_rows: bool = False,
    **options: Any,
) -> Batch:
    """Grade reports by the criteria of their tasks, all in one pool.

    Args:
        reports: the reports.
        judge: who grades, from `chosen_report_judge`.
        output: where result lines go, each as soon as it is there.
        keep_rows: whether they are kept in memory, too.
        options: those of `BatchOptions`.

    Raises:
        InputError: something given cannot be used; nothing has been sent.
    """
    from rubricate.streaming import ResultStream

    if unknown := sorted(options.keys() - BatchOptions.__annotations__.keys()):
        raise TypeError(f"unexpected keyword argument '{unknown[0]}'")
    concurrency = options.pop("max_concurrent", MAX_CONCURRENT)
    retries = options.pop("max_retries", MAX_RETRIES)
    if isinstance(retries, bool) or not isinstance(retries, int) or retries < 0:
        raise InputError(f"max_retries must be 0 or more, found {retries!r}")
    progress = options.get("on_progress") or (lambda now: None)
    rows: list[dict[str, Any]] = []
    lines: list[Line] = []

    def on_verdict(item: Any, name: str, verdict: Verdict) -> None:
        report = reports.reports[item.id]
        row = result_line(report, report.task.rubric.names.index(name), verdict)
        lines.extend(lines_of([row]))
        if keep_rows:
            rows.append(row)
        if output is not None:
            output.add(row)

    stop = options.pop("stop", None) or asyncio.Event()
    with ExitStack() as stack:
        sender = stack.enter_context(
            Sender(
                limits=Limits(concurrency),
                retries=RetryPolicy(
                    attempts=1 + retries, first_wait=FIRST_WAIT, longest_wait=LONGEST_WAIT
                ),
            )
        )
        stream = ResultStream(
            reports,
            judge,
            stop,
            {**options, "concurrency": concurrency, "on_progress": progress},  # type: ignore[typeddict-item]
            sender,
            on_verdict,
        )
        async with stream:
            with suppress(RunStopped):  # the summary says why
                async for _ in stream:
                    pass
        return Batch(stream.summary(), lines, rows, reports.without_report, reports.without_task)
