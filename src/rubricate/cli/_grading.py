"""The work of `rubricate grade`."""

from __future__ import annotations

import asyncio
import contextlib
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate._files import check_no_links, table_name
from rubricate._terminal import console, one_line
from rubricate.choosing import chosen_calibrator, chosen_judge, chosen_rubric
from rubricate.cli._ending import print_next_of_run, stop_on_signals
from rubricate.cli._grade_settings import GradeSettings, is_label_file, listed
from rubricate.cli._judging import (
    NO_JUDGE,
    exit_code,
    is_out,
    print_estimate,
    shared_places,
)
from rubricate.cli._progress import ProgressView
from rubricate.cli._run_dirs import RunDir, criteria_of, place_of, run_dir_for
from rubricate.dataset import Gradable, open_dataset
from rubricate.errors import InputError, MissingExtraError, RunStopped
from rubricate.judge import (
    SAMPLING,
    Asking,
    Batching,
    Endpoint,
    Judge,
    Voting,
)
from rubricate.options import GradingOptions
from rubricate.rubric import Criterion, Rubric
from rubricate.run import Plan, RunOptions, has_journal, shard_folder
from rubricate.run.results import OtherRunError, Summary
from rubricate.settings import options_of, part
from rubricate.streaming import ResultStream

if TYPE_CHECKING:
    from rich.console import Console

    from rubricate.analysis import Calibrator
    from rubricate.dataset import SkippedRecord

ASKED = (
    *[name for name, option in options_of(Asking).items() if not option.is_path],
    "base_url",
    "examples_count",
    "examples_pick",
    "replicates",
    *SAMPLING,
)
"""Settings that change the answers of a judge."""
FILES = ("data", "submissions", "references", "rubric", "examples", "judge_prompt")
"""Settings that are files and distinguish runs."""


def graded(settings: GradeSettings) -> int:
    """Grade, and return the exit code."""
    notes = console(stderr=True, quiet=settings.quiet)
    dataset, judge = _dataset(settings), _judge(settings)
    try:
        plan = Plan(dataset, settings)
    except InputError as error:
        raise error.within(file=_file_of(error, settings)) from None
    has_thresholds = bool(settings.thresholds)
    if has_thresholds or settings.confirm is not None:
        from rubricate.cli._gates import check_gates

        check_gates(settings, _criteria(plan), judge, plan.whole())
    calibrator = chosen_calibrator(settings.calibration, judge, plan.rubric)
    shared = shared_places(settings)
    try:
        folder = _run_dir(settings, plan.rubric)
    except OtherRunError as error:
        from rubricate.run import with_requests

        options = settings.changed(**shared)
        raise asyncio.run(with_requests(error, plan, judge, options)) from None
    view = ProgressView(notes)
    progress = folder.progress(view.update)
    options = settings.changed(run_dir=folder.path, on_progress=progress, **shared)
    if settings.dry_run:
        from rubricate.run import estimate

        estimated = asyncio.run(estimate(plan, judge, options, calibrator))
        print_estimate(estimated, settings.json_output)
        return 0
    if skipped := getattr(dataset, "skipped", ()):  # for a table
        _report_skipped(skipped, folder.path, notes)
    if settings.judge is None and settings.examples is None and plan.to_judge:
        notes.print(NO_JUDGE, style="dim")
    certificate = None
    if settings.certificate is not None:
        from rubricate.analysis import read_certificate

        certificate = read_certificate(settings.certificate)
    if not settings.quiet:
        folder.announce()
    summary = asyncio.run(_run(plan, judge, options, calibrator, view, folder)).summary()
    folder.claim()
    shard = settings.part
    run_dir = folder.path if shard is None else shard_folder(folder.path, shard)
    if certificate is not None or has_thresholds:
        from rubricate.cli._gates import with_gates

        summary = with_gates(summary, certificate, settings, run_dir, judge)
    _print_summary(summary, settings)
    _print_what_is_left(summary, settings, run_dir, notes)
    code = exit_code(run_dir, summary)
    if not settings.quiet:
        print_next_of_run(summary, settings, run_dir)
    if summary.thresholds is None and summary.certificate is None:
        return code
    from rubricate.cli._gates import code_of_gates

    return code_of_gates(code, summary, settings)


async def _run(
    plan: Plan,
    judge: Judge,
    options: RunOptions,
    calibrator: Calibrator | None,
    view: ProgressView,
    folder: RunDir,
) -> ResultStream:
    """Grade until the end or the first signal.

    The summary is made outside the loop: if it were a task's result, `asyncio.run` would compute
    its `repr`, the whole table, when it restores the handler of SIGINT.
    """
    stop = stop_on_signals()
    try:
        stream = ResultStream(plan, judge, options, stop=stop, calibrator=calibrator)
        with view:
            async with stream:
                with contextlib.suppress(RunStopped):  # the summary shows the reason
                    async for _ in stream:
                        pass
            return stream
    except MissingExtraError:
        folder.discard()
        raise
    finally:
        await judge.aclose()


def _file_of(error: InputError, settings: GradeSettings) -> str | None:
    """The file that an error about a plan refers to; the rubric names code."""
    return (settings.raw.get("rubric") if error.problem == "code" else None) or settings.data


