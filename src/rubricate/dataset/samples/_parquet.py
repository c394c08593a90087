"""Reading samples from Parquet (extra `parquet`)."""

from __future__ import annotations

import io
from collections.abc import Iterator
from os import PathLike
from typing import Any, Unpack

from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import FieldSpec, Record, RecordToSample, decoded
from rubricate.dataset.samples._json_text import without_nan
from rubricate.dataset.samples._loading import Loading, SampleOptions
from rubricate.dataset.samples._opening import Source
from rubricate.errors import InputError, extra_needed

BATCH = 1024
"""The number of rows that are read at a time."""


def parquet_dataset(
    parquet_file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    *,
    name: str | None = None,
    fs_options: dict[str, Any] | None = None,
    **options: Unpack[SampleOptions],
) -> MemoryDataset:
    """Read samples from a Parquet file.

    Args:
        parquet_file: a path or a URL (`s3://`, `https://`).
        sample_fields: as for `csv_dataset`.
        name: the dataset's name. Default: the file name without its suffix.
        fs_options: options for the file system of a URL, such as `{"anon": True}`.
        **options: `auto_id`, `shuffle`, `seed`, `shuffle_choices`, `limit`, `on_error` and `check`;
            see `SampleOptions`.

    Raises:
        MissingFileError (FileNotFoundError): the file does not exist.
        InputError (ValueError): an argument or a record is invalid; the error has file, record,
            field, the value and the available fields.
        MissingExtraError (ImportError): pyarrow is not installed.
    """
    source = Source(parquet_file, fs_options)
    loading = Loading(sample_fields, source, name, **options)
    return loading.dataset(parquet_records(source, loading.reads))


def parquet_records(source: Source, wanted: int | None) -> Iterator[Record]:
    """Yield the records of a file, one after the other.

    Args:
        source: the file.
        wanted: the number of records that will be read; None for all.

    Raises:
        InputError: the rest of the file cannot be read.
        MissingExtraError (ImportError): pyarrow is not installed.
    """
    with extra_needed("reading .parquet files", "parquet"):
        import pyarrow
        import pyarrow.parquet
    with source.open() as file:
        try:
            content: Any = file if file.seekable() else io.BytesIO(file.read())
            table = pyarrow.parquet.ParquetFile(content)
            size = BATCH if wanted is None else max(1, min(BATCH, wanted))
            for batch in table.iter_batches(batch_size=size):
                for row in batch.to_pylist():
                    yield None, decoded(without_nan, row)
        except pyarrow.ArrowException as error:
            reason = " ".join(str(error).split())
            raise InputError(f"is not readable Parquet: {reason}", file=source.shown) from None
