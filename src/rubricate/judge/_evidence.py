"""Finding what a judge quotes in the text that it judges."""

from __future__ import annotations

import re
from functools import lru_cache

from rubricate.rubric import Evidence

__all__ = ["locate"]

SAME = str.maketrans("“”„«»‘’‚`´–—−‑\u00a0", "\"\"\"\"\"'''''---- ")
"""Marks that are written in several ways, one letter for one."""
ALIKE = 90.0
"""How alike (0 to 100, `rapidfuzz.fuzz.ratio`) a passage must be to count as what was quoted."""
SHORTEST = 12
"""Letters that a quote must have to be looked for where it is only nearly so; shorter ones are
nearly like something anywhere."""
_ELLIPSIS = re.compile(r"\s*(?:\[?\.\.\.+\]?|\[?…\]?)\s*")


def locate(quote: str, submission: str) -> Evidence:
    """Find a quote in the submission.

    It is looked for as it stands; then with other spacing, letter case, quotation marks and
    dashes; then piece by piece where it leaves something out (`...`); then by likeness. A quote
    that is found in none of these ways has no offsets: the judge has invented it.
    """
    if not quote.strip():
        return Evidence(quote)
    span = _exact(quote, submission) or _pieces(quote, submission) or _alike(quote, submission)
    return Evidence(quote, *span) if span else Evidence(quote)


def _exact(quote: str, submission: str, start: int = 0) -> tuple[int, int] | None:
    found = submission.find(quote, start)
    if found >= 0:
        return found, found + len(quote)
    for words in (quote, quote.strip("\"'“”‘’ ").removesuffix(".")):
        if pattern := _pattern(words):
            match = pattern.search(_plain(submission), start)
            if match:
                return match.span()
    return None


@lru_cache(maxsize=256)
def _pattern(quote: str) -> re.Pattern[str] | None:
    words = [re.escape(word) for word in quote.translate(SAME).split()]
    return re.compile(r"\s+".join(words), re.IGNORECASE) if words else None


@lru_cache(maxsize=8)
def _plain(submission: str) -> str:
    return submission.translate(SAME)


def _pieces(quote: str, submission: str) -> tuple[int, int] | None:
    pieces = [piece for piece in _ELLIPSIS.split(quote) if piece]
    if len(pieces) < 2:
        return _exact(pieces[0], submission) if pieces and pieces[0] != quote else None
    begin, end = None, 0
    for piece in pieces:
        span = _exact(piece, submission, end)
        if span is None:
            return None
        begin = span[0] if begin is None else begin
        end = span[1]
    return (begin or 0), end


def _alike(quote: str, submission: str) -> tuple[int, int] | None:
    if not SHORTEST <= len(quote.strip()) <= len(submission):
        return None
    from rapidfuzz import fuzz

    plain, wanted = _plain(submission).lower(), quote.strip().translate(SAME).lower()
    if len(plain) != len(submission):  # letters whose lower case is longer: offsets would move
        plain, wanted = submission, quote.strip()
    found = fuzz.partial_ratio_alignment(wanted, plain, score_cutoff=ALIKE)
    return (found.dest_start, found.dest_end) if found else None
