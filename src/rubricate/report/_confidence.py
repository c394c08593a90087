"""What a row of a run's results says beyond its label: is it sure, and does a person agree?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.rubric import ABSTENTION, Criterion, Status

__all__ = ["LOW_CONFIDENCE", "answer_of", "confidence", "differs_from_label"]

LOW_CONFIDENCE = 0.75
"""A verdict with less confidence than this is shown as unsure."""


def confidence(row: Mapping[str, Any]) -> float | None:
    """How sure a verdict is, in [0, 1]; None where nothing tells.

    It is the judge's own probability and, where several voted, the share of the votes that are the
    verdict; of both, the lower one. A verdict that failed or abstained has none.

    Args:
        row: a line of `results.jsonl`.
    """
    if row["status"] not in ("judged", "not_applicable"):
        return None
    known = []
    if row.get("probability") is not None:
        known.append(float(row["probability"]))
    votes = row.get("votes") or ()
    if len(votes) > 1:
        known.append(sum(vote["label"] == row["label"] for vote in votes) / len(votes))
    return min(known, default=None)


def answer_of(
    criterion: Criterion, status: Status, label: str | None, value: float | None
) -> str | None:
    """What is compared with another's answer; None where nothing was decided.

    Answers of criteria without a fixed set of labels are equal where their values are, to two
    decimal places.
    """
    if status not in ("judged", "not_applicable"):
        return None
    if criterion.labels or value is None:
        return label
    return f"{value:.2f}"


def differs_from_label(criterion: Criterion, row: Mapping[str, Any]) -> bool:
    """Whether the judge and a person both decided, and not alike."""
    label, value = row["human_label"], row["human_value"]
    if label is None or label == ABSTENTION:
        return False
    human = answer_of(criterion, "judged", label, value)
    judge = answer_of(criterion, row["status"], row["label"], row["value"])
    return judge is not None and judge != human
