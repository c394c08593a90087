"""Where a journal is, and how a process uses it: alone, as one shard of a run, or as a worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Literal
from urllib.parse import quote, unquote

from rubricate._files import is_address, shown_address
from rubricate.errors import InputError
from rubricate.run._shards import Shard

Access = Literal["alone", "driver", "worker", "reading", "cache"] | Shard
"""How a process uses a journal.

`alone`: no other process uses the run. `driver`: only its own workers do. `worker`: beside other
workers, without a lock, because the driver holds it. A `Shard`: beside the other shards of the run.
`reading`: nothing is written or created. `cache`: answers that runs share.
"""


class Origin(Enum):
    """Who named a server."""

    USER = "the user"
    """On the command line, in a Python call, or in the environment."""
    SETTINGS = "a settings file"
    RUN_FOLDER = "a run folder"


@dataclass(frozen=True, slots=True)
class Database:
    """A run in a PostgreSQL database, or the answers that all its runs share.

    Attributes:
        address: the address for libpq; may contain a password.
        run: the name of the run; None for the shared answers.
        origin: who named the server. Files may come from someone else, so no connection is made to
            a server that only a file names (`vouched`).
    """

    address: str = field(repr=False)
    run: str | None = None
    origin: Origin = Origin.USER

    @classmethod
    def at(cls, address: str, run: str | None = None, *, origin: Origin = Origin.USER) -> Database:
        """The run at an address with `?run=NAME`, which is not sent to the server.

        Args:
            address: the address.
            run: the name to use if the address has none.
            origin: as for the class.

        Raises:
            InputError: there is no name, or it is not a valid name of a run.
        """
        address, named = _split(address)
        run = run if named is None else named
        if not run:
            raise InputError(
                "a run in a database needs a name: give a run folder (--run-dir), or add ?run=NAME "
                "to the address of the journal"
            )
        if "\0" in run or any("\ud800" <= letter <= "\udfff" for letter in run):
            raise InputError(f"a run cannot have this name: {run!r}")
        return cls(address, run, origin)

    @classmethod
    def shared(cls, address: str, *, origin: Origin = Origin.USER) -> Database:
        """The answers that all runs in a database share. A run in the address is ignored."""
        return cls(_split(address)[0], None, origin)

    def __str__(self) -> str:
        shown = shown_address(self.address)
        if self.run is None:
            return shown
        return f"{shown}{'&' if '?' in shown else '?'}run={quote(self.run, safe='')}"


def check_address(option: str, address: str) -> None:
    """Raise `InputError` if this is no database address. Does not show it: it may be a password."""
    if not is_address(address):
        raise InputError(
            f"{option} must be an address such as postgresql://USER@HOST/DATABASE?run=NAME; the "
            "one that is given does not begin with postgresql://"
        )


READER_PATIENCE = 5.0
"""Seconds to wait for an unreachable server when nothing would be lost: for shared answers, without
which a run continues, and for runs that are only read. Grading runs wait for `max_outage`."""
Place = Path | Database
"""Where a journal is: a file, or a run of a database."""


def _split(address: str) -> tuple[str, str | None]:
    """The address for libpq, and the name of the run in it."""
    query = address.find("?", address.rfind("@") + 1)
    if query < 0:
        return address, None
    run, kept = None, []
    for part in address[query + 1 :].split("&"):
        if part.startswith("run="):
            run = unquote(part.removeprefix("run="))
        elif part:
            kept.append(part)
    return address[:query] + ("?" if kept else "") + "&".join(kept), run
