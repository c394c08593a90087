"""Files of answered questions, one item per row, which are streamed.

A table is a CSV, JSON, JSON Lines or Parquet file, its URL, or `hf:NAME@SPLIT`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from rubricate._files import HF
from rubricate.dataset.items._data_item import DataItem
from rubricate.dataset.items._item import Item, ItemIds, Survey, survey_of
from rubricate.dataset.items._mapping import RowReader, TableColumns
from rubricate.dataset.items._rubric_dataset import RubricDataset
from rubricate.dataset.samples import (
    READERS,
    OnError,
    Records,
    SkippedRecord,
    Source,
    check_on_error,
    located,
    parse_json_bytes,
    records_by_id,
)
from rubricate.errors import InputError, errors_within, shown
from rubricate.rubric import Rubric
from rubricate.settings import errors_at_call


def is_table(data: str) -> bool:
    """Whether a file has one row per item, and is not a `RubricDataset`.

    A JSON file is a table if it is an array, or an object with a record under each id; a JSON Lines
    file, if its first line has a submission, or lacks the prompt, which every dataset has.
    """
    if data.startswith(HF):
        return True
    source = Source(data, None)
    if source.remote:
        return True
    if source.suffix not in (".json", ".jsonl"):
        return source.suffix in READERS
    try:
        with source.open() as file:
            first = b""
            while not (first := file.readline()).strip() and first:
                pass
            if source.suffix == ".json":
                begin = first.removeprefix(b"\xef\xbb\xbf").lstrip()
                return begin.startswith(b"[") or bool(
                    records_by_id(parse_json_bytes(begin + file.read()))
                )
        record = parse_json_bytes(first)
    except InputError:
        return False  # reading it later reports the error
    return isinstance(record, dict) and ("submission" in record or "prompt" not in record)


@errors_at_call
def read_table(
    data: str | Path,
    rubric: Rubric,
    columns: TableColumns | Mapping[str, str] | str | None = None,
    *,
    on_error: OnError = "raise",
) -> ItemTable:
    """Return a table for grading. It is not read yet.

    Args:
        data: a path, a URL, or `hf:NAME@SPLIT`.
        rubric: the rubric for the submissions.
        columns: the roles of columns, such as `{"submission": "answer"}`. The others become the
            items' metadata.
        on_error: `skip` leaves out invalid rows.

    Raises:
        InputError (ValueError): the table does not exist or has an unknown type, or a label is
            mapped for a criterion outside the rubric.
    """
    if not isinstance(columns, TableColumns):
        columns = TableColumns.parse(columns or {})
    if not isinstance(data, str | Path):
        raise InputError(f"read_table opens files, found {shown(data)}: give a data frame to grade")
    return ItemTable(str(data), rubric, columns, on_error)


def dataset_of_rows(
    rows: Sequence[Mapping[str, Any]],
    rubric: Rubric,
    columns: Mapping[str, str] | str | None = None,
) -> RubricDataset:
    """Create a dataset from rows in memory, one item each; see `read_table` for files.

    Args:
        rows: values by column name.
        rubric: the rubric for the submissions.
        columns: the roles of columns; see `TableColumns.parse`.

    Raises:
        InputError: there are no rows, a column is missing, or a value cannot be read; with the
            place.
    """
    if not rows:
        raise InputError("there are no rows to grade")
    read = RowReader(TableColumns.parse(columns or {}), rubric)
    items: list[DataItem] = []
    for number, row in enumerate(rows, start=1):
        try:
            items.append(read({str(name): value for name, value in row.items()}))
        except InputError as error:
            raise error.within((f"row {number}",)) from None
    read.check()
    return RubricDataset("", rubric, items)


class ItemTable:
    """Items in the rows of a file that is never in memory: `survey` reads it, and `entries` again.

    A `.json` file is the exception: it is one document. A file at a URL is fetched twice.

    Attributes:
        name: the file's name without its suffix.
        skipped: the rows that the survey left out, with `on_error="skip"`.
        submission_column: the column that is mapped to the submission, if any.
    """

    def __init__(self, data: str, rubric: Rubric, columns: TableColumns, on_error: OnError) -> None:
        self.skipped: list[SkippedRecord] = []
        self.submission_column = columns.columns.get("submission")
        self._rubric = rubric
        self._columns = columns
        self._skips = check_on_error(on_error)
        self._surveyed: tuple[int | None, Survey] | None = None
        self._ids = ItemIds()
        RowReader(columns, rubric)
        self._records = Records(data)
        self.name: str | None = self._records.name

    def survey(self, limit: int | None = None) -> Survey:
        """Read and check all rows, or those of the first `limit` items.

        Raises:
            InputError (ValueError): the table cannot be read, a column is missing, two items share
                an id, or a row is invalid; the error lists the columns and which of them are not
                mapped.
        """
        if self._surveyed is not None and self._surveyed[0] == limit:
            return self._surveyed[1]
        ids = ItemIds()
        self.skipped = []
        rows = RowReader(self._columns, self._rubric)

        def noted() -> Iterator[Item]:
            for item in self._items(rows, limit, self.skipped):
                ids.add(item.id)
                yield self._item(item.id, item)

        survey = survey_of(noted())
        if not survey.items and not self.skipped:
            raise InputError(
                "has no rows to grade: a table has a line of names, then a row for each text",
                file=self._records.shown,
            )
        with errors_within(file=self._records.shown):
            rows.check()
            ids.settle(lambda: self._names(limit))
        self._ids, self._surveyed = ids, (limit, survey)
        return survey

    def to_grade(self, limit: int | None = None) -> Iterator[Item]:
        """Iterate over the items of valid rows, or the first `limit`, reading the file again."""
        self.survey(limit)
        assign = self._ids.assigner()
        for item in self._items(RowReader(self._columns, self._rubric), limit, []):
            yield self._item(assign(item.id, item.id == item.content_id()), item)

    def _item(self, name: str, data: DataItem) -> Item:
        return Item.of(
            data,
            self._rubric,
            id=name,
            prompt=data.prompt or "",
            reference=data.reference_submission,
        )

    def _names(self, limit: int | None) -> Iterator[tuple[str, bool]]:
        for item in self._items(RowReader(self._columns, self._rubric), limit, []):
            yield item.id, item.id == item.content_id()

    def _items(
        self, rows: RowReader, limit: int | None, skipped: list[SkippedRecord]
    ) -> Iterator[DataItem]:
        count = 0
        with closing(self._records.read(None if self._skips else limit)) as records:
            for number, (line, record) in enumerate(records, start=1):
                try:
                    if isinstance(record, InputError):
                        raise record
                    item = rows(record)
                except InputError as error:
                    if not self._skips:
                        raise located(error, self._records.shown, number, line) from error.__cause__
                    skipped.append(SkippedRecord(number, line, error.message))
                    continue
                yield item
                count += 1
                if count == limit:
                    return
