"""`rubricate compare`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from rubricate._terminal import console
from rubricate.cli._commands import command
from rubricate.cli._ending import ExitCode, stop_on_signals
from rubricate.cli._judging import Shell, exit_code, print_estimate, shared_places
from rubricate.cli._printing import Groups, ReportOutput, print_report
from rubricate.cli._runs import Tags
from rubricate.cli._thresholds import Unclear, code_of, warn_of_builtin
from rubricate.confirming import ConfirmOptions
from rubricate.errors import InputError, RunStopped
from rubricate.settings import option, options_of, part

if TYPE_CHECKING:
    from rubricate.analysis import FinishedRun, RunComparison

    Runs = tuple[FinishedRun, FinishedRun]


class CompareSettings(Groups, Tags, Unclear, ReportOutput, Shell, ConfirmOptions):
    """The options of `rubricate compare`."""

    run_a: str = option("", "The run folder before.", is_argument=True, required=True, common=True)
    run_b: str = option("", "The run folder after.", is_argument=True, required=True, common=True)
    fail_if_worse: float | None = option(
        None,
        "Exit with 3 if the mean score of B is shown to be lower by more than this, such as 0.02, "
        "and with 0 if that is excluded; see --on-unclear.",
        ge=0,
        lt=1,
        common=True,
    )
    min_coverage: float | None = option(
        None,
        "With --fail-if-worse: exit with 4 if B decided less than this share of the verdicts that "
        "A has.",
        default_text="0.95",
        ge=0,
        le=1,
    )
    sequential: str | None = option(
        None,
        "With --fail-if-worse: a file that keeps what all pushes showed against the baseline A, so "
        "that all of them together have one error rate of 5 %.",
        common=True,
    )
    confirm: int | None = option(
        None,
        "Ask N more times, in both runs, about the verdicts that differ; --fail-if-worse then "
        "decides by those that hold. Needs --judge and the options of asking that the runs had.",
        ge=1,
        common=True,
    )
    judge: str | list[str] | None = option(
        None,
        "With --confirm: who judged both runs. Given several times, all of them, as in the runs.",
        group="Who judges",
        input_type=str | list[str] | None,
        common=True,
    )

    def check(self) -> None:
        if self.fail_if_worse is None:
            for name, is_set in (
                ("--sequential", self.sequential is not None),
                ("--min-coverage", self.min_coverage is not None),
                ("--on-unclear", self.on_unclear != "pass"),
            ):
                if is_set:
                    raise InputError(f"{name} is for --fail-if-worse: give both")
        if self.confirm is not None and self.judge is None:
            raise InputError(
                "--confirm asks again: name who judged both runs, with the options of asking that "
                "it had (--confirm 5 --judge openai/gpt-4.1-mini)"
            )


@command(
    CompareSettings,
    defaults={"run_dir": "confirm-A in RUN_B", "cache": "the user's cache folder"},
)
def compare(settings: CompareSettings) -> int:
    """Compare two runs: the difference, its interval, what flipped. Can fail a build."""
    from rubricate.analysis import MIN_COVERAGE, compare_runs, read_run, sequential_gate

    _check_asks(settings)
    runs = read_run(settings.run_a), read_run(settings.run_b)
    comparison = compare_runs(*runs, groups=settings.groups, by=settings.by)
    margin, least = settings.fail_if_worse, settings.min_coverage
    least = MIN_COVERAGE if least is None else least
    if settings.confirm is not None:
        if margin is None or comparison.gate(margin, min_coverage=least).may_be_worse:
            confirmed = _confirmed(settings, runs)
            if isinstance(confirmed, int):
                return confirmed
            comparison = confirmed
        else:
            sys.stderr.write("Nothing is asked again: no drop beyond the margin is seen.\n")
            if settings.dry_run:
                return ExitCode.FINE
    if margin is None:
        if not comparison.coverage:
            raise InputError(
                f"nothing can be compared: {comparison.causes}; see what failed with: rubricate "
                "show RUN --failed"
            )
        _print(comparison, settings)
        return 0
    decision = comparison.gate(margin, min_coverage=least)
    if settings.sequential is not None:
        decision = sequential_gate(comparison, decision, runs, settings.sequential)
    _print(replace(comparison, decision=decision), settings)
    sys.stderr.write(f"{decision.why}\n")
    warn_of_builtin(*(run.judge for run in runs))
    return code_of(decision.outcome, settings)


def _check_asks(settings: CompareSettings) -> None:
    """Reject options of asking where nothing is asked."""
    if settings.confirm is not None:
        return
    options = options_of(CompareSettings)
    asking = {*options_of(ConfirmOptions), "judge", "no_cache", "dry_run"}
    for name in settings.raw:
        if name in asking:
            shown = options[name].shell or f"--{name.replace('_', '-')}"
            raise InputError(f"{shown} is for --confirm: give both")


def _print(comparison: RunComparison, settings: CompareSettings) -> None:
    if settings.json_output or not settings.quiet:
        print_report(comparison, settings)


def _confirmed(settings: CompareSettings, runs: Runs) -> RunComparison | int:
    """The comparison once the flips were asked about again; an exit code where that ended early,
    or was only estimated."""
    from rubricate.analysis import Recheck
    from rubricate.choosing import chosen_judge
    from rubricate.cli._progress import ProgressView
    from rubricate.confirming import confirm_folder, confirmed, estimate_confirmed

    assert settings.confirm is not None
    view = ProgressView(console(stderr=True, quiet=settings.quiet))
    options = replace(
        part(ConfirmOptions, settings), on_progress=view.update, **shared_places(settings)
    )
    check = Recheck(*runs, chosen_judge(settings.judge, options), settings.confirm)
    if settings.dry_run:
        estimated = asyncio.run(estimate_confirmed(check, runs, options))
        if estimated is None:
            sys.stderr.write("No verdict differs: there is nothing to ask about again.\n")
        else:
            print_estimate(estimated, settings.json_output)
        return ExitCode.FINE

    async def asked_again() -> RunComparison:
        stop = stop_on_signals()
        with view:
            return await confirmed(
                check,
                runs,
                options,
                settings.judge,
                groups=settings.groups,
                by=settings.by,
                stop=stop,
            )

    try:
        return asyncio.run(asked_again())
    except RunStopped as stopped:
        folder = confirm_folder(runs, options)
        return exit_code(folder, stopped=stopped, interrupted=stopped.interrupted, failed=False)
