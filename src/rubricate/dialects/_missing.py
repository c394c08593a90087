"""What a dialect says of a name that its system has and it has not: one line, with the way here.

    if not TYPE_CHECKING:  # for type checkers what is not here is an error of its own
        __getattr__ = missing(__name__)

`_ways` has what to use instead.

    from rubricate.dialects.ragas import TestsetGenerator       ImportError
    import rubricate.dialects.ragas.testset                     ImportError
    rubricate.dialects.ragas.TestsetGenerator                   AttributeError: `hasattr` works
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import NoReturn

from rubricate.dialects._ways import WAYS
from rubricate.errors import InputError, MissingNameError

PAGE = "docs/coming-from.md says what is here"


def way(system: str, path: str) -> str | None:
    """What to use instead of a system's name.

    Args:
        system: the dialect's name.
        path: where the system has the name, below its own package: `metrics.Faithfulness`.
    """
    rules = WAYS[system][1]
    found = (way for rule, way in rules.items() if re.search(rule, path, re.IGNORECASE))
    return next(found, None) or None


class Missing:
    """A dialect module's `__getattr__`: see `missing`."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self.system, _, self.path = module.__name__.split(".", 2)[2].partition(".")

    def __call__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(f"module {self.module.__name__!r} has no attribute {name!r}")
        raise AttributeError(self.line(name))

    def line(self, name: str) -> str:
        """What to say of a name: the spelling that is here, what to use instead, or the page."""
        instead = (
            # At 0.85 a name of the system passes for a misspelt one: AgenticRubricTrait for
            # MetricRubricTrait. At 0.95 Gradr is not Grader.
            self._nearest(name, 0.9)
            or way(self.system, f"{self.path}.{name}".lstrip("."))
            or self._nearest(name, 0.6)
            or PAGE
        )
        return f"{WAYS[self.system][0]}'s {name} is not in {self.module.__name__}: {instead}"

    def _nearest(self, name: str, cutoff: float) -> str | None:
        names = getattr(self.module, "__all__", ())
        near = get_close_matches(name, names, n=1, cutoff=cutoff)
        return f"did you mean {near[0]}?" if near else None


def missing(door: str) -> Missing:
    """The `__getattr__` of a dialect's module.

    The module becomes a package if it is none: Python looks for a name that a package does not have
    among its modules, and that is where this package answers.

    Args:
        door: the module's `__name__`.
    """
    module = sys.modules[door]
    if not hasattr(module, "__path__"):
        module.__path__ = []
    if not any(isinstance(finder, MissingFinder) for finder in sys.meta_path):
        sys.meta_path.append(MissingFinder())
    return Missing(module)


class MissingFinder:
    """The last to be asked for a module: whether a dialect has something to say of it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        parent, _, name = fullname.rpartition(".")
        says = vars(sys.modules[parent]).get("__getattr__") if parent in sys.modules else None
        if isinstance(says, Missing) and not name.startswith("_"):
            raise MissingNameError(says.line(name), name=name, path=fullname)
        return None


def refuse_arguments(what: str, given: Iterable[str], ways: Mapping[str, str]) -> None:
    """Refuse arguments that a system's function takes and its namesake here does not.

    Args:
        what: the function or class.
        given: the names of the arguments that are left over.
        ways: for each argument of the system that is not here, what to do instead.

    Raises:
        InputError: there is one.
    """
    for name in given:
        raise InputError(f"{what} takes no {name}: {ways.get(name, PAGE)}")
