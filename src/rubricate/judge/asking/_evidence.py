"""Finding a judge's quotes in the submission."""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Sequence
from functools import lru_cache

from rubricate.judge.asking._disguises import MEANT, SHOWN
from rubricate.rubric import Evidence, Paraphrase

SAME = str.maketrans(
    {letter: MEANT[shown] for letter, shown in SHOWN.items()}
    | dict.fromkeys("“”„«»", '"')
    | dict.fromkeys("‘’‚´", "'")
    | dict.fromkeys("–—−‑", "-")
    | dict.fromkeys("\u00a0\u202f\u2009\t\n\r\f\v\u2028\u2029", " ")
    | {"ς": "σ", **MEANT}
)
"""Characters that are written in several ways, and white space: each replaced by a single one."""
QUOTE_MARKS = "\"' "
MOST_PLACES = 1000
"""The maximum number of occurrences checked if a quote occurs only within other words."""
_ELLIPSIS = re.compile(r" ?[\[(]?(?:\.\.\.+|…)[\])]? ?")
_MARKER = r"(?:[-*+•>]|#{1,6})"
_REWRITTEN = re.compile(
    rf"(?P<space>(?:\s{{2,}}|\s(?={_MARKER}\s)|\A(?={_MARKER}\s))(?:{_MARKER}\s+)*)"
    r"|(?P<emphasis>[*`_]+)|~~"
    r"|\[(?=[^\[\]\n]*\]\([^()\s]+\))|\]\([^()\s]+\)"  # a link's brackets and its address
    r"|[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff□]"  # what nobody sees
    r"|[\ufb00-\ufb06]|\w[\u0300-\u036f]+"
)
"""Spacing, Markdown, and characters whose variants differ in length."""


def locate(quote: str, submission: str, first: Sequence[tuple[int, int]] = ()) -> Evidence:
    """Find a quote in the submission.

    The quote is searched for literally in the whole text; then ignoring spacing, letter case,
    quotation marks, dashes and Markdown; then piece by piece if it omits something (`...`); and
    last by similarity, as a paraphrase (see `passage_like` for the limits). A quote that none of
    these steps finds was invented by the judge and has no offsets.

    Args:
        quote: the judge's quote.
        submission: the text.
        first: spans of the text to prefer if the quote occurs several times.
    """
    if not quote.strip():
        return Evidence(quote)
    if not first:
        at = submission.find(quote)  # usually it is there, as whole words
        if at >= 0 and not _within(submission, quote, at):
            return Evidence(quote, at, at + len(quote))
    for start, end in (*first, (0, len(submission))):
        if (at := _place(submission, quote, start, end)) >= 0:
            return Evidence(quote, at, at + len(quote))
    plain, wanted = _plain(submission), _Plain(quote).text.strip()
    spans = [(plain.place(start), plain.place(end)) for start, end in first]
    for start, end in (*spans, (0, len(plain.text))):
        if span := _written_otherwise(wanted, plain.text, start, end):
            return Evidence(quote, *plain.original(*span))
    from rubricate.judge.asking._similarity import passage_like

    if span := passage_like(wanted, plain.text):
        return Paraphrase(quote, *plain.original(*span))
    return Evidence(quote)


def _written_otherwise(wanted: str, text: str, start: int, end: int) -> tuple[int, int] | None:
    """The place of a quote, or of its pieces in order, in a text; both are plain."""
    for words in dict.fromkeys((wanted, wanted.strip(QUOTE_MARKS).removesuffix("."))):
        if words and (at := _place(text, words, start, end)) >= 0:
            return at, at + len(words)
    pieces = [piece for piece in _ELLIPSIS.split(wanted.strip(QUOTE_MARKS)) if piece]
    if not pieces or pieces == [wanted]:
        return None
    begin = at = start
    for number, piece in enumerate(pieces):
        place = _place(text, piece, at, end)
        if place < 0:
            return None
        begin = begin if number else place
        at = place + len(piece)
    return begin, at


