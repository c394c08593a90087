"""What is to be judged: the dataset as a list of items, each with its case and criteria."""

from __future__ import annotations

from dataclasses import dataclass

from rubricate.dataset import DataItem, RubricDataset
from rubricate.errors import InputError
from rubricate.judge import Case
from rubricate.rubric import Rubric, Verdict

__all__ = ["PlannedItem", "plan"]


@dataclass(frozen=True, slots=True)
class PlannedItem:
    """One item with all that judging it needs.

    `labels` are the human verdicts by criterion name; a criterion without one is missing.
    """

    id: str
    item: DataItem
    rubric: Rubric
    case: Case
    labels: dict[str, Verdict]


def plan(dataset: RubricDataset, limit: int | None = None) -> list[PlannedItem]:
    """Lay out the dataset's items, the first `limit` of them if a limit is given.

    Raises:
        InputError: there is nothing to grade, an item has no rubric, labels do not fit, or two
            items share an id. Nothing has been spent.
    """
    if limit is not None and limit < 1:
        raise InputError(f"the limit must be at least 1, found {limit}")
    if not dataset.items:
        raise InputError("the dataset has no items to grade", path=("items",))
    planned: list[PlannedItem] = []
    ids = dataset.item_ids()
    for index, (item, name) in enumerate(zip(dataset.items[:limit], ids, strict=False)):
        rubric = dataset.get_item_rubric(index)
        case = Case(
            submission=item.submission,
            prompt=dataset.get_item_prompt(index),
            reference=dataset.get_item_reference_submission(index),
            guidelines=rubric.guidelines,
            item=item,
        )
        planned.append(PlannedItem(name, item, rubric, case, _labels(item, rubric, index)))
    return planned


def _labels(item: DataItem, rubric: Rubric, index: int) -> dict[str, Verdict]:
    labels: dict[str, Verdict] = {}
    if item.ground_truth is None:
        return labels
    if len(item.ground_truth) != len(rubric):
        raise InputError(
            f"Ground truth has {len(item.ground_truth)} values, "
            f"but rubric has {len(rubric)} criteria",
            path=("items", index, "ground_truth"),
        )
    for criterion, name, label in zip(rubric, rubric.names, item.ground_truth, strict=True):
        if label is not None:
            labels[name] = criterion.verdict(label, name=name)
    return labels
