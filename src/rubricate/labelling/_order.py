"""The order in which to label items, and the probabilities behind it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Literal

from rubricate.dataset import Item
from rubricate.rubric import ABSTENTION

Order = Literal["random", "active", "uncertainty"]
Confidences = Mapping[str, Mapping[str, float | None]]
"""The judge's confidence, in [0, 1], by item and criterion; 0 if it failed or abstained, None if
unknown."""
FLOOR = 0.5
"""The share of uniform sampling in `active`. It gives an item with a wrong, confident verdict at
least half the mean probability, so that no label weighs more than twice the mean (Zrnic and Candes
2024 also mix with one half). With 0.2, intervals for an overconfident judge are wider by a quarter;
with 1, the order is random."""


def label_order(
    items: Sequence[Item],
    order: Order,
    *,
    confidences: Confidences,
    labels: Mapping[str, Mapping[str, str | None]],
    seed: int = 0,
) -> list[str]:
    """Return the ids of all items, in the order in which to label them.

    `random` is a random order. In `active`, items with low confidence tend to come earlier, each
    with a known probability (see `chances`). The random number of an item depends only on its id
    and the seed, so both orders are reproducible, and items that are added later do not change
    them. The first items are always a sample with these probabilities, wherever labelling stops
    (sequential Poisson sampling, Ohlsson 1998). In both, items with complete ground truth come
    last.

    In `uncertainty`, items come first if people disagree with each other, if the judge disagrees
    with people, or if the judge is least confident, by the mean over an item's criteria; an
    adjudicated criterion counts as certain. The probabilities of selection are unknown.

    Args:
        items: the items.
        order: the order.
        confidences: the judge's confidences.
        labels: the judge's labels, by item and criterion.
        seed: the random seed, also for the order among equals.
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
    """The probability of each item in a single draw; they sum to 1.

    Half of it is uniform. The other half is proportional to the standard deviation of the judge's
    error according to its confidence, which is optimal for the mean (Zrnic and Candes 2024).
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
    """The random number of an item, uniform between 0 and 1."""
    digest = hashlib.blake2b(f"{seed} {item}".encode("utf-8", "surrogatepass"), digest_size=8)
    return int.from_bytes(digest.digest(), "big") / 2**64


def _uncertainty(
    item: Item, confidences: Mapping[str, float | None], judge: Mapping[str, str | None]
) -> float:
    """The mean over criteria: 1 if people, or judge and people, disagree; 0 if they agree."""
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
