"""Packages that load their names on first use.

An `__init__.py` imports its names only for type checkers, each `as` itself, which marks it as
public:

    if TYPE_CHECKING:
        from rubricate.stats._labels import LabelAgreement as LabelAgreement
    else:
        __getattr__, __dir__ = lazy_door(__name__)

These imports are parsed from the source, so that each name is written only once. That takes 0.2 ms
for a package, on first use. `from PACKAGE import *` means the names that a lazy package
imports itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from importlib import import_module
from importlib.util import find_spec
from typing import Any

_TOP = "rubricate"
_PUBLIC = tuple(f"{_TOP}.{name}" for name in ("analysis", "testing", "judge", "dataset", "stats"))
"""Packages in which a name is searched that the top one does not have."""


def lazy_door(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """The `__getattr__` and `__dir__` of a package.

    Args:
        package: its name.
    """
    module, homes = sys.modules[package], dict[str, str]()

    def load(name: str) -> Any:
        if not homes:
            _note_homes(homes, [package])
        if name == "__all__":
            return sorted(homes)
        home = homes.get(name)
        if home is None:
            advice = _advice(package, name, homes)
            if advice and sys._getframe(1).f_code.co_name == "_handle_fromlist":
                # For `from PACKAGE import NAME` Python shows no text of an AttributeError.
                raise ImportError(f"{name} is not in {package}{advice}")
            problem = f"module {package!r} has no attribute {name!r}{advice}"
            raise AttributeError(problem, name=name, obj=module)  # Python suggests a near name
        try:
            loaded = vars(import_module(home))
        except AttributeError as error:  # else it would mean that the name does not exist
            raise ImportError(f"{home} cannot be loaded: {error}") from error
        for other, its_home in homes.items():  # including modules loaded in the meantime
            names = vars(sys.modules[its_home]) if its_home in sys.modules else {}
            if other in names:
                vars(module).setdefault(other, names[other])
        if name not in loaded:  # it is a lazy name there, too
            return vars(module).setdefault(name, getattr(sys.modules[home], name))
        return vars(module)[name]

    return load, lambda: sorted(module.__all__)


def _advice(package: str, name: str, homes: Collection[str]) -> str:
    """The end of an error about a missing name: the package that has it, or like names."""
    from rubricate._spelling import our_name, suggestion  # `import rubricate` does not need it

    if name[:1] == "_" or find_spec(f"{package}.{name}"):
        return ""
    if package != _TOP:
        return our_name(name, homes)
    for other in _PUBLIC:
        its_homes = dict[str, str]()
        _note_homes(its_homes, [other])
        if name in its_homes:
            return f": from {other} import {name}"
    if (ours := our_name(name, homes)) and not suggestion(name, homes):  # those Python names
        return ours
    longer = [known for known in sorted(homes) if name in known]
    return f" (there is {', '.join(longer)})" if longer else ""


def _note_homes(homes: dict[str, str], packages: list[str]) -> None:
    """Record the module of each public name (imported `as` itself) of these packages."""
    import ast  # not at the top, because `import rubricate` does not need it
    import pkgutil

    for package in packages:  # the list grows
        import_module(package)  # `get_data` would load it as well, but not bind it to its parent
        source = pkgutil.get_data(package, "__init__.py")
        if source is None:
            raise ImportError(f"{package} needs its source, to know its names")
        for block in ast.parse(source).body:
            for statement in block.body if isinstance(block, ast.If) else [block]:
                if isinstance(statement, ast.ImportFrom):
                    home = statement.module or ""
                    for alias in statement.names:
                        if alias.name == "*":
                            packages.append(home)
                        elif alias.asname == alias.name:
                            homes[alias.name] = home
