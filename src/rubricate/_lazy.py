"""Doors that load a name when somebody first asks for it.

A door (`__init__.py`) imports its names for type checkers alone, and lists them in `__all__`:

    if TYPE_CHECKING:
        from rubricate.stats._labels import LabelAgreement
    else:
        __getattr__, __dir__ = lazy_door(__name__)

Where each name comes from is read from those imports, so that it is written once.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["lazy_door"]


def lazy_door(door: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's `__getattr__` and `__dir__`.

    Args:
        door: the module's name; in its `if TYPE_CHECKING` it says `from MODULE import NAME`.
    """
    module = sys.modules[door]

    @cache
    def homes() -> dict[str, str]:
        from inspect import getsource

        return _imports_for_types(getsource(module))

    def load(name: str) -> Any:
        home = None if name.startswith("_") else homes().get(name)
        if home is None:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        value = getattr(import_module(home), name)
        setattr(module, name, value)
        return value

    return load, lambda: sorted(module.__all__)


def _imports_for_types(source: str) -> dict[str, str]:
    """Each name that a module imports in `if TYPE_CHECKING`, and the module that it is in."""
    import ast  # late, as `inspect` is: importing the package loads neither

    return {
        alias.name: imported.module or ""
        for block in ast.parse(source).body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for imported in block.body
        if isinstance(imported, ast.ImportFrom)
        for alias in imported.names
    }
