"""Reports in files that end with a hash of all that stands before it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from rubricate._documents import input_error, parse_json, read_text
from rubricate.errors import InputError
from rubricate.views import Report


class SealedReport(Report, BaseModel):
    """What a command writes for later ones, which refuse it if it was changed.

    A subclass declares `format` first, with its default, and `sha256: str = ""` last.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    if TYPE_CHECKING:
        sha256: str

    def digest(self) -> str:
        """The hash that `sha256` must be."""
        return hash_of(self.model_dump(mode="json", exclude={"sha256"}))

    def sealed(self) -> Self:
        """The same with its hash."""
        return self.model_copy(update={"sha256": self.digest()})

    @classmethod
    def read(cls, path: str | Path, what: str, command: str) -> Self:
        """Read one.

        Args:
            path: the file.
            what: it is to be, in words.
            command: of the shell, which writes such files.

        Raises:
            InputError: it cannot be read, is none, or was changed since it was written.
        """
        data = parse_json(read_text(path), file=path)
        known = cls.model_fields["format"].default
        if not isinstance(data, Mapping) or data.get("format") != known:
            raise InputError(f"not a {what}: rubricate trust {command} writes one", file=path)
        try:
            found = cls.model_validate(data)
        except ValidationError as error:
            raise input_error(error).within(file=path) from None
        if found.sha256 != found.digest():
            raise InputError(
                f"this {what} was changed since it was written: its hash does not fit", file=path
            )
        return found


def now() -> str:
    """When, in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def hash_of(data: Any) -> str:
    """A hash of JSON values, whatever the order of their keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
