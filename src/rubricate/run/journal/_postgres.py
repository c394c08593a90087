"""A journal in a PostgreSQL database, for many processes and machines at once.

An answer is durable once its batch is committed. A thread writes one batch at a time while the next
one fills. Callers check `is_full` and then wait for `durable`, so that never more than `MOST`
answers are unconfirmed. If the server is unreachable, the thread waits and repeats what was not
confirmed; writing a batch twice has the same effect as once.

Each record has a checksum, and a damaged one counts as missing. It is stored with its exchanges,
whose texts are in a separate table (`_exchanges`).
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from typing import Any

from rubricate._sync import in_thread
from rubricate.errors import JournalError
from rubricate.run._shards import Shard
from rubricate.run.journal._claims import LEASE, Claims
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._journal import BATCH, MOST_EXCHANGES, REACH, Journal, Keys, Pending
from rubricate.run.journal._lease import Lease
from rubricate.run.journal._ledger import UNKNOWN, Decide, Entry, Paid, entry_of
from rubricate.run.journal._places import READER_PATIENCE, Access, Database
from rubricate.run.journal._records import Judged
from rubricate.run.journal._server import Connection, Server

logger = logging.getLogger(__name__)
MOST = 2 * BATCH
"""The most unconfirmed answers before judging waits."""
AT_ONCE = 4096
"""Keys that are looked up together, so that a block of 256 items with 16 criteria takes one round
trip. At half, a link of 20 ms costs a worker 1 % more; at double, an answer of several megabytes
blocks the connection."""
LOOK = 0.5
"""Seconds between checks whether the server is silent, while the last answers are written."""


class PostgresJournal(Journal):
    """A journal in a database.

    Args:
        place: the run, or the shared answers.
        access: how this process uses it.
        fresh: start a new run of the same name; the earlier one is kept.
        patience: seconds to wait for an unreachable server.
        holder: for a worker, its driver's name in the lease of the run.

    Raises:
        JournalError: the server cannot be reached or used, or another process is using the run.
    """

    is_remote = True

    def __init__(
        self,
        place: Database,
        access: Access = "alone",
        *,
        fresh: bool = False,
        patience: float = READER_PATIENCE,
        holder: str | None = None,
    ) -> None:
        super().__init__(access)
        self._is_cache = place.run is None
        if self._is_cache:
            self.claims = Claims()
            patience = min(patience, READER_PATIENCE)
        self._writing = Server(place, access, fresh=fresh, patience=patience)
        if (holder := self._writing.holder or holder) is not None:
            self.lease = Lease(place, self._run, access, holder)
        with ExitStack() as opened:
            opened.callback(self._writing.close)
            # For reading, claims and accounts, in parallel to the thread that writes.
            self._reader = self._writing.beside()
            opened.callback(self._reader.close)
            self.has_a_past = self._writing.do(self._find_earlier)
            opened.pop_all()
        # A new run to which nobody else adds holds only what is put here.
        self._keys = None if self.has_a_past or access == "driver" else Keys()
        self._due = threading.Event()
        self._paid: Paid | None = None
        self._begun = self._confirmed = 0  # batches
        self._error: JournalError | None = None
        self._is_closing = self._is_given_up = False
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._confirmation = threading.Condition(self._lock)
        self._thread = threading.Thread(target=self._write_batches, name="journal", daemon=True)
        self._thread.start()
        if self.lease is not None and access != "worker":
            self.lease.keep(self._reader.turn, patience, self._end_batch)

    # Reading

    def _rows(self, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return self._found(_RECORDS, keys)

    def _lines(self, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        return self._found(_EXCHANGES, keys)

    def _found(self, query: str, keys: Sequence[str]) -> Iterator[tuple[Any, ...]]:
        for key, *columns in self._each(query, [as_bytes(key) for key in keys]):
            yield (key.decode("utf-8", "surrogatepass"), *columns)

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with these hashes, compressed, without missing ones."""
        return dict(self._each(_TEXTS, list(names)))

    def _each(self, query: str, keys: Sequence[Any]) -> Iterator[Any]:
        """All rows of a query for these keys."""
        if self._is_given_up or self._reader.run is None:
            return
        for start in range(0, len(keys), AT_ONCE):
            values = {"run": self._reader.run, "keys": keys[start : start + AT_ONCE]}
            yield from self._reader.do(partial(_fetched, query, values))

    def _find_earlier(self, connection: Connection) -> bool:
        """Whether there may be records from earlier, or from other processes."""
        run, access = self._writing.run, self._access
        if run is None:
            return False
        if access not in ("alone", "driver") and not isinstance(access, Shard):
            return True
        # Ordered by the primary key; otherwise the planner may scan the table.
        query = "SELECT 1 FROM rubricate_records WHERE run = %s ORDER BY run, key LIMIT 1"
        if connection.execute(query, (run,)).fetchone() is None:
            return False
        query = "SELECT 1 FROM rubricate_spending WHERE run = %s LIMIT 1"
        if connection.execute(query, (run,)).fetchone() is None:
            took = """SELECT 1 FROM rubricate_records
                WHERE run = %s AND position('"requests":0,'::bytea in record) = 0 LIMIT 1"""
            if connection.execute(took, (run,)).fetchone() is not None:
                connection.execute(f"{_NOTE} ON CONFLICT DO NOTHING", (run, *UNKNOWN))
        return True

    # What was paid

    async def _exchange(self, decide: Decide) -> None:
        """Read the entries of others and write this process's, one process at a time."""

        def exchange(connection: Connection) -> None:
            run = self._run
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s, %s)", (_TURN, run % (1 << 31)))
                decide(self._others(connection))
                connection.execute(f"{_NOTE} {_NOTE_ALL}", (run, *self.ledger.row()))

        await in_thread(partial(self._reader.do, exchange))

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, including earlier ones.

        Raises:
            JournalError: the server is unreachable. There is no waiting, because this is needed at
                the end of a run, which may have been interrupted.
        """
        if self.trouble is not None or self._is_given_up:
            raise JournalError(self.trouble or "the server does not answer")
        return self._reader.do(self._others)

    def _others(self, connection: Connection) -> dict[str, Entry]:
        values = (self._run, self.ledger.process)
        rows = connection.execute(_ENTRIES, values, binary=True).fetchall()
        is_alone = self._access == "alone"
        return {row[0]: entry_of(Paid(*row), None if is_alone else now) for *row, now in rows}

    @property
    def _run(self) -> int:
        assert self._writing.run is not None  # it is None only for readers
        return self._writing.run

    # Claims (in a cache)

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys, each group as a whole or not at all."""
        keys = sorted({as_bytes(key) for group in groups for key in group})
        values = {"keys": keys, "holder": holder, "lease": LEASE, "run": self._run}

        def claim(connection: Connection) -> tuple[list[bool], set[bytes]]:
            # Separate statements, because answers are written before their claims end.
            mine = {key for (key,) in connection.execute(_CLAIM, values, binary=True)}
            claimed = [mine.issuperset(map(as_bytes, group)) for group in groups]
            whole = {
                as_bytes(key)
                for group, is_mine in zip(groups, claimed, strict=True)
                if is_mine
                for key in group
            }
            if partly := sorted(mine - whole):
                connection.execute(_RELEASE, {"holder": holder, "released": partly})
            answered = connection.execute(_ANSWERED, values | {"keys": sorted(whole)}, binary=True)
            return claimed, {key for (key,) in answered}

        claimed, answered = self._reader.do(claim)
        return claimed, {key.decode("utf-8", "surrogatepass") for key in answered}

    # Writing

    @property
    def is_full(self) -> bool:
        """Whether judging must wait: many answers are unconfirmed, or the server is unreachable."""
        unconfirmed = len(self._waiting) + len(self._written_now)
        if unconfirmed >= MOST or self._error is not None:
            return True
        return self._writing.trouble is not None or not (self.lease is None or self.lease.holds)

    @property
    def trouble(self) -> str | None:
        """What the run is waiting for, in words; None for nothing."""
        waited = self._writing.trouble or self._reader.trouble
        return waited or (None if self.lease is None else self.lease.trouble)

    @property
    def room(self) -> int | None:
        """How many more connections the database allows; each process needs one."""
        return self._reader.room

    def put(self, key: str, answer: Judged, exchanges: bytes | Transcript = b"") -> None:
        super().put(key, answer, exchanges)
        if len(self._waiting) >= BATCH:
            self._due.set()

    def commit(self) -> None:
        """Let the thread write what is pending. Raises the error of an earlier batch."""
        if self._is_given_up:
            return
        if self._error is not None:
            raise type(self._error)(str(self._error))  # each with its own traceback
        self._paid = self._paid or (self.ledger.due_row() if self._notes_spending else None)
        has_claims = self.claims is not None and self.claims.is_due
        if self._waiting or self._texts or self._paid or has_claims:
            self._due.set()

    async def durable(self) -> None:
        """Wait until everything put so far is durable."""
        loop = asyncio.get_running_loop()
        self.commit()
        with self._lock:
            last = self._last_batch()
        while True:
            with self._lock:
                if self._confirmed >= last or self._error is not None or self._is_given_up:
                    break
                waiter = loop.create_future()
                self._waiters.append((loop, waiter))
            await waiter
        self.commit()

    def give_up(self) -> None:
        """Stop waiting for the server. What it has not confirmed may be lost."""
        self._is_given_up = True
        self._writing.give_up()
        self._wake_waiters()

    def _flush(self, *, is_last: bool = False) -> None:
        """Wait until everything is durable, in plain code; at the end not for a silent server."""
        self.commit()
        with self._lock:
            last = self._last_batch()
            while self._confirmed < last and self._error is None:
                if is_last and self.trouble is not None:
                    self._writing.give_up()
                self._confirmation.wait(LOOK)
        if self._error is not None:
            raise type(self._error)(str(self._error))  # each with its own traceback

    def _last_batch(self) -> int:
        """The number of the batch that holds the last answer."""
        has_claims = self.claims is not None and self.claims.is_due
        return self._begun + bool(self._waiting or self._texts or self._paid or has_claims)

    def close(self) -> None:
        """Write what is pending and disconnect, without waiting for an unreachable server."""
        if self._is_given_up:
            self._leave()
            return
        if self.trouble is not None:
            self._writing.give_up()
        if self.claims is not None:
            self.claims.release_all()
        try:
            self._flush(is_last=True)
        finally:
            self._is_closing = True
            self._due.set()
            self._writing.give_up()
            self._thread.join()
            if self.lease is not None:
                self.lease.end()
            self._writing.close()
            self._reader.close()

    def _leave(self) -> None:
        """Leave a server that does not answer. Threads that wait for it block nothing."""
        self._is_closing = True
        self._due.set()
        if self.lease is not None:
            self.lease.leave()
        if unconfirmed := len(self._waiting) + len(self._written_now):
            logger.warning(
                "%d answers are not stored, because the server of %s does not answer; the same "
                "command asks for them again",
                *(unconfirmed, self._writing.place),
            )

    # The thread that writes

    def _write_batches(self) -> None:
        while True:
            seen = self.lease if self._access == "worker" else None
            self._due.wait(None if seen is None else seen.wait)
            with self._lock:
                self._due.clear()
                batch = self._written_now = self._waiting
                self._waiting, texts, self._texts = {}, self._texts, {}
                paid, self._paid = self._paid, None
                released = self.claims.due() if self.claims and self.claims.is_due else None
                has_work = bool(batch or texts or paid) or released is not None
                self._begun += has_work
            if not has_work and self._is_closing:
                return
            try:
                if seen is not None and not seen.wait:
                    self._writing.do(seen.look)
                if not has_work:
                    continue
                self._write(batch, texts, paid)
                if released is not None:
                    self._end_claims(released)
            except BaseException as error:
                self._end_batch(error)
                return
            self._end_batch(None)

    def _end_batch(self, error: BaseException | None) -> None:
        """Record that a batch is durable, or its error, after which nothing is written."""
        with self._lock:
            if error is None:
                self._confirmed += 1
                self._written_now = {}
            elif isinstance(error, JournalError):
                self._error = error
            else:
                self._error = JournalError(f"{self._writing.place}: {error!r}")
            self._confirmation.notify_all()
            if len(self._waiting) >= BATCH:
                self._due.set()
        self._wake_waiters()

    def _wake_waiters(self) -> None:
        with self._lock:
            waiters, self._waiters = self._waiters, []
        for loop, waiter in waiters:
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(_wake, waiter)

    def _end_claims(self, released: list[str]) -> None:
        """End these claims, and renew the others."""
        assert self.claims is not None
        values = {"holder": self.claims.holder, "released": [as_bytes(key) for key in released]}
        self._writing.do(lambda connection: connection.execute(_RELEASE, values))
        self._writing.do(lambda connection: connection.execute(_RENEW, values))

    def _write(self, batch: dict[str, Pending], texts: dict[str, bytes], paid: Paid | None) -> None:
        """Write a batch, its texts and the entry in one statement, and so in one transaction."""

        rows = [*self._packed(batch, texts)]
        columns = [[*column] for column in zip(*rows, strict=True)] or [[], [], [], []]
        keys, records, checksums, exchanges = columns
        names = sorted(texts)  # in a fixed order, which rules out deadlocks
        parameters = {
            "run": self._writing.run,
            "names": names,
            "texts": [texts[name] for name in names],
            "keys": [as_bytes(key) for key in keys],
            "records": records,
            "checksums": checksums,
            "exchanges": exchanges,
            "process": None if paid is None else paid.process,
            "usage": b"" if paid is None else paid.usage,
            "may_have_sent": 0 if paid is None else paid.may_have_sent,
            "holder": None if self.lease is None else self.lease.holder,
            "part": None if self.lease is None else self.lease.part,
        }
        query = _REPLACE if self._is_cache else _ADD

        def write(connection: Connection) -> None:
            written = connection.execute(query, parameters).rowcount
            if rows and not written and self.lease is not None:
                self.lease.look(connection)

        self._writing.do(write)


