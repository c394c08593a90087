"""Verdicts as plain data, for the journal and for results.jsonl."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from rubricate.rubric import Criterion, Evidence, Failure, Usage, Verdict

__all__ = ["verdict_from_record", "verdict_record"]


def verdict_record(verdict: Verdict) -> dict[str, Any]:
    """The judge's answer as JSON values: all of the verdict but its value and where it was read.

    The value is left out because it belongs to the rubric: weights and option values can change
    without asking the judge again.
    """
    return {
        "status": verdict.status,
        "label": verdict.label,
        "probability": verdict.probability,
        "reason": verdict.reason,
        "evidence": [asdict(evidence) for evidence in verdict.evidence],
        "usage": asdict(verdict.usage),
        "error": None if verdict.error is None else asdict(verdict.error),
        "judge": verdict.judge,
    }


def verdict_from_record(record: dict[str, Any], criterion: Criterion, name: str) -> Verdict:
    """The verdict that a journal's record stands for, valued by the criterion as it is now."""
    label = record["label"]
    judged = record["status"] == "judged"
    return Verdict(
        name,
        record["status"],
        label,
        criterion.value(label) if judged else None,
        record["probability"],
        record["reason"],
        tuple(Evidence(**evidence) for evidence in record["evidence"]),
        Usage(**record["usage"]),
        None if record["error"] is None else Failure(**record["error"]),
        record["judge"],
        resumed=True,
    )
