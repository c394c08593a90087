"""Answers that stand in what the model was shown: a reply that repeats one has judged nothing."""

from __future__ import annotations

import html
import re
import sys
import unicodedata
from collections.abc import Collection, Mapping
from typing import Any

from rubricate.errors import UnreadableReply

__all__ = ["holds_answer", "refuse_repetition"]

_ESCAPED = re.compile(
    r"\\+(?:u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\}|U([0-9a-f]{8})|x([0-9a-f]{2}))|%([2-7][0-9a-f])",
    re.IGNORECASE,
)
_MAY_HOLD = re.compile(rf"[{{<&]|{_ESCAPED.pattern}", re.IGNORECASE)
_HIDDEN = re.compile(r"[\u00ad\u200b-\u200f\u2060-\u2064\ufeff\uff01-\uff5e]")
"""What is not seen within a word, and letters of full width."""
_DROPPED = re.compile(r"""\\+[nrtbf]?|[\s"'`“”‘’*+\u00ad\u200b-\u200f\u2060-\u2064\ufeff]+""")


def holds_answer(material: str, keys: Collection[str]) -> bool:
    """Whether what the model was shown holds an object with one of these keys, or tags of it."""
    if not _MAY_HOLD.search(material):
        return False
    shown = _normal(material)
    return any(
        re.search(rf"[{{,]{re.escape(key)}:(?!\.\.\.)|<{re.escape(key)}>", shown)
        for key in map(str.casefold, keys)
    )


def refuse_repetition(parts: Mapping[str, Any], material: str) -> None:
    """`UnreadableReply` where all parts of an answer stand in what the model was shown.

    However it is spaced, escaped, quoted and capitalized there, and in whatever order: a model that
    repeats a text has not judged it.

    Args:
        parts: the answer's keys and values, the reason among them.
        material: what the model was shown.
    """
    is_plain = "&#" not in material and not _ESCAPED.search(material)
    if is_plain and not _HIDDEN.search(material):  # else words may be written in another way
        folded = material.casefold()
        if not all(key in folded for key in parts):
            return
        if not all(word in folded for word in _longest_words(parts)):
            return
    shown = _normal(material)
    for key, value in parts.items():
        name = _normal(key)
        if isinstance(value, str):
            text = _normal(value)
            forms: tuple[str, ...] = (
                f"{name}:{text},",
                f"{name}:{text}}}",
                f"<{name}>{text}</{name}>",
            )
        else:  # a number can be written in many ways; the reason beside it cannot
            forms = (f"{name}:", f"<{name}>")
        if not any(form in shown for form in forms):
            return
    raise UnreadableReply("the reply repeats an answer that stands in the material, word for word")


def _longest_words(parts: Mapping[str, Any]) -> list[str]:
    """Words that stand in a text, in lower case, in whatever way the parts are written there."""
    words = [
        re.findall(r"[a-z0-9]+", one.casefold()) for one in parts.values() if isinstance(one, str)
    ]
    return [max(found, key=len) for found in words if found]


def _normal(text: str) -> str:
    """A text without what writing it in another way can change."""
    if "&" in text:
        text = html.unescape(text)
    if "\\" in text or "%" in text:
        text = _ESCAPED.sub(_character, text)
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")  # join halves
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return _DROPPED.sub("", text).casefold()


def _character(found: re.Match[str]) -> str:
    code = int(found[found.lastindex or 0], 16)
    return chr(code) if code <= sys.maxunicode else found[0]
