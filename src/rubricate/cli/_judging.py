"""What the commands that judge share: the run folder, the shared answers, and how they end."""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate.errors import InputError, RunStopped

if TYPE_CHECKING:
    import asyncio

    from rich.console import Console

    from rubricate.judge import Weights
    from rubricate.redteaming import RedTeamReport
    from rubricate.report import PairReport
    from rubricate.run import Progress

    JudgedReport = PairReport | RedTeamReport

__all__ = [
    "NO_JUDGE",
    "cache_folder",
    "exit_code",
    "named_run_dir",
    "parsed_weights",
    "print_judged",
]

NO_JUDGE = (
    "No --judge given: using the embedded judge (builtin), a baseline. For a language model, set "
    "its key and name it: --judge openai/gpt-4.1-mini (rubricate judges lists them)."
)


def named_run_dir(name: str) -> Path:
    """The folder below `runs` with this name, as far as a folder may have it."""
    slug = re.sub(r"[^A-Za-z0-9._-]+", "-", name).strip("-.")
    return Path("runs") / (slug or "run")


def cache_folder(cache: str | None, no_cache: bool) -> Path | None:
    """The folder of answers that runs share."""
    from platformdirs import user_cache_path

    if no_cache:
        if cache is not None:
            raise InputError("--cache and --no-cache exclude each other: give one of them")
        return None
    if cache is not None:
        return Path(cache)
    folder = user_cache_path("rubricate")
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    return folder if os.access(folder, os.W_OK) else None  # a home that cannot be written


def parsed_weights(given: str) -> Weights:
    """What `--weights` says: `reliability`, numbers, or numbers by name.

    Raises:
        InputError: it is none of these.
    """
    if given == "reliability":
        return "reliability"
    parts = [part.partition("=") for part in given.split(",")]
    try:
        if all(equals for _, equals, _ in parts):
            return {name.strip(): float(weight) for name, _, weight in parts}
        return [float(part) for part in given.split(",")]
    except ValueError:
        raise InputError(
            f"--weights: '{given}' is neither reliability, nor numbers such as 2,1,1, nor numbers "
            "by name such as gpt=2,claude=1"
        ) from None


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
    why = str(stopped).rstrip(".")
    sys.stderr.write(f"Error: {why}. {resume}\n")
    return 1


def print_judged(
    judge: Callable[[Callable[[Progress], None], asyncio.Event], Awaitable[JudgedReport]],
    run_dir: Path,
    *,
    notes: Console,
    json_output: bool,
    quiet: bool,
) -> int:
    """Run, showing how far it is, and print what comes of it; returns the exit code.

    Args:
        judge: the run, told where progress is shown and what stops it.
        run_dir: its folder.
        notes: where progress is shown.
        json_output: print the report as JSON.
        quiet: print nothing else.
    """
    import asyncio

    from rubricate.cli._progress import ProgressView
    from rubricate.cli._signals import stop_on_signals

    async def judged() -> JudgedReport:
        with ProgressView(notes) as view:
            return await judge(view.update, stop_on_signals())

    try:
        report = asyncio.run(judged())
    except RunStopped as stopped:
        return exit_code(run_dir, stopped=stopped, interrupted=stopped.interrupted, failed=False)
    if json_output:
        print(report.model_dump_json(indent=2))
    elif not quiet:
        print(report)
    return exit_code(run_dir, stopped=None, interrupted=False, failed=report.failed)
