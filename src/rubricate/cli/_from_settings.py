"""Commands made from classes of settings: their options, their help, and the settings file.

What is given in the shell or in a file is written: a rubric is a file's name, weights are text.
`read` makes Python's value of it.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import typer

from rubricate.cli._judging import parsed_weights
from rubricate.errors import InputError
from rubricate.settings import Option, Settings, option, options_of

_T = TypeVar("_T")
Written = Mapping[str, Any]
"""Options by name, as they were given; those that were not have their defaults."""


class Shell(Settings):
    """What the commands that judge can be told beside what Python can.

    Attributes:
        written: the options as they were given.
    """

    no_cache: bool = option(False, "Share no answers with other runs.", group="The run")
    dry_run: bool = option(
        False, "Say what it would take, and send nothing.", group="The run", common=True
    )
    json_output: bool = option(
        False, "Print the figures as JSON.", group="Output", shell="--json", common=True
    )
    quiet: bool = option(
        False,
        "Print nothing but errors (and --json).",
        group="Output",
        shell="--quiet -q",
        common=True,
    )
    written: Written


def written_options(kind: type) -> dict[str, Option]:
    """The options of a class that can be written."""
    return {name: one for name, one in options_of(kind).items() if one.written_type is not None}


def command_of(
    kind: type[_T],
    *,
    usual: Mapping[str, str] = {},
    settings: Callable[[Written, Path | None], _T] | None = None,
) -> Callable[[Callable[[_T], int]], Callable[..., int]]:
    """A decorator: a function of a value of settings becomes a command with their options.

    Args:
        kind: the class.
        usual: by option, what the command does where it is not given, in words.
        settings: makes the value of what was given in the shell and of a file of it (`--config`),
            which the command has if this is given. Default: `read`.
    """
    options = written_options(kind)

    def make(function: Callable[[_T], int]) -> Callable[..., int]:
        def command(config: Path | None = None, **given: Any) -> int:
            told = {
                name: _number(options[name], value)
                for name, value in given.items()
                if value is not None and value != []
            }
            if settings is None:
                return function(read(kind, checked(kind, told)))
            return function(settings(told, config))

        shown = [_parameter(one, usual) for one in options.values()]
        parameters = [one for one in shown if one.default is one.empty]
        parameters += [one for one in shown if one.default is not one.empty]
        if settings is not None:
            parameters.append(_CONFIG)
        command.__name__ = function.__name__
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        command.common = frozenset(  # type: ignore[attr-defined]
            {one.name for one in options.values() if one.common} | {"config"}
        )
        return command

    return make


_CONFIG = inspect.Parameter(
    "config",
    inspect.Parameter.KEYWORD_ONLY,
    default=None,
    annotation=Annotated[
        Path | None,
        typer.Option(
            help="A YAML file with these options; the command line wins.",
            rich_help_panel="The run",
        ),
    ],
)


def _parameter(one: Option, usual: Mapping[str, str]) -> inspect.Parameter:
    """An option as typer takes it; None is what was not given."""
    type_ = _shell_type(one.written_type)
    if one.is_argument:
        info: Any = typer.Argument(help=one.help, show_default=False)
    else:
        default = usual.get(one.name, one.shown_default)
        names = one.shell.split() if one.shell is not None else []
        if type_ is bool and one.default is False and not names:
            names = [f"--{one.name.replace('_', '-')}"]
        info = typer.Option(
            *names,
            help=one.help if default is None else f"{one.help} [{default}]",
            rich_help_panel=one.group,
        )
    return inspect.Parameter(
        one.name,
        inspect.Parameter.KEYWORD_ONLY,
        default=inspect.Parameter.empty if one.required else None,
        annotation=Annotated[type_ if one.required else type_ | None, info],
    )


@cache
def _shell_type(written: Any) -> Any:
    """What the shell takes for a value of this type; text, where that is more than it knows."""
    kinds = _alternatives(written)
    if list[str] in kinds:
        return list[str]
    if list[float] in kinds and str not in kinds:
        return list[float]
    return kinds[0] if kinds[0] in (bool, int, float) and len(kinds) == 1 else str


def _alternatives(written: Any) -> tuple[Any, ...]:
    """The types that a value may have, but for None."""
    if get_origin(written) not in (Union, UnionType):
        return (written,)
    types = [*get_args(written)]
    if NoneType in types:
        types.remove(NoneType)
    return tuple(types)


def _number(one: Option, given: Any) -> Any:
    """A whole number that the shell gave as text, where the option can be one."""
    is_number = isinstance(given, str) and given.isdecimal()
    return int(given) if is_number and int in _alternatives(one.written_type) else given


def checked(kind: type, given: Written) -> Written:
    """What was given, each of the type that is declared.

    Raises:
        InputError: a value is of another.
    """
    from pydantic import ConfigDict, create_model

    from rubricate._documents import validate

    fields: dict[str, Any] = {
        name: (one.written_type, one.default) for name, one in written_options(kind).items()
    }
    model = create_model("Written", __config__=ConfigDict(extra="forbid", strict=True), **fields)
    found = validate(model, given)
    return {name: getattr(found, name) for name in given}


def read(kind: Callable[..., _T], written: Written) -> _T:
    """The settings that are written.

    Raises:
        InputError: a file cannot be read, or a value cannot be used.
    """
    options = options_of(cast("type", kind))
    values = {name: _read(name, options[name].type, given) for name, given in written.items()}
    if written.get("examples") is not None:
        from rubricate.dataset import RubricDataset
        from rubricate.judge import Examples

        file = written["examples"]
        told = {
            name: written[f"examples_{name}"]
            for name in ("count", "pick")
            if f"examples_{name}" in written
        }
        try:
            values["examples"] = Examples(RubricDataset.from_file(file), **told)
        except InputError as error:
            raise error.within(file=file) from None
    return kind(**values, written=written)


def _read(name: str, type_: str, given: Any) -> Any:
    from rubricate._documents import parse_json, parse_pairs
    from rubricate.rubric import LengthPenalty, Rubric

    if given is None:
        return None
    if name == "rubric" and type_ == "Rubric | None":
        return Rubric.from_file(given)
    if name == "weights" and isinstance(given, str):
        return parsed_weights(given)
    try:
        if name == "length_penalty":
            return LengthPenalty.parse(given)
        if name == "model_options" and isinstance(given, str):
            is_json = given.lstrip().startswith("{")
            return parse_json(given) if is_json else parse_pairs(given, "reasoning_effort=high")
    except InputError as error:
        raise error.within((name,)) from None
    return given
