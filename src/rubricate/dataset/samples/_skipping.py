"""Records that were left out because they do not fit, and the report of them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from os import PathLike
from typing import Literal

from rubricate._files import user_path, write_text
from rubricate.errors import InputError

OnError = Literal["raise", "skip"]
"""What a reader does about a record that does not fit: raise an error, or leave it out."""


@dataclass(frozen=True)
class SkippedRecord:
    """A record that was left out.

    Attributes:
        record: its number in the file, from 1.
        line: the line on which it ends, from 1, where the file has lines.
        error: what is wrong with it.
    """

    record: int
    line: int | None
    error: str


def check_on_error(on_error: str) -> bool:
    """Whether to skip; raises `InputError` for anything but `raise` and `skip`."""
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error must be 'raise' or 'skip', found {on_error!r}")
    return on_error == "skip"


def write_skipped(path: str | PathLike[str], skipped: Sequence[SkippedRecord]) -> None:
    """Write one line of JSON for each record that was left out.

    Raises:
        InputError: the file cannot be written.
    """
    lines = [json.dumps(asdict(record), ensure_ascii=False) + "\n" for record in skipped]
    write_text(user_path(path), "".join(lines))
