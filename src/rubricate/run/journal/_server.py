"""A PostgreSQL server: its tables, its runs, and the meaning of its errors."""

from __future__ import annotations

import hashlib
import logging
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from copy import copy
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakSet

from rubricate.errors import JournalError
from rubricate.run.journal._known_servers import parsed, psycopg_driver, remember, vouched
from rubricate.run.journal._lease import LEASES, LOOK, Watch, acquired
from rubricate.run.journal._places import Access, Database

if TYPE_CHECKING:
    import psycopg

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
Connection = Any
"""A `psycopg.Connection`; the library is loaded only for journals in a database."""
CACHE = 0
"""The run number of answers that runs share."""
_STEPS: tuple[str, ...] = (
    """
    CREATE TABLE rubricate_runs (
        id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
        name text NOT NULL,
        begun timestamptz NOT NULL DEFAULT now(),
        shards integer
    );
    CREATE INDEX rubricate_runs_by_name ON rubricate_runs (name, id);
    CREATE TABLE rubricate_records (
        run bigint NOT NULL,
        key bytea NOT NULL,
        record bytea NOT NULL,
        checksum bigint NOT NULL,
        finished timestamptz NOT NULL DEFAULT now(),
        exchanges bytea,
        PRIMARY KEY (run, key)
    );
    CREATE TABLE rubricate_texts (
        run bigint NOT NULL,
        name text NOT NULL,
        text bytea NOT NULL,
        PRIMARY KEY (run, name)
    );
    ALTER TABLE rubricate_texts ALTER COLUMN text SET STORAGE EXTERNAL;
    """,
    """
    CREATE TABLE rubricate_limits (
        name text PRIMARY KEY,
        value bytea NOT NULL,
        version bigint NOT NULL,
        changed double precision NOT NULL
    ) WITH (fillfactor = 50);
    """,
    """
    CREATE TABLE rubricate_spending (
        run bigint NOT NULL,
        process text NOT NULL,
        usage bytea NOT NULL,
        may_have_sent bigint NOT NULL,
        written double precision NOT NULL,
        PRIMARY KEY (run, process)
    ) WITH (fillfactor = 50);
    CREATE UNLOGGED TABLE rubricate_claims (
        key bytea PRIMARY KEY,
        holder text NOT NULL,
        renewed timestamptz NOT NULL DEFAULT now()
    ) WITH (fillfactor = 50);
    """,
    LEASES,
    "SELECT 'a record may refer to a part of its exchanges for its reason'",
)
"""Step n converts format n to n + 1. Format 0 is a database without the tables."""
_DEFAULTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "rubricate",
}
_PASSES = ("08", "53", "57P", "25006", "40001", "40P01", "55P03")
"""SQLSTATEs, or their prefixes, of temporary errors."""
_BEGIN = (
    "SELECT current_setting('transaction_read_only') = 'on',"
    " extract(epoch FROM current_setting('statement_timeout')::interval)::float8,"
    " CASE current_setting('synchronous_commit')"
    " WHEN 'off' THEN set_config('synchronous_commit', 'on', false) END"
)
_MAY_WRITE = (
    "SELECT bool_and(has_table_privilege('rubricate_' || name, privilege))"
    " FROM unnest(ARRAY['runs', 'records', 'texts', 'spending', 'limits', 'claims', 'leases'])"
    " AS name,"
    " unnest(ARRAY['SELECT', 'INSERT', 'UPDATE', 'DELETE']) AS privilege"
    " WHERE privilege <> 'DELETE' OR name IN ('limits', 'claims', 'leases')"
)
_GRANTS = (
    "let somebody GRANT SELECT, INSERT, UPDATE on the tables rubricate_*, and DELETE on "
    "rubricate_limits, rubricate_claims and rubricate_leases"
)
_CANCELED = "57014"
_FULL = ("53300", "57P03")
_FULL_IN_WORDS = ("too many", "connection slots", "no more connections", "starting up", "recovery")
"""How a server (or PgBouncer) reports that it has no connection left or is starting: by SQLSTATE,
and in words if libpq has none, as when connecting fails. A run does not wait at its start for a
server with messages in another language."""
_WAITS_FOR_ROOM = "all its connections are in use; waiting for one"
_ROOM = """
    SELECT least(most.all - used.all, most.base - used.base, most.role - used.role),
           least(most.all, most.base, most.role)
    FROM (SELECT current_setting('max_connections')::int
                 - current_setting('superuser_reserved_connections')::int
                 - coalesce(current_setting('reserved_connections', true)::int, 0) AS all,
                 nullif(datconnlimit, -1) AS base, nullif(rolconnlimit, -1) AS role
          FROM pg_database, pg_roles
          WHERE datname = current_database() AND rolname = session_user) AS most,
         (SELECT count(*) AS all, count(*) FILTER (WHERE datname = current_database()) AS base,
                 count(*) FILTER (WHERE usename = session_user) AS role
          FROM pg_stat_activity WHERE backend_type = 'client backend') AS used
"""
WATCH = 0.5
"""Seconds between checks of unanswered statements."""
SILENT = 3.0
"""Seconds after which an unanswered statement is reported to the user. A batch takes 0.01 to 0.2 s;
at half, a checkpoint on a slow disk would be reported; at double, a lost standby is noticed
later."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


class NoRoom(JournalError):
    """A database has no connection left."""


class _Link:
    """A connection that parts of a process can share, one statement at a time.

    Attributes:
        connection: the connection; None while disconnected.
        lock: held while it is in use.
        users: how many parts share it.
        since: when the running statement was sent (monotonic clock); None for none.
        is_cut: whether it was cut off because a statement took too long.
        timeout: seconds after which the server itself ends a statement; 0 for never.
    """

    def __init__(self) -> None:
        self.connection: Connection = None
        self.lock = threading.RLock()
        self.users = 1
        self.since: float | None = None
        self.is_cut = False
        self.timeout = 0.0

    @property
    def silence(self) -> float:
        """Seconds since the running statement was sent; 0 without one."""
        since = self.since
        return 0.0 if since is None else time.monotonic() - since

    def drop(self, connection: Connection) -> None:
        """Close a connection that is no longer usable."""
        with self.lock:
            if connection is not None and connection is self.connection:
                self.connection = None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def cut(self) -> None:
        """Abort a statement without an answer, from any thread."""
        connection = self.connection
        if self.since is None or connection is None:
            return
        self.is_cut = True
        with suppress(Exception), socket.socket(fileno=os.dup(connection.fileno())) as own:
            own.shutdown(socket.SHUT_RDWR)


_BESIDE: dict[str, _Link] = {}
"""This process's connections for everything but writing, by address."""
_BESIDE_LOCK = threading.Lock()
_WATCHED: WeakSet[Server] = WeakSet()
"""Servers whose statements are aborted if they take too long."""
_INHERITED: list[_Link] = []


