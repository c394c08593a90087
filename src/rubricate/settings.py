"""Options: each is declared once, in the value that it belongs to; the rest is made from that.

    class Budget(Settings):
        max_time: float | None = option(
            None, "End after so many seconds.", group="Limits", unit="seconds"
        )

A declaration has the name, the type, the default, the help, the group, and to which judges the
option says something. From it are made: the keywords of the front doors, with their help and the
errors for what cannot be meant (`takes`); the shell's options and the keys of its settings file
(`rubricate.cli`); the tables of docs/options.md. Values are combined by inheritance: the options of
`grade` are all that its judge and its run take, and each part of the program is given its own
value.
"""

from __future__ import annotations

import inspect
import math
import reprlib
import textwrap
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, field, fields
from functools import cache, partial, reduce, wraps
from numbers import Integral, Real
from operator import or_
from os import PathLike
from typing import (
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    TypeVar,
    cast,
    dataclass_transform,
    get_args,
)

from rubricate._addresses import is_address, shown_address
from rubricate._spelling import did_you_mean
from rubricate.errors import InputError

__all__ = [
    "GROUPS",
    "AppliesTo",
    "Group",
    "Option",
    "Settings",
    "again",
    "option",
    "options_of",
    "options_set",
    "part",
    "reject_unsupported",
    "takes",
    "takes_as_method",
]

Group = Literal[
    "What is graded",
    "Who judges",
    "How they are asked",
    "Several judges, or one several times",
    "Scores",
    "The run",
    "Limits",
    "What is wanted",
    "What is assumed",
    "What it costs",
    "Output",
]
GROUPS: tuple[Group, ...] = get_args(Group)
"""What options are about, in the order in which they are shown."""
AppliesTo = Literal[
    "any judge",
    "models given by name",
    "language models",
    "language models and the built-in judge",
    "several judges, or one several times",
]

_P = ParamSpec("_P")
_G = TypeVar("_G")
_R = TypeVar("_R")
_S = TypeVar("_S")
_T = TypeVar("_T")
_OPTION = "option"
_PLAIN: Mapping[str, Any] = {"bool": bool, "int": int, "float": float, "str": str, "None": None}
_BY_PLACE, _BY_NAME = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY
WIDTH = 96


@dataclass(frozen=True, slots=True)
class Option:
    """An option as it was declared.

    Attributes:
        name: what it is called, in Python and in files; `--NAME` with hyphens in the shell.
        type: what its value is, as Python's annotation says.
        default: its value where it is not given.
        help: what it does, in a sentence or two.
        more: what Python's documentation says beyond that.
        group: what it is about.
        default_text: what is done where it is not given, where `default` does not say it.
        unit: what its number counts.
        applies_to: the judges to which it says something.
        input_type: the type of its value in a file and in the shell; None where only Python can
            give it.
        shown_default: what stands where it is not given, in words; None where nothing needs to be
            said.
        is_path: whether it names a file or a folder; those in a settings file are relative to it.
        common: whether the shell's short help shows it.
        shell: its names in the shell, such as `--quiet -q`, where they are not made from `name`.
        is_argument: whether the shell takes it without a name.
        required: whether it must be given in the shell.
        may_have_password: whether its value may be an address with a password, which is not shown.
    """

    name: str
    type: str
    default: Any
    help: str
    more: str = ""
    group: Group = "Output"
    default_text: str | None = None
    unit: str | None = None
    applies_to: AppliesTo = "any judge"
    input_type: Any = None
    shown_default: str | None = None
    is_path: bool = False
    common: bool = False
    shell: str | None = None
    is_argument: bool = False
    required: bool = False
    may_have_password: bool = False

    @property
    def key(self) -> str:
        """What it is called in a settings file."""
        return self.name if self.shell is None else self.shell.split()[0].lstrip("-")


def option(default: _T, help: str, **declared: Any) -> _T:
    """A dataclass's field that is an option; `declared` are the attributes of `Option`."""
    return field(default=default, metadata={_OPTION: {"help": help, **declared}})


def again(kind: type, name: str, default: _T) -> _T:
    """The field of an option that another class declares, with a default of its own."""
    inherited = next(one for one in fields(kind) if one.name == name)
    return field(default=default, metadata=inherited.metadata)


