"""Looking up records in a database, with as few questions to the server as may be.

A question takes a third of a millisecond on one machine and more over a network, where SQLite takes
a hundredth. So keys that cannot be there are not asked for, and where records are asked for in the
order in which they were written, those that follow come with them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rubricate.run.journal._keys import Keys
from rubricate.run.journal._server import Server

__all__ = ["Lookups", "as_bytes", "fetched", "rows_of"]

AT_ONCE = 500
"""Keys that are looked up together."""
PAGES, BEFORE = 64, 24
"""Pages of the table (8 kB each) that are read ahead, and those of them before the one where a
record was: a batch is written in the order of its keys, not in that of the items."""
BLOCKS = 4
"""Times that many pages that are held."""
_STATUS = 24
"""Bytes of a record in which its status is."""


class Lookups:
    """Looks up the records of a run.

    Args:
        server: the run.
        keys: the keys that the run may have records of; None where others may add some.
    """

    def __init__(self, server: Server, keys: Keys | None) -> None:
        self._server = server
        self._keys = keys
        self._ahead: dict[str, tuple[bytes, int]] = {}
        self._blocks: deque[list[str]] = deque()
        self._begin = self._last = -2 * PAGES  # pages: of the last block, of the last record

    def find(self, keys: Sequence[str]) -> Iterator[tuple[str, bytes, int]]:
        """The keys that there are, with their records and checksums, which may be damaged."""
        asked = []
        for key in keys:
            ahead = self._ahead.get(key)
            if ahead is not None:
                yield (key, *ahead)
            elif self._keys is None or self._keys.may_have(as_bytes(key)):
                asked.append(key)
        pages = []
        for key, record, checksum, page in rows_of(
            self._server, "record, checksum, (ctid::text::point)[0]::bigint", asked
        ):
            yield key, record, checksum
            pages.append(page)
        if pages:
            first, is_near = min(pages), abs(min(pages) - self._last) <= PAGES
            self._last = first
            if is_near and not self._begin <= first < self._begin + PAGES:
                self._read_ahead(max(0, first - BEFORE))

    def forget(self, key: str) -> None:
        """Ask the server for a record again: it is another one now."""
        self._ahead.pop(key, None)

    def _read_ahead(self, page: int) -> None:
        """Hold the records of pages from one on.

        No failed ones: what failed may be judged meanwhile by another process. All others stay as
        they are.
        """
        query = (
            "SELECT key, record, checksum FROM rubricate_records"
            " WHERE ctid >= %s::tid AND ctid < %s::tid AND run = %s"
        )
        told = (f"({page},0)", f"({page + PAGES},0)", self._server.run)
        self._begin, block = page, []
        for key, record, checksum in fetched(self._server, query, told):
            if b'"failed"' in record[:_STATUS]:
                continue
            name = key.decode("utf-8", "surrogatepass")
            self._ahead[name] = record, checksum
            block.append(name)
        self._blocks.append(block)
        if len(self._blocks) > BLOCKS:
            for name in self._blocks.popleft():
                self._ahead.pop(name, None)


def as_bytes(key: str) -> bytes:
    """A key as it is kept: text of PostgreSQL has no NUL, and no half of a surrogate pair."""
    return key.encode("utf-8", "surrogatepass")


def rows_of(server: Server, columns: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Keys, and columns of their records, of those that are there."""
    query = f"SELECT key, {columns} FROM rubricate_records WHERE run = %b AND key = ANY(%b)"
    for start in range(0, len(keys) if server.run is not None else 0, AT_ONCE):
        told = (server.run, [as_bytes(key) for key in keys[start : start + AT_ONCE]])
        for key, *row in fetched(server, query, told):
            yield (key.decode("utf-8", "surrogatepass"), *row)


def fetched(server: Server, query: str, told: Iterable[Any]) -> list[Any]:
    """All rows that a query gives."""
    return server.do(lambda connection: connection.execute(query, told, binary=True).fetchall())
