"""`rubricate schema` and `rubricate init`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from rubricate._files import user_path, write_text
from rubricate.cli._commands import command
from rubricate.cli._ending import print_next
from rubricate.cli._printing import JsonOutput, print_json
from rubricate.errors import InputError
from rubricate.settings import Settings, option

START_FILES = ("dataset.json", "rubric.yaml", "run.yaml")


class SchemaSettings(Settings):
    """The options of `rubricate schema`."""

    name: str | None = option(None, "The schema to print. [list all]", is_argument=True)
    output: str | None = option(
        None, "Write all of them to this folder, one file each.", shell="--output -o"
    )


@command(SchemaSettings)
def schema(settings: SchemaSettings) -> None:
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


class InitSettings(JsonOutput):
    """The options of `rubricate init`."""

    folder: str = option(".", "The folder to write to.", is_argument=True)
    from_table: str | None = option(
        None,
        "Start from your own table: writes a rubric to edit, and a configuration that maps "
        "its columns.",
        shell="--from",
    )
    map: str | None = option(
        None,
        "With --from: which column is what, submission=answer,prompt=question. [by their names]",
    )
    force: bool = option(False, "Overwrite existing files.")


@command(InitSettings)
def init(settings: InitSettings) -> None:
    """Write a dataset, rubric and configuration to start from."""
    from importlib import resources

    folder = user_path(settings.folder)
    columns, texts = "", None
    if settings.map and not settings.from_table:
        raise InputError("--map is about the columns of a table: give --from, too")
    if settings.from_table:
        columns = settings.map or _columns_of(settings.from_table)
        texts = _texts_for(settings.from_table, columns, folder)
    names = START_FILES if texts is None else tuple(texts)
    present = [name for name in names if os.path.lexists(folder / name)]
    if present and not settings.force:
        raise InputError(f"{', '.join(present)} already there; --force overwrites", file=folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in names:
            if texts is None:
                text = resources.files("rubricate.cli").joinpath("start", name).read_text("utf-8")
            else:
                text = texts[name]
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot be written: {error.strerror}", file=folder) from None
    if settings.json_output:
        print_json({"folder": str(folder), "files": [str(folder / name) for name in names]})
        return
    print(f"Wrote {', '.join(names)} in {folder.resolve()}.")
    if texts is not None:
        no_id = "" if ",id=" in columns else "; if a column has ids, add id=COLUMN"
        print(f"Columns: {columns}{no_id}.")
        print(
            "Write your own criteria into rubric.yaml, and change map in run.yaml if it is wrong."
        )
    print_next("Next: rubricate grade --config {config}", settings, config=folder / "run.yaml")


USUAL_COLUMNS = {
    "submission": ("submission", "answer", "response", "reply", "output", "completion", "text"),
    "prompt": ("prompt", "question", "input", "query", "instruction", "message"),
    "reference": ("reference", "target", "expected", "expected_output", "gold", "ideal"),
    "context": ("context", "contexts", "retrieved_contexts", "documents", "passages"),
    "id": ("id", "item_id", "uid"),
}
"""Frequent names of columns, by meaning."""


def _columns_of(table: str) -> str:
    """Guess the meaning of the columns of a user's table, in the format of `--map`."""
    from rubricate.dataset.samples import Records

    _, first = next(
        Records(str(user_path(table))).read(wanted=1), (None, InputError("has no rows", file=table))
    )
    if isinstance(first, InputError):
        raise first
    columns = list(first)
    mapped: dict[str, str] = {}
    for what, usual in USUAL_COLUMNS.items():
        by_name = {column.casefold(): column for column in columns}
        column = next((by_name[name] for name in usual if name in by_name), None)
        if column is not None:
            mapped[what] = column
    for (
        what,
        usual,
    ) in USUAL_COLUMNS.items():  # bot_reply, userQuestion: only if there is one candidate
        ends = [c for c in columns if c not in mapped.values() and _last_word(c) in usual]
        if what != "id" and what not in mapped and len(ends) == 1:
            mapped[what] = ends[0]
    return ",".join(f"{what}={column}" for what, column in mapped.items())


def _last_word(column: str) -> str:
    words = re.findall(r"[A-Z]?[^\W_A-Z]+|[A-Z]+", column)
    return words[-1].casefold() if words else ""


def _texts_for(table: str, columns: str, folder: Path) -> dict[str, str]:
    """The contents of the initial files for a user's table, by name.

    Raises:
        InputError: the table has no such columns, or none for the texts.
    """
    import yaml

    from rubricate.dataset import read_table
    from rubricate.rubric import Rubric

    options = {
        "data": os.path.relpath(user_path(table), folder),
        "rubric": "rubric.yaml",
        "map": columns,
        "run_dir": "run",
    }
    rubric = (
        "# One line for each thing you expect, as a sentence that is true or false of an answer:\n"
        "# - {name: refund, requirement: Says that the refund takes 5 days}\n"
        "- {name: not empty, kind: counter, counter: words, at_least: 1}\n"
        "- {name: short, kind: counter, counter: words, at_most: 200}\n"
    )
    read_table(user_path(table), Rubric.from_dict(yaml.safe_load(rubric)), columns).survey(1)
    head = "# rubricate grade --config run.yaml\n"
    more = "# judge: openai/gpt-6-luna     # default: the built-in judge, a baseline\n"
    return {
        "rubric.yaml": rubric,
        "run.yaml": head + yaml.safe_dump(options, sort_keys=False) + more,
    }
