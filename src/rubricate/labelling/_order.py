"""Which items people should label next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from rubricate.dataset import Item
from rubricate.rubric import ABSTENTION
from rubricate.stats import next_to_label

Order = Literal["random", "uncertainty"]


def label_order(
    items: Sequence[Item],
    order: Order,
    *,
    confidences: Mapping[str, Mapping[str, float | None]],
    labels: Mapping[str, Mapping[str, str | None]],
    seed: int = 0,
) -> list[str]:
    """The ids of all items, in the order in which to label them.

    `random`: a random order, the same each time; items with complete ground truth come last.
    `uncertainty`: first those on whose criteria people differ from each other, or the judge from
    people, or the judge is least sure; the mean over an item's criteria counts, and a criterion
    that has been adjudicated counts nothing.

    Args:
        items: the items.
        order: which order.
        confidences: how sure the judge is, in [0, 1], by item and criterion; 0 where it failed or
            abstained, None where it does not say.
        labels: the judge's labels, by item and criterion.
        seed: random seed, also of the order among equals.
    """
    uncertainty: list[float] | None = None
    if order == "uncertainty":
        uncertainty = [
            _uncertainty(item, confidences.get(item.id, {}), labels.get(item.id, {}))
            for item in items
        ]
    complete = [
        order == "random" and all(label is not None for label in item.data.ground_truth or [None])
        for item in items
    ]
    indices: list[int] = []
    for left_out in (complete, [not done for done in complete]):
        plan = next_to_label(left_out, len(items), uncertainty=uncertainty, seed=seed)
        indices += plan.items
    return [items[index].id for index in indices]


def _uncertainty(
    item: Item, confidences: Mapping[str, float | None], judge: Mapping[str, str | None]
) -> float:
    """The mean of the criteria: 1 where people or judge and people differ, 0 where they agree."""
    people = item.labels()
    total = 0.0
    for name in item.rubric.names:
        if name in item.data.adjudications:
            continue
        labels = {
            str(labels[name]) for labels in item.data.annotations.values() if labels.get(name)
        }
        if len(labels) > 1:
            total += 1.0
        elif name in people:
            answers = {judge.get(name), people[name].label} - {None, ABSTENTION}
            total += len(answers) > 1
        else:
            confidence = confidences.get(name)
            total += 0.5 if confidence is None else 1.0 - confidence
    return total / len(item.rubric)
