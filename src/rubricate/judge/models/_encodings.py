"""Bodies that a server or a gateway has compressed, though nobody asked for it."""

from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

from rubricate.errors import ModelError

if TYPE_CHECKING:
    from rubricate.judge.models._answer import Answer

_KNOWN = ("gzip", "x-gzip", "deflate")
_EITHER_HEADER = zlib.MAX_WBITS | 32
"""Has zlib find out by itself whether it is gzip or deflate."""


def plain_body(answer: Answer, longest: int) -> bytes:
    """The body as it was before it was compressed.

    Args:
        answer: what came.
        longest: how many bytes it may have at most.

    Raises:
        ModelError: `truncated` where it is damaged or too long, `bad_request` where it is
            compressed in a way that is not known.
    """
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity") or not answer.body:
        return answer.body
    if encoding not in _KNOWN:
        raise ModelError(
            "bad_request",
            f"HTTP {answer.status}: the answer is compressed by '{encoding}', which nobody asked "
            "for; have the server or its gateway send it as it is",
        )
    unpacking = zlib.decompressobj(_EITHER_HEADER)
    try:
        body = unpacking.decompress(answer.body, longest)
    except zlib.error as error:
        raise ModelError("truncated", f"the answer cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise ModelError("truncated", "the answer cannot be unpacked: it is cut off, or too long")
    return body
