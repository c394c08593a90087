"""The commands: their names, and how one is built from the class of its settings.

A command is a function of a value of settings, decorated with `command`. Only the command that is
called is loaded and built; the table here has what the help of all shows.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from rubricate._spelling import suggestion
from rubricate._terminal import one_line
from rubricate.cli._ending import ExitCode
from rubricate.errors import InputError
from rubricate.settings import GROUPS, Settings, options_of, written_types

COMMANDS: Mapping[str, tuple[str, str]] = {
    "grade": (
        "_grade",
        "Judge every item of a dataset by every criterion. Reuses stored answers.",
    ),
    "show": ("_runs", "Show a run's summary again, or some of its verdicts."),
    "runs": (
        "_runs",
        "List runs, the oldest first: dataset, judge, score with interval, agreement, cost, state.",
    ),
    "report": ("_runs", "Write a run as one HTML page: figures, plots, every verdict."),
    "compare": (
        "_runs",
        "Compare two runs: the difference, its interval, what flipped. Can fail a build.",
    ),
    "label": ("_label", "Label a dataset by hand, blind, on a page of this machine."),
    "export": ("_runs", "Write a run's verdicts as a table for other programs."),
    "compare-pair": (
        "_compare_pair",
        "Ask which of two submissions is better, in both orders.\n\n"
        "Each criterion is asked about by itself. Answers that differ between the orders are a "
        "tie.",
    ),
    "redteam": ("_redteam", "Attack a judge: is it talked into passing wrong answers?"),
    "researchrubrics": (
        "_researchrubrics",
        "Grade research reports by the rubrics of their tasks. See docs/reports.md.",
    ),
    "trust": (
        "_trust",
        "Say how far the grades can be trusted: agreement, calibration, variance.",
    ),
    "trust agree": ("_trust", "Show how far judge and people agree, with intervals."),
    "trust calibrate": ("_trust", "Fit a map from probabilities to how often they were right."),
    "trust cascade": (
        "_trust",
        "Choose on labels when a surer judge is asked. Sends nothing.",
    ),
    "trust plan": (
        "_trust",
        "Say how many items and labels a figure takes, and what they cost. Sends nothing.",
    ),
    "trust ppi": (
        "_trust",
        "Show the means that people would give, from a few labels. Name more to label.",
    ),
    "trust variance": (
        "_trust",
        "Show whether scores vary by item, judge, prompt or chance. List unstable criteria.",
    ),
    "trust certify": ("_trust", "Write down how far judge, prompt and rubric agreed."),
    "trust replay": ("_trust", "Show how recorded judges and panels agree. Sends nothing."),
    "judges": ("_setup", "List the judges: addresses, keys, and installed extras."),
    "schema": (
        "_setup",
        "Print the JSON Schema of a file or of a command's JSON, or list all.",
    ),
    "init": ("_setup", "Write a dataset, rubric and configuration to start from."),
}
"""The module and the help of each command. The name of a command in a group begins with the
group's."""
OUTPUT = "Output"
HELP_ALL = "help_all"
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
LOG_FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"

_S = TypeVar("_S", bound=Settings)
Raw = Mapping[str, Any]
"""Options by name as the shell or a file has them: a rubric is a file's name, weights are text."""


