"""A table as a data frame or a file. Files are written row by row."""

from __future__ import annotations

import csv
import io
import re
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson

from rubricate._files import Replacement
from rubricate.errors import MissingExtraError

if TYPE_CHECKING:
    import pandas
    import polars

    from rubricate.analysis._tables import Table

__all__ = ["spreadsheet_cell", "to_csv", "to_jsonl", "to_pandas", "to_parquet", "to_polars"]

_AT_ONCE = 2048
"""Rows of a Parquet file's group: what is held."""
_FORMULA_BEGINS = tuple("=+-@\t\r\n＝＋－＠")  # OWASP, CSV Injection
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)


def spreadsheet_cell(value: Any) -> Any:
    """A cell's value with `'` before a text that a spreadsheet would run as a formula.

    A text that is a plain number stays as it is.
    """
    if (
        isinstance(value, str)
        and value.startswith(_FORMULA_BEGINS)
        and not _NUMBER.fullmatch(value)
    ):
        return f"'{value}"
    return value


def to_pandas(table: Table) -> pandas.DataFrame:
    """See `Tabular.to_pandas`."""
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_pandas", "pandas") from None
    frame = pandas.DataFrame(list(table), columns=list(table.columns))
    return frame.astype(
        {name: "float64" for name, kind in table.columns.items() if kind == "number"}
    )


def to_polars(table: Table) -> polars.DataFrame:
    """See `Tabular.to_polars`."""
    try:
        import polars
    except ImportError:
        raise MissingExtraError("to_polars", "polars") from None
    types: dict[str, Any] = {
        "text": polars.String,
        "number": polars.Float64,
        "count": polars.Int64,
        "flag": polars.Boolean,
        "texts": polars.List(polars.String),
        "object": polars.String,
    }
    rows = [_with_json(row, table) for row in table]
    return polars.DataFrame(
        rows, schema={name: types[kind] for name, kind in table.columns.items()}
    )


def to_csv(table: Table, path: Path, *, raw_cells: bool) -> int:
    """See `Tabular.to_csv`."""

    def cell(value: Any) -> Any:
        if isinstance(value, bool):
            return "true" if value else "false"
        if isinstance(value, list | dict):
            value = orjson.dumps(value).decode()
        return value if raw_cells else spreadsheet_cell(value)

    count = 0
    with Replacement(path) as file:
        text = io.TextIOWrapper(file, "utf-8", newline="")
        writer = csv.writer(text)
        writer.writerow([cell(name) for name in table.columns])
        for row in table:
            writer.writerow([cell(value) for value in row.values()])
            count += 1
        text.flush()
        text.detach()
    return count


def to_jsonl(table: Table, path: Path) -> int:
    """See `Tabular.to_jsonl`."""
    count = 0
    with Replacement(path) as file:
        for row in table:
            file.write(orjson.dumps(row) + b"\n")
            count += 1
    return count


def to_parquet(table: Table, path: Path) -> int:
    """See `Tabular.to_parquet`."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError:
        raise MissingExtraError("to_parquet", "parquet") from None
    types = {
        "text": pyarrow.string(),
        "number": pyarrow.float64(),
        "count": pyarrow.int64(),
        "flag": pyarrow.bool_(),
        "texts": pyarrow.list_(pyarrow.string()),
        "object": pyarrow.string(),
    }
    schema = pyarrow.schema([(name, types[kind]) for name, kind in table.columns.items()])
    count, rows = 0, iter(table)
    with Replacement(path) as file, parquet.ParquetWriter(file, schema) as writer:
        while part := [_with_json(row, table) for row in islice(rows, _AT_ONCE)]:
            writer.write_batch(pyarrow.RecordBatch.from_pylist(part, schema=schema))
            count += len(part)
    return count


def _with_json(row: dict[str, Any], table: Table) -> dict[str, Any]:
    """The row with JSON values as text."""
    for name, kind in table.columns.items():
        if kind == "object" and row[name] is not None:
            row[name] = orjson.dumps(row[name]).decode()
    return row
