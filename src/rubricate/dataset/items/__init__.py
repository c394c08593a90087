"""Items to grade, with their human labels.

A `DataItem` is one submission; a `RubricDataset` holds items, their prompt and their rubric, and
reads and writes files. `read_table` streams a table of any length, one item per row.
`read_document` converts PDF, HTML and DOCX to text; a `LabelFile` stores the labels of people as
they work. All names here are imported when first used.
"""

from typing import TYPE_CHECKING

from rubricate._lazy import lazy_door

if TYPE_CHECKING:
    from rubricate.dataset.items._data_item import Annotations as Annotations
    from rubricate.dataset.items._data_item import (
        ContextDocument as ContextDocument,
        read_context as read_context,
    )
    from rubricate.dataset.items._conversion import Converter as Converter
    from rubricate.dataset.items._data_item import DataItem as DataItem, GroundTruth as GroundTruth
    from rubricate.dataset.items._document_files import (
        DOCUMENT_SUFFIXES as DOCUMENT_SUFFIXES,
        documents_in as documents_in,
        read_document as read_document,
        read_document_file as read_document_file,
    )
    from rubricate.dataset.items._item import (
        Gradable as Gradable,
        Item as Item,
        Survey as Survey,
        survey_of as survey_of,
    )
    from rubricate.dataset.items._label_file import (
        Adjudication as Adjudication,
        Change as Change,
        LabelFile as LabelFile,
        NewLabel as NewLabel,
        open_label_file as open_label_file,
    )
    from rubricate.dataset.items._mapping import (
        TableColumns as TableColumns,
        parse_pairs as parse_pairs,
        submission_of as submission_of,
    )
    from rubricate.dataset.items._rubric_dataset import RubricDataset as RubricDataset
    from rubricate.dataset.items._selection import How as How, LabelSelection as LabelSelection
    from rubricate.dataset.items._table import (
        ItemTable as ItemTable,
        dataset_of_rows as dataset_of_rows,
        is_table as is_table,
        read_table as read_table,
    )
    from rubricate.dataset.items._transcript import (
        AnswerList as AnswerList,
        Transcript as Transcript,
        Turn as Turn,
        render_turns as render_turns,
        text_of_chat as text_of_chat,
    )
else:
    __getattr__, __dir__ = lazy_door(__name__)
