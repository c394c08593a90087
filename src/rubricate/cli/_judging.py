"""What the commands that judge share: the run folder, the shared answers, and how they end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from rubricate._addresses import is_address
from rubricate._files import user_path
from rubricate._terminal import one_line
from rubricate.cli._exit_codes import ExitCode
from rubricate.errors import InputError

if TYPE_CHECKING:
    import asyncio

    from rubricate.analysis import JudgedReport
    from rubricate.cli._progress import ProgressView
    from rubricate.judge import Weights
    from rubricate.run import RunEstimate

NO_JUDGE = (
    "No --judge given: using the built-in judge (builtin), a baseline. For a language model, set "
    "its key and name it: --judge openai/gpt-4.1-mini (rubricate judges lists them)."
)


class _Told(Protocol):
    """Settings of a command that judges."""

    @property
    def cache(self) -> str | Path | None: ...
    @property
    def no_cache(self) -> bool: ...
    @property
    def journal(self) -> str | None: ...
    @property
    def share_limits(self) -> str | bool | None: ...


def shared_places(settings: _Told) -> dict[str, Any]:
    """What a command shares with others unless it is told: the cache, and an endpoint's limits."""
    limits = settings.share_limits
    return {
        "cache": _cache(settings.cache, settings.no_cache, settings.journal),
        "share_limits": "auto" if limits is None else limits,
    }


def _cache(cache: str | Path | None, no_cache: bool, journal: str | None) -> str | Path | None:
    """Where the answers are that runs share: as told, else in the user's folder.

    A journal in a database is for many machines, which may have that folder in common over a
    network, where files are no place for answers that are written by all: it has none by itself.
    """
    from platformdirs import user_cache_path

    if no_cache:
        if cache is not None:
            raise InputError("--cache and --no-cache exclude each other: give one of them")
        return None
    if cache is not None:
        return cache if is_address(cache) else user_path(cache)
    if journal is not None:
        return None
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
        return ExitCode.SOME_FAILED if failed else ExitCode.FINE
    resume = f"What was judged is in {run_dir}; the same command goes on from there."
    if interrupted:
        sys.stderr.write(f"Interrupted. {resume}\n")
        return ExitCode.INTERRUPTED
    why = one_line(str(stopped)).rstrip(".")
    sys.stderr.write(f"Error: {why}. {resume}\n")
    return ExitCode.ERROR


def print_estimate(estimate: RunEstimate, json_output: bool, pairs: int | None = None) -> None:
    """Print what a run would take.

    Args:
        estimate: what it would take.
        json_output: print it as JSON.
        pairs: how many pairs of submissions its items are, if they are that.
    """
    from rubricate.cli._printing import print_json

    if json_output:
        print_json(({} if pairs is None else {"pairs": pairs}) | estimate.to_dict())
        return
    if pairs is not None:
        print(f"pairs     {pairs}, each asked about in both orders")
    print(estimate)


def print_judged(
    judge: Callable[[], Awaitable[JudgedReport]],
    run_dir: Path,
    *,
    view: ProgressView,
    stop: asyncio.Event,
    json_output: bool,
    quiet: bool,
    results: str | None = None,
) -> int:
    """Run, showing how far it is, and print what comes of it; returns the exit code.

    Args:
        judge: the run. It gives the report, of what was judged, also where it was stopped.
        run_dir: its folder.
        view: what shows its progress.
        stop: what the first signal sets; the run ends early then.
        json_output: print the report as JSON.
        quiet: print nothing else.
        results: a file of the run folder with JSON lines, which are the `results` of that JSON.
    """
    import asyncio

    from rubricate.cli._printing import print_json
    from rubricate.cli._signals import stop_on_signals
    from rubricate.run import INTERRUPTED

    async def judged() -> JudgedReport:
        stop_on_signals(stop)
        with view:
            return await judge()

    report = asyncio.run(judged())
    if json_output:
        lines = None if results is None else ("results", run_dir / results)
        print_json(report.model_dump(mode="json"), lines)
    elif not quiet:
        print(report.with_its_error_told())
    return exit_code(
        run_dir,
        stopped=report.stopped,
        interrupted=report.stopped == INTERRUPTED,
        failed=report.failed,
    )
