"""Looking up many rows of a run in a database with one question to the server."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from rubricate.run.journal._server import Server

AT_ONCE = 4096
"""Keys that are looked up together: those of a block of 256 items with 16 criteria take one round
trip. At half, a link of 20 ms costs a worker 1 % more; at double, an answer of several megabytes
holds the connection for as long as that."""
EACH = (
    "SELECT found.* FROM unnest(%(keys)b::{type}[]) AS wanted CROSS JOIN LATERAL"
    " (SELECT {columns} FROM {table} WHERE run = %(run)b AND {column} = wanted OFFSET 0) AS found"
)
"""Rows by their keys, each by the primary key, whatever else the table holds.

With `run = ... AND key = ANY(...)` the planner reads the whole run and filters its keys once the
table's statistics are older than the run, because it takes a run that they do not name for one row.
`OFFSET 0` keeps it from making a join of this, which has the same fault."""
_RECORDS = EACH.format(type="bytea", table="rubricate_records", column="key", columns="key, {}")
_TEXTS = EACH.format(type="text", table="rubricate_texts", column="name", columns="name, text")


def as_bytes(key: str) -> bytes:
    """A key as it is kept: text of PostgreSQL has no NUL, and no half of a surrogate pair."""
    return key.encode("utf-8", "surrogatepass")


def rows_of(server: Server, columns: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Keys, and columns of their records, of those that are there."""
    for key, *row in _each(server, _RECORDS.format(columns), [as_bytes(key) for key in keys]):
        yield (key.decode("utf-8", "surrogatepass"), *row)


def texts_of(server: Server, names: Iterable[str]) -> dict[str, bytes]:
    """The texts with hashes, deflated; one that is not there is missing."""
    return dict(_each(server, _TEXTS, list(names)))


def _each(server: Server, query: str, keys: Sequence[Any]) -> Iterator[Any]:
    for start in range(0, len(keys) if server.run is not None else 0, AT_ONCE):
        told = {"run": server.run, "keys": keys[start : start + AT_ONCE]}
        yield from fetched(server, query, told)


def fetched(server: Server, query: str, told: Any) -> list[Any]:
    """All rows that a query gives."""
    return server.do(lambda connection: connection.execute(query, told, binary=True).fetchall())
