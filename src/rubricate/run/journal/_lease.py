"""Which process has a run of a database: the one whose row of `rubricate_leases` is renewed.

A run belongs to one process, or each of its shards to one. The process renews its row each second,
and begins no request where it could not for half of `LEASE`. A row that nobody renews for all of it
is another's to replace. So two processes never send requests for the same run, whatever becomes of
connections, of the server, or of a process that is stopped and continued: the first one has paused
before the second may begin, and finds another's name in the row when it continues.

Ages are by the server's clock, spans by this machine's monotonic one: no two clocks are compared.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import socket
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import Any, NamedTuple

from rubricate.errors import JournalError
from rubricate.run._shards import Shard
from rubricate.run.journal._places import Access, Database

logger = logging.getLogger(__name__)
Connection = Any
"""A `psycopg.Connection`, which is not loaded where no journal is in a database."""
Turn = Callable[[], AbstractContextManager[Connection]]
LEASE = 10.0
"""Seconds after which another process takes over a run whose process does not renew its lease. At
half, a failover that takes 5 s ends runs; at double, the command after a `kill -9` waits for 20."""
HOLDS = LEASE / 2
"""Seconds for which a process begins requests after a renewal: it has paused when others begin."""
EVERY = 1.0
"""Seconds between renewals. At double, one that is lost leaves a process a second to renew in."""
LOOK = 0.25
"""Seconds between looks at another's lease."""
QUIET = 2 * EVERY
"""Seconds without a renewal after which it is said that another process's lease is waited for."""

LEASES = """
    CREATE TABLE rubricate_leases (
        run bigint NOT NULL,
        part text NOT NULL,
        holder text NOT NULL,
        since timestamptz NOT NULL DEFAULT now(),
        renewed timestamptz NOT NULL DEFAULT clock_timestamp(),
        host text NOT NULL,
        pid bigint NOT NULL,
        process text NOT NULL,
        PRIMARY KEY (run, part)
    ) WITH (fillfactor = 50);
    """
"""The table. `part` is a shard (`3/8`), or empty for the whole run."""


_ENDED: set[str] = set()
"""The leases of this process that have ended, of which a server that was away may not know."""


class LeaseLost(JournalError):
    """Another process has the run by now. Nothing more of it may be sent or written."""


class Row(NamedTuple):
    """A lease that was found.

    Attributes:
        part: the shard, or empty for the whole run.
        holder: who has it.
        since, host, pid: when that began, and where it runs.
        process: identifies the process on this machine, if it is there; else empty.
        age: seconds since the last renewal.
        renewed: when that was, to compare.
    """

    part: str
    holder: str
    since: str
    host: str
    pid: int
    process: str
    age: float
    renewed: str

    def __str__(self) -> str:
        return f"since {self.since}, process {self.pid} on {self.host}"


_AGE = "greatest(0, extract(epoch FROM clock_timestamp() - renewed))::float8"
_ROWS = (
    "SELECT part, holder, to_char(since, 'YYYY-MM-DD HH24:MI:SS TZ'), host, pid, process,"
    f" {_AGE}, renewed::text FROM rubricate_leases WHERE run = %s ORDER BY part"
)
_ADD = (
    "INSERT INTO rubricate_leases (run, part, holder, host, pid, process)"
    " VALUES (%s, %s, %s, %s, %s, %s)"
)
_MINE = "run = %s AND part = %s AND holder = %s"
_RENEW = (
    "UPDATE rubricate_leases SET renewed = clock_timestamp()"
    # a renewal that a crash takes back was one of a process that renews again
    " FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick"
    f" WHERE {_MINE}"
)
_LOOK = f"SELECT {_AGE} FROM rubricate_leases WHERE {_MINE}"
_END = f"DELETE FROM rubricate_leases WHERE {_MINE}"


def acquired(connection: Connection, run: int, access: Access) -> str:
    """Take the lease of a run that is free, or of a shard; gives this process's name in it."""
    holder = secrets.token_hex(8)
    # Workers of a killed driver may live on: its lease is never known to be free at once.
    process = "" if access == "driver" else _identity()
    values = (run, _part(access), holder, socket.gethostname(), os.getpid(), process)
    connection.execute(_ADD, values)
    return holder


def _part(access: Access) -> str:
    return str(access) if isinstance(access, Shard) else ""


def _rows(connection: Connection, run: int) -> list[Row]:
    return [Row(*row) for row in connection.execute(_ROWS, (run,)).fetchall()]


def _excludes(part: str, access: Access) -> bool:
    """Whether the holder of a part excludes an access: all but other shards of the same number."""
    if not isinstance(access, Shard) or not part:
        return True
    number, _, of = part.partition("/")
    return int(of) != access.of or int(number) == access.number


class Watch:
    """Finds out whether those who have a run are still there, while somebody waits for it.

    Args:
        place: the run.
    """

    def __init__(self, place: Database) -> None:
        self._place = place
        self._seen: dict[str, tuple[str, float]] = {}  # by holder: its renewal, watched since
        self._looked = time.monotonic()
        self._has_said = False

    def is_free(self, connection: Connection, run: int, access: Access) -> bool:
        """Whether nobody has what an access needs; leases of who has ended are taken away.

        To be called again and again where it is not, by one process at a time.

        Raises:
            JournalError: somebody does, and has renewed the lease since the last look.
        """
        now = time.monotonic()
        if now - self._looked > QUIET:  # the server was away, and nobody could renew
            self._seen.clear()
        self._looked = now
        others = [row for row in _rows(connection, run) if _excludes(row.part, access)]
        ended = [self._has_ended(row) for row in others]  # all are looked at
        if not all(ended):
            return False
        if others:  # waits for what they are writing now: their statements lock their leases
            query = "DELETE FROM rubricate_leases WHERE run = %s AND part = ANY(%s)"
            connection.execute(query, (run, [row.part for row in others]))
        return True

    def _has_ended(self, row: Row) -> bool:
        if row.holder in _ENDED or _is_dead(row.process):
            return True
        renewed, since = self._seen.setdefault(row.holder, (row.renewed, self._looked))
        if renewed != row.renewed:
            which = f" (shard {row.part})" if row.part else ""
            raise JournalError(
                f"{self._place}: another process is grading into this run{which} ({row}); wait for "
                "it, or choose another --run-dir or ?run=NAME"
            )
        if row.age > QUIET and not self._has_said:
            self._has_said = True
            logger.warning(
                "another process held this run until %.0f s ago (%s): waiting up to %.0f s to see "
                "whether it is still alive",
                *(row.age, row, LEASE),
            )
        return self._looked - since >= LEASE


