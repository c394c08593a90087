"""Verdicts as records, for the journal and for `results.jsonl`."""

from __future__ import annotations

import json
from dataclasses import asdict, is_dataclass
from typing import Any

import orjson

from rubricate.judge import REQUIRED
from rubricate.rubric import (
    Criterion,
    Evidence,
    Failure,
    Paraphrase,
    Reading,
    Usage,
    Verdict,
    read_kept,
)

DOCUMENT = "document"
"""The key in a verdict's detail that says how a long document was read."""
KEPT = (DOCUMENT, "confidence", REQUIRED)
"""The keys in a verdict's detail that are not derived from the answer."""
Judged = Verdict | dict[str, Any]
"""A verdict, or its record. A journal converts a verdict when it writes it."""


def to_json(data: Any) -> bytes:
    """JSON in UTF-8. Half a surrogate pair, which UTF-8 cannot hold, becomes '?'."""
    try:
        return orjson.dumps(data)
    except TypeError:
        text = json.dumps(data, ensure_ascii=False, default=_plain)
        return text.encode("utf-8", "replace")


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is no JSON value")


def record_of(verdict: Judged) -> dict[str, Any]:
    """The record of a verdict, for orjson: everything but its value and its source.

    A record is returned unchanged.

    The detail is reduced to what is not derived from the answer (`KEPT`). Fields that are None or
    empty are left out, as most usually are.

    The value is left out because it belongs to the rubric: weights and option values can change
    without asking the judge again.
    """
    if not isinstance(verdict, Verdict):
        return verdict
    record: dict[str, Any] = {
        "status": "failed" if verdict.status == "not_run" else verdict.status,
        "label": verdict.label,
        "reason": verdict.reason,
        "usage": verdict.usage.to_dict(),
        "judge": verdict.judge,
    }
    if verdict.probability is not None:
        record["probability"] = verdict.probability
    if verdict.evidence:
        record["evidence"] = verdict.evidence
    if verdict.error is not None:
        record["error"] = verdict.error
    if verdict.answer is not None:
        record["answer"] = verdict.answer
    if verdict.order is not None:
        record["order"] = verdict.order
    if verdict.detail:
        record |= {name: verdict.detail[name] for name in KEPT if name in verdict.detail}
    return record


def verdict_from_record(record: dict[str, Any], criterion: Criterion) -> Verdict:
    """The verdict of a record, with its value by the criterion as it is now."""
    label, answer, probability = record["label"], record.get("answer"), record.get("probability")
    status, value, detail, error = record["status"], None, None, record.get("error")
    if label is not None:
        # The value of an answer, and whether it counts, depend on the present rubric.
        reading = Reading(label) if answer is None else read_kept(criterion, answer)
        label, detail = reading.label, reading.detail
        status, value = criterion.worth(reading)
        if reading.probability is not None:
            probability = reading.probability
    if kept := {name: record[name] for name in KEPT if name in record}:
        detail = {**(detail or {}), **kept}
    quotes, failure = record.get("evidence"), None if error is None else Failure(**error)
    return Verdict(
        criterion=criterion.name,
        status=failure.status if failure is not None and status == "failed" else status,
        label=label,
        value=value,
        probability=probability,
        reason=record["reason"],
        evidence=tuple(map(_evidence, quotes)) if quotes else (),
        usage=Usage(**record["usage"]),
        error=failure,
        judge=record["judge"],
        resumed=True,
        detail=detail,
        answer=answer,
        order=record.get("order"),
    )


def _evidence(record: dict[str, Any]) -> Evidence:
    return Paraphrase(**record) if "paraphrase" in record else Evidence(**record)
