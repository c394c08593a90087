"""`rubricate report`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from rubricate._terminal import one_line
from rubricate.cli._options import Journal, JsonOutput
from rubricate.cli._printing import print_json

LARGE = 100_000_000
"""Bytes from which a browser takes a while to open a page."""


def report(
    run: Annotated[Path, typer.Argument(help="A run folder.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file. [report.html in the folder]")
    ] = None,
    compare: Annotated[
        Path | None,
        typer.Option(help="Another run folder: show what changed from RUN to this one."),
    ] = None,
    journal: Journal = None,
    json_output: JsonOutput = False,
) -> int:
    """Write a run as one HTML page: figures, plots, every verdict."""
    from dataclasses import asdict

    from rubricate.report import write_report

    page = write_report(run, output, compare=compare, journal=journal)
    if json_output:
        figures = {name: value for name, value in asdict(page).items() if value is not None}
        print_json({**figures, "path": str(page.path)})
    else:
        print(f"{page.path}: {page.items} items, {_size(page.size)}")
    if not page.has_texts:
        sys.stderr.write(
            "The run folder does not have the texts that were judged: the same grade command "
            "writes them, and asks nothing again.\n"
        )
    if page.missing is not None:
        sys.stderr.write(f"The page has no prompts and replies: {one_line(page.missing)}\n")
    if page.size > LARGE:
        sys.stderr.write("A page of this size takes a browser some time to open.\n")
    return 0


def _size(size: int) -> str:
    return f"{size / 1e6:.1f} MB" if size >= 1e6 else f"{size / 1e3:.0f} kB"
