"""`inspect_ai.dataset`: the core's samples and readers."""

from __future__ import annotations

import json
from functools import partial
from os import PathLike
from typing import Any

from rubricate.dialects import names_elsewhere
from rubricate.dataset import (
    Dataset as Dataset,
    FieldSpec as FieldSpec,
    MemoryDataset as MemoryDataset,
    RecordToSample as RecordToSample,
    Sample as Sample,
    csv_dataset as csv_dataset,
    file_dataset as file_dataset,
    hf_dataset as hf_dataset,
    json_dataset as _json_dataset,
)

from rubricate.errors import InputError

_OF_JSON = (
    *("cls", "object_hook", "object_pairs_hook"),
    *("parse_constant", "parse_float", "parse_int", "strict"),
)
"""Options of the standard library's `json.loads`."""


def example_dataset(name: str, sample_fields: Any = None) -> MemoryDataset:
    """Inspect's own examples, which this package does not have.

    Raises:
        InputError: always; says what to use.
    """
    raise InputError(
        f"example_dataset: '{name}' comes with inspect_ai: save it there "
        "(inspect_ai.dataset.example_dataset), and read the file with json_dataset or csv_dataset"
    )


def json_dataset(
    json_file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    **reader_kwargs: Any,
) -> MemoryDataset:
    """Read samples from a JSON file (an array of objects) or a JSON Lines file.

    Args:
        json_file, sample_fields: as for `rubricate.json_dataset`.
        **reader_kwargs: the options of `rubricate.json_dataset`; and those of `json.loads`
            (`parse_float`, `object_hook`, ...), for either kind of file.

    Raises:
        MissingFileError (FileNotFoundError): the file does not exist.
        InputError (ValueError): an argument or a record cannot be used.
    """
    options = {key: reader_kwargs.pop(key) for key in _OF_JSON if key in reader_kwargs}
    if options:
        reader_kwargs["loads"] = partial(reader_kwargs.get("loads", json.loads), **options)
    return _json_dataset(json_file, sample_fields, **reader_kwargs)


names_elsewhere(__name__)
