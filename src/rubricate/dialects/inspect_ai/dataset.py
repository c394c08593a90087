"""`inspect_ai.dataset`."""

from rubricate.dataset import (
    Dataset,
    FieldSpec,
    MemoryDataset,
    RecordToSample,
    Sample,
    csv_dataset,
    file_dataset,
    hf_dataset,
    json_dataset,
)

__all__ = [
    "Dataset",
    "FieldSpec",
    "MemoryDataset",
    "RecordToSample",
    "Sample",
    "csv_dataset",
    "file_dataset",
    "hf_dataset",
    "json_dataset",
]
