"""Splitting a long document along its Markdown structure.

Every character of the document belongs to one chunk: the chunks' own spans follow each other
without a gap, and the text that a chunk repeats of the one before it precedes its own span.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

CountTokens = Callable[[str], int]
BYTES_PER_TOKEN = 3.5
"""UTF-8 bytes per token. English prose has four to five, so that this estimate is on the safe side;
tables and addresses have about three, Chinese and Japanese about three (one character)."""
WHOLE = frozenset({"table_open", "code_block"})
"""Blocks that are never cut, besides closed fenced code."""
ENOUGH = 0.75
"""The minimum fill of a chunk for a heading to begin the next one."""
_LINE_END = re.compile(r"\r\n?|\n")
_BREAKS = (
    re.compile(r"(?:\r\n?|\n)[ \t]*(?:\r\n?|\n)\s*"),
    _LINE_END,
    re.compile(r"[.!?][\"'”’)\]]*\s+|[。！？]"),
    re.compile(r"\s+"),
)
"""Where prose may be cut, best first: paragraphs, lines, sentences, words."""


def estimated_tokens(text: str) -> int:
    """Estimate the number of tokens of a text: one for `BYTES_PER_TOKEN` bytes of its UTF-8."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a document.

    Attributes:
        number: its position among the chunks, from 1.
        start: the beginning of its text: a character offset into the document.
        own: the beginning of its new text; from `start` to here it repeats the end of the chunk
            before.
        end: the end of its text.
        path: the headings above its own text, outermost first.
        tokens: the number of tokens of its text.
        oversized: whether it is over the budget: a table or code block that is not cut.
    """

    number: int
    start: int
    own: int
    end: int
    path: tuple[str, ...]
    tokens: int
    oversized: bool = False


@dataclass(frozen=True, slots=True)
class Section:
    """The text under a heading, up to the next heading of any level.

    Attributes:
        level: the level of the heading, from 1; 0 for the text before the first heading.
        title: the heading.
        body: the beginning of the text under it.
        end: its end.
    """

    level: int
    title: str
    body: int
    end: int


@dataclass(frozen=True, slots=True)
class _Unit:
    """A span that is kept together: a block, or as much of a block as fits."""

    start: int
    end: int
    size: int
    whole: bool
    level: int  # of a heading; 0 for anything else
    path: tuple[str, ...]


def split_document(
    text: str,
    *,
    budget: int,
    overlap: int = 0,
    count: CountTokens = estimated_tokens,
) -> tuple[Chunk, ...]:
    """Split a document into chunks of at most `budget` tokens.

    Chunks end between blocks (paragraphs, lists, tables, code), preferably before a heading. A
    table or code block is never cut: one over the budget is a separate chunk, marked as
    `oversized`. Any other block over the budget is cut between paragraphs, lines, sentences or
    words, in this order of preference.

    Args:
        text: the document, Markdown or plain.
        budget: the maximum number of tokens of a chunk, repeated text included.
        overlap: the maximum number of tokens that a chunk repeats of the one before.
        count: counts tokens.

    Returns: the chunks in order; their spans from `own` to `end` make up the document.
    """
    limit = max(1, budget - overlap)
    groups = list(_packed(text, _units(text, limit, count), limit, count))
    chunks: list[Chunk] = []
    for number, units in enumerate(groups, start=1):
        own, end = units[0].start, units[-1].end
        start = own
        if number > 1 and overlap:
            start = _overlap_start(text, groups[number - 2], overlap, count)
            if not text[start:own].strip() or count(text[start:end]) > budget:
                start = own
        tokens = count(text[start:end])
        chunks.append(Chunk(number, start, own, end, units[0].path, tokens, tokens > budget))
    return tuple(chunks)


def sections(text: str) -> list[Section]:
    """The document's sections in order; at least one unless the text is empty."""
    result: list[Section] = []
    for block in _blocks(text):
        if block.level or not result:
            body = block.end if block.level else block.start
            result.append(Section(block.level, block.title, body, block.end))
        else:
            result[-1] = replace(result[-1], end=block.end)
    return result


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable("table").disable("inline")


def _units(text: str, limit: int, count: CountTokens) -> list[_Unit]:
    """The document's blocks; blocks over the limit in pieces, if they may be cut."""
    units: list[_Unit] = []
    for block in _blocks(text):
        start, end = block.start, block.end
        size = count(text[start:end])
        if size <= limit or block.whole:
            units.append(_Unit(start, end, size, block.whole, block.level, block.path))
            continue
        for first, last in _pieces(text, start, end, limit, count):
            units.append(_Unit(first, last, count(text[first:last]), False, 0, block.path))
    return units


