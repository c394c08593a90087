"""The result of grading, in memory."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, SupportsIndex, TypeVar, cast, overload

from rubricate._spelling import did_you_mean
from rubricate.analysis._tables import Tabular
from rubricate.dataset import submission_of
from rubricate.errors import InputError, shown
from rubricate.rubric import UNANSWERED, CriterionVerdict, Verdict
from rubricate.run.results import (
    ItemResult,
    ItemTexts,
    ResultRow,
    RunFacts,
    Summary,
    Tallies,
    rows_of,
)

if TYPE_CHECKING:
    from rubricate.analysis._finished import FinishedRun
    from rubricate.analysis._plots import Plots

_Frame = TypeVar("_Frame")
SAMPLE = 100
"""Cells of a column that are compared with the graded texts to recognise it. Reading all cells of
all columns takes ten times as long."""


class Items(list[ItemResult]):
    """Results of items, by place in the dataset's order or by id: `items[0]`, `items["a1"]`."""

    @overload
    def __getitem__(self, place: SupportsIndex | str, /) -> ItemResult: ...
    @overload
    def __getitem__(self, place: slice, /) -> list[ItemResult]: ...
    def __getitem__(self, place: SupportsIndex | str | slice, /) -> Any:
        if not isinstance(place, str):
            return super().__getitem__(place)
        by_id = {item.id: item for item in self}
        if place not in by_id:
            raise KeyError(f"no item has the id '{place}'{did_you_mean(place, by_id)}")
        return by_id[place]


@dataclass(frozen=True, kw_only=True, repr=False)
class Result(RunFacts, Tabular):
    """A graded dataset: the facts of the run, and one result per item.

    Attributes:
        items: one result per item, in the dataset's order; `items["a1"]` is that of an id.
    """

    items: Items = field(default_factory=Items)

    def __repr__(self) -> str:
        state = f", stopped: {self.stopped}" if self.stopped else ""
        return f"<Result: {len(self.items)} items judged by {self.judge}{state}>"

    def _repr_html_(self) -> str:
        return self.summary()._repr_html_()

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[ItemResult]:
        return iter(self.items)

    def verdicts(self) -> Iterator[tuple[ItemResult, Verdict]]:
        """Yield every verdict with its item."""
        for item in self.items:
            for verdict in item.criteria.values():
                yield item, verdict

    def join(self, frame: _Frame) -> _Frame:
        """Return the graded data frame with scores and labels; its index is kept.

        The column `score` is added, and one per criterion with the label of the verdict, or
        CANNOT_ASSESS. A missing score is NaN (null in polars), and so is the label of a failed
        verdict.

            result = rubricate.grade(frame, judge, rubric=["The reply says sorry."])
            graded = result.join(frame)

        Args:
            frame: a data frame of pandas or polars with the rows that were graded, in any order.
                Rows are matched by id if a column has the ids, else by their texts.

        Raises:
            InputError: it has a row that was not graded, or already a column with one of these
                names.
        """
        graded: Any = frame
        items = _matched(self.items, graded)
        columns: dict[str, list[Any]] = {"score": [item.score.value for item in items]}
        for name in dict.fromkeys(name for item in items for name in item.rubric.names):
            if name in columns:
                raise InputError(
                    f"a criterion is named '{name}', which is the column of scores: rename it"
                )
            columns[name] = [_label(item.criteria.get(name)) for item in items]
        if there := [name for name in columns if name in graded.columns]:
            raise InputError(
                f"the frame already has a column '{there[0]}': rename it, for example "
                f"frame.rename(columns={{'{there[0]}': 'my_{there[0]}'}})"
            )
        if hasattr(graded, "iloc"):
            joined = graded.assign(**columns)
        else:
            from polars import Series

            series = [Series(name, values, strict=False) for name, values in columns.items()]
            joined = graded.with_columns(series)
        return cast("_Frame", joined)

    @property
    def failed(self) -> int:
        """The number of verdicts without an answer: failed or not run."""
        return sum(verdict.status in UNANSWERED for _, verdict in self.verdicts())

    def summary(self) -> Summary:
        """The figures of the run: `print(result.summary())` shows them as a table."""
        tallies = Tallies()
        for item in self.items:
            tallies.add(item)
        return tallies.summary(self)

    def item_rows(self) -> Iterator[tuple[ResultRow, ...]]:
        return (tuple(rows_of(item)) for item in self.items)

    def with_texts(self) -> Iterator[tuple[ItemTexts, tuple[ResultRow, ...]]]:
        return ((item.texts, tuple(rows_of(item))) for item in self.items)

    @property
    def plot(self) -> Plots:
        """Plots of the result."""
        from rubricate.analysis._plots import Plots

        return Plots(self)

    def finished(self) -> FinishedRun:
        """Return the result in the form of `read_run`."""
        from rubricate.analysis._finished import FinishedRun

        return FinishedRun(
            path=self.run_dir or Path("result"),
            summary=self.summary().to_dict(),
            rubrics={item.id: item.rubric for item in self.items},
            document=None,
            held=self,
        )


