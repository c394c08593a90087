"""Samples: records of any source, in the vocabulary of inspect.

`csv_dataset`, `json_dataset`, `parquet_dataset` and `hf_dataset` read one source each, and
`file_dataset` goes by the suffix; all give a `MemoryDataset` of `Sample`. A `FieldSpec` says which
field of a record holds what. A record that does not fit is an error that names file, line, record
and field. What is named here is loaded when it is first used.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset.samples._chat import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageBase,
        ChatMessageSystem,
        ChatMessageTool,
        ChatMessageUser,
        Content,
        ContentAudio,
        ContentData,
        ContentDocument,
        ContentImage,
        ContentReasoning,
        ContentText,
        ContentToolUse,
        ContentVideo,
        ToolCall,
        ToolCallError,
    )
    from rubricate.dataset.samples._csv import csv_dataset
    from rubricate.dataset.samples._dataset import Dataset, MemoryDataset
    from rubricate.dataset.samples._fields import DatasetRecord, FieldSpec, RecordToSample
    from rubricate.dataset.samples._file import HF, READERS, Records, file_dataset, table_name
    from rubricate.dataset.samples._hf import hf_dataset
    from rubricate.dataset.samples._json import json_dataset
    from rubricate.dataset.samples._json_text import parse_json_bytes
    from rubricate.dataset.samples._loading import located
    from rubricate.dataset.samples._media import kind_of, kinds_in
    from rubricate.dataset.samples._opening import Source
    from rubricate.dataset.samples._parquet import parquet_dataset
    from rubricate.dataset.samples._sample import (
        Sample,
        SandboxEnvironmentSpec,
        SandboxEnvironmentType,
        sample_input_len,
    )
    from rubricate.dataset.samples._skipping import (
        OnError,
        SkippedRecord,
        check_on_error,
        write_skipped,
    )
    from rubricate.dataset.samples._values import is_missing, read_input, read_messages
else:
    __getattr__, __dir__ = lazy_door(__name__)

__all__ = [
    "HF",
    "READERS",
    "ChatMessage",
    "ChatMessageAssistant",
    "ChatMessageBase",
    "ChatMessageSystem",
    "ChatMessageTool",
    "ChatMessageUser",
    "Content",
    "ContentAudio",
    "ContentData",
    "ContentDocument",
    "ContentImage",
    "ContentReasoning",
    "ContentText",
    "ContentToolUse",
    "ContentVideo",
    "Dataset",
    "DatasetRecord",
    "FieldSpec",
    "MemoryDataset",
    "OnError",
    "RecordToSample",
    "Records",
    "Sample",
    "SandboxEnvironmentSpec",
    "SandboxEnvironmentType",
    "SkippedRecord",
    "Source",
    "ToolCall",
    "ToolCallError",
    "check_on_error",
    "csv_dataset",
    "file_dataset",
    "hf_dataset",
    "is_missing",
    "json_dataset",
    "kind_of",
    "kinds_in",
    "located",
    "parquet_dataset",
    "parse_json_bytes",
    "read_input",
    "read_messages",
    "sample_input_len",
    "table_name",
    "write_skipped",
]
