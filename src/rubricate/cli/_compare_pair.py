"""What `rubricate compare-pair` can be told on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from rubricate.cli._options import (
    Attempts,
    BaseUrl,
    Cache,
    Concurrency,
    Deadline,
    DryRun,
    Fresh,
    JsonOutput,
    MaxCost,
    MaxOutage,
    MaxTime,
    MaxTokens,
    MinVotes,
    NoCache,
    Nominal,
    Prices,
    Quiet,
    Replicates,
    RequestsPerMinute,
    RetryFailed,
    Temperature,
    Timeout,
    TokensPerMinute,
    Weights,
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
    nominal: Nominal = None,
    weights: Weights = None,
    min_votes: MinVotes = None,
    replicates: Replicates = None,
    base_url: BaseUrl = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/pair-A-B-JUDGE]"),
    ] = None,
    fresh: Fresh = False,
    retry_failed: RetryFailed = False,
    cache: Cache = None,
    no_cache: NoCache = False,
    dry_run: DryRun = False,
    prices: Prices = None,
    max_cost: MaxCost = None,
    max_time: MaxTime = None,
    limit: Annotated[int | None, typer.Option(help="Compare only the first N pairs.")] = None,
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
    """Ask which of two submissions is better, in both orders.

    Each criterion is asked about by itself. Answers that differ between the orders are a tie.
    """
    from rubricate.cli._compare_pair_run import Compared, compare_pair_command
    from rubricate.cli._judging import parsed_weights

    told = {
        "nominal": nominal,
        "weights": None if weights is None else parsed_weights(weights),
        "min_votes": min_votes,
        "replicates": replicates,
        "base_url": base_url,
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
    return compare_pair_command(
        Compared(first, second, rubric, columns, map, texts, prompt, reference),
        judge or [],
        run_dir=run_dir,
        cache=cache,
        no_cache=no_cache,
        dry_run=dry_run,
        limit=limit,
        json_output=json_output,
        quiet=quiet,
        options=given,
    )
