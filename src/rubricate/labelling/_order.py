"""Which items people should label next, and how that choice is recorded."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from rubricate.dataset import Item
from rubricate.rubric import ABSTENTION

Order = Literal["random", "active", "uncertainty"]
Confidences = Mapping[str, Mapping[str, float | None]]
"""How sure the judge is, in [0, 1], by item and criterion; 0 where it failed or abstained, None
where it does not say."""
FLOOR = 0.5
"""The share of the draws of `active` that ignores the judge, so that an item which it is wrongly
sure of has at least half the mean chance, and no label weighs more than twice the mean (Zrnic and
Candes 2024 mix with one half as well). With 0.2, intervals of a judge that is overconfident are
wider by a quarter; with 1 it is the random order."""


def label_order(
    items: Sequence[Item],
    order: Order,
    *,
    confidences: Confidences,
    labels: Mapping[str, Mapping[str, str | None]],
    seed: int = 0,
) -> list[str]:
    """The ids of all items, in the order in which to label them.

    `random`: a random order. `active`: a random order in which items that the judge is unsure of
    tend to come earlier, each with a known chance (see `chances`). Each item has one random
    number, from its id and the seed, so that both orders are the same each time, and items that
    are added later do not change it. The first items of such an order are a sample with these
    chances, wherever one stops (sequential Poisson sampling, Ohlsson 1998). In both, items with
    complete ground truth come last.

    `uncertainty`: first those on whose criteria people differ from each other, or the judge from
    people, or the judge is least sure; the mean over an item's criteria counts, and a criterion
    that has been adjudicated counts nothing. No chance is known.

    Args:
        items: the items.
        order: which order.
        confidences: how sure the judge is.
        labels: the judge's labels, by item and criterion.
        seed: random seed, also of the order among equals.
    """
    if order == "uncertainty":
        rank = {
            item.id: -_uncertainty(item, confidences.get(item.id, {}), labels.get(item.id, {}))
            for item in items
        }
        return sorted(rank, key=lambda item: (rank[item], _random_number(seed, item)))
    chance = chances(items, confidences if order == "active" else {})
    complete = {
        item.id: all(label is not None for label in item.data.ground_truth or [None])
        for item in items
    }
    return sorted(
        chance, key=lambda item: (complete[item], _random_number(seed, item) / chance[item])
    )


def chances(items: Sequence[Item], confidences: Confidences) -> dict[str, float]:
    """The chance of each item in a single draw; they sum to 1.

    Half of it is the same for all, the other half in proportion to the standard deviation of the
    judge's error if its confidence is right, which is the best choice for the mean (Zrnic and
    Candes 2024).
    """
    spread = {item.id: _spread(item, confidences.get(item.id, {})) for item in items}
    total = sum(spread.values())
    same = 1 / len(items)
    return {
        item: same if total == 0 else FLOOR * same + (1 - FLOOR) * of_item / total
        for item, of_item in spread.items()
    }


def _spread(item: Item, confidences: Mapping[str, float | None]) -> float:
    known = [max(confidences.get(name) or 0.0, 0.5) for name in item.rubric.names]
    return float((sum(sure * (1 - sure) for sure in known) / len(known)) ** 0.5)


def _random_number(seed: int, item: str) -> float:
    """The item's own number, uniform between 0 and 1."""
    digest = hashlib.blake2b(f"{seed} {item}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big") / 2**64


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
