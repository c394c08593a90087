"""Samples in files: read by the core's readers, written so that these read the same back."""

from __future__ import annotations

import ast
import csv
import io
import json
import re
import tokenize
from collections.abc import Callable, Sequence
from os import PathLike, fspath
from typing import Any, TypeVar

from rubricate._files import user_path
from rubricate.dataset import Sample, csv_dataset, json_dataset
from rubricate.errors import InputError

_T = TypeVar("_T")
JSON_FIELDS = (
    "retrieved_contexts",
    "reference_contexts",
    "retrieved_context_ids",
    "reference_context_ids",
    "multi_responses",
    "reference_tool_calls",
    "reference_topics",
    "rubrics",
)
"""The fields that are JSON text in a CSV cell; so is `user_input` where it is a conversation."""
_MESSAGE = re.compile(r"""\[\s*\{[^{}]*(["'])type\1\s*:\s*(["'])(human|ai|tool)\2""")
"""What a list of messages begins with."""


def read_samples(
    path: str | PathLike[str], suffix: str, sample_of: Callable[[dict[str, Any]], _T]
) -> list[_T]:
    """Read the records of a CSV or JSON Lines file.

    Args:
        path: a path or an address.
        suffix: `.csv` or `.jsonl`.
        sample_of: what makes a sample of a record.

    Raises:
        InputError: with file, line and field.
    """
    reader: Callable[..., Any] = csv_dataset if suffix == ".csv" else json_dataset
    if suffix == ".jsonl":
        _check_name(fspath(path).removesuffix(".gz").removesuffix(".zst"))

    def record_to_sample(record: dict[str, Any]) -> Sample:
        data = _of_cells(record) if suffix == ".csv" else record
        return Sample(input="", metadata={"sample": sample_of(data)})

    return [row.metadata["sample"] for row in reader(path, record_to_sample)]


def _check_name(path: str) -> None:
    if not path.endswith((".jsonl", ".ndjson")):
        raise InputError("JSON Lines files end in .jsonl or .ndjson", file=path)


def _of_cells(record: dict[str, str]) -> dict[str, Any]:
    """A CSV record as a sample's data."""
    data: dict[str, Any] = {}
    for name, cell in record.items():
        if not cell:
            continue
        if name in JSON_FIELDS:
            try:
                data[name] = _value(cell)
            except ValueError as error:
                raise InputError(
                    f"a list or a dict must be JSON text here: {error}", path=(name,)
                ) from None
        elif name == "user_input" and (messages := _conversation(cell)) is not None:
            data[name] = messages
        else:
            data[name] = cell
    return data


def _value(cell: str) -> Any:
    """The value that a cell's text is: as JSON, or as Python writes lists, dicts and texts.

    Raises:
        ValueError: it is neither; says what is wrong with it as JSON.
    """
    try:
        return json.loads(cell)
    except ValueError as error:
        try:
            value = ast.literal_eval(cell.strip())
        except (ValueError, SyntaxError, MemoryError):
            raise error from None
        if _has_texts_side_by_side(cell):
            raise ValueError("two texts stand side by side without a comma") from None
        return value


def _has_texts_side_by_side(cell: str) -> bool:
    """Whether texts stand there that Python would join: numpy writes its arrays so."""
    before = None
    for token in tokenize.generate_tokens(io.StringIO(cell.strip()).readline):
        if token.type not in (tokenize.NL, tokenize.NEWLINE, tokenize.COMMENT):
            if before == tokenize.STRING == token.type:
                return True
            before = token.type
    return False


def _conversation(cell: str) -> list[Any] | None:
    """The messages that a cell holds; None where it is a text.

    Raises:
        InputError: it begins as a list of messages does, and cannot be read.
    """
    if not cell.startswith("["):
        return None
    try:
        found = _value(cell)
    except (ValueError, RecursionError):
        if _MESSAGE.match(cell):
            raise InputError(
                "a conversation that cannot be read: it must be a list of messages as JSON text",
                path=("user_input",),
            ) from None
        return None
    if isinstance(found, list) and found:
        kinds = [entry.get("type") if isinstance(entry, dict) else None for entry in found]
        if all(kind in ("human", "ai", "tool") for kind in kinds):
            return found
    return None


def write_jsonl(path: str | PathLike[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write one object a line."""
    _check_name(fspath(path))
    user_path(path).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def write_csv(path: str | PathLike[str], rows: Sequence[dict[str, Any]]) -> None:
    """Write a column for each field."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    text = io.StringIO()
    writer = csv.writer(text, quoting=csv.QUOTE_ALL, lineterminator="\n")
    writer.writerow(columns)
    for index, row in enumerate(rows):
        if not row:
            raise InputError("CSV cannot hold a sample without fields", path=("samples", index))
        try:
            writer.writerow([_cell(name, row.get(name)) for name in columns])
        except InputError as error:
            raise error.within(("samples", index)) from None
    try:
        content = text.getvalue().encode("utf-8")
    except UnicodeEncodeError:
        raise InputError("a text has half a surrogate pair, which UTF-8 cannot hold") from None
    user_path(path).write_bytes(content)


def _cell(name: str, value: Any) -> str:
    if value is None:
        return ""
    if name in JSON_FIELDS or (name == "user_input" and isinstance(value, list)):
        return json.dumps(value, ensure_ascii=False)
    if not isinstance(value, str):
        problem = f"a {type(value).__name__}"
    elif not value.strip():
        problem = "a blank text"
    elif name == "user_input" and _conversation(value) is not None:
        problem = "a text that reads as a conversation"
    else:
        return value
    raise InputError(f"CSV cannot hold {problem} here; write JSON Lines", path=(name,))
