"""The exit codes of all commands, in one place."""

from __future__ import annotations

from enum import IntEnum


class ExitCode(IntEnum):
    """How a command ended; `meaning` says it in words."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        one = int.__new__(cls, code)
        one._value_ = code
        one.meaning = meaning
        return one

    FINE = 0, "fine; every threshold that was given is reached"
    ERROR = 1, "usage or input error (one line), or the run could not go on"
    SOME_FAILED = 2, "finished, but some verdicts failed"
    WORSE = 3, "`compare --fail-if-worse`: the second run is worse on what both decided"
    UNDECIDED = (
        4,
        "too little was judged to tell: `compare --fail-if-worse`, `--fail-under`, "
        "`--fail-if-lower-bound-under`",
    )
    NOT_CERTIFIED = 5, "`grade --certificate`: judge, prompt or rubric are not those certified"
    BELOW = 6, "`--fail-under`, `--fail-if-lower-bound-under`: a figure is below its threshold"
    INTERRUPTED = 130, "interrupted; what was judged is kept, and its figures are printed"
