"""Verdicts as a table: its columns, and its rows one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import NoneType
from typing import Any, Literal, get_args

from rubricate._documents import did_you_mean
from rubricate.analysis._tabular import By, Tabular
from rubricate.errors import InputError

__all__ = ["ITEM_COLUMNS", "VERDICT_COLUMNS", "Kind", "Table"]

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
    "warnings": "texts",
    **_USAGE,
}
"""The columns of a table by item, before those that depend on the run."""
_GROUPS = ("votes", "annotations", "judge_scores", "metadata")
"""Columns `GROUP.NAME` that depend on the run, in this order."""
_OF_ITEMS = ("judge_scores", "metadata")
"""Those of them that an item has."""
_STATUSES = ("judged", "abstained", "not_applicable", "failed")

Row = dict[str, Any]


class Table:
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

    def _found_columns(self) -> dict[str, Kind]:
        """The columns that depend on the run: a first reading finds them."""
        criteria: dict[str, None] = {}
        has_labels = False
        groups: dict[str, dict[str, set[type]]] = {name: {} for name in _GROUPS}
        for rows in self._source.item_rows():
            for row in rows:
                criteria[row["criterion"]] = None
                has_labels |= row["human_label"] is not None
                for group, names in groups.items():
                    for name, value in _group(row, group).items():
                        names.setdefault(name, set()).add(type(value))
        columns: dict[str, Kind] = {}
        if self._by_item:
            for name in criteria:
                columns |= {f"verdict.{name}": "text", f"value.{name}": "number"}
                columns |= {f"human_label.{name}": "text"} if has_labels else {}
        for group in _OF_ITEMS if self._by_item else _GROUPS:
            for name, types in groups[group].items():
                columns[f"{group}.{name}"] = _kind(types - {NoneType})
        return columns

    def _shaped(self, row: Row) -> Row:
        """The row with every column, in order."""
        return {name: _as(kind, row.get(name)) for name, kind in self.columns.items()}


def _of_verdict(row: Mapping[str, Any]) -> Row:
    flat = {
        **row,
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
    for name in _USAGE:
        parts = [row["usage"][name.removeprefix("usage.")] for row in rows]
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
    if name == "judge_scores":
        return {judge: score["value"] for judge, score in row["judge_scores"].items()}
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
