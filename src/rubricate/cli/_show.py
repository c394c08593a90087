"""`rubricate show`."""

from __future__ import annotations

from pathlib import Path

from pydantic import ValidationError

from rubricate._documents import input_error, parse_json, read_text
from rubricate.errors import InputError, MissingFileError
from rubricate.report import Summary

__all__ = ["show_command"]


def show_command(run: Path, *, json_output: bool) -> int:
    """Print a run's summary again; returns the exit code that the run ended with."""
    path = run / "summary.json"
    if not run.is_dir():
        raise InputError("no such run folder", file=run)
    try:
        data = parse_json(read_text(path), file=path)
    except MissingFileError:
        if (run / "journal.sqlite").exists():
            raise InputError(
                "this run has not ended; the command that began it goes on from where it is",
                file=run,
            ) from None
        raise InputError("not a run folder: it has no summary.json", file=run) from None
    try:
        summary = Summary.model_validate(data)
    except ValidationError as error:
        raise input_error(error).within(file=path) from None
    if json_output:
        print(summary.model_dump_json(indent=2))
    else:
        from rich.console import Console

        Console().print(summary)
    return 2 if summary.verdicts["failed"] else 0
