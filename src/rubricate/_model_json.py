"""JSON as language models write it: slips of form are read, and nothing is guessed.

Read beside JSON itself are raw line breaks, tabs and other control characters inside strings, a
comma behind the last entry, and a backslash before a character that needs none (`\\d`). A repeated
key is reported, and NaN and Infinity are not read.
"""

from __future__ import annotations

import json
import re
from typing import Any

from rubricate.errors import UnreadableReply


class Repeated(dict[str, Any]):
    """An object in which keys are repeated; it has the last value of each.

    Attributes:
        counts: how often each of those keys is in it.
    """

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        keys = [key for key, _ in pairs]
        self.counts = {key: keys.count(key) for key in self if keys.count(key) > 1}


def model_json(text: str) -> tuple[Any, bool]:
    """The JSON value that a text begins with, and whether nothing but space follows it.

    Raises:
        ValueError: it begins with none.
    """
    text = text.lstrip()
    try:
        try:
            value, end = _DECODER.raw_decode(text)
        except ValueError:
            if text[:1] not in ("{", "["):
                raise
            text = _STRING_OR_LAST_COMMA.sub(_mended, text)
            value, end = _DECODER.raw_decode(text)
        if "\\ud" in text or "\\uD" in text:
            value = _without_halves(value)
    except RecursionError:
        raise ValueError("nested too deeply") from None
    return value, not text[end:].strip()


def refuse_repeats(value: Any) -> None:
    """`UnreadableReply` where an object repeats a key, at any depth."""
    pending = [value]
    while pending:
        value = pending.pop()
        if isinstance(value, Repeated):
            key = next(iter(value.counts))
            raise UnreadableReply(f"the key '{key}' is defined twice in the reply's JSON object")
        if isinstance(value, dict):
            pending += value.values()
        elif isinstance(value, list):
            pending += value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    return values if len(values) == len(pairs) else Repeated(pairs)


def _no_number(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_object, parse_constant=_no_number)
_STRING_OR_LAST_COMMA = re.compile(r'"(?:[^"\\]++|\\.)*+"?|,(?=\s*[}\]])', re.DOTALL)
_ESCAPE = re.compile(r'\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}|(?P<lone>.))', re.DOTALL)


def _mended(match: re.Match[str]) -> str:
    """A string in which lone backslashes are kept; nothing for a last comma."""
    return "" if match[0] == "," else _ESCAPE.sub(_escaped, match[0])


def _escaped(match: re.Match[str]) -> str:
    return match[0] if match["lone"] is None else f"\\\\{match['lone']}"


def _without_halves(value: Any) -> Any:
    """The value with '?' for each half of a surrogate pair, which UTF-8 cannot hold."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode()
    if isinstance(value, list):
        return [_without_halves(value) for value in value]
    if isinstance(value, dict):
        for key in value:  # in place: repeated keys stay known
            value[key] = _without_halves(value[key])
    return value
