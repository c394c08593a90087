"""Verdicts as a table, in a data frame or a file."""

from __future__ import annotations

import csv
import io
import re
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import is_dataclass
from functools import cache
from itertools import chain, islice
from pathlib import Path
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Any, Literal, get_args, get_origin, get_type_hints

import orjson

from rubricate._files import SPREADSHEETS, Replacement
from rubricate._spelling import NamesAdvised, did_you_mean
from rubricate.errors import InputError, extra_needed
from rubricate.rubric import Status, Usage
from rubricate.run.results import ITEM_FIELDS, ROW_FIELDS, ItemTexts, ResultRow

if TYPE_CHECKING:
    import pandas
    import polars

By = Literal["verdict", "item"]
"""What a row of a table describes."""
Kind = Literal["text", "number", "count", "flag", "texts", "object"]
"""The type of a column: text, float, integer, boolean, list of texts, or JSON."""

_KINDS: dict[Any, Kind] = {str: "text", float: "number", int: "count", bool: "flag"}


def _without_none(hint: Any) -> Any:
    return next(kind for kind in get_args(hint) or [hint] if kind is not NoneType)


def _types(kind: Any) -> dict[str, Any]:
    """The types of the fields of a class; for optional ones, the type besides None."""
    hints = get_type_hints(kind)
    return {
        name: _without_none(hint) if isinstance(hint, UnionType) else hint
        for name, hint in hints.items()
    }


@cache
def _fields() -> dict[str, Any]:
    """The fields of a row with their types."""
    types = _types(ResultRow)
    return {name: types[name] for name in ROW_FIELDS}


def _is_by_name(name: str) -> bool:
    """Whether a field has a column for each of its keys, such as `votes.JUDGE`."""
    hint = _fields()[name]
    return name == "votes" or (get_origin(hint) is Mapping and get_args(hint)[1] is not Any)


@cache
def _parts(name: str) -> dict[str, Any]:
    """The parts of a field with a column each, such as `usage.cost`."""
    hint = _fields()[name]
    return _types(hint) if is_dataclass(hint) else {}


def _columns_of(name: str) -> dict[str, Kind]:
    """The columns of a field, as far as they do not depend on the run."""
    hint = _fields()[name]
    if _is_by_name(name):
        return {}
    if parts := _parts(name):
        return {f"{name}.{part}": _KINDS[kind] for part, kind in parts.items()}
    if get_origin(hint) is tuple:
        return {name: "texts"}
    return {name: "object" if get_origin(hint) is Mapping else _KINDS.get(hint, "text")}


_TEXTS = ("prompt", "submission", "reference")
"""The texts of an item that a table includes by default."""
_IN_FIRST_LINE = ("tags", "tag_scores", "groups")
_OF_ITEMS = ("item", "description", *_IN_FIRST_LINE, *ITEM_FIELDS)
_STATUSES = get_args(Status)


def _fields_of(by: str) -> Sequence[str]:
    """The fields behind the columns of a table."""
    if by == "item":
        return _OF_ITEMS
    return [name for name in ROW_FIELDS if name not in (*_IN_FIRST_LINE, "keys")]


def table_columns(by: str, texts: bool = True) -> dict[str, Kind]:
    """The columns of a table that do not depend on the run."""
    columns: dict[str, Kind] = {}
    for name in _fields_of(by):
        columns |= _columns_of(name)
        if name == "description" and texts:
            columns |= dict.fromkeys(_TEXTS, "text")
    if by == "verdict":
        return columns
    return {**columns, **dict.fromkeys(_STATUSES, "count"), **_columns_of("usage")}


_AT_ONCE = 2048
"""Rows per row group of a Parquet file, which are in memory together."""
_FORMULA_BEGINS = tuple("=+-@\t\r\n＝＋－＠")  # OWASP, CSV Injection
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)

Row = dict[str, Any]


