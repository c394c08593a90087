"""Reading samples from Parquet (extra `parquet`)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from os import PathLike
from typing import Any

from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import FieldSpec, Record, RecordToSample, decoded
from rubricate.dataset.samples._json_text import without_nan
from rubricate.dataset.samples._loading import Loading
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._skipping import OnError
from rubricate.errors import InputError, MissingExtraError

BATCH = 1024
"""Rows that are read at a time."""


def parquet_dataset(
    parquet_file: str | PathLike[str],
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
) -> MemoryDataset:
    """Read samples from a Parquet file.

    Args:
        parquet_file: a path or an address (`s3://`, `https://`).
        sample_fields: which field holds what; a function from a record to samples; or None where
            the fields have a sample's own names.
        auto_id: number the samples 1, 2, 3, ... in the file's order.
        shuffle: shuffle the samples; a number is the seed.
        seed: the seed of the shuffle. Default: the `random` module's state.
        shuffle_choices: shuffle each sample's choices; a number is the seed.
        limit: the most samples to give; without a shuffle, no further records are read.
        name: the dataset's name. Default: the file's, without its suffix.
        fs_options: options of the file system of an address, such as `{"anon": True}`.
        on_error: `skip` leaves out records that do not fit; they are in the dataset's `skipped`.
        check: refuse ids that stand twice.

    Raises:
        MissingFileError (FileNotFoundError): there is no such file.
        InputError (ValueError): an argument or a record cannot be used; names file, record,
            field, what was found and which fields there are.
        MissingExtraError (ImportError): pyarrow is not installed.
    """
    loading = Loading(
        sample_fields, auto_id, shuffle, seed, shuffle_choices, limit, on_error, check
    )
    source = Source(parquet_file, fs_options)
    with source.open() as file:
        rows = _rows(file, source, loading.reads)
        return loading.dataset(rows, without_nan, source, name or source.name, source.location)


def _rows(file: Any, source: Source, reads: int | None) -> Iterator[tuple[None, dict[str, Any]]]:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("reading .parquet files", "parquet") from None
    try:
        content = file if file.seekable() else io.BytesIO(file.read())
        table = pyarrow.parquet.ParquetFile(content)
        size = BATCH if reads is None else max(1, min(BATCH, reads))
        for batch in table.iter_batches(batch_size=size):
            for row in batch.to_pylist():
                yield None, row
    except pyarrow.ArrowException as error:
        reason = " ".join(str(error).split())
        raise InputError(f"is not readable Parquet: {reason}", file=source.shown) from None


def parquet_records(source: Source, wanted: int | None) -> Iterator[Record]:
    """The records of a file, one after the other.

    Args:
        source: the file.
        wanted: how many will be looked at; None for all.

    Raises:
        InputError: the file cannot be read on.
    """
    with source.open() as file:
        for line, row in _rows(file, source, wanted):
            yield line, decoded(without_nan, row)