@cache
def _option(declared: Field[Any]) -> Option:
    """The option of a field, which several classes may have."""
    told, default, type_ = declared.metadata[_OPTION], declared.default, str(declared.type)
    words = type_.split(" | ")
    input_type = reduce(or_, map(_PLAIN.get, words)) if _PLAIN.keys() >= {*words} else None
    shown = told.get("default_text")
    if shown is None and default is True:
        shown = "yes"
    elif shown is None and default is not False and default not in (None, "", ()):
        shown = f"{default:g}" if isinstance(default, float) else str(default)
    return Option(
        **{"input_type": input_type, **told},
        name=declared.name,
        type=type_,
        default=default,
        shown_default=shown,
    )


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """The options that a class of settings declares and inherits, by name and in their groups."""
    found = [_option(one) for one in fields(kind) if _OPTION in one.metadata]
    return {
        one.name: one
        for group in GROUPS
        for is_everyday in (True, False)
        for one in found
        if one.group == group and one.common is is_everyday
    }


_fields_alone = partial(dataclass, init=False, repr=False, eq=False)
"""Makes a dataclass whose methods are not made anew for each class."""


def options_set(kind: type, options: object) -> list[str]:
    """The options of a class that a value of it has been told: those that are not the default."""
    found = []
    for name, one in options_of(kind).items():
        if getattr(options, name) != one.default:
            found.append(name)
    return found


def reject_unsupported(kind: type, options: object, hears: Collection[AppliesTo], why: str) -> None:
    """Refuse an option of a class that was told, and that says nothing to the judge in use.

    Args:
        kind: the class.
        options: a value of it.
        hears: the judges that the one in use is among, as options are declared.
        why: the end of the error, such as `builtin is none`.

    Raises:
        InputError: there is one; says to which judges it says something.
    """
    for name in options_set(kind, options):
        applies_to = options_of(kind)[name].applies_to
        if applies_to not in hears:
            raise InputError(f"{name} is for {applies_to}; {why}")


