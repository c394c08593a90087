"""What `rubricate researchrubrics` can be told on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from rubricate.cli._options import BaseUrl, Cache, JsonFigures, MaxCost, NoCache, Prices, Quiet

__all__ = ["researchrubrics"]


def researchrubrics(
    folder: Annotated[
        str | None,
        typer.Argument(
            help="The reports, each named by its task's sample_id: .md, .txt, .pdf, .html, .docx. "
            "[agent_responses/]"
        ),
    ] = None,
    tasks: Annotated[
        str | None,
        typer.Option(
            help="The tasks with their rubrics. [data/researchrubrics/processed_data.jsonl]"
        ),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(help="NAME=DIR: the reports of one of several systems; given several times."),
    ] = None,
    judge: Annotated[
        list[str] | None,
        typer.Option(
            help="Who grades, as for grade. [the page's model where LITELLM_API_KEY is set, else "
            "builtin]"
        ),
    ] = None,
    base_url: BaseUrl = None,
    grading: Annotated[
        str, typer.Option(help="binary, or ternary with Partially Satisfied.")
    ] = "binary",
    chunk_tokens: Annotated[
        int, typer.Option(help="Read reports of more tokens in parts; 0 for all whole.")
    ] = 8000,
    max_concurrent: Annotated[int, typer.Option(help="The most requests in flight.")] = 20,
    max_retries: Annotated[
        int,
        typer.Option(help="How often a failed request is sent again."),
    ] = 3,
    resume: Annotated[
        bool,
        typer.Option("--resume/--no-resume", help="Go on from an earlier run, or ask all anew."),
    ] = True,
    output_file: Annotated[
        str | None,
        typer.Option(help="The results. [results/batch_evaluation_YYYYMMDD_HHMMSS.jsonl]"),
    ] = None,
    run_dir: Annotated[
        str | None, typer.Option(help="The run folder. [runs/reports-FOLDER-JUDGE]")
    ] = None,
    cache: Cache = None,
    no_cache: NoCache = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Say what it would take, and send nothing.")
    ] = False,
    limit: Annotated[int | None, typer.Option(help="Grade only the first N reports.")] = None,
    max_cost: MaxCost = None,
    temperature: Annotated[float, typer.Option(help="Sampling temperature.")] = 0.0,
    max_tokens: Annotated[
        int | None, typer.Option(help="The most tokens of a reply. [the endpoint's own limit]")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that one request may take.")] = 120.0,
    prices: Prices = None,
    json_output: JsonFigures = False,
    quiet: Quiet = False,
) -> int:
    """Grade research reports by the rubrics of their tasks. See docs/reports.md."""
    given = dict(locals())
    from rubricate.cli._researchrubrics_run import ReportSettings, reports_command

    return reports_command(ReportSettings(**given))
