"""What rubricate is tested with, and what its users test with: a scripted judge endpoint and its
rules, and assertions that a judge checks.

What is named here is loaded when it is first used: the pytest plugin must cost nobody anything.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rubricate.testing._assertion import aassert_rubric, assert_rubric
    from rubricate.testing._echo import echo
    from rubricate.testing._endpoint import ScriptedEndpoint
    from rubricate.testing._given_up import GivenUp
    from rubricate.testing._rules import Fault, JudgeRequest, Rule, load_rules

__all__ = [
    "Fault",
    "GivenUp",
    "JudgeRequest",
    "Rule",
    "ScriptedEndpoint",
    "aassert_rubric",
    "assert_rubric",
    "echo",
    "load_rules",
]

_MODULES = {
    "_assertion": ("aassert_rubric", "assert_rubric"),
    "_echo": ("echo",),
    "_endpoint": ("ScriptedEndpoint",),
    "_given_up": ("GivenUp",),
    "_rules": ("Fault", "JudgeRequest", "Rule", "load_rules"),
}
_MODULE_OF = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    module = _MODULE_OF.get(name)
    if module is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{module}"), name)
    globals()[name] = value
    return value