class Lease:
    """A run's lease, of the process that has it, or of a worker of that process.

    Args:
        place: the run.
        run: its number.
        access: how its process has the run.
        holder: that process's name in it.

    Attributes:
        part: the shard, or empty.
        holder: as given.
        error: that it was lost, or could not be renewed for too long; None as long as it was not.
        trouble: why it cannot be renewed now; None where it can.
    """

    def __init__(self, place: Database, run: int, access: Access, holder: str) -> None:
        self.holder = holder
        self.error: JournalError | None = None
        self.trouble: str | None = None
        self._place = place
        self.part = _part(access)
        self._mine = (run, self.part, holder)
        self._looked = time.monotonic()
        self._until = self._looked + HOLDS
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None

    @property
    def holds(self) -> bool:
        """Whether requests may start."""
        return time.monotonic() < self._until and self.error is None

    @property
    def is_lost(self) -> bool:
        """Whether another process has the run by now."""
        return isinstance(self.error, LeaseLost)

    @property
    def wait(self) -> float:
        """Seconds until it is time to look again."""
        return max(0.0, self._looked + EVERY - time.monotonic())

    def look(self, connection: Connection) -> None:
        """Find out whether the lease is renewed by who has it.

        Raises:
            LeaseLost: another process has the run.
        """
        self._looked = before = time.monotonic()
        row = connection.execute(_LOOK, self._mine).fetchone()
        if row is None:
            self.error = self._lost(connection)
            raise self.error
        self._until = before + HOLDS - row[0]

    async def held(self) -> bool:
        """Wait until requests may start; whether that comes."""
        while not self.holds:
            if self.error is not None:
                return False
            await asyncio.sleep(LOOK)
        return True

    def _renew(self, connection: Connection) -> None:
        before = time.monotonic()
        if connection.execute(_RENEW, self._mine).rowcount != 1:
            raise self._lost(connection)
        self._until = before + HOLDS

    def _lost(self, connection: Connection) -> LeaseLost:
        others = _rows(connection, self._mine[0])
        by = next((row for row in others if row.part in ("", self.part)), None)
        who = "which has ended since" if by is None else f"{by}"
        return LeaseLost(
            f"{self._place}: this run was taken over by another process ({who}), because this one "
            "could not be seen to be alive; nothing more is sent from here"
        )

    def keep(self, turn: Turn, patience: float, on_end: Callable[[JournalError], None]) -> None:
        """Renew the lease from now on, in its own thread.

        Args:
            turn: gives a connection to the database for a statement.
            patience: seconds to wait for a server that has gone away.
            on_end: called with the error with which that ends.
        """
        keeping = threading.Thread(
            target=self._keep, args=(turn, patience, on_end), name="rubricate-lease", daemon=True
        )
        self._thread = keeping
        keeping.start()

    def _keep(self, turn: Turn, patience: float, on_end: Callable[[JournalError], None]) -> None:
        renewed = time.monotonic()
        while not self._ends.wait(EVERY if self.trouble is None else LOOK):
            try:
                with turn() as connection:
                    self._renew(connection)
                renewed, self.trouble = time.monotonic(), None
            except LeaseLost as lost:
                self.error = lost
                return on_end(lost)
            except Exception as error:  # also of a connection that is broken in its own ways
                self.trouble = " ".join(str(error).split())
                away = time.monotonic() - renewed
                if away >= patience + HOLDS:
                    self.error = JournalError(
                        f"{self._place}: it has been away for {away:.0f} s: what was committed is "
                        f"kept, and the same command resumes it ({error})"
                    )
                    return on_end(self.error)
        for _ in range(2):  # the connection may have been cut since the last renewal
            with suppress(Exception), turn() as connection:
                connection.execute(_END, self._mine)
                break
        return None

    def leave(self) -> None:
        """Let others have the run, as soon as the server is there."""
        _ENDED.add(self.holder)
        self._ends.set()

    def end(self) -> None:
        """Let others have the run, at once where the server is there."""
        self.leave()
        if self._thread is not None:
            self._thread.join(EVERY)


def _identity() -> str:
    """What no other process has, of any container or boot; empty where the system has no such."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = Path("/proc/self/ns/pid").stat().st_ino
        return f"{boot} {space} {os.getpid()} {_began(os.getpid())}"
    except (OSError, IndexError):
        return ""


def _began(pid: int) -> str:
    """When a process began; empty for one that has ended, and whose parent has not seen to it."""
    state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _is_dead(process: str) -> bool:
    """Whether a process is of this machine, this boot and this container, and has ended."""
    if not process:
        return False
    boot, space, pid, began = process.split()
    own = _identity().split()
    if own[:2] != [boot, space]:
        return False
    try:
        os.kill(int(pid), 0)
        return _began(int(pid)) != began
    except ProcessLookupError:
        return True
    except (OSError, IndexError):  # another user's, which may be hidden
        return False
