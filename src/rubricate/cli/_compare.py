"""`rubricate compare`."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate._terminal import one_line
from rubricate.cli._commands import command
from rubricate.cli._ending import ExitCode
from rubricate.cli._gates import code_of, print_outcome, warn_of_builtin, warn_of_refit
from rubricate.cli._judging import Shell, print_estimate, shared_places, until_stopped
from rubricate.cli._printing import Groups, ReportOutput, print_report
from rubricate.cli._run_dirs import OnProgress
from rubricate.cli._runs import Tags
from rubricate.cli._thresholds import Unclear
from rubricate.confirming import ConfirmOptions
from rubricate.errors import InputError
from rubricate.settings import option, options_of

if TYPE_CHECKING:
    from rubricate.analysis import AnchorCheck, FinishedRun, RunComparison

    Runs = tuple[FinishedRun, FinishedRun]


class CompareSettings(Groups, Tags, Unclear, ReportOutput, Shell, ConfirmOptions):
    """The options of `rubricate compare`."""

    run_a: str = option("", "The run folder before.", is_argument=True, common=True)
    run_b: str = option("", "The run folder after.", is_argument=True, common=True)
    fail_if_worse: float | None = option(
        None,
        "Exit with 3 if the mean score of B is shown to be lower by more than this, such as "
        "0.02. If these items cannot tell, see --on-unclear.",
        ge=0,
        lt=1,
        common=True,
    )
    min_coverage: float | None = option(
        None,
        "With --fail-if-worse: exit with 4 if B decided less than this share of A's verdicts.",
        default_text="0.95",
        ge=0,
        le=1,
    )
    sequential: str | None = option(
        None,
        "With --fail-if-worse: a file that collects what all pushes showed against the "
        "baseline A, so that together they have one error rate of 5 %.",
        common=True,
    )
    confirm: int | None = option(
        None,
        "Ask up to N more times, in both runs, about the verdicts that differ, and about the "
        "others as long as those that are confirmed show a drop; --fail-if-worse then decides by "
        "all answers. Needs the runs' --judge and options of asking.",
        ge=1,
        common=True,
    )
    anchors: str | None = option(
        None,
        "First check with the anchors in this file (see trust anchors) that --judge still "
        "answers as it did; if it does not, the gate cannot tell.",
        common=True,
    )
    judge: str | list[str] | None = option(
        None,
        "With --confirm and --anchors: the judge of both runs; can be given several times.",
        group="Who judges",
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
        if self.confirm is not None and self.sequential is not None:
            raise InputError(
                "--confirm and --sequential exclude each other: the file counts the first answers "
                "of each push, whether they hold or not"
            )
        if self.judge is None and (self.confirm, self.anchors) != (None, None):
            raise InputError(
                "--confirm and --anchors ask a judge: name who judged both runs, with the options "
                "of asking that it had (--confirm 5 --judge openai/gpt-6-luna)"
            )


@command(
    CompareSettings,
    defaults={"run_dir": "confirm-A in RUN_B", "cache": "the user's cache folder"},
    then="Next, to read what changed, side by side: rubricate view {run_a} --compare {run_b}",
)
def compare(settings: CompareSettings) -> int:
    """Compare two runs: the difference, its interval, what flipped. Can fail a build."""
    from rubricate.analysis import MIN_COVERAGE, compare_runs, read_run, sequential_gate

    _check_asks(settings)
    runs = read_run(settings.run_a), read_run(settings.run_b)
    if settings.fail_if_worse is not None and runs[0].path.samefile(runs[1].path):
        sys.stderr.write(f"{one_line(settings.run_b)} is compared with itself: name two runs.\n")
    check = None if settings.anchors is None else _checked(settings, runs, settings.anchors)
    if isinstance(check, int):
        return check
    if check is not None:
        sys.stderr.write(f"{check}\n")
    has_changed = check is not None and check.changed
    comparison = compare_runs(*runs, groups=settings.groups, by=settings.by)
    warn_of_refit(*runs)
    margin, least = settings.fail_if_worse, settings.min_coverage
    least = MIN_COVERAGE if least is None else least
    if settings.confirm is not None and not has_changed:
        if margin is None or comparison.gate(margin, min_coverage=least).is_open:
            confirmed = _confirmed(settings, comparison, runs)
            if isinstance(confirmed, int):
                return confirmed
            comparison = confirmed
        else:
            sys.stderr.write("Nothing is asked again: no drop beyond the margin is seen.\n")
    if settings.dry_run:
        return ExitCode.FINE
    comparison = replace(comparison, anchors=check)
    if margin is None:
        if not comparison.coverage:
            raise InputError(
                f"nothing can be compared: {comparison.causes}; see what failed with: rubricate "
                "show RUN --failed"
            )
        _print(comparison, settings)
        return 0
    decision = comparison.gate(margin, min_coverage=least)
    if settings.sequential is not None and not has_changed:
        decision = sequential_gate(comparison, decision, runs, settings.sequential)
    _print(replace(comparison, decision=decision), settings)
    print_outcome(decision.why, settings)
    warn_of_builtin(*runs)
    return code_of(decision.outcome, settings)


def _check_asks(settings: CompareSettings) -> None:
    """Reject options for asking a judge if nothing is asked."""
    if settings.confirm is not None or settings.anchors is not None:
        return
    options = options_of(CompareSettings)
    asking = {*options_of(ConfirmOptions), "judge", "no_cache", "dry_run"}
    for name in settings.raw:
        if name in asking:
            shown = options[name].shell or f"--{name.replace('_', '-')}"
            raise InputError(f"{shown} is for --confirm and --anchors: give one of them, too")


def _print(comparison: RunComparison, settings: CompareSettings) -> None:
    if settings.json_output or not settings.quiet:
        print_report(comparison, settings)


def _checked(settings: CompareSettings, runs: Runs, file: str) -> AnchorCheck | int | None:
    """Check the judge by its anchors. Returns an exit code if that ended early, None after an
    estimate."""
    from rubricate.analysis import further_answers, one_judge, read_anchors
    from rubricate.anchoring import checked_anchors
    from rubricate.choosing import chosen_judge

    results = runs[1].path / "results.jsonl"
    folder = runs[1].path / f"anchors-{Path(file).stem}"
    options = _asking(settings).changed(run_dir=folder)
    if settings.dry_run:
        judge = one_judge(chosen_judge(settings.judge, options)).members[0].judge
        kept = read_anchors(file, judge)
        count = sum(len(item.rubric.names) for item in kept.items if item.rubric is not None)
        most = count * (1 + further_answers(kept))
        sys.stderr.write(
            f"Anchors: {count} answers are asked for, {most} where those leave a doubt.\n"
        )
        return None

    async def checked(on_progress: OnProgress, stop: asyncio.Event) -> AnchorCheck:
        asking, moment = options.changed(on_progress=on_progress), int(results.stat().st_mtime)
        return await checked_anchors(file, asking, settings.judge, moment=moment, stop=stop)

    return until_stopped(checked, settings, folder)


def _asking(settings: CompareSettings) -> ConfirmOptions:
    """The options for asking a judge."""
    return settings.changed(**shared_places(settings))


def _confirmed(
    settings: CompareSettings, comparison: RunComparison, runs: Runs
) -> RunComparison | int:
    """Ask about the flips again, and return the new comparison. Returns an exit code after an early
    end or an estimate."""
    from rubricate.analysis import Recheck
    from rubricate.choosing import chosen_judge
    from rubricate.confirming import confirm_folder, confirmed, estimate_confirmed

    assert settings.confirm is not None
    options = _asking(settings)
    check = Recheck(*runs, chosen_judge(settings.judge, options), settings.confirm)
    if settings.dry_run:
        estimated = asyncio.run(estimate_confirmed(check, runs, options))
        if estimated is None:
            sys.stderr.write("No verdict differs: there is nothing to ask about again.\n")
        else:
            print_estimate(estimated, settings.json_output)
            if settings.fail_if_worse is not None:
                sys.stderr.write(
                    "As long as the flips that hold show a drop, all verdicts are asked again, "
                    f"too, {len(check.rounds)} times at most.\n"
                )
        return ExitCode.FINE

    async def asked_again(on_progress: OnProgress, stop: asyncio.Event) -> RunComparison:
        asking = options.changed(on_progress=on_progress)
        return await confirmed(
            check,
            comparison,
            runs,
            asking,
            settings.judge,
            margin=settings.fail_if_worse,
            stop=stop,
        )

    return until_stopped(asked_again, settings, confirm_folder(runs, options))
