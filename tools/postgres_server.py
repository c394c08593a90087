"""A separate PostgreSQL server for tests and measurements.

python tools/postgres_server.py         # starts one, prints its address, stops it at Ctrl-C
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path
from urllib.parse import quote

from held_port import held_port, port_of

__all__ = ["NoServer", "PostgresServer"]

USER, PASSWORD = "rubricate", "p@ss/w%rd"
PLACES = "/usr/lib/postgresql/*/bin"


class NoServer(Exception):
    """No server can be started here; the message says why."""


class PostgresServer:
    """A server in a temporary folder, run by a user who is not root.

    Its socket is open to all; TCP requires a password.

    Args:
        options: settings of the server, in addition to those that make it fast but unsafe on power
            failure.

    Raises:
        NoServer: the server cannot be started.
    """

    def __init__(self, **options: str) -> None:
        self._programs = _programs()
        self._as = _as_user()
        self.folder = Path(tempfile.mkdtemp(prefix="rubricate-pg-"))
        holder = held_port()
        self.port = port_of(holder)
        # Held until this process ends, also where another one stops the server.
        self._holder: int | None = holder.detach()
        if self._as:
            shutil.chown(self.folder, *self._as)
        settings = {"fsync": "off", "full_page_writes": "off", "max_connections": "200", **options}
        settings |= {"port": str(self.port), "unix_socket_directories": str(self.folder)}
        settings |= {
            "listen_addresses": "127.0.0.1",
            "max_connections": options.get("max_connections", "200"),
        }
        password = self.folder / "password"
        password.write_text(PASSWORD)
        try:
            self._run("initdb", "-U", USER, "-E", "UTF8", "--locale=C", "-N", "--auth-local=trust",
                      "--auth-host=scram-sha-256", f"--pwfile={password}")  # fmt: skip
            with (self.folder / "data" / "postgresql.auto.conf").open("a") as file:
                file.writelines(f"{name} = '{value}'\n" for name, value in settings.items())
            self.start()
        except BaseException:
            os.close(self._holder)
            shutil.rmtree(self.folder, ignore_errors=True)
            raise

    @classmethod
    def at(cls, folder: Path, port: int) -> PostgresServer:
        """Return a server that another process started."""
        server = cls.__new__(cls)
        server._programs, server._as = _programs(), _as_user()
        server.folder, server.port, server._holder = folder, port, None
        return server

    def address(self, database: str = "postgres") -> str:
        """Return the address of a database, by socket and without a password."""
        place = quote(str(self.folder), safe="")
        return f"postgresql://{USER}@/{database}?host={place}&port={self.port}"

    def tcp_address(self, database: str = "postgres", password: str | None = PASSWORD) -> str:
        """Return the address of a database by TCP."""
        secret = "" if password is None else f":{quote(password, safe='')}"
        return f"postgresql://{USER}{secret}@127.0.0.1:{self.port}/{database}"

    def database(self, name: str) -> str:
        """Create a database, and return its address."""
        import psycopg

        with psycopg.connect(self.address(), autocommit=True) as connection:
            connection.execute(f'CREATE DATABASE "{name}"'.encode())
        return self.address(name)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        self._run("pg_ctl", "-w", "-l", str(self.folder / "log"), "start")

    def stop(self, mode: str = "immediate") -> None:
        """Stop it: `immediate` like a crash, `fast` with closed connections."""
        self._run("pg_ctl", "-m", mode, "-w", "stop")

    def restart(self, mode: str = "immediate") -> None:
        """Stop it and start it again."""
        self.stop(mode)
        self.start()

    def close(self) -> None:
        """Stop it, and remove its folder."""
        if (self.folder / "data" / "postmaster.pid").exists():
            self.stop()
        if self._holder is not None:
            os.close(self._holder)
            self._holder = None
        shutil.rmtree(self.folder, ignore_errors=True)

    def _run(self, program: str, *arguments: str) -> None:
        command = [str(self._programs / program), "-D", str(self.folder / "data"), *arguments]
        user, group = self._as or (None, None)
        done = subprocess.run(
            command,
            user=user,
            group=group,
            extra_groups=[] if self._as else None,
            cwd=self.folder,
            env={**os.environ, "LC_ALL": "C"},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            stderr=subprocess.PIPE if program != "pg_ctl" else subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            raise NoServer(f"{program}: {(done.stderr or b'').decode()[-300:]}")

    def __enter__(self) -> PostgresServer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _programs() -> Path:
    found = shutil.which("pg_ctl")
    folders = [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/").glob(PLACES.lstrip("/")))
    for folder in folders:
        if (folder / "initdb").exists() and (folder / "pg_ctl").exists():
            return folder
    raise NoServer("PostgreSQL's server is not installed (pg_ctl, initdb)")


def _as_user() -> tuple[int, int] | None:
    """Return the user who runs the server, because root may not."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        return None
    import pwd  # Windows lacks it

    for name in ("postgres", "nobody"):
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return found.pw_uid, found.pw_gid
    raise NoServer("there is no user but root who could run PostgreSQL")


def main() -> None:
    """Start a server, and stop it on Ctrl-C."""
    with PostgresServer() as server:
        print(server.address(), server.tcp_address(), flush=True)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        try:
            while True:
                time.sleep(3600)
        except KeyboardInterrupt:
            pass


if __name__ == "__main__":
    main()
