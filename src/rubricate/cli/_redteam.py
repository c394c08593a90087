"""`rubricate redteam`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rubricate._terminal import console
from rubricate.cli._judging import (
    NO_JUDGE,
    cache_folder,
    print_estimate,
    print_judged,
)
from rubricate.cli._options import (
    Attempts,
    BaseUrl,
    Cache,
    Concurrency,
    Deadline,
    DryRun,
    Fresh,
    JsonOutput,
    JudgePrompt,
    MaxCost,
    MaxOutage,
    MaxTime,
    MaxTokens,
    NoCache,
    Prices,
    Quiet,
    RequestsPerMinute,
    RetryFailed,
    Temperature,
    Timeout,
    TokensPerMinute,
)
from rubricate.cli._run_dirs import place_of, run_dir_for

if TYPE_CHECKING:
    from rubricate.dataset import RubricDataset

__all__ = ["redteam"]


def redteam(
    dataset: Annotated[
        str | None,
        typer.Argument(
            help="Labelled items to attack in place of the suite's questions: wrong answers are "
            "those labelled UNMET."
        ),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="A rubric file, for a dataset without one.")
    ] = None,
    judge: Annotated[
        str | None,
        typer.Option(help="Who is attacked: builtin (default), openai/gpt-4.1-mini, ..."),
    ] = None,
    base_url: BaseUrl = None,
    attacks: Annotated[
        str | None,
        typer.Option(help="A YAML or JSON file of attacks in place of the suite's."),
    ] = None,
    form: Annotated[
        str, typer.Option(help="How is judged: verdict, choice (three options) or pair.")
    ] = "verdict",
    judge_prompt: JudgePrompt = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/redteam-JUDGE]"),
    ] = None,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    dry_run: DryRun = False,
    prices: Prices = None,
    max_cost: MaxCost = None,
    max_time: MaxTime = None,
    limit: Annotated[
        int | None, typer.Option(help="Attack only the first N of the suite's wrong answers.")
    ] = None,
    concurrency: Concurrency = None,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    timeout: Timeout = None,
    attempts: Attempts = None,
    deadline: Deadline = None,
    max_outage: MaxOutage = None,
    json_output: JsonOutput = False,
    quiet: Quiet = False,
) -> int:
    """Attack a judge: is it talked into passing wrong answers?"""
    import asyncio

    from rubricate.cli._progress import ProgressView
    from rubricate.errors import InputError, RunStopped
    from rubricate.redteaming import RedTeamReport, aredteam, estimate_redteam

    notes = console(stderr=True, quiet=quiet)
    if judge is None:
        notes.print(NO_JUDGE, style="dim")
    name = f"redteam-{judge or 'builtin'}"
    for part in (dataset, attacks, judge_prompt):
        name += "" if part is None else f"-{Path(part).stem}"
    name += "" if form == "verdict" else f"-{form}"
    if rubric is not None and dataset is None:
        raise InputError("--rubric is for a dataset of your own: name it")
    named = {
        "base_url": base_url,
        "judge_prompt": place_of(judge_prompt),
        "temperature": 0.0 if temperature is None else temperature,
        "max_tokens": max_tokens,
    }
    own = {"dataset": dataset, "rubric": rubric, "attacks": attacks}
    named |= {option: place_of(file) for option, file in own.items() if file is not None}
    chosen = run_dir_for(run_dir, name, [judge or "builtin"], named)
    folder = chosen.path
    told = {
        "dataset": None if dataset is None else _dataset(dataset, rubric),
        "attacks": attacks,
        "form": form,
        "cache": cache_folder(cache, no_cache),
        "base_url": base_url,
        "judge_prompt": judge_prompt,
        "fresh": fresh,
        "retry_failed": retry_failed,
        "prices": prices,
        "max_cost": max_cost,
        "max_time": max_time,
        "concurrency": concurrency,
        "requests_per_minute": requests_per_minute,
        "tokens_per_minute": tokens_per_minute,
        "temperature": temperature,
        "max_tokens": max_tokens,
        "timeout": timeout,
        "attempts": attempts,
        "deadline": deadline,
        "max_outage": max_outage,
    }
    given = {name: value for name, value in told.items() if value is not None}
    options: dict[str, Any] = {"run_dir": folder, **given}
    if dry_run:
        print_estimate(estimate_redteam(judge, limit=limit, **options), json_output)
        return 0
    view, stop = ProgressView(notes), asyncio.Event()
    options["on_progress"] = chosen.begin(view.update, quiet=quiet)

    async def attacked() -> RedTeamReport:
        try:
            return await aredteam(judge, limit=limit, stop=stop, **options)
        except RunStopped as stopped:  # the report says why
            if not isinstance(stopped.report, RedTeamReport):
                raise
            return stopped.report

    return print_judged(
        attacked, folder, view=view, stop=stop, json_output=json_output, quiet=quiet
    )


def _dataset(data: str, rubric: str | None) -> RubricDataset:
    """The labelled dataset that a file holds."""
    from rubricate.cli._datasets import check_kind, rubric_dataset
    from rubricate.rubric import Rubric

    check_kind(data)
    return rubric_dataset(data, None if rubric is None else Rubric.from_file(rubric))
