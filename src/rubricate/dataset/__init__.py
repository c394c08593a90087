"""What is graded: samples and their readers; items, datasets, their files and splits.

`samples` reads records of any source (CSV, JSON, Parquet, Hugging Face) in inspect's vocabulary.
`items` has what a run grades: submissions with their rubric, and the labels that people gave.
What is named here is loaded when it is first used: reading samples loads no rubrics.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset._opening import open_dataset as open_dataset
    from rubricate.dataset.benchmarks import (
        FORMATS as FORMATS,
        format_of as format_of,
        open_benchmark as open_benchmark,
        unique_name as unique_name,
    )
    from rubricate.dataset.items import (
        DOCUMENT_SUFFIXES as DOCUMENT_SUFFIXES,
        Adjudication as Adjudication,
        Annotations as Annotations,
        Change as Change,
        ContextDocument as ContextDocument,
        Converter as Converter,
        DataItem as DataItem,
        Gradable as Gradable,
        GroundTruth as GroundTruth,
        Item as Item,
        ItemTable as ItemTable,
        LabelFile as LabelFile,
        NewLabel as NewLabel,
        RubricDataset as RubricDataset,
        Survey as Survey,
        TableColumns as TableColumns,
        Transcript as Transcript,
        Turn as Turn,
        documents_in as documents_in,
        is_table as is_table,
        open_items as open_items,
        open_label_file as open_label_file,
        read_context as read_context,
        read_document as read_document,
        read_document_file as read_document_file,
        render_turns as render_turns,
        survey_of as survey_of,
        text_of_chat as text_of_chat,
    )
    from rubricate.dataset.samples import (
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
        Dataset as Dataset,
        DatasetRecord as DatasetRecord,
        FieldSpec as FieldSpec,
        MemoryDataset as MemoryDataset,
        RecordToSample as RecordToSample,
        Sample as Sample,
        SampleOptions as SampleOptions,
        SandboxEnvironmentSpec as SandboxEnvironmentSpec,
        SandboxEnvironmentType as SandboxEnvironmentType,
        SkippedRecord as SkippedRecord,
        ToolCall as ToolCall,
        ToolCallError as ToolCallError,
        csv_dataset as csv_dataset,
        file_dataset as file_dataset,
        hf_dataset as hf_dataset,
        json_dataset as json_dataset,
        kinds_in as kinds_in,
        parquet_dataset as parquet_dataset,
        sample_input_len as sample_input_len,
        table_name as table_name,
        write_skipped as write_skipped,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
