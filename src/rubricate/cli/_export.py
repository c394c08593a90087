"""`rubricate export`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from rubricate.cli._options import JsonOutput
from rubricate.cli._printing import print_json
from rubricate.errors import InputError

SUFFIXES = (".csv", ".jsonl", ".parquet")


def export(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The file: .csv, .jsonl or .parquet.")
    ],
    by: Annotated[
        str, typer.Option(help="What a row is: a verdict, or an item with columns for each.")
    ] = "verdict",
    raw_cells: Annotated[
        bool,
        typer.Option(
            "--raw-cells",
            help="Leave text of a .csv as it is, also what a spreadsheet would run as a formula.",
        ),
    ] = False,
    json_output: JsonOutput = False,
) -> int:
    """Write a run's verdicts as a table for other programs."""
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"the file's name must end in one of {', '.join(SUFFIXES)}", file=output)
    if raw_cells and suffix != ".csv":
        raise InputError(f"--raw-cells is for .csv; {suffix} has no others", file=output)
    from rubricate.analysis import VerdictTable, read_run

    table = VerdictTable(read_run(run), by)
    if suffix == ".csv":
        rows = table.to_csv(output, raw_cells=raw_cells)
    elif suffix == ".jsonl":
        rows = table.to_jsonl(output)
    else:
        rows = table.to_parquet(output)
    if json_output:
        print_json({"file": str(output), "rows": rows, "columns": list(table.columns)})
    else:
        print(f"{output}: {rows} rows, {len(table.columns)} columns")
    return 0
