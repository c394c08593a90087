"""What a page's script reads: JSON, deflated, by name.

In a file it is in base64 letters, so that nothing in it can be taken for a part of the page. A
server sends the same bytes. The page unpacks a chunk when something in it is looked at, so a page
of many items stays small.
"""

from __future__ import annotations

import base64
import tempfile
import zlib
from collections.abc import Iterator
from typing import Any

import orjson


def packed(data: Any) -> bytes:
    """JSON, deflated."""
    deflate = zlib.compressobj(6, zlib.DEFLATED, -zlib.MAX_WBITS)
    return deflate.compress(orjson.dumps(data)) + deflate.flush()


class Chunks:
    """Packed data by name, in a file that is gone when it is closed."""

    def __init__(self) -> None:
        self._file = tempfile.TemporaryFile()  # noqa: SIM115 (closed by `close`)
        self._places: dict[str, tuple[int, int]] = {}
        self._size = 0

    def add(self, name: str, data: Any) -> None:
        """Pack data in."""
        text = packed(data)
        self._file.write(text)
        self._places[name] = self._size, len(text)
        self._size += len(text)

    def get(self, name: str) -> bytes | None:
        """The packed data of a name; None if there is none."""
        if name not in self._places:
            return None
        place, size = self._places[name]
        self._file.seek(place)
        return self._file.read(size)

    def elements(self) -> Iterator[bytes]:
        """The chunks as elements of a page; nothing runs them."""
        for name in self._places:
            yield f'<script type="text/plain" id="{name}">'.encode()
            yield base64.b64encode(self.get(name) or b"")
            yield b"</script>\n"

    def close(self) -> None:
        """Remove the file."""
        self._file.close()
