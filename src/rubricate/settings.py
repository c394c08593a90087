"""Options, each declared once as a field of a `Settings` class.

    class Limits(Settings, group="Limits"):
        concurrency: int = option(
            32, "The most requests in flight at once.", unit="requests", ge=1
        )

A declaration has the type, the default, the bounds, the help, the group, and the judges that the
option applies to. Derived from it are the keywords of the public functions with their documentation
(`takes`), the options of the shell and the keys of its settings file (`rubricate.cli`), and the
tables of docs/options.md. Classes are combined by inheritance: the options of `grade` are those of
its judge and of its run, and each part of the program receives its own value (`part`).

`Settings` classes are frozen dataclasses; pydantic checks the values that are not the default.
They are no pydantic models, because the 26 classes of `rubricate grade` with up to 75 fields would
take 30 ms of CPU at every start (11 ms to define them and 20 ms to build the validator of one, with
pydantic 2.14 and CPython 3.11). A validator for each option that is set takes 0.1 ms.
"""

from __future__ import annotations

import inspect
import re
import reprlib
import sys
import textwrap
from collections import defaultdict
from collections.abc import Callable, Collection, Mapping, Sequence, Set
from contextlib import ContextDecorator, nullcontext, suppress
from dataclasses import MISSING, Field, FrozenInstanceError, dataclass, fields, replace
from functools import cache, reduce, wraps
from numbers import Number
from operator import or_
from pathlib import Path
from types import GenericAlias, NoneType, SimpleNamespace, UnionType
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    ClassVar,
    Concatenate,
    Literal,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    cast,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from rubricate._files import is_address, shown_address
from rubricate._spelling import did_you_mean, in_plain_words, our_name
from rubricate.errors import InputError, document_path

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
"""The groups of options, in the order of help and documentation."""
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
_WRITTEN = {bool, int, float, str, NoneType}
"""Types of values in a file and in the shell."""
WIDTH = 96
"""Width of the documentation of an option, in columns."""


@dataclass(frozen=True, slots=True)
class Option:
    """The declaration of an option, as the default of a field.

    Attributes:
        default: its default value.
        help: what it does, in a sentence or two.
        more: further documentation for Python.
        group: its group in help and documentation.
        default_text: what applies by default, if `default` does not show it.
        unit: the unit of its number.
        applies_to: the judges that it is for.
        input_type: the type of its value in a file and in the shell, if `written_types` cannot
            derive it from the field.
        has_other_words: whether its user accepts further words besides its `Literal`, such as
            capitals, and reports wrong ones itself. The type is then only for editors.
        is_path: whether it names a file or a folder; in a settings file, paths are relative to it.
        common: whether the shell's short help shows it.
        shell: its names in the shell, such as `--quiet -q`, if they do not follow from its name.
        is_argument: whether it is a positional argument in the shell.
        required: whether the shell requires it. Arguments without a default are required anyway.
        may_have_password: whether its value can be an address with a password to hide.
        ge, gt, le, lt: the bounds of its number, as in `pydantic.Field`.
        across_processes: the scope of a limit: `run` (all processes that share the journal),
            `endpoint` (all processes that share the endpoint's limits) or `worker` (each process
            separately); None if it is no limit.
    """

    default: Any
    help: str
    more: str = ""
    group: Group = "The run"
    default_text: str | None = None
    unit: str | None = None
    applies_to: AppliesTo = "any judge"
    input_type: Any = None
    has_other_words: bool = False
    is_path: bool = False
    common: bool = False
    shell: str | None = None
    is_argument: bool = False
    required: bool = False
    may_have_password: bool = False
    ge: float | None = None
    gt: float | None = None
    le: float | None = None
    lt: float | None = None
    across_processes: Literal["run", "endpoint", "worker"] | None = None

    @property
    def shown_default(self) -> str | None:
        """The default in words; None if there is nothing to say."""
        if self.default_text is not None:
            return self.default_text
        if isinstance(self.default, bool):
            return "yes" if self.default else None
        if self.default in (None, "", ()):
            return None
        return f"{self.default:g}" if isinstance(self.default, float) else str(self.default)

    def key(self, name: str) -> str:
        """The key in a settings file for an option with this name in Python."""
        return name if self.shell is None else self.shell.split()[0].lstrip("-")