class _Shown:
    """The signature of a class of settings, made when it is looked at."""

    def __get__(self, value: object, kind: type) -> inspect.Signature:
        return _signature(kind)


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Settings:
    """Base of the values that options belong to: dataclasses that are checked when they are made.

    A class that derives from it is a frozen dataclass without being decorated, whose fields are
    set by name, or also by place with `kw_only=False`. In `check` it says what values its own
    fields cannot have; it is asked where one of them is not the default. `elsewhere` has arguments
    that another library's function of the name takes, with what to do instead: given a value, they
    are refused.

    Raises:
        TypeError: there is no such field, or one is missing.
        InputError: an option's value is of another type than is declared, or cannot be used.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    __signature__ = _Shown()

    def __init_subclass__(cls, *, kw_only: bool = True) -> None:
        super().__init_subclass__()
        _fields_alone(kw_only=kw_only)(cls)

    def __init__(self, *args: Any, **given: Any) -> None:
        own: type = type(self)
        form = _form(own)
        named = {**dict(zip(form.by_place, args, strict=False)), **given}
        values = {**form.defaults, **named}
        if len(named) < len(args) + len(given) or values.keys() != form.names:
            raise _refused(own, args, given)
        vars(self).update(values)
        told = set()
        for name, value in named.items():
            if value is form.defaults.get(name, MISSING):
                continue
            told.add(name)
            one = form.options.get(name)
            if one is not None:
                _check_type(one, value)
        for check, names in form.checks:
            if not told.isdisjoint(names):
                check(self)

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        own: type = type(self)
        defaults = _form(own).defaults
        told = [
            f"{name}={_shown(own, name, value)!r}"
            for name, value in vars(self).items()
            if name not in defaults or value != defaults[name]
        ]
        return f"{own.__qualname__}({', '.join(told)})"


def _shown(kind: type, name: str, value: object) -> object:
    """A value of a field as it may be seen by others."""
    one = _form(kind).options.get(name)
    hides = one is not None and one.may_have_password and isinstance(value, str)
    return shown_address(value) if hides and is_address(value) else value


@dataclass(frozen=True, slots=True)
class _Form:
    """What a class of settings is made of.

    Attributes:
        names: its fields.
        by_place: those that may be given without their names.
        defaults: the values of those that need not be given.
        options: those that are options.
        checks: what is asked, and for which fields.
    """

    names: Set[str]
    by_place: tuple[str, ...]
    defaults: Mapping[str, Any]
    options: Mapping[str, Option]
    checks: tuple[tuple[Callable[[Any], None], Set[str]], ...]


@cache
def _form(kind: type) -> _Form:
    names: dict[str, None] = {}
    by_place: list[str] = []
    defaults: dict[str, Any] = {}
    for one in fields(kind):
        names[one.name] = None
        if not one.kw_only:
            by_place.append(one.name)
        if one.default is not MISSING:
            defaults[one.name] = one.default
    checks: list[tuple[Callable[[Any], None], Set[str]]] = []
    for base in kind.__mro__:
        if "check" in vars(base):
            own = names.keys() if base is kind else _form(base).names
            checks.append((vars(base)["check"], own))
    return _Form(names.keys(), tuple(by_place), defaults, options_of(kind), tuple(checks))


def _refused(kind: type, args: tuple[Any, ...], given: Mapping[str, Any]) -> TypeError:
    """Why a class of settings cannot be made of what was given."""
    names = _form(kind).names
    for name in given:
        if name not in names:
            return TypeError(f"unexpected keyword argument '{name}'{did_you_mean(name, [*names])}")
    try:
        _signature(kind).bind(*args, **given)
    except TypeError as error:
        return error
    raise AssertionError(kind)


def part(kind: type[_T], options: object) -> _T:
    """The value of a class made of the options that another one has of it, and has checked."""
    own: type = kind
    names = _form(own).names
    if not isinstance(options, own):
        return kind(**{name: getattr(options, name) for name in names if hasattr(options, name)})
    value = object.__new__(kind)
    told, values = vars(options), vars(value)
    for name in names:
        values[name] = told[name]
    return value


# What an option is declared as


def _is_number(value: object) -> bool:
    return isinstance(value, Real) and not isinstance(value, bool) and not math.isnan(value)


def _is_named(name: str) -> Callable[[Any], bool]:
    """Whether a value is of a class of this name, which belongs to a room."""
    return lambda value: any(base.__name__ == name for base in type(value).__mro__)


_KINDS: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "int": ("a whole number", lambda v: isinstance(v, Integral) and not isinstance(v, bool)),
    "float": ("a number", _is_number),
    "bool": ("True or False", lambda v: isinstance(v, bool)),
    "str": ("a text", lambda v: isinstance(v, str)),
    "CannotAssess": ("a text", lambda v: isinstance(v, str)),
    "Form": ("a text", lambda v: isinstance(v, str)),
    "Mode": ("a text", lambda v: isinstance(v, str)),
    "Path": ("a path", lambda v: isinstance(v, PathLike)),
    "Rubric": ("a Rubric", _is_named("Rubric")),
    "RubricDataset": ("a RubricDataset", _is_named("RubricDataset")),
    "Examples": ("Examples", _is_named("Examples")),
    "PromptTemplate": ("a PromptTemplate", _is_named("PromptTemplate")),
    "LengthPenalty": ("a LengthPenalty", _is_named("LengthPenalty")),
    "FittedCalibration": ("a FittedCalibration", _is_named("FittedCalibration")),
    "Mapping[str, Any]": ("a mapping", lambda v: isinstance(v, Mapping)),
    "Callable[[Progress], None]": ("a callable", callable),
    "None": ("None", lambda v: v is None),
}
"""What an option is declared as: in words, and whether a value is one. Declarations with anything
else in them are checked where they are used."""


@cache
def _kinds(type_: str) -> tuple[tuple[str, Callable[[Any], bool]], ...]:
    allowed = type_.split(" | ")
    found = tuple(_KINDS[kind] for kind in allowed if kind in _KINDS)
    return found if len(found) == len(allowed) else ()


def _check_type(option: Option, value: object) -> None:
    kinds = _kinds(option.type)
    for _, is_one in kinds:
        if is_one(value):
            return
    if kinds:
        words = " or ".join(dict.fromkeys(word for word, _ in kinds))
        raise InputError(f"{option.name} must be {words}, found {reprlib.repr(value)}")


# Front doors


def takes(kind: Callable[_P, _G]) -> Callable[[Callable[[_G], _R]], Callable[_P, _R]]:
    """Let a function be called with the fields of a class of settings, and be given the value.

    Its signature is that of the class, for type checkers and for `help`; its documentation also
    says what each option does.
    """

    def make(function: Callable[[_G], _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def asynchronous(*args: Any, **given: Any) -> Any:
                __tracebackhide__ = True  # pytest shows the line that calls
                return await function(_made(kind, function, args, given))

            return cast("Callable[_P, _R]", _documented(asynchronous, kind))

        @wraps(function)
        def plain(*args: _P.args, **given: _P.kwargs) -> _R:
            __tracebackhide__ = True
            return function(_made(kind, function, args, given))

        return _documented(plain, kind)

    return make


def takes_as_method(
    kind: Callable[_P, _G],
) -> Callable[[Callable[[_S, _G], _R]], Callable[Concatenate[_S, _P], _R]]:
    """`takes` for a method."""

    def make(function: Callable[[_S, _G], _R]) -> Callable[Concatenate[_S, _P], _R]:
        @wraps(function)
        def method(self: _S, /, *args: _P.args, **given: _P.kwargs) -> _R:
            return function(self, _made(kind, function, args, given))

        return _documented(method, kind, of_method=True)

    return make


def _made(
    kind: Callable[..., _G],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    given: Mapping[str, Any],
) -> _G:
    """The value of what a function was called with; the errors are those of `Settings`."""
    elsewhere: Mapping[str, str] = getattr(kind, "elsewhere", {})
    for name in elsewhere:
        if name in given:
            given = dict(given)
            if given.pop(name):
                raise InputError(f"{function.__name__} takes no {name}: {elsewhere[name]}")
    try:
        return kind(*args, **given)
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}") from None


class _Annotation(str):
    """A type as `help` shows it: without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@cache
