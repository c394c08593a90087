"""Run folders that somebody has changed by hand: each command ends with its code and one line."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rubricate import Criterion, Rubric, RubricDataset, grade

RUNS = int(os.environ.get("RUBRICATE_FOLDER_RUNS", "12"))
"""Random changes of each file; 500 take four minutes."""
COMMANDS = (
    ("show", "run"),
    ("show", "run", "--json"),
    ("report", "run", "-o", "report.html"),
    ("runs", "."),
    ("compare", "other", "run"),
    ("export", "run", "-o", "rows.csv"),
    ("trust", "agree", "run"),
    ("trust", "certify", "run"),
    ("grade", "data.json", "--judge", "builtin", "--run-dir", "run"),
)
FILES = ("items.jsonl", "results.jsonl", "rubric.yaml", "run.json", "summary.json")
NESTED: Any = None
for _ in range(900):
    NESTED = [NESTED]
ODD: list[Any] = [
    *(None, [], {}, 0, -1, 1.5, 1e308, "", "x", True, float("nan"), 10**400, NESTED, [[1], {}]),
    *("judged", "weird", {"a": {"b": [None]}}),
]


def wholes(content: bytes) -> Iterator[bytes]:
    """What may be in the place of a whole file."""
    yield from (b"", b"[]", b"null", b"{}", b"5", b"NaN", b"[" * 100_000 + b"]" * 100_000)
    yield from (content[: len(content) // 2], b"\0\1\xff" * 50, b"\xff\xfe" + content)
    yield from (b"\xef\xbb\xbf" + content, content.replace(b"\n", b"\r\n"), content + content)
    yield content.replace(b'"judged"', b'"weird"')


def changed(value: Any, chance: random.Random) -> Any:
    """A JSON value with another one in a random place."""
    if isinstance(value, dict) and value and chance.random() < 0.85:
        name = chance.choice(list(value))
        if chance.random() < 0.15:
            return {key: one for key, one in value.items() if key != name}
        return {**value, name: changed(value[name], chance)}
    if isinstance(value, list) and value and chance.random() < 0.85:
        index = chance.randrange(len(value))
        return [*value[:index], changed(value[index], chance), *value[index + 1 :]]
    return chance.choice(ODD)


def fields(name: str, content: bytes, chance: random.Random) -> Iterator[bytes]:
    """A file with another value in a random place, a row missing, or a row twice."""
    for _ in range(RUNS):
        if name.endswith(".json"):
            yield json.dumps(changed(json.loads(content), chance)).encode()
            continue
        lines = content.splitlines()
        index = chance.randrange(len(lines))
        if name.endswith(".jsonl") and chance.random() < 0.8:
            lines[index] = json.dumps(changed(json.loads(lines[index]), chance)).encode()
        else:
            lines[index : index + 1] = chance.choice([[], [lines[index]] * 2, [b"x: [y"]])
        yield b"\n".join(lines) + b"\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a dataset and two runs of it."""
    folder = tmp_path_factory.mktemp("graded")
    rubric = Rubric([Criterion(name=n, requirement=f"Mentions {n}.") for n in ("salt", "water")])
    dataset = RubricDataset("What is in the sea?", rubric, name="sea")
    for index, text in enumerate(("Salt and water.", "Fish.", "Water.")):
        dataset.add_item(text, f"item {index}", ground_truth=["MET", "UNMET"])
    dataset.to_file(folder / "data.json")
    for name in ("run", "other"):
        grade(dataset, "builtin", run_dir=folder / name)
    return folder


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_read_or_named_in_one_line(run_here, graded, tmp_path, name):
    chance = random.Random(name)
    content = (graded / "run" / name).read_bytes()
    for number, given in enumerate((*wholes(content), *fields(name, content, chance))):
        folder = tmp_path / str(number)
        shutil.copytree(graded, folder)
        (folder / "run" / name).write_bytes(given)
        for command in chance.sample(COMMANDS, 3):
            done = run_here(folder, *command)
            case = (number, command, given[:300], done.stderr)
            assert done.returncode in range(7), case
            assert "Traceback" not in done.stderr, case
            if done.returncode == 1:
                assert len(done.stderr.splitlines()) == 1, case
                assert done.stderr.startswith("Error: "), case
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", [*FILES, "journal.sqlite"])
def test_a_folder_in_the_place_of_a_file_is_named_in_one_line(run_here, graded, tmp_path, name):
    shutil.copytree(graded, tmp_path, dirs_exist_ok=True)
    path = tmp_path / "run" / name
    path.unlink()
    path.mkdir()
    for command in COMMANDS:
        done = run_here(tmp_path, *command)
        assert done.returncode in range(7), done.stderr
        assert done.returncode != 1 or len(done.stderr.splitlines()) == 1, done.stderr