def as_bytes(key: str) -> bytes:
    """A key as stored, because text in PostgreSQL allows neither NUL nor lone surrogates."""
    return key.encode("utf-8", "surrogatepass")


def _fetched(query: str, values: Any, connection: Connection) -> list[Any]:
    rows: list[Any] = connection.execute(query, values, binary=True).fetchall()
    return rows


_EACH = (
    "SELECT found.* FROM unnest(%(keys)b::{type}[]) AS wanted CROSS JOIN LATERAL"
    " (SELECT {columns} FROM {table} WHERE run = %(run)b AND {column} = wanted OFFSET 0) AS found"
)
"""Looks up each key by the primary key, whatever the statistics of the table say.

With `run = ... AND key = ANY(...)`, the planner reads the whole run and filters, if the statistics
are older than the run, because it then assumes that the run has one row. `OFFSET 0` prevents a
rewrite as a join, which has the same problem."""
_BY_KEY = partial(_EACH.format, type="bytea", table="rubricate_records", column="key")
_RECORDS = _BY_KEY(
    columns="key, record, checksum,"
    f" substr(exchanges, greatest(1, length(exchanges) - {REACH - 1})) AS exchanges"
)
_EXCHANGES = _BY_KEY(columns="key, exchanges")
_ANSWERED = _BY_KEY(columns="key")
_TEXTS = _EACH.format(type="text", table="rubricate_texts", column="name", columns="name, text")
_CLAIM = (
    "INSERT INTO rubricate_claims AS old (key, holder)"
    " SELECT unnest(%(keys)s::bytea[]), %(holder)s ON CONFLICT (key) DO UPDATE"
    " SET holder = excluded.holder, renewed = now() WHERE old.holder = excluded.holder"
    " OR old.renewed < now() - %(lease)s * interval '1 s' RETURNING key"
)
_RELEASE = "DELETE FROM rubricate_claims WHERE holder = %(holder)s AND key = ANY(%(released)s)"
_RENEW = "UPDATE rubricate_claims SET renewed = now() WHERE holder = %(holder)s"
_TURN = 0x72756272
"""First half of the advisory lock for entries; the second half is the run."""
_CLOCK = "extract(epoch FROM clock_timestamp())::float8"
_NOTE = (
    "INSERT INTO rubricate_spending AS old (run, process, usage, may_have_sent, written)"
    f" SELECT %s, %s, %s, %s, {_CLOCK} + 0 * %s::float8"
)
_NOTE_ALL = (
    "ON CONFLICT (run, process) DO UPDATE SET usage = excluded.usage,"
    " may_have_sent = excluded.may_have_sent, written = excluded.written"
)
_ENTRIES = (
    f"SELECT process, usage, may_have_sent, written, {_CLOCK} FROM rubricate_spending"
    " WHERE run = %s AND process != %s"
)
_INSERT = (
    # Taking over the run deletes this lease, which waits for writes that hold it.
    "WITH lease AS MATERIALIZED (SELECT FROM rubricate_leases WHERE run = %(run)b"
    " AND part = %(part)b::text AND holder = %(holder)b::text FOR KEY SHARE),"
    " texts AS (INSERT INTO rubricate_texts SELECT %(run)b, * FROM"
    " unnest(%(names)b::text[], %(texts)b::bytea[]) ON CONFLICT DO NOTHING),"
    " spending AS (INSERT INTO rubricate_spending SELECT %(run)b, %(process)b::text,"
    f" %(usage)b::bytea, %(may_have_sent)b::bigint, {_CLOCK} WHERE %(process)b::text IS NOT NULL"
    # with a maximum cost, a later entry may have been written in the meantime
    " ON CONFLICT (run, process) DO UPDATE SET written = excluded.written, usage ="
    " CASE WHEN rubricate_spending.may_have_sent > excluded.may_have_sent"
    " THEN rubricate_spending.usage ELSE excluded.usage END,"
    " may_have_sent = greatest(rubricate_spending.may_have_sent, excluded.may_have_sent))"
    " INSERT INTO rubricate_records AS old (run, key, record, checksum, exchanges)"
    " SELECT %(run)b, put.* FROM unnest(%(keys)b::bytea[], %(records)b::bytea[],"
    " %(checksums)b::bigint[], %(exchanges)b::bytea[]) AS put,"
    # In each statement, because a pooler may use another session each time.
    " (SELECT set_config('synchronous_commit', CASE now.value WHEN 'off' THEN 'on' ELSE now.value"
    " END, true) FROM (SELECT current_setting('synchronous_commit') AS value) AS now) AS durable"
    " WHERE %(holder)b::text IS NULL OR EXISTS (SELECT FROM lease)"
    " ON CONFLICT (run, key) DO UPDATE SET record = excluded.record,"
    " checksum = excluded.checksum, finished = now(), exchanges = "
)
_REPLACE = f"{_INSERT} excluded.exchanges"
_ADD = (
    f"{_INSERT} CASE WHEN excluded.exchanges IS NULL OR old.exchanges IS NULL"
    " THEN coalesce(excluded.exchanges, old.exchanges)"
    " WHEN substr(old.exchanges, length(old.exchanges) - length(excluded.exchanges) + 1)"
    " = excluded.exchanges THEN old.exchanges"  # written before, and not confirmed
    f" WHEN length(old.exchanges) < {MOST_EXCHANGES} THEN old.exchanges || excluded.exchanges"
    " ELSE excluded.exchanges END"
)
"""What was asked before under the same key, and failed, stays."""


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)
