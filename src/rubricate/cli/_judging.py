"""What all judging commands share: options, datasets, estimates, and how they end."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate._files import is_address, user_path
from rubricate._terminal import console, one_line
from rubricate.cli._ending import ExitCode, stop_on_signals
from rubricate.errors import InputError, RunStopped
from rubricate.run import Limits, Storage
from rubricate.settings import option

if TYPE_CHECKING:
    import asyncio

    from rubricate.analysis import JudgedReport
    from rubricate.cli._run_dirs import OnProgress, RunDir
    from rubricate.run import RunEstimate
    from rubricate.run.results import Outcome

_T = TypeVar("_T")
NO_JUDGE = (
    "No --judge given: using the built-in judge (builtin), a baseline. For a language model, set "
    "its key and name it: --judge openai/gpt-6-luna (rubricate judges lists them)."
)


class Shell(Limits, Storage):
    """The options that all judging commands have in addition to those of Python.

    Attributes:
        raw: the options as written by the user: files by name, weights as text.
    """

    no_cache: bool = option(False, "Do not share answers with other runs.")
    dry_run: bool = option(
        False,
        "Estimate requests, tokens and cost; send nothing.",
        common=True,
    )
    json_output: bool = option(
        False, "Print the figures as JSON.", group="Output", shell="--json", common=True
    )
    quiet: bool = option(
        False,
        "Print only errors and warnings about the figures (and --json).",
        group="Output",
        shell="--quiet -q",
        common=True,
    )
    raw: Mapping[str, Any]


def shared_places(settings: Shell) -> dict[str, Any]:
    """What a command shares with others by default: the cache, and the limits of endpoints."""
    limits = settings.share_limits
    return {
        "cache": _cache(settings.cache, settings.no_cache, settings.journal),
        "share_limits": "auto" if limits is None else limits,
    }


def _cache(cache: str | Path | None, no_cache: bool, journal: str | None) -> str | Path | None:
    """The place of the shared answers: as set, else in the user's folder.

    With a journal in a database, the default is none: several machines may share the user's folder
    over a network, where SQLite files are unsafe for concurrent writers.
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
    return folder if os.access(folder, os.W_OK) else None  # the home folder may be read-only


def exit_code(run_dir: Path, outcome: Outcome | RunStopped) -> int:
    """The exit code of a run after its results were printed; why it ended early goes to stderr.

    Args:
        run_dir: the run folder.
        outcome: what came of it, or why it ended early.
    """
    from rubricate.run import INTERRUPTED

    if isinstance(outcome, RunStopped):
        failed, nothing_judged, stopped = 0, False, str(outcome)
        interrupted = outcome.interrupted
    else:
        failed, nothing_judged = outcome.unanswered, outcome.nothing_judged
        stopped = outcome.stopped or ""
        interrupted = stopped == INTERRUPTED
    pending = ""
    if (run_dir / "batches").is_dir():
        from rubricate.judge import batches_in

        with contextlib.suppress(InputError):  # a damaged file, which `rubricate batches` names
            out = [batch for _, batch in batches_in(run_dir) if batch.state == "out"]
            count = sum(len(batch.rows) for batch in out)
            lists = f"`rubricate batches {run_dir}` lists them"
            pending = f" {count} requests are out in batches; {lists}." if out else ""
    if not stopped:
        if pending:
            sys.stderr.write(f"This run is complete.{pending}\n")
        return ExitCode.SOME_FAILED if failed else ExitCode.FINE
    resume = f"What was judged is in {run_dir}; the same command resumes it."
    if interrupted:
        sys.stderr.write(f"Interrupted. {resume}{pending}\n")
        return ExitCode.INTERRUPTED
    why = one_line(stopped).rstrip(".")
    if is_out(stopped):
        why = why.partition(": ")[2]
        sys.stderr.write(
            f"{why[:1].upper()}{why[1:]}. The same command collects the answers; "
            "`rubricate batches` lists them.\n"
        )
        return ExitCode.OUT
    resume = "Nothing was judged." if nothing_judged else resume
    sys.stderr.write(f"Error: {why}. {resume}{pending}\n")
    return ExitCode.ERROR


def is_out(stopped: object) -> bool:
    """Whether a run ended early because it does not wait for its batches."""
    from rubricate.judge import OUT

    return str(stopped).startswith(OUT)


def print_estimate(estimate: RunEstimate, json_output: bool, pairs: int | None = None) -> None:
    """Print the estimate of a run.

    Args:
        estimate: the estimate.
        json_output: whether to print it as JSON.
        pairs: the number of pairs, if items are pairs of submissions.
    """
    if json_output:
        from rubricate.cli._printing import print_json

        print_json(({} if pairs is None else {"pairs": pairs}) | estimate.to_dict())
        return
    if pairs is not None:
        print(f"pairs     {pairs}, each asked about in both orders")
    print(estimate)


def watched(work: Callable[[OnProgress, asyncio.Event], Awaitable[_T]], settings: Shell) -> _T:
    """Run work that waits for judges, and show its progress on standard error.

    Args:
        work: takes a callback for its progress, and the event that the first signal sets.
        settings: says whether progress is shown.
    """
    import asyncio

    from rubricate.cli._progress import ProgressView

    view = ProgressView(console(stderr=True, quiet=settings.quiet))

    async def until_the_end() -> _T:
        stop = stop_on_signals()
        with view:
            return await work(view.update, stop)

    return asyncio.run(until_the_end())


def until_stopped(
    work: Callable[[OnProgress, asyncio.Event], Awaitable[_T]], settings: Shell, folder: Path
) -> _T | int:
    """Return the result of a run like `watched`, or the exit code if it ended early."""
    try:
        return watched(work, settings)
    except RunStopped as stopped:
        return exit_code(folder, stopped)


def print_judged(
    judge: Callable[[OnProgress, asyncio.Event], Awaitable[JudgedReport]],
    folder: RunDir,
    settings: Shell,
    results: str | None = None,
) -> int:
    """Run with progress, print the report, and return the exit code.

    Args:
        judge: the run; takes a callback for its progress and the event that the first signal sets,
            and returns the report on what was judged, even if stopped.
        folder: the run folder.
        settings: says how to print the report.
        results: a JSON Lines file of the run folder for the key `results` of the JSON output.
    """
    if not settings.quiet:
        folder.announce()
    report = watched(lambda show, stop: judge(folder.progress(show), stop), settings)
    if settings.json_output:
        from rubricate.cli._printing import print_json

        lines = None if results is None else ("results", folder.path / results)
        print_json(report.model_dump(mode="json"), lines)
    elif not settings.quiet:
        print(report.without_the_error())
    return exit_code(folder.path, report)