def _signature(kind: type) -> inspect.Signature:
    """That of a class of settings: what is not an option first, then the options by groups."""
    form = _form(kind)
    found = {one.name: one for one in fields(kind)}
    shown = [name for name in found if name not in form.options]
    shown.sort(key=lambda name: (found[name].kw_only, name in form.defaults))
    return inspect.Signature(
        [
            inspect.Parameter(
                name,
                _BY_NAME if found[name].kw_only else _BY_PLACE,
                default=form.defaults.get(name, inspect.Parameter.empty),
                annotation=_Annotation(found[name].type),
            )
            for name in (*shown, *form.options)
        ]
    )


def _documented(
    door: Callable[_P, _R], kind: Callable[..., Any], *, of_method: bool = False
) -> Callable[_P, _R]:
    """A function with the signature of what it is called with, and what that is in its docs."""
    signature = _signature(cast("type", kind))
    returned = _Annotation(door.__annotations__.get("return", ""))
    own = [inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)] if of_method else []
    parameters = [*own, *signature.parameters.values()]
    door.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=parameters, return_annotation=returned or inspect.Signature.empty
    )
    door.__annotations__ = {
        one.name: one.annotation for one in parameters if one.annotation is not one.empty
    } | ({"return": returned} if returned else {})
    door.__doc__ = _with_options(inspect.getdoc(door) or "", cast("type", kind))
    del door.__wrapped__  # type: ignore[attr-defined]
    return door


def _with_options(text: str, kind: type) -> str:
    """A docstring whose `Args` also say what every option does."""
    lines = [line for one in options_of(kind).values() for line in _lines(one)]
    head, separator, rest = text.partition("\nArgs:\n")
    if not separator:
        sections = ("\nReturns:\n", "\nRaises:\n")
        places = [head.index(section) for section in sections if section in head]
        cut = min(places, default=len(head))
        before, after = head[:cut].rstrip("\n"), head[cut:]
        return "\n".join([before, "", "Args:", *lines, *([after] if after else [])])
    arguments, _, after = rest.partition("\n\n")
    return "\n".join([head, "Args:", arguments, *lines, *(["", after] if after else [])])


@cache
def _lines(option: Option) -> list[str]:
    """What a docstring says of an option."""
    return textwrap.wrap(
        f"{option.name}: {_said(option)}",
        WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
        break_on_hyphens=False,
    )


def _said(option: Option) -> str:
    usual = option.shown_default
    default = "" if usual is None or option.default is True else f"Default: {usual}."
    return " ".join(filter(None, (option.help, option.more, default)))


_fields_alone()(Settings)  # last: without docstrings (-OO) it asks for a signature
