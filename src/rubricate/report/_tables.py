"""Results as tables for other programs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rubricate.errors import MissingExtraError
from rubricate.run import Result, result_rows

if TYPE_CHECKING:
    import pandas

__all__ = ["to_pandas"]


def to_pandas(result: Result) -> pandas.DataFrame:
    """One row a verdict.

    The columns are those of `results.jsonl`, with `usage`, `error` and `item_score` spread over
    columns such as `usage.cost`, `error.kind` and `item_score.value`.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_pandas", "pandas") from None
    rows = []
    for row in result_rows(result):
        error = row.pop("error") or {"kind": None, "message": None}
        for group, fields in (
            ("usage", row.pop("usage")),
            ("error", error),
            ("item_score", row.pop("item_score")),
        ):
            row |= {f"{group}.{name}": value for name, value in fields.items()}
        rows.append(row)
    return pandas.DataFrame(rows)
