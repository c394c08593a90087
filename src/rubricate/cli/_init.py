"""`rubricate init`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Annotated

import typer

from rubricate._files import user_path
from rubricate.cli._options import JsonOutput
from rubricate.cli._printing import print_json
from rubricate.errors import InputError

FILES = ("dataset.json", "rubric.yaml", "run.yaml")


def init(
    folder: Annotated[Path, typer.Argument(help="Where to write.")] = Path(),
    force: Annotated[bool, typer.Option(help="Overwrite files that are there.")] = False,
    json_output: JsonOutput = False,
) -> int:
    """Write a dataset, rubric and configuration to start from."""
    from importlib import resources

    folder = user_path(folder)
    present = [name for name in FILES if os.path.lexists(folder / name)]
    if present and not force:
        raise InputError(f"{', '.join(present)} already there; --force overwrites", file=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in FILES:
            text = resources.files("rubricate.cli").joinpath("start", name).read_text("utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from None
    if json_output:
        print_json({"folder": str(folder), "files": [str(folder / name) for name in FILES]})
        return 0
    print(f"Wrote {', '.join(FILES)} in {folder.resolve()}.")
    config = folder / "run.yaml"
    print(f"Try: rubricate grade --config {config}")
    return 0
