"""Drop-in modules for programs written for other systems.

To port such a program, replace the leading name in its import lines. A dialect consists of
constructors, aliases and views: the rubrics, datasets, judges, runs and options are those of the
core. See docs/other-libraries.md.
"""

from __future__ import annotations

import sys
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pkgutil import walk_packages
from typing import Any


def names_elsewhere(module: str) -> None:
    """Let `ImportError` of a dialect's module say which other module has a name.

    Args:
        module: the module's name. Names that the dialect does not have raise the usual error.
    """
    own = vars(sys.modules[module])
    usual = own.get("__getattr__")

    def load(name: str) -> Any:
        if usual is not None:
            with suppress(AttributeError):
                return usual(name)
        is_private = name.startswith("_")
        is_module = not is_private and "__path__" in own and find_spec(f"{module}.{name}")
        if not (is_private or is_module) and (home := _home_of(name, module)):
            raise ImportError(f"{name} is not in {module}: from {home} import {name}", name=module)
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    own["__getattr__"] = load


def _home_of(name: str, module: str) -> str | None:
    """Find the topmost module of a dialect that has a name; None if there is none."""
    dialect = ".".join(module.split(".")[:3])
    top = import_module(dialect)
    inner = [each.name for each in walk_packages(top.__path__, f"{dialect}.")]
    known = [path for path in (dialect, *inner) if path != module and "._" not in path]
    for path in sorted(known, key=lambda path: path.count(".")):
        with suppress(ImportError):  # an extra is missing
            home = import_module(path)
            if name in dir(home):
                value = getattr(home, name)
                if str(getattr(value, "__module__", "rubricate")).startswith("rubricate"):
                    return path
    return None