class CommandGroup(TyperGroup):
    """The commands of the table, or those of one of its groups."""

    prefix = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names without the group's, in the table's order."""
        names = [name.removeprefix(self.prefix) for name in COMMANDS if self.prefix in name]
        return [name for name in names if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; None if there is none of this name."""
        name = f"{self.prefix}{cmd_name}"
        if name not in COMMANDS:
            return None
        return built_group(name) if name in GROUPED else built_command(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments begin with.

        Raises:
            InputError: there is none; suggests the nearest one.
        """
        name = args[0]
        if f"{self.prefix}{name}" not in COMMANDS and not name.startswith("-"):
            known = {full.rpartition(" ")[2]: full for full in COMMANDS if full not in GROUPED}
            known |= {own: own for own in self.list_commands(ctx)}
            near = suggestion(name, known)
            hint = f"; did you mean '{known[near]}'?" if near else ""
            raise InputError(f"no such command '{name}'{hint} (see rubricate --help)")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with the first sentence of their help."""
        rows = [
            (name, re.split(r"(?<=[.?])\s", COMMANDS[f"{self.prefix}{name}"][1])[0])
            for name in self.list_commands(ctx)
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)

    def invoke(self, ctx: Any) -> Any:
        """Run the command; returns its exit code. typer keeps silent about an interruption."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.stderr.write("Interrupted.\n")
            return ExitCode.INTERRUPTED


GROUPED = {name.partition(" ")[0] for name in COMMANDS if " " in name}
"""Names of groups."""


def built_group(name: str) -> Any:
    """A group of commands, as typer has it."""
    kind = type("Group", (CommandGroup,), {"prefix": f"{name} "})
    alone = typer.Typer(
        cls=kind, help=COMMANDS[name][1], add_completion=False, rich_markup_mode=None
    )

    @alone.callback(invoke_without_command=True)
    def _shown(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    group = typer.main.get_command(alone)
    group.name = name
    return group


def built_command(name: str) -> Any:
    """A command, as typer has it."""
    module, text = COMMANDS[name]
    own = name.rpartition(" ")[2]
    function = getattr(import_module(f"rubricate.cli.{module}"), own.replace("-", "_"))
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name=own, help=text, cls=_Command)(_entry(function))
    built: Any = typer.main.get_command(alone)
    built.common = {name for name, option in options_of(function.settings).items() if option.common}
    return built


class _Command(TyperCommand):
    """A command whose arguments may not be empty.

    Where it has `common` options, `--help` shows those alone, and `--help-all` all by group.
    """

    common: set[str]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the arguments; an empty one would be the working folder, or ignored silently."""
        names = ["an argument", *args]
        for before, argument in zip(names, args, strict=False):
            name, equals, value = argument.partition("=")
            if not argument or (argument.startswith("--") and equals and not value):
                what = name or (before if before.startswith("-") else "an argument")
                raise InputError(f"{what} is empty; is a variable of the shell not set?")
        return super().parse_args(ctx, args)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, of many the common ones."""
        if not self.common:
            super().format_options(ctx, formatter)
            return
        shows_all = ctx.meta.get(HELP_ALL, False)
        always = {*self.common, "config", "json_output", "output", "verbose", "help", HELP_ALL}
        sections: dict[str, list[Any]] = {"Arguments": []}
        sections |= {str(group): [] for group in GROUPS} if shows_all else {}
        for parameter in self.get_params(ctx):
            title = "Arguments"
            if parameter.param_type_name == "option":
                if not shows_all and parameter.name not in always:
                    continue
                group = getattr(parameter, "rich_help_panel", None) or OUTPUT
                title = group if shows_all else "Options"
            if (record := parameter.get_help_record(ctx)) is not None:
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def command(
    kind: type[_S],
    *,
    defaults: Mapping[str, str] = {},
    load: Callable[[Raw, str | None], _S] | None = None,
) -> Callable[[Callable[[_S], int]], Callable[[_S], int]]:
    """A decorator: a function of a value of settings is a command with their options.

    Args:
        kind: the class.
        defaults: by option, what the command does where it is not set, in words.
        load: makes the value of the shell's options and of a file of them (`--config`), which the
            command has if this is set. Default: `read`.
    """

    def decorate(function: Callable[[_S], int]) -> Callable[[_S], int]:
        vars(function).update(settings=kind, defaults=defaults, load=load)
        return function

    return decorate


def _entry(function: Any) -> Callable[..., int]:
    """What typer makes a command of: a function with the command's options as parameters."""
    kind, defaults, load = function.settings, function.defaults, function.load
    types = written_types(kind)

    def entry(config: str | None = None, **values: Any) -> int:
        raw: dict[str, Any] = {}
        for name, type_ in types.items():
            value = values.get(name)
            if value not in (None, [], ()):
                is_number = isinstance(value, str) and value.isdecimal() and int in get_args(type_)
                raw[name] = int(value) if is_number else value
        return int(function(read(kind, raw) if load is None else load(raw, config)))

    parameters: list[inspect.Parameter] = []
    required = 0
    for name, option in options_of(kind).items():
        if name not in types:
            continue
        is_union = get_origin(types[name]) in (Union, UnionType)
        kinds = {*(get_args(types[name]) if is_union else (types[name],))} - {NoneType}
        type_: Any = str
        if list[str] in kinds or (list[float] in kinds and str not in kinds):
            type_ = list[str] if list[str] in kinds else list[float]
        elif len(kinds) == 1 and kinds <= {bool, int, float}:
            (type_,) = kinds
        default = defaults.get(name, option.shown_default)
        text = option.help if default is None else f"{option.help} [{default}]"
        if option.is_argument:
            info: Any = typer.Argument(help=text, show_default=False)
        else:
            names = [] if option.shell is None else option.shell.split()
            if type_ is bool and option.default is False and not names:
                names = [f"--{name.replace('_', '-')}"]
            info = typer.Option(*names, help=text, rich_help_panel=option.group)
        annotation: Any = Annotated[type_ if option.required else type_ | None, info]
        kind_of = inspect.Parameter.KEYWORD_ONLY
        if option.required:
            parameter = inspect.Parameter(name, kind_of, annotation=annotation)
            parameters.insert(required, parameter)
            required += 1
        else:
            parameter = inspect.Parameter(name, kind_of, default=None, annotation=annotation)
            parameters.append(parameter)
    if load is not None:
        parameters.append(_CONFIG)
    parameters.append(_VERBOSE)
    if any(option.common for option in options_of(kind).values()):
        parameters.append(_HELP_ALL)
    entry.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    entry.__annotations__ = {each.name: each.annotation for each in parameters}
    return entry


def read(kind: type[_S], raw: Raw) -> _S:
    """The settings of options as the shell or a file has them, once files are read.

    Raises:
        InputError: a file cannot be read, or a value cannot be used.
    """
    options = options_of(cast("type", kind))
    values = {
        name: _read(name, options[name].type, value) if name in _READ else value
        for name, value in raw.items()
    }
    if raw.get("examples") is not None:
        from rubricate.dataset import RubricDataset
        from rubricate.judge import Examples

        file = raw["examples"]
        names = [name for name in ("count", "pick") if f"examples_{name}" in raw]
        picks = {name: raw[f"examples_{name}"] for name in names}
        try:
            values["examples"] = Examples(RubricDataset.from_file(file), **picks)
        except InputError as error:
            raise error.within(file=file) from None
    if "raw" in kind.__dataclass_fields__:
        values["raw"] = raw
    return kind(**values)


_READ = {"rubric", "weights", "length_penalty", "model_options"}
"""Options whose value in the shell is text for another value."""


def _read(name: str, type_: str, value: Any) -> Any:
    """The value of an option that is written as text or as a file's name."""
    if value is None:
        return None
    from rubricate._documents import parse_json, parse_pairs
    from rubricate.rubric import LengthPenalty, Rubric

    if name == "rubric":
        return Rubric.from_file(value) if type_ == "Rubric | None" else value
    try:
        if name == "length_penalty":
            return LengthPenalty.parse(value)
        if isinstance(value, str):
            if name == "weights":
                return _weights(value)
            is_json = value.lstrip().startswith("{")
            return parse_json(value) if is_json else parse_pairs(value, "reasoning_effort=high")
    except InputError as error:
        raise error.within((name,)) from None
    return value


def _weights(text: str) -> Any:
    """What `--weights` says: `reliability`, numbers, or numbers by name."""
    if text == "reliability":
        return text
    parts = [part.partition("=") for part in text.split(",")]
    try:
        if all(equals for _, equals, _ in parts):
            return {name.strip(): float(weight) for name, _, weight in parts}
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise InputError(
            f"'{text}' is neither reliability, nor numbers such as 2,1,1, nor numbers by name such "
            "as gpt=2,claude=1"
        ) from None


class _OneLine(logging.Formatter):
    """A message is a line, whatever is in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))


def _show_log(count: int) -> int:
    """Show log messages: of level INFO and above for 1, of all for more."""
    logger = logging.getLogger("rubricate")
    logger.setLevel(LEVELS[min(count, len(LEVELS) - 1)])
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine(LOG_FORM))
        logger.addHandler(handler)
    return count


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[HELP_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


def _common_parameter(name: str, default: Any, type_: Any, info: Any) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[type_, info]
    )


_CONFIG = _common_parameter(
    "config",
    None,
    str | None,
    typer.Option(
        help="A YAML file with these options; the command line wins.", rich_help_panel="The run"
    ),
)
_VERBOSE = _common_parameter(
    "verbose",
    0,
    int,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        callback=_show_log,
        help="Log what happens: -v each step, -vv each judgement.",
        show_default=False,
    ),
)
_HELP_ALL = _common_parameter(
    HELP_ALL,
    False,
    bool,
    typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show all options."),
)
