"""Verdicts as a table: its columns, its rows, and its forms as data frame and file."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Literal, get_args

import orjson

from rubricate._files import Replacement
from rubricate._spelling import did_you_mean
from rubricate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    import pandas
    import polars

By = Literal["verdict", "item"]
"""What a row of a table is."""
Kind = Literal["text", "number", "count", "flag", "texts", "object"]
"""What a column holds: text, a float, a whole number, true or false, a list of texts, or JSON."""

_USAGE: dict[str, Kind] = {
    "usage.requests": "count",
    "usage.input_tokens": "count",
    "usage.cached_tokens": "count",
    "usage.output_tokens": "count",
    "usage.cost": "number",
    "usage.seconds": "number",
}
_SELDOM: dict[str, Kind] = {
    "usage.reasoning_tokens": "count",
    "usage.estimated_cost": "number",
}
"""Columns that are there only where they are more than 0 in a row, behind all others."""
_SCORE: dict[str, Kind] = {
    "item_score.value": "number",
    "item_score.lowest": "number",
    "item_score.highest": "number",
    "item_score.raw": "number",
    "item_score.coverage": "number",
    "item_score.faults_only": "flag",
    "item_score.penalty": "number",
    "item_score.before_penalty": "number",
    "human_score": "number",
}
VERDICT_COLUMNS: dict[str, Kind] = {
    "item": "text",
    "description": "text",
    "criterion": "text",
    "weight": "number",
    "status": "text",
    "label": "text",
    "value": "number",
    "human_label": "text",
    "human_value": "number",
    "probability": "number",
    "reason": "text",
    "evidence": "texts",
    "judge": "text",
    "order": "object",
    "detail": "object",
    "resumed": "flag",
    "tied": "flag",
    "stage": "count",
    "warnings": "texts",
    **_USAGE,
    "error.kind": "text",
    "error.message": "text",
    **_SCORE,
}
"""The columns of a table by verdict, before those that depend on the run."""
ITEM_COLUMNS: dict[str, Kind] = {
    "item": "text",
    "description": "text",
    **_SCORE,
    "judged": "count",
    "abstained": "count",
    "not_applicable": "count",
    "failed": "count",
    "skipped": "count",
    "warnings": "texts",
    **_USAGE,
}
"""The columns of a table by item, before those that depend on the run."""
_GROUPS = ("votes", "annotations", "judge_scores", "metadata")
"""Columns `GROUP.NAME` of verdicts that depend on the run, in this order."""
_OF_ITEMS = ("judge_scores", "tag_scores", "groups", "metadata")
"""Those of them that an item has."""
_STATUSES = ("judged", "abstained", "not_applicable", "failed", "skipped")
_AT_ONCE = 2048
"""Rows of a Parquet file's group: what is held."""
_FORMULA_BEGINS = tuple("=+-@\t\r\n＝＋－＠")  # OWASP, CSV Injection
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

Row = dict[str, Any]


