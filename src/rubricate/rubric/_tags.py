"""Tags of criteria and items: words, or `field:value`, such as `axis:accuracy`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rubricate.errors import InputError

TAGS = "tags"
"""The field name for all tags."""


def split_tag(tag: str) -> tuple[str, str]:
    """The field and the value of a tag; a plain word has no field."""
    field, colon, value = tag.partition(":")
    field, value = field.strip(), value.strip()
    return (field, value) if colon and field and value else ("", tag)


def read_tags(data: Any) -> tuple[str, ...]:
    """Tags as a file has them: a list of words, or an object of fields and values.

    `{axis: accuracy, theme: [a, b]}` is the same as `[axis:accuracy, theme:a, theme:b]`.

    Raises:
        InputError: the data have another form.
    """
    if isinstance(data, str):
        raise InputError(f"tags are a list, or an object such as {{axis: {data}}}; found a text")
    if isinstance(data, Mapping):
        data = [
            f"{field}:{value}"
            for field, values in data.items()
            for value in (values if isinstance(values, list | tuple) else [values])
        ]
    if not isinstance(data, Sequence) or not all(isinstance(tag, str) for tag in data):
        raise InputError("tags are a list of words, or an object of fields and their values")
    return tuple(dict.fromkeys(data))


def tags_by(field: str, tags: Iterable[str]) -> list[str]:
    """The tags with a field; all of them for `tags`."""
    return [tag for tag in tags if field == TAGS or split_tag(tag)[0] == field]


def values_of(field: str, tags: Iterable[str], metadata: Mapping[str, Any]) -> tuple[str, ...]:
    """The values of an item for a field: from its tags, else from its metadata.

    For `tags` these are the tags themselves.
    """
    if field == TAGS:
        return tuple(tags)
    values = tuple(dict.fromkeys(split_tag(tag)[1] for tag in tags_by(field, tags)))
    value = metadata.get(field, "")
    return values or (() if value in ("", None) else (str(value),))


def grouped_tags(
    fields: Iterable[str], tags: Sequence[Sequence[str]]
) -> dict[str, tuple[int, ...]]:
    """For each tag of some fields, the indices (from 0) of the entries of `tags` that have it."""
    by_tag: dict[str, dict[int, None]] = {}
    for field in fields:
        for place, own in enumerate(tags):
            for tag in tags_by(field, own):
                by_tag.setdefault(tag, {})[place] = None
    return {tag: tuple(sorted(places)) for tag, places in by_tag.items()}
