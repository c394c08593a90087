"""What a stranger's folder or file can make us do: each row has a trap, and nothing falls into it.

docs/reliability.md has the same table.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SECRET = "SECRET-of-the-grader"


@dataclass
class Trap:
    """A server that asks whoever connects for the password as plain text, as PostgreSQL can."""

    port: int
    heard: list[bytes] = field(default_factory=list)

    def address(self, query: str = "", host: str = "127.0.0.1") -> str:
        return f"postgresql://u@{host}:{self.port}/x?sslmode=disable{query}"


@pytest.fixture
def trap() -> Iterator[Trap]:
    listener = socket.create_server(("127.0.0.1", 0))
    found = Trap(listener.getsockname()[1])

    def serve() -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(3)
                try:
                    if len(connection.recv(4000)) == 8:  # asks for TLS
                        connection.sendall(b"N")
                        connection.recv(4000)
                    connection.sendall(b"R\0\0\0\x08\0\0\0\x03")
                    found.heard.append(connection.recv(4000))
                except OSError as error:
                    found.heard.append(repr(error).encode())

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    yield found
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


Command = Callable[..., Any]


@pytest.fixture
def strangers_run(rubricate: Command, write_dataset: Command, tmp_path: Path) -> Path:
    """A finished run folder that says nothing yet of where its journal is."""
    write_dataset()
    done = rubricate("grade", "data.json", "--run-dir", "run", "--quiet", "--no-cache")
    assert done.returncode == 0, done.stderr
    for file in (tmp_path / "run").glob("journal*"):
        file.unlink()
    return tmp_path / "run"


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a grader's environment may have: passwords for servers that nobody here is."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        monkeypatch.delenv(name)
    passwords = tmp_path.with_name(f"{tmp_path.name}-pgpass")
    passwords.write_text(f"db.example:*:*:*:{SECRET}\n127.0.0.1:*:*:*:{SECRET}\n")
    passwords.chmod(0o600)
    monkeypatch.setenv("PGPASSFILE", str(passwords))
    monkeypatch.setenv("PGPASSWORD", SECRET)


ADDRESSES: dict[str, tuple[str, dict[str, str]]] = {
    "a server": ("postgresql://u@127.0.0.1:{port}/x", {}),
    "without TLS": ("postgresql://u@127.0.0.1:{port}/x?sslmode=disable", {}),
    "a server at another port of PGHOST": (
        "postgresql://u@127.0.0.1:{port}/x",
        {"PGHOST": "127.0.0.1"},
    ),
    "hostaddr beside the user's host": (
        "postgresql://u@db.example:{port}/x?hostaddr=127.0.0.1",
        {"PGHOST": "db.example", "PGPORT": "{port}"},
    ),
    "several hosts, the user's first": (
        "postgresql://u@db.example:1,127.0.0.1:{port}/x",
        {"PGHOST": "db.example", "PGPORT": "1"},
    ),
    "the host in the query": ("postgresql:///x?host=127.0.0.1&port={port}", {}),
    "the host twice": (
        "postgresql://db.example:{port}/x?host=127.0.0.1",
        {"PGHOST": "db.example", "PGPORT": "{port}"},
    ),
    "a service file's server": ("postgresql:///x?service=theirs", {}),
    "a file of passwords": (
        "postgresql://u@127.0.0.1:{port}/x?passfile={passwords}",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "options for the server": (
        "postgresql://u@127.0.0.1:{port}/x?options=-csearch_path%3Dtheirs",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "TLS switched off for the user's server": (
        "postgresql://u@127.0.0.1:{port}/x?sslmode=disable",
        {"PGHOST": "127.0.0.1", "PGPORT": "{port}"},
    ),
    "a password of its own": ("postgresql://u:theirs@127.0.0.1:{port}/x", {}),
    "a database that is an address": (
        "postgresql:///host%3D127.0.0.1%20port%3D{port}",
        {"PGHOST": "127.0.0.1", "PGPORT": "1"},
    ),
}
LOOKING = {
    "show": ("show", "run"),
    "show --prompt": ("show", "run", "--criterion", "speed", "--prompt"),
    "report": ("report", "run", "-o", "page.html"),
    "report --compare": ("report", "run", "--compare", "run", "-o", "page.html"),
    "export": ("export", "run", "-o", "table.csv"),
    "runs": ("runs", "."),
    "compare": ("compare", "run", "run"),
    "agree": ("trust", "agree", "run"),
    "estimate": ("grade", "data.json", "--run-dir", "run", "--dry-run"),
}


def _settled(trap: Trap, environment: dict[str, str]) -> dict[str, str]:
    return {name: value.format(port=trap.port) for name, value in environment.items()}


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("what", ADDRESSES)
@pytest.mark.parametrize("way", ["a run folder", "journal", "cache", "share_limits"])
def test_a_server_that_only_a_file_names_is_not_connected_to(
    what: str, way: str, rubricate: Command, strangers_run: Path, trap: Trap, tmp_path: Path
):
    address, environment = ADDRESSES[what]
    passwords = os.environ["PGPASSFILE"]
    address = address.format(port=trap.port, passwords=passwords)
    services = tmp_path / "services.conf"
    services.write_text(f"[theirs]\nhost=127.0.0.1\nport={trap.port}\nuser=u\n")
    environment = {**_settled(trap, environment), "PGSERVICEFILE": str(services)}
    told = ["--no-cache", "--max-outage", "0.1", "--quiet"]
    if way == "a run folder":
        separator = "&" if "?" in address else "?"
        (strangers_run / "journal.url").write_text(f"{address}{separator}run=r\n")
        told += ["data.json", "--run-dir", "run"]
    else:
        (tmp_path / "theirs.yaml").write_text(
            json.dumps({"data": "data.json", "run_dir": "new", way: address})
        )
        told += ["--config", "theirs.yaml"]
    done = rubricate("grade", *(told[1:] if way == "cache" else told), **environment)
    assert trap.heard == []
    if what != "a database that is an address":  # that is one of the user's own server
        assert "name it yourself: --" in done.stderr
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1
    assert SECRET not in done.stderr


@pytest.mark.usefixtures("planted")
@pytest.mark.parametrize("what", LOOKING)
@pytest.mark.parametrize("query", ["", "&hostaddr=127.0.0.1"])
def test_looking_at_a_strangers_run_folder_connects_to_nobody(
    what: str, query: str, rubricate: Command, strangers_run: Path, trap: Trap
):
    host = "db.example" if query else "127.0.0.1"
    (strangers_run / "journal.url").write_text(trap.address(f"{query}&run=r", host) + "\n")
    done = rubricate(*LOOKING[what])
    assert trap.heard == []
    asks = what in ("show --prompt", "report", "report --compare", "estimate")
    assert ("name it yourself: --journal" in done.stderr) == asks
    assert "Traceback" not in done.stderr


@pytest.mark.usefixtures("planted")
def test_the_users_own_word_connects(
    rubricate: Command, strangers_run: Path, trap: Trap, tmp_path: Path
):
    (strangers_run / "journal.url").write_text(trap.address("&run=r") + "\n")
    rubricate("report", "run", "-o", "page.html", "--journal", trap.address())
    assert SECRET.encode() in trap.heard.pop()
    rubricate("show", "run", "--criterion", "speed", "--prompt", "--journal", trap.address())
    assert SECRET.encode() in trap.heard.pop()
    address = f"postgresql://u@127.0.0.1:{trap.port}/x"
    (strangers_run / "journal.url").write_text(f"{address}?run=r\n")
    own = {"PGHOST": "127.0.0.1", "PGPORT": str(trap.port), "PGSSLMODE": "disable"}
    rubricate("report", "run", "-o", "page.html", **own)
    assert SECRET.encode() in trap.heard.pop()
    other = rubricate("report", "run", "--journal", "postgresql://u@127.0.0.1:1/x")
    assert (other.returncode, "leave out --journal" in other.stderr) == (1, True)
    assert trap.heard == []


def test_a_run_folder_of_ones_own_is_looked_at_without_being_asked(
    rubricate: Command, write_dataset: Command, postgres: str, tmp_path: Path
):
    write_dataset()
    made = rubricate("grade", "data.json", "--run-dir", "run", "--journal", postgres, "--quiet")
    assert made.returncode == 0, made.stderr
    assert "speed" in rubricate("show", "run", "--criterion", "speed", "--prompt").stdout
    assert rubricate("report", "run").stderr == ""
    assert rubricate("grade", "data.json", "--run-dir", "run", "--quiet").returncode == 0
    copied = tmp_path / "copied"
    shutil.copytree(tmp_path / "run", copied)
    assert rubricate("report", "copied").stderr == ""
    note = (copied / "journal.url").read_text()
    (copied / "journal.url").write_text(note.replace("?", "?options=-cwork_mem%3D1MB&", 1))
    assert "name it yourself" in rubricate("report", "copied").stderr
