"""`autorubric.utils`: lengths, thinking, usage totals, and labels from a model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace

from rubricate import rubric as core
from rubricate.dialects.autorubric._reports import EnsembleEvaluationReport, TokenUsage
from rubricate.dialects.autorubric.dataset import RubricDataset
from rubricate.dialects.autorubric.eval import evaluate
from rubricate.dialects.autorubric.graders import CriterionGrader

ToGrade = str | Mapping[str, str]
"""A text, or `{thinking, output}`."""
_OPENING = re.compile(r"<think(?:ing)?>", re.IGNORECASE)
"""Without an end after it, it is part of the output in AutoRubric, unlike in the core."""


def word_count(text: str) -> int:
    """Return the number of words in a text."""
    return len(text.split())


def normalize_to_grade_input(to_grade: ToGrade) -> dict[str, str]:
    """Convert a text, perhaps with `<thinking>` and `<output>` tags, to `{thinking, output}`."""
    rest = ""
    if isinstance(to_grade, str):
        ends = [end.start() for end in re.finditer("</think", to_grade, re.IGNORECASE)]
        if opened := _OPENING.search(to_grade, max(ends, default=0)):
            to_grade, rest = to_grade[: opened.start()], to_grade[opened.start() :]
    parts = core.split_thinking(to_grade)._asdict()
    marked = isinstance(to_grade, str) and parts["output"] != to_grade
    parts["output"] += rest
    return {name: text.strip() if marked else text for name, text in parts.items()}


parse_thinking_output = normalize_to_grade_input


def compute_length_penalty(text: ToGrade, config: core.LengthPenalty) -> float:
    """Return how much the length of a text lowers its score."""
    return config.at(config.length(core.split_thinking(normalize_to_grade_input(text))))


def aggregate_token_usage(usages: Iterable[TokenUsage | None]) -> TokenUsage | None:
    """Return the sum of the known usages; None if there are none."""
    known = [usage for usage in usages if usage is not None]
    return sum(known, TokenUsage()) if known else None


def aggregate_completion_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of the known costs; None if there are none."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known else None


def aggregate_evaluation_usage(
    reports: Iterable[EnsembleEvaluationReport],
) -> tuple[TokenUsage | None, float | None]:
    """Return the total tokens and cost of several reports."""
    every = list(reports)
    return (
        aggregate_token_usage(report.token_usage for report in every),
        aggregate_completion_cost(report.completion_cost for report in every),
    )


async def fill_ground_truth(
    dataset: RubricDataset,
    grader: CriterionGrader,
    *,
    force: bool = False,
    show_progress: bool = True,
    max_concurrent_items: int | None = None,
) -> RubricDataset:
    """Return a dataset whose items have a grader's verdicts as labels.

    Args:
        dataset: the items.
        grader: the grader that labels them.
        force: whether to replace existing labels.
        show_progress, max_concurrent_items: as for `evaluate`.

    Returns:
        The items with labels; items with a failed verdict are left out.
    """
    wanted = [item for item in dataset.items if force or item.ground_truth is None]
    labels = dict[int, list[core.CriterionVerdict | str | int | float | None]]()
    if wanted:
        done = await evaluate(
            replace(dataset, items=wanted),
            grader,
            show_progress=show_progress,
            max_concurrent_items=max_concurrent_items,
        )
        for result in done.item_results:
            verdicts = list(result.report.result.criteria.values())
            if all(verdict.label is not None for verdict in verdicts):
                labels[id(result.item)] = [str(verdict.label) for verdict in verdicts]
    items = [
        replace(item, ground_truth=labels[id(item)]) if id(item) in labels else item
        for item in dataset.items
        if id(item) in labels or not (force or item.ground_truth is None)
    ]
    return replace(dataset, items=items)
