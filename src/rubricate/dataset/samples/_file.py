"""Reading samples or records from a file, by its suffix."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator
from itertools import chain
from os import PathLike
from typing import Any, NamedTuple

from rubricate._files import HF, missing_file, table_name, user_path
from rubricate.dataset.samples._csv import csv_dataset, csv_records
from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import FieldSpec, Record, RecordToSample
from rubricate.dataset.samples._hf import hf_records
from rubricate.dataset.samples._json import json_dataset, json_records
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._parquet import parquet_dataset, parquet_records
from rubricate.errors import InputError


class Reader(NamedTuple):
    """The reader of a file type: all of a file as samples, or its records one after the other.

    Attributes:
        dataset: returns samples.
        records: yields records; the number is how many will be read, None for all.
        unused: options of `file_dataset` that do not apply to this file type.
    """

    dataset: Callable[..., MemoryDataset]
    records: Callable[[Source, int | None], Iterator[Record]]
    unused: frozenset[str] = frozenset()


_CSV = Reader(csv_dataset, csv_records)
_JSON = Reader(json_dataset, json_records, frozenset({"dialect", "fieldnames"}))
READERS = {
    **dict.fromkeys((".csv", ".tsv", ".tab"), _CSV),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), _JSON),
    ".parquet": Reader(parquet_dataset, parquet_records, _JSON.unused | {"encoding"}),
}
"""Readers by suffix, without a compression's suffix."""


def file_dataset(
    file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    **options: Any,
) -> MemoryDataset:
    """Read samples from a file by its suffix: .csv, .tsv, .tab, .json, .jsonl, .ndjson, .parquet.

    Args:
        file: a path or a URL (`s3://`, `https://`); `.gz` and `.zst` may follow the suffix.
        sample_fields: as for `csv_dataset`.
        **options: the options of the reader for that suffix. `dialect`, `fieldnames` and `encoding`
            are ignored for file types without them.

    Raises:
        InputError (ValueError): there is no reader for this suffix, or as for the reader.
    """
    source = Source(file, options.get("fs_options"))
    check_suffix(source)
    reader = READERS[source.suffix]
    used = {name: value for name, value in options.items() if name not in reader.unused}
    return reader.dataset(file, sample_fields, **used)


def check_suffix(source: Source) -> None:
    """Raise `InputError` if there is no reader for a file's suffix."""
    if source.suffix not in READERS:
        raise InputError(
            f"is no table: its name ends in none of {', '.join(READERS)} (save a spreadsheet as "
            "CSV); a rubric is given by --rubric",
            file=source.shown,
        )


class Records:
    """The records of a file, a URL, or `hf:NAME@SPLIT`, read one after the other.

    Args:
        data: the path, the URL, or `hf:NAME@SPLIT`.

    Attributes:
        name: its `table_name`.
        shown: the source, for messages.

    Raises:
        InputError: the file does not exist, or has an unknown type.
    """

    def __init__(self, data: str) -> None:
        self._source: Source | None = None
        self.name, self.shown = table_name(data), data
        if data.startswith(HF):
            self._path, _, self._split = data.removeprefix(HF).rpartition("@")
            if not self._path or not self._split:
                raise InputError(f"'{data}' is not of the form hf:NAME@SPLIT")
            return
        self._source = Source(data, None)
        self.shown = self._source.shown
        check_suffix(self._source)
        if not self._source.remote and not user_path(data).exists():
            raise missing_file(user_path(data), data)

    def read(self, wanted: int | None = None) -> Generator[Record, None, None]:
        """Read them from the start; `wanted` is the number that will be read, None for all.

        Raises:
            InputError: the rest of the source cannot be read.
        """
        source = self._source
        if source is None:
            yield from hf_records(self._path, self._split, wanted)
        elif source.suffix == ".json":
            yield from chain.from_iterable(map(_one_by_one, json_records(source, wanted)))
        else:
            yield from READERS[source.suffix].records(source, wanted)


def records_by_id(document: Any) -> list[dict[str, Any]] | None:
    """The records of an object with one under each id; None for anything else."""
    records = [*document.values()] if isinstance(document, dict) else []
    if not records or not all(isinstance(record, dict) for record in records):
        return None
    return [{"id": id, **record} for id, record in document.items()]


def _one_by_one(entry: Record) -> list[Record]:
    line, record = entry
    return [(line, each) for each in records_by_id(record) or ()] or [entry]
