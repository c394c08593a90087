"""`rubricate researchrubrics`."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate._terminal import console
from rubricate.cli._judging import (
    NO_JUDGE,
    cache_folder,
    exit_code,
    print_estimate,
)
from rubricate.cli._progress import ProgressView
from rubricate.cli._run_dirs import RunDir, place_of, run_dir_for
from rubricate.cli._signals import stop_on_signals
from rubricate.dialects.researchrubrics import (
    DEFAULT_MODEL,
    DEFAULT_TASKS,
    Batch,
    ResearchReports,
    ResultLines,
    RubricEvaluator,
    find_reports,
    read_tasks,
    results_path,
)
from rubricate.errors import InputError
from rubricate.grading import estimate
from rubricate.judge.models import find_setting
from rubricate.run import INTERRUPTED, DocumentWork
from rubricate.run.results import Summary

__all__ = ["ReportSettings", "reports_command"]

FOLDER = "agent_responses"
KEY = "LITELLM_API_KEY"
MOST_LISTED = 10


@dataclass(frozen=True, kw_only=True)
class ReportSettings:
    """Everything that `rubricate researchrubrics` can be told; see its help."""

    folder: str | None
    tasks: str | None
    system: list[str] | None
    judge: list[str] | None
    base_url: str | None
    grading: str
    chunk_tokens: int
    max_concurrent: int
    max_retries: int
    resume: bool
    output_file: str | None
    run_dir: str | None
    cache: str | None
    no_cache: bool
    dry_run: bool
    limit: int | None
    max_cost: float | None
    temperature: float
    max_tokens: int | None
    timeout: float
    prices: str | None
    json_output: bool
    quiet: bool


def reports_command(settings: ReportSettings) -> int:
    """Grade reports as told; returns the exit code."""
    notes = console(stderr=True, quiet=settings.quiet)
    names = settings.judge or ([DEFAULT_MODEL] if find_setting(KEY) else [])
    cache = cache_folder(settings.cache, settings.no_cache)
    tasks = read_tasks(settings.tasks or DEFAULT_TASKS, grading=settings.grading)
    chosen = _run_dir(settings, names)
    run_dir = chosen.path
    kept = None if settings.dry_run else (cache or run_dir) / "documents"
    reports = find_reports(_folders(settings), tasks, cache=kept)
    evaluator = RubricEvaluator(
        names or None,
        settings.max_concurrent,
        settings.max_retries,
        grading=settings.grading,
        chunk_tokens=settings.chunk_tokens or None,
        base_url=settings.base_url,
        temperature=settings.temperature,
        max_tokens=settings.max_tokens,
        timeout=settings.timeout,
        prices=settings.prices,
    )
    reports.survey(settings.limit)
    common: dict[str, Any] = {
        "run_dir": run_dir,
        "cache": cache,
        "fresh": not settings.resume,
        "limit": settings.limit,
    }
    if settings.dry_run:
        found = estimate(reports, evaluator.judge, **common)
        print_estimate(found, settings.json_output)
        return 0
    _list_unmatched(reports, notes)
    if not names:
        notes.print(NO_JUDGE, style="dim")
    with ResultLines(settings.output_file or results_path()) as output:
        batch = asyncio.run(_graded(settings, reports, evaluator, output, common, notes, chosen))
    chosen.claim()
    _show(batch, reports, output.path, settings)
    return exit_code(
        run_dir,
        stopped=batch.summary.stopped,
        interrupted=batch.summary.stopped == INTERRUPTED,
        failed=batch.summary.verdicts["failed"],
    )


async def _graded(
    settings: ReportSettings,
    reports: ResearchReports,
    evaluator: RubricEvaluator,
    output: ResultLines,
    common: dict[str, Any],
    notes: Any,
    run_dir: RunDir,
) -> Batch:
    stop = stop_on_signals()
    with ProgressView(notes) as view:
        return await evaluator.grade(
            reports,
            output,
            max_cost=settings.max_cost,
            on_progress=run_dir.begin(view.update, quiet=settings.quiet),
            stop=stop,
            **common,
        )


def _folders(settings: ReportSettings) -> dict[str, str]:
    if not settings.system:
        return {"": settings.folder or FOLDER}
    if settings.folder is not None:
        raise InputError("give a folder of reports, or --system NAME=DIR for each system; not both")
    folders: dict[str, str] = {}
    for given in settings.system:
        name, equals, folder = given.partition("=")
        if not equals or not name.strip() or not folder:
            raise InputError(f"--system: '{given}' is not of the form NAME=DIR")
        if name in folders:
            raise InputError(f"--system: '{name}' is given twice")
        folders[name] = folder
    return folders


def _run_dir(settings: ReportSettings, names: list[str]) -> RunDir:
    data = "-".join(_folders(settings)) or user_path(settings.folder or FOLDER).resolve().name
    judge = names[0] if len(names) == 1 else "panel" if names else "builtin"
    named = {
        "reports": {name: place_of(folder) for name, folder in _folders(settings).items()},
        "tasks": place_of(settings.tasks or str(DEFAULT_TASKS)),
        "base_url": settings.base_url,
        "grading": settings.grading,
        "chunk_tokens": settings.chunk_tokens,
        "temperature": settings.temperature,
        "max_tokens": settings.max_tokens,
    }
    return run_dir_for(settings.run_dir, f"reports-{data.strip('-')}-{judge}", names, named)


def _list_unmatched(reports: ResearchReports, notes: Any) -> None:
    """Say which tasks have no report, which files no task, and what cannot be read as it is."""
    for system, missing in reports.without_report.items():
        if missing:
            of = f" of {system}" if system else ""
            _listed(notes, f"Tasks without a report{of}", missing)
    if reports.without_task:
        _listed(notes, "Files without a task", [path.name for path in reports.without_task])
    errors = list(reports.unreadable.values())
    for error in errors[:MOST_LISTED]:
        what = f"Failed, since it cannot be read: {error}"
        notes.print(what, highlight=False, markup=False, soft_wrap=True)
    if len(errors) > MOST_LISTED:
        notes.print(f"and {len(errors) - MOST_LISTED} more", highlight=False)
    if reports.hidden:
        hidden = [f"{name} ({count} characters)" for name, count in reports.hidden.items()]
        _listed(notes, "Text that the page hides was left out of", hidden)


def _listed(notes: Any, what: str, names: list[str] | Any) -> None:
    shown = ", ".join(names[:MOST_LISTED])
    more = f" and {len(names) - MOST_LISTED} more" if len(names) > MOST_LISTED else ""
    notes.print(f"{what}: {shown}{more}")


def _show(batch: Batch, reports: ResearchReports, output: Path, settings: ReportSettings) -> None:
    summary = batch.summary
    if settings.json_output:
        usage = summary.usage.model_dump()
        data = {
            "results": str(output),
            "run_dir": summary.run_dir,
            "judge": summary.judge,
            "stopped": summary.stopped,
            "without_report": reports.without_report,
            "without_task": [path.name for path in reports.without_task],
            "unreadable": {name: str(error) for name, error in reports.unreadable.items()},
            "hidden_characters": reports.hidden,
            "verdicts": summary.verdicts,
            "errors": summary.errors,
            "usage": usage,
            "documents": summary.documents and summary.documents.model_dump(),
            **batch.figures().to_dict(),
        }
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif not settings.quiet:
        shown = console()
        shown.print(batch.figures())
        shown.print()
        for line in _run_lines(summary, output):
            shown.print(line, soft_wrap=True)


def _run_lines(summary: Summary, output: Path) -> list[str]:
    usage = summary.usage
    cost = "cost unknown" if usage.cost is None else f"${usage.cost:.4f}"
    lines = [
        f"judged by {summary.judge}: {usage.calls} calls ({usage.resumed + usage.cached} more "
        f"known), {usage.input_tokens} tokens in, {usage.output_tokens} out, {cost}, "
        f"{usage.seconds:.1f} s"
    ]
    if summary.documents is not None:
        lines.append(f"long documents: {DocumentWork(**summary.documents.model_dump())}")
    if summary.first_error is not None:
        causes = ", ".join(f"{kind} {count}" for kind, count in summary.errors.items())
        lines.append(f"failed: {causes}; the first: {summary.first_error}")
    if summary.note is not None:
        lines.append(summary.note)
    return [*lines, f"results: {output}; run folder: {summary.run_dir}"]
