"""Reading samples from JSON and JSON Lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from functools import partial
from os import PathLike
from typing import Any, BinaryIO, Unpack, cast

from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import (
    DatasetRecord,
    FieldSpec,
    Record,
    RecordToSample,
    decoded,
)
from rubricate.dataset.samples._json_text import parse_json_bytes, parse_object, without_nan
from rubricate.dataset.samples._loading import BOM, Loading, SampleOptions
from rubricate.dataset.samples._opening import Source, is_utf8, not_in_encoding, text_of
from rubricate.errors import InputError, check_type, shown

LINES = frozenset({".jsonl", ".ndjson"})
Loads = Callable[[str], Any]
"""Parses JSON text."""


def json_dataset(
    json_file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    *,
    encoding: str = "utf-8",
    name: str | None = None,
    fs_options: dict[str, Any] | None = None,
    loads: Loads | None = None,
    **options: Unpack[SampleOptions],
) -> MemoryDataset:
    """Read samples from a JSON file (an array of objects) or a JSON Lines file.

    Args:
        json_file: a path or a URL (`s3://`, `https://`). `.jsonl` and `.ndjson` have one object per
            line; anything else is one document. `.gz` and `.zst` are decompressed.
        sample_fields: as for `csv_dataset`.
        encoding: the text encoding; a byte order mark is skipped.
        name: the dataset's name. Default: the file name without its suffix.
        fs_options: options for the file system of a URL, such as `{"anon": True}`.
        loads: parses JSON text, a line's or a document's, in place of the package's own parser, for
            example `functools.partial(json.loads, parse_float=decimal.Decimal)`.
        **options: `auto_id`, `shuffle`, `seed`, `shuffle_choices`, `limit`, `on_error` and `check`;
            see `SampleOptions`.

    Raises:
        MissingFileError (FileNotFoundError): the file does not exist.
        InputError (ValueError): an argument or a record is invalid; the error has file, line,
            record, field, the value and the available fields.
    """
    source = Source(json_file, fs_options)
    loading = Loading(sample_fields, source, name, **options)
    return loading.dataset(json_records(source, loading.wanted, encoding, loads))


def json_records(
    source: Source, wanted: int | None, encoding: str = "utf-8", loads: Loads | None = None
) -> Iterator[Record]:
    """Yield the records of a file: JSON Lines one after the other, one document all at once.

    Args:
        source: the file.
        wanted: the number of records that will be read; None for all.
        encoding: the text encoding.
        loads: as for `json_dataset`.

    Raises:
        InputError: the rest of the file cannot be read.
    """
    with source.open() as file:
        if source.suffix in LINES:
            parse = _parser(loads)
            for number, line in enumerate(_lines(file, encoding, source), start=1):
                text = line.removeprefix(BOM) if number == 1 else line
                if text and not text.isspace():
                    yield number, decoded(parse, text)
            return
        records = _document(file, encoding, source, loads)
    for entry in enumerate(records[:wanted]):
        yield None, decoded(_object, entry)


def _parser(loads: Loads | None) -> Callable[[bytes], DatasetRecord]:
    """The function that parses a line into a record."""
    return parse_object if loads is None else partial(_object_by, loads)


def _lines(file: BinaryIO, encoding: str, source: Source) -> Iterator[bytes]:
    if is_utf8(encoding):
        yield from file
        return
    number = 0
    try:
        with text_of(file, encoding, source) as text:
            for line in text:
                number += 1
                yield line.encode("utf-8", "surrogatepass")
    except UnicodeError as error:
        raise not_in_encoding(error, encoding, source, number + 1) from None


def _document(
    file: BinaryIO, encoding: str, source: Source, loads: Loads | None = None
) -> list[Any]:
    """The records of a document, which is read as a whole."""
    content = file.read()
    if not is_utf8(encoding):
        content = b"".join(_lines(io.BytesIO(content), encoding, source))
    content = content.removeprefix(BOM)
    if not content.strip():
        return []
    try:
        data = parse_json_bytes(content) if loads is None else _by(loads, content)
    except InputError as error:
        if _looks_like_lines(content):
            raise InputError(
                "this looks like JSON Lines (one object a line): name the file .jsonl",
                file=source.shown,
            ) from None
        raise error.within(file=source.shown) from None
    if isinstance(data, dict):
        data = [data]
    if not isinstance(data, list):
        raise InputError(
            "Could not read json into a supported type: expected an array of objects, found "
            f"{shown(data)}",
            file=source.shown,
        )
    return [_without_nan(record) for record in data] if loads or b"NaN" in content else data


def _by(loads: Loads, content: bytes) -> Any:
    """Parse UTF-8 text with a custom parser. Raises `InputError` if the parser fails."""
    try:
        return loads(content.decode())
    except ValueError as error:  # usually a JSONDecodeError
        raise InputError(f"not valid JSON: {error}") from error


def _object_by(loads: Loads, line: bytes) -> DatasetRecord:
    record = _by(loads, line)
    check_type(record, dict, "an object on each line")
    return cast("DatasetRecord", _without_nan(record))


def _without_nan(record: Any) -> Any:
    if not isinstance(record, dict):
        return record
    return {key: without_nan(value, top=True) for key, value in record.items()}


def _looks_like_lines(content: bytes) -> bool:
    first, _, rest = content.lstrip().partition(b"\n")
    try:
        parse_object(first)
    except InputError:
        return False
    return bool(rest.strip())


def _object(row: tuple[int, Any]) -> DatasetRecord:
    index, record = row
    if not isinstance(record, dict):
        raise InputError(
            f"expected an object at index {index} of the array, found {shown(record)} "
            f"({type(record).__name__})"
        )
    return record
