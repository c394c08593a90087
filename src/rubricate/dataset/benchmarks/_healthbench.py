"""HealthBench: conversations, each with the points that physicians give for what an answer does.

Arora et al., "HealthBench: Evaluating Large Language Models Towards Improved Human Health", 2025
(arXiv:2505.08775). An example's score is its points over those that can be had, not clipped; the
benchmark's is the mean over examples, clipped to [0, 1]. The same by theme (tags of examples) and
by axis (tags of criteria), of examples that have points to give there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rubricate.dataset.benchmarks._task import (
    Benchmark,
    Task,
    criterion_of,
    each,
    prompt_of,
    rubric_of,
    text_in,
)
from rubricate.errors import InputError
from rubricate.rubric import DeclaredScoring


def fits(record: Mapping[str, Any]) -> bool:
    entries = record.get("rubrics")
    return (
        ("prompt_id" in record or "example_tags" in record)
        and isinstance(entries, list)
        and all(isinstance(one, Mapping) and {"criterion", "points"} <= {*one} for one in entries)
    )


def task(record: Mapping[str, Any]) -> Task:
    tags = record.get("example_tags") or []
    if not isinstance(tags, list) or not all(isinstance(tag, str) for tag in tags):
        raise InputError("expected a list of texts", path=("example_tags",))
    return Task(
        text_in(record, "prompt_id"),
        prompt_of(record, "prompt"),
        rubric_of(each(criterion_of, record["rubrics"], "rubrics"), "rubrics"),
        {"tags": tags} if tags else {},
    )


HEALTHBENCH = Benchmark(
    "healthbench",
    fits,
    task,
    DeclaredScoring(items="raw", aggregate="clipped_mean", by=("theme", "axis")),
)
