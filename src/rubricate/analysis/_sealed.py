"""JSON files whose last field is a hash of all other fields, so that changes are detected."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from pydantic import BaseModel, ConfigDict, ValidationError

from rubricate._documents import input_error, parse_json, read_text
from rubricate._version import __version__
from rubricate.analysis._finished import FinishedRun
from rubricate.errors import InputError, NamedPart, errors_within
from rubricate.views import Report


class SealedReport(Report, BaseModel):
    """A report on a run's judge, which later commands read, and refuse if it was changed.

    A subclass declares `format` with its default, its own fields, and
    `sha256: str = ""` last.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    format: str
    created: str
    """When it was created, in UTC."""
    rubricate_version: str
    """The version of rubricate that created it."""
    judge: str
    """The judge's name."""
    judge_fingerprint: str | None
    """A hash of the judge's model, prompt and sampling."""
    items: int
    """The number of items with a label."""
    groups: str | None
    """The metadata field that says which items belong together, if any."""

    if TYPE_CHECKING:
        sha256: str

    @classmethod
    def of_run(cls, run: FinishedRun, **fields: Any) -> Self:
        """Create the report on a run's judge, with its hash."""
        report = cls(
            created=datetime.now(UTC).isoformat(timespec="seconds"),
            rubricate_version=__version__,
            judge=run.judge,
            judge_fingerprint=run.summary.get("judge_fingerprint"),
            **fields,
        )
        return report.model_copy(update={"sha256": report.digest()})

    def digest(self) -> str:
        """The correct value of `sha256`."""
        return hash_of(self.model_dump(mode="json", exclude={"sha256"}))

    @classmethod
    def read(cls, path: str | Path, what: str, command: str) -> Self:
        """Read a report.

        Args:
            path: the file.
            what: the kind of report, in words.
            command: the command of `rubricate trust` that writes it.

        Raises:
            InputError: the file cannot be read, is not such a report, or was changed since it was
                written.
        """
        with errors_within(NamedPart(f"the {what} of rubricate trust {command}")):
            data = parse_json(read_text(path), file=path)
        known = cls.model_fields["format"].default
        if not isinstance(data, Mapping) or data.get("format") != known:
            raise InputError(f"not a {what}: rubricate trust {command} writes one", file=path)
        try:
            report = cls.model_validate(data)
        except ValidationError as error:
            raise input_error(error).within(file=path) from None
        # The hash is of the fields in the file, because earlier versions had fewer.
        if report.sha256 != hash_of({name: data[name] for name in data if name != "sha256"}):
            raise InputError(
                f"this {what} was changed since it was written: its hash does not fit", file=path
            )
        return report


def hash_of(data: Any) -> str:
    """A hash of JSON values, independent of the order of keys."""
    text = json.dumps(data, sort_keys=True, separators=(",", ":"), default=str)
    return hashlib.sha256(text.encode()).hexdigest()
