"""`rubricate grade`."""

from __future__ import annotations

import asyncio
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate.cli._progress import ProgressView
from rubricate.cli._settings import GradeSettings
from rubricate.dataset import (
    RubricDataset,
    SkippedRecord,
    TableColumns,
    is_table,
    open_items,
    table_name,
    write_skipped,
)
from rubricate.errors import InputError, RunStopped
from rubricate.grading import agrade
from rubricate.judge import Judge, choose_judge
from rubricate.rubric import Rubric, check_cannot_assess
from rubricate.run import Result

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["grade_command"]

NO_JUDGE = (
    "No --judge given: using the embedded judge (builtin), a baseline. For a language model, set "
    "its key and name it: --judge openai/gpt-4.1-mini (rubricate judges lists them)."
)


def grade_command(settings: GradeSettings) -> int:
    """Grade as told; returns the exit code."""
    from rich.console import Console

    notes = Console(stderr=True, quiet=settings.quiet)
    check_cannot_assess(settings.cannot_assess, settings.partial)
    dataset, skipped = _dataset(settings)
    judge = _judge(settings)
    run_dir = Path(settings.run_dir) if settings.run_dir else _default_run_dir(settings)
    if skipped:
        _report_skipped(skipped, run_dir, notes)
    if settings.judge is None and settings.train is None:
        notes.print(NO_JUDGE, style="dim", highlight=False)
    try:
        result = asyncio.run(_graded(settings, dataset, judge, run_dir, notes))
    except RunStopped as stopped:
        _show(stopped.result, settings)
        resume = f"What was judged is in {run_dir}; the same command goes on from there."
        if stopped.interrupted:
            sys.stderr.write(f"Interrupted. {resume}\n")
            return 130
        sys.stderr.write(f"Error: {stopped} {resume}\n")
        return 1
    _show(result, settings)
    return 2 if result.failed else 0


def _dataset(settings: GradeSettings) -> tuple[RubricDataset, Sequence[SkippedRecord]]:
    """What to grade, and the rows that were left out."""
    if settings.data is None:
        raise InputError("no dataset given: rubricate grade DATA, or data: in the config file")
    rubric = Rubric.from_file(settings.rubric) if settings.rubric else None
    skipped: Sequence[SkippedRecord] = ()
    if settings.map is not None or is_table(settings.data):
        if rubric is None:
            raise InputError("a table has no rubric: give --rubric", file=settings.data)
        dataset, skipped = open_items(
            settings.data,
            rubric,
            TableColumns.parse(settings.map or {}),
            limit=settings.limit,
            on_error=settings.on_error,
        )
    else:
        dataset = _rubric_dataset(settings.data, rubric)
    if not dataset.items:
        raise InputError("the dataset has no items to grade", file=settings.data, path=("items",))
    return dataset, skipped


def _rubric_dataset(data: str, rubric: Rubric | None) -> RubricDataset:
    try:
        dataset = RubricDataset.from_file(data, rubric=rubric)
    except InputError as error:
        if error.message == "Missing required field: 'rubric'":
            raise InputError(
                f"{error.message}; add one or give --rubric", file=error.file
            ) from None
        raise
    if dataset.rubric is None and any(item.rubric is None for item in dataset):
        raise InputError("the dataset has no rubric: give --rubric", file=data)
    return dataset


def _report_skipped(skipped: Sequence[SkippedRecord], run_dir: Path, notes: Console) -> None:
    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=run_dir) from None
    report = run_dir / "skipped.jsonl"
    write_skipped(report, skipped)
    one = len(skipped) == 1
    what = f"{len(skipped)} {'row that does' if one else 'rows that do'} not fit"
    notes.print(f"Left out {what}; see {report}", highlight=False, markup=False)


def _judge(settings: GradeSettings) -> Judge:
    if settings.train is not None:
        if settings.judge not in (None, "builtin"):
            raise InputError(f"--train refits the embedded judge, not '{settings.judge}'")
        from rubricate.judge import BuiltinJudge

        labelled = RubricDataset.from_file(settings.train)
        try:
            return BuiltinJudge.trained_on(labelled)
        except InputError as error:
            raise error.within(file=settings.train) from None
    return choose_judge(
        settings.judge,
        base_url=settings.base_url,
        temperature=settings.temperature,
        timeout=settings.timeout,
    )


def _default_run_dir(settings: GradeSettings) -> Path:
    """The same folder for the same data and judge, so that a second call takes up the first."""
    data = table_name(settings.data or "data")
    judge = settings.judge or "builtin"
    if settings.train is not None:
        judge += f"-{Path(settings.train).stem}"
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", f"{data}-{judge}").strip("-.")
    return Path("runs") / (slug or "run")


async def _graded(
    settings: GradeSettings,
    dataset: RubricDataset,
    judge: Judge,
    run_dir: Path,
    notes: Console,
) -> Result:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        # The first signal ends the run cleanly; the second one, at once.
        loop.add_signal_handler(number, _first_signal, loop, stop)
    try:
        with ProgressView(notes) as view:
            return await agrade(
                dataset,
                judge,
                run_dir=run_dir,
                limit=settings.limit,
                concurrency=settings.concurrency,
                requests_per_minute=settings.requests_per_minute,
                tokens_per_minute=settings.tokens_per_minute,
                attempts=settings.attempts,
                deadline=settings.deadline,
                max_outage=settings.max_outage,
                cannot_assess=settings.cannot_assess,
                partial=settings.partial,
                on_progress=view.update,
                stop=stop,
            )
    finally:
        await judge.aclose()


def _first_signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    stop.set()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.remove_signal_handler(number)


def _show(result: Result, settings: GradeSettings) -> None:
    summary = result.summary()
    if settings.json_output:
        print(summary.model_dump_json(indent=2))
    elif not settings.quiet:
        from rich.console import Console

        Console().print(summary)
