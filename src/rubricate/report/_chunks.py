"""The data of a page: named chunks of compressed JSON.

In a file they are encoded as base64, so that nothing in them can act as a part of the page. A
server sends the same bytes. The page unpacks a chunk only when it is needed, so that a page of many
items stays small."""

from __future__ import annotations

import base64
import tempfile
import zlib
from collections.abc import Iterator
from typing import Any

import orjson


def packed(data: Any) -> bytes:
    """Return data as compressed JSON."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(orjson.dumps(data)) + deflate.flush()


class Chunks:
    """Compressed data by name, in a temporary file."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0

    def add(self, name: str, data: Any) -> None:
        """Compress and add data."""
        text = packed(data)
        self._file.write(text)
        self._places[name] = self._size, len(text)
        self._size += len(text)

    def get(self, name: str) -> bytes | None:
        """The compressed data of a name; None if there is none."""
        if name not in self._places:
            return None
        place, size = self._places[name]
        self._file.seek(place)
        return self._file.read(size)

    def elements(self) -> Iterator[bytes]:
        """The chunks as elements of a page, which are not executed."""
        for name in self._places:
            yield f'<script type="text/plain" id="{name}">'.encode()
            yield base64.b64encode(self.get(name) or b"")
            yield b"</script>\n"

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
