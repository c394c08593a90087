"""The lines of a file, held so that they give their memory back as they are used.

Lines stand in blocks outside Python's heap. A block whose lines have all been used is unmapped, so
that a file that becomes samples one after the other is never in memory twice.
"""

from __future__ import annotations

import mmap
import re
from array import array
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, BinaryIO

__all__ = ["HeldLines"]

FIRST_BLOCK = 1 << 20
BLOCK = 1 << 23
"""Bytes in a block: the first, and the others (more where a line is longer)."""
BOM = b"\xef\xbb\xbf"


class HeldLines:
    """The lines of a file that are not blank.

    Attributes:
        numbers: the number of each line in the file, from 1.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the whole file."""
        self._blocks: list[mmap.mmap | None] = []
        self._unused: list[int] = []  # lines of each block that are still to be used
        self._block_of = array("I")
        self._starts = array("I")
        self._ends = array("I")
        blank: list[int] = []
        count, rest, size = 0, b"", FIRST_BLOCK
        while True:
            size = max(size, 2 * len(rest))
            block = mmap.mmap(-1, size)
            block.write(rest)
            with memoryview(block) as view:
                end = _fill(file, view, len(rest))
            last = end < size
            starts, ends, rest = _cut(block, end, last)
            if not count and starts and block[: len(BOM)] == BOM:
                starts[0] = len(BOM)
            odd = _ODD.search(block, 0, end) is not None
            if odd or (starts and block[starts[0]] != ord("{")):
                lines = list(zip(starts, ends, strict=True))
                kept = [span for span in lines if block[slice(*span)].strip()]
                if len(kept) < len(lines):
                    there = set(kept)
                    blank.extend(count + i for i, span in enumerate(lines, 1) if span not in there)
                    count += len(lines) - len(kept)
                    starts, ends = [start for start, _ in kept], [end for _, end in kept]
            self._starts.extend(starts)
            self._ends.extend(ends)
            self._block_of.extend([len(self._blocks)] * len(starts))
            self._unused.append(len(starts))
            self._blocks.append(block if starts else None)
            count += len(starts)
            if last:
                break
            size = BLOCK
        if blank:
            left = set(blank)
            self.numbers: Sequence[int] = [n for n in range(1, count + 1) if n not in left]
        else:
            self.numbers = range(1, count + 1)

    def __len__(self) -> int:
        return len(self._starts)

    def unused(self, indices: Iterable[int]) -> Iterator[bytes]:
        """Lines that have not been used."""
        blocks: Sequence[Any] = self._blocks
        block_of, starts, ends = self._block_of, self._starts, self._ends
        for index in indices:
            yield blocks[block_of[index]][starts[index] : ends[index]]

    def used(self, indices: Iterable[int]) -> None:
        """Lines that are not asked for again; they give their part of the memory back."""
        for number, count in Counter(map(self._block_of.__getitem__, indices)).items():
            self._unused[number] -= count
            if not self._unused[number]:
                block, self._blocks[number] = self._blocks[number], None
                if block is not None:
                    block.close()


_ODD = re.compile(rb"\n(?=[^{])")
"""A line that may be blank: it does not begin as an object does."""


def _cut(block: mmap.mmap, end: int, last: bool) -> tuple[list[int], list[int], bytes]:
    """Where the lines of `block[:end]` start and end, and what stands behind the last line end."""
    ends: list[int] = []
    found, find, add = -1, block.find, ends.append
    while (found := find(b"\n", found + 1, end)) >= 0:
        add(found)
    starts = [0, *(position + 1 for position in ends)]
    if last and starts[-1] < end:
        ends.append(end)
        return starts, ends, b""
    return starts[:-1], ends, block[starts[-1] : end]


def _fill(file: BinaryIO, view: memoryview, end: int) -> int:
    """Read into `view` from `end` on until it is full or the file ends; gives the new end."""
    while end < len(view):
        with view[end:] as space:
            count = file.readinto(space)  # type: ignore[attr-defined]
        if not count:
            break
        end += count
    return end