def _matched(items: list[ItemResult], frame: Any) -> list[ItemResult]:
    """Return the items in the order of a frame's rows, matched by id if a column has all ids, else
    by their texts.

    With ids, the frame may lack the texts; those that it has must be the graded ones.

    Raises:
        InputError: a row was not graded, or its texts fit several items.
    """
    if not hasattr(frame, "columns"):
        raise InputError(f"join needs a data frame of pandas or polars, found {shown(frame)}")
    if len(frame) != len(items):
        raise InputError(
            f"the frame has {len(frame)} rows, and {len(items)} items were graded: join the frame "
            "that you passed to grade, or its graded rows"
        )
    columns = [list(frame[name]) for name in frame.columns]
    by_id = {item.id: item for item in items}
    ids = next((cells for cells in columns if {str(cell) for cell in cells} == by_id.keys()), None)
    if ids is not None:
        items = [by_id[str(cell)] for cell in ids]
    held = [item.texts for item in items]
    wanted = {
        name: [getattr(texts, name) or "" for texts in held]
        for name in ("submission", "prompt", "reference")
    }
    known = {name: _column_of(texts, columns) for name, texts in wanted.items()}
    names = [name for name, cells in known.items() if cells is not None]
    if ids is None and "submission" not in names:
        raise InputError("no column of the frame has the submissions that were graded")
    rows = [*zip(*(known[name] or () for name in names), strict=True)]
    graded = [*zip(*(wanted[name] for name in names), strict=True)]
    by_texts = dict(zip(graded, items, strict=False))  # empty if there are only ids
    for number, (row, expected) in enumerate(zip(rows, graded, strict=True), 1):
        if row != expected and (ids is not None or row not in by_texts):
            raise InputError(
                f"row {number} of the frame is not a row that was graded (its "
                f"{' or '.join(names)} differs): join the frame that you passed to grade"
            )
    if rows == graded:
        return items
    if len({*rows}) < len(items):
        raise InputError(
            "several rows have the same texts, and the frame is not in the order that was graded: "
            "join it in that order, or grade it with a column of ids (map id=COLUMN)"
        )
    return [by_texts[row] for row in rows]


def _column_of(texts: list[str], columns: list[list[Any]]) -> list[str] | None:
    """The column with most of the texts, as texts; None if no column has any at its beginning."""
    known = {*texts} - {""}
    with_some = (
        [submission_of(cell) or "" for cell in cells]
        for cells in columns
        if any(submission_of(cell) in known for cell in cells[:SAMPLE])
    )
    return max(with_some, key=lambda cells: sum(cell in known for cell in cells), default=None)


def _label(verdict: Verdict | None) -> str | None:
    """The cell of a verdict: its label or abstention; None without an answer."""
    if verdict is None or verdict.status in UNANSWERED:
        return None
    return verdict.label or CriterionVerdict.CANNOT_ASSESS.value