if TYPE_CHECKING:

    def option(default: _T, help: str, **declared: Any) -> _T:
        """Declare a field as an option; `declared` are attributes of `Option`."""

else:
    option = Option


def again(kind: type, name: str, default: _T, **changes: Any) -> _T:
    """Declare an option of another class again, with another default or other attributes."""
    inherited: Any = replace(options_of(kind)[name], default=default, **changes)
    return cast("_T", inherited)


@cache
def options_of(kind: type) -> Mapping[str, Option]:
    """The options of a class, including inherited ones, by name and ordered by group."""
    by_place = defaultdict[tuple[Group, bool], dict[str, Option]](dict)
    for own in fields(kind):
        if isinstance(own.default, Option):
            by_place[own.default.group, own.default.common][own.name] = own.default
    ordered: dict[str, Option] = {}
    for group in GROUPS:
        ordered |= by_place[group, True] | by_place[group, False]
    return ordered


@cache
def python_types(kind: type) -> dict[str, Any]:
    """The types of a class's options, without types that are imported only for type checkers.

    Those are objects that exist only in Python, such as a `Rubric`, and their users check them.
    """
    modules = dict[str, str]()
    for base in reversed(kind.__mro__):
        modules |= dict.fromkeys(inspect.get_annotations(base), base.__module__)
    types: dict[str, Any] = {}
    for own in fields(kind):
        if isinstance(own.default, Option):
            declared = SimpleNamespace(__annotations__={own.name: own.type})
            with suppress(NameError):
                types |= get_type_hints(declared, vars(sys.modules[modules[own.name]]))
    return types


@cache
def written_types(kind: type) -> dict[str, Any]:
    """The types of options in a file and in the shell, without types that exist only in Python.

    Sequences become lists.
    """
    types: dict[str, Any] = {}
    of_python = python_types(kind)
    for name, option in options_of(kind).items():
        type_ = option.input_type or of_python.get(name)
        is_union = get_origin(type_) in (Union, UnionType)
        written = []
        for part in get_args(type_) if is_union else (type_,):
            if get_origin(part) is Sequence:
                written.append(GenericAlias(list, get_args(part)))
            elif part in _WRITTEN or get_origin(part) in (list, dict, Literal):
                written.append(part)
        if written not in ([], [NoneType]):
            types[name] = reduce(or_, written)
    return types


def check_value(name: str, option: Option, value: Any, type_: Any) -> None:
    """Raise `InputError` if the value of an option has another type or is out of bounds."""
    from pydantic import ValidationError

    if option.has_other_words:
        type_ = option.input_type
    validator = _validator(type_, option.ge, option.gt, option.le, option.lt)
    is_numpy = isinstance(value, Number) and hasattr(value, "item")  # pydantic rejects these
    try:
        validator.validate_python(value.item() if is_numpy else value)
    except ValidationError as error:
        raise _wrong_value(option, name, error.errors(include_url=False)) from None


@cache
def _validator(type_: Any, ge: Any, gt: Any, le: Any, lt: Any) -> Any:
    from pydantic import ConfigDict, Field, TypeAdapter

    strict = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)
    checked: Any = Annotated[type_, Field(ge=ge, gt=gt, le=le, lt=lt)]
    return TypeAdapter(checked, config=strict)


def _wrong_value(option: Option, name: str, errors: list[Any]) -> InputError:
    """The error for a value that pydantic rejects. For a union, `errors` has one for each type."""
    name = option.key(name)
    path = (name, *errors[0]["loc"]) if len(errors) == 1 else (name,)
    needs = (in_plain_words(error["msg"]).removeprefix("must be ") for error in errors)
    text = " or ".join(dict.fromkeys(needs))
    shown = reprlib.repr(errors[0]["input"])
    expected = errors[0].get("ctx", {}).get("expected", "")  # of a Literal: "'a', 'b' or 'c'"
    hint = did_you_mean(str(errors[0]["input"]), re.findall(r"'([^']*)'", expected))
    hint = hint or _plain_number(errors[0])
    if not hint and option.unit and isinstance(errors[0]["input"], str):
        hint = f" (a number of {option.unit})"
    return InputError(f"{document_path(path)} must be {text}, found {shown}{hint}")


