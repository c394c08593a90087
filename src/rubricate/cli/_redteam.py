"""`rubricate redteam`."""

from __future__ import annotations

import asyncio
from pathlib import Path

from rubricate.cli._exit_codes import exit_code
from rubricate.cli._grade import NO_JUDGE, cache_folder, named_run_dir
from rubricate.cli._progress import ProgressView
from rubricate.cli._signals import stop_on_signals
from rubricate.errors import RunStopped
from rubricate.redteaming import RedTeamOptions, RedTeamReport, aredteam

__all__ = ["redteam_command"]


def redteam_command(
    judge: str | None,
    *,
    run_dir: str | None,
    cache: str | None,
    no_cache: bool,
    limit: int | None,
    json_output: bool,
    quiet: bool,
    options: RedTeamOptions,
) -> int:
    """Attack a judge; returns the exit code."""
    from rich.console import Console

    notes = Console(stderr=True, quiet=quiet)
    if judge is None:
        notes.print(NO_JUDGE, style="dim", highlight=False)
    name = f"redteam-{judge or 'builtin'}"
    if options.get("judge_prompt") is not None:
        name += f"-{Path(str(options['judge_prompt'])).stem}"
    folder = Path(run_dir) if run_dir else named_run_dir(name)
    options["run_dir"] = folder
    options["cache"] = cache_folder(cache, no_cache)

    async def attacked() -> RedTeamReport:
        with ProgressView(notes) as view:
            options["on_progress"] = view.update
            return await aredteam(judge, limit=limit, stop=stop_on_signals(), **options)

    try:
        report = asyncio.run(attacked())
    except RunStopped as stopped:
        return exit_code(folder, stopped=stopped, interrupted=stopped.interrupted, failed=False)
    if json_output:
        print(report.model_dump_json(indent=2))
    elif not quiet:
        print(report)
    return exit_code(folder, stopped=None, interrupted=False, failed=report.failed)