def _print_what_is_left(
    summary: Summary, settings: GradeSettings, run_dir: Path, notes: Console
) -> None:
    """Print the next command for a shard, and for verdicts that wait for people."""
    if settings.shard is not None and not summary.stopped:
        notes.print(
            f"This is shard {settings.part} alone, in {run_dir}. When all are done, the same "
            "command without --shard puts them together, and asks only for what failed."
        )
    waits = settings.escalate_to is not None
    if summary.failed and not summary.stopped and not waits:
        them = "verdict failed" if summary.failed == 1 else "verdicts failed"
        notes.print(
            f"{summary.failed} {them}: the same command with --retry-failed asks again; "
            f"rubricate show {run_dir} --failed says what was wrong."
        )
    if not settings.escalate_to:
        return
    from rubricate.judge import ESCALATED

    if waiting := summary.errors.get(ESCALATED):
        notes.print(
            f"{waiting} verdicts wait for people in {listed(settings.escalate_to)[-1]}: label its "
            "items, and run the same command again."
        )


def _dataset(settings: GradeSettings) -> Gradable:
    if settings.data is None:
        raise InputError("no dataset given: rubricate grade DATA, or data: in the config file")
    rubric = None if settings.rubric is None else chosen_rubric(settings.rubric)
    return open_dataset(
        settings.data,
        rubric,
        settings.map,
        format=settings.format,
        submissions=settings.submissions,
        references=settings.references,
        criteria=settings.criteria_map,
        on_error=settings.on_error,
        follow_links=settings.follow_links,
    )


def _criteria(plan: Plan) -> Iterable[Criterion]:
    """All criteria of the run; those of every item if items have rubrics of their own."""
    if plan.rubric is not None:
        return plan.rubric.criteria
    return (criterion for item in plan.whole() for criterion in item.rubric.criteria)


def _report_skipped(skipped: Sequence[SkippedRecord], run_dir: Path, notes: Console) -> None:
    from rubricate.dataset import write_skipped

    try:
        run_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot be made: {error.strerror}", file=run_dir) from None
    check_no_links(run_dir)
    report = run_dir / "skipped.jsonl"
    write_skipped(report, skipped)
    is_single = len(skipped) == 1
    what = f"{len(skipped)} {'row that does' if is_single else 'rows that do'} not fit"
    notes.print(f"Left out {what}; see {report}")


def _judge(settings: GradeSettings) -> Judge:
    """Create the judge, or the cascade of judges, from the settings."""
    names, later = listed(settings.judge), listed(settings.escalate_to)
    if "," in (text := " ".join(names)):
        raise InputError(f"'{text}' is no judge: give --judge once for each of several judges")
    if not later:
        if settings.threshold is not None:
            raise InputError("--threshold says when others are asked: give --escalate-to")
        return chosen_judge(names or None, settings)
    options = part(GradingOptions, settings)
    from rubricate.judge import Cascade, People

    asks_models = any(name != "builtin" and not is_label_file(name) for name in (*names, *later))
    is_builtin = asks_models and names in ([], ["builtin"])
    first = chosen_judge(names or None, _of_builtin(options) if is_builtin else options)
    if settings.threshold is None:
        raise InputError(
            "--escalate-to needs --threshold, the least confidence of a verdict that is kept: "
            "a number from 0 to 1; rubricate trust cascade RUN chooses it on labels"
        )
    if settings.data is not None and settings.data in later:
        raise InputError("--escalate-to is the graded dataset itself: name another file")
    alone = options.changed(**vars(Voting()))  # a judge of a later stage is no panel
    stages: list[Judge] = []
    for name in later:
        if is_label_file(name):
            stages.append(People(name))
        else:
            is_builtin = asks_models and name == "builtin"
            stages.append(chosen_judge(name, _of_builtin(alone) if is_builtin else alone))
    threshold = settings.threshold
    if isinstance(threshold, list) and len(threshold) == 1:
        threshold = threshold[0]
    return Cascade([first, *stages], threshold)


def _of_builtin(options: GradingOptions) -> GradingOptions:
    """The options of a cascade that apply to its built-in judge; the others are for models."""
    own = {name: getattr(options, name) for name in ("examples", "judge_prompt")}
    others = vars(Endpoint()) | vars(Batching()) | vars(Asking()) | own
    return options.changed(**others, leader_first=None)


def _run_dir(settings: GradeSettings, rubric: Rubric | None) -> RunDir:
    """The run folder; by default that of the same data and judge."""
    data = table_name(settings.data or "data")
    names = listed(settings.judge)
    judge = "panel" if len(names) > 1 else (names or ["builtin"])[0]
    escalation = None
    if settings.escalate_to is not None:
        judge += "-cascade"
        escalation = [place_of(file) for file in listed(settings.escalate_to)]
    raw = settings.raw
    for file in (raw.get("examples"), raw.get("judge_prompt")):
        judge += "" if file is None else f"-{Path(file).stem}"
    if settings.mode != "explained":
        judge += f"-{settings.mode}"
    named = {
        "command": "grade",
        "columns": settings.map,
        "criteria_map": settings.criteria_map,
        "criteria": criteria_of(rubric),
        **{name: place_of(raw[name]) for name in FILES if raw.get(name) is not None},
        "escalation": escalation,
        **{name: getattr(settings, name) for name in ASKED},
    }
    folder = run_dir_for(settings, f"{data}-{judge}", names, named)
    if settings.retry_failed and settings.journal is None and not has_journal(folder.path):
        raise InputError(f"--retry-failed: {folder.path} has no earlier run: leave the option out")
    return folder


def _print_summary(summary: Summary, settings: GradeSettings) -> None:
    if settings.json_output:
        print(summary.model_dump_json(indent=2))
    elif not settings.quiet and not (
        summary.stopped and summary.nothing_judged and is_out(summary.stopped)
    ):
        console().print(summary.without_the_error())
    if settings.quiet:
        for warning in summary.cautions():
            sys.stderr.write(f"{one_line(warning)}\n")
