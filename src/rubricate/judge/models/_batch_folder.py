"""The batches of a run that are out or have ended: one file each, on the disk before it is sent."""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

import orjson

from rubricate._files import Replacement, check_no_links
from rubricate.errors import InputError

BATCHES = "batches"
"""The folder of the batches in a run folder."""
State = Literal["sending", "out", "ended"]
_ID = re.compile(r"(?:batches/)?[\w-]+")
"""A provider's name for a batch, which is a part of addresses."""


@dataclass(slots=True)
class Batch:
    """One batch.

    Attributes:
        key: our own name for it, by which it is found at the provider.
        model, url: the model's name and the address of its endpoint.
        rows: the hashes of its requests; once it has ended, those that were answered.
        state: `sending` until its id is known, `out` until its results are on this disk.
        id: the provider's name for it.
        input_file: the provider's name for the file with its requests, if it has one.
        created: when it was made here (seconds since 1970).
        ended: when its results were stored here.
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


class BatchFolder:
    """The files of a run's batches; several processes may share it.

    Args:
        path: the folder; it is made with the first batch.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._by_row: dict[str, Batch] = {}
        self._read: dict[str, int] = {}
        check_no_links(path)

    def new(self, model: str, url: str, rows: Sequence[str]) -> Batch:
        """A batch of these requests that is about to be sent, noted on the disk."""
        batch = Batch(secrets.token_hex(12), model, url, list(rows))
        self.path.mkdir(mode=0o700, exist_ok=True)
        self.write(batch)
        return batch

    def write(self, batch: Batch) -> None:
        """Note a batch as it is now; it is on the disk when this returns."""
        file = self.path / f"{batch.key}.json"
        with Replacement(file, private=True, durable=True) as stream:
            stream.write(orjson.dumps(asdict(batch)))
        self._read[file.name] = file.stat().st_mtime_ns
        self._note(batch)

    def drop(self, batch: Batch) -> None:
        """Forget a batch that was never sent, or of which nothing came."""
        (self.path / f"{batch.key}.json").unlink(missing_ok=True)
        batch.rows = []
        self._note(batch)

    def keep_results(self, batch: Batch, answers: bytes, rows: Sequence[str]) -> None:
        """Store a batch's answers, and note that it has ended with those to these requests."""
        with Replacement(self._results(batch), private=True, durable=True) as stream:
            stream.write(answers)
        batch.rows, batch.state, batch.ended = list(rows), "ended", time.time()
        self.write(batch)

    def results(self, batch: Batch) -> bytes | None:
        """The stored answers of a batch that has ended; None where they were removed."""
        file = self._results(batch)
        return file.read_bytes() if file.exists() else None

    @property
    def batches(self) -> list[Batch]:
        """All batches that have a request."""
        return list({batch.key: batch for batch in self._by_row.values()}.values())

    def holding(self, row: str) -> Batch | None:
        """The batch that a request is in, and that will answer it or has."""
        return self._by_row.get(row)

    def refresh(self) -> None:
        """Read what other processes, or an earlier one, have noted."""
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
    """What a file says of its batch.

    Raises:
        InputError: it is damaged.
    """
    from pydantic import TypeAdapter

    try:
        noted = file.read_bytes()
        Batch(**orjson.loads(noted))  # nothing that is not known
        batch = TypeAdapter(Batch).validate_json(noted, strict=True)
        if batch.id is not None and not _ID.fullmatch(batch.id):
            raise ValueError("no id of a batch")
        return batch
    except (TypeError, ValueError):
        raise InputError(
            "is damaged: remove it, and the requests of its batch are sent again", file=file
        ) from None


def batches_in(folder: Path) -> Iterator[tuple[Path, Batch]]:
    """The batches of all runs in a folder, with their run folders, the oldest first.

    Those of a run that started anew (`fresh`) are among them.
    """
    entries = [
        (file.parent.parent, read_batch(file))
        for place in (*folder.glob(f"{BATCHES}*"), *folder.glob(f"*/{BATCHES}*"))
        for file in place.glob("*.json")
    ]
    yield from sorted(entries, key=lambda entry: entry[1].created)
