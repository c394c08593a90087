"""Random splits that are balanced on every criterion at once.

Cutting one shuffled list leaves rare labels to luck; always taking the best balanced choice sends
the same unusual items to the same part every time. Here every item has the same chance of each
part, and each label of each criterion is shared out in proportion.

The method rounds fractions bit by bit. At first every item is in the training part to the same
fraction, n_train / n_items, written in binary. Starting with the last bit, the items whose bit is
set are cut into two halves of equal size with matching label counts, and a fair coin decides which
half drops the bit and which half carries it. After the first bit every item is wholly in one part.
(This reduction of rounding to halving is from Lovász, Spencer and Vesztergombi 1986, "Discrepancy
of set-systems and matrices", European Journal of Combinatorics 7.) The coin keeps each item's
chance at n_train / n_items, however greedy the search for good halves is.

Iterative stratification (Sechidis, Tsoumakas and Vlahavas 2011, "On the stratification of
multi-label data") has the same aim without that guarantee: while there is room, it puts an item
with unique labels into the larger part.
"""

from __future__ import annotations

import random
from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.rubric import Rubric

Criterion = TypeVar("Criterion", bound=Hashable)

# Rounds of exchanges in the last halving. Each earlier one moves the split half as much as the
# next,
# and gets half its rounds.
MOST_ROUNDS = 32
LEAST_ROUNDS = 2


def stratified_split(
    labels: Sequence[Mapping[Criterion, str | None]], n_train: int, rng: random.Random
) -> tuple[list[int], list[int]]:
    """Split items at random into two parts that are balanced on all criteria at once.

    Args:
        labels: `labels[i][criterion]` is item i's label on a criterion; None and a missing key both
            mean no label. Criteria are matched by key across rubrics, so items may have their own
            rubrics. Convert rows in one order of criteria to mappings with `dict(enumerate(row))`.
        n_train: the exact number of items in the first part.
        rng: the only source of randomness; the same state always gives the same split.

    Returns:
        (training indices, test indices), of lengths n_train and len(labels) - n_train, each in
        shuffled order. Every index occurs exactly once.

        Each item is in the first part with probability n_train / len(labels), whatever its labels.
        Of `count` items with a given label on a given criterion, close to count * n_train /
        len(labels) are in it: for up to ten criteria the difference is less than 3, usually less
        than 1, at any number of items. (These differences were measured; they are not guaranteed.)
    """
    n_items = len(labels)
    order = list(range(n_items))
    rng.shuffle(order)
    if n_train == n_items:
        return order, []

    strata = _strata(labels)
    n_bits = n_items.bit_length()
    # An item's fraction is always numerator / 2**bit if in `lower`, one step more if in `upper`.
    numerator, n_upper = divmod(n_train << n_bits, n_items)
    upper, lower = order[:n_upper], order[n_upper:]
    for bit in range(n_bits, 0, -1):
        rounds = max(MOST_ROUNDS >> (bit - 1), LEAST_ROUNDS)
        if numerator % 2:
            lower, raised = _balanced_halves(lower, strata, rounds, rng)
            upper = upper + raised
        else:
            dropped, upper = _balanced_halves(upper, strata, rounds, rng)
            lower = lower + dropped
        numerator //= 2

    rng.shuffle(upper)
    rng.shuffle(lower)
    return upper, lower


def labels_by_criterion(
    items: Iterable[tuple[Rubric, Sequence[str | None]]],
) -> list[dict[tuple[str, str], str | None]]:
    """Each item's labels, by keys that distinguish the criteria of different rubrics.

    Args:
        items: the rubric and the labels of each item, one label per criterion.

    Raises:
        InputError: an item has no labels.
    """
    rows: list[dict[tuple[str, str], str | None]] = []
    for index, (rubric, labels) in enumerate(items):
        if not any(labels):
            raise InputError(
                f"stratify=True needs labels on every item, and item {index} has none; "
                "label it or pass stratify=False"
            )
        keys = [(criterion.name, criterion.requirement) for criterion in rubric]
        rows.append(dict(zip(keys, labels, strict=True)))
    return rows


def _strata(labels: Sequence[Mapping[Criterion, str | None]]) -> list[frozenset[int]]:
    """Number the pairs of criterion and label from 0; return those of each item, (n_items,)."""
    numbers: dict[tuple[Criterion, str], int] = {}
    return [
        frozenset(
            numbers.setdefault((criterion, label), len(numbers))
            for criterion, label in row.items()
            if label is not None
        )
        for row in labels
    ]


def _balanced_halves(
    items: Sequence[int], strata: Sequence[frozenset[int]], rounds: int, rng: random.Random
) -> tuple[list[int], list[int]]:
    """Cut an even number of items into two halves of equal size with similar counts in every
    stratum.

    Starts with random halves. A round pairs the halves' items at random and exchanges a pair if
    that lowers the sum over strata of (left count - right count)², and by a coin if the sum stays
    equal. It stops once all counts differ by at most 1. Another fair coin decides which half comes
    first.
    """
    shuffled = list(items)
    rng.shuffle(shuffled)
    middle = len(shuffled) // 2
    first, second = shuffled[:middle], shuffled[middle:]
    surplus = dict.fromkeys((stratum for item in items for stratum in strata[item]), 0)
    for half, sign in ((first, 1), (second, -1)):
        for item in half:
            for stratum in strata[item]:
                surplus[stratum] += sign

    for _ in range(rounds):
        if all(-1 <= difference <= 1 for difference in surplus.values()):
            break
        rng.shuffle(first)
        for place, (leaving, entering) in enumerate(zip(first, second, strict=True)):
            lost, gained = strata[leaving], strata[entering]
            # The exchange changes the sum of squares by 4 * (cost - gain).
            gain = sum([surplus[stratum] for stratum in lost]) - sum(
                [surplus[stratum] for stratum in gained]
            )
            if gain <= 0:
                continue
            cost = len(lost ^ gained)
            if gain > cost or (gain == cost and rng.random() < 0.5):
                for stratum in lost:
                    surplus[stratum] -= 2
                for stratum in gained:
                    surplus[stratum] += 2
                first[place], second[place] = entering, leaving

    return (first, second) if rng.random() < 0.5 else (second, first)
