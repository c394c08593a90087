"""The lines of a file, held so that they give their memory back as they are used.

Lines stand in blocks outside Python's heap. A block whose lines have all been used is unmapped, so
that a file that becomes samples one after the other is never in memory twice.
"""

from __future__ import annotations

import mmap
from array import array
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import accumulate
from typing import BinaryIO

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
            pieces = block[:end].split(b"\n")
            rest = pieces.pop()
            if last and rest:
                pieces.append(rest)
            self._add(block, pieces, count, blank)
            count += len(pieces)
            if last:
                break
            size = BLOCK
        if blank:
            left = set(blank)
            self.numbers: Sequence[int] = [n for n in range(1, count + 1) if n not in left]
        else:
            self.numbers = range(1, count + 1)

    def _add(self, block: mmap.mmap, pieces: list[bytes], before: int, blank: list[int]) -> None:
        position = 0
        if not before and pieces and pieces[0].startswith(BOM):
            pieces[0] = pieces[0].removeprefix(BOM)
            position = len(BOM)
        lengths = list(map(len, pieces))
        ends = list(accumulate((length + 1 for length in lengths), initial=position - 1))[1:]
        starts = [end - length for end, length in zip(ends, lengths, strict=True)]
        if 0 in lengths or any(map(bytes.isspace, pieces)):
            kept = [i for i, piece in enumerate(pieces) if piece and not piece.isspace()]
            gone = {*range(len(pieces))} - {*kept}
            blank.extend(before + i + 1 for i in gone)
            starts, ends = [starts[i] for i in kept], [ends[i] for i in kept]
        self._starts.extend(starts)
        self._ends.extend(ends)
        added = len(starts)
        self._block_of.extend([len(self._blocks)] * added)
        self._unused.append(added)
        self._blocks.append(block if added else None)

    def __len__(self) -> int:
        return len(self._starts)

    def __getitem__(self, index: int) -> bytes:
        """A line that has not been used."""
        block = self._blocks[self._block_of[index]]
        assert block is not None
        return block[self._starts[index] : self._ends[index]]

    def used(self, indices: Iterable[int]) -> None:
        """Lines that are not asked for again; they give their part of the memory back."""
        for number, count in Counter(map(self._block_of.__getitem__, indices)).items():
            self._unused[number] -= count
            if not self._unused[number]:
                block, self._blocks[number] = self._blocks[number], None
                if block is not None:
                    block.close()


def _fill(file: BinaryIO, view: memoryview, end: int) -> int:
    """Read into `view` from `end` on until it is full or the file ends; gives the new end."""
    while end < len(view):
        with view[end:] as space:
            count = file.readinto(space)  # type: ignore[attr-defined]
        if not count:
            break
        end += count
    return end
