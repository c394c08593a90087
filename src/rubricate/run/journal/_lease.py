"""Leases: which process owns a run in a database, shown by a row in `rubricate_leases`.

A run, or each of its shards, belongs to one process. That process renews its row every second, and
starts no request if it could not do so for half of `LEASE`. Another process may replace a row that
was not renewed for all of `LEASE`. So two processes never send requests for the same run, whatever
happens to connections, to the server, or to a process that is stopped and continued: the first one
has paused before the second may start, and finds another name in the row when it continues.

Ages use the server's clock, durations this machine's monotonic clock; the two are never compared.
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
"""A `psycopg.Connection`; the library is loaded only for journals in a database."""
Turn = Callable[[], AbstractContextManager[Connection]]
LEASE = 10.0
"""Seconds after which another process may take over a run whose lease is not renewed. At half, a
failover of 5 s ends runs; at double, the command after a `kill -9` waits for 20 s."""
HOLDS = LEASE / 2
"""Seconds after a renewal in which a process starts requests, so that it pauses before others
start."""
EVERY = 1.0
"""Seconds between renewals. At double, a lost renewal leaves only a second for the next one."""
LOOK = 0.25
"""Seconds between checks of another process's lease."""
QUIET = 2 * EVERY
"""Seconds without a renewal before a message says what the run is waiting for."""

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
"""Leases of this process that have ended, which a server that was unreachable may not know."""


class LeaseLost(JournalError):
    """Another process owns the run by now. Nothing more of it may be sent or written."""


class Row(NamedTuple):
    """A lease in the database.

    Attributes:
        part: the shard, or empty for the whole run.
        holder: the name of its owner.
        since, host, pid: when the owner took it, and where it runs.
        process: identifies the owner among the processes of its machine; may be empty.
        age: seconds since the last renewal.
        renewed: the time of the last renewal, for comparison.
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
    # a renewal lost in a crash does not matter, because the process renews again
    " FROM (SELECT set_config('synchronous_commit', 'off', true)) AS quick"
    f" WHERE {_MINE}"
)
_LOOK = f"SELECT {_AGE} FROM rubricate_leases WHERE {_MINE}"
_END = f"DELETE FROM rubricate_leases WHERE {_MINE}"


def acquired(connection: Connection, run: int, access: Access) -> str:
    """Take the free lease of a run or shard. Returns this process's name in it."""
    holder = secrets.token_hex(8)
    # Workers of a killed driver may live on, so its lease is never considered free at once.
    process = "" if access == "driver" else _identity()
    values = (run, _part(access), holder, socket.gethostname(), os.getpid(), process)
    connection.execute(_ADD, values)
    return holder


def _part(access: Access) -> str:
    return str(access) if isinstance(access, Shard) else ""


def _rows(connection: Connection, run: int) -> list[Row]:
    return [Row(*row) for row in connection.execute(_ROWS, (run,)).fetchall()]


def _excludes(part: str, access: Access) -> bool:
    """Whether the owner of a part excludes an access. Different shards of one run do not."""
    if not isinstance(access, Shard) or not part:
        return True
    number, _, of = part.partition("/")
    return int(of) != access.of or int(number) == access.number


class Watch:
    """Watches the owners of a run that this process is waiting for.

    Args:
        place: the run.
    """

    def __init__(self, place: Database) -> None:
        self._place = place
        self._seen: dict[str, tuple[str, float]] = {}  # by holder: its renewal, watched since
        self._looked = time.monotonic()
        self._has_said = False

    def is_free(self, connection: Connection, run: int, access: Access) -> bool:
        """Whether the run is free for this access. Leases of ended processes are removed.

        If it is not free, call it again until it is. One process at a time.

        Raises:
            JournalError: another process owns it, and has renewed its lease since the last call.
        """
        now = time.monotonic()
        if now - self._looked > QUIET:  # the server was unreachable, so nobody could renew
            self._seen.clear()
        self._looked = now
        others = [row for row in _rows(connection, run) if _excludes(row.part, access)]
        ended = [self._has_ended(row) for row in others]  # check all of them
        if not all(ended):
            return False
        if others:  # this waits for what they are writing, because that locks their leases
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
    """The lease of a run, in the process that owns it or in a worker of that process.

    Args:
        place: the run.
        run: its number.
        access: how the owner uses the run.
        holder: the owner's name in the lease.

    Attributes:
        part: the shard, or empty.
        holder: as above.
        error: set if the lease was lost, or could not be renewed for too long.
        trouble: why it cannot be renewed at the moment; None if it can.
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
        """Whether another process owns the run by now."""
        return isinstance(self.error, LeaseLost)

    @property
    def wait(self) -> float:
        """Seconds until the next check."""
        return max(0.0, self._looked + EVERY - time.monotonic())

    def look(self, connection: Connection) -> None:
        """In a worker: check that the owner still renews the lease.

        Raises:
            LeaseLost: another process owns the run.
        """
        self._looked = before = time.monotonic()
        row = connection.execute(_LOOK, self._mine).fetchone()
        if row is None:
            self.error = self._lost(connection)
            raise self.error
        self._until = before + HOLDS - row[0]

    async def held(self) -> bool:
        """Wait until requests may start. False if the lease was lost."""
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
        """Start renewing the lease in a thread.

        Args:
            turn: returns a connection to the database for one statement.
            patience: seconds to wait for a server that is unreachable.
            on_end: called with the error that ends the renewals.
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
            except Exception as error:  # broken connections raise all kinds of errors
                self.trouble = " ".join(str(error).split())
                away = time.monotonic() - renewed
                if away >= patience + HOLDS:
                    self.error = JournalError(
                        f"{self._place}: it has been away for {away:.0f} s: what was committed is "
                        f"kept, and the same command resumes it ({error})"
                    )
                    return on_end(self.error)
        for _ in range(2):  # the connection may have been lost since the last renewal
            with suppress(Exception), turn() as connection:
                connection.execute(_END, self._mine)
                break
        return None

    def leave(self) -> None:
        """Give up the lease as soon as the server is reachable."""
        _ENDED.add(self.holder)
        self._ends.set()

    def end(self) -> None:
        """Give up the lease, at once if the server is reachable."""
        self.leave()
        if self._thread is not None:
            self._thread.join(EVERY)


def _identity() -> str:
    """Identifies this process across containers and reboots; empty if the system cannot tell."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        space = Path("/proc/self/ns/pid").stat().st_ino
        return f"{boot} {space} {os.getpid()} {_began(os.getpid())}"
    except (OSError, IndexError):
        return ""


def _began(pid: int) -> str:
    """When a process started; empty for a zombie."""
    state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return "" if state in "ZX" else fields[18]


def _is_dead(process: str) -> bool:
    """Whether a process ran in this boot and container of this machine, and has ended."""
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
    except (OSError, IndexError):  # another user's process can be hidden
        return False
