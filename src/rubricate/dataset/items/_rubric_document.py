"""A rubric dataset as a document: JSON, YAML, or JSON Lines with the dataset's own fields first."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rubricate._documents import (
    YAML_SUFFIXES,
    check_keys,
    format_yaml,
    parse_json_lines,
    read_document,
    read_text,
    validate,
)
from rubricate._files import user_path
from rubricate.dataset.items._data_item import DataItem
from rubricate.errors import InputError
from rubricate.rubric import DeclaredScoring, Rubric

LINES_SUFFIX = ".jsonl"
TABLE_SUFFIXES = frozenset({".csv", ".parquet"})
KNOWN_BY = frozenset({"prompt", "rubric", "items"})
"""The fields of which a dataset has one at least."""
FIELDS = ("prompt", "rubric", "items", "name", "reference_submission", "metadata", "scoring")


def arguments_from(data: Any, rubric: Rubric | None) -> dict[str, Any]:
    """What `RubricDataset` is built from, out of loaded JSON or YAML; labels are not checked yet.

    Args:
        data: an object with `prompt` and `rubric` (either may be null where each item has its own)
            and `items`.
        rubric: a rubric to use in place of the document's own; `rubric` may then be missing.

    Raises:
        InputError: with the path inside the document of what is wrong.
    """
    if not isinstance(data, Mapping):
        raise InputError(f"Expected JSON object, got {type(data).__name__}")
    check_keys(data, FIELDS)
    if not KNOWN_BY & {*data}:
        raise InputError("Missing required field: 'prompt'")
    if "rubric" not in data and rubric is None:
        raise InputError("Missing required field: 'rubric'")
    if rubric is None and data["rubric"] is not None:
        try:
            rubric = Rubric.from_dict(data["rubric"])
        except InputError as error:
            raise error.within(("rubric",)) from None
    scoring = data.get("scoring")
    if scoring is not None:
        scoring = validate(DeclaredScoring, scoring, ("scoring",))
    raw_items = data.get("items", [])
    if not isinstance(raw_items, Sequence) or isinstance(raw_items, str):
        raise InputError("expected a list of items", path=("items",))
    items: list[DataItem] = []
    for index, raw in enumerate(raw_items):
        try:
            items.append(DataItem.from_dict(raw))
            if items[-1].rubric is None and rubric is None:
                raise InputError("the item has no rubric and dataset has no global rubric")
            if items[-1].prompt is None and data.get("prompt") is None:
                raise InputError("Missing required field: 'prompt', of the item or of the dataset")
        except InputError as error:
            raise error.within(("items", index)) from None
    arguments = {key: data[key] for key in FIELDS if data.get(key) is not None}
    extra = {key: value for key, value in data.items() if key not in FIELDS}
    return {**arguments, "rubric": rubric, "scoring": scoring, "items": items, "extra": extra}


def read_whole(path: str | Path) -> tuple[dict[str, Any], list[int]]:
    """A dataset's file as one object with `items`, as it is in the file.

    Returns:
        The object, and of JSON Lines the line of the dataset's own fields, then that of each item.

    Raises:
        InputError: the file cannot be read, or holds no object; with the line.
    """
    path = user_path(path)
    if path.suffix.lower() in TABLE_SUFFIXES and path.exists():
        raise InputError(
            "a table is not a dataset file (.json, .yaml or .jsonl): read it with csv_dataset or "
            "parquet_dataset, and RubricDataset.from_samples; in the shell, rubricate label makes "
            "one of a table",
            file=path,
        )
    lines: list[int] = []
    if path.suffix.lower() == LINES_SUFFIX:
        (head, document), *rest = parse_json_lines(read_text(path), file=path)
        if isinstance(document, dict) and KNOWN_BY & {*document}:
            own = document.get("items", [])
            document = {**document, "items": [*own, *(item for _, item in rest)]}
            lines = [*[head] * (1 + len(own)), *(line for line, _ in rest)]
    else:
        document = read_document(path)
    if not isinstance(document, dict):
        raise InputError(f"Expected JSON object, got {type(document).__name__}", file=path)
    return document, lines


def at_line(error: InputError, path: str | Path, lines: Sequence[int]) -> InputError:
    """An error in a file; of JSON Lines with its line, in place of the index of its item."""
    if not lines:
        return error.within(file=path)
    if error.path[:1] == ("items",) and isinstance(index := error.path[1], int):
        return InputError(error.message, file=path, path=error.path[2:], line=lines[index + 1])
    return error.within(file=path, line=lines[0])


def document_text(path: str | Path, document: Mapping[str, Any], before: str = "") -> str:
    """A dataset as text: YAML for .yaml and .yml, JSON Lines for .jsonl, else JSON.

    `before` is what the file has now: letters beyond ASCII stay as it has them, and so does a JSON
    document that stands on one line.
    """
    path, ascii_only = user_path(path), before.isascii()
    if path.suffix.lower() in YAML_SUFFIXES:
        return format_yaml(dict(document))
    if path.suffix.lower() == LINES_SUFFIX:
        head = {key: value for key, value in document.items() if key != "items"}
        lines = (head, *document["items"])
        return "".join(json.dumps(line, ensure_ascii=ascii_only) + "\n" for line in lines)
    indent = None if before and "\n" not in before.strip() else 2
    end = "\n" if before.endswith("\n") else ""
    return json.dumps(document, indent=indent, ensure_ascii=ascii_only) + end