class Tabular:
    """Verdicts that can be had as a table of one row a verdict, or of one row an item.

    The columns are the same in every form, and stable: `docs/run-folder.md` lists them. What is
    missing (the value of a failed verdict, a label that nobody gave) is empty, never 0.
    """

    @abstractmethod
    def item_rows(self) -> Iterator[tuple[dict[str, Any], ...]]:
        """The lines of each item in `results.jsonl`, as JSON values, in the dataset's order."""

    def to_pandas(self, by: By = "verdict") -> pandas.DataFrame:
        """A pandas data frame (extra `pandas`).

        Numbers that can be missing are `float64`, with NaN where there is none.

        Args:
            by: what a row is: a `verdict`, or an `item` with columns for each criterion.

        Raises:
            InputError: `by` is neither.
            MissingExtraError: pandas is not installed.
        """
        return VerdictTable(self, by).to_pandas()

    def to_polars(self, by: By = "verdict") -> polars.DataFrame:
        """A polars data frame (extra `polars`); as `to_pandas`."""
        return VerdictTable(self, by).to_polars()

    def to_csv(self, path: str | Path, *, by: By = "verdict", raw_cells: bool = False) -> int:
        """Write a CSV file (RFC 4180, UTF-8); gives the number of its rows.

        Lists and objects are JSON text, true and false are `true` and `false`. Text that a
        spreadsheet would run as a formula has `'` before it: text that begins with `=`, `+`, `-`,
        `@`, their full-width forms, a tab or a line break (OWASP, CSV Injection). Numbers, also
        as text, stay as they are.

        Args:
            path: the file; one that is there is replaced when the new one is complete.
            by: what a row is: a `verdict`, or an `item` with columns for each criterion.
            raw_cells: write all text as it is, for a program that reads the file.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
        """
        return VerdictTable(self, by).to_csv(Path(path), raw_cells=raw_cells)

    def to_jsonl(self, path: str | Path, *, by: By = "verdict") -> int:
        """Write JSON Lines, an object a row; otherwise as `to_csv`."""
        return VerdictTable(self, by).to_jsonl(Path(path))

    def to_parquet(self, path: str | Path, *, by: By = "verdict") -> int:
        """Write a Parquet file (extra `parquet`); otherwise as `to_csv`.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
            MissingExtraError: pyarrow is not installed.
        """
        return VerdictTable(self, by).to_parquet(Path(path))


class VerdictTable:
    """Rows that are read anew each time that they are iterated; none is held.

    Args:
        source: a result or a finished run.
        by: what a row is: a `verdict` or an `item`.

    Attributes:
        columns: what each column holds, by name.

    Raises:
        InputError: `by` is neither, or the source cannot be read.
    """

    def __init__(self, source: Tabular, by: str = "verdict") -> None:
        if by not in get_args(By):
            hint = did_you_mean(by, get_args(By))
            raise InputError(f"by must be verdict or item, found '{by}'{hint}")
        self._source = source
        self._by_item = by == "item"
        self.columns: dict[str, Kind] = {
            **(ITEM_COLUMNS if self._by_item else VERDICT_COLUMNS),
            **self._found_columns(),
        }

    def __iter__(self) -> Iterator[Row]:
        for rows in self._source.item_rows():
            if self._by_item:
                yield self._shaped(_of_item(rows))
            else:
                for row in rows:
                    yield self._shaped(_of_verdict(row))

    def to_pandas(self) -> pandas.DataFrame:
        """See `Tabular.to_pandas`."""
        try:
            import pandas
        except ImportError:
            raise MissingExtraError("to_pandas", "pandas") from None
        frame = pandas.DataFrame(list(self), columns=list(self.columns))
        return frame.astype(
            {name: "float64" for name, kind in self.columns.items() if kind == "number"}
        )

    def to_polars(self) -> polars.DataFrame:
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
        rows = [self._with_json(row) for row in self]
        return polars.DataFrame(
            rows, schema={name: types[kind] for name, kind in self.columns.items()}
        )

    def to_csv(self, path: Path, *, raw_cells: bool) -> int:
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
            writer.writerow([cell(name) for name in self.columns])
            for row in self:
                writer.writerow([cell(value) for value in row.values()])
                count += 1
            text.flush()
            text.detach()
        return count

    def to_jsonl(self, path: Path) -> int:
        """See `Tabular.to_jsonl`."""
        count = 0
        with Replacement(path) as file:
            for row in self:
                file.write(orjson.dumps(row) + b"\n")
                count += 1
        return count

    def to_parquet(self, path: Path, *, private: bool = False) -> int:
        """See `Tabular.to_parquet`; a `private` file is for its owner only."""
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
        schema = pyarrow.schema([(name, types[kind]) for name, kind in self.columns.items()])
        count, rows = 0, iter(self)
        with (
            Replacement(path, private=private) as file,
            parquet.ParquetWriter(file, schema) as writer,
        ):
            while part := [self._with_json(row) for row in islice(rows, _AT_ONCE)]:
                writer.write_batch(pyarrow.RecordBatch.from_pylist(part, schema=schema))
                count += len(part)
        return count

    def _found_columns(self) -> dict[str, Kind]:
        """The columns that depend on the run: a first reading finds them."""
        criteria: dict[str, None] = {}
        has_labels = False
        own = _OF_ITEMS if self._by_item else _GROUPS
        groups: dict[str, dict[str, set[type]]] = {name: {} for name in own}
        seldom: set[str] = set()
        for rows in self._source.item_rows():
            for row in rows:
                criteria[row["criterion"]] = None
                seldom |= _spread(row, "usage").keys() & _SELDOM.keys()
                has_labels |= row["human_label"] is not None
                for group, names in groups.items():
                    for name, value in _group(row, group).items():
                        names.setdefault(name, set()).add(type(value))
        columns: dict[str, Kind] = {}
        if self._by_item:
            for name in criteria:
                columns |= {f"verdict.{name}": "text", f"value.{name}": "number"}
                columns |= {f"human_label.{name}": "text"} if has_labels else {}
        for group in own:
            for name, types in groups[group].items():
                columns[f"{group}.{name}"] = _kind(types - {NoneType})
        return columns | {name: kind for name, kind in _SELDOM.items() if name in seldom}

    def _shaped(self, row: Row) -> Row:
        """The row with every column, in order."""
        return {name: _as(kind, row.get(name)) for name, kind in self.columns.items()}

    def _with_json(self, row: Row) -> Row:
        """The row with JSON values as text."""
        for name, kind in self.columns.items():
            if kind == "object" and row[name] is not None:
                row[name] = orjson.dumps(row[name]).decode()
        return row


