"""Results as tables for other programs."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from rubricate.errors import MissingExtraError
from rubricate.rubric import Failure
from rubricate.run import Result, result_rows

if TYPE_CHECKING:
    import pandas

__all__ = ["to_pandas"]


def to_pandas(result: Result) -> pandas.DataFrame:
    """One row a verdict.

    The columns are those of `results.jsonl`, with `usage`, `error` and `item_score` spread over
    columns such as `usage.cost`, `error.kind` and `item_score.value`; `evidence` is the quotes.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    try:
        import pandas
    except ImportError:
        raise MissingExtraError("to_pandas", "pandas") from None
    return pandas.DataFrame([_flat(row) for item in result.items for row in result_rows(item)])


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    error: Failure | None = row.pop("error")
    groups: dict[str, dict[str, Any]] = {
        "usage": asdict(row.pop("usage")),
        "error": asdict(error) if error else {"kind": None, "message": None},
        "item_score": asdict(row.pop("item_score")),
    }
    row["evidence"] = [evidence.quote for evidence in row["evidence"]]
    for group, values in groups.items():
        row |= {f"{group}.{name}": value for name, value in values.items()}
    return row
