"""The PostgreSQL servers that the user's own word names.

A run folder or a settings file may come from somebody else, and so may the server that it names:
connecting to it sends it a password, from `PGPASSWORD`, `~/.pgpass` or wherever else libpq
looks, and what the run holds. So a file's word is enough only where the user's names the very same
server: in the environment (`PGHOST`, `PGPORT`), or in an earlier command, as the list of servers in
the user's cache folder says.
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
"""The list: an address on each line, without passwords and runs, as a run folder notes it."""
MOST_READ = 1 << 20
"""Bytes of the list that are read: some 10,000 servers."""
_FIRST = ("user", "host", "port", "dbname", "service", "sslmode", "sslrootcert", "options")
"""What of an address is noted first, `user` to `dbname` in their places."""
_TUNING = frozenset(
    {
        *("connect_timeout", "tcp_user_timeout", "application_name"),
        *("keepalives", "keepalives_idle", "keepalives_interval", "keepalives_count"),
    }
)
"""Parameters that do not matter to where a connection leads, and to what is sent there."""
_SERVER = frozenset({"user", "host", "port", "dbname"})
"""Parameters that an address may have to be the server of `PGHOST`. Any other may lead elsewhere
(`hostaddr`, `service`), take the password from elsewhere (`passfile`) or send it in the clear
(`sslmode`)."""


def vouched(place: Database, option: str = "journal") -> Database:
    """A place as one that the user names, if the user's own word names its server, too.

    This is the one place that decides.

    Args:
        place: the place.
        option: the option with which the user could name it.

    Raises:
        InputError: the address cannot be read, or only a file names the server; says how the user
            can name it.
        MissingExtraError: there is no driver.
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
    """Whether the user's own word names the server that a file's address leads to."""
    values = {name: value for name, value in parsed(address).items() if name not in _TUNING}
    port = os.environ.get("PGPORT") or "5432"
    is_of_environment = (
        values.keys() <= _SERVER
        and values.get("host", "") in ("", os.environ.get("PGHOST", ""))
        and str(values.get("port", port)) == port
    )
    return is_of_environment or (not _secrets(values) and _noted(values) in _listed())


def remember(address: str) -> None:
    """Note that the user has named a server, and that it could be connected to."""
    note = _noted(parsed(address))
    if note in _listed():
        return
    try:
        file = _file()
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(file, flags, 0o600)
        try:
            os.write(handle, f"{note}\n".encode())  # one write: processes append at the same time
        finally:
            os.close(handle)
    except OSError:  # a home that cannot be written: the user is asked again
        return


def remembered(place: Database) -> str:
    """The address of a run as a run folder may keep it: without passwords, and what is usual."""
    note = _noted(parsed(place.address))
    return f"{note}{'&' if '?' in note else '?'}run={quote(place.run or '', safe='')}"


def is_same_run(a: Database, b: Database) -> bool:
    """Whether two addresses name one run: the same name in the same database, for any account."""
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
    """The parameters of an address that libpq would not show, such as passwords."""
    known = psycopg_driver().pq.Conninfo.get_defaults()
    shown = {default.keyword.decode() for default in known if not default.dispchar}
    return [name for name in values if name not in shown]


def _noted(values: dict[str, Any]) -> str:
    """An address of its parts, without passwords, and what is usual."""
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
    """The module `psycopg`; `MissingExtraError` where it is not installed."""
    with extra_needed("a journal in PostgreSQL", "postgres"):
        import psycopg
    return psycopg


def parsed(address: str) -> dict[str, Any]:
    """The parts of an address; what libpq says of one that it cannot read may have a password."""
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
