"""What is graded: samples and their readers; items, datasets, their files and splits.

What is named here is loaded when it is first used: reading samples loads no rubrics.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricate.dataset._annotations import Annotations
    from rubricate.dataset._chat import (
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
        ContentVideo,
        ToolCall,
        ToolCallError,
    )
    from rubricate.dataset._chat_text import text_of_chat
    from rubricate.dataset._columns import TableColumns
    from rubricate.dataset._context import ContextDocument
    from rubricate.dataset._conversion import Converter
    from rubricate.dataset._csv import csv_dataset
    from rubricate.dataset._document_file import (
        DOCUMENT_SUFFIXES,
        read_document,
        read_document_file,
    )
    from rubricate.dataset._entries import Entry, Gradable, Survey, survey_of
    from rubricate.dataset._fields import DatasetRecord, FieldSpec, RecordToSample
    from rubricate.dataset._file import file_dataset
    from rubricate.dataset._hf import hf_dataset
    from rubricate.dataset._item import DataItem, GroundTruth
    from rubricate.dataset._json import json_dataset
    from rubricate.dataset._label_file import (
        Adjudication,
        Change,
        LabelFile,
        NewLabel,
        open_label_file,
    )
    from rubricate.dataset._parquet import parquet_dataset
    from rubricate.dataset._rubric_dataset import RubricDataset
    from rubricate.dataset._sample import (
        Sample,
        SandboxEnvironmentSpec,
        SandboxEnvironmentType,
        sample_input_len,
    )
    from rubricate.dataset._samples import Dataset, MemoryDataset
    from rubricate.dataset._skipping import SkippedRecord, write_skipped
    from rubricate.dataset._table import ItemTable, is_table, open_items, table_name
    from rubricate.dataset._transcript import Transcript, Turn, render_turns

__all__ = [
    "DOCUMENT_SUFFIXES",
    "Adjudication",
    "Annotations",
    "Change",
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
    "ContentVideo",
    "ContextDocument",
    "Converter",
    "DataItem",
    "Dataset",
    "DatasetRecord",
    "Entry",
    "FieldSpec",
    "Gradable",
    "GroundTruth",
    "ItemTable",
    "LabelFile",
    "MemoryDataset",
    "NewLabel",
    "RecordToSample",
    "RubricDataset",
    "Sample",
    "SandboxEnvironmentSpec",
    "SandboxEnvironmentType",
    "SkippedRecord",
    "Survey",
    "TableColumns",
    "ToolCall",
    "ToolCallError",
    "Transcript",
    "Turn",
    "csv_dataset",
    "file_dataset",
    "hf_dataset",
    "is_table",
    "json_dataset",
    "open_items",
    "open_label_file",
    "parquet_dataset",
    "read_document",
    "read_document_file",
    "render_turns",
    "sample_input_len",
    "survey_of",
    "table_name",
    "text_of_chat",
    "write_skipped",
]

_MODULES = {
    "_annotations": ("Annotations",),
    "_chat_text": ("text_of_chat",),
    "_columns": ("TableColumns",),
    "_context": ("ContextDocument",),
    "_csv": ("csv_dataset",),
    "_conversion": ("Converter",),
    "_document_file": ("DOCUMENT_SUFFIXES", "read_document", "read_document_file"),
    "_entries": ("Entry", "Gradable", "Survey", "survey_of"),
    "_fields": ("DatasetRecord", "FieldSpec", "RecordToSample"),
    "_file": ("file_dataset",),
    "_hf": ("hf_dataset",),
    "_item": ("DataItem", "GroundTruth"),
    "_json": ("json_dataset",),
    "_label_file": ("Adjudication", "Change", "LabelFile", "NewLabel", "open_label_file"),
    "_parquet": ("parquet_dataset",),
    "_rubric_dataset": ("RubricDataset",),
    "_sample": ("Sample", "SandboxEnvironmentSpec", "SandboxEnvironmentType", "sample_input_len"),
    "_samples": ("Dataset", "MemoryDataset"),
    "_skipping": ("SkippedRecord", "write_skipped"),
    "_table": ("ItemTable", "is_table", "open_items", "table_name"),
    "_transcript": ("Transcript", "Turn", "render_turns"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF.get(name, '_chat')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
