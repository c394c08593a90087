"""How sure a line of a run's results is."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.rubric import confidence_of

__all__ = ["LOW_CONFIDENCE", "confidence"]

LOW_CONFIDENCE = 0.75
"""A verdict with less confidence than this is shown as unsure."""


def confidence(row: Mapping[str, Any]) -> float | None:
    """How sure a verdict is, as `rubric.confidence` has it.

    Args:
        row: a line of `results.jsonl`.
    """
    labels = [vote["label"] for vote in row.get("votes") or ()]
    return confidence_of(row["status"], row["label"], row.get("probability"), labels)
