"""Files of answered questions, an item in each row, read one after the other.

A table is a CSV, JSON, JSON Lines or Parquet file, an address of one, or `hf:NAME@SPLIT`.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator
from contextlib import closing

from rubricate._files import user_path
from rubricate.dataset.items._columns import RowReader, TableColumns
from rubricate.dataset.items._entries import Entry, ItemIds, Survey, survey_of
from rubricate.dataset.items._item import DataItem
from rubricate.dataset.samples._csv import csv_records
from rubricate.dataset.samples._fields import Record
from rubricate.dataset.samples._file import READERS
from rubricate.dataset.samples._hf import hf_records
from rubricate.dataset.samples._json import json_records
from rubricate.dataset.samples._json_text import parse_json_bytes
from rubricate.dataset.samples._loading import located
from rubricate.dataset.samples._opening import Source
from rubricate.dataset.samples._parquet import parquet_records
from rubricate.dataset.samples._skipping import OnError, SkippedRecord, check_on_error
from rubricate.errors import InputError, MissingFileError
from rubricate.rubric import Rubric

__all__ = ["ItemTable", "is_table", "open_items", "table_name"]

HF = "hf:"


def is_table(data: str) -> bool:
    """Whether a file has a row for each item, and not a `RubricDataset`.

    A JSON file is a table if it is an array; a JSON Lines file, if its first line has a submission.
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
            return first.removeprefix(b"\xef\xbb\xbf").lstrip().startswith(b"[")
        record = parse_json_bytes(first)
    except InputError:
        return False  # whoever reads it says what is wrong
    return isinstance(record, dict) and "submission" in record


def table_name(data: str) -> str:
    """A table's name: that of its file without the suffix, or of its dataset and split."""
    if data.startswith(HF):
        return data.removeprefix(HF).replace("@", "-").strip("./")
    return Source(data, None).name


def open_items(
    data: str,
    rubric: Rubric,
    columns: TableColumns | None = None,
    *,
    on_error: OnError = "raise",
) -> ItemTable:
    """A table to be graded. Nothing is read before it is.

    Args:
        data: a path, an address, or `hf:NAME@SPLIT`.
        rubric: what to judge the submissions by.
        columns: which column is what. The others are kept as the items' metadata.
        on_error: `skip` leaves out rows that do not fit.

    Raises:
        InputError (ValueError): the table is not there or of no known kind, or a label is mapped
            for a criterion that the rubric does not have.
    """
    return ItemTable(data, rubric, columns or TableColumns(), on_error)


class ItemTable:
    """Items in the rows of a file that is never held: `survey` reads it, and `entries` again.

    A `.json` file is the exception: it is one document. A file at an address is fetched twice.

    Attributes:
        name: the file's name without its suffix.
        skipped: the rows that the survey left out, where it was told to skip what does not fit.
    """

    def __init__(self, data: str, rubric: Rubric, columns: TableColumns, on_error: OnError) -> None:
        self.name: str | None = table_name(data)
        self.skipped: list[SkippedRecord] = []
        self._data = data
        self._rubric = rubric
        self._columns = columns
        self._skips = check_on_error(on_error)
        self._surveyed: tuple[int | None, Survey] | None = None
        self._ids = ItemIds()
        RowReader(columns, rubric)
        if data.startswith(HF):
            name, _, split = data.removeprefix(HF).rpartition("@")
            if not name or not split:
                raise InputError(f"'{data}' is not of the form hf:NAME@SPLIT")
            return
        source = Source(data, None)
        if source.suffix not in READERS:
            raise InputError(
                f"cannot tell what it holds by its suffix; known are {', '.join(READERS)}",
                file=source.shown,
            )
        if not source.remote and not user_path(data).exists():
            raise MissingFileError("file not found", file=data)

    def survey(self, limit: int | None = None) -> Survey:
        """Read the rows, of the first `limit` items if one is given, and check them.

        Raises:
            InputError (ValueError): the table cannot be read, a column is missing, two items share
                an id, or a row does not fit; names the columns that there are and those that
                nothing is mapped to.
        """
        if self._surveyed is not None and self._surveyed[0] == limit:
            return self._surveyed[1]
        ids = ItemIds()
        self.skipped = []
        rows = RowReader(self._columns, self._rubric)

        def noted() -> Iterator[Entry]:
            for item in self._items(rows, limit, self.skipped):
                ids.add(item.id)
                yield self._entry(item.id, item)

        found = survey_of(noted())
        if not found.items and not self.skipped:
            raise InputError("has no rows to grade", file=self._shown)
        try:
            rows.check()
            ids.settle(lambda: self._names(limit))
        except InputError as error:
            raise error.within(file=self._shown) from None
        self._ids, self._surveyed = ids, (limit, found)
        return found

    def entries(self, limit: int | None = None) -> Iterator[Entry]:
        """The items of the rows that fit, the first `limit` of them, read now."""
        self.survey(limit)
        assign = self._ids.assigner()
        for item in self._items(RowReader(self._columns, self._rubric), limit, []):
            yield self._entry(assign(item.id, item.id == item.content_id()), item)

    def _entry(self, name: str, item: DataItem) -> Entry:
        return Entry(name, item, self._rubric, item.prompt or "", item.reference_submission)

    def _names(self, limit: int | None) -> Iterator[tuple[str, bool]]:
        for item in self._items(RowReader(self._columns, self._rubric), limit, []):
            yield item.id, item.id == item.content_id()

    def _items(
        self, rows: RowReader, limit: int | None, skipped: list[SkippedRecord]
    ) -> Iterator[DataItem]:
        count = 0
        with closing(self._records(None if self._skips else limit)) as records:
            for number, (line, record) in enumerate(records, start=1):
                try:
                    if isinstance(record, InputError):
                        raise record
                    item = rows(record)
                except InputError as error:
                    if not self._skips:
                        raise located(error, self._shown, number, line) from error.__cause__
                    skipped.append(SkippedRecord(number, line, error.message))
                    continue
                yield item
                count += 1
                if count == limit:
                    return

    def _records(self, wanted: int | None) -> Generator[Record, None, None]:
        if self._data.startswith(HF):
            name, _, split = self._data.removeprefix(HF).rpartition("@")
            yield from hf_records(name, split, wanted)
            return
        source = Source(self._data, None)
        if source.suffix in (".csv", ".tsv"):
            yield from csv_records(source)
        elif source.suffix == ".parquet":
            yield from parquet_records(source, wanted)
        else:
            yield from json_records(source, wanted)

    @property
    def _shown(self) -> str:
        return self._data if self._data.startswith(HF) else Source(self._data, None).shown
