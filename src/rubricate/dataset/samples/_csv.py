"""Reading samples from CSV."""

from __future__ import annotations

import csv
import itertools
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from os import PathLike
from typing import Any, Unpack

from rubricate.dataset.samples._dataset import MemoryDataset
from rubricate.dataset.samples._fields import (
    DatasetRecord,
    FieldSpec,
    Record,
    RecordToSample,
)
from rubricate.dataset.samples._loading import Loading, SampleOptions
from rubricate.dataset.samples._opening import Source, not_in_encoding, text_of
from rubricate.errors import InputError

LONGEST_CELL = 2**31 - 1
"""Characters: the highest limit that the `csv` module accepts on every system."""


def csv_dataset(
    csv_file: str | PathLike[str],
    sample_fields: FieldSpec | RecordToSample | None = None,
    *,
    dialect: str = "unix",
    encoding: str = "utf-8",
    name: str | None = None,
    fs_options: dict[str, Any] | None = None,
    fieldnames: list[str] | None = None,
    delimiter: str | None = None,
    **options: Unpack[SampleOptions],
) -> MemoryDataset:
    """Read samples from a CSV file.

    Cells are text of any length. An empty cell in an optional field (choices, id, metadata,
    sandbox, files, setup) is a missing value. Blank rows are skipped.

        samples = csv_dataset("questions.csv", FieldSpec(input="question"), limit=100)

    Args:
        csv_file: a path or a URL (`s3://`, `https://`). `.gz` and `.zst` are decompressed.
        sample_fields: the mapping of fields; a function from a record to samples; or None if the
            fields have the names of a sample's.
        dialect: `unix`, `excel`, `excel-tab`, or one registered with the `csv` module.
        encoding: the text encoding; a byte order mark is skipped.
        name: the dataset's name. Default: the file name without its suffix.
        fs_options: options for the file system of a URL, such as `{"anon": True}`.
        fieldnames: the field names, for a file whose first row is a record.
        delimiter: the separator of cells. Default: the dialect's own, and a tab for `.tsv` and
            `.tab` files.
        **options: `auto_id`, `shuffle`, `seed`, `shuffle_choices`, `limit`, `on_error` and `check`;
            see `SampleOptions`.

    Raises:
        MissingFileError (FileNotFoundError): the file does not exist.
        InputError (ValueError): an argument or a record is invalid; the error has file, line,
            record, field, the value and the available fields.
    """
    source = Source(csv_file, fs_options)
    loading = Loading(sample_fields, source, name, **options)
    return loading.dataset(
        csv_records(
            source,
            loading.wanted,
            dialect=dialect,
            delimiter=delimiter,
            encoding=encoding,
            fieldnames=fieldnames,
        )
    )


def csv_records(
    source: Source,
    wanted: int | None = None,
    *,
    dialect: str = "unix",
    delimiter: str | None = None,
    encoding: str = "utf-8",
    fieldnames: Sequence[str] | None = None,
) -> Iterator[Record]:
    """Yield the records of a file, one after the other.

    Args:
        source: the file.
        wanted: the number of records that will be read; None for all.
        dialect, delimiter, encoding, fieldnames: as for `csv_dataset`.

    Raises:
        InputError: an option is invalid, or the rest of the file cannot be read.
    """
    options = _options(dialect, delimiter, source)
    with source.open() as file, text_of(file, encoding, source) as text:
        try:
            numbered = numbered_rows(text, options)
        except (TypeError, ValueError) as error:
            raise InputError(f"delimiter {delimiter!r}: {error}") from None
        records = _records(numbered, fieldnames, encoding, source)
        yield from itertools.islice(records, wanted)


def _options(dialect: str, delimiter: str | None, source: Source) -> dict[str, Any]:
    """The arguments of `csv.reader` for a dialect and delimiter."""
    try:
        own = csv.get_dialect(dialect)
    except (csv.Error, TypeError):
        known = ", ".join(csv.list_dialects())
        raise InputError(f"unknown dialect {dialect!r}; known are {known}") from None
    if delimiter is None:
        tabs = source.suffix in (".tsv", ".tab") and own.delimiter == ","
        delimiter = "\t" if tabs else own.delimiter
    return {"dialect": dialect, "delimiter": delimiter}


