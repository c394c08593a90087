"""Divides a dataset into blocks for workers. Equal items are in one block, or postponed."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from rubricate.dataset import Item
from rubricate.run._shards import sameness

BLOCK = 256
"""Largest number of items in a block."""
EACH = 8
"""Least number of blocks for each worker, if there are enough items."""


def block_size(items: int, workers: int) -> int:
    """Items in a block, such that all workers are busy until the end."""
    return max(1, min(BLOCK, items // (EACH * workers)))


class Numbered(NamedTuple):
    """An item and its place in the dataset, from 0."""

    number: int
    item: Item


class Blocks:
    """A dataset's items in blocks, in its order.

    Two items that may lead to the same question are in one block, or the later one is postponed to
    the end, when the answers about the first are stored. So nothing is asked twice, and blocks are
    independent. It takes 16 to 32 bytes for each item, and holds only the items of one block.

    Args:
        read: iterates over the items from the start each time.
        items: how many items there are.
        size: how many items a block has.
    """

    def __init__(self, read: Callable[[], Iterable[Numbered]], items: int, size: int) -> None:
        self._read = read
        self._items = items
        self._size = size
        self._postponed = array("Q")  # indices, ascending

    def first(self) -> Iterator[list[Numbered]]:
        """All blocks, without postponed items. Call this once, before `last`."""
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
        """The blocks of postponed items. Judge them one at a time, as they may have equal items."""
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
    """A set of 64-bit numbers in 16 to 32 bytes each; a `set` takes about 90.

    Args:
        most: the maximum number of elements.
    """

    def __init__(self, most: int) -> None:
        slots = 1 << max(4, (2 * most - 1).bit_length())
        self._slots = array("Q", bytes(8 * slots))
        self._mask = slots - 1

    def _slot(self, number: int) -> int:
        """The slot of a number (linear probing)."""
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
