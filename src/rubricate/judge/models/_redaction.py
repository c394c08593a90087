"""Keys in what an endpoint answers, however they are written there.

An endpoint, or a proxy before it, may repeat what it was sent: in an error, or in a reply. What it
repeats it may write in another way, such as with JSON's `\\u` escapes, which a reader of the
reply takes back. So keys are looked for in the text as it reads once nothing is escaped any more.
"""

from __future__ import annotations

import re
import unicodedata
from base64 import b64encode
from collections.abc import Iterator, Sequence
from functools import lru_cache

KEY = "[key]"
_CODE = "[2-7][0-9a-fA-F]"
_ESCAPE = re.compile(
    rf"[\\%&](?:\\{{0,8}}(?:u00({_CODE})|u\{{0*({_CODE})\}}|x({_CODE})"
    rf"|(u00[aA][dD]|u20[0-6][0-9a-fA-F]|u[fF][eE][fF][fF]))"
    rf"|(?:25)*({_CODE})|#[xX]0*({_CODE});?|#0*([3-9][0-9]|1[0-2][0-9]);?)"
)
"""A character that a key can have, or that is not seen: in JSON, in other languages, in addresses
(encoded once or more), and in HTML."""
_NOT_SEEN, _DECIMAL = 4, 7
"""The groups of what is not seen, and of decimal digits."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""What is not seen between two letters."""
DEEPEST = 4
"""Escapes within escapes that are taken back. At half, a page that quotes an error keeps a key; at
double, a text of nothing but escapes takes twice as long."""
LEAST = 12
"""Characters that are no word by chance. Shorter keys, such as EMPTY for a server of your own, are
looked for as they are written alone."""


def redacted(text: str, secrets: Sequence[str]) -> str:
    """A text without these secrets; the same text where none is in it.

    Where one is written with escapes, those of its kind are taken back in the whole text. Quotes
    and backslashes stay escaped, so that JSON stays JSON.
    """
    for secret in secrets:
        text = text.replace(secret, KEY)
    is_plain = text.isascii() and "\\" not in text and "%" not in text and "&" not in text
    read = text if is_plain else _read(text)
    low, is_found = read.lower(), False
    for spelling in _spellings(tuple(secrets)):
        if spelling in low:
            read = re.sub(re.escape(spelling), KEY, read, flags=re.IGNORECASE)
            low, is_found = read.lower(), True
    return read if is_found else text


def _read(text: str) -> str:
    """A text as it reads without escapes, and without what is not seen."""
    for _ in range(DEEPEST):
        plain = _ESCAPE.sub(_character, text.replace("&amp;", "&"))
        if plain == text:
            break
        text = plain
    return text if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def _character(match: re.Match[str]) -> str:
    """What an escape represents."""
    if match.lastindex == _NOT_SEEN:
        return ""
    digits = match[match.lastindex or 0]
    letter = chr(int(digits, 10 if match.lastindex == _DECIMAL else 16))
    return letter if letter.isprintable() and letter not in '"\\' else match[0]


@lru_cache(maxsize=64)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """What these secrets are written as where nothing is escaped, in lower case."""
    spellings = (
        spelling for secret in secrets for spelling in (secret, *_encoded(secret.encode()))
    )
    return tuple(
        dict.fromkeys(spelling.lower() for spelling in spellings if len(spelling) >= LEAST)
    )


def _encoded(secret: bytes) -> Iterator[str]:
    """A secret in base64, wherever in a text it begins, and in hexadecimal digits."""
    yield secret.hex()
    for before in range(3):
        # The first and last digits also have bits of what is around the secret.
        whole = b64encode(bytes(before) + secret)
        digits = whole[(0, 2, 3)[before] : (before + len(secret)) * 8 // 6].decode()
        yield digits
        yield digits.translate(str.maketrans("+/", "-_"))
