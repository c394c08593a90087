"""Templates that anybody may have written: Jinja that runs no code, loads no file, and ends.

Jinja's sandbox keeps a template from the program around it. It does not keep it from running for
ever (`{% for i in range(99999) %}` in another) or from filling the memory (`'a' * 10 ** 10`). So
all that a template makes while it renders is counted, texts on the way to the output included, and
what an operation would make is computed before it is done.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, is_dataclass
from functools import wraps
from time import thread_time
from typing import Any

from jinja2 import StrictUndefined, Template, nodes
from jinja2.exceptions import SecurityError
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

LONGEST = 1 << 25
"""Characters that one rendering may make in all. A prompt for a context of a million tokens has
some 4 million, so there is room for eight copies of it on the way; half would leave four. At double
a template can fill some 800 MB, because lists of short texts take far more than their characters.
"""
STEP = 8
"""What a loop's turn, a call or an entry of a list counts as, beside its text. Four million of them
take about the seconds below; at half or double one bound would always be reached before the other.
"""
SECONDS = 2.0
"""Seconds of processor time that one rendering may take. Usual prompts take a thousandth of one, so
that half would do, too; double would double the wait for the error."""
UNAVAILABLE_FILTERS = ("attr", "batch", "pprint", "round", "slice", "sum", "urlize", "xmlattr")
"""`attr` is the way to most holes that the sandbox has had. The others are of no use in a prompt,
and make large things of small ones in a way of their own."""
UNAVAILABLE_METHODS = frozenset(
    {"encode", "expandtabs", "from_bytes", "maketrans", "to_bytes", "translate", "zfill"}
)


@dataclass(slots=True)
class _Work:
    """What a rendering may still make, and until when."""

    budget: int
    until: float


_WORK: ContextVar[_Work | None] = ContextVar("_WORK", default=None)


def rendered(template: Template, values: Mapping[str, Any]) -> str:
    """The text of a template of a `Sandbox`.

    Raises:
        SecurityError: it makes too much, takes too long, or uses what it may not.
        Exception: whatever its expressions raise.
    """
    token = _WORK.set(_Work(LONGEST, thread_time() + SECONDS))
    try:
        return template.render(values)
    finally:
        _WORK.reset(token)


class Sandbox(ImmutableSandboxedEnvironment):
    """An environment for templates that anybody may have written.

    Args:
        functions: what templates can call, by name.
        filters: filters beside Jinja's own, by name; each is linear in what it is given.
    """

    intercepted_binops = frozenset(ImmutableSandboxedEnvironment.default_binop_table)

    def __init__(
        self, functions: Iterable[str] = (), filters: Mapping[str, Callable[..., Any]] = {}
    ) -> None:
        super().__init__(undefined=StrictUndefined, autoescape=False)
        self.globals = {name: self.globals[name] for name in functions}
        usual = {
            name: each for name, each in self.filters.items() if name not in UNAVAILABLE_FILTERS
        }
        self.filters = {name: _counted(name, part) for name, part in (usual | {**filters}).items()}
        self.filters |= {"(turns)": _turns, "(text)": _text, "(made)": _charged}

    def template(self, tree: nodes.Template) -> Template:
        """A template that is counted while it renders; its tree is changed.

        Args:
            tree: the template as `parse` reads it.
        """
        return self.from_string(_Counting().visit(tree))

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        return attr not in UNAVAILABLE_METHODS and super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, first: Any, second: Any) -> Any:
        _check(operator, (first, second), {})
        return _charged(super().call_binop(context, operator, first, second))

    def call(__self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        text = getattr(inspect.unwrap(__obj), "__self__", None)
        if isinstance(text, str):  # a method of it
            _check(__obj.__name__, (text, *args), kwargs)
        return _charged(super().call(__context, __obj, *args, **kwargs))


class _Counting(NodeTransformer):
    """Puts filters that count around what Jinja has no hook for."""

    def visit_Output(self, node: nodes.Output) -> nodes.Node:
        self.generic_visit(node)
        node.nodes = [_filtered(part, "(text)") for part in node.nodes]
        return node

    def visit_For(self, node: nodes.For) -> nodes.Node:
        self.generic_visit(node)
        node.iter = _filtered(node.iter, "(turns)")
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Node:
        """`a ~ b` as the sum of two texts, which `call_binop` counts."""
        self.generic_visit(node)
        first, *others = [_filtered(part, "(text)") for part in node.nodes]
        for part in others:
            first = nodes.Add(first, part, lineno=node.lineno, environment=node.environment)
        return first

    def visit_List(self, node: nodes.List | nodes.Dict) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, "(made)")

    visit_Dict = visit_List

    def visit_Getitem(self, node: nodes.Getitem) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, "(made)") if isinstance(node.arg, nodes.Slice) else node

    def visit_Tuple(self, node: nodes.Tuple) -> nodes.Node:
        self.generic_visit(node)
        return _filtered(node, "(made)") if node.ctx == "load" else node


def _filtered(node: nodes.Node, name: str) -> nodes.Expr:
    """An expression behind a filter, whose name no template can write."""
    made = nodes.Filter(node, name, [], [], None, None)
    made.lineno, made.environment = node.lineno, node.environment
    return made


def _charged(value: Any) -> Any:
    """A value that a template has made, counted."""
    work = _WORK.get()
    if work is None:  # Jinja would compute constants while it compiles
        raise SecurityError("nothing is computed before it is rendered")
    work.budget -= STEP + _size(value)
    if work.budget < 0:
        raise _too_long()
    if thread_time() > work.until:
        raise SecurityError(f"the template takes more than {SECONDS:g} seconds")
    return value


def _text(value: Any) -> str:
    return _charged(value if isinstance(value, str) else str(value))  # type: ignore[no-any-return]


def _turns(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        _charged(None)
        yield value


def _counted(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """A filter that counts what it makes."""
    own = int(hasattr(function, "jinja_pass_arg"))  # the environment or the context comes first

    @wraps(function)
    def counted(*args: Any, **kwargs: Any) -> Any:
        _charged(None)
        args = tuple(
            [*map(_charged, part)] if isinstance(part, Iterator) else part for part in args
        )
        _check(name, args[own:], kwargs)
        return _charged(function(*args, **kwargs))

    return counted


def _size(value: Any) -> int:
    """How long a value is, all that is in it included, as far as `LONGEST`."""
    if isinstance(value, str):
        return len(value)
    if isinstance(value, int):
        return value.bit_length()
    size, pending = 0, [value]
    while pending and size <= LONGEST:
        part = pending.pop()
        if isinstance(part, Mapping):
            pending += [*part, *part.values()]
        elif isinstance(part, list | tuple):
            pending += part
        elif is_dataclass(part):
            pending += [getattr(part, field) for field in part.__dataclass_fields__]
        size += STEP + (len(part) if isinstance(part, str) else 0)
    return size


def _check(name: str, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
    """Raise `SecurityError` for what would make too much of what it is given."""
    if name not in _LENGTHS:
        return
    try:
        length = _LENGTHS[name](*args, **kwargs)
    except (TypeError, ValueError, AttributeError, OverflowError):
        return  # it has no such arguments, and says so itself
    if length > LONGEST:
        raise _too_long()


def _too_long() -> SecurityError:
    return SecurityError(
        f"the template makes more than {LONGEST:,} characters, counted with texts on the way"
    )


def _times(value: Any) -> int:
    """How often, or how wide: a number's value, else a size."""
    if isinstance(value, int | float):
        return min(abs(int(value)), LONGEST + 1)
    return _size(value)


