"""Opening a file for grading, whatever it contains."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rubricate._documents import YAML_SUFFIXES, read_document, with_line
from rubricate._files import SPREADSHEETS, missing_file, user_path
from rubricate._spelling import suggestion
from rubricate.dataset.items import RubricDataset
from rubricate.errors import InputError

__all__ = ["open_dataset"]

if TYPE_CHECKING:
    from rubricate.dataset.items import ItemTable
    from rubricate.dataset.samples import OnError
    from rubricate.rubric import Rubric


def open_dataset(
    data: str,
    rubric: Rubric | None = None,
    columns: Mapping[str, str] | str | None = None,
    *,
    format: str | None = None,
    submissions: str | None = None,
    references: str | None = None,
    criteria: Mapping[str, str] | str | None = None,
    on_error: OnError = "raise",
    follow_links: bool = False,
) -> RubricDataset | ItemTable:
    """Open a dataset's file, a table or a benchmark's tasks for grading.

        open_dataset("data.json")
        open_dataset("answers.csv", rubric, "submission=answer,label.accuracy=human")

    Args:
        data: a path, a URL, or `hf:NAME@SPLIT`.
        rubric: the rubric of a table, or one that replaces the dataset's own.
        columns: the meaning of a table's columns; see `TableColumns.parse`.
        format, submissions, references, criteria, follow_links: for a benchmark; see
            `open_benchmark`.
        on_error: `skip` leaves out invalid records.

    Raises:
        InputError (ValueError): it cannot be read, or is none of these; the error says where.
    """
    _check_kind(data)
    is_benchmark = (format, submissions, references, criteria) != (None,) * 4
    if columns is None and not is_benchmark and (document := _dataset_document(data)) is not None:
        try:
            return RubricDataset.from_dict(document, rubric=rubric)
        except InputError as error:
            raise with_line(error, data) from None
    from rubricate.dataset.benchmarks import format_of, open_benchmark
    from rubricate.dataset.items import TableColumns, is_table, read_table

    mapped = TableColumns.parse(columns or {})
    if rubric is None and ("rubric" in mapped.columns or criteria is not None):
        format, is_benchmark = format or "records", True
    elif not is_benchmark and rubric is None and (known := format_of(data)) is not None:
        format, is_benchmark = known.name, True
    if is_benchmark:
        if rubric is not None:
            raise InputError("a benchmark's tasks have their own rubrics: leave out --rubric")
        return open_benchmark(
            data,
            submissions,
            references=references,
            format=format,
            columns=mapped,
            criteria=criteria,
            on_error=on_error,
            follow_links=follow_links,
        )
    if columns is None and not is_table(data):
        return RubricDataset.from_file(data, rubric=rubric)
    if rubric is None:
        if "://" not in data and not data.startswith("hf:") and not user_path(data).exists():
            raise missing_file(user_path(data), data)
        raise InputError(
            "a table has no rubric: give --rubric, or name the field of the rubric that each of "
            "its records has (--map rubric=FIELD)",
            file=data,
        )
    return read_table(data, rubric, mapped, on_error=on_error)


def _check_kind(data: str) -> None:
    """Raise `InputError` for a file type that cannot contain a dataset, with a workaround."""
    path = user_path(data)
    suffix = path.suffix.lower()
    if path.is_dir():
        advice = "is a folder: name a dataset or a table"
        if any(file.suffix.lower() in (".md", ".txt", ".pdf", ".docx") for file in path.iterdir()):
            advice += ", or grade reports in a folder with: rubricate researchrubrics"
    elif suffix in SPREADSHEETS:
        advice = "is a spreadsheet: save it as CSV (UTF-8), and name that"
    elif suffix in (".md", ".markdown", ".txt", ".pdf", ".html", ".docx"):
        advice = (
            "is one text, not a dataset: put texts into a table (a column submission), or grade "
            "reports in a folder with: rubricate researchrubrics"
        )
    else:
        return
    if path.exists():
        raise InputError(advice, file=data)


def _dataset_document(data: str) -> dict[str, object] | None:
    """Parse a local file that is recognised as a dataset by its `items`; None for any other."""
    path = Path(data)
    if path.suffix.lower() not in (".json", *YAML_SUFFIXES) or not user_path(data).is_file():
        return None
    try:
        document = read_document(data)
    except InputError:
        return None  # the next reader reports what is wrong
    if not isinstance(document, dict):
        return None
    is_dataset = "items" in document or any(suggestion(str(key), ["items"]) for key in document)
    return document if is_dataset else None
