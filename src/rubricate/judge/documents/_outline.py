"""A long document as a whole: its counts, its headings, and the beginning of each section."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rubricate.judge.documents._splitter import CountTokens, Section, sections
from rubricate.rubric import Criterion, count_words, document_counts

OUTLINE_TAG, PARTS_TAG = "whole", "parts"
"""Tags of a criterion that decide how a long document is read for it, whatever its words."""
BEGINNINGS = (240, 120, 60, 0)
"""Characters of the beginning of each section; the largest number within the budget is used."""
LONGEST_TITLE = 120
"""The maximum number of characters before the first colon of a requirement for them to be its
title."""
_WHOLE = re.compile(
    r"\b(?:word count|\d+ words|words long|(?:total|overall|appropriate) length|too long|"
    r"structure|well-structured|structured (?:as|by|into|with)|(?:re|well-)?organi[sz]ed|"
    r"organi[sz]ation|headings?|subheadings?|table of contents|layout|formatt(?:ed|ing)|"
    r"number of (?:\w+ )?(?:citations|references|sources|tables|figures|links|sections)|"
    r"(?:at least|at most|no more than|fewer than|more than) \w+ (?:\w+ )?"
    r"(?:citations|references|sources|tables|figures|links|sections|words|pages))\b",
    re.IGNORECASE,
)

_PROSE = re.compile(r"\b(?:sentence|paragraph|gramma)", re.IGNORECASE)
"""Words for what an outline cannot show, whatever the other words are."""


def is_about_the_whole(criterion: Criterion) -> bool:
    """Whether a criterion is about the document as a whole: its length, structure, or counts.

    A tag `whole` or `parts` decides; else the words of the requirement, or of its title if it
    begins with one and a colon. A wrong guess is harmless, because anything that the outline does
    not show is searched for in the parts.
    """
    if PARTS_TAG in criterion.tags:
        return False
    title, colon, _ = criterion.requirement.partition(":")
    text = title if colon and len(title) <= LONGEST_TITLE else criterion.requirement
    if OUTLINE_TAG in criterion.tags:
        return True
    return bool(_WHOLE.search(text)) and not _PROSE.search(text)


def outline(text: str, *, budget: int, count: CountTokens) -> str:
    """The document's counts, and its sections with their words and beginnings.

    To stay within `budget` tokens, it first shortens beginnings, then drops the lowest headings,
    then the last ones.
    """
    counts = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in document_counts(text).items())
    listed = sections(text)
    deepest = max((section.level for section in listed), default=0)
    head = f"Counts: {counts}\n\nSections, with their words and how they begin:\n"
    for level in range(deepest, 0, -1):
        kept = [section for section in listed if section.level <= level]
        for length in BEGINNINGS:
            whole = head + _listed(text, kept, length)
            if count(whole) <= budget:
                return whole
    kept = [section for section in listed if section.level <= 1]
    while kept and count(head + _listed(text, kept, 0)) > budget:
        kept = kept[: len(kept) // 2]
    return head + _listed(text, kept, 0)


def _listed(text: str, listed: Sequence[Section], length: int) -> str:
    return "\n".join(_line(text, section, length) for section in listed)


def _line(text: str, section: Section, length: int) -> str:
    body = text[section.body : section.end]
    title = section.title if section.level else "(before the first heading)"
    line = f"{'  ' * max(0, section.level - 1)}- {title[:200]} ({count_words(body)} words)"
    if length:
        begin = " ".join(body[: 4 * length].split())
        line += f": {begin[:length]}{'…' if len(begin) > length else ''}" if begin else ""
    return line
