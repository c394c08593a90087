"""A PostgreSQL server: its tables, its runs, and what its errors mean."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate.errors import JournalError
from rubricate.run.journal._known_servers import parsed, psycopg_driver, remember, vouched
from rubricate.run.journal._lease import LEASES, LOOK, Watch, acquired
from rubricate.run.journal._places import Access, Database

if TYPE_CHECKING:
    import psycopg

__all__ = ["CACHE", "Server"]

_T = TypeVar("_T")
Connection = Any
"""A `psycopg.Connection`, which is not loaded where no journal is in a database."""
CACHE = 0
"""The number that the answers which runs share have in place of a run's."""
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
)
"""What makes format n + 1 of format n; format 0 is a database without the tables."""
_DEFAULTS = {
    "connect_timeout": 10,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
    "application_name": "rubricate",
}
_PASSES = ("08", "53", "57P", "25006", "40001", "40P01", "55P03")
"""SQLSTATEs, or their beginnings, of what another attempt may find mended."""
_BEGIN = (
    "SELECT pg_backend_pid(), current_setting('transaction_read_only') = 'on',"
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
_LOOKS = 5
"""How often is looked whether a pooler gives a session's server to others."""
_FIRST_WAIT, _LONGEST_WAIT = 0.1, 5.0


class Server:
    """A connection to a run, made again where the server has been away.

    Not to be used by two threads at once.

    Args:
        place: the run, or the shared answers.
        access: how this process has it.
        fresh: begin a new run of the name.
        patience: seconds to wait for a server that has gone away.

    Attributes:
        run: the run's number; None where there is none and none is made.
        holder: the name of this process in the run's lease; None where it takes none.
        trouble: what is waited for, in words; None for nothing.

    Raises:
        MissingExtraError: there is no driver.
        JournalError: the server cannot be reached or used, or another process has the run.
    """

    def __init__(
        self, place: Database, access: Access, *, fresh: bool = False, patience: float = 0.0
    ) -> None:
        self.place, self._access, self._patience = vouched(place), access, patience
        self.trouble: str | None = None
        self.run: int | None = CACHE
        self.holder: str | None = None
        self._connection: Connection = None
        self._given_up = threading.Event()
        try:
            connection = self._connected()
            if not self._set_up(connection):
                self.run = None
            elif place.run is not None:
                self.run, self.holder = self._run_of(connection, fresh)
        except BaseException as error:
            self.close()
            if isinstance(error, psycopg_driver().Error):
                raise self._problem(error) from None
            raise

    def beside(self) -> Server:
        """Another connection to the same run, for another thread; made when it is used."""
        server = Server.__new__(Server)
        server.place, server.run, server.trouble = self.place, self.run, None
        server._access, server._patience = "reading", self._patience
        server.holder, server._connection = self.holder, None
        server._given_up = self._given_up
        return server

    def do(self, act: Callable[[Connection], _T]) -> _T:
        """Do something with the connection, all or nothing; again where it was lost meanwhile.

        Raises:
            JournalError: it cannot be done, or the server has been away for too long.
        """
        driver, begin, wait = psycopg_driver(), None, _FIRST_WAIT
        while True:
            try:
                found = act(self._connection or self._connected(again=True))
            except driver.Error as error:
                if not _passes(error) and not self._is_lost():
                    raise self._problem(error) from None
                now = time.monotonic()
                begin = now if begin is None else begin
                self.close()
                if now - begin >= self._patience or self._given_up.is_set():
                    raise self._problem(error, away=now - begin) from None
                self.trouble = f"{self.place}: {_line(error)}; waiting for it"
                self._given_up.wait(min(wait, max(0.0, begin + self._patience - now)))
                wait = min(2 * wait, _LONGEST_WAIT)
            else:
                self.trouble = None
                return found

    def give_up(self) -> None:
        """Wait no more for a server that is away; may be called in any thread."""
        self._given_up.set()

    def close(self) -> None:
        """Let go of the connection."""
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(Exception):
                connection.close()

    def _is_lost(self) -> bool:
        return self._connection is None or self._connection.closed

    def _connected(self, *, again: bool = False) -> Connection:
        """A new connection, which is used from now on."""
        connection = self.opened()
        try:
            pid, is_read_only, _ = connection.execute(_BEGIN).fetchone()
            if is_read_only and not again and self._access != "reading":
                raise JournalError(
                    f"{self.place}: it is read-only, such as a replica is; name the server that "
                    "takes what is written"
                )
            if pid != connection.info.backend_pid:
                self._check_pooler(connection)
        except BaseException:
            connection.close()
            raise
        self._connection = connection
        remember(self.place.address)
        return connection

    def _check_pooler(self, connection: Connection) -> None:
        """Refuse a pooler that gives a session's server to others between two transactions.

        Locks are a session's. The server of this connection is another connection's meanwhile, or
        another one from query to query.
        """
        seen = set()
        with self.opened() as other:
            for _ in range(_LOOKS):
                seen.add(_pid(connection))
                with other.transaction():
                    shared = _pid(other) in seen
                if shared or len(seen) > 1:
                    raise JournalError(
                        f"{self.place}: there is a pooler (PgBouncer) in transaction mode, which "
                        "breaks the locks that keep two processes off one run: name the server "
                        "itself, or a pooler in session mode"
                    )

    def opened(self, **bounds: int) -> Connection:
        """A new connection, for another purpose, with other time limits."""
        told = {**_DEFAULTS, **bounds, **parsed(self.place.address)}
        # Planned each time: a prepared plan may be one for the table as it was, nearly empty.
        return psycopg_driver().connect(**told, autocommit=True, prepare_threshold=None)

    # Tables and runs

    def _set_up(self, connection: Connection) -> bool:
        """Make the tables where they are not there; whether they are."""
        found = _format(connection)
        if found < len(_STEPS) and self._access != "reading":
            with connection.transaction():
                connection.execute("SELECT pg_advisory_xact_lock(%s)", (_number(connection),))
                connection.execute(
                    "CREATE TABLE IF NOT EXISTS rubricate_meta (format integer NOT NULL)"
                )
                found = _format(connection)  # another process may have made them meanwhile
                if found < len(_STEPS):
                    for step in _STEPS[found:]:
                        connection.execute(step)
                    connection.execute("DELETE FROM rubricate_meta")
                    connection.execute("INSERT INTO rubricate_meta VALUES (%s)", (len(_STEPS),))
                    found = len(_STEPS)
        if found > len(_STEPS):
            raise JournalError(
                f"{self.place}: its tables are of a newer version of rubricate (format {found}, "
                f"known up to {len(_STEPS)}): upgrade rubricate, or name another database"
            )
        if self._access != "reading" and not connection.execute(_MAY_WRITE).fetchone()[0]:
            raise JournalError(f"{self.place}: this account may not write there; {_GRANTS}")
        return found == len(_STEPS)

    def _run_of(self, connection: Connection, fresh: bool) -> tuple[int | None, str | None]:
        """The run's number, which is begun where it is not there, and the name in its lease."""
        name, access, watch = self.place.run or "", self._access, Watch(self.place)
        while True:
            with connection.transaction():
                connection.execute(
                    "SELECT pg_advisory_xact_lock(%s)", (_number(connection, name, "opening"),)
                )
                row = connection.execute(
                    "SELECT id FROM rubricate_runs WHERE name = %s ORDER BY id DESC LIMIT 1",
                    (name,),
                ).fetchone()
                if access == "reading":
                    return None if row is None else int(row[0]), None
                begun = None if row is None else int(row[0])
                if access == "worker" and begun is not None:
                    return begun, None
                found = begun is None or watch.is_free(connection, begun, access)
                if found and (begun is None or fresh):
                    (begun,) = connection.execute(
                        "INSERT INTO rubricate_runs (name) VALUES (%s) RETURNING id", (name,)
                    ).fetchone()
                if found:
                    assert begun is not None
                    holder = None if access == "worker" else acquired(connection, begun, access)
                    return begun, holder
            if self._given_up.wait(LOOK):
                raise JournalError(f"{self.place}: another process's lease was waited for")

    # Errors

    def _problem(self, error: Exception, away: float = 0.0) -> JournalError:
        return JournalError(f"{self.place}: {_said(error, away)}")


def _pid(connection: Connection) -> int:
    """The server's process that a query of a connection is given to."""
    (found,) = connection.execute("SELECT pg_backend_pid()", prepare=False).fetchone()
    return int(found)


def _number(connection: Connection, *names: str) -> int:
    """The number of an advisory lock: of the tables, or of a run that is opened."""
    (schema,) = connection.execute("SELECT current_schema()").fetchone()
    digest = hashlib.blake2b(repr(("rubricate", schema, *names)).encode(), digest_size=8)
    return int.from_bytes(digest.digest(), "big", signed=True)


def _format(connection: Connection) -> int:
    """The format of the tables; 0 where they are not there."""
    (is_there,) = connection.execute("SELECT to_regclass('rubricate_meta') IS NOT NULL").fetchone()
    if not is_there:
        return 0
    (found,) = connection.execute("SELECT max(format) FROM rubricate_meta").fetchone()
    return found or 0


def _passes(error: psycopg.Error) -> bool:
    """Whether another attempt may find mended what is wrong."""
    state = error.sqlstate
    return state is not None and state.startswith(_PASSES)


def _line(error: Exception) -> str:
    """What an error says, in one line."""
    lines = [line.strip() for line in str(error).splitlines()]
    return "; ".join(line for line in lines if line and not line.startswith(("LINE", "^")))


def _said(error: Exception, away: float) -> str:
    """What is wrong, and what to do."""
    state, text = getattr(error, "sqlstate", None), _line(error)
    if away:
        return (
            f"{text}; it has been away for {away:.0f} s: what was committed is kept, and the same "
            "command goes on from there"
        )
    if "password" in text:
        return f"{text}; give the password in PGPASSWORD or ~/.pgpass"
    if state == "42501":
        return f"{text}; let somebody who may make tables run the command once, or {_GRANTS}"
    if "database" in text and "does not exist" in text:
        return f"{text}; make it with createdb, or name another"
    if state == "42P01":
        return f"{text}; the tables were taken away: name another database, or give --fresh"
    return text