def _begin_anew() -> None:
    """In a forked process, drop the parent's connections without closing them."""
    global _BESIDE_LOCK  # noqa: PLW0603 (a thread of the parent may have had it)
    _BESIDE_LOCK = threading.Lock()
    _INHERITED.extend([*_BESIDE.values(), *(each._link for each in _WATCHED)])
    _BESIDE.clear()
    _WATCHED.clear()


def _watch() -> None:
    """Check the servers until there are none."""
    while True:
        time.sleep(WATCH)
        with _BESIDE_LOCK:
            watched = [*_WATCHED]
            if not watched:
                return
        for server in watched:
            server.check_silence()
        del watched, server  # do not keep them alive


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_begin_anew)


class Server:
    """A connection to a run that reconnects after an outage of the server.

    Several threads may use it, one at a time.

    Args:
        place: the run, or the shared answers.
        access: how this process uses it.
        fresh: start a new run of the same name.
        patience: seconds to wait for an unreachable server.

    Attributes:
        run: the number of the run; None for a reader of a run that does not exist.
        holder: the name of this process in the lease; None if it takes none.
        trouble: what it is waiting for, in words; None for nothing.

    Raises:
        MissingExtraError: the driver is not installed.
        JournalError: the server cannot be reached or used, or another process is using the run.
    """

    def __init__(
        self, place: Database, access: Access, *, fresh: bool = False, patience: float = 0.0
    ) -> None:
        self.place, self._access, self._patience = vouched(place), access, patience
        self._trouble: str | None = None
        self.run: int | None = CACHE
        self.holder: str | None = None
        self._link = _Link()
        self._given_up = threading.Event()
        self._is_open = False
        self._is_watched()
        try:
            opening = partial(self._open, fresh, Watch(self.place))
            while not self.do(opening):
                self._given_up.wait(LOOK)
        except BaseException:
            self.close()
            raise
        self._is_open = True

    def _open(self, fresh: bool, watch: Watch, connection: Connection) -> bool:
        """Find or start the run. False if it must be tried again because another process owns
        it."""
        if not self._set_up(connection):
            self.run = None
        elif self.place.run is not None:
            return self._take_run(connection, fresh, watch)
        return True

    def beside(self) -> Server:
        """A server for everything but writing, with one connection for the whole process.

        If the database has less than half of its connections left, it shares this connection. So
        the number of processes can reach three quarters of the number of connections.
        """
        with _BESIDE_LOCK:
            link = _BESIDE.get(self.place.address)
            if link is None or not link.users:
                link = _BESIDE[self.place.address] = self._second_link()
            link.users += 1
        server = self._on(link)
        server._is_watched()
        return server

    def _on(self, link: _Link) -> Server:
        server = copy(self)
        server._access, server._trouble, server._link = "reading", None, link
        return server

    def _second_link(self) -> _Link:
        link = _Link()
        link.users = 0
        try:
            free, most = self.do(_room)
            if 2 * free > most:
                self._on(link)._connected(again=True)
                return link
        except (psycopg_driver().Error, JournalError):
            pass
        return self._link

    @classmethod
    def shared(cls, place: Database) -> Server | None:
        """A server for everything but writing, on an open connection; None if there is none."""
        with _BESIDE_LOCK:
            link = _BESIDE.get(place.address)
            if link is None or not link.users:
                return None
            link.users += 1
        server = cls.__new__(cls)
        server.place, server.run, server.holder = place, CACHE, None
        server._access, server._patience, server._trouble = "reading", 0.0, None
        server._link, server._is_open = link, True
        server._given_up = threading.Event()
        return server

    @property
    def is_shared(self) -> bool:
        """Whether other parts of the process use the same connection."""
        return self._link.users > 1

    @property
    def room(self) -> int:
        """How many more connections the database allows."""
        return self.do(_room)[0]

    @property
    def trouble(self) -> str | None:
        """What it is waiting for, in words; None for nothing."""
        if self._trouble is None and self._link.silence > SILENT:
            return (
                f"{self.place}: it has not confirmed a statement for more than {SILENT:.0f} s (a "
                "lock, or a synchronous standby that is away); waiting for it"
            )
        return self._trouble

    def check_silence(self) -> None:
        """Abort a statement that has exceeded the patience for an unreachable server."""
        if self._link.silence > max(SILENT, self._patience):
            self._link.cut()

    def _is_watched(self) -> None:
        if not self._patience:
            return
        with _BESIDE_LOCK:
            if not _WATCHED:
                threading.Thread(target=_watch, name="rubricate-watch", daemon=True).start()
            _WATCHED.add(self)

    def do(self, act: Callable[[Connection], _T]) -> _T:
        """Run an atomic action on the connection, and repeat it if the connection is lost.

        Raises:
            JournalError: it fails, or the server was unreachable for too long.
        """
        driver, wait, begin = psycopg_driver(), _FIRST_WAIT, time.monotonic()
        is_first, link = True, self._link
        while True:
            connection, before = None, time.monotonic()
            try:
                with link.lock:
                    connection = self._usable()
                    before = time.monotonic()
                    with self.turn():
                        result = act(connection)
            except driver.Error as error:
                now = time.monotonic()
                is_lost = connection is None or connection.closed
                if not self._passes(error, is_lost, now - before):
                    raise self._problem(error) from None
                link.drop(connection)
                silence, link.is_cut = now - before if link.is_cut else 0.0, False
                begin, is_first = now if is_first else begin, False
                away = max(now - begin, silence)
                if away >= self._patience or self._given_up.is_set():
                    raise self._problem(error, away=away) from None
                waits = _WAITS_FOR_ROOM if _is_full(error) else "waiting for it"
                self._trouble = f"{self.place}: {_line(error)}; {waits}"
                if not self._is_open:
                    logger.warning("%s", self._trouble)
                self._given_up.wait(min(wait, max(0.0, begin + self._patience - now)))
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                self._trouble = None
                return result

    def _passes(self, error: psycopg.Error, is_lost: bool, took: float) -> bool:
        """Whether an error is temporary."""
        state = error.sqlstate
        if not self._is_open and self._access != "worker":  # it can be the wrong server
            return _is_full(error)
        if state == _CANCELED:  # by a timeout of the server, or by a person
            return 0.0 < self._link.timeout <= took
        return is_lost or (state is not None and state.startswith(_PASSES))

    @contextmanager
    def turn(self) -> Iterator[Connection]:
        """The connection for statements that belong together, without waiting or repeating.

        Raises:
            JournalError: the server is unreachable.
        """
        link = self._link
        with link.lock:
            try:
                connection = self._usable()
            except psycopg_driver().Error as error:
                raise self._problem(error) from None
            link.since = time.monotonic()
            try:
                yield connection
            finally:
                link.since = None

    def _usable(self) -> Connection:
        """The connection; a new one if it was lost."""
        if not self._link.users:
            raise JournalError(f"{self.place}: it was closed")
        connection = self._link.connection
        return (
            self._connected(again=self._is_open)
            if connection is None or connection.closed
            else connection
        )

    def give_up(self) -> None:
        """Stop waiting for an unreachable server; from any thread."""
        self._given_up.set()
        if self._link.silence > SILENT:
            self._link.cut()

    def close(self) -> None:
        """Release the connection. It is closed if no other part of the process uses it."""
        with _BESIDE_LOCK:
            _WATCHED.discard(self)
            link = self._link
            link.users -= 1
            if not link.users:
                for name in [name for name, each in _BESIDE.items() if each is link]:
                    del _BESIDE[name]
        if not link.users:
            link.cut()  # an abandoned thread may still be using it
            with link.lock:
                link.drop(link.connection)

    def _connected(self, *, again: bool = False) -> Connection:
        """Connect, and use the new connection."""
        connection = self._new_connection()
        try:
            is_read_only, timeout, _ = connection.execute(_BEGIN).fetchone()
            if is_read_only and not again and self._access != "reading":
                raise JournalError(
                    f"{self.place}: it is read-only, such as a replica is; name the server that "
                    "takes what is written"
                )
        except BaseException:
            connection.close()
            raise
        self._link.connection, self._link.timeout = connection, timeout
        remember(self.place.address)
        return connection

    def _new_connection(self) -> Connection:
        parameters = {**_DEFAULTS, **parsed(self.place.address)}
        # No prepared statements: their plan may stem from a nearly empty table.
        return psycopg_driver().connect(**parameters, autocommit=True, prepare_threshold=None)

    # Tables and runs

    def _set_up(self, connection: Connection) -> bool:
        """Create missing tables, unless this is a reader. Returns whether they exist."""
        version = _format(connection)
        if version < len(_STEPS) and self._access != "reading":
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_number(connection),))
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS rubricate_meta (format integer NOT NULL)"
                )
                version = _format(connection)  # another process may have created them
                if version < len(_STEPS):
                    for step in _STEPS[version:]:
                        connection.execute(step)
                    connection.execute("DELETE FROM rubricate_meta")
                    connection.execute("INSERT INTO rubricate_meta VALUES (%s)", (len(_STEPS),))
                    version = len(_STEPS)
        if version > len(_STEPS):
            raise JournalError(
                f"{self.place}: its tables are of a newer version of rubricate (format {version}, "
                f"known up to {len(_STEPS)}): upgrade rubricate, or name another database"
            )
        if self._access != "reading" and not connection.execute(_MAY_WRITE).fetchone()[0]:
            raise JournalError(f"{self.place}: this account may not write there; {_GRANTS}")
        return version > 0

    def _take_run(self, connection: Connection, fresh: bool, watch: Watch) -> bool:
        """Find the run and take its lease. Returns whether the lease could be taken.

        A missing run is created, unless this is a reader.
        """
        name, access = self.place.run or "", self._access
        with connection.transaction():
            connection.execute(
                "SELECT pg_advisory_xact_lock(%s)", (_number(connection, name, "opening"),)
            )
            row = connection.execute(
                "SELECT id FROM rubricate_runs WHERE name = %s ORDER BY id DESC LIMIT 1", (name,)
            ).fetchone()
            self.run = None if row is None else int(row[0])
            if access == "reading":
                return True
            belongs = access != "worker"  # which works under its driver's lease
            if belongs and self.run is not None and not watch.is_free(connection, self.run, access):
                return False
            if self.run is None or (fresh and belongs):
                (number,) = connection.execute(
                    "INSERT INTO rubricate_runs (name) VALUES (%s) RETURNING id", (name,)
                ).fetchone()
                self.run = int(number)
            if belongs:
                self.holder = acquired(connection, self.run, access)
        return True

    # Errors

    def _problem(self, error: Exception, away: float = 0.0) -> JournalError:
        kind = NoRoom if _is_full(error) else JournalError
        return kind(f"{self.place}: {_said(error, away)}")