class Tabular(NamesAdvised):
    """Verdicts as a table with one row per verdict, or one row per item.

    All formats have the same stable columns, which `docs/run-folder.md` lists. A missing value
    (that of a failed verdict, or a missing label) is empty, never 0.
    """

    @abstractmethod
    def item_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        """Yield the verdicts of each item, in the dataset's order."""

    @abstractmethod
    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        """Yield the texts and verdicts of each item, in the dataset's order."""

    def to_pandas(self, by: By = "verdict", *, texts: bool = True) -> pandas.DataFrame:
        """Return a pandas data frame (extra `pandas`).

        Numbers that can be missing are `float64`, with NaN for missing ones; whole numbers of the
        metadata are `Int64` then, with `<NA>`.

        Args:
            by: what a row describes: a `verdict`, or an `item` with columns for each criterion.
            texts: whether to include the item's prompt, submission and reference.

        Raises:
            InputError: `by` is neither.
            MissingExtraError: pandas is not installed.
        """
        return VerdictTable(self, by, texts=texts).to_pandas()

    def to_polars(self, by: By = "verdict", *, texts: bool = True) -> polars.DataFrame:
        """Return a polars data frame (extra `polars`); see `to_pandas`."""
        return VerdictTable(self, by, texts=texts).to_polars()

    def to_csv(
        self,
        path: str | Path,
        *,
        by: By = "verdict",
        texts: bool = True,
        raw_cells: bool = False,
    ) -> int:
        """Write a CSV file (RFC 4180, UTF-8), and return the number of rows.

        Lists and objects are written as JSON, booleans as `true` and `false`. Text that a
        spreadsheet would execute as a formula gets a leading `'`: text that begins with `=`, `+`,
        `-`, `@`, their full-width forms, a tab or a line break (OWASP, CSV Injection). Numbers,
        also as text, remain unchanged.

        Args:
            path: the file; an existing one is replaced when the new one is complete.
            by: what a row describes: a `verdict`, or an `item` with columns for each criterion.
            texts: whether to include the item's prompt, submission and reference.
            raw_cells: write all text unchanged, for programs that read the file.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
        """
        return VerdictTable(self, by, texts=texts).to_csv(Path(path), raw_cells=raw_cells)

    def to_jsonl(self, path: str | Path, *, by: By = "verdict", texts: bool = True) -> int:
        """Write JSON Lines with one object per row; otherwise like `to_csv`."""
        return VerdictTable(self, by, texts=texts).to_jsonl(Path(path))

    def to_parquet(self, path: str | Path, *, by: By = "verdict", texts: bool = True) -> int:
        """Write a Parquet file (extra `parquet`); otherwise like `to_csv`.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
            MissingExtraError: pyarrow is not installed.
        """
        return VerdictTable(self, by, texts=texts).to_parquet(Path(path))


