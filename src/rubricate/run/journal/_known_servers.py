"""The PostgreSQL servers that the user has named.

A run folder or a settings file may come from someone else, and with it the server that it names.
Connecting sends that server a password (from `PGPASSWORD`, `~/.pgpass` or wherever libpq looks) and
the contents of the run. So a file can only name a server that the user has named as well: in the
environment (`PGHOST`, `PGPORT`) or in an earlier command, according to the list of servers in the
user's cache folder.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote

from rubricate._files import shown_address
from rubricate.errors import InputError, extra_needed
from rubricate.run.journal._places import Database, Origin

FILE = "servers"
"""The list of servers: one address on each line, without passwords and runs."""
MOST_READ = 1 << 20
"""Bytes of the list that are read, enough for about 10,000 servers."""
_FIRST = ("user", "host", "port", "dbname", "service", "sslmode", "sslrootcert", "options")
"""The parameters of an address that are written first."""
_TUNING = frozenset(
    {
        *("connect_timeout", "tcp_user_timeout", "application_name"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    }
)
"""Parameters that affect neither the target of a connection nor what is sent there."""
_SERVER = frozenset({"user", "host", "port", "dbname"})
"""The only parameters that an address may have to count as the server of `PGHOST`. Others may lead
elsewhere (`hostaddr`, `service`), read the password elsewhere (`passfile`) or send it unencrypted
(`sslmode`)."""


def vouched(place: Database, option: str = "journal") -> Database:
    """The same place as named by the user, if the user has named its server.

    Every check of this kind goes through here.

    Args:
        place: the place.
        option: the option with which the user could name it.

    Raises:
        InputError: the address cannot be read, or only a file names the server. The message says
            how the user can name it.
        MissingExtraError: the driver is not installed.
    """
    if place.origin is Origin.USER:
        return place
    if not _is_known(place.address):
        shown = shown_address(place.address)
        raise InputError(
            f"only {place.origin.value} names the server {shown}, so nothing is sent to it; if you "
            f"trust it, name it yourself: --{option.replace('_', '-')} {shlex.quote(shown)}, or "
            "PGHOST and PGPORT"
        )
    return replace(place, origin=Origin.USER)


def _is_known(address: str) -> bool:
    """Whether the user has named the server of an address."""
    values = {name: value for name, value in parsed(address).items() if name not in _TUNING}
    port = os.environ.get("PGPORT") or "5432"
    is_of_environment = (
        values.keys() <= _SERVER
        and values.get("host", "") in ("", os.environ.get("PGHOST", ""))
        and str(values.get("port", port)) == port
    )
    return is_of_environment or (not _secrets(values) and _noted(values) in _listed())


def remember(address: str) -> None:
    """Add a server to the list, after the user named it and a connection succeeded."""
    note = _noted(parsed(address))
    if note in _listed():
        return
    try:
        file = _file()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(file, flags, 0o600)
        try:
            os.write(handle, f"{note}\n".encode())  # one write, as processes append in parallel
        finally:
            os.close(handle)
    except OSError:  # the home folder is read-only: the user must name it again
        return


def remembered(place: Database) -> str:
    """The address of a run for a run folder, without passwords and tuning parameters."""
    note = _noted(parsed(place.address))
    return f"{note}{'&' if '?' in note else '?'}run={quote(place.run or '', safe='')}"


def is_same_run(a: Database, b: Database) -> bool:
    """Whether two addresses mean the same run: same name, same database, any account."""
    return a.run == b.run and _database(a) == _database(b)


def _database(place: Database) -> tuple[str, str, str]:
    parts = parsed(place.address)
    defaults = {"host": os.environ.get("PGHOST", ""), "port": os.environ.get("PGPORT") or "5432"}
    host, port = (str(parts.get(name) or default) for name, default in defaults.items())
    return host, port, str(parts.get("dbname", ""))


def _listed() -> list[str]:
    try:
        with _file().open("rb") as file:
            return file.read(MOST_READ).decode("utf-8", "replace").splitlines()
    except OSError:
        return []


def _file() -> Path:
    from platformdirs import user_cache_path

    return user_cache_path("rubricate") / FILE


def _secrets(values: dict[str, Any]) -> list[str]:
    """The secret parameters of an address, such as passwords, according to libpq."""
    known = psycopg_driver().pq.Conninfo.get_defaults()
    shown = {default.keyword.decode() for default in known if not default.dispchar}
    return [name for name in values if name not in shown]


def _noted(values: dict[str, Any]) -> str:
    """The address without passwords and tuning parameters, from its parts."""
    left_out = {*_TUNING, *_secrets(values)}
    names = [*_FIRST, *sorted(values.keys() - {*_FIRST})]
    parameters = {
        name: str(values[name]) for name in names if name in values and name not in left_out
    }
    account = quote(parameters.pop("user"), safe="") + "@" if "user" in parameters else ""
    host, port = parameters.pop("host", ""), parameters.pop("port", "")
    database = quote(parameters.pop("dbname", ""), safe="")
    if "," in host + port or host.startswith("/") or ":" in host:  # several, a socket, IPv6
        parameters |= {name: value for name, value in (("host", host), ("port", port)) if value}
        host = port = ""
    parts = [f"{name}={quote(value, safe='')}" for name, value in parameters.items()]
    authority = account + quote(host, safe="") + (f":{port}" if port else "")
    return f"postgresql://{authority}/{database}{'?' if parts else ''}{'&'.join(parts)}"


def psycopg_driver() -> Any:
    """The module `psycopg`. Raises `MissingExtraError` if it is not installed."""
    with extra_needed("a journal in PostgreSQL", "postgres"):
        import psycopg
    return psycopg


def parsed(address: str) -> dict[str, Any]:
    """The parts of an address. Hides libpq's error, which may contain a password."""
    driver = psycopg_driver()
    try:
        parameters: dict[str, Any] = driver.conninfo.conninfo_to_dict(address)
    except driver.Error:
        parameters = {"host": "@"}
    if any("@" in str(parameters.get(name, "")) for name in ("host", "port", "dbname")):
        raise InputError(
            "the address of the database cannot be read: postgresql://USER:PASSWORD@HOST:PORT/"
            "DATABASE?run=NAME, with @ / % and the like in a password as %40 %2F %25, and after ? "
            "nothing but run and libpq's parameters; the password may also be in PGPASSWORD or "
            "~/.pgpass"
        )
    return parameters
