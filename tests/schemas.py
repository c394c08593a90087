"""What rubricate writes, held against the JSON Schemas that `rubricate schema` prints."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import orjson
from jsonschema import Draft202012Validator

from rubricate.cli._schemas import schema_of


def _closed(schema: Any) -> Any:
    """A schema that allows no key that it does not name: what is new must be declared."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = False
    return closed


@cache
def _validator(name: str, open: bool) -> Draft202012Validator:
    schema = schema_of(name)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema if open else _closed(schema))


def check_schema(name: str, data: Any, *, open: bool = False) -> None:
    """Fail where data is not as the schema of a name says, or (unless `open`) has further keys."""
    problems = sorted(_validator(name, open).iter_errors(data), key=lambda one: list(one.path))
    told = [f"{'.'.join(map(str, one.absolute_path))}: {one.message[:300]}" for one in problems]
    assert not told, f"schema {name}: " + "; ".join(told[:5])


def check_run_folder(folder: Path) -> None:
    """Hold the files of a finished run against their schemas."""
    check_schema("summary", orjson.loads((folder / "summary.json").read_bytes()))
    for name in ("results", "items"):
        for line in (folder / f"{name}.jsonl").read_bytes().splitlines():
            check_schema(name, orjson.loads(line))
