"""Doors that load a name when somebody first asks for it.

A door (`__init__.py`) imports its names for type checkers alone, each `as` itself, by which they
know that it is public:

    if TYPE_CHECKING:
        from rubricate.stats._labels import LabelAgreement as LabelAgreement
    else:
        __getattr__, __dir__ = lazy_door(__name__)

Where each name comes from is read from those imports, so that it is written once. A door calls this
itself: it is its own code that is read.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from types import CodeType
from typing import Any


def lazy_door(door: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """A module's `__getattr__` and `__dir__`.

    Args:
        door: the module's name; in its `if TYPE_CHECKING` it says `from MODULE import NAME`.
    """
    module, code = sys.modules[door], sys._getframe(1).f_code

    @cache
    def homes() -> dict[str, str]:
        return _imported(code)

    def load(name: str) -> Any:
        if name == "__all__":
            ours = {one for one, home in homes().items() if home.startswith("rubricate.")}
            return sorted(ours - {"lazy_door"})
        home = None if name.startswith("_") else homes().get(name)
        if home is None:
            raise AttributeError(f"module {door!r} has no attribute {name!r}")
        try:
            found = import_module(home)
        except AttributeError as error:  # else it would be taken for "there is no such name"
            raise ImportError(f"{home} cannot be loaded: {error}") from error
        value, given = getattr(found, name), vars(found)
        for other, its_home in homes().items():  # what else is there by now
            if its_home == home and other in given:
                vars(module).setdefault(other, given[other])
        return vars(module).setdefault(name, value)

    return load, lambda: sorted(module.__all__)


def _imported(code: CodeType) -> dict[str, str]:
    """Each name that a module's code imports from another one, executed or not, and from which.

    It is the compiled code, since the source need not be there (in a frozen application).
    """
    import dis  # late: importing the package does not load it

    found, home = {}, ""
    for step in dis.get_instructions(code):
        if step.opname == "IMPORT_NAME":
            home = step.argval
        elif step.opname == "IMPORT_FROM":
            found[step.argval] = home
    return found
