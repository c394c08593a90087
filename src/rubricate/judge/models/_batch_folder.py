"""The files of a run's pending and ended batches: one each, written before the batch is sent."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Literal

import orjson

from rubricate._files import Replacement, check_no_links
from rubricate.errors import InputError

BATCHES = "batches"
"""The folder for batches in a run folder."""
State = Literal["sending", "out", "ended"]
_ID = re.compile(r"(?:batches/)?[\w-]+")
"""A provider's id of a batch, which becomes part of URLs."""


@dataclass(slots=True)
class Batch:
    """One batch.

    Attributes:
        key: our own name for it, used to find it at the provider.
        model, url: the name of the model and the URL of its endpoint.
        rows: the hashes of its requests; after its end, only of the answered ones.
        state: `sending` until its id is known, `out` until its results are stored.
        id: the provider's id.
        input_file: the provider's id of the file with its requests, if any.
        created: when it was created on this machine (seconds since 1970).
        ended: when its results were stored on this machine.
    """

    key: str
    model: str
    url: str
    rows: list[str]
    state: State = "sending"
    id: str | None = None
    input_file: str | None = None
    created: float = field(default_factory=time.time)
    ended: float | None = None

    @property
    def since(self) -> str:
        """When it was created, as a line of the shell has it."""
        return f"since {datetime.fromtimestamp(self.created, UTC):%Y-%m-%d %H:%M} UTC"


class BatchFolder:
    """The files of a run's batches, which several processes may share.

    Args:
        path: the folder; created with the first batch.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._by_row: dict[str, Batch] = {}
        self._read: dict[str, int] = {}
        check_no_links(path)

    def new(self, model: str, url: str, rows: Sequence[str]) -> Batch:
        """Create and store a batch of these requests, which is about to be sent."""
        batch = Batch(secrets.token_hex(12), model, url, list(rows))
        self.path.mkdir(mode=0o700, exist_ok=True)
        self.write(batch)
        return batch

    def write(self, batch: Batch) -> None:
        """Store the current state of a batch; it is on disk when this returns."""
        file = self.path / f"{batch.key}.json"
        with Replacement(file, private=True, durable=True) as stream:
            stream.write(orjson.dumps(asdict(batch)))
        self._read[file.name] = file.stat().st_mtime_ns
        self._note(batch)

    def drop(self, batch: Batch) -> None:
        """Delete a batch that was never sent, or gave no results."""
        (self.path / f"{batch.key}.json").unlink(missing_ok=True)
        batch.rows = []
        self._note(batch)

    def keep_results(self, batch: Batch, answers: bytes, rows: Sequence[str]) -> None:
        """Store the answers of a batch, and mark it as ended with answers to these requests."""
        with Replacement(self._results(batch), private=True, durable=True) as stream:
            stream.write(answers)
        batch.rows, batch.state, batch.ended = list(rows), "ended", time.time()
        self.write(batch)

    def results(self, batch: Batch) -> bytes | None:
        """The stored answers of a batch that has ended; None if they were deleted."""
        file = self._results(batch)
        return file.read_bytes() if file.exists() else None

    @property
    def batches(self) -> list[Batch]:
        """All batches that have a request."""
        return list({batch.key: batch for batch in self._by_row.values()}.values())

    def holding(self, row: str) -> Batch | None:
        """The batch that contains a request and will answer it or has done so."""
        return self._by_row.get(row)

    def refresh(self) -> None:
        """Read what other or earlier processes have stored."""
        for file in sorted(self.path.glob("*.json")) if self.path.is_dir() else ():
            changed = file.stat().st_mtime_ns
            if self._read.get(file.name) != changed:
                self._read[file.name] = changed
                self._note(read_batch(file))

    def _note(self, batch: Batch) -> None:
        for row in [row for row, other in self._by_row.items() if other.key == batch.key]:
            del self._by_row[row]
        self._by_row |= dict.fromkeys(batch.rows, batch)

    def _results(self, batch: Batch) -> Path:
        return self.path / f"{batch.key}.results"


def read_batch(file: Path) -> Batch:
    """Read a batch from its file.

    Raises:
        InputError: the file is damaged.
    """
    from pydantic import TypeAdapter

    try:
        noted = file.read_bytes()
        Batch(**orjson.loads(noted))  # no unknown fields
        batch = TypeAdapter(Batch).validate_json(noted, strict=True)
        if batch.id is not None and not _ID.fullmatch(batch.id):
            raise ValueError("no id of a batch")
        return batch
    except (TypeError, ValueError):
        raise InputError(
            "is damaged: remove it, and the requests of its batch are sent again", file=file
        ) from None


def batches_in(folder: Path) -> Iterator[tuple[Path, Batch]]:
    """Yield the batches of all runs in a folder, with their run folders, the oldest first.

    Includes those of runs that were restarted with `fresh`.
    """
    entries = [
        (file.parent.parent, read_batch(file))
        for place in (*folder.glob(f"{BATCHES}*"), *folder.glob(f"*/{BATCHES}*"))
        for file in place.glob("*.json")
    ]
    yield from sorted(entries, key=lambda entry: entry[1].created)
