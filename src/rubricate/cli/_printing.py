"""How commands print what they found, and write a file that they were asked for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rubricate.errors import InputError

__all__ = ["print_json", "print_report", "write_text"]


def print_report(report: Any, json_output: bool) -> None:
    """Print a report for people, or as JSON."""
    if json_output:
        print_json(report.to_dict())
    else:
        from rich.console import Console

        Console().print(report)


def print_json(data: Any) -> None:
    """Print data as JSON."""
    import json

    print(json.dumps(data, indent=2, ensure_ascii=False))


def write_text(path: Path, text: str) -> None:
    """Write a file.

    Raises:
        InputError: it cannot be written.
    """
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=path) from None