def _plain_number(error: Mapping[str, Any]) -> str:
    """The end of an error about a percentage, an amount of money, or a number in quotes or with a
    decimal comma.
    """
    value, bounds = error["input"], error.get("ctx", {})
    text = re.sub(r"^(\d+),(\d{1,2})$", r"\1.\2", str(value).strip("$€ "))  # a decimal comma
    number = re.fullmatch(r"(\d+(?:\.\d+)?) ?(%?)", text)
    is_percentage = 1 in (bounds.get("lt"), bounds.get("le"))
    if number and error["type"].startswith("int"):
        return f" (write {round(float(number[1]))})" if isinstance(value, str) else ""
    if number is None or not (is_percentage or isinstance(value, str)):
        return ""
    if not (is_percentage or number[2]):
        return f" (write {number[1]})"
    value = float(number[1])
    return f" (write {value / 100:g} for {value:g} %)" if number[2] or 1 < value < 100 else ""


def options_set(kind: type, options: object) -> dict[str, Any]:
    """The options of a class that differ from their default, with their values."""
    changed: dict[str, Any] = {}
    for name, option in options_of(kind).items():
        if (value := getattr(options, name)) != option.default:
            changed[name] = value
    return changed


def reject_unsupported(
    kind: type, options: object, supported: Collection[AppliesTo], why: str
) -> None:
    """Reject options that were set but that the current judge does not support.

    Args:
        kind: the class of the options.
        options: a value that has them.
        supported: the values of `Option.applies_to` that match the current judge.
        why: the end of the error, such as `builtin is none`.

    Raises:
        InputError: such an option was set.
    """
    for name, option in options_of(kind).items():
        if option.applies_to not in supported and getattr(options, name) != option.default:
            raise InputError(f"{name} is for {option.applies_to}; {why}")


@dataclass_transform(frozen_default=True, kw_only_default=True)
class Settings:
    """Base class of option values.

    Subclasses are frozen dataclasses without a decorator. Fields are set by name, or also by
    position with `kw_only=False`. Further class arguments, such as `group="Limits"`, are default
    attributes of the options that it declares. Its `check` raises `InputError` for values that
    cannot be combined. It is called if a field of the class differs from its default, or with
    `needs_argument`, because the defaults alone are invalid. `elsewhere` lists arguments of another
    library's function of the same name with advice; they are rejected unless empty.

    Raises:
        TypeError: a field is unknown or missing.
        InputError: the value of an option has another type, is out of bounds, or cannot be used.
    """

    __dataclass_fields__: ClassVar[dict[str, Field[Any]]]
    needs_argument: ClassVar[bool] = False

    def __init_subclass__(cls, *, kw_only: bool = True, **usual: Any) -> None:
        super().__init_subclass__()
        for own in vars(cls).values():
            for key, value in usual.items() if isinstance(own, Option) else ():
                if getattr(own, key) == Option.__dataclass_fields__[key].default:
                    object.__setattr__(own, key, value)  # it is frozen afterwards
        dataclass(init=False, repr=False, eq=False, kw_only=kw_only)(cls)

    def __init__(self, *args: Any, **values: Any) -> None:
        kind: type = type(self)
        form = _form(kind)
        defaults, named = (
            form.defaults,
            {**dict(zip(form.positional, args, strict=False)), **values},
        )
        vars(self).update({**defaults, **named})
        if len(named) < len(args) + len(values) or vars(self).keys() != form.names:
            raise _wrong_call(kind, args, values)
        changed = list[str]()
        for name, value in named.items():
            if value is not defaults.get(name, MISSING):
                changed.append(name)
        if changed or self.needs_argument:
            self._check(changed)

    def _check(self, changed: Collection[str]) -> None:
        """Check the options that were set, and their combination with the others."""
        kind: type = type(self)
        types, options = python_types(kind), options_of(kind)
        for name in changed:
            if name in types:
                check_value(name, options[name], getattr(self, name), types[name])
        for check, names in _form(kind).checks:
            if not changed or not names.isdisjoint(changed):
                check(self)

    def changed(self, **values: Any) -> Self:
        """A copy with changed options. Only these are checked.

        Raises:
            TypeError, InputError: as for the class.
        """
        kind: type = type(self)
        if not values.keys() <= _form(kind).names:
            raise _wrong_call(kind, (), values)
        copy: Self = object.__new__(kind)
        vars(copy).update({**vars(self), **values})
        copy._check(values)
        return copy

    def __setattr__(self, name: str, value: Any) -> None:
        raise FrozenInstanceError(f"cannot assign to field {name!r}")

    def __delattr__(self, name: str) -> None:
        raise FrozenInstanceError(f"cannot delete field {name!r}")

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def __repr__(self) -> str:
        kind: type = type(self)
        defaults, options = _form(kind).defaults, options_of(kind)
        shown = []
        for name, value in vars(self).items():
            if name not in defaults or value != defaults[name]:
                hides = name in options and options[name].may_have_password and is_address(value)
                shown.append(f"{name}={shown_address(value) if hides else value!r}")
        return f"{kind.__qualname__}({', '.join(shown)})"


