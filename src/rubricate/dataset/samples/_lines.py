"""The lines of a file, held so that they give their memory back as they are used.

Lines stand in blocks outside Python's heap. A block whose lines have all been used is unmapped, so
that a file that becomes samples one after the other is never in memory twice.
"""

from __future__ import annotations

import mmap
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate, islice
from operator import itemgetter
from typing import BinaryIO

FIRST_BLOCK = 1 << 20
BLOCK = 1 << 22
"""Bytes in a block: the first, and the others (more where a line is longer)."""
BOM = b"\xef\xbb\xbf"
_AS_OBJECT = {ord("{")}


class _Block:
    """Some lines. `starts` has where each begins, and where the last one ends."""

    def __init__(self, memory: mmap.mmap, starts: array[int]) -> None:
        self.memory = memory
        self.starts = starts
        self.unused = len(starts) - 1

    def lines(self, first: int, count: int) -> list[bytes]:
        """`count` lines from `first` on."""
        self.memory.seek(self.starts[first])
        return list(islice(iter(self.memory.readline, b""), count))


class HeldLines:
    """The lines of a file that are not blank.

    Attributes:
        numbers: the number of each line in the file, from 1.
    """

    def __init__(self, file: BinaryIO) -> None:
        """Read the whole file."""
        self._blocks: list[_Block | None] = []
        self._firsts: list[int] = []  # each block's first line
        blank: list[int] = []
        held, rest, size = 0, b"", FIRST_BLOCK
        last = False
        while not last:
            size = max(size, 2 * len(rest))
            memory = _memory(size)
            memory.write(rest)
            with memoryview(memory) as view:
                end = _fill(file, view, len(rest))
            if last := end < size:
                if not end:
                    break
                memory = _with([memory[:end]])
            memory.seek(0)
            lines = list(iter(memory.readline, b""))
            rest = b"" if last or lines[-1].endswith(b"\n") else lines.pop()
            if lines and not held and not blank and lines[0].startswith(BOM):
                lines[0] = lines[0][len(BOM) :]
                memory = _with(lines)
            if not set(map(itemgetter(0), lines)) <= _AS_OBJECT:  # blank ones, perhaps
                before = held + len(blank) + 1
                blank.extend(n for n, line in enumerate(lines, before) if not line.strip())
                kept = [line for line in lines if line.strip()]
                if len(kept) < len(lines):
                    lines = kept
                    memory = _with(lines)
            if lines:
                starts = array("Q", accumulate(map(len, lines), initial=0))
                self._blocks.append(_Block(memory, starts))
                self._firsts.append(held)
                held += len(lines)
            size = BLOCK
        left = set(blank)
        self.numbers: Sequence[int] = range(1, held + 1)
        if left:
            self.numbers = [n for n in range(1, held + len(left) + 1) if n not in left]

    def __len__(self) -> int:
        return len(self.numbers)

    def unused(self, indices: Sequence[int]) -> list[bytes]:
        """Lines that have not been used."""
        found: list[bytes] = []
        for number, first, count in self._runs(indices):
            block = self._blocks[number]
            assert block is not None, "a line is asked for again"
            found += block.lines(first, count)
        return found

    def used(self, indices: Sequence[int]) -> None:
        """Lines that are not asked for again; they give their part of the memory back."""
        for number, _, count in self._runs(indices):
            block = self._blocks[number]
            assert block is not None, "a line is used again"
            block.unused -= count
            if not block.unused:
                self._blocks[number] = None
                block.memory.close()

    def _runs(self, indices: Sequence[int]) -> list[tuple[int, int, int]]:
        """The lines as runs that stand one after the other: block, first line in it, count."""
        runs: list[tuple[int, int, int]] = []
        firsts, total = self._firsts, len(self)
        position = 0
        while position < len(indices):
            index = indices[position]
            number = bisect_right(firsts, index) - 1
            end = firsts[number + 1] if number + 1 < len(firsts) else total
            count = min(end - index, len(indices) - position)
            if indices[position + count - 1] != index + count - 1:
                count = 1
            runs.append((number, index - firsts[number], count))
            position += count
        return runs


def _memory(size: int) -> mmap.mmap:
    return mmap.mmap(-1, size, access=mmap.ACCESS_COPY)  # of this process alone


def _with(lines: Sequence[bytes]) -> mmap.mmap:
    """Memory that holds these lines and nothing else."""
    text = b"".join(lines)
    memory = _memory(max(1, len(text)))
    memory.write(text)
    return memory


def _fill(file: BinaryIO, view: memoryview, end: int) -> int:
    """Read into `view` from `end` on until it is full or the file ends; gives the new end."""
    while end < len(view):
        with view[end:] as space:
            count = file.readinto(space)  # type: ignore[attr-defined]
        if not count:
            break
        end += count
    return end
