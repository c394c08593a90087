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
    columns such as `usage.cost`, `error.kind` and `item_score.value`; `evidence` is the quotes and
    `warnings` their kinds. Each judge that votes has two columns: `votes.NAME`, its label (or its
    status, without one), and `judge_scores.NAME`, the score that it alone would give. Each
    annotator has one, `annotations.NAME`, and so has each short value of the items' metadata.

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
    votes, alone = row.pop("votes"), row.pop("judge_scores")
    groups["votes"] = {vote["judge"]: vote["label"] or vote["status"] for vote in votes}
    groups["annotations"], groups["metadata"] = row.pop("annotations"), row.pop("metadata")
    groups["judge_scores"] = {name: score.value for name, score in alone.items()}
    row["warnings"] = list(row["warnings"])
    row["evidence"] = [evidence.quote for evidence in row["evidence"]]
    for group, values in groups.items():
        row |= {f"{group}.{name}": value for name, value in values.items()}
    return row