class VerdictTable:
    """The rows of a table, read anew for each iteration and not kept in memory.

    Args:
        source: a result or a finished run.
        by: what a row describes: a `verdict` or an `item`.
        texts: whether to include the item's prompt, submission and reference.

    Attributes:
        columns: the type of each column, by name.

    Raises:
        InputError: `by` is neither, or the source cannot be read.
    """

    def __init__(self, source: Tabular, by: str = "verdict", *, texts: bool = True) -> None:
        if by not in get_args(By):
            hint = did_you_mean(by, get_args(By))
            raise InputError(f"by must be verdict or item, found '{by}'{hint}")
        self._source = source
        self._by_item = by == "item"
        self._texts = texts
        self._fields = _fields_of(by)
        self.columns: dict[str, Kind] = {
            **table_columns(by, texts),
            **self._run_columns(),
        }

    def __iter__(self) -> Iterator[Row]:
        for texts, rows in self._items():
            if self._by_item:
                yield self._shaped(texts | _of_item(rows))
                continue
            for row in rows:
                cells = [_cells(row, name).items() for name in self._fields]
                yield self._shaped(texts | dict(chain.from_iterable(cells)))

    def _items(self) -> Iterator[tuple[Row, tuple[ResultRow, ...]]]:
        """Yield the cells with the texts of each item, and its verdicts."""
        if not self._texts:
            yield from (({}, rows) for rows in self._source.item_rows())
            return
        for texts, rows in self._source.with_texts():
            yield {name: getattr(texts, name) for name in _TEXTS}, rows

    def to_pandas(self) -> pandas.DataFrame:
        """See `Tabular.to_pandas`."""
        with extra_needed("to_pandas", "pandas"):
            import pandas
        rows = list(self)
        frame = pandas.DataFrame(rows, columns=list(self.columns))
        for name, kind in self.columns.items():
            if kind == "number":
                frame[name] = frame[name].astype("float64")
            elif kind == "count" and frame[name].isna().any():
                frame[name] = pandas.array([row[name] for row in rows], dtype="Int64")
        return frame

    def to_polars(self) -> polars.DataFrame:
        """See `Tabular.to_polars`."""
        with extra_needed("to_polars", "polars"):
            import polars
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

        if path.suffix.lower() in SPREADSHEETS:
            raise InputError("this writes CSV: name it .csv, which spreadsheets open", file=path)
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
        """See `Tabular.to_parquet`; only the owner can read a `private` file."""
        with extra_needed("to_parquet", "parquet"):
            import pyarrow
            from pyarrow import parquet
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

    def _run_columns(self) -> dict[str, Kind]:
        """The columns that depend on the run, found in a first pass."""
        criteria: dict[str, None] = {}
        has_labels = False
        own = [name for name in self._fields if _is_by_name(name)]
        types_of: dict[str, dict[str, set[type]]] = {name: {} for name in own}
        for rows in self._source.item_rows():
            for row in rows:
                criteria[row.criterion] = None
                has_labels |= row.human_label is not None
                for field, of_field in types_of.items():
                    for name, value in _cells(row, field).items():
                        is_huge = isinstance(value, int) and abs(value) >= 2**63  # int64's range
                        of_field.setdefault(name, set()).add(float if is_huge else type(value))
        columns: dict[str, Kind] = {}
        if self._by_item:
            for name in criteria:
                columns |= {f"verdict.{name}": "text", f"value.{name}": "number"}
                columns |= {f"human_label.{name}": "text"} if has_labels else {}
        for of_field in types_of.values():
            columns |= {name: _kind(types - {NoneType}) for name, types in of_field.items()}
        return columns

    def _shaped(self, row: Row) -> Row:
        """Return the row with all columns, in order."""
        return {name: _as(kind, row.get(name)) for name, kind in self.columns.items()}

    def _with_json(self, row: Row) -> Row:
        """Return the row with JSON values as text."""
        for name, kind in self.columns.items():
            if kind == "object" and row[name] is not None:
                row[name] = orjson.dumps(row[name]).decode()
        return row


def _of_item(rows: Sequence[ResultRow]) -> Row:
    statuses = [row.status for row in rows]
    flat: Row = {status: statuses.count(status) for status in _STATUSES}
    usage = Usage.total(row.usage for row in rows)
    flat |= {f"usage.{part}": getattr(usage, part) for part in _parts("usage")}
    for row in rows:
        flat[f"verdict.{row.criterion}"] = row.answer_text
        flat[f"value.{row.criterion}"] = row.value
        flat[f"human_label.{row.criterion}"] = row.human_label
    for name in _OF_ITEMS:
        flat |= _cells(rows[0], name)
    return flat


def _cells(row: ResultRow, name: str) -> Row:
    """The cells of a field by column."""
    value = getattr(row, name)
    if name == "evidence":
        return {name: [evidence.quote for evidence in value]}
    if name == "votes":  # like a verdict, a vote without a label shows its status
        return {f"votes.{vote.judge}": vote.label or vote.status for vote in value}
    if _is_by_name(name):
        return {f"{name}.{key}": getattr(part, "value", part) for key, part in value.items()}
    if parts := _parts(name):
        return {f"{name}.{part}": getattr(value, part, None) for part in parts}
    return {name: list(value) if isinstance(value, tuple) else value}


def _kind(types: set[type]) -> Kind:
    """The type of a column with values of these Python types."""
    if types and types <= {int, float}:
        return "number" if float in types else "count"
    return "flag" if types == {bool} else "text"


def _as(kind: Kind, value: Any) -> Any:
    if value is None:
        return None
    if kind == "number":
        return float(value)
    return str(value) if kind == "text" else value


def spreadsheet_cell(value: Any) -> Any:
    """Return a cell's value, with a leading `'` if a spreadsheet would execute it as a formula.

    A text that is a plain number remains unchanged.
    """
    if (
        isinstance(value, str)
        and value.startswith(_FORMULA_BEGINS)
        and not _NUMBER.fullmatch(value)
    ):
        return f"'{value}"
    return value
