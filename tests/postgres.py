"""PostgreSQL for tests: one server for all workers, and servers that a test may break."""

from __future__ import annotations

import contextlib
import importlib
import os
import shutil
import socket
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest
from filelock import FileLock

__all__ = ["own_postgres", "pooled", "postgres", "postgres_server"]

TOOLS = Path(__file__).parents[1] / "tools"


def tool(name: str) -> ModuleType:
    """A module of `tools/`, which may import others of it."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module(name)


Server = tool("postgres_server").PostgresServer
NoServer = tool("postgres_server").NoServer
held = tool("held_port")


def started(**options: str) -> Server:
    """A server; where none can be started, tests are skipped, but in CI they fail."""
    try:
        return Server(**options)
    except NoServer as error:
        if os.environ.get("CI") == "true":
            raise
        pytest.skip(f"needs PostgreSQL: {error}")


@pytest.fixture(scope="session")
def postgres_server(tmp_path_factory: pytest.TempPathFactory, worker_id: str) -> Iterator[Server]:
    """The server that all workers share; the last that lets go of it stops it."""
    if worker_id == "master":
        with started() as server:
            yield server
        return
    shared = tmp_path_factory.getbasetemp().parent
    lock = FileLock(shared / "postgres.lock")
    note, users = shared / "postgres", shared / "postgres-users"
    with lock:
        users.mkdir(exist_ok=True)
        if note.exists():
            folder, port = note.read_text().split()
            server = Server.at(Path(folder), int(port))
        else:
            server = started()
            note.write_text(f"{server.folder} {server.port}")
        (users / worker_id).touch()
    yield server
    with lock:
        (users / worker_id).unlink()
        if not any(users.iterdir()):
            note.unlink()
            server.close()


@pytest.fixture
def postgres(postgres_server: Server) -> str:
    """The address of an empty database."""
    return postgres_server.database(f"t{uuid.uuid4().hex}")


@pytest.fixture
def own_postgres() -> Iterator[Callable[..., Server]]:
    """Starts servers that a test may stop and break."""
    servers = []

    def start(**options: str) -> Server:
        servers.append(started(**options))
        return servers[-1]

    yield start
    for server in servers:
        server.close()


@pytest.fixture
def pooled(postgres_server: Server) -> Iterator[Callable[[str, str], str]]:
    """Starts a pooler (PgBouncer) of a mode before a database; gives the database's address."""
    program = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None and os.environ.get("CI") != "true":
        pytest.skip("needs pgbouncer")
    poolers, holders = [], []

    def start(mode: str, address: str) -> str:
        database = address.partition("?")[0].rpartition("/")[2]
        holders.append(held.held_port())
        port = held.port_of(holders[-1])
        told = postgres_server.folder / f"pgbouncer-{port}.ini"
        told.write_text(
            f"[databases]\n* = host={postgres_server.folder} port={postgres_server.port}"
            " user=rubricate\n"
            f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\nauth_type = any\n"
            f"pool_mode = {mode}\nunix_socket_dir =\n"
        )
        told.chmod(0o644)
        owner = postgres_server.folder.owner()  # who is not root: the pooler refuses to be that
        as_user = ["setpriv", f"--reuid={owner}", "--clear-groups"] if os.geteuid() == 0 else []
        poolers.append(
            subprocess.Popen(
                [*as_user, str(program), str(told)],
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
        )
        while poolers[-1].poll() is None:
            with contextlib.suppress(OSError):
                socket.create_connection(("127.0.0.1", port)).close()
                return f"postgresql://rubricate@127.0.0.1:{port}/{database}"
            time.sleep(0.05)
        raise AssertionError("pgbouncer does not start")

    yield start
    for one in poolers:
        one.terminate()
        one.wait()
    for one in holders:
        one.close()
