"""What a row of a run's results says beyond its label: is it sure, and does a person agree?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.rubric import ABSTENTION, Criterion, Status, confidence_of

__all__ = ["LOW_CONFIDENCE", "answer_of", "confidence", "differs_from_label"]

LOW_CONFIDENCE = 0.75
"""A verdict with less confidence than this is shown as unsure."""


def confidence(row: Mapping[str, Any]) -> float | None:
    """How sure a verdict is, as `rubric.confidence` has it.

    Args:
        row: a line of `results.jsonl`.
    """
    labels = [vote["label"] for vote in row.get("votes") or ()]
    return confidence_of(row["status"], row["label"], row.get("probability"), labels)


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
