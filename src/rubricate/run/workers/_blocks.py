"""Which items are judged together: blocks of a dataset, equal items in the same one, or last."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rubricate.dataset import Item
from rubricate.run._shards import sameness

BLOCK = 256
"""Items that a worker is given at once at most."""
EACH = 8
"""Blocks that each worker is given at least, if there are enough items."""


def block_size(items: int, workers: int) -> int:
    """How many items go into a block, so that all workers have something to do until the end."""
    return max(1, min(BLOCK, items // (EACH * workers)))


class Numbered(NamedTuple):
    """An item and its place in the dataset, from 0."""

    number: int
    item: Item


class Blocks:
    """A dataset's items in blocks, in its order.

    Two items of which a judge may be asked the same are in one block, or the later one is left out
    and comes at the end, when the answers about the first are known. So nothing is asked twice, and
    no block needs to know of another. It holds 16 to 32 bytes an item, and no items but those of
    the block that it gives.

    Args:
        read: gives the items from the start each time.
        items: how many there are.
        size: how many of them a block has.
    """

    def __init__(self, read: Callable[[], Iterable[Numbered]], items: int, size: int) -> None:
        self._read = read
        self._items = items
        self._size = size
        self._postponed = array("Q")  # indices, ascending

    def first(self) -> Iterator[list[Numbered]]:
        """All blocks but those of what was left out; to be asked for once."""
        seen = _Numbers(self._items)  # of earlier blocks
        block: list[Numbered] = []
        own: set[int] = set()
        for numbered in self._read():
            same = sameness(numbered.item)
            if same in seen:
                self._postponed.append(numbered.number)
                continue
            block.append(numbered)
            own.add(same)
            if len(block) >= self._size:
                yield block
                for number in own:
                    seen.add(number)
                block, own = [], set()
        if block:
            yield block

    def last(self) -> Iterator[list[Numbered]]:
        """The blocks of what was left out. Two of these may ask the same: one after the other."""
        block: list[Numbered] = []
        postponed = iter(self._postponed)
        wanted = next(postponed, None)
        if wanted is None:
            return
        for numbered in self._read():
            if numbered.number != wanted:
                continue
            wanted = next(postponed, None)
            block.append(numbered)
            if len(block) >= self._size or wanted is None:
                yield block
                block = []
            if wanted is None:
                return


class _Numbers:
    """A set of numbers of 64 bits, in 16 to 32 bytes each where a `set` takes about 90.

    Args:
        most: how many there will be at most.
    """

    def __init__(self, most: int) -> None:
        slots = 1 << max(4, (2 * most - 1).bit_length())
        self._slots = array("Q", bytes(8 * slots))
        self._mask = slots - 1

    def _slot(self, number: int) -> int:
        """Where a number is, or would be: linear probing."""
        slots, slot = self._slots, number & self._mask
        while slots[slot] not in (0, number):
            slot = (slot + 1) & self._mask
        return slot

    def add(self, number: int) -> None:
        number = number or 1  # 0 is an empty slot
        self._slots[self._slot(number)] = number

    def __contains__(self, number: int) -> bool:
        number = number or 1
        return self._slots[self._slot(number)] == number
