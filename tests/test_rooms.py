"""The house: what may import what, and what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import rubricate

SOURCE = Path(rubricate.__file__).parent
ORDER = ("rubric", "dataset", "judge", "run", "stats", "report", "labelling", "dialects", "cli")
FOUNDATION = {
    "errors",
    "_documents",
    "_files",
    "_frozen",
    "_model_json",
    "_sync",
    "_terminal",
    "_version",
}
"""Modules that belong to no room: every room may use them."""


def imports(path: Path) -> list[str]:
    """The modules of this package that a file imports when it is loaded."""
    tree = ast.parse(path.read_text("utf-8"))
    found = []
    for node in tree.body:  # late imports inside functions and under TYPE_CHECKING do not count
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("rubricate"):
            found.append(node.module or "")
    return found


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: str(p.name))
def test_a_room_imports_only_rooms_above_it_and_by_their_door(path):
    room = path.relative_to(SOURCE).parts[0]
    for module in imports(path):
        parts = module.split(".")[1:]
        if not parts or parts[0] in FOUNDATION or parts[0] == room:
            continue
        if room in ORDER and parts[0] in ORDER:
            assert ORDER.index(parts[0]) < ORDER.index(room), f"{path} imports {module}"
        elif room in ORDER:  # the front doors stand below all rooms but the shell's
            assert room == "cli", f"{path} imports {module}"
            assert parts[0] in ("comparing", "grading", "redteaming"), f"{path} imports {module}"
        assert not any(part.startswith("_") for part in parts), f"{path} goes past {module}'s door"


MIRRORS = SOURCE / "dialects"
"""Modules in here without an underscore are named by a dialect's page."""


def rows_of_the_architecture() -> dict[str, set[str]]:
    """The modules that the table names, by the room or the file of a row."""
    page = SOURCE.parents[1] / "docs" / "architecture.md"
    rows: dict[str, set[str]] = {}
    room = ""
    for line in page.read_text("utf-8").splitlines():
        if line.startswith("| "):
            _, first, *cells = line.split("|")
            room = first.strip(" `/") or room
            rows.setdefault(room, set()).update(re.findall(r"`(\w+)`", " ".join(cells)))
    return rows


def test_the_architecture_names_every_module_in_its_room_and_no_other():
    rows = rows_of_the_architecture()
    modules: dict[str, set[str]] = {}
    for path in SOURCE.rglob("*.py"):
        inside = path.relative_to(SOURCE)
        if inside.name == "__init__.py" or (MIRRORS in path.parents and inside.name[0] != "_"):
            continue
        room = next(one for one in map(str, inside.parents) if one in rows or one == ".")
        modules.setdefault(room, set()).add(inside.stem)
    outside = {f"{one}.py" for one in modules.pop(".") if not one.startswith("_")}
    assert outside - {"errors.py"} == {row for row in rows if row.endswith(".py")}
    for room, names in modules.items():
        private = {name for name in rows[room] if name.startswith("_")}
        assert names - rows[room] == set(), f"not on the page, below {room}"
        above = {other for one, found in modules.items() if one != room for other in found}
        assert private - names - above == set(), f"on the page below {room}, and not there"


def test_importing_the_package_loads_nothing_heavy():
    heavy = ("numpy", "scipy", "aiohttp", "httptools", "jinja2", "pandas", "rich", "typer")
    program = (
        "import sys, rubricate; from rubricate import Rubric, RubricDataset, grade\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", "import sys, rubricate; print('pydantic' in sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "False"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_all_that_is_named_at_the_top_is_there():
    for name in rubricate.__all__:
        assert getattr(rubricate, name) is not None
