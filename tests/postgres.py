"""PostgreSQL for tests: one server for all workers, and servers that a test may break."""

from __future__ import annotations

import fcntl
import importlib
import os
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

__all__ = ["own_postgres", "postgres", "postgres_server"]

TOOLS = Path(__file__).parents[1] / "tools"


def tool(name: str) -> ModuleType:
    """A module of `tools/`, which may import others of it."""
    if str(TOOLS) not in sys.path:
        sys.path.append(str(TOOLS))
    return importlib.import_module(name)


Server = tool("postgres_server").PostgresServer
NoServer = tool("postgres_server").NoServer


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
    with (shared / "postgres.lock").open("a+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        note, users = shared / "postgres", shared / "postgres-users"
        users.mkdir(exist_ok=True)
        if note.exists():
            folder, port = note.read_text().split()
            server = Server.at(Path(folder), int(port))
        else:
            server = started()
            note.write_text(f"{server.folder} {server.port}")
        (users / worker_id).touch()
        fcntl.flock(lock, fcntl.LOCK_UN)
        yield server
        fcntl.flock(lock, fcntl.LOCK_EX)
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
