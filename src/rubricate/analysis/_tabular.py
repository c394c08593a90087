"""What can be had as a table: a result, and a finished run."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas
    import polars

__all__ = ["By", "Tabular"]

By = Literal["verdict", "item"]
"""What a row of a table is."""


class Tabular:
    """Verdicts that can be had as a table of one row a verdict, or of one row an item.

    The columns are the same in every form, and stable: `docs/results.md` lists them. What is
    missing (the value of a failed verdict, a label that nobody gave) is empty, never 0.
    """

    @abstractmethod
    def item_rows(self) -> Iterator[tuple[dict[str, Any], ...]]:
        """The lines of each item in `results.jsonl`, as JSON values, in the dataset's order."""

    def to_pandas(self, by: By = "verdict") -> pandas.DataFrame:
        """A pandas data frame (extra `pandas`).

        Numbers that can be missing are `float64`, with NaN where there is none.

        Args:
            by: what a row is: a `verdict`, or an `item` with columns for each criterion.

        Raises:
            InputError: `by` is neither.
            MissingExtraError: pandas is not installed.
        """
        from rubricate.analysis._table_forms import to_pandas
        from rubricate.analysis._tables import Table

        return to_pandas(Table(self, by))

    def to_polars(self, by: By = "verdict") -> polars.DataFrame:
        """A polars data frame (extra `polars`); as `to_pandas`."""
        from rubricate.analysis._table_forms import to_polars
        from rubricate.analysis._tables import Table

        return to_polars(Table(self, by))

    def to_csv(self, path: str | Path, *, by: By = "verdict", raw_cells: bool = False) -> int:
        """Write a CSV file (RFC 4180, UTF-8); gives the number of its rows.

        Lists and objects are JSON text, true and false are `true` and `false`. Text that a
        spreadsheet would run as a formula has `'` before it: text that begins with `=`, `+`, `-`,
        `@`, their full-width forms, a tab or a line break (OWASP, CSV Injection). Numbers, also
        as text, stay as they are.

        Args:
            path: the file; one that is there is replaced when the new one is complete.
            by: what a row is: a `verdict`, or an `item` with columns for each criterion.
            raw_cells: write all text as it is, for a program that reads the file.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
        """
        from rubricate.analysis._table_forms import to_csv
        from rubricate.analysis._tables import Table

        return to_csv(Table(self, by), Path(path), raw_cells=raw_cells)

    def to_jsonl(self, path: str | Path, *, by: By = "verdict") -> int:
        """Write JSON Lines, an object a row; otherwise as `to_csv`."""
        from rubricate.analysis._table_forms import to_jsonl
        from rubricate.analysis._tables import Table

        return to_jsonl(Table(self, by), Path(path))

    def to_parquet(self, path: str | Path, *, by: By = "verdict") -> int:
        """Write a Parquet file (extra `parquet`); otherwise as `to_csv`.

        Raises:
            InputError: `by` is neither, or the file cannot be written.
            MissingExtraError: pyarrow is not installed.
        """
        from rubricate.analysis._table_forms import to_parquet
        from rubricate.analysis._tables import Table

        return to_parquet(Table(self, by), Path(path))