def _records(
    numbered: Iterable[tuple[int, list[str]]],
    fieldnames: Sequence[str] | None,
    encoding: str,
    source: Source,
) -> Iterator[Record]:
    """Yield the records of all rows that are not blank, each with the line on which its row ends.

    A row of blank cells that is shorter than the first row is not blank but ragged.
    """
    line, width = 0, 0
    names: list[str] = []
    header = fieldnames
    try:
        for line, row in numbered:
            if row and ((row[0] and not row[0].isspace()) or "".join(row).strip()):
                width = width or len(row)
            elif not 1 < len(row) < width:
                continue
            if not names:
                is_header = header is None
                names = list(row if header is None else header)
                _check_names(names, source)
                header_width = len(names)
                while names and not names[-1].strip():
                    names.pop()
                if is_header:
                    continue
            if len(row) == len(names):
                yield line, dict(zip(names, row))  # noqa: B905 - as long as each other
            else:
                yield line, _fitted(row, names, header_width)
    except InputError as error:
        raise error.within(file=source.shown) from None
    except UnicodeError as error:
        raise not_in_encoding(error, encoding, source, line + 1) from None


def _check_names(names: list[str], source: Source) -> None:
    """Raise `InputError` if these names are not valid columns of a table."""
    problem = ""
    if _CONTROL.search("".join(names)):
        problem = "is a binary file, not a table of text: save a spreadsheet as CSV (UTF-8)"
    elif names[0].startswith(("[{", "{")):
        problem = "is JSON, not a table with commas: name it .json or .jsonl"
    elif repeated := [name for name, count in Counter(names).items() if name.strip() and count > 1]:
        problem = f"columns of the same name: {', '.join(map(repr, repeated))}; rename one of each"
    if problem:
        raise InputError(problem, file=source.shown, line=1)


def _fitted(row: list[str], names: list[str], width: int) -> DatasetRecord | InputError:
    """Return the record of a row with more or fewer cells than there are names.

    Unnamed columns at the end of a header of this width may be empty.
    """
    beyond = row[len(names) :]
    if beyond and len(row) <= width and not "".join(beyond).strip():
        return dict(zip(names, row, strict=False))
    if delimiter := other_delimiter(names):
        return InputError(delimiter)
    if len(row) < len(names):
        what = f"missing are {', '.join(map(repr, names[len(row) :]))}"
    else:
        what = f"extra are {', '.join(map(repr, beyond[:5]))} (put quotes around texts with commas)"
    return InputError(
        f"the row has {len(row)} cells and the header {len(names)} columns; {what}; the "
        f"columns are {', '.join(map(repr, names))}; --on-error skip leaves such rows out"
    )


def other_delimiter(names: Iterable[str]) -> str:
    """The problem of a table whose only column looks like several; empty if there is none."""
    first, *others = names
    if others or not (marks := re.search(r"[;\t|]", first)):
        return ""
    return (
        f"the only column is {first!r}, which looks like several separated by {marks[0]!r}: "
        "save the table with commas"
        + ("" if marks[0] != "\t" else ", or name it .tsv")
        + f" (read by pandas: read_csv(..., sep={marks[0]!r}))"
    )


_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def numbered_rows(text: Iterable[str], options: dict[str, Any]) -> Iterator[tuple[int, list[str]]]:
    """Yield each row with the line on which it ends, from `csv.reader`.

    Args:
        text: lines with their line ends.
        options: the arguments of `csv.reader`.

    Raises:
        TypeError, ValueError: the options are not valid for a dialect.
        InputError: a row cannot be read; with its line.
    """
    csv.field_size_limit(LONGEST_CELL)  # for the whole process; the default is 128 KiB
    has_ended = False

    def end() -> Iterator[str]:
        nonlocal has_ended
        has_ended = True
        yield from ()

    reader = csv.reader(itertools.chain(text, end()), **options)

    def rows() -> Iterator[tuple[int, list[str]]]:
        done = 0
        try:
            for row in reader:
                if has_ended:  # the reader reached the end of the file within this row
                    raise InputError(
                        f"a quote that opens in the record that begins on line {done + 1} is not "
                        "closed: close it, or write a quote within a text twice",
                        line=done + 1,
                    )
                done = reader.line_num
                yield done, row
        except csv.Error as error:
            raise InputError(str(error), line=reader.line_num) from None

    return rows()
