"""A journal's rows, whatever keeps them: records with a checksum, and texts that are deflated."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container, Sequence
from typing import Any

import orjson

from rubricate.run.journal._exchanges import Transcript

MOST_EXCHANGES = 1 << 18
"""Bytes of earlier exchanges that further ones under a key are put behind."""
_PACKED_FROM = 4096
"""Bytes of a text from which on it is packed."""


def checksum(key: str, record: bytes) -> int:
    """What stands beside a record, and is that of no other."""
    return zlib.crc32(record, zlib.crc32(key.encode("utf-8", "surrogatepass")))


def read_row(key: object, record: object, found: object) -> dict[str, Any] | None:
    """The record in a row, whose checksum was found beside it; None for a damaged one."""
    if not (isinstance(key, str) and isinstance(record, bytes)):
        return None
    if checksum(key, record) != found:
        return None
    read: dict[str, Any] = orjson.loads(record)
    return read


def lines_of(
    noted: Sequence[bytes | Transcript],
    written: Container[str],
    put_text: Callable[[str, bytes], None],
) -> bytes:
    """What was sent and received, as it is kept.

    Args:
        noted: what was noted of it.
        written: the hashes of texts that are known to be kept.
        put_text: given the hash of each other text that is named, and the text, deflated.
    """
    lines: list[bytes] = []
    for one in noted:
        if isinstance(one, bytes):
            lines.append(one)
            continue
        found, texts = one.written()
        lines.append(found)
        for name, text in texts.items():
            if name not in written:
                put_text(name, _deflated(text.encode("utf-8", "replace")))
    return b"".join(lines)


def _deflated(text: bytes) -> bytes:
    """A text in zlib's format; one of a few pages as it is, for packing it takes too long.

    The memory is after its length: 256 kB anew for each is dear.
    """
    if len(text) < _PACKED_FROM:
        return zlib.compress(text, 0)
    window = min(zlib.MAX_WBITS, max(9, len(text).bit_length()))
    packing = zlib.compressobj(1, zlib.DEFLATED, window, min(8, window - 6))
    return packing.compress(text) + packing.flush()
