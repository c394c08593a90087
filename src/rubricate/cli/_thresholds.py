"""The thresholds of a run: its options, and how a command ends by it."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Literal

from rubricate._terminal import one_line
from rubricate.cli._ending import ExitCode
from rubricate.errors import InputError
from rubricate.settings import Settings, option

if TYPE_CHECKING:
    from rubricate.analysis import FinishedRun
    from rubricate.rubric import Criterion
    from rubricate.run.results import Summary, ThresholdFigure, ThresholdOutcome, Thresholds


class Unclear(Settings):
    """What a gate does where the data cannot tell."""

    on_unclear: Literal["pass", "fail"] = option(
        "pass",
        "What a gate does where these items cannot tell: pass (with a warning), or fail (exit with "
        "7).",
        group="Scores",
    )


class ThresholdOptions(Unclear):
    """Thresholds that a run must reach."""

    fail_under: float | str | None = option(
        None,
        "Exit with 6 if the score is shown to be below this: 0.8, and with 0 if that is excluded; "
        "see --on-unclear. A criterion's mean value likewise: 0.8,accuracy=0.9. A failed verdict "
        "is no pass: exit with 4 where failures could change the outcome.",
        group="Scores",
        input_type=float | str | None,
        common=True,
    )
    fail_if_confidence_bound_under: float | str | None = option(
        None,
        "Exit with 6 unless the score is shown to be this at least: if its lower confidence bound "
        "is below. Criteria likewise: 0.7,accuracy=0.8.",
        group="Scores",
        input_type=float | str | None,
    )
    fail_if_worst_case_under: float | str | None = option(
        None,
        "Exit with 6 if the score could be below this had all missing verdicts (failed and "
        "abstained) come with the worst answers. Criteria likewise: 0.7,accuracy=0.8.",
        group="Scores",
        input_type=float | str | None,
    )

    groups: str | None = option(
        None,
        "With a threshold: metadata that says which items belong together. [each by itself]",
        group="Scores",
    )

    @property
    def thresholds(self) -> dict[str, float | str]:
        """Those that are set, by option."""
        values = {}
        for name in THRESHOLDS:
            value = getattr(self, name)
            if value is not None:
                values[name] = value
        return values

    def check(self) -> None:
        thresholds = self.thresholds
        for name in thresholds:
            _thresholds(name, thresholds[name])
        if not thresholds and (self.on_unclear != "pass" or self.groups is not None):
            name = "--groups" if self.on_unclear == "pass" else "--on-unclear"
            raise InputError(f"{name} is for thresholds: give --fail-under, too")


THRESHOLDS: Mapping[str, ThresholdFigure] = {
    "fail_under": "mean",
    "fail_if_confidence_bound_under": "confidence bound",
    "fail_if_worst_case_under": "worst case",
}
"""The options that are thresholds, and of what."""


def check_criteria(options: ThresholdOptions, criteria: Iterable[Criterion]) -> None:
    """Check that the thresholds are of criteria that there are, and for which more is better.

    Raises:
        InputError: one is not.
    """
    known = list(criteria)
    for name, text in options.thresholds.items():
        try:
            _thresholds(name, text).check(known)
        except InputError as error:
            raise error.within((name,)) from None


def _thresholds(name: str, text: float | str) -> Thresholds:
    from rubricate.run.results import Thresholds

    try:
        return Thresholds.parse(text)
    except InputError as error:
        raise error.within((name,)) from None


def thresholds_of(
    options: ThresholdOptions, summary: Summary, run: FinishedRun
) -> ThresholdOutcome:
    """What became of the thresholds.

    Args:
        options: the thresholds.
        summary: the run's figures.
        run: the run with its verdicts.

    Raises:
        InputError: a criterion is not there, or is a penalty criterion.
    """
    from rubricate.run.results import check_thresholds

    warn_of_builtin(run.judge)
    return check_thresholds(
        summary,
        run.item_rows(),
        {THRESHOLDS[name]: _thresholds(name, text) for name, text in options.thresholds.items()},
        None if options.groups is None else run.groups_by(options.groups),
    )


def code_of_thresholds(
    code: int, outcome: ThresholdOutcome, options: Unclear, *, is_printed: bool
) -> int:
    """The exit code of a run with thresholds; why they are not reached goes to stderr.

    A run that could not go on or was interrupted keeps its code. `is_printed` says that the summary
    has been printed, which has it already.
    """
    if outcome.outcome == "passed":
        return code
    if not is_printed:
        sys.stderr.write(f"{one_line(str(outcome))}.\n")
    if code not in (ExitCode.FINE, ExitCode.SOME_FAILED):
        return code
    return code_of(outcome.outcome, options) or code


OUTCOMES = {
    "worse": ExitCode.WORSE,
    "not covered": ExitCode.UNDECIDED,
    "below": ExitCode.BELOW,
    "undecided": ExitCode.UNDECIDED,
}
"""The exit codes of the outcomes of gates at which a build fails in any case."""


def code_of(outcome: str, settings: Unclear) -> int:
    """The exit code of a gate's outcome; a gate that cannot tell warns on stderr."""
    if outcome != "cannot tell":
        return OUTCOMES.get(outcome, ExitCode.FINE)
    if settings.on_unclear == "fail":
        return ExitCode.UNCLEAR
    sys.stderr.write("Warning: the gate cannot tell, and passes (--on-unclear fail: it fails).\n")
    return ExitCode.FINE


def warn_of_builtin(*judges: str) -> None:
    """Warn on stderr where a gate rests on the built-in judge."""
    if any("builtin" in judge for judge in judges):
        sys.stderr.write(
            "Warning: the judge builtin compares words: it does not see whether a text is right, "
            "polite or complete, and neither does a gate on its verdicts.\n"
        )
