"""Where a journal is, and how a process has it: alone, as one shard of a run, as a worker."""

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
"""How a process has a journal.

`alone`: no other process has the run. `driver`: as `alone`, but for its workers. `worker`: beside
others, without a lock, because its driver holds the run's. A `Shard`: beside the run's other
shards. `reading`: nothing is written or made. `cache`: the answers that runs share.
"""


class Origin(Enum):
    """Who named a server."""

    USER = "the user"
    """On the command line, in a call from Python, or in the environment."""
    SETTINGS = "a settings file"
    RUN_FOLDER = "a run folder"


@dataclass(frozen=True, slots=True)
class Database:
    """A run in a PostgreSQL database, or the answers that all its runs share.

    Attributes:
        address: as libpq reads it; may have a password in it.
        run: the run's name; None for the shared answers.
        origin: who named it. Files may come from somebody else, so that no connection is made to a
            server that only a file names (`vouched`).
    """

    address: str = field(repr=False)
    run: str | None = None
    origin: Origin = Origin.USER

    @classmethod
    def at(cls, address: str, run: str | None = None, *, origin: Origin = Origin.USER) -> Database:
        """The run that an address names with `?run=NAME`, which no server is sent.

        Args:
            address: the address.
            run: the name of one that has none.
            origin: as for the class.

        Raises:
            InputError: there is no name, or one that no run can have.
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
        """The answers that all runs of a database share; a run that is named does not matter."""
        return cls(_split(address)[0], None, origin)

    def __str__(self) -> str:
        shown = shown_address(self.address)
        if self.run is None:
            return shown
        return f"{shown}{'&' if '?' in shown else '?'}run={quote(self.run, safe='')}"


def check_address(option: str, address: str) -> None:
    """Raise `InputError` for what is no address of a database; it may be a password."""
    if not is_address(address):
        raise InputError(
            f"{option} must be an address such as postgresql://USER@HOST/DATABASE?run=NAME; the "
            "one that is given does not begin with postgresql://"
        )


READER_PATIENCE = 5.0
"""Seconds to wait for a server that goes away while nothing would be lost: shared answers, without
which a run continues, and runs that are only read. Runs that are graded wait for `max_outage`."""
Place = Path | Database
"""Where a journal is: a file, or a run of a database."""


def _split(address: str) -> tuple[str, str | None]:
    """An address as libpq takes it, and the run's name that it has."""
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
