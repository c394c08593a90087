"""Removing keys from an endpoint's responses, in any notation.

An endpoint, or a proxy, may repeat what it was sent: in an error, or in a reply. It may also use
another notation, such as JSON's `\\u` escapes, which a reader of the reply decodes. So keys are
searched for in the fully decoded text.
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
"""An escaped character that may be part of a key, or is invisible: in JSON, in other languages, in
URLs (encoded once or more), and in HTML."""
_NOT_SEEN, _DECIMAL = 4, 7
"""The groups for invisible characters, and for decimal digits."""
_UNSEEN = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e"
    "\u2060-\u206f\ufe00-\ufe0f\ufeff\ufff9-\ufffb\U000e0000-\U000e0fff]"
)
"""Invisible characters between two letters."""
DEEPEST = 4
"""Levels of nested escapes to decode. At half, a page that quotes an error keeps a key; at double,
a text of nothing but escapes takes twice as long."""
LEAST = 12
"""The length from which characters are not a word by chance. Shorter keys, such as EMPTY for a
server of your own, are searched for only in their literal form."""


def redacted(text: str, secrets: Sequence[str]) -> str:
    """Return a text without these secrets; the same text if it contains none.

    If a secret is written with escapes, all escapes of that kind are decoded in the whole text.
    Quotes and backslashes stay escaped, so that JSON stays JSON.
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
    """Return a text with its escapes decoded, and without invisible characters."""
    for _ in range(DEEPEST):
        plain = _ESCAPE.sub(_character, text.replace("&amp;", "&"))
        if plain == text:
            break
        text = plain
    return text if text.isascii() else unicodedata.normalize("NFKC", _UNSEEN.sub("", text))


def _character(match: re.Match[str]) -> str:
    """The character of an escape."""
    if match.lastindex == _NOT_SEEN:
        return ""
    digits = match[match.lastindex or 0]
    letter = chr(int(digits, 10 if match.lastindex == _DECIMAL else 16))
    return letter if letter.isprintable() and letter not in '"\\' else match[0]


@lru_cache(maxsize=64)
def _spellings(secrets: tuple[str, ...]) -> tuple[str, ...]:
    """All spellings of these secrets without escapes, in lower case."""
    spellings = (
        spelling for secret in secrets for spelling in (secret, *_encoded(secret.encode()))
    )
    return tuple(
        dict.fromkeys(spelling.lower() for spelling in spellings if len(spelling) >= LEAST)
    )


def _encoded(secret: bytes) -> Iterator[str]:
    """Yield a secret in base64, for any position in a text, and in hexadecimal digits."""
    yield secret.hex()
    for before in range(3):
        # The first and last digits also encode bits of the surrounding text.
        whole = b64encode(bytes(before) + secret)
        digits = whole[(0, 2, 3)[before] : (before + len(secret)) * 8 // 6].decode()
        yield digits
        yield digits.translate(str.maketrans("+/", "-_"))
