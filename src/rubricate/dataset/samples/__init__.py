"""Samples: records from any source, in Inspect's vocabulary.

`csv_dataset`, `json_dataset`, `parquet_dataset` and `hf_dataset` read one source each, and
`file_dataset` chooses by the suffix; all return a `MemoryDataset` of `Sample`. A `FieldSpec` maps
the fields of a record. An invalid record is an error with file, line, record and field. All names
here are imported when first used.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset.samples._chat import (
        ChatMessage as ChatMessage,
        ChatMessageAssistant as ChatMessageAssistant,
        ChatMessageBase as ChatMessageBase,
        ChatMessageSystem as ChatMessageSystem,
        ChatMessageTool as ChatMessageTool,
        ChatMessageUser as ChatMessageUser,
        Content as Content,
        ContentAudio as ContentAudio,
        ContentData as ContentData,
        ContentDocument as ContentDocument,
        ContentImage as ContentImage,
        ContentReasoning as ContentReasoning,
        ContentText as ContentText,
        ContentToolUse as ContentToolUse,
        ContentVideo as ContentVideo,
        ToolCall as ToolCall,
        ToolCallError as ToolCallError,
    )
    from rubricate.dataset.samples._csv import (
        csv_dataset as csv_dataset,
        other_delimiter as other_delimiter,
    )
    from rubricate.dataset.samples._dataset import (
        Dataset as Dataset,
        MemoryDataset as MemoryDataset,
        OnError as OnError,
        SkippedRecord as SkippedRecord,
        check_on_error as check_on_error,
        write_skipped as write_skipped,
    )
    from rubricate.dataset.samples._fields import (
        DatasetRecord as DatasetRecord,
        FieldSpec as FieldSpec,
        RecordToSample as RecordToSample,
    )
    from rubricate.dataset.samples._file import (
        READERS as READERS,
        Records as Records,
        records_by_id as records_by_id,
        file_dataset as file_dataset,
    )
    from rubricate.dataset.samples._hf import hf_dataset as hf_dataset
    from rubricate.dataset.samples._json import json_dataset as json_dataset
    from rubricate.dataset.samples._json_text import parse_json_bytes as parse_json_bytes
    from rubricate.dataset.samples._loading import (
        SampleOptions as SampleOptions,
        located as located,
    )
    from rubricate.dataset.samples._media import kind_of as kind_of, kinds_in as kinds_in
    from rubricate.dataset.samples._opening import (
        Source as Source,
    )
    from rubricate.dataset.samples._parquet import parquet_dataset as parquet_dataset
    from rubricate.dataset.samples._sample import (
        Sample as Sample,
        SandboxEnvironmentSpec as SandboxEnvironmentSpec,
        SandboxEnvironmentType as SandboxEnvironmentType,
        sample_input_len as sample_input_len,
    )
    from rubricate.dataset.samples._values import (
        is_missing as is_missing,
        read_input as read_input,
        read_messages as read_messages,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
