"""Gates: exit codes by thresholds and by the outcome of a comparison."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from rubricate._spelling import no_metadata
from rubricate._terminal import one_line
from rubricate.analysis import Certificate, FinishedRun, check_certificate, read_run
from rubricate.cli._ending import ExitCode
from rubricate.cli._grade_settings import GradeSettings
from rubricate.cli._judging import shared_places, watched
from rubricate.cli._run_dirs import OnProgress
from rubricate.cli._thresholds import THRESHOLDS, ThresholdOptions, Unclear
from rubricate.dataset import Item
from rubricate.errors import InputError, RunStopped, errors_within
from rubricate.judge import Judge, as_panel
from rubricate.rubric import Criterion
from rubricate.run import RunFolder
from rubricate.run.results import Summary, ThresholdOutcome, check_thresholds
from rubricate.settings import part


def check_gates(
    settings: GradeSettings, criteria: Iterable[Criterion], judge: Judge, items: Iterable[Item]
) -> None:
    """Raise `InputError` for thresholds on unknown criteria or groups, or that cannot be
    confirmed."""
    check_criteria(settings, criteria)
    if settings.groups not in (None, "prompt", "none"):
        _check_groups(settings.groups, items)
    if settings.confirm is None:
        return
    if settings.fail_under is None and settings.fail_if_confidence_bound_under is None:
        raise InputError("--confirm is for --fail-under: give both")
    if settings.calibration is not None:
        raise InputError("--confirm and --calibration exclude each other: give one of them")
    as_panel(judge).again(1)


def _check_groups(field: str, items: Iterable[Item]) -> None:
    """Raise `InputError` if no item has the metadata for grouping."""
    names: dict[str, None] = {}
    for item in items:
        if field in item.data.metadata:
            return
        names.update(dict.fromkeys(item.data.metadata))
    raise InputError(f"--groups: {no_metadata(field, names)}")


def with_gates(
    summary: Summary,
    certificate: Certificate | None,
    settings: GradeSettings,
    run_dir: Path,
    judge: Judge,
) -> Summary:
    """Add the outcomes of certificate and thresholds to the summary, also in the run folder."""
    run, outcomes = read_run(run_dir), dict[str, Any]()
    if certificate is not None:
        file = settings.certificate or ""
        outcomes["certificate"] = check_certificate(certificate, run, file=file)
    if settings.thresholds:
        outcome = thresholds_of(settings, summary, run)
        if settings.confirm is not None and outcome.outcome == "below" and summary.stopped is None:
            outcome = _confirmed(run, summary, outcome, settings, judge)
        outcomes["thresholds"] = outcome
    checked = summary.model_copy(update=outcomes)
    RunFolder(run_dir).write_summary(checked.to_dict())
    return checked


def _confirmed(
    run: FinishedRun,
    summary: Summary,
    outcome: ThresholdOutcome,
    settings: GradeSettings,
    judge: Judge,
) -> ThresholdOutcome:
    """The outcomes of thresholds after asking again about the verdicts that keep figures below.

    They remain unchanged if `--max-cost` does not allow that, or if it is interrupted.
    """
    from rubricate.confirming import ConfirmOptions, confirmed_thresholds

    times = settings.confirm or 1
    options = replace(
        part(ConfirmOptions, settings),
        run_dir=run.path / "confirm",
        journal=None,
        retry_failed=False,
        **shared_places(settings),
    )
    if settings.max_cost is not None:
        paid = summary.usage.run_cost
        if paid is None or paid >= settings.max_cost:
            why = "what the run has cost is not known" if paid is None else "--max-cost is reached"
            sys.stderr.write(f"Nothing is asked again: {why}.\n")
            return outcome
        options = options.changed(max_cost=settings.max_cost - paid)

    async def asked_again(on_progress: OnProgress, stop: asyncio.Event) -> ThresholdOutcome:
        asking = options.changed(on_progress=on_progress)
        try:
            return await confirmed_thresholds(
                run, outcome, asking, judge, times, groups=settings.groups, stop=stop
            )
        finally:
            await judge.aclose()

    try:
        return watched(asked_again, settings)
    except RunStopped as stopped:
        sys.stderr.write(f"Not confirmed: {stopped}; the same command resumes it.\n")
        return outcome


def check_criteria(options: ThresholdOptions, criteria: Iterable[Criterion]) -> None:
    """Check that thresholds are on existing criteria for which more is better.

    Raises:
        InputError: one is not.
    """
    known = list(criteria)
    for name, thresholds in options.thresholds.items():
        with errors_within(name):
            thresholds.check(known)


def thresholds_of(
    options: ThresholdOptions, summary: Summary, run: FinishedRun
) -> ThresholdOutcome:
    """The outcomes of thresholds.

    Args:
        options: the thresholds.
        summary: the run's figures.
        run: the run with its verdicts.

    Raises:
        InputError: a criterion is not there, or is a penalty criterion.
    """
    warn_of_builtin(run)
    warn_of_refit(run)
    groups = run.grouping(options.groups)
    return check_thresholds(
        summary,
        run.item_rows(),
        {THRESHOLDS[name]: thresholds for name, thresholds in options.thresholds.items()},
        None if groups is None else run.groups_by(groups),
    )


def code_of_gates(code: int, summary: Summary, settings: GradeSettings) -> int:
    """The exit code of a run with thresholds or a certificate."""
    if summary.thresholds is not None:
        code = code_of_thresholds(code, summary.thresholds, settings)
    if code or summary.certificate is None or summary.certificate.holds:
        return code
    differences = "; ".join(summary.certificate.differences)
    file = summary.certificate.file
    sys.stderr.write(f"Certificate {file} does not hold: {differences}\n")
    return ExitCode.NOT_CERTIFIED


def code_of_thresholds(code: int, outcome: ThresholdOutcome, options: Unclear) -> int:
    """The exit code of a run with thresholds, whose outcome is printed if it is not `passed`.

    A run that stopped or was interrupted keeps its code.
    """
    if outcome.outcome == "passed":
        return code
    print_outcome(f"{outcome}.", options)
    if code not in (ExitCode.FINE, ExitCode.SOME_FAILED):
        return code
    return code_of(outcome.outcome, options) or code


def print_outcome(sentence: str, settings: Unclear) -> None:
    """Print the outcome of a gate on stderr, unless the report was printed, which shows it too."""
    values = vars(settings)
    if values.get("json_output") or values.get("quiet"):
        sys.stderr.write(f"{one_line(sentence)}\n")


OUTCOMES = {
    "worse": ExitCode.WORSE,
    "not covered": ExitCode.UNDECIDED,
    "below": ExitCode.BELOW,
    "undecided": ExitCode.UNDECIDED,
}
"""The exit codes of outcomes that always fail a build."""


def code_of(outcome: str, settings: Unclear) -> int:
    """The exit code of a gate's outcome; one that cannot tell prints a warning on stderr."""
    if outcome != "cannot tell":
        return OUTCOMES.get(outcome, ExitCode.FINE)
    if settings.on_unclear == "fail":
        return ExitCode.UNCLEAR
    sys.stderr.write("Warning: the gate cannot tell, and passes (--on-unclear fail: it fails).\n")
    return ExitCode.FINE


def warn_of_builtin(*runs: FinishedRun) -> None:
    """Warn on stderr if a gate uses the built-in judge."""
    if any("builtin" in run.judge for run in runs):
        sys.stderr.write(
            "Warning: the judge builtin compares words: it does not see whether a text is right, "
            "polite or complete, and neither does a gate on its verdicts.\n"
        )


def warn_of_refit(*runs: FinishedRun) -> None:
    """Warn on stderr if the built-in judge was fitted to labels, perhaps of the graded items."""
    from rubricate.judge.builtin import REFITTED

    if any(REFITTED in str(run.summary.get("note")) for run in runs):
        sys.stderr.write(
            "Warning: the judge was fitted to labels (--examples): if graded items are among them, "
            "its figures are flattered, and so is a gain over another judge. Grade items that it "
            "was not fitted to.\n"
        )
