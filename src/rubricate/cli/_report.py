"""`rubricate report`."""

from __future__ import annotations

import json
import sys
from dataclasses import asdict
from pathlib import Path

from rubricate.report import write_report

__all__ = ["report_command"]

LARGE = 100_000_000
"""Bytes from which a browser takes a while to open a page."""


def report_command(
    run: Path, output: Path | None, *, compare: Path | None, json_output: bool
) -> int:
    """Write a run's page."""
    page = write_report(run, output, compare=compare)
    if json_output:
        print(json.dumps({**asdict(page), "path": str(page.path)}, indent=2))
    else:
        print(f"{page.path}: {page.items} items, {_size(page.size)}")
    if not page.has_texts:
        sys.stderr.write(
            "The run folder does not have the texts that were judged: the same grade command "
            "writes them, and asks nothing again.\n"
        )
    if page.size > LARGE:
        sys.stderr.write("A page of this size takes a browser some time to open.\n")
    return 0


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
