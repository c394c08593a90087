"""`rubricate runs`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import JsonFigures, Output
from rubricate.cli._printing import print_report

WIDTH = 116
"""Columns of a terminal that the table gets at least."""


def runs(
    folder: Annotated[Path, typer.Argument(help="A folder with run folders.")] = Path("runs"),
    output: Output = None,
    json_output: JsonFigures = False,
) -> int:
    """List runs, the oldest first: dataset, judge, score with interval, agreement, cost, state."""
    from rubricate.analysis import list_runs

    print_report(list_runs(folder), json_output, output, least=WIDTH)
    return 0
