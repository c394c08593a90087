"""How long a text is for a model."""

from __future__ import annotations

import math
from collections.abc import Callable

CountTokens = Callable[[str], int]
BYTES_PER_TOKEN = 3.5
"""Of a text's UTF-8. English prose has four to five, so that this guess is on the safe side; tables
and addresses have about three, Chinese and Japanese about three (one character)."""


def estimated_tokens(text: str) -> int:
    """About how many tokens a text has: one for `BYTES_PER_TOKEN` bytes of its UTF-8."""
    return math.ceil(len(text.encode("utf-8", "surrogatepass")) / BYTES_PER_TOKEN)
