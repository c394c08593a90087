"""`rubricate trust ppi`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import Groups, JsonFigures, Output
from rubricate.cli._printing import print_report
from rubricate.errors import InputError


def ppi(
    run: Annotated[Path, typer.Argument(help="A run folder; some of its items may have labels.")],
    next_items: Annotated[
        int, typer.Option("--next", help="Name so many items to label next, a random sample.")
    ] = 0,
    uncertain: Annotated[
        bool,
        typer.Option("--uncertain", help="With --next: the least sure first; bends the means."),
    ] = False,
    groups: Groups = None,
    confidence: Annotated[float, typer.Option(help="The intervals' coverage.")] = 0.95,
    seed: Annotated[int, typer.Option(help="Of the items named.")] = 0,
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """Show the means that people would give, from a few labels. Name more to label."""
    if next_items < 0:
        raise InputError(f"--next must be 0 or more, found {next_items}")
    if uncertain and not next_items:
        raise InputError("--uncertain is for --next: give both")
    from rubricate.analysis import ppi_report, read_run

    report = ppi_report(
        read_run(run),
        next_items=next_items,
        uncertain=uncertain,
        groups=groups,
        confidence=confidence,
        seed=seed,
    )
    print_report(report, json_output, output)
    return 0
