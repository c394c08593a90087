"""Criteria that a Python callable decides, without a judge."""

from __future__ import annotations

import functools
import importlib
import inspect
import sys
import tokenize
import types
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from rubricate.errors import InputError, UnreadableReply
from rubricate.rubric._computed import NOT_APPLICABLE, ComputedCriterion
from rubricate.rubric._criterion import BINARY_LABELS, Measurement
from rubricate.rubric._question import ABSTENTION, Reading, read_label, read_share


class CodeCriterion(ComputedCriterion):
    """A criterion decided by a plain or async `(submission, item) -> bool | float | Verdict`.

    True is MET, False is UNMET, a number from 0 to 1 is the value itself, and None is an
    abstention. `item` is the `DataItem`. If the callable raises, returns something else, or takes
    longer than `time_limit` seconds, the verdict is `failed`.
    """

    sees_item: ClassVar[bool] = True
    own_fields: ClassVar[Sequence[str]] = ("function", "time_limit")
    kind: Literal["code"] = "code"
    requirement: str = ""
    """What the callable checks, in words. Default: its name."""
    function: Callable[..., Any] | str
    """The callable, or in a file its name, as `package.module:name`."""
    time_limit: float = Field(default=10.0, gt=0, allow_inf_nan=False)
    """Maximum seconds for one submission; after that the verdict is `failed`. A plain callable that
    does not return keeps its thread busy, but the run does not wait for it."""

    @field_validator("function")
    @classmethod
    def _is_callable_or_named(cls, function: Callable[..., Any] | str) -> Callable[..., Any] | str:
        if isinstance(function, str):
            module, colon, name = function.partition(":")
            words = [*module.split("."), *name.split(".")]
            if not colon or not all(word.isidentifier() for word in words):
                raise InputError(f"'{function}' is not of the form package.module:name")
        return function

    @property
    def measurement(self) -> Measurement:
        return "numeric"

    @property
    def labels(self) -> tuple[str, ...]:
        """Empty, because any number from 0 to 1 can be the answer."""
        return ()

    @property
    def function_name(self) -> str:
        """The callable's name, as it is written to a file."""
        if isinstance(self.function, str):
            return self.function
        module = getattr(self.function, "__module__", None) or "__main__"
        name = getattr(self.function, "__qualname__", type(self.function).__name__)
        return f"{module}:{name}"

    def resolved(self) -> Callable[..., Any]:
        """The callable. If only its name is set, this imports its module, which runs code.

        Raises:
            InputError: the module does not exist, or has no callable of that name.
        """
        if not isinstance(self.function, str):
            return self.function
        module, _, name = self.function.partition(":")
        here = str(Path.cwd())
        if here not in sys.path and "" not in sys.path:
            sys.path.append(here)
        try:
            value: Any = importlib.import_module(module)
            for word in name.split("."):
                value = getattr(value, word)
        except Exception as error:
            raise InputError(
                f"function: cannot load '{self.function}': {type(error).__name__}: {error}",
                problem="code",
            ) from None
        if not callable(value):
            raise InputError(f"function: '{self.function}' cannot be called", problem="code")
        return value  # type: ignore[no-any-return]

    @property
    def named_code(self) -> str | None:
        return self.function if isinstance(self.function, str) else None

    def load_code(self) -> None:
        self.resolved()

    def described(self) -> str:
        """What is checked, in words."""
        return self.requirement or f"The function {self.function_name}"

    def compute(self, submission: str, item: object = None) -> Any:
        """The result of the callable: a value or an awaitable."""
        return self.resolved()(submission, item)

    def identity(self) -> object:
        return [self.function_name, fingerprint(self.resolved())]

    def read(self, answer: object) -> Reading:
        """Read the result of the callable."""
        if answer is None:
            return Reading(ABSTENTION)
        if isinstance(answer, bool) or type(answer).__name__ in ("bool", "bool_"):  # numpy's too
            return Reading("MET" if answer else "UNMET")
        if (share := read_share(answer)) is not None:
            return Reading(f"{share!r}")
        if isinstance(answer, str):
            return Reading(read_label(answer, (*BINARY_LABELS, NOT_APPLICABLE)))
        raise UnreadableReply(
            f"the function gave {answer!r}, not True, False, None, a number from 0 to 1, or a "
            "Verdict"
        )

    def value(self, label: str) -> float | None:
        known = {"MET": 1.0, "UNMET": 0.0, ABSTENTION: None, NOT_APPLICABLE: None}
        if label in known:
            return known[label]
        share = read_share(label)
        if share is None:
            raise InputError(f"'{label}' is not MET, UNMET, CANNOT_ASSESS or a number from 0 to 1")
        return share

    def label_of(self, label: object) -> str:
        if isinstance(label, str) and label in BINARY_LABELS:
            return str(label)
        if isinstance(label, bool):
            return "MET" if label else "UNMET"
        share = read_share(label)
        if share is None:
            raise InputError(
                f"has no label {label!r}; allowed: MET, UNMET, CANNOT_ASSESS, or a number from 0 "
                "to 1"
            )
        return f"{share!r}"

    def _own_fields(self) -> dict[str, Any]:
        return {**super()._own_fields(), "function": self.function_name}


