"""What a command that judges ends with, and what it says of a run that ended early."""

from __future__ import annotations

import sys
from pathlib import Path

__all__ = ["exit_code"]


def exit_code(
    run_dir: Path, *, stopped: object | None, interrupted: bool, failed: int | bool
) -> int:
    """The exit code of a run, once its results are shown; why it ended early goes to stderr.

    Args:
        run_dir: the run folder.
        stopped: why the run ended early; None if it did not.
        interrupted: whether somebody stopped it.
        failed: whether a judgement that was asked for could not be had.
    """
    if stopped is None:
        return 2 if failed else 0
    resume = f"What was judged is in {run_dir}; the same command goes on from there."
    if interrupted:
        sys.stderr.write(f"Interrupted. {resume}\n")
        return 130
    sys.stderr.write(f"Error: {stopped} {resume}\n")
    return 1
