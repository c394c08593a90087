"""Files of answered questions, a row each: from their columns to items.

A table is a CSV, JSON, JSON Lines or Parquet file, an address of one, or `hf:NAME@SPLIT`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from rubricate._documents import suggestion
from rubricate.dataset._file import READERS, file_dataset
from rubricate.dataset._from_samples import label_for
from rubricate.dataset._hf import hf_dataset
from rubricate.dataset._json_text import parse_json_bytes
from rubricate.dataset._opening import Source
from rubricate.dataset._rubric_dataset import RubricDataset
from rubricate.dataset._sample import Sample, is_missing
from rubricate.dataset._skipping import OnError, SkippedRecord
from rubricate.dataset._values import read_input
from rubricate.errors import InputError, MissingFileError
from rubricate.rubric import Rubric

__all__ = ["TableColumns", "is_table", "open_items", "table_name"]

HF = "hf:"
LABEL = "label."
OWN_NAMES = {
    "submission": ("submission",),
    "prompt": ("prompt", "input"),
    "reference": ("reference", "target"),
    "id": ("id",),
}
"""What a column can be, and the names by which it is known without being mapped."""


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table is what.

    Attributes:
        columns: the column of each of `submission`, `prompt`, `reference`, `id` and
            `label.CRITERION`. What is not here is taken from a column of that name (`input` and
            `target` serve as prompt and reference too).
    """

    columns: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def parse(cls, text: str | Mapping[str, str]) -> TableColumns:
        """Read `submission=answer,prompt=question,label.accuracy=human_accuracy`.

        Raises:
            InputError: a pair has another form, something is mapped twice, or is not known.
        """
        pairs: list[tuple[str, str]] = []
        if isinstance(text, str):
            for part in filter(None, (part.strip() for part in text.split(","))):
                what, equals, column = (piece.strip() for piece in part.partition("="))
                if not (what and equals and column):
                    raise InputError(f"--map: '{part}' is not of the form submission=COLUMN")
                pairs.append((what, column))
        else:
            pairs.extend(text.items())
        for what, _ in pairs:
            if what not in OWN_NAMES and not (what.startswith(LABEL) and what != LABEL):
                near = suggestion(what, OWN_NAMES)
                hint = f": did you mean '{near}'?" if near else ""
                raise InputError(
                    f"--map: '{what}' is not known{hint} (known are {', '.join(OWN_NAMES)} and "
                    "label.CRITERION)"
                )
        for side, kind in ((0, ""), (1, "column ")):
            names = [pair[side] for pair in pairs]
            if repeated := sorted({name for name in names if names.count(name) > 1}):
                shown = ", ".join(f"{kind}'{name}'" for name in repeated)
                raise InputError(f"--map: {shown} is mapped twice")
        return cls(dict(pairs))

    def found_in(self, names: Sequence[str], criteria: Sequence[str]) -> dict[str, str]:
        """The columns by what they are, in a table whose columns have these names."""
        found = dict(self.columns)
        own = {**OWN_NAMES, **{f"{LABEL}{name}": (f"{LABEL}{name}",) for name in criteria}}
        for what, candidates in own.items():
            if what not in found:
                for name in candidates:
                    if name in names and name not in found.values():
                        found[what] = name
                        break
        return found


class _Rows:
    """Makes samples of rows, and remembers which columns there were."""

    def __init__(self, columns: TableColumns, rubric: Rubric) -> None:
        self._columns = columns
        self._rubric = rubric
        self.names: dict[str, None] = {}
        self.found: dict[str, str] = dict(columns.columns)

    def __call__(self, row: dict[str, Any]) -> Sample:
        if not row.keys() <= self.names.keys():
            self.names.update(dict.fromkeys(row))
            self.found = self._columns.found_in(list(self.names), self._rubric.names)
        found = self.found
        if found.get("submission") not in row:
            raise self.problem(row) or InputError("has no submission")
        if row[found["submission"]] in (None, ""):
            raise InputError(f"column '{found['submission']}' is empty: there is no submission")
        for criterion, name in zip(self._rubric, self._rubric.names, strict=True):
            if column := found.get(f"{LABEL}{name}"):
                try:
                    label_for(row.get(column), criterion, name)
                except InputError as error:
                    raise InputError(f"column '{column}': {error.message}") from None
        prompt, reference, id_ = (
            row.get(found.get(what, "")) for what in ("prompt", "reference", "id")
        )
        taken = [found.get(what) for what in ("prompt", "reference", "id")]
        return Sample(
            input="" if is_missing(prompt) or prompt == "" else read_input(prompt),
            target="" if is_missing(reference) else str(reference),
            id=None if is_missing(id_) else str(id_),
            metadata={name: value for name, value in row.items() if name not in taken},
        )

    def problem(self, names: Mapping[str, Any]) -> InputError | None:
        """What is wrong with the mapping in a table of these columns, if anything is."""
        missing = [column for column in self._columns.columns.values() if column not in names]
        unmapped = [name for name in names if name not in self.found.values()]
        if missing:
            what = f"there is no column {', '.join(map(repr, missing))}"
        elif "submission" not in self.found:
            what = "no column is mapped to submission: give --map submission=COLUMN"
        else:
            return None
        return InputError(
            f"{what}; the columns are {', '.join(map(repr, names)) or '(none)'}; not mapped are "
            f"{', '.join(map(repr, unmapped)) or '(none)'}"
        )


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
    limit: int | None = None,
    on_error: OnError = "raise",
) -> tuple[RubricDataset, Sequence[SkippedRecord]]:
    """Read a table into a dataset to be graded.

    Args:
        data: a path, an address, or `hf:NAME@SPLIT`.
        rubric: what to judge the submissions by.
        columns: which column is what. The others are kept as the items' metadata.
        limit: the most items to read.
        on_error: `skip` leaves out rows that do not fit.

    Returns:
        The dataset, and the rows that were left out.

    Raises:
        InputError (ValueError): the table cannot be read, a column is missing, or a row does not
            fit; names the columns that there are and those that nothing is mapped to.
    """
    rows = _Rows(columns or TableColumns(), rubric)
    unknown = [
        what.removeprefix(LABEL)
        for what in rows.found
        if what.startswith(LABEL) and what.removeprefix(LABEL) not in rubric.names
    ]
    if unknown:
        raise InputError(
            f"--map: the rubric has no criterion {', '.join(map(repr, unknown))}; it has "
            f"{', '.join(rubric.names)}"
        )
    if data.startswith(HF):
        name, _, split = data.removeprefix(HF).rpartition("@")
        if not name or not split:
            raise InputError(f"'{data}' is not of the form hf:NAME@SPLIT")
        samples = hf_dataset(name, split, sample_fields=rows, limit=limit, on_error=on_error)
    else:
        if "://" not in data and not Path(data).exists():
            raise MissingFileError("file not found", file=data)
        samples = file_dataset(data, rows, limit=limit, on_error=on_error)
    if (samples or samples.skipped) and (problem := rows.problem(rows.names)) is not None:
        raise problem.within(file=Source(data, None).shown)
    dataset = RubricDataset.from_samples(
        samples,
        rubric=rubric,
        submission=rows.found.get("submission", "submission"),
        labels={
            what.removeprefix(LABEL): column
            for what, column in rows.found.items()
            if what.startswith(LABEL)
        },
        name=table_name(data),
    )
    return dataset, samples.skipped
