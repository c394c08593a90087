"""`rubricate init`."""

from __future__ import annotations

import json
from importlib import resources
from pathlib import Path

from rubricate.errors import InputError

__all__ = ["init_command"]

FILES = ("dataset.json", "rubric.yaml", "run.yaml")


def init_command(folder: Path, *, force: bool, json_output: bool) -> int:
    """Write the starting files; returns the exit code. Files that are there stay, unless forced."""
    present = [name for name in FILES if (folder / name).exists()]
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
        written = [str(folder / name) for name in FILES]
        print(json.dumps({"folder": str(folder), "files": written}, indent=2, ensure_ascii=False))
        return 0
    print(f"Wrote {', '.join(FILES)} in {folder.resolve()}.")
    config = folder / "run.yaml"
    print(f"Try: rubricate grade --config {config}")
    return 0
