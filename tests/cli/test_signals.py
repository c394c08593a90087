"""Ctrl-C and SIGTERM end a command within seconds, whatever it waits for."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rubricate.cli import _ending
from rubricate.testing import Rule, ScriptedEndpoint

SECONDS = 5.0
SLACK = 10.0
"""More seconds, for a machine on which much else runs. What waited for a database took minutes."""


@pytest.fixture
def slow() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint([Rule(delay=0.05)]) as endpoint:
        yield endpoint


def begin(folder: Path, url: str, *more: str) -> subprocess.Popen[str]:
    rubric = [{"name": "c", "requirement": "Says c"}]
    items = [{"submission": f"text {n}"} for n in range(400)]
    (folder / "data.json").write_text(json.dumps({"prompt": "p", "rubric": rubric, "items": items}))
    told = [sys.executable, "-m", "rubricate", "grade", "data.json", "--judge", "m", "--base-url"]
    told += [url, "--no-cache", "--share-limits", "none", "--run-dir", "run", "--quiet", *more]
    return subprocess.Popen(
        told, cwd=folder, stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def after(requests: int, endpoint: ScriptedEndpoint, process: subprocess.Popen[str]) -> None:
    while len(endpoint.requests) < requests:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)


@contextmanager
def opening_silent(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        process = start("--journal", f"postgresql://u@127.0.0.1:{server.getsockname()[1]}/db")
        server.settimeout(60)
        with server.accept()[0] as connection:
            connection.recv(1)
            yield process


def pids_of(server: Any) -> list[int]:
    """The processes of a database server."""
    (first, *_) = (server.folder / "data" / "postmaster.pid").read_text().split()
    found = [int(first)]
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = status.read_text().rpartition(")")[2].split()[1]
        except OSError:
            continue
        if parent == first:
            found.append(int(status.parent.name))
    return found


@contextmanager
def database_frozen(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    server = own_postgres()
    process = start("--journal", server.address())
    after(60, slow, process)
    frozen = pids_of(server)
    for pid in frozen:
        os.kill(pid, signal.SIGSTOP)
    time.sleep(1)
    try:
        yield process
    finally:
        for pid in frozen:
            os.kill(pid, signal.SIGCONT)


@contextmanager
def database_gone(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    server = own_postgres()
    process = start("--journal", server.address())
    after(60, slow, process)
    server.stop("immediate")
    time.sleep(1)
    yield process


@contextmanager
def commit_hanging(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    server = own_postgres()
    process = start("--journal", server.address())
    after(60, slow, process)
    with psycopg.connect(server.address(), autocommit=True) as connection:
        connection.execute("ALTER SYSTEM SET synchronous_standby_names = 'nobody'")
        connection.execute("SELECT pg_reload_conf()")
    time.sleep(1)
    yield process


@contextmanager
def lookup_locked(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    server = own_postgres()
    first = start("--journal", server.address())
    after(60, slow, first)
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=60)
    with psycopg.connect(server.address()) as connection:
        connection.execute("LOCK TABLE rubricate_records")
        process = start("--journal", server.address())
        waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
        while connection.execute(waiting).fetchone() is None:
            assert process.poll() is None, process.communicate()
            time.sleep(0.01)
        yield process


@contextmanager
def lease_waited_for(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    server = own_postgres()
    first = start("--journal", server.address())
    after(20, slow, first)
    first.send_signal(signal.SIGSTOP)
    process = start("--journal", server.address())
    assert "another process held this run until" in process.stderr.readline()
    yield process
    first.kill()
    first.communicate()


@contextmanager
def endpoint_hanging(start: Callable[..., Any], slow: Any, own_postgres: Any) -> Iterator[Any]:
    with ScriptedEndpoint([Rule(fault="hang")]) as silent:
        process = start("--base-url", silent.url)
        after(1, silent, process)
        yield process


STATES = [
    opening_silent,
    database_frozen,
    database_gone,
    commit_hanging,
    lookup_locked,
    lease_waited_for,
    endpoint_hanging,
]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("state", STATES, ids=lambda state: state.__name__)
def test_a_signal_ends_a_command_within_seconds(state, number, tmp_path, slow, own_postgres):
    def start(*more: str) -> subprocess.Popen[str]:
        return begin(tmp_path, slow.url, *more)

    with state(start, slow, own_postgres) as process:
        sent = time.monotonic()
        process.send_signal(number)
        try:
            _, said = process.communicate(timeout=SECONDS + SLACK)
        finally:
            process.kill()
        seconds = time.monotonic() - sent
    assert process.returncode == 130, (said, seconds)
    assert said.splitlines()[-1].startswith("Interrupted."), said
    assert "Traceback" not in said
    is_answered = state in (opening_silent, lookup_locked, lease_waited_for, endpoint_hanging)
    assert is_answered or re.search(r"\d+ answers are not stored, because the server", said)


def test_a_signal_while_python_ends_is_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_: Any) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr("threading.Timer.start", refuse)
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.send(bytes([signal.SIGTERM]))
        writer.shutdown(socket.SHUT_WR)
        loop: Any = asyncio.new_event_loop()
        loop.close()
        _ending._listen(reader, loop, asyncio.Event())


@pytest.mark.skipif(sys.platform == "win32", reason="descriptors are counted in /dev/fd")
def test_a_command_leaves_no_descriptors_behind_in_a_program(rubricate, write_dataset):
    dataset = write_dataset()

    def open_ones() -> int:
        assert rubricate("grade", dataset, "--no-cache", "--quiet").returncode == 0
        return len([*Path("/dev/fd").iterdir()])

    before = open_ones()
    assert min(open_ones() for _ in range(3)) <= before  # event loops may close theirs later
