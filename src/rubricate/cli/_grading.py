"""What `rubricate grade` does."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate._files import check_no_links
from rubricate._terminal import console
from rubricate.analysis import read_run
from rubricate.choosing import chosen_judge
from rubricate.cli._datasets import advice_on, check_kind
from rubricate.cli._exit_codes import ExitCode
from rubricate.cli._grade import GradeSettings
from rubricate.cli._judging import NO_JUDGE, exit_code, print_estimate, shared_places
from rubricate.cli._progress import ProgressView
from rubricate.cli._run_dirs import RunDir, criteria_of, place_of, run_dir_for
from rubricate.cli._signals import stop_on_signals
from rubricate.cli._thresholds import check_criteria, code_of_thresholds, thresholds_of
from rubricate.dataset import Gradable, Survey, open_dataset, table_name
from rubricate.errors import InputError, RunStopped
from rubricate.judge import (
    ESCALATED,
    LABEL_SUFFIXES,
    SAMPLING,
    Asking,
    Cascade,
    Endpoint,
    Judge,
    People,
    Voting,
)
from rubricate.options import GradingOptions, JudgingOptions
from rubricate.rubric import Criterion, Rubric
from rubricate.run import INTERRUPTED, RunFolder, RunOptions, shard_folder
from rubricate.run.results import OtherRunError, Summary
from rubricate.settings import options_of, part
from rubricate.streaming import stream_of

if TYPE_CHECKING:
    from rich.console import Console

    from rubricate.analysis import Certificate
    from rubricate.dataset import SkippedRecord

ASKED = (
    *(one.name for one in options_of(Asking).values() if not one.is_path),
    "base_url",
    "examples_count",
    "examples_pick",
    "replicates",
    *SAMPLING,
)
"""The settings with which a judge would answer anew."""


def graded(settings: GradeSettings) -> int:
    """Grade as told; returns the exit code."""
    notes = console(stderr=True, quiet=settings.quiet)
    dataset = _dataset(settings)
    judge = _judge(settings)
    try:
        found = dataset.survey(settings.limit)
    except InputError as error:
        raise error.within(file=settings.data) from None
    _check_shard(settings)
    if settings.fail_under is not None or settings.fail_if_lower_bound_under is not None:
        check_criteria(settings, _criteria(dataset, found, settings.limit))
    options = replace(
        GradingOptions(**vars(part(RunOptions, settings)), calibration=settings.calibration),
        **shared_places(settings),
    )
    try:
        chosen = _run_dir(settings, found.rubric)
    except OtherRunError as error:
        from rubricate.run import with_requests

        raise asyncio.run(with_requests(error, dataset, judge, options)) from None
    run_dir = chosen.path
    options = replace(options, run_dir=run_dir)
    if settings.dry_run:
        from rubricate.grading import estimate_of

        found_out = asyncio.run(estimate_of(dataset, judge, options))
        print_estimate(found_out, settings.json_output)
        return 0
    if skipped := getattr(dataset, "skipped", ()):  # of a table
        _report_skipped(skipped, run_dir, notes)
    if settings.judge is None and settings.examples is None and found.asked:
        notes.print(NO_JUDGE, style="dim")
    certificate = None if settings.certificate is None else _certificate(settings.certificate)
    summary = asyncio.run(_graded(settings, dataset, judge, options, chosen, notes))
    chosen.claim()
    if options.part is not None:
        run_dir = shard_folder(run_dir, options.part)
    if certificate is not None:
        summary = _checked(summary, certificate, settings, run_dir)
    if reached := thresholds_of(settings, summary):
        summary = summary.model_copy(update={"thresholds": reached})
        RunFolder(run_dir).write_summary(summary.to_dict())
    _show(summary, settings)
    if options.part is not None and not summary.stopped:
        notes.print(
            f"This is shard {options.part} alone, in {run_dir}. When all are done, the same "
            "command without --shard puts them together, and asks only for what failed."
        )
    if waiting := summary.errors.get(ESCALATED):
        notes.print(
            f"{waiting} verdicts wait for people in {_listed(settings.escalate_to)[-1]}: label its "
            "items, and run the same command again."
        )
    code = exit_code(
        run_dir,
        stopped=summary.stopped,
        interrupted=summary.stopped == INTERRUPTED,
        failed=summary.verdicts["failed"],
    )
    is_told = not settings.json_output and not settings.quiet
    code = code_of_thresholds(code, reached, is_told=is_told)
    if code or summary.certificate is None or summary.certificate.holds:
        return code
    what = "; ".join(summary.certificate.differences)
    sys.stderr.write(f"Certificate {summary.certificate.file} does not hold: {what}\n")
    return ExitCode.NOT_CERTIFIED


def _check_shard(settings: GradeSettings) -> None:
    """Raise `InputError` where a shard is to be held to what is said of the whole."""
    for name in ("certificate", "fail_under", "fail_if_lower_bound_under"):
        if settings.shard is not None and getattr(settings, name) is not None:
            raise InputError(
                f"--{name.replace('_', '-')} is about all items: give it without --shard, when "
                "the shards are put together"
            )


def _certificate(file: str) -> Certificate:
    from rubricate.analysis import read_certificate

    return read_certificate(file)


def _checked(
    summary: Summary, certificate: Certificate, settings: GradeSettings, run_dir: Path
) -> Summary:
    """The summary, also that in the run folder, with what became of the certificate."""
    from rubricate.analysis import check_certificate

    found = check_certificate(certificate, read_run(run_dir), file=settings.certificate or "")
    checked = summary.model_copy(update={"certificate": found})
    RunFolder(run_dir).write_summary(checked.to_dict())
    return checked


def _dataset(settings: GradeSettings) -> Gradable:
    if settings.data is None:
        raise InputError("no dataset given: rubricate grade DATA, or data: in the config file")
    check_kind(settings.data)
    with advice_on(settings.data):
        return open_dataset(
            settings.data,
            settings.rubric,
            settings.map,
            format=settings.format,
            submissions=settings.submissions,
            references=settings.references,
            on_error=settings.on_error,
            follow_links=settings.follow_links,
        )


def _criteria(dataset: Gradable, found: Survey, limit: int | None) -> Iterable[Criterion]:
    """All criteria that are asked; where items have rubrics of their own, of every item."""
    if found.rubric is not None:
        return found.rubric.criteria
    return (criterion for item in dataset.to_grade(limit) for criterion in item.rubric.criteria)


def _report_skipped(skipped: Sequence[SkippedRecord], run_dir: Path, notes: Console) -> None:
    from rubricate.dataset import write_skipped

    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=run_dir) from None
    check_no_links(run_dir)
    report = run_dir / "skipped.jsonl"
    write_skipped(report, skipped)
    one = len(skipped) == 1
    what = f"{len(skipped)} {'row that does' if one else 'rows that do'} not fit"
    notes.print(f"Left out {what}; see {report}")


def _judge(settings: GradeSettings) -> Judge:
    told = part(JudgingOptions, settings)
    alone = replace(told, **vars(Voting()))  # who is asked next does not vote
    further = _listed(settings.escalate_to)
    asks_models = any(
        one != "builtin" and Path(one).suffix.lower() not in LABEL_SUFFIXES
        for one in (*_names(settings), *further)
    )
    if further and asks_models and _names(settings) in ([], ["builtin"]):
        told = _of_builtin(told)
    first = chosen_judge(_names(settings) or None, told)
    if not further:
        if settings.threshold is not None:
            raise InputError("--threshold says when others are asked: give --escalate-to")
        return first
    if settings.threshold is None:
        raise InputError(
            "--escalate-to needs --threshold, the least confidence with which a verdict stands: "
            "a number from 0 to 1; rubricate trust cascade RUN chooses it on labels"
        )
    if settings.data is not None and settings.data in further:
        raise InputError("--escalate-to is the graded dataset itself: name another file")
    stages = [
        People(one)
        if Path(one).suffix.lower() in LABEL_SUFFIXES
        else chosen_judge(one, _of_builtin(alone) if asks_models and one == "builtin" else alone)
        for one in further
    ]
    given = settings.threshold
    if isinstance(given, list) and len(given) == 1:
        given = given[0]
    return Cascade([first, *stages], given)


def _of_builtin(told: JudgingOptions) -> JudgingOptions:
    """Of a cascade's options, those for its built-in judge: the others are for the models."""
    kept = {name: getattr(told, name) for name in ("examples", "judge_prompt")}
    return replace(told, **vars(Endpoint()), **vars(Asking()) | kept, leader_first=None)