class _Block(NamedTuple):
    """A block with the text up to the next one; `level` and `title` are a heading's."""

    start: int
    end: int
    whole: bool
    level: int
    title: str
    path: tuple[str, ...]


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the document as blocks without gaps."""
    if not text:
        return
    lines = [0, *(match.end() for match in _LINE_END.finditer(text)), len(text)]
    cuts = {0, len(text)}
    whole: dict[int, int] = {}
    headings: dict[int, tuple[int, str]] = {}
    tokens = _parser().parse(text)
    for index, token in enumerate(tokens):
        if token.map is None or token.nesting < 0 or token.type == "inline":
            continue
        start, end = (lines[min(line, len(lines) - 1)] for line in token.map)
        if _is_whole(token, text[start:end]):
            end = _without_blank_end(text, start, end)
            whole[start] = end
            cuts |= {start, end}
        elif token.level == 0:
            cuts.add(start)
        if token.type == "heading_open" and token.level == 0:
            headings[start] = (int(token.tag[1:]), tokens[index + 1].content)
    ordered = sorted(cuts)
    for start, end in whole.items():
        cuts.difference_update(ordered[bisect_right(ordered, start) : bisect_left(ordered, end)])
    path: list[tuple[int, str]] = []
    for start, end in pairwise(sorted(cuts)):
        level, title = headings.get(start, (0, ""))
        if level:
            path = [parent for parent in path if parent[0] < level]
        above = tuple(name for _, name in path)
        yield _Block(start, end, whole.get(start) == end, level, title, above)
        if level:
            path.append((level, title))


def _is_whole(token: Token, block: str) -> bool:
    """Whether a block must not be cut: a table, or code unless it merely lacks its end."""
    if token.type == "fence":
        return block.rstrip().rpartition("\n")[2].lstrip(" >\t").startswith(token.markup)
    return token.type in WHOLE


def _without_blank_end(text: str, start: int, end: int) -> int:
    """The end of a block without trailing blank lines."""
    stripped = len(text[start:end].rstrip()) + start
    match = _LINE_END.search(text, stripped, end)
    return match.end() if match else end


def _pieces(
    text: str, start: int, end: int, limit: int, count: CountTokens
) -> Iterator[tuple[int, int]]:
    """Prose in pieces of at most `limit` tokens, but at least a character."""
    while start < end:
        fits = _fitting(text, start, end, limit, count)
        if fits < end:
            fits = _last_break(text, start, fits)
        yield start, fits
        start = fits


def _fitting(text: str, start: int, end: int, limit: int, count: CountTokens) -> int:
    """The end of the longest beginning with at most `limit` tokens."""
    low, high = start + 1, min(end, start + 8 * limit + 1)
    if count(text[start:high]) <= limit:
        return high
    while low < high:
        middle = (low + high + 1) // 2
        if count(text[start:middle]) <= limit:
            low = middle
        else:
            high = middle - 1
    return low


def _last_break(text: str, start: int, end: int) -> int:
    """The best place for a cut in the second half of a span, else its end."""
    middle = start + (end - start) // 2
    for pattern in _BREAKS:
        last = None
        for match in pattern.finditer(text, middle, end):
            last = match.end()
        if last is not None and last > start:
            return last
    return end


def _packed(
    text: str, units: Sequence[_Unit], limit: int, count: CountTokens
) -> Iterator[list[_Unit]]:
    """Combine units, as many as fit."""
    current: list[_Unit] = []
    for unit in units:
        size = sum(member.size for member in current)
        full = size + unit.size > limit
        if current and (full or (0 < unit.level <= 3 and size >= ENOUGH * limit)):
            rest = _headings_at_end(current)
            if sum(member.size for member in rest) + unit.size > limit:
                rest = []
            yield from _emitted(text, current[: len(current) - len(rest)], limit, count)
            current = rest
        current.append(unit)
    if current:
        yield from _emitted(text, current, limit, count)


def _headings_at_end(units: Sequence[_Unit]) -> list[_Unit]:
    """The trailing headings without text after them; none if there is nothing else."""
    place = len(units)
    while place and units[place - 1].level:
        place -= 1
    return list(units[place:]) if place else []


def _emitted(
    text: str, units: list[_Unit], limit: int, count: CountTokens
) -> Iterator[list[_Unit]]:
    """A chunk's units, as two chunks if together they have more tokens than their sum."""
    if len(units) > 1 and count(text[units[0].start : units[-1].end]) > limit:
        half = len(units) // 2
        yield from _emitted(text, units[:half], limit, count)
        yield from _emitted(text, units[half:], limit, count)
    elif units:
        yield units


def _overlap_start(text: str, before: Sequence[_Unit], overlap: int, count: CountTokens) -> int:
    """Where the next chunk begins to repeat this one: whole units, or the last sentences of a
    unit."""
    end = before[-1].end
    start = end
    for unit in reversed(before):
        if count(text[unit.start : end]) > overlap:
            if not unit.whole:
                start = min(start, _sentence_start(text, unit.start, start, end, overlap, count))
            break
        start = unit.start
    return start


def _sentence_start(
    text: str, low: int, high: int, end: int, overlap: int, count: CountTokens
) -> int:
    """The first beginning of a line or sentence, else of a word, whose rest up to `end` may be
    repeated."""
    for patterns in (_BREAKS[:3], _BREAKS[3:]):
        ends = {match.end() for pattern in patterns for match in pattern.finditer(text, low, high)}
        starts = sorted(ends - {high})
        place = bisect_left(starts, True, key=lambda at: count(text[at:end]) <= overlap)
        if place < len(starts):
            return starts[place]
    return high
