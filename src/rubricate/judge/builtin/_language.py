"""The language of a text, as far as its function words or its letters show it."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from functools import lru_cache

from rubricate.judge.builtin._text import WORDS

LOOKED_AT = 600
"""Characters of a text that are examined."""

SURE = 0.3
"""Share of English function words from which a text is English, whatever else it looks like."""

LEAST = 2
"""The minimum number of function words of a language in a text."""

_LANGUAGES_OF: dict[str, tuple[str, ...]] = {}
for _language, _words in WORDS["languages"].items():
    for _word in _words.split():
        _LANGUAGES_OF[_word] = (*_LANGUAGES_OF.get(_word, ()), _language)
_ENGLISH = frozenset(WORDS["languages"]["English"].split())
_WORD = re.compile(r"[^\W\d_]+")
_CAPITAL = r"[A-Z\u00c0-\u00d6\u00d8-\u00de]\w*"
_NAME = re.compile(rf"\b{_CAPITAL}(?:\s+(?:[^\W\d_A-Z]{{1,3}}\s+){{0,3}}{_CAPITAL})+")
"""Names such as "Juan de la Cruz" and "Las Vegas", whose short words do not show a language."""


def _without_name(match: re.Match[str]) -> str:
    """Remove a name; keep a function word at the beginning of a text ("Der Zug kommt")."""
    name = match[0]
    begins = not match.start() and name.split()[0].lower() in _LANGUAGES_OF
    return name if begins else " "


@lru_cache(maxsize=1024)
def language(beginning: str) -> str:
    """The language of a text's first `LOOKED_AT` characters, or "" if it is unclear.

    For texts in Latin letters it is the language with most of the function words, if no other has
    as many; for others the script ("CYRILLIC", "CJK").
    """
    words = _WORD.findall(beginning.lower())
    if not words:
        return ""
    english = sum(map(_ENGLISH.__contains__, words))
    if english >= LEAST and english >= SURE * len(words):
        return "English"
    if not beginning.isascii():
        scripts = Counter(
            unicodedata.name(letter, "?").split(" ")[0].split("-")[0]
            for word in words
            for letter in word[:4]
            if letter > "\u024f"
        )
        if scripts:
            script, count = scripts.most_common(1)[0]
            if script in ("HIRAGANA", "KATAKANA"):
                script = "CJK"
            if 2 * count > sum(min(4, len(word)) for word in words):
                return script
    counts: Counter[str] = Counter()
    words = _WORD.findall(_NAME.sub(_without_name, beginning).lower())
    for word in words:
        for name in _LANGUAGES_OF.get(word, ()):
            counts[name] += 1
    ranked = counts.most_common(2)
    if not ranked or ranked[0][1] < LEAST:
        return ""
    if len(ranked) > 1 and ranked[0][1] == ranked[1][1]:
        return ""
    name, count = ranked[0]
    return name if 8 * count >= len(words) else ""


def not_english(submission: str, sought: str) -> str:
    """Why two texts are not compared: one of them is not English; "" if both are."""
    for what, text in (("The submission", submission), ("What is looked for", sought)):
        if (own := language(text[:LOOKED_AT])) not in ("", "English"):
            return f"{what} is {own}, and this judge compares English words."
    return ""
