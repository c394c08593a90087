"""What `rubricate grade` can be told on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import (
    Attempts,
    BaseUrl,
    Cache,
    Concurrency,
    Deadline,
    JudgePrompt,
    MaxCost,
    MaxOutage,
    MaxTime,
    MaxTokens,
    MinVotes,
    Nominal,
    Prices,
    Replicates,
    RequestsPerMinute,
    Temperature,
    Timeout,
    TokensPerMinute,
    Weights,
)

__all__ = ["grade"]

_GIVEN = (str, int, float, list)
"""What an option that was given is."""


def grade(
    data: Annotated[
        str | None,
        typer.Argument(
            help="A dataset (.json, .jsonl, .yaml, .yml) or a table (.csv, .json, .jsonl, "
            ".parquet, an https:// or s3:// address, hf:NAME@SPLIT)."
        ),
    ] = None,
    rubric: Annotated[
        str | None, typer.Option(help="A rubric file, used in place of the dataset's own.")
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Who grades: builtin (default), openai/gpt-4.1-mini, ...; see judges. Given "
            "several times, all of them, and they vote."
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(help="Votes on binary criteria: majority, weighted, unanimous, any."),
    ] = None,
    ordinal: Annotated[
        str | None,
        typer.Option(help="Votes on ordered options: mean, median, weighted_mean, mode, min, max."),
    ] = None,
    nominal: Nominal = None,
    numeric: Annotated[
        str | None,
        typer.Option(help="Votes on metric criteria: mean, median, weighted_mean."),
    ] = None,
    weights: Weights = None,
    mode: Annotated[
        str | None,
        typer.Option(help="explained (default): reasons, then verdict; or probability."),
    ] = None,
    permutations: Annotated[
        int | None,
        typer.Option(help="Ask in so many orders of the answers. [1; 2 in probability mode]"),
    ] = None,
    shuffle: Annotated[
        int | None, typer.Option(help="A seed that draws the answers' order for each item.")
    ] = None,
    require_evidence: Annotated[
        bool | None,
        typer.Option(
            help="Verdicts whose quotes are not in the submission are asked again, then abstain. "
            "[only metric criteria]"
        ),
    ] = None,
    correct_prior: Annotated[
        bool | None,
        typer.Option(help="Correct probabilities by those of a question without content. [yes]"),
    ] = None,
    samples: Annotated[
        int | None, typer.Option(help="Replies drawn where a model has no logprobs. [5]")
    ] = None,
    min_votes: MinVotes = None,
    replicates: Replicates = None,
    map: Annotated[
        str | None,
        typer.Option(
            help="Which column of a table is what: submission=answer,prompt=question; also "
            "reference, id, context and label.CRITERION."
        ),
    ] = None,
    on_error: Annotated[
        str | None,
        typer.Option(help="Rows of a table that do not fit: raise (default) or skip."),
    ] = None,
    base_url: BaseUrl = None,
    examples: Annotated[
        str | None,
        typer.Option(help="Labelled items to show to a model, or to refit the embedded judge on."),
    ] = None,
    examples_count: Annotated[
        int | None, typer.Option(help="How many examples a model is shown. [4]")
    ] = None,
    examples_pick: Annotated[
        str | None, typer.Option(help="Which: balanced over the labels (default), or nearest.")
    ] = None,
    judge_prompt: JudgePrompt = None,
    leader_first: Annotated[
        bool | None,
        typer.Option(
            "--leader-first/--no-leader-first",
            help="Send an item's first request before its others, for the endpoint's cache. "
            "[where it is known to have one]",
        ),
    ] = None,
    criteria_per_call: Annotated[
        str | None, typer.Option(help="Criteria asked about in one request: a number, or all. [1]")
    ] = None,
    escalate_to: Annotated[
        list[str] | None,
        typer.Option(
            help="Who is asked where the judge is not sure: another judge, or a dataset file for "
            "people (people.jsonl). Several are asked one after the other."
        ),
    ] = None,
    threshold: Annotated[
        list[float] | None,
        typer.Option(help="The least confidence with which a verdict stands; see trust cascade."),
    ] = None,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(help="Read submissions of more tokens in parts of at most so many. [whole]"),
    ] = None,
    run_dir: Annotated[
        str | None,
        typer.Option(help="The run folder; taken up again if it is there. [runs/DATA-JUDGE]"),
    ] = None,
    fresh: Annotated[
        bool | None,
        typer.Option("--fresh", help="Ask everything anew; an earlier journal is moved aside."),
    ] = None,
    retry_failed: Annotated[
        bool | None,
        typer.Option("--retry-failed", help="Ask for nothing but what failed before."),
    ] = None,
    cache: Cache = None,
    no_cache: Annotated[
        bool | None, typer.Option("--no-cache", help="Share no answers with other runs.")
    ] = None,
    dry_run: Annotated[
        bool | None,
        typer.Option("--dry-run", help="Say what it would take, and send nothing."),
    ] = None,
    prices: Prices = None,
    max_cost: MaxCost = None,
    max_time: MaxTime = None,
    config: Annotated[
        Path | None, typer.Option(help="A YAML file with these options; the command line wins.")
    ] = None,
    limit: Annotated[int | None, typer.Option(help="Grade only the first N items.")] = None,
    concurrency: Concurrency = None,
    requests_per_minute: RequestsPerMinute = None,
    tokens_per_minute: TokensPerMinute = None,
    temperature: Temperature = None,
    max_tokens: MaxTokens = None,
    timeout: Timeout = None,
    attempts: Attempts = None,
    deadline: Deadline = None,
    max_outage: MaxOutage = None,
    cannot_assess: Annotated[
        str | None, typer.Option(help="What an abstention scores: skip, zero, partial, fail.")
    ] = None,
    partial: Annotated[
        float | None, typer.Option(help="The fraction of the weight that partial gives. [0.5]")
    ] = None,
    length_penalty: Annotated[
        str | None,
        typer.Option(help="What length costs: free_budget=6000,max_cap=8000,penalty_at_cap=0.5."),
    ] = None,
    author_key: Annotated[
        str | None,
        typer.Option(help="Where metadata says which model wrote the text. [model, system]"),
    ] = None,
    allow_code: Annotated[
        bool | None, typer.Option("--allow-code", help="Run code that the rubric names.")
    ] = None,
    calibration: Annotated[
        str | None,
        typer.Option(help="A map of the judge's probabilities (see trust calibrate): label by it."),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(help="A certificate (see trust certify): exit with 5 if it does not hold."),
    ] = None,
    json_output: Annotated[
        bool | None, typer.Option("--json", help="Print the summary as JSON.")
    ] = None,
    quiet: Annotated[
        bool | None, typer.Option("--quiet", "-q", help="Print nothing but errors (and --json).")
    ] = None,
) -> int:
    """Judge every item of a dataset by every criterion. What is known is not asked again."""
    from rubricate.cli._grade_run import grade_command
    from rubricate.cli._settings import load_settings

    options = {key: value for key, value in locals().items() if key != "config" and value != []}
    given = {key: value for key, value in options.items() if isinstance(value, _GIVEN)}
    if criteria_per_call is not None and criteria_per_call.isdecimal():
        given["criteria_per_call"] = int(criteria_per_call)
    return grade_command(load_settings(given, config))
