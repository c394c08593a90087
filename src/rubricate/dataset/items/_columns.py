"""Which column of a table is what, and from a row to an item."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rubricate._documents import suggestion
from rubricate.dataset.items._from_samples import context_of, input_text, label_for, submission_text
from rubricate.dataset.items._item import DataItem, GroundTruth
from rubricate.dataset.items._transcript import is_conversation
from rubricate.dataset.samples._sample import is_missing
from rubricate.dataset.samples._values import read_input
from rubricate.errors import InputError
from rubricate.rubric import Rubric

__all__ = ["RowReader", "TableColumns"]

LABEL = "label."
OWN_NAMES = {
    "submission": ("submission",),
    "prompt": ("prompt", "input"),
    "reference": ("reference", "target"),
    "context": ("context",),
    "id": ("id",),
}
"""What a column can be, and the names by which it is known without being mapped."""


@dataclass(frozen=True)
class TableColumns:
    """Which column of a table is what.

    Attributes:
        columns: the column of each of `submission`, `prompt`, `reference`, `context`, `id`
            and `label.CRITERION`. What is not here is taken from a column of that name (`input` and
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


def _parsed_chat(value: Any) -> Any:
    """A value, or the chat messages whose JSON text it is, as CSV files have them."""
    if isinstance(value, str) and value.lstrip().startswith("[") and '"role"' in value:
        with contextlib.suppress(ValueError):
            if is_conversation(parsed := json.loads(value)):
                return parsed
    return value


class RowReader:
    """Makes items of rows, one table's from its first row on, and remembers its columns.

    Raises:
        InputError: the mapping names a criterion that the rubric does not have.
    """

    def __init__(self, columns: TableColumns, rubric: Rubric) -> None:
        self._columns = columns
        self._rubric = rubric
        self._names: dict[str, None] = {}
        self._found: dict[str, str] = dict(columns.columns)
        unknown = [
            what.removeprefix(LABEL)
            for what in self._found
            if what.startswith(LABEL) and what.removeprefix(LABEL) not in rubric.names
        ]
        if unknown:
            raise InputError(
                f"--map: the rubric has no criterion {', '.join(map(repr, unknown))}; it has "
                f"{', '.join(rubric.names)}"
            )

    def __call__(self, row: dict[str, Any]) -> DataItem:
        """A row's item.

        Raises:
            InputError: there is no submission in it, or a label is none of its criterion's.
        """
        if not row.keys() <= self._names.keys():
            self._names.update(dict.fromkeys(row))
            self._found = self._columns.found_in(list(self._names), self._rubric.names)
        found = self._found
        if found.get("submission") not in row:
            raise self._problem(row) or InputError("has no submission")
        try:
            submission = submission_text(_parsed_chat(row[found["submission"]]))
        except InputError as error:
            raise InputError(f"column '{found['submission']}': {error.message}") from None
        prompt, reference, id_ = (
            row.get(found.get(what, "")) for what in ("prompt", "reference", "id")
        )
        context = context_of(row.get(found.get("context", "")))
        used = found.values()
        return DataItem(
            submission,
            "",
            self._labels(row),
            None,
            None if is_missing(reference) or reference == "" else str(reference),
            id="" if is_missing(id_) else str(id_),
            prompt=None if is_missing(prompt) or prompt == "" else input_text(read_input(prompt)),
            context=context,
            metadata={name: value for name, value in row.items() if name not in used},
        )

    def _labels(self, row: dict[str, Any]) -> GroundTruth | None:
        columns = [self._found.get(f"{LABEL}{name}") for name in self._rubric.names]
        if not any(columns):
            return None
        labels: GroundTruth = []
        for criterion, column in zip(self._rubric, columns, strict=True):
            if column is None:
                labels.append(None)
                continue
            try:
                labels.append(label_for(row.get(column), criterion))
            except InputError as error:
                raise InputError(f"column '{column}': {error.message}") from None
        return labels

    def check(self) -> None:
        """Raise `InputError` if the mapping did not fit the rows so far."""
        if self._names and (problem := self._problem(self._names)) is not None:
            raise problem

    def _problem(self, names: Mapping[str, Any]) -> InputError | None:
        """What is wrong with the mapping in a table of these columns, if anything is."""
        missing = [column for column in self._columns.columns.values() if column not in names]
        unmapped = [name for name in names if name not in self._found.values()]
        (only,) = names if len(names) == 1 else ("",)
        if mark := next((mark for mark in ";\t|" if mark in only), None):
            return InputError(
                f"the only column is {only!r}, which looks like several separated by {mark!r}: "
                "save the table with commas" + ("" if mark != "\t" else ", or name it .tsv")
            )
        if missing:
            near = suggestion(missing[0], list(names))
            what = f"there is no column {', '.join(map(repr, missing))}"
            what += f" (did you mean {near!r}?)" if near else ""
        elif "submission" not in self._found:
            what = "no column is mapped to submission: give --map submission=COLUMN"
        else:
            return None
        others = "; not mapped are " + (", ".join(map(repr, unmapped)) or "(none)")
        return InputError(
            f"{what}; the columns are {', '.join(map(repr, names)) or '(none)'}"
            + (others if len(unmapped) < len(names) else "")
        )
