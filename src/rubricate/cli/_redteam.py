"""`rubricate redteam`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rubricate.cli._judging import NO_JUDGE, cache_folder, named_run_dir, print_judged
from rubricate.cli._options import (
    BaseUrl,
    Cache,
    Concurrency,
    Fresh,
    JsonOutput,
    JudgePrompt,
    MaxCost,
    MaxTokens,
    NoCache,
    Quiet,
    RetryFailed,
    Temperature,
    Timeout,
)

if TYPE_CHECKING:
    import asyncio

    from rubricate.run import Progress

__all__ = ["redteam"]


def redteam(
    judge: Annotated[
        str | None,
        typer.Option(help="Who is attacked: builtin (default), openai/gpt-4.1-mini, ..."),
    ] = None,
    base_url: BaseUrl = None,
    judge_prompt: JudgePrompt = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/redteam-JUDGE]"),
    ] = None,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    max_cost: MaxCost = None,
    limit: Annotated[
        int | None, typer.Option(help="Attack only the first N of the suite's wrong answers.")
    ] = None,
    concurrency: Concurrency = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    timeout: Timeout = None,
    json_output: JsonOutput = False,
    quiet: Quiet = False,
) -> int:
    """Attack a judge: is it talked into passing wrong answers?"""
    from rich.console import Console

    from rubricate.redteaming import RedTeamOptions, RedTeamReport, aredteam

    notes = Console(stderr=True, quiet=quiet)
    if judge is None:
        notes.print(NO_JUDGE, style="dim", highlight=False)
    name = f"redteam-{judge or 'builtin'}"
    if judge_prompt is not None:
        name += f"-{Path(judge_prompt).stem}"
    folder = Path(run_dir) if run_dir else named_run_dir(name)
    options: RedTeamOptions = {
        "run_dir": folder,
        "cache": cache_folder(cache, no_cache),
        "base_url": base_url,
        "judge_prompt": judge_prompt,
        "fresh": fresh,
        "retry_failed": retry_failed,
        "max_cost": max_cost,
    }
    if concurrency is not None:
        options["concurrency"] = concurrency
    if temperature is not None:
        options["temperature"] = temperature
    options["max_tokens"] = max_tokens
    if timeout is not None:
        options["timeout"] = timeout

    async def attacked(
        on_progress: Callable[[Progress], None], stop: asyncio.Event
    ) -> RedTeamReport:
        options["on_progress"] = on_progress
        return await aredteam(judge, limit=limit, stop=stop, **options)

    return print_judged(attacked, folder, notes=notes, json_output=json_output, quiet=quiet)