@dataclass(frozen=True, slots=True)
class _Form:
    """The fields of a class of settings.

    Attributes:
        names: all fields.
        positional: fields that can be set by position.
        defaults: the default values.
        checks: the `check` of the class and of its bases, with the fields of each.
    """

    names: set[str]
    positional: list[str]
    defaults: dict[str, Any]
    checks: list[tuple[Callable[[Any], None], Set[str]]]


@cache
def _form(kind: type) -> _Form:
    form = _Form(set(), [], {}, [])
    for own in fields(kind):
        form.names.add(own.name)
        if not own.kw_only:
            form.positional.append(own.name)
        if own.default is not MISSING:
            default = own.default
            form.defaults[own.name] = default.default if isinstance(default, Option) else default
    for base in kind.__mro__:
        if "check" in vars(base):
            form.checks.append((vars(base)["check"], vars(base)["__dataclass_fields__"].keys()))
    return form


def _wrong_call(kind: type, args: tuple[Any, ...], values: Mapping[str, Any]) -> TypeError:
    """The error for wrong arguments of a settings class."""
    names = _form(kind).names
    elsewhere = {
        "api_key": ": keys come from the environment alone, as OPENAI_API_KEY",
        "fail_under": ": it is an option of the command line; in Python, use "
        "rubricate.testing.assert_not_below(result, 0.8)",
    }
    for name in values:
        if name not in names:
            hint = elsewhere.get(name) or our_name(name, names) or "; its help() lists them"
            return TypeError(f"unexpected keyword argument '{name}'{hint}")
    try:
        signature_of(kind).bind(*args, **values)
    except TypeError as error:
        places = ", ".join(_form(kind).positional) or "none"
        return TypeError(f"{error} (by position: {places}; give others by name)" if args else error)
    raise AssertionError(kind)


def part(kind: type[_T], options: object) -> _T:
    """A value of a class with the already checked options of another value."""
    names = _form(cast("type", kind)).names
    values = vars(options)
    if not isinstance(options, cast("type", kind)):
        return kind(**{name: values[name] for name in values if name in names})
    own = object.__new__(kind)
    vars(own).update({name: values[name] for name in names})
    return own


class _ErrorsAtCall(nullcontext[None], ContextDecorator):
    def __exit__(self, *raised: object) -> None:
        if isinstance(error := raised[1], InputError):
            trace, library = error.__traceback__, Path(inspect.__file__).parent  # of Python
            own = (str(Path(__file__).parent), str(library), "<frozen", "<string>")
            while trace is not None and trace.tb_frame.f_code.co_filename.startswith(own):
                trace = trace.tb_next
            if trace is None:
                error.__traceback__ = None
                error.__suppress_context__ = True


errors_at_call = _ErrorsAtCall()
"""Shows an `InputError` about the arguments of a public function at the call, without our own
frames; with them if user code is among them, such as a judge."""


def takes(kind: Callable[_P, _G]) -> Callable[[Callable[[_G], _R]], Callable[_P, _R]]:
    """Let a function be called with the fields of a settings class, and receive one value.

    Its signature is that of the class, for type checkers and for `help`, and its documentation
    explains each option. Its attribute `of_call` is the original function.
    """

    def decorate(function: Callable[[_G], _R]) -> Callable[_P, _R]:
        if inspect.iscoroutinefunction(function):

            @wraps(function)
            async def asynchronous(*args: Any, **values: Any) -> Any:
                __tracebackhide__ = True  # pytest then shows the calling line
                with errors_at_call:
                    return await function(_call(kind, function, args, values))

            vars(asynchronous)["of_call"] = function
            return cast("Callable[_P, _R]", documented(asynchronous, kind))

        @wraps(function)
        def plain(*args: _P.args, **values: _P.kwargs) -> _R:
            __tracebackhide__ = True
            with errors_at_call:
                return function(_call(kind, function, args, values))

        vars(plain)["of_call"] = function
        return documented(plain, kind)

    return decorate


