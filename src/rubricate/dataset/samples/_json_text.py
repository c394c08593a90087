"""Parsing JSON records, with the same values whichever packages are installed.

pydantic's own parser is as fast as any and keeps every digit of a large integer. Text that it
rejects is parsed again by the standard library, which is more lenient (NaN, half surrogates) and,
if it fails too, reports the position.
"""

from __future__ import annotations

import json
import math
from functools import partial
from typing import Any

from pydantic_core import from_json

from rubricate._documents import json_advice
from rubricate.errors import InputError

_parse = partial(from_json, allow_inf_nan=False, cache_strings="keys")
# Only keys are cached: texts rarely repeat, and caching them costs more than it saves.

LOOKS_LIKE_AN_ARRAY = "this looks like a JSON array: name the file .json"


def parse_json_bytes(data: bytes | str) -> Any:
    """Parse JSON.

    Args:
        data: UTF-8 bytes or text.

    Raises:
        InputError: it is not JSON; with line and column.
    """
    try:
        return _parse(data)
    except ValueError:
        pass
    try:
        text = data if isinstance(data, str) else data.decode("utf-8-sig")
        return json.loads(text.strip("\x1e"))
    except json.JSONDecodeError as error:
        before = len(text) - len(text.lstrip("\x1e")) if error.lineno == 1 else 0
        raise InputError(
            f"not valid JSON: {error.msg}{json_advice(error)}",
            line=error.lineno,
            column=before + error.colno,
        ) from None
    except UnicodeDecodeError as error:
        raise InputError(f"not UTF-8 text (byte {error.start}); give its encoding") from None
    except RecursionError:
        raise InputError("JSON nested too deeply") from None
    except ValueError as error:  # an integer with more digits than Python converts
        raise InputError(f"not readable JSON: {error}") from None


def parse_object(line: bytes) -> dict[str, Any]:
    """Parse one line of a JSON Lines file, which must be an object.

    Raises:
        InputError: it is not an object.
    """
    try:
        record = _parse(line)
        if type(record) is dict:
            return record
    except ValueError:
        if line.lstrip().startswith(b"[") and not line.rstrip().endswith(b"]"):
            raise InputError(
                "expected an object on each line, found the beginning of a list; "
                f"{LOOKS_LIKE_AN_ARRAY}"
            ) from None
        record = parse_json_bytes(line.rstrip(b"\r\n"))  # else the error is on the next line
    if isinstance(record, dict):  # possibly with a NaN in it
        return {key: without_nan(value, top=True) for key, value in record.items()}
    if isinstance(record, list):
        raise InputError(f"expected an object on each line, found a list; {LOOKS_LIKE_AN_ARRAY}")
    raise InputError(f"expected an object on each line, found {json.dumps(record)[:60]}")


def without_nan(value: Any, *, top: bool = False) -> Any:
    """Replace NaN with None inside objects and their lists; `top` leaves lists unchanged.

    Lists at the top of a record may be targets or choices, which drop missing values.
    """
    if isinstance(value, float):
        return None if math.isnan(value) else value
    if isinstance(value, dict):
        return {key: without_nan(inner) for key, inner in value.items()}
    if isinstance(value, list) and not top:
        return [without_nan(inner) for inner in value]
    return value
