"""`rubricate researchrubrics`."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubricate._files import user_path
from rubricate._spelling import listed
from rubricate._terminal import console
from rubricate.cli._commands import command
from rubricate.cli._grade_settings import GradeSettings
from rubricate.cli._judging import (
    NO_JUDGE,
    Shell,
    exit_code,
    print_estimate,
    shared_places,
    watched,
)
from rubricate.cli._printing import print_json
from rubricate.cli._run_dirs import OnProgress, RunDir, place_of, run_dir_for
from rubricate.dialects.researchrubrics import (
    DEFAULT_MODEL,
    DEFAULT_TASKS,
    MAX_CONCURRENT,
    MAX_RETRIES,
    Batch,
    ReportOptions,
    ResearchReports,
    ResultLines,
    RubricEvaluator,
    figures_of_results,
    find_reports,
    judge_of_reports,
    read_tasks,
    results_path,
)
from rubricate.errors import InputError
from rubricate.grading import estimate
from rubricate.judge import CHUNK_TOKENS, SAMPLING, Endpoint
from rubricate.judge.models import find_setting
from rubricate.run import Budget, Limits, Retries, RunOptions, Storage
from rubricate.run.results import Summary
from rubricate.settings import again, option, options_of, part

FOLDER = "agent_responses"
KEY = "LITELLM_API_KEY"
MOST_LISTED = 10


class ReportSettings(Shell, Endpoint, Retries, Limits, Budget, Storage):
    """The options of `rubricate researchrubrics`."""

    folder: str | None = option(
        None,
        "The reports, each named by its task's sample_id: .md, .txt, .pdf, .html, .docx. "
        "[agent_responses/]",
        group="What is graded",
        is_argument=True,
    )
    tasks: str = option(
        str(DEFAULT_TASKS),
        "The tasks with their rubrics.",
        group="What is graded",
        common=True,
    )
    system: Sequence[str] = option(
        (),
        "NAME=DIR: the reports of one of several systems; given several times.",
        group="What is graded",
        common=True,
    )
    rescore: str | None = option(
        None,
        "Score this results file again without asking a judge: compliance by report, axis, "
        "domain, ...",
        group="What is graded",
        is_path=True,
        common=True,
    )
    grading: str = option(
        "binary",
        "binary, or ternary with Partially Satisfied.",
        group="What is graded",
        common=True,
    )
    judge: Sequence[str] = option(
        (),
        "Who grades, as for grade.",
        group="Who judges",
        default_text=f"the page's model where {KEY} is set, else builtin",
        common=True,
    )
    chunk_tokens: int | None = option(
        CHUNK_TOKENS,
        "Read reports of more tokens in parts; 0 for all whole.",
        group="How they are asked",
        unit="tokens",
        common=True,
    )
    follow_links: bool = again(GradeSettings, "follow_links", False)
    limit: int | None = option(
        None, "Grade only the first N reports.", group="What is graded", common=True
    )
    concurrency: int = again(Limits, "concurrency", MAX_CONCURRENT)
    attempts: int = again(Retries, "attempts", 1 + MAX_RETRIES)
    output_file: str | None = option(
        None,
        "The file of results.",
        default_text="results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl",
        common=True,
    )


@command(
    ReportSettings,
    defaults={"run_dir": "runs/reports-FOLDER-JUDGE", "cache": "the user's cache folder"},
)
def researchrubrics(settings: ReportSettings) -> int:
    """Grade research reports by the rubrics of their tasks. See the guide 'Research reports'."""
    if settings.rescore is not None:
        return _rescore(settings, settings.rescore)
    notes = console(stderr=True, quiet=settings.quiet)
    names = list(settings.judge) or ([DEFAULT_MODEL] if find_setting(KEY) else [])
    shared = shared_places(settings)
    tasks = read_tasks(settings.tasks, grading=settings.grading)
    chosen = _run_dir(settings, names)
    run_dir, cache = chosen.path, shared["cache"]
    converted = (cache if isinstance(cache, Path) else run_dir) / "documents"
    reports = find_reports(
        _folders(settings),
        tasks,
        limit=settings.limit,
        cache=None if settings.dry_run else converted,
        follow_links=settings.follow_links,
    )
    options = replace(part(RunOptions, settings), run_dir=run_dir, **shared)
    if settings.dry_run:
        judge = judge_of_reports(names or None, settings.chunk_tokens or None, settings)
        planned = estimate(reports.dataset, judge, **vars(options))
        print_estimate(planned, settings.json_output)
        return 0
    evaluator = RubricEvaluator(
        names or None,
        grading=settings.grading,
        chunk_tokens=settings.chunk_tokens or None,
        **vars(part(Endpoint, settings)),
    )
    _list_unmatched(reports, notes)
    if not names:
        notes.print(NO_JUDGE, style="dim")
    if not settings.quiet:
        chosen.announce()

    async def graded(show: OnProgress, stop: asyncio.Event) -> Batch:
        running = options.changed(on_progress=chosen.progress(show))
        own = replace(part(ReportOptions, running), stop=stop)
        return await evaluator.grade(reports, own, output)

    with ResultLines(settings.output_file or results_path()) as output:
        batch = watched(graded, settings)
    chosen.claim()
    _show(batch, output.path, settings)
    return exit_code(run_dir, batch.summary)


def _rescore(settings: ReportSettings, results: str) -> int:
    """Print the figures of a results file, and return the exit code."""
    asking = ("folder", "system", "judge", "limit", "output_file", "run_dir")
    usual = options_of(ReportSettings)
    for name in asking:
        if getattr(settings, name) != usual[name].default:
            shown = name if name == "folder" else f"--{name.replace('_', '-')}"
            raise InputError(f"--rescore grades nothing: leave out {shown}")
    without_tasks = settings.tasks == str(DEFAULT_TASKS) and not Path(DEFAULT_TASKS).exists()
    tasks = [] if without_tasks else read_tasks(settings.tasks, grading=settings.grading)
    figures = figures_of_results(results, tasks)
    if settings.json_output:
        print_json(figures.to_dict())
    else:
        console().print(figures)
    return 0


def _folders(settings: ReportSettings) -> dict[str, str]:
    if not settings.system:
        if settings.folder is None and not settings.follow_links and Path(FOLDER).is_symlink():
            raise InputError("is a link: name the folder, or give --follow-links", file=FOLDER)
        return {"": settings.folder or FOLDER}
    if settings.folder is not None:
        raise InputError("give a folder of reports, or --system NAME=DIR for each system; not both")
    folders: dict[str, str] = {}
    for entry in settings.system:
        name, equals, folder = entry.partition("=")
        if not equals or not name.strip() or not folder:
            raise InputError(f"--system: '{entry}' is not of the form NAME=DIR")
        if name in folders:
            raise InputError(f"--system: '{name}' is given twice")
        folders[name] = folder
    return folders


def _run_dir(settings: ReportSettings, names: list[str]) -> RunDir:
    data = "-".join(_folders(settings)) or user_path(settings.folder or FOLDER).resolve().name
    judge = names[0] if len(names) == 1 else "panel" if names else "builtin"
    named = {
        "command": "researchrubrics",
        "reports": {name: place_of(folder) for name, folder in _folders(settings).items()},
        "tasks": place_of(settings.tasks),
        "base_url": settings.base_url,
        "grading": settings.grading,
        "chunk_tokens": settings.chunk_tokens,
        **{name: getattr(settings, name) for name in SAMPLING},
    }
    return run_dir_for(settings, f"reports-{data.strip('-')}-{judge}", names, named)


def _list_unmatched(reports: ResearchReports, notes: Any) -> None:
    """List tasks without a report, files without a task, and reports that cannot be read."""
    for system, missing in reports.without_report.items():
        _list_names(notes, f"Tasks without a report{f' of {system}' if system else ''}", missing)
    _list_names(notes, "Files without a task", [path.name for path in reports.without_task])
    errors = list(reports.unreadable.values())
    for error in errors[:MOST_LISTED]:
        what = f"Failed, since it cannot be read: {error}"
        notes.print(what, highlight=False, markup=False, soft_wrap=True)
    if len(errors) > MOST_LISTED:
        notes.print(f"and {len(errors) - MOST_LISTED} more", highlight=False)
    hidden = [f"{name} ({count} characters)" for name, count in reports.hidden.items()]
    _list_names(notes, "Text that the page hides was left out of", hidden)


def _list_names(notes: Any, what: str, names: list[str]) -> None:
    if names:
        notes.print(f"{what}: {listed(names, MOST_LISTED)}")


def _show(batch: Batch, output: Path, settings: ReportSettings) -> None:
    summary, reports = batch.summary, batch.reports
    if settings.json_output:
        data = {
            "results": str(output),
            "summary": summary.to_dict(),
            "without_report": reports.without_report,
            "without_task": [path.name for path in reports.without_task],
            "unreadable": {name: str(error) for name, error in reports.unreadable.items()},
            "hidden_characters": reports.hidden,
            **batch.figures().to_dict(),
        }
        print_json(data)
    elif not settings.quiet:
        terminal = console()
        if summary.nothing_judged:
            terminal.print(*(line.text for line in summary.nothing()))
        else:
            terminal.print(batch.figures())
        terminal.print()
        for line in _run_lines(summary, output):
            terminal.print(line, soft_wrap=True)


def _run_lines(summary: Summary, output: Path) -> Iterator[str]:
    usage = summary.usage
    yield (
        f"judged by {summary.judge}: {usage.calls} calls ({usage.resumed + usage.cached} more "
        f"known), {usage.input_tokens} tokens in, {usage.output_tokens} out, cost "
        f"{usage.cost_text}, {usage.seconds:.1f} s"
    )
    if summary.documents is not None:
        yield from (f"{name}: {text}" for name, text in summary.documents.facts())
    yield from (line.text for line in summary.without_the_error().problems())
    if summary.note is not None:
        yield summary.note
    yield f"results: {output}; run folder: {summary.run_dir}"