def _number(connection: Connection, *names: str) -> int:
    """The number of an advisory lock: for the tables, or for opening a run."""
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    digest = hashlib.blake2b(repr(("rubricate", schema, *names)).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _format(connection: Connection) -> int:
    """The format of the tables; 0 if there are none."""
    (is_there,) = connection.execute("SELECT to_regclass('rubricate_meta') IS NOT NULL").fetchone()
    if not is_there:
        return 0
    (version,) = connection.execute("SELECT max(format) FROM rubricate_meta").fetchone()
    return version or 0


def _is_full(error: Exception) -> bool:
    """Whether a server has no connection left, or is starting."""
    state = getattr(error, "sqlstate", None)
    return state in _FULL or (state is None and any(each in str(error) for each in _FULL_IN_WORDS))


def _room(connection: Connection) -> tuple[int, int]:
    """How many more connections are possible, and how many in total."""
    free, most = connection.execute(_ROOM).fetchone()
    return int(free), int(most)


def _line(error: Exception) -> str:
    """The message of an error in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    return "; ".join(line for line in lines if line and not line.startswith(("LINE", "^")))


_REMEDIES = {
    "42501": f"let somebody who may make tables run the command once, or {_GRANTS}",
    "42P01": "the tables were taken away: name another database, or give --fresh",
    **dict.fromkeys(
        ("42703", "42P07"),  # no such column; a table that is there without the others
        "its tables rubricate_* are not as any version of rubricate made them: name another "
        "database",
    ),
}
"""Advice by SQLSTATE."""


def _said(error: Exception, away: float) -> str:
    """The message of an error, with advice."""
    state, text = getattr(error, "sqlstate", None) or "", _line(error)
    if away:
        end = "the same command resumes it"
        if _is_full(error):
            return (
                f"{text}; all its connections have been in use for {away:.0f} s: raise "
                f"max_connections there, or use fewer processes; {end}"
            )
        return f"{text}; it has been away for {away:.0f} s: what was committed is kept, and {end}"
    if "password" in text:
        return f"{text}; give the password in PGPASSWORD or ~/.pgpass"
    if "database" in text and "does not exist" in text:
        return f"{text}; make it with createdb, or name another"
    return f"{text}; {_REMEDIES[state]}" if state in _REMEDIES else text
