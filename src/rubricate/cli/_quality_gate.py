"""The quality gate of a run: its options, and how a command ends by it."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

from rubricate._terminal import one_line
from rubricate.cli._exit_codes import ExitCode
from rubricate.errors import InputError
from rubricate.settings import Settings, option, options_of

if TYPE_CHECKING:
    from rubricate.rubric import Criterion
    from rubricate.run.results import QualityGate, Summary, Thresholds

__all__ = ["GateOptions", "check_criteria", "code_of_gate", "gate_of"]


class GateOptions(Settings):
    """Thresholds that a run must reach."""

    fail_under: float | str | None = option(
        None,
        "Exit with 6 if the score is below this: 0.8. A criterion's mean value likewise: "
        "0.8,accuracy=0.9. A failed verdict is no pass: exit with 4 where failures could change "
        "the outcome.",
        group="Scores",
        written=float | str | None,
        everyday=True,
    )
    fail_if_lower_bound_under: float | str | None = option(
        None,
        "Exit with 6 if the score could be below this had all missing verdicts (failed and "
        "abstained) come with the worst answers. Criteria likewise: 0.7,accuracy=0.8.",
        group="Scores",
        written=float | str | None,
    )

    def check(self) -> None:
        for name in ("fail_under", "fail_if_lower_bound_under"):
            _thresholds(name, getattr(self, name))


def check_criteria(options: GateOptions, criteria: Iterable[Criterion]) -> None:
    """Check that the thresholds are of criteria that there are, and for which more is better.

    Raises:
        InputError: one is not.
    """
    known = list(criteria)
    for name in options_of(GateOptions):
        thresholds = _thresholds(name, getattr(options, name))
        if thresholds is not None:
            try:
                thresholds.check(known)
            except InputError as error:
                raise error.within((name,)) from None


def _thresholds(name: str, given: float | str | None) -> Thresholds | None:
    from rubricate.run.results import Thresholds

    try:
        return None if given is None else Thresholds.parse(given)
    except InputError as error:
        raise error.within((name,)) from None


def gate_of(options: GateOptions, summary: Summary) -> QualityGate | None:
    """What became of the thresholds; None where none was given.

    Raises:
        InputError: a criterion is not there, or is a penalty criterion.
    """
    from rubricate.run.results import quality_gate

    if options.fail_under is None and options.fail_if_lower_bound_under is None:
        return None
    return quality_gate(
        summary,
        mean=_thresholds("fail_under", options.fail_under),
        lower_bound=_thresholds("fail_if_lower_bound_under", options.fail_if_lower_bound_under),
    )


def code_of_gate(code: int, gate: QualityGate | None) -> int:
    """The exit code of a run with a gate; why it does not pass goes to stderr.

    A run that could not go on or was interrupted keeps its code.
    """
    if gate is None or gate.outcome == "passed":
        return code
    sys.stderr.write(f"{one_line(str(gate))}.\n")
    if code not in (ExitCode.FINE, ExitCode.SOME_FAILED):
        return code
    return ExitCode.BELOW if gate.outcome == "below" else ExitCode.UNDECIDED
