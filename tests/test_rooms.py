"""The house: what may import what, and what importing costs."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from pathlib import Path

import rubricate

SOURCE = Path(rubricate.__file__).parent
FRONT_DOORS = (
    "anchoring",
    "choosing",
    "comparing",
    "confirming",
    "grading",
    "options",
    "pairing",
    "ray",
    "redteaming",
    "reward",
    "streaming",
)
ORDER = (
    *("rubric", "stats", "views", "dataset", "judge", "run", "analysis", "labelling", "report"),
    *("authoring", "front doors", "dialects", "cli", "testing"),
)
FOUNDATION = {
    *(
        "errors",
        "settings",
        "_addresses",
        "_documents",
        "_files",
        "_lazy",
        "_model_json",
        "_sandbox",
        "_spelling",
        "_sync",
    ),
    *("_terminal", "_usage", "_version"),
}
"""Modules that belong to no room: every room may use them."""


@cache
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text("utf-8"))


@cache
def imports(path: Path) -> list[str]:
    """The modules of this package that a file imports: at its top, inside functions, for types."""
    found = []
    for node in ast.walk(tree(path)):
        if isinstance(node, ast.ImportFrom):
            found.append(node.module or "")
        elif isinstance(node, ast.Import):
            found.extend(alias.name for alias in node.names)
    return [module for module in found if module.startswith("rubricate")]


def room_of(name: str) -> str:
    return "front doors" if name in FRONT_DOORS else name


def files() -> list[Path]:
    return sorted(
        path for path in SOURCE.rglob("*.py") if path.parent != SOURCE or path.stem[0] != "_"
    )


def test_a_room_imports_only_rooms_above_it_and_by_their_door():
    for path in files():
        room = room_of(path.relative_to(SOURCE).parts[0].removesuffix(".py"))
        above = ORDER[: ORDER.index(room)] if room in ORDER else ()
        for module in imports(path):
            parts = module.split(".")[1:]
            if not parts or parts[0] in FOUNDATION or room_of(parts[0]) == room:
                continue
            assert room_of(parts[0]) in above, f"{path} imports {module}"
            assert not re.search(r"\._", module), f"{path} goes past {module}'s door"


@cache
def named_in(path: Path) -> dict[str, str]:
    """The modules that a package's `__init__` has its names from."""
    return {
        alias.asname or alias.name: node.module or ""
        for node in ast.walk(tree(path))
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def home_of(module: str, name: str) -> str:
    """The module in which a name is declared that another imports from a package's `__init__`."""
    path = modules().get(module)
    if f"{module}.{name}" in modules():
        return f"{module}.{name}"
    if path is None or path.stem != "__init__" or name not in named_in(path):
        return module
    return home_of(named_in(path)[name], name)


@cache
def modules() -> dict[str, Path]:
    """All files of the package by the name of their module."""
    files = SOURCE.rglob("*.py")
    names = {path: (SOURCE.name, *path.relative_to(SOURCE).with_suffix("").parts) for path in files}
    return {".".join(name).removesuffix(".__init__"): path for path, name in names.items()}


def test_files_do_not_import_each_other():
    """Imports in functions and for types count; a package's `__init__` stands for what it names."""
    files = {name: path for name, path in modules().items() if path.stem != "__init__"}
    graph = {
        name: {
            home_of(node.module or "", alias.name)
            for node in ast.walk(tree(path))
            if isinstance(node, ast.ImportFrom)
            for alias in node.names
        }
        & (files.keys() - {name})
        for name, path in files.items()
    }

    def reached_from(name: str) -> set[str]:
        reached: set[str] = set()
        ahead = [*graph[name]]
        while ahead:
            if (one := ahead.pop()) not in reached:
                reached.add(one)
                ahead += graph[one]
        return reached

    circles = [name for name in graph if name in reached_from(name)]
    assert not circles


def test_a_sub_room_is_entered_by_its_door():
    sub_rooms = {path.parent for path in SOURCE.glob("*/*/__init__.py")}
    for path in files():
        for module in imports(path):
            owner = SOURCE.joinpath(*module.split(".")[1:-1])
            if module.rpartition(".")[2].startswith("_") and owner in sub_rooms:
                own = owner in path.parents or path == owner.parent / "__init__.py"
                assert own, f"{path} goes past {owner}'s door to {module}"


KINDS_OF_JUDGES = {
    *("BuiltinJudge", "Cascade", "DocumentJudge", "ModelJudge", "Panel", "People"),
    *("HTTPModel", "PythonModel", "RecordedJudge"),
}
"""Whom nobody asks for by class: what differs is an attribute of `Judge` or `Model`."""


def test_nobody_outside_its_room_asks_which_judge_it_has():
    outside = [path for path in files() if path.relative_to(SOURCE).parts[0] != "judge"]
    for path, node in [(file, part) for file in outside for part in ast.walk(tree(file))]:
        called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
        if called in ("isinstance", "issubclass"):
            asked = {one.id for one in ast.walk(node.args[1]) if isinstance(one, ast.Name)}
            assert not asked & KINDS_OF_JUDGES, f"{path}:{node.lineno}: {ast.unparse(node)}"
        elif called in ("getattr", "hasattr"):
            assert ast.unparse(node.args[0]) not in ("judge", "model"), f"{path}:{node.lineno}"


def test_the_architecture_draws_every_room_and_no_other():
    page = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text("utf-8")
    drawing = page.split("```")[1]
    drawn = set(re.findall(r"^    (\w+)/ ", drawing, re.MULTILINE))
    rooms = {path.parent.name for path in SOURCE.glob("*/__init__.py")}
    assert drawn == rooms


def loaded_by(program: str, modules: tuple[str, ...]) -> str:
    """Which of the modules a program has loaded in the end, as a list in text."""
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            f"{program}\nprint([name for name in {modules} if name in sys.modules])",
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.splitlines()[-1]


HEAVY = (
    *("numpy", "scipy", "aiohttp", "httptools", "jinja2", "pandas", "rich"),
    *("psycopg", "ray", "filelock", "pyarrow"),
    *("rubricate.run.journal._postgres", "rubricate.run.journal._server"),
    *("rubricate.run.workers._driving", "rubricate.run.workers._worker"),
)
"""What most programs that grade have no use for."""


def test_importing_the_package_loads_nothing_heavy():
    assert loaded_by("import sys, rubricate", ("pydantic", "typer", *HEAVY)) == "[]"
    program = "import sys; from rubricate import Rubric, RubricDataset, grade"
    assert loaded_by(program, ("typer", *HEAVY)) == "[]"


def test_the_help_of_a_command_loads_nothing_of_datasets_rubrics_and_runs():
    program = (
        "import sys; from rubricate.cli import main\n"
        "sys.argv = ['rubricate', 'grade', '--help']\n"
        "try: main()\n"
        "except SystemExit: pass"
    )
    rooms = (
        *("rubricate.dataset.items._item", "rubricate.rubric._criterion", "orjson", "sqlite3"),
        *("rubricate.run._executor", "rubricate.run.journal._opening", "rubricate.judge._judge"),
    )
    assert loaded_by(program, (*rooms, *HEAVY)) == "[]"


def test_all_that_is_named_at_the_top_is_there():
    for name in rubricate.__all__:
        assert getattr(rubricate, name) is not None
