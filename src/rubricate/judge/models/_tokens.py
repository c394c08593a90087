"""A token as text, however a tokenizer or a server writes it."""

from __future__ import annotations

import re

_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
"""A byte of its own, as SentencePiece writes it."""
_MARKS = str.maketrans({"\u2581": " ", "\u0120": " ", "\u010a": "\n", "\u0109": "\t"})
"""Space and line breaks as SentencePiece and byte-level tokenizers write them at the beginning."""


def token_text(token: str, raw: object = None) -> str:
    """The text that a token stands for.

    Args:
        token: the token as it was named.
        raw: its bytes, as a list of numbers, where they are given.
    """
    if isinstance(raw, list) and raw:
        try:
            return bytes(raw).decode()
        except (TypeError, ValueError):  # no bytes, or part of a character
            pass
    if found := _BYTE.fullmatch(token):
        return chr(int(found[1], 16))
    marks = len(token) - len(token.lstrip("\u2581\u0120\u010a\u0109"))
    return token[:marks].translate(_MARKS) + token[marks:]