def _listed(given: str | list[str] | None) -> list[str]:
    return [given] if isinstance(given, str) else given or []


def _names(settings: GradeSettings) -> list[str]:
    """The judges that are named."""
    return _listed(settings.judge)


def _run_dir(settings: GradeSettings, rubric: Rubric | None) -> RunDir:
    """The run's folder; by itself that of the same data and judge."""
    data = table_name(settings.data or "data")
    names = _names(settings) or ["builtin"]
    judge = names[0] if len(names) == 1 else "panel"
    if settings.escalate_to is not None:
        judge += "-cascade"
    written = settings.written
    for file in (written.get("examples"), written.get("judge_prompt")):
        judge += "" if file is None else f"-{Path(file).stem}"
    if settings.mode != "explained":
        judge += f"-{settings.mode}"
    named = {
        "command": "grade",
        "data": place_of(settings.data),
        "columns": settings.map,
        "submissions": place_of(settings.submissions),
        "references": place_of(settings.references),
        "rubric": place_of(written.get("rubric")),
        "criteria": criteria_of(rubric),
        "escalation": [place_of(one) for one in _listed(settings.escalate_to)] or None,
        "examples": place_of(written.get("examples")),
        "judge_prompt": place_of(written.get("judge_prompt")),
        **{name: getattr(settings, name) for name in ASKED},
    }
    return run_dir_for(settings, f"{data}-{judge}", _names(settings), named)


async def _graded(
    settings: GradeSettings,
    dataset: Gradable,
    judge: Judge,
    options: GradingOptions,
    run_dir: RunDir,
    notes: Console,
) -> Summary:
    stop = stop_on_signals()
    try:
        with ProgressView(notes) as view:
            told = run_dir.begin(view.update, quiet=settings.quiet)
            stream = stream_of(dataset, judge, replace(options, on_progress=told), stop)
            async with stream:
                with contextlib.suppress(RunStopped):  # the summary says why
                    async for _ in stream:
                        pass
            return stream.summary()
    finally:
        await judge.aclose()


def _show(summary: Summary, settings: GradeSettings) -> None:
    if settings.json_output:
        print(summary.model_dump_json(indent=2))
    elif not settings.quiet:
        if summary.nothing_judged and summary.stopped:  # why is told once: as the error
            summary = summary.model_copy(
                update={"stopped": None, "first_error": None, "judges": []}
            )
        console().print(summary)
