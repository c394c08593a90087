"""Datasets that are named on the command line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rubricate._files import user_path
from rubricate.dataset import RubricDataset
from rubricate.errors import InputError
from rubricate.rubric import Rubric


def check_kind(data: str) -> None:
    """Raise `InputError` for a file of a kind that holds no dataset, with the way around."""
    path = user_path(data)
    suffix = path.suffix.lower()
    if path.is_dir():
        advice = "is a folder: name a dataset or a table"
        if any(one.suffix.lower() in (".md", ".txt", ".pdf", ".docx") for one in path.iterdir()):
            advice += ", or grade reports in a folder with: rubricate researchrubrics"
    elif suffix in (".xlsx", ".xls", ".ods"):
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


def rubric_dataset(data: str, rubric: Rubric | None) -> RubricDataset:
    """A dataset of which every item has a rubric.

    Raises:
        InputError: it is none; with what it seems to be, and the option to give.
    """
    with advice_on(data):
        return RubricDataset.from_file(data, rubric=rubric)


@contextmanager
def advice_on(data: str) -> Iterator[None]:
    """Errors about a dataset's file say which option to give."""
    try:
        yield
    except InputError as error:
        raise _with_advice(error, data) from None


def _with_advice(error: InputError, data: str) -> InputError:
    """An error about a dataset's file, with what to do."""
    if error.message == "Missing required field: 'rubric'":
        return InputError(f"{error.message}; add one or give --rubric", file=error.file)
    if error.message.endswith("dataset has no global rubric"):
        return InputError(f"{error.message}: give --rubric", file=error.file, path=error.path)
    if error.message == "Missing required field: 'prompt'" and data.endswith(".jsonl"):
        return InputError(
            "has neither a dataset's fields nor a column submission: for a table, say which column "
            "has the texts (--map submission=COLUMN)",
            file=error.file,
        )
    if error.message.startswith("unknown key 'rubrics'"):
        return InputError(
            "looks like tasks of ResearchRubrics: rubricate researchrubrics FOLDER --tasks it",
            file=data,
        )
    if error.message.startswith("Expected JSON object, got list"):
        return InputError(
            "is a list, not a dataset; a rubric is given by --rubric", file=error.file
        )
    return error
