"""A fast `__init__` for frozen dataclasses that are created several times in every judgement."""

from __future__ import annotations

from dataclasses import MISSING, fields
from operator import attrgetter
from typing import Any, TypeVar

_T = TypeVar("_T")


def quickly_made(cls: type[_T]) -> type[_T]:
    """Give a frozen, slotted dataclass an `__init__` that sets its fields as plain attributes.

    The standard one calls `object.__setattr__` for every field, because the class is frozen. Here,
    a new instance belongs to an unfrozen twin class until all fields are set. A field then takes 20
    CPU instructions instead of 700 (CPython 3.11), which is 3 % of a run's CPU time. Instances are
    also unpickled by `__init__`: a `Verdict` with its `Usage` takes 2.7 us instead of 9.9.
    Signature and defaults are the same, and fields cannot be set afterwards.

        @quickly_made
        @dataclass(frozen=True, slots=True)
        class Usage: ...

    Raises:
        TypeError: a field has a `default_factory` or is keyword-only.
    """
    space = {"__slots__": cls.__dict__["__slots__"], "__setattr__": object.__setattr__}
    twin = type(cls.__name__, cls.__bases__, space)
    values = {"cls": cls, "twin": twin, "set_class": object.__setattr__, "plain": cls.__init__}
    names, parameters, body = [], [], []
    for field in fields(cls):  # type: ignore[arg-type]
        if field.default_factory is not MISSING or field.kw_only or not field.init:
            raise TypeError(f"{cls.__name__}.{field.name}: has no plain default")
        names.append(field.name)
        body.append(f"self.{field.name} = {field.name}")
        values[f"default_{field.name}"] = field.default
        has_default = field.default is not MISSING
        parameters.append(f"{field.name}=default_{field.name}" if has_default else field.name)
    made: dict[str, Any] = {}
    exec(  # as `dataclasses` itself does
        f"def enclosing({', '.join(values)}):\n"
        f"    def __init__(self, {', '.join(parameters)}):\n"
        f"        if self.__class__ is not cls: return plain(self, {', '.join(names)})\n"
        f"        set_class(self, '__class__', twin)\n"
        f"        {'; '.join(body)}\n"
        f"        self.__class__ = cls\n"
        "    return __init__",
        made,
    )
    init = made["enclosing"](**values)
    init.__annotations__ = cls.__init__.__annotations__
    init.__qualname__ = cls.__init__.__qualname__
    init.__module__ = cls.__module__
    cls.__init__ = init  # type: ignore[method-assign]
    read = attrgetter("__class__", *names)

    def reduce_ex(self: _T, protocol: Any) -> Any:
        kind, *values = read(self)
        return (kind, tuple(values)) if kind is cls else object.__reduce_ex__(self, protocol)

    cls.__reduce_ex__ = reduce_ex  # type: ignore[method-assign, assignment]
    return cls
