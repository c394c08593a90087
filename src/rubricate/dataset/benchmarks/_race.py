"""DeepResearch Bench's RACE: reports, each scored beside a reference report of the same task.

Du et al., "DeepResearch Bench: A Comprehensive Benchmark for Deep Research Agents", 2025
(arXiv:2506.11763). Criteria are scored from 0 to 10; a dimension is the mean by their weights, a
report the mean by the dimensions' weights, and a task's score is the report's over the sum of the
report's and the reference's. The benchmark's is the mean over tasks.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from rubricate.dataset.benchmarks._task import (
    Benchmark,
    Task,
    each,
    prompt_of,
    rubric_of,
    text_in,
    unique_name,
)
from rubricate.errors import InputError, shown
from rubricate.rubric import DeclaredScoring

LOW, HIGH = 0, 10


def fits(record: Mapping[str, Any]) -> bool:
    return isinstance(record.get("criterions"), Mapping) and "dimension_weight" in record


def task(record: Mapping[str, Any]) -> Task:
    weights, dimensions = record["dimension_weight"], record["criterions"]
    if not isinstance(weights, Mapping):
        raise InputError(f"expected an object, found {shown(weights)}", path=("dimension_weight",))
    if missing := [name for name in dimensions if name not in weights]:
        raise InputError(f"has no weight of '{missing[0]}'", path=("dimension_weight",))
    taken: set[str] = {*dimensions}
    tree: list[dict[str, Any]] = []
    for dimension, entries in dimensions.items():
        path = ("criterions", dimension)
        if not isinstance(entries, list):
            raise InputError(f"expected a list of criteria, found {shown(entries)}", path=path)
        criteria = each(partial(_criterion, dimension, taken), entries, *path)
        tree.append({"name": dimension, "weight": weights[dimension], "criteria": criteria})
    language = record.get("language")
    return Task(
        text_in(record, "id"),
        prompt_of(record, "prompt"),
        rubric_of(tree),
        {"language": language} if language else {},
    )


def _criterion(dimension: str, taken: set[str], entry: Any) -> dict[str, Any]:
    if not isinstance(entry, Mapping):
        raise InputError(f"expected an object, found {shown(entry)}")
    title, why = text_in(entry, "criterion"), entry.get("explanation")
    name = unique_name(title, taken)
    taken.add(name)
    return {
        "name": name,
        "kind": "scale",
        "low": LOW,
        "high": HIGH,
        "weight": entry.get("weight", 1.0),
        "requirement": title if not why else f"{title}\n{why}",
        "tags": [f"dimension:{dimension}"],
    }


RACE = Benchmark(
    "race",
    fits,
    task,
    DeclaredScoring(
        aggregate="against_reference", pairs="task", reference="role:reference", by=("dimension",)
    ),
)
