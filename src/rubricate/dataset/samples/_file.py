"""Reading samples from a file of whatever kind its name says."""

from __future__ import annotations

from os import PathLike
from typing import Any

from rubricate.dataset.samples._csv import csv_dataset
from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import FieldSpec, RecordToSample
from rubricate.dataset.samples._json import json_dataset
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._parquet import parquet_dataset
from rubricate.dataset.samples._skipping import OnError
from rubricate.errors import InputError

__all__ = ["READERS", "file_dataset"]

READERS: dict[str, Any] = {
    ".csv": csv_dataset,
    ".tsv": csv_dataset,
    ".json": json_dataset,
    ".jsonl": json_dataset,
    ".ndjson": json_dataset,
    ".parquet": parquet_dataset,
}
"""Readers by suffix, a compression's left out."""


def file_dataset(
    file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    auto_id: bool = False,
    shuffle: bool | int = False,
    seed: int | None = None,
    shuffle_choices: bool | int | None = None,
    limit: int | None = None,
    name: str | None = None,
    fs_options: dict[str, Any] | None = None,
    *,
    on_error: OnError = "raise",
    check: bool = False,
    **reader_options: Any,
) -> MemoryDataset:
    """Read samples from a file by its suffix: .csv, .tsv, .json, .jsonl, .ndjson or .parquet.

    Args:
        file: a path or an address (`s3://`, `https://`); `.gz` and `.zst` may follow the suffix.
        sample_fields, auto_id, shuffle, seed, shuffle_choices, limit, name, fs_options, on_error,
            check: as for the reader of that suffix.
        **reader_options: what only that reader has, such as `encoding` or `delimiter`.

    Raises:
        InputError (ValueError): no reader has this suffix, or what that reader raises.
    """
    source = Source(file, fs_options)
    reader = READERS.get(source.suffix)
    if reader is None:
        raise InputError(
            f"cannot tell what it holds by its suffix; known are {', '.join(READERS)}",
            file=source.shown,
        )
    dataset: MemoryDataset = reader(
        file,
        sample_fields,
        auto_id,
        shuffle,
        seed,
        shuffle_choices,
        limit,
        name=name,
        fs_options=fs_options,
        on_error=on_error,
        check=check,
        **reader_options,
    )
    return dataset
