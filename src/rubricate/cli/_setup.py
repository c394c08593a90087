"""What there is before a run: `rubricate judges`, `rubricate schema`, `rubricate init`."""

from __future__ import annotations

import os
from pathlib import Path

from rubricate._files import user_path, write_text
from rubricate._terminal import console
from rubricate.cli._commands import command
from rubricate.cli._ending import print_next
from rubricate.cli._printing import JsonOutput, print_json
from rubricate.errors import InputError
from rubricate.settings import Settings, option

START_FILES = ("dataset.json", "rubric.yaml", "run.yaml")


@command(
    JsonOutput,
    then="Next, to grade with one: rubricate grade DATA --rubric RUBRIC --judge NAME",
)
def judges(settings: JsonOutput) -> int:
    """List the judges: addresses, keys, and installed extras."""
    from rubricate.judge.models import GENERIC_KEY, PROVIDERS, settings_of

    rows: list[dict[str, object]] = []
    for provider in PROVIDERS.values():
        row: dict[str, object] = {
            "judge": f"{provider.prefix}/MODEL",
            "base_url": provider.base_url,
            "key_variable": provider.key_variable,
            "key_required": provider.key_required,
            "gives_logprobs": provider.gives_logprobs,
            "key_set": False,
            "error": None,
        }
        try:
            key, moved = settings_of(provider)
        except InputError as error:
            row["error"] = str(error)
        else:
            row["base_url"] = moved.value if moved else provider.base_url
            row["key_set"] = key is not None
        rows.append(row)
    extras = _extras()
    if settings.json_output:
        print_json({"judges": rows, "extras": extras})
        return 0
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("judge", "key", "in the variable", "address"):
        table.add_column(heading, overflow="fold")
    table.add_row("builtin", "not needed", "", "in this process")
    for row in rows:
        state = "set" if row["key_set"] else "missing" if row["key_required"] else "optional"
        state = "not used" if row["error"] else state
        table.add_row(str(row["judge"]), state, str(row["key_variable"]), str(row["base_url"]))
    table.add_row("MODEL", "optional", GENERIC_KEY, "given by --base-url")
    terminal = console()
    if not terminal.is_terminal:  # for grep, an address in one piece
        terminal.width = max(terminal.width, 120)
    terminal.print(table)
    for row in rows:
        if row["error"]:
            terminal.print(f"{row['judge']}: {row['error']}")
    for extra, installed in extras.items():
        terminal.print(f"extra {extra}: {'installed' if installed else 'not installed'}")
    return 0


def _extras() -> dict[str, bool]:
    """Whether each extra's packages are installed, without the extra for development."""
    import importlib.metadata
    import re
    from contextlib import suppress

    installed: dict[str, bool] = {}
    for requirement in importlib.metadata.requires("rubricate") or []:
        match = re.match(r"([A-Za-z0-9._-]+).*;.*extra == ['\"]([^'\"]+)['\"]", requirement)
        if match and match[2] != "dev":
            package, extra = match.groups()
            is_here = False
            with suppress(importlib.metadata.PackageNotFoundError):
                is_here = importlib.metadata.distribution(package) is not None
            installed[extra] = installed.get(extra, True) and is_here
    return installed


class SchemaSettings(Settings):
    """The options of `rubricate schema`."""

    name: str | None = option(None, "Which one. [list all]", is_argument=True)
    output: str | None = option(
        None, "A folder: write all of them there, a file each.", shell="--output -o"
    )


@command(SchemaSettings)
def schema(settings: SchemaSettings) -> int:
    """Print the JSON Schema of a file or of a command's JSON, or list all."""
    import json

    from rubricate._spelling import suggestion
    from rubricate.cli._schemas import SCHEMAS, schema_of

    name, output = settings.name, settings.output
    if name is not None and output is not None:
        raise InputError("--output writes all schemas: leave out the name")
    if name is not None:
        if name not in SCHEMAS:
            near = suggestion(name, SCHEMAS)
            hint = f"did you mean '{near}'?" if near else f"there is {', '.join(SCHEMAS)}"
            raise InputError(f"no schema '{name}'; {hint}")
        print_json(schema_of(name))
    elif output is not None:
        folder = Path(output)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"cannot be made: {error.strerror}", file=folder) from None
        for each in SCHEMAS:
            text = json.dumps(schema_of(each), indent=2, ensure_ascii=False)
            write_text(folder / f"{each}.schema.json", f"{text}\n")
        print(f"{folder}: {len(SCHEMAS)} schemas")
    else:
        width = max(map(len, SCHEMAS))
        for each, (what, _) in SCHEMAS.items():
            print(f"{each.ljust(width)}  {what}")
    return 0


class InitSettings(JsonOutput):
    """The options of `rubricate init`."""

    folder: str = option(".", "Where to write.", is_argument=True)
    force: bool = option(False, "Overwrite files that are there.")


@command(InitSettings)
def init(settings: InitSettings) -> int:
    """Write a dataset, rubric and configuration to start from."""
    from importlib import resources

    folder = user_path(settings.folder)
    present = [name for name in START_FILES if os.path.lexists(folder / name)]
    if present and not settings.force:
        raise InputError(f"{', '.join(present)} already there; --force overwrites", file=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in START_FILES:
            text = resources.files("rubricate.cli").joinpath("start", name).read_text("utf-8")
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from None
    if settings.json_output:
        print_json({"folder": str(folder), "files": [str(folder / name) for name in START_FILES]})
        return 0
    print(f"Wrote {', '.join(START_FILES)} in {folder.resolve()}.")
    print_next("Next: rubricate grade --config {config}", settings, config=folder / "run.yaml")
    return 0
