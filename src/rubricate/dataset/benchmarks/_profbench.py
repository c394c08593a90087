"""ProfBench: reports of professionals' tasks in four domains, with experts' weighted criteria.

Wang et al., "ProfBench: Multi-Domain Rubrics requiring Professional Knowledge to Answer and
Judge", 2025 (arXiv:2510.18941). Critical, Major, Minor and Additional criteria weigh 4, 3, 2 and 1.
A response's score is the weight that it fulfils over all; a domain's is the mean over its tasks of
the mean over their responses, and the benchmark's the mean of the domains'. By type of criterion:
the plain share of all that are fulfilled.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.dataset.benchmarks._task import (
    Answer,
    Benchmark,
    Task,
    criterion_of,
    each,
    prompt_of,
    rubric_of,
    text_in,
)
from rubricate.dataset.items import GroundTruth
from rubricate.errors import InputError, shown
from rubricate.rubric import DeclaredScoring

WEIGHTS = {"Critical": 4.0, "Major": 3.0, "Minor": 2.0, "Additional": 1.0}
RESPONSE, FULFILMENT = "_response", "_fulfilment"


def fits(record: Mapping[str, Any]) -> bool:
    entries = record.get("rubrics")
    return (
        isinstance(entries, list)
        and bool(entries)
        and all(isinstance(one, Mapping) and "criterion_weight" in one for one in entries)
    )


def task(record: Mapping[str, Any]) -> Task:
    responses = [
        key.removesuffix(RESPONSE)
        for key, text in record.items()
        if key.endswith(RESPONSE) and text is not None
    ]
    labels: dict[str, GroundTruth] = {name: [] for name in responses}

    def read(entry: Mapping[str, Any]) -> dict[str, Any]:
        for name in responses:
            labels[name].append(_label(entry, f"{name}{FULFILMENT}"))
        kept = {key: value for key, value in entry.items() if not key.endswith(FULFILMENT)}
        kept.pop("criterion_id", None)
        return criterion_of(kept, WEIGHTS)

    criteria = each(read, record["rubrics"], "rubrics")
    return Task(
        text_in(record, "task_id"),
        prompt_of(record, "prompt"),
        rubric_of(criteria, "rubrics"),
        {"domain": record["domain"]} if record.get("domain") else {},
        [
            Answer(name, record[f"{name}{RESPONSE}"], labels[name] if any(labels[name]) else None)
            for name in responses
        ],
    )


def _label(entry: Mapping[str, Any], key: str) -> str | None:
    given = entry.get(key)
    if given is None:
        return None
    found = {True: "MET", False: "UNMET", "yes": "MET", "no": "UNMET"}.get(
        given.strip().casefold() if isinstance(given, str) else given
    )
    if found is None:
        raise InputError(f"expected Yes, No, true or false, found {shown(given)}", path=(key,))
    return found


PROFBENCH = Benchmark(
    "profbench",
    fits,
    task,
    DeclaredScoring(
        aggregate="macro_mean", groups=("domain", "task"), by=("domain",), pooled=("type",)
    ),
)
