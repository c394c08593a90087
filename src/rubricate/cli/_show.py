"""`rubricate show`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate._terminal import NARROWEST
from rubricate.cli._exit_codes import ExitCode
from rubricate.cli._options import Journal, JsonOutput, Output
from rubricate.cli._printing import print_json, print_report, write_report
from rubricate.cli._thresholds import ThresholdOptions, code_of_thresholds, thresholds_of
from rubricate.errors import InputError
from rubricate.settings import options_of

THRESHOLDS = options_of(ThresholdOptions)


def show(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    item: Annotated[
        list[str] | None, typer.Option(help="Verdicts of this item; can be given several times.")
    ] = None,
    criterion: Annotated[
        list[str] | None, typer.Option(help="Verdicts on this criterion; likewise.")
    ] = None,
    failed: Annotated[bool, typer.Option("--failed", help="Verdicts that failed.")] = False,
    disagreements: Annotated[
        bool,
        typer.Option(
            "--disagreements",
            help="Verdicts that differ from the human label; without labels, those on which "
            "the judges differ.",
        ),
    ] = False,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Scores by tag, too: tags, or a field such as axis or domain; can be given "
            "several times."
        ),
    ] = None,
    prompt: Annotated[
        bool,
        typer.Option(
            "--prompt", help="What was sent for them, to the letter, and every reply as it came."
        ),
    ] = False,
    journal: Journal = None,
    fail_under: Annotated[str | None, typer.Option(help=THRESHOLDS["fail_under"].help)] = None,
    fail_if_lower_bound_under: Annotated[
        str | None, typer.Option(help=THRESHOLDS["fail_if_lower_bound_under"].help)
    ] = None,
    output: Output = None,
    json_output: JsonOutput = False,
) -> int:
    """Show a run's summary again, or some of its verdicts."""
    if prompt and not (item or criterion or failed or disagreements):
        raise InputError("--prompt is of some verdicts: pick them with --item, --criterion, ...")
    if journal is not None and not prompt:
        raise InputError("--journal is where --prompt reads what was sent: give both, or neither")
    given = ThresholdOptions(
        fail_under=fail_under, fail_if_lower_bound_under=fail_if_lower_bound_under
    )
    from rubricate.analysis import (
        Selection,
        conversation_lines,
        read_run,
        read_summary,
        summary_by,
    )
    from rubricate.run import REPORT_NAME

    found = read_run(run)
    summary = read_summary(found)
    picks = item or criterion or failed or disagreements
    is_kept = (run / REPORT_NAME).exists()
    reached = thresholds_of(given, summary)
    if reached is not None and (picks or is_kept):
        what = "this is a comparison or an attack" if is_kept else "leave out what picks verdicts"
        raise InputError(f"--fail-under and --fail-if-lower-bound-under are of a run: {what}")
    if reached is not None:
        summary = summary.model_copy(update={"thresholds": reached})
    if by:
        if picks:
            raise InputError("--by is of the whole run: leave out what picks verdicts")
        summary = summary_by(found, summary, by)
    if not picks and not by and is_kept:
        _print_kept(run, json_output, output)
    elif picks:
        picked = Selection(
            found,
            items=item or (),
            criteria=criterion or (),
            failed=failed,
            disagreements=disagreements,
            prompts=prompt,
            journal=journal,
        )
        print_report(picked, json_output, output, least=NARROWEST)
        if prompt and not json_output:
            for line in conversation_lines(picked):
                print(line)
    else:
        print_report(summary, json_output, output)
    code = ExitCode.SOME_FAILED if summary.verdicts["failed"] else ExitCode.FINE
    return code_of_thresholds(code, reached, is_told=not json_output)


def _print_kept(run: Path, json_output: bool, output: Path | None) -> None:
    """Print the report of a comparison or of an attack, as its command did."""
    from rubricate.analysis import kept_report
    from rubricate.comparing import PAIRS_NAME

    report = kept_report(run)
    if output is not None:
        write_report(report, output)
    if json_output:
        pairs = run / PAIRS_NAME
        print_json(report.model_dump(mode="json"), ("results", pairs) if pairs.exists() else None)
    else:
        print(report)
