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
    parse_json,
    parse_json_lines,
    parse_yaml,
    read_text,
    validate,
)
from rubricate._files import user_path, write_text
from rubricate.dataset.items._data_item import DataItem
from rubricate.errors import InputError
from rubricate.rubric import DeclaredScoring, Rubric

LINES_SUFFIX = ".jsonl"
TABLE_SUFFIXES = frozenset({".csv", ".parquet"})
FIELDS = ("prompt", "rubric", "items", "name", "reference_submission", "metadata", "scoring")


def arguments_from(data: Any, rubric: Rubric | None) -> dict[str, Any]:
    """What `RubricDataset` is built from, out of loaded JSON or YAML.

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
    if not {"prompt", "rubric", "items"} & {*data}:
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
    prompt = data.get("prompt")
    items = [_item(raw, rubric, prompt, ("items", index)) for index, raw in enumerate(raw_items)]
    arguments = {key: data[key] for key in FIELDS if data.get(key) is not None}
    extra = {key: value for key, value in data.items() if key not in FIELDS}
    return {**arguments, "rubric": rubric, "scoring": scoring, "items": items, "extra": extra}


def read_arguments(path: str | Path, rubric: Rubric | None) -> dict[str, Any]:
    """What `RubricDataset` is built from, out of a file; the format goes by the suffix.

    Raises:
        InputError: the file cannot be read or is not a dataset; with the line or the path inside.
    """
    path = user_path(path)
    if path.suffix.lower() in TABLE_SUFFIXES and path.exists():
        raise InputError(
            "a table is not a dataset file (.json, .yaml or .jsonl): read it with csv_dataset or "
            "parquet_dataset, and RubricDataset.from_samples; in the shell, rubricate label makes "
            "one of a table",
            file=path,
        )
    text = read_text(path)
    if path.suffix.lower() in YAML_SUFFIXES:
        return arguments_from(parse_yaml(text), rubric)
    if path.suffix.lower() == LINES_SUFFIX:
        return _arguments_from_lines(text, rubric)
    return arguments_from(parse_json(text), rubric)


def _arguments_from_lines(text: str, rubric: Rubric | None) -> dict[str, Any]:
    lines = [(n, line) for n, line in enumerate(text.split("\n"), start=1) if line.strip()]
    number, head = lines[0]
    try:
        arguments = arguments_from(parse_json(head, line=number), rubric)
        for number, line in lines[1:]:
            raw = parse_json(line, line=number)
            item = _item(raw, arguments["rubric"], arguments.get("prompt"), ())
            arguments["items"].append(item)
    except InputError as error:
        raise error.within(line=number) from None
    return arguments


def _item(raw: Any, rubric: Rubric | None, prompt: object, path: Sequence[str | int]) -> DataItem:
    try:
        item = DataItem.from_dict(raw, rubric)
        if item.rubric is None and rubric is None:
            raise InputError("the item has no rubric and dataset has no global rubric")
        if item.prompt is None and prompt is None:
            raise InputError("Missing required field: 'prompt', of the item or of the dataset")
    except InputError as error:
        raise error.within(path) from None
    return item


def read_whole(path: str | Path) -> dict[str, Any]:
    """A dataset's file as one object with `items`, as it stands there.

    Raises:
        InputError: the file cannot be read, or holds no object; with the line.
    """
    path = user_path(path)
    text = read_text(path)
    if path.suffix.lower() in YAML_SUFFIXES:
        document = parse_yaml(text, file=path)
    elif path.suffix.lower() == LINES_SUFFIX:
        lines = [line for _, line in parse_json_lines(text, file=path)]
        document = {**lines[0], "items": [*lines[0].get("items", []), *lines[1:]]}
    else:
        document = parse_json(text, file=path)
    if not isinstance(document, dict):
        raise InputError(f"Expected JSON object, got {type(document).__name__}", file=path)
    return document


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


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a dataset's `to_dict()`: YAML for .yaml and .yml, JSON Lines for .jsonl, else JSON.

    A file that is there stays whole until the new one is on the disk: it may have people's labels.

    Raises:
        InputError: it cannot be written.
    """
    write_text(user_path(path), document_text(path, document), durable=True)