def takes_as_method(
    kind: Callable[_P, _G],
) -> Callable[[Callable[[_S, _G], _R]], Callable[Concatenate[_S, _P], _R]]:
    """`takes` for a method."""

    def decorate(function: Callable[[_S, _G], _R]) -> Callable[Concatenate[_S, _P], _R]:
        @wraps(function)
        def method(self: _S, /, *args: _P.args, **values: _P.kwargs) -> _R:
            return function(self, _call(kind, function, args, values))

        return documented(method, kind, is_method=True)

    return decorate


def _call(
    kind: Callable[..., _G],
    function: Callable[..., Any],
    args: tuple[Any, ...],
    values: dict[str, Any],
) -> _G:
    """The settings value of a call. The errors are those of `Settings`."""
    elsewhere: Mapping[str, str] = getattr(kind, "elsewhere", {})
    for name in elsewhere.keys() & values.keys():
        if values.pop(name):
            raise InputError(f"{function.__name__} takes no {name}: {elsewhere[name]}")
    try:
        return kind(*args, **values)
    except TypeError as error:
        raise TypeError(f"{function.__name__}: {error}") from None


class _Annotation(str):
    """A type that `help` shows without quotes."""

    __slots__ = ()
    __repr__ = str.__str__


@cache
def signature_of(kind: type) -> inspect.Signature:
    """The signature of a settings class: other fields first, then options by group."""
    options, defaults = options_of(kind), _form(kind).defaults
    declared = {own.name: own for own in fields(kind)}
    others = [own for own in declared.values() if own.name not in options]
    others.sort(key=lambda own: (own.kw_only, own.default is not MISSING))
    return inspect.Signature(
        [
            inspect.Parameter(
                own.name,
                inspect.Parameter.KEYWORD_ONLY
                if own.kw_only
                else inspect.Parameter.POSITIONAL_OR_KEYWORD,
                default=defaults.get(own.name, inspect.Parameter.empty),
                annotation=_Annotation(own.type),
            )
            for own in [*others, *(declared[name] for name in options)]
        ]
    )


def documented(
    function: Callable[_P, _R], kind: Callable[..., Any], *, is_method: bool = False
) -> Callable[_P, _R]:
    """Give a function the signature of a settings class and the documentation of its options."""
    returned = _Annotation(function.__annotations__.get("return", ""))
    parameters = [*signature_of(cast("type", kind)).parameters.values()]
    if is_method:
        parameters.insert(0, inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY))
    function.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        parameters, return_annotation=returned or inspect.Signature.empty
    )
    function.__annotations__ = {
        each.name: each.annotation for each in parameters if each.annotation is not each.empty
    } | ({"return": returned} if returned else {})
    function.__doc__ = _with_options(inspect.getdoc(function) or "", cast("type", kind))
    del function.__wrapped__  # type: ignore[attr-defined]
    return function


def _with_options(text: str, kind: type) -> str:
    """A docstring whose `Args` include every option."""
    lines = [line for name, option in options_of(kind).items() for line in _explained(name, option)]
    head, separator, rest = text.partition("\nArgs:\n")
    if separator:
        arguments, _, after = rest.partition("\n\n")
        return "\n".join([head, "Args:", arguments, *lines, *(["", after] if after else [])])
    sections = [head.index(name) for name in ("\nReturns:\n", "\nRaises:\n") if name in head]
    end = min(sections, default=len(head))
    before, after = head[:end].rstrip("\n"), head[end:]
    return "\n".join([before, "", "Args:", *lines, *([after] if after else [])])


@cache
def _explained(name: str, option: Option) -> list[str]:
    """The lines of a docstring about an option."""
    default = option.shown_default
    shown = "" if default is None or option.default is True else f"Default: {default}."
    judges = "" if option.applies_to == "any judge" else f"For {option.applies_to}."
    return textwrap.wrap(
        " ".join(filter(None, (f"{name}:", option.help, option.more, judges, shown))),
        WIDTH,
        initial_indent="    ",
        subsequent_indent="        ",
        break_on_hyphens=False,
    )
