"""What `rubricate compare-pair` can be told on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from rubricate.cli._options import (
    BaseUrl,
    Cache,
    Concurrency,
    Fresh,
    JsonOutput,
    MaxCost,
    NoCache,
    Quiet,
    Replicates,
    RetryFailed,
    Temperature,
    Timeout,
)

__all__ = ["compare_pair"]


def compare_pair(
    first: Annotated[
        str,
        typer.Argument(help="A text file, or a dataset or table with an answer in each item."),
    ],
    second: Annotated[
        str | None,
        typer.Argument(help="The same of the other side; not needed with --columns."),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="A rubric file; a dataset may have its own.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option(help="The two columns of one table that have the submissions: old,new."),
    ] = None,
    map: Annotated[
        str | None,
        typer.Option(help="What the other columns of a table are: prompt=question,id=qid."),
    ] = None,
    texts: Annotated[
        bool, typer.Option("--texts", help="What is given are the two texts, not files of them.")
    ] = False,
    prompt: Annotated[str | None, typer.Option(help="The task that two texts answer.")] = None,
    reference: Annotated[
        str | None, typer.Option(help="A text file with an exemplary response to it.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="A language model: openai/gpt-4.1-mini, ... Given several times, they vote."
        ),
    ] = None,
    base_url: BaseUrl = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/pair-A-B-JUDGE]"),
    ] = None,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    max_cost: MaxCost = None,
    limit: Annotated[int | None, typer.Option(help="Compare only the first N pairs.")] = None,
    replicates: Replicates = None,
    concurrency: Concurrency = None,
    temperature: Temperature = None,
    timeout: Timeout = None,
    json_output: JsonOutput = False,
    quiet: Quiet = False,
) -> int:
    """Ask a judge which of two submissions is better, by each criterion, in both orders."""
    from rubricate.cli._compare_pair import Compared, compare_pair_command
    from rubricate.comparing import PairOptions

    options: PairOptions = {"base_url": base_url, "fresh": fresh, "max_cost": max_cost}
    options["retry_failed"] = retry_failed
    if replicates is not None:
        options["replicates"] = replicates
    if concurrency is not None:
        options["concurrency"] = concurrency
    if temperature is not None:
        options["temperature"] = temperature
    if timeout is not None:
        options["timeout"] = timeout
    return compare_pair_command(
        Compared(first, second, rubric, columns, map, texts, prompt, reference),
        judge or [],
        run_dir=run_dir,
        cache=cache,
        no_cache=no_cache,
        limit=limit,
        json_output=json_output,
        quiet=quiet,
        options=options,
    )