def _of_verdict(row: Mapping[str, Any]) -> Row:
    flat = {
        **row,
        **dict.fromkeys(_SELDOM, 0),
        **_spread(row, "usage"),
        **_spread(row, "error"),
        **_score(row),
        "evidence": [evidence["quote"] for evidence in row["evidence"]],
        "warnings": list(row["warnings"]),
    }
    for group in _GROUPS:
        flat |= {f"{group}.{name}": value for name, value in _group(row, group).items()}
    return flat


def _of_item(rows: Sequence[Mapping[str, Any]]) -> Row:
    first = rows[0]
    statuses = [row["status"] for row in rows]
    flat: Row = {
        "item": first["item"],
        "description": first["description"],
        **_score(first),
        **{status: statuses.count(status) for status in _STATUSES},
        "warnings": list(first["warnings"]),
    }
    for name in (*_USAGE, *_SELDOM):
        parts = [row["usage"].get(name.removeprefix("usage."), 0) for row in rows]
        flat[name] = None if None in parts else sum(parts)
    for row in rows:
        name = row["criterion"]
        flat[f"verdict.{name}"] = row["label"] or row["status"]
        flat[f"value.{name}"] = row["value"]
        flat[f"human_label.{name}"] = row["human_label"]
    for group in _OF_ITEMS:
        flat |= {f"{group}.{name}": value for name, value in _group(first, group).items()}
    return flat


def _score(row: Mapping[str, Any]) -> Row:
    return {**_spread(row, "item_score"), "human_score": row.get("human_score")}


def _spread(row: Mapping[str, Any], name: str) -> Row:
    return {f"{name}.{key}": value for key, value in (row[name] or {}).items()}


def _group(row: Mapping[str, Any], name: str) -> dict[str, Any]:
    """The values of a group of columns, by judge, annotator, or key of the metadata."""
    if name == "votes":  # as a verdict, a vote without a label says its status
        return {vote["judge"]: vote["label"] or vote["status"] for vote in row["votes"]}
    if name in ("judge_scores", "tag_scores", "groups"):
        return {one: score["value"] for one, score in row.get(name, {}).items()}
    return row.get(name) or {}


def _kind(types: set[type]) -> Kind:
    """What a column holds whose values are of these types."""
    if types and types <= {int, float}:
        return "number"
    return "flag" if types == {bool} else "text"


def _as(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    if kind == "number":
        return float(value)
    return str(value) if kind == "text" else value


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
