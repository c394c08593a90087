"""The thresholds of a run: its options, and how a command ends by it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

from rubricate._terminal import one_line
from rubricate.cli._ending import ExitCode
from rubricate.errors import InputError
from rubricate.settings import Settings, option, options_of

if TYPE_CHECKING:
    from rubricate.rubric import Criterion
    from rubricate.run.results import Summary, ThresholdOutcome, Thresholds


class Unclear(Settings):
    """What a gate does where the data cannot tell."""

    on_unclear: Literal["pass", "fail"] = option(
        "pass",
        "What a gate does where these items cannot tell: pass (with a warning), or fail (exit with "
        "7).",
        group="Scores",
    )


class ThresholdOptions(Settings):
    """Thresholds that a run must reach."""

    fail_under: float | str | None = option(
        None,
        "Exit with 6 if the score is below this: 0.8. A criterion's mean value likewise: "
        "0.8,accuracy=0.9. A failed verdict is no pass: exit with 4 where failures could change "
        "the outcome.",
        group="Scores",
        input_type=float | str | None,
        common=True,
    )
    fail_if_lower_bound_under: float | str | None = option(
        None,
        "Exit with 6 if the score could be below this had all missing verdicts (failed and "
        "abstained) come with the worst answers. Criteria likewise: 0.7,accuracy=0.8.",
        group="Scores",
        input_type=float | str | None,
    )

    def check(self) -> None:
        for name in ("fail_under", "fail_if_lower_bound_under"):
            _thresholds(name, getattr(self, name))


def check_criteria(options: ThresholdOptions, criteria: Iterable[Criterion]) -> None:
    """Check that the thresholds are of criteria that there are, and for which more is better.

    Raises:
        InputError: one is not.
    """
    known = list(criteria)
    for name in options_of(ThresholdOptions):
        thresholds = _thresholds(name, getattr(options, name))
        if thresholds is not None:
            try:
                thresholds.check(known)
            except InputError as error:
                raise error.within((name,)) from None


def _thresholds(name: str, text: float | str | None) -> Thresholds | None:
    from rubricate.run.results import Thresholds

    try:
        return None if text is None else Thresholds.parse(text)
    except InputError as error:
        raise error.within((name,)) from None


def thresholds_of(options: ThresholdOptions, summary: Summary) -> ThresholdOutcome | None:
    """What became of the thresholds; None where none was given.

    Raises:
        InputError: a criterion is not there, or is a penalty criterion.
    """
    from rubricate.run.results import check_thresholds

    if options.fail_under is None and options.fail_if_lower_bound_under is None:
        return None
    return check_thresholds(
        summary,
        mean=_thresholds("fail_under", options.fail_under),
        lower_bound=_thresholds("fail_if_lower_bound_under", options.fail_if_lower_bound_under),
    )


def code_of_thresholds(code: int, outcome: ThresholdOutcome | None, *, is_printed: bool) -> int:
    """The exit code of a run with thresholds; why they are not reached goes to stderr.

    A run that could not go on or was interrupted keeps its code. `is_printed` says that the summary
    has been printed, which has it already.
    """
    if outcome is None or outcome.outcome == "passed":
        return code
    if not is_printed:
        sys.stderr.write(f"{one_line(str(outcome))}.\n")
    if code not in (ExitCode.FINE, ExitCode.SOME_FAILED):
        return code
    return ExitCode.BELOW if outcome.outcome == "below" else ExitCode.UNDECIDED


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
