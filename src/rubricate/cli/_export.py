"""`rubricate export`."""

from __future__ import annotations

import json
from pathlib import Path

from rubricate.errors import InputError
from rubricate.report import Table, to_csv, to_jsonl, to_parquet
from rubricate.run import read_run

__all__ = ["export_command"]

SUFFIXES = (".csv", ".jsonl", ".parquet")


def export_command(
    run: Path, output: Path, *, by: str, safe_formulas: bool, json_output: bool
) -> int:
    """Write a run's verdicts as a table; returns the exit code."""
    suffix = output.suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"the file's name must end in one of {', '.join(SUFFIXES)}", file=output)
    if safe_formulas and suffix != ".csv":
        raise InputError(f"--safe-formulas is for .csv; {suffix} has no formulas", file=output)
    table = Table(read_run(run), by)
    if suffix == ".csv":
        rows = to_csv(table, output, safe_formulas=safe_formulas)
    elif suffix == ".jsonl":
        rows = to_jsonl(table, output)
    else:
        rows = to_parquet(table, output)
    if json_output:
        told = {"file": str(output), "rows": rows, "columns": list(table.columns)}
        print(json.dumps(told, indent=2, ensure_ascii=False))
    else:
        print(f"{output}: {rows} rows, {len(table.columns)} columns")
    return 0
