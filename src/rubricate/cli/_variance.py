"""`rubricate trust variance`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import Groups, JsonFigures, Output
from rubricate.cli._printing import print_report


def variance(
    runs: Annotated[
        list[Path],
        typer.Argument(help="Runs with replicates or several judges, or runs of other prompts."),
    ],
    groups: Groups = None,
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """Show whether scores vary by item, judge, prompt or chance. List unstable criteria."""
    from rubricate.analysis import read_run, variance_report

    print_report(
        variance_report([read_run(run) for run in runs], groups=groups), json_output, output
    )
    return 0
