"""Answers copied from the prompt: a reply that repeats text it was shown has judged nothing."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from itertools import accumulate
from typing import Any

from rubricate.errors import UnreadableReply

_ESCAPED = re.compile(
    r"\\+(?:(?-i:U)([0-9a-f]{8})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|x([0-9a-f]{2}))"
    r"|%u([0-9a-f]{4})|%([2-7][0-9a-f])|\\+(?P<octal>[01][0-7]{2})",
    re.IGNORECASE,
)
_MAY_HOLD = re.compile(rf"[{{<&]|{_ESCAPED.pattern}", re.IGNORECASE)
_DROPPED = re.compile(r"""\\+[nrtbf]?|[\s"'`*“”‘’]+""")
_INVISIBLE = re.compile(
    "[\u00ad\u0300-\u036f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\u25a1]+"
)
"""Characters that are invisible within a word, and their visible replacement in the prompt (□)."""
_TAGS = {0xE0000 + code: code for code in range(0x20, 0x7F)}
"""Invisible Unicode tag characters, by the ASCII characters that they encode."""
_WORD = re.compile(r"[^\W_]+")
_NEAR = 3
"""The maximum number of words between a reason and a verdict, or between a verdict and its key,
that belong together ("... and the verdict MET"). At 1 such a sentence is missed; at 6 a submission
that mentions a verdict anywhere after a sentence quoted as the reason would count as an answer."""
_WITHIN = 300
"""Maximum words over which the parts of an answer spread, including quotes between them. Reasoned,
not measured: at half, a reason and a verdict with a page of quotes between them no longer count as
an answer; at double, more honest quotes are asked about again."""
_NAMES = ("verdict", "score", "rating", "grade")
"""Names of the verdict in prose or in another format."""


def holds_answer(material: str, keys: Collection[str]) -> bool:
    """Whether the material shown to the model contains an object with one of these keys, or such
    tags."""
    if not _MAY_HOLD.search(material):
        return False
    shown = _normal(material)
    return any(
        re.search(rf"[{{,]{re.escape(key)}:(?!\.\.\.)|<{re.escape(key)}>", shown)
        for key in map(str.casefold, keys)
    )


def refuse_repetition(parts: Mapping[str, Any], material: str) -> None:
    """Raise `UnreadableReply` if the material shown to the model contains the reason of an answer
    together with its verdict.

    Only letters and digits are compared, so that spacing, escapes, quotation marks, markup, letter
    case and format make no difference. A reason alone may be an honest quote. The verdict counts as
    being with it if it is a few words away, or follows its own name (`verdict`) in the same
    passage.

    Args:
        parts: the keys and values of the answer: the reason first, then the verdict.
        material: the text shown to the model.
    """
    (reason_name, reason), (name, verdict) = parts.items()
    words = _WORD.findall(_decoded(reason))
    text = _decoded(material)
    if not all(word in text for word in words):
        return
    shown = _shown(text)
    label = _letters(str(verdict)) if isinstance(verdict, str | int | float) else ""
    names = {*_NAMES, _letters(name)}
    for first, last in shown.places("".join(words)):
        if len(words) < _NEAR:  # a few words occur anywhere by chance
            before, after = shown.word(first - 1), shown.word(last)
            is_part = after in (*names, before, "evidence") or shown.ends(label, first - 1)
            if before != _letters(reason_name) or not is_part:
                continue
        elif len(label) > 1 and not label.isdecimal():
            after_it = any(shown.begins(label, last + n) for n in range(_NEAR + 1))
            if after_it or any(shown.ends(label, first - n) for n in range(_NEAR + 1)):
                raise _repeated()
        named = range(max(0, first - _WITHIN), min(last + _WITHIN, len(shown.words)))
        if any(
            shown.words[word] in names
            and (not label or any(shown.begins(label, word + n) for n in range(1, _NEAR + 1)))
            for word in named
        ):
            raise _repeated()


def _repeated() -> UnreadableReply:
    return UnreadableReply("the reply repeats an answer from the material, word for word")


class _Shown:
    """The words of a text, and all its letters and digits joined."""

    def __init__(self, text: str) -> None:
        self.words = _WORD.findall(text)
        self._row = "".join(self.words)
        self._starts = [0, *accumulate(map(len, self.words))]

    def word(self, index: int) -> str:
        return self.words[index] if 0 <= index < len(self.words) else ""

    def places(self, letters: str) -> Iterator[tuple[int, int]]:
        """The ranges of words in which the letters occur, 50 at most; for "", each word."""
        if not letters:
            yield from ((word, word) for word in range(len(self.words)))
            return
        at = -1
        for _ in range(_MOST):
            at = self._row.find(letters, at + 1)
            if at < 0:
                return
            first, last = self._index(at), self._index(at + len(letters))
            if first is not None and last is not None:
                yield first, last

    def begins(self, letters: str, word: int) -> bool:
        """Whether whole words starting with this one have these letters."""
        if not letters or not 0 <= word < len(self.words):
            return False
        at = self._starts[word]
        return self._row.startswith(letters, at) and self._index(at + len(letters)) is not None

    def ends(self, letters: str, word: int) -> bool:
        """Whether whole words ending before this one have these letters."""
        if not letters or not 0 < word <= len(self.words):
            return False
        at = self._starts[word] - len(letters)
        return at >= 0 and self._row.startswith(letters, at) and self._index(at) is not None

    def _index(self, at: int) -> int | None:
        """The index of the word that starts at a letter."""
        index = bisect_left(self._starts, at)
        return index if self._starts[index] == at else None


_shown = lru_cache(maxsize=8)(_Shown)
"""Cached, because all criteria of an item share the material."""
_MOST = 50
"""Maximum occurrences of a reason in the material that are checked, so that a text full of
repetitions cannot take any length of time (50 of them in 75 kB: 53 ms, 100: 69 ms). At half, an
answer behind 25 repetitions is missed."""


def _letters(text: str) -> str:
    return "".join(_WORD.findall(_plain(text)))


def _plain(text: str) -> str:
    """Return a text in lower case, without accents, invisible characters and variants of
    letters."""
    if not text.isascii():
        text = unicodedata.normalize("NFKD", text.translate(_TAGS))
        text = _INVISIBLE.sub("", text)
    return text.casefold()


@lru_cache(maxsize=64)
def _decoded(text: str) -> str:
    """Return `_plain` of a text with its escapes decoded. Cached for the criteria of an item."""
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text or "%" in text:
        text = _ESCAPED.sub(_character, text)
        text = re.sub(r"\\+[nrtbf]?", " ", text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # join halves
    return _plain(text)


def _normal(text: str) -> str:
    """Return a text without anything that depends on how it is written."""
    return _DROPPED.sub("", _decoded(text))


def _character(escape: re.Match[str]) -> str:
    code = int(escape[escape.lastindex or 0], 8 if escape["octal"] else 16)
    return chr(code) if code <= sys.maxunicode else escape[0]
