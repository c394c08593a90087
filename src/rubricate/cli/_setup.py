"""`rubricate schema` and `rubricate init`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from rubricate._files import user_path, write_text
from rubricate.cli._commands import command
from rubricate.cli._ending import print_next
from rubricate.cli._printing import JsonOutput, print_json
from rubricate.errors import InputError, errors_within
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
    if folder.is_file():
        raise InputError(
            "is a file, not a folder to write to: to start from it, give --from", file=folder
        )
    columns, texts = "", None
    if settings.map and not settings.from_table:
        raise InputError("--map is about the columns of a table: give --from, too")
    if settings.from_table:
        rows = _first_rows(settings.from_table)
        columns = settings.map or _columns_of(rows)
        texts = _texts_for(settings.from_table, rows, columns, folder)
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
        _print_columns(rows, columns)
        print("Write your own criteria into rubric.yaml.")
    print_next("Next: rubricate grade --config {config}", settings, config=folder / "run.yaml")


USUAL_COLUMNS = {
    "submission": ("submission", "answer", "response", "reply", "output", "completion", "text"),
    "prompt": ("prompt", "question", "input", "query", "instruction", "message"),
    "reference": ("reference", "target", "expected", "expected_output", "gold", "ideal"),
    "context": ("context", "contexts", "retrieved_contexts", "documents", "passages"),
    "id": ("id", "item_id", "uid", "uuid", "no", "nr", "number", "case", "ticket", "row"),
}
"""Frequent names of columns, by meaning."""
SPEAKERS = {
    "submission": {"bot", "assistant", "agent", "model"},
    "prompt": {"user", "customer", "client", "human"},
}
"""Who writes the texts of a column such as `Customer` or `bot_message`."""
MESSAGES = {"message", "text", "turn", "utterance", "said", "says", "asked", "wrote"}
MOST_ROWS = 1000
"""How many rows show whether the values of a column are distinct, as ids are."""
LEAST_WORDS = 3
"""The mean number of words in a column of messages. Names of people have one or two."""


def _first_rows(table: str) -> list[dict[str, Any]]:
    """Read the first rows of a user's table, up to one that cannot be read."""
    from rubricate.dataset.samples import Records

    rows: list[dict[str, Any]] = []
    for _, record in islice(Records(str(user_path(table))).read(wanted=MOST_ROWS), MOST_ROWS):
        if isinstance(record, InputError):
            if rows:
                break
            raise record.within(file=table)
        rows.append(record)
    if not rows:
        raise InputError("has no rows", file=table)
    return rows


def _columns_of(rows: Sequence[Mapping[str, Any]]) -> str:
    """Guess the meaning of the columns of a user's table, in the format of `--map`."""
    by_name = {column.casefold(): column for column in rows[0]}
    mapped: dict[str, str] = {}
    for role, usual in USUAL_COLUMNS.items():
        column = next((by_name[name] for name in usual if name in by_name), None)
        if column is not None and (role != "id" or _are_distinct(column, rows)):
            mapped[role] = column
    for role in [role for role in USUAL_COLUMNS if role not in mapped]:
        others = [c for c in rows[0] if c not in mapped.values() and not {*c} & {",", "="}]
        # bot_reply, userQuestion, TicketNo
        columns = [c for c in others if _words(c)[-1:] and _words(c)[-1] in USUAL_COLUMNS[role]]
        if role == "id":
            columns = [column for column in columns if _are_distinct(column, rows)][:1]
        elif len(columns) != 1:
            speakers = SPEAKERS.get(role, set())
            columns = [column for column in others if _has_messages(column, speakers, rows)]
        if len(columns) == 1:
            mapped[role] = columns[0]
    return ",".join(f"{role}={mapped[role]}" for role in USUAL_COLUMNS if role in mapped)


def _words(column: str) -> list[str]:
    """The words of a column's name, such as `user_message` or `TicketNo`, in lower case."""
    return [word.casefold() for word in re.findall(r"[A-Z]?[^\W_A-Z]+|[A-Z]+", column)]


def _are_distinct(column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = [row.get(column) for row in rows]
    texts = {*map(str, values)}
    return len(texts) == len(rows) and not any(
        value in (None, "") or str(value).count(" ") >= LEAST_WORDS for value in values
    )


def _has_messages(column: str, speakers: set[str], rows: Sequence[Mapping[str, Any]]) -> bool:
    """Whether a column is named after a speaker, and has texts rather than people's names."""
    words = set(_words(column))
    if not words & speakers or words - speakers - MESSAGES:
        return False
    return sum(len(str(row.get(column) or "").split()) for row in rows) >= LEAST_WORDS * len(rows)


def _print_columns(rows: Sequence[Mapping[str, Any]], columns: str) -> None:
    """Print what each column is, and what is missing."""
    from rubricate.dataset.items import TableColumns

    roles = TableColumns.parse(columns).found_in(list(rows[0]), ())
    others = ", ".join(column for column in rows[0] if column not in roles.values())
    shown = ",".join("=".join(pair) for pair in roles.items())
    print(f"Columns: {shown}. If this is wrong, change map in run.yaml.")
    for role, meaning in (("prompt", "the question"), ("id", "ids")):
        if role not in roles and others:
            print(f"No column is mapped to {meaning}: add {role}=COLUMN to map (others: {others}).")


def _texts_for(
    table: str, rows: Sequence[Mapping[str, Any]], columns: str, folder: Path
) -> dict[str, str]:
    """The contents of the initial files for a user's table, by name.

    Raises:
        InputError: the table has no such columns, or none for the texts.
    """
    import yaml

    from rubricate.dataset.items import dataset_of_rows
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
    with errors_within(file=table):
        dataset_of_rows(rows[:1], Rubric.from_dict(yaml.safe_load(rubric)), columns)
    head = "# rubricate grade --config run.yaml\n"
    more = "# judge: openai/gpt-6-luna     # default: the built-in judge, a baseline\n"
    return {
        "rubric.yaml": rubric,
        "run.yaml": head + yaml.safe_dump(options, sort_keys=False) + more,
    }
