"""What a callable does, as JSON values: its code, and the values that it has been given to keep."""

from __future__ import annotations

import functools
import types
from collections.abc import Mapping
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None), types.EllipsisType)


def fingerprint(value: object) -> Any:
    """What could change what a callable gives, as JSON values that are equal where that is.

    Of a function: its compiled code, its defaults, the values that it holds (closures, partial
    arguments, attributes of a callable object) and the plain values and functions of its own
    module that it names. Not followed: other modules, files, and objects of other classes.
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
    """A callable, or an object of which only the class is looked at."""
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
    """What the owner of a method is and keeps."""
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
    """The names that code and the code within it look up."""
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names(constant)
    return names