def source_of(function: Callable[..., Any]) -> str:
    """A callable's source text; empty if there is none."""
    try:
        return inspect.getsource(function)
    except (OSError, TypeError, SyntaxError, tokenize.TokenError):
        return ""


PLAIN = (bool, int, float, complex, str, bytes, type(None), types.EllipsisType)


def fingerprint(value: object) -> Any:
    """Everything that could change the results of a callable, as JSON values.

    For a function: its compiled code, its defaults, the values that it captures (closures, partial
    arguments, attributes of a callable object), and the plain values and functions of its module
    that it uses. Other modules, files, and objects of other classes are not included.
    """
    return _of(value, set())


def _of(value: Any, seen: set[int]) -> Any:
    if isinstance(value, PLAIN):
        return repr(value)
    if id(value) in seen:
        return "again"
    seen = seen | {id(value)}
    if isinstance(value, list | tuple):
        return [type(value).__name__, *(_of(part, seen) for part in value)]
    if isinstance(value, set | frozenset):
        return ["set", *sorted(map(repr, value))]
    if isinstance(value, Mapping):
        return ["map", *([_of(key, seen), _of(part, seen)] for key, part in value.items())]
    return _other(value, seen)


def _other(value: Any, seen: set[int]) -> Any:
    """A callable, or an object that counts only by its class."""
    if isinstance(value, functools.partial):
        return ["partial", _of(value.func, seen), _of(value.args, seen), _of(value.keywords, seen)]
    if isinstance(value, types.MethodType):
        return ["method", _of(value.__func__, seen), _held(value.__self__, seen)]
    if isinstance(value, types.FunctionType):
        return ["function", *_function(value, seen)]
    if isinstance(value, type | types.BuiltinFunctionType):
        return f"{value.__module__}:{value.__qualname__}"
    if not callable(value):
        return _other(type(value), seen)
    return ["object", _of(type(value).__call__, seen), _held(value, seen)]


def _held(owner: Any, seen: set[int]) -> Any:
    """The class and attributes of the owner of a method."""
    if isinstance(owner, type):
        return _other(owner, seen)
    return [_other(type(owner), seen), _of(getattr(owner, "__dict__", {}), seen)]


def _function(function: types.FunctionType, seen: set[int]) -> list[Any]:
    code = function.__code__
    cells = []
    for cell in function.__closure__ or ():
        try:
            cells.append(_of(cell.cell_contents, seen))
        except ValueError:  # a name that has no value yet
            cells.append(None)
    named = {}
    for name in sorted(_names(code)):
        value = function.__globals__.get(name)
        own = isinstance(value, types.FunctionType) and value.__module__ == function.__module__
        if own or (name in function.__globals__ and isinstance(value, PLAIN)):
            named[name] = _of(value, seen)
    defaults = [_of(function.__defaults__, seen), _of(function.__kwdefaults__, seen)]
    return [_code(code), defaults, cells, named]


def _code(code: types.CodeType) -> list[Any]:
    constants = [
        _code(constant) if isinstance(constant, types.CodeType) else _of(constant, set())
        for constant in code.co_consts
    ]
    return [code.co_code.hex(), list(code.co_names), list(code.co_varnames), constants]


def _names(code: types.CodeType) -> set[str]:
    """The names that some code, including nested code, looks up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names