def _place(text: str, words: str, start: int, end: int) -> int:
    """The place of words in a text, preferably as whole words; -1 if absent."""
    at = text.find(words, start, end)
    within = -1
    for _ in range(MOST_PLACES):
        if at < 0:
            break
        if not _within(text, words, at):
            return at
        if within < 0 and not _says_something_else(text, words, at):
            within = at
        at = text.find(words, at + 1, end)
    return within


def _within(text: str, words: str, at: int) -> bool:
    """Whether words begin or end inside a word of the text."""
    if at and words[0].isalnum() and text[at - 1].isalnum():
        return True
    end = at + len(words)
    return end < len(text) and words[-1].isalnum() and text[end].isalnum()


def _says_something_else(text: str, words: str, at: int) -> bool:
    """Whether words inside longer ones mean something else: '50 mg' in '150 mg' or '2.50 mg'."""
    if not _WORDS.search(words):
        return False
    end = at + len(words)
    return bool(
        (words[0].isdigit() and _ENDS_IN_NUMBER.search(text[max(0, at - 3) : at]))
        or (words[-1].isdigit() and _GOES_ON_AS_NUMBER.match(text[end : end + 3]))
        or _NEGATING_PREFIX.search(text[max(0, at - 5) : at])
    )


_WORDS = re.compile(r"[^\W\d_]{2}")
_ENDS_IN_NUMBER = re.compile(r"\d[.,]?\Z")
_GOES_ON_AS_NUMBER = re.compile(r"[.,]?\d")
_NEGATING_PREFIX = re.compile(r"(?<![^\W_])(?:un|in|im|ir|il|non|dis)-?\Z", re.IGNORECASE)


class _Plain:
    """A text without differences of spacing, letter case, marks and Markdown, with its offsets."""

    def __init__(self, text: str) -> None:
        self._cuts: list[tuple[int, int, int, int]] = []
        """For each replacement: start and end in the text, start and end in the plain text."""
        parts: list[str] = []
        at = length = 0
        for match in _REWRITTEN.finditer(text):
            begin, end = match.span()
            letters = _instead(match)
            parts += (text[at:begin], letters)
            start = length + begin - at
            length = start + len(letters)
            self._cuts.append((begin, end, start, length))
            at = end
        parts.append(text[at:])
        self.text = "".join(parts).replace("İ", "i").lower().translate(SAME)
        self._begins = [cut[0] for cut in self._cuts]
        self._cut_ends = [cut[2] for cut in self._cuts]

    def place(self, offset: int) -> int:
        """Convert an offset into the text to one into the plain text."""
        number = bisect_right(self._begins, offset) - 1
        if number < 0:
            return offset
        _, end, start, plain_end = self._cuts[number]
        return plain_end + offset - end if offset >= end else start

    def original(self, start: int, end: int) -> tuple[int, int]:
        """Convert a passage of the plain text to offsets into the text."""
        return self._offset(start), self._offset(end - 1, last=True) + 1

    def _offset(self, place: int, *, last: bool = False) -> int:
        number = bisect_right(self._cut_ends, place) - 1
        if number < 0:
            return place
        begin, end, _, plain_end = self._cuts[number]
        if place < plain_end:  # inside a replacement
            return end - 1 if last else begin
        return end + place - plain_end


def _instead(match: re.Match[str]) -> str:
    """The plain form of something that is written in several ways."""
    written, text = match.group(), match.string
    start, end = match.span()
    if match["space"] is not None:
        marks = written.strip()
        new_line = not start or "\n" in written
        return f" {marks} " if marks and not new_line else " "  # a - b
    if match["emphasis"] is not None:
        before, after = text[start - 1 : start], text[end : end + 1]
        within = before.isalnum() and after.isalnum()  # 2*3, a_name
        apart = before.strip() == after.strip() == ""  # 2 * 3
        return written if within or apart else ""
    return unicodedata.normalize("NFKC", written) if written[0].isalnum() else ""


@lru_cache(maxsize=32)  # the current items of a run: 100 calls in flight, a few criteria each
def _plain(submission: str) -> _Plain:
    return _Plain(submission)