def _in_pieces(text: Any, *_: Any, **__: Any) -> int:
    """A list of short texts takes far more memory than their characters."""
    return _size(text) * STEP


def _formatted(form: Any, *args: Any, **kwargs: Any) -> int:
    """A format may have widths in it (`%99d`), or take them from its arguments (`%*d`)."""
    if not isinstance(form, str):  # a remainder
        return 0
    widths = sum(min(int(part), LONGEST + 1) for part in re.findall(r"\d+", form))
    measure = _times if re.search(r"\*|\{[^}]*\{", form) else _size
    values: list[Any] = []
    for part in (*args, *kwargs.values()):
        values += part if isinstance(part, tuple) else (part,)
    return widths + (form.count("%") + form.count("{")) * sum(map(measure, values))


def _padded(text: Any, width: Any = 0, *_: Any) -> int:
    return _size(text) + _times(width)


def _joined(value: Any, d: Any = "", attribute: Any = None) -> int:
    """As the filter `join(texts, d)`, or as the method `d.join(texts)`."""
    texts, between = (d, value) if isinstance(value, str) and d else (value, d)
    return _size(texts) + _size(between) * len(texts)


_LENGTHS: dict[str, Callable[..., int]] = {
    "*": lambda first, second: _times(first) * _times(second),
    "**": lambda base, power: _size(base) * _times(power) * 1000,  # each digit costs time
    "%": _formatted,
    "format": _formatted,
    "format_map": lambda form, values: _formatted(form, *values.values()),
    "center": _padded,
    "ljust": _padded,
    "rjust": _padded,
    "indent": lambda text, width=4, first=False, blank=False: (
        _size(text) + (text.count("\n") + 1) * _times(width)
    ),
    "join": _joined,
    "replace": lambda text, old, new, count=0: _size(text) + (text.count(old) + 1) * _size(new),
    "tojson": lambda value, indent=0: _size(value) * max(1, _times(indent or 0)),
    "wordwrap": lambda text, width=79, break_long_words=True, wrapstring="", *_: (
        _size(text) * max(STEP, _size(wrapstring or ""))
    ),
    "list": _in_pieces,
    "split": _in_pieces,
    "rsplit": _in_pieces,
    "splitlines": _in_pieces,
    "title": _in_pieces,
}
"""How long what is made of its arguments can be, by operator, filter or method, where that is more
than what it is given."""
