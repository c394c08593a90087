"""The commands: their names, and how they are built from the classes of their settings.

A command is a function of a settings object, decorated with `command`. Only the command that is
called is imported and built.
"""

from __future__ import annotations

import ast
import inspect
import logging
import re
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, TypeVar, Union, cast, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from rubricate._spelling import our_name, suggestion
from rubricate._terminal import one_line
from rubricate.cli._ending import ExitCode, print_next
from rubricate.errors import InputError, NamedPart, errors_within
from rubricate.settings import GROUPS, Option, Settings, options_of, written_types

COMMANDS: Mapping[str, str] = {
    "grade": "_grade",
    "show": "_runs",
    "runs": "_runs",
    "batches": "_batches",
    "view": "_view",
    "report": "_runs",
    "compare": "_compare",
    "label": "_label",
    "export": "_runs",
    "compare-pair": "_compare_pair",
    "redteam": "_redteam",
    "researchrubrics": "_researchrubrics",
    "trust": "_trust",
    "trust agree": "_trust",
    "trust calibrate": "_trust",
    "trust cascade": "_trust",
    "trust plan": "_trust",
    "trust ppi": "_trust",
    "trust variance": "_trust",
    "trust certify": "_trust",
    "trust anchors": "_anchors",
    "trust replay": "_trust",
    "judges": "_judges",
    "schema": "_setup",
    "init": "_setup",
}
"""The module of each command. The name of a command in a group begins with the name of the group.

The help of a command is the docstring of its function, and the help of a group the docstring of its
module. They are read from the source, so that the list of all commands imports none of them.
"""
DIALECTS = ("researchrubrics",)
"""Commands for the file layout of another system."""
HELP_ALL = "help_all"
LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)

_C = TypeVar("_C", int, None)
_S = TypeVar("_S", bound=Settings)
Raw = Mapping[str, Any]
"""Options by name as in the shell or a file: a rubric is the name of a file, weights are text."""


class CommandGroup(TyperGroup):
    """The commands of the table, or those of one of its groups."""

    prefix = ""

    def list_commands(self, ctx: Any) -> list[str]:
        """Return their names without the name of the group, in the order of the table."""
        names = [name.removeprefix(self.prefix) for name in COMMANDS if self.prefix in name]
        return [name for name in names if " " not in name]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return the command; None if there is none with this name."""
        name = f"{self.prefix}{cmd_name}"
        if name not in COMMANDS:
            return None
        return built_group(name) if name in GROUPED else built_command(name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments begin with.

        Raises:
            InputError: there is none. The message suggests the nearest one.
        """
        name = args[0]
        if f"{self.prefix}{name}" not in COMMANDS and not name.startswith("-"):
            known = {full.rpartition(" ")[2]: full for full in COMMANDS if full not in GROUPED}
            known |= {own: own for own in self.list_commands(ctx)}
            near = suggestion(name, known)
            hint = f"; did you mean '{known[near]}'?" if near else our_name(name, known)
            group = f"rubricate {self.prefix}"
            raise InputError(f"no such command '{name}'{hint} (see {group}--help)")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with the first sentence of their help."""
        rows = [
            (name, re.split(r"(?<=[.?])\s", help_of(f"{self.prefix}{name}"))[0])
            for name in self.list_commands(ctx)
        ]
        dialects = [row for row in rows if row[0] in DIALECTS]
        with formatter.section("Commands"):
            formatter.write_dl([row for row in rows if row not in dialects])
        if dialects:
            with formatter.section("Dialects of other systems"):
                formatter.write_dl(dialects)

    def invoke(self, ctx: Any) -> Any:
        """Run the command and return its exit code. Interruptions are not reported by typer."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.stderr.write("Interrupted.\n")
            return ExitCode.INTERRUPTED


GROUPED = {name.partition(" ")[0] for name in COMMANDS if " " in name}
"""The names of groups."""


@cache
def _parsed(module: str) -> ast.Module:
    source = Path(__file__).with_name(f"{module}.py").read_text(encoding="utf-8")
    # Without `optimize`, Python 3.14 also removes docstrings here under -OO.
    parsed = compile(source, module, "exec", ast.PyCF_ONLY_AST, optimize=0)
    return cast("ast.Module", parsed)


def help_of(name: str) -> str:
    """The help text of a command or group."""
    described: ast.Module | ast.FunctionDef = _parsed(COMMANDS[name])
    own = name.rpartition(" ")[2].replace("-", "_")
    for part in described.body:
        if isinstance(part, ast.FunctionDef) and part.name == own:
            described = part
    return ast.get_docstring(described) or ""


def built_group(name: str) -> Any:
    """Build a group of commands for typer."""
    kind = type("Group", (CommandGroup,), {"prefix": f"{name} "})
    alone = typer.Typer(cls=kind, help=help_of(name), add_completion=False, rich_markup_mode=None)

    @alone.callback(invoke_without_command=True)
    def _shown(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    group = typer.main.get_command(alone)
    group.name = name
    return group


def built_command(name: str) -> Any:
    """Build a command for typer."""
    own = name.rpartition(" ")[2]
    module = import_module(f"rubricate.cli.{COMMANDS[name]}")
    function = getattr(module, own.replace("-", "_"))
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    text = inspect.getdoc(function) or help_of(name)  # `python -OO` has no docstrings
    alone.command(name=own, help=text, cls=_Command)(_entry(function))
    built: Any = typer.main.get_command(alone)
    built.kind, built.defaults = function.settings, function.defaults
    built.declared = options_of(function.settings)
    return built


def _with_one_map(args: Sequence[str]) -> list[str]:
    """Return the arguments with `--map a=x --map b=y` and `--map a=x, b=y` written `--map
    a=x,b=y`."""
    others: list[str] = []
    pairs: list[str] = []
    place = 0  # of the first --map
    for argument in args:
        is_pair = "=" in argument and not argument.startswith("-")
        continues = is_pair and "".join(pairs[-1:]).endswith(",")
        if is_pair and others[-1:] == ["--map"]:
            others.pop()
        elif not (argument.startswith("--map=") or continues):
            others.append(argument)
            continue
        place = place if pairs else len(others)
        pairs.append(argument.removeprefix("--map="))
    whole = ["--map", ",".join(pairs).replace(",,", ",")] if pairs else []
    return [*others[:place], *whole, *others[place:]]


def _our_name(option: str, known: Collection[str]) -> str:
    """Our option or argument for an option of another tool or command, or one that users may
    expect; "" if this command has none.

    Their spelling does not resemble ours. The table is local, so that it is built only if there is
    an error.
    """
    ours = {
        "--judge": "--model",
        "--judge PROVIDER/MODEL": "--provider",
        "--judge; its key comes from the environment: see rubricate judges": "--api-key",
        "--judge-prompt": "--system-prompt",
        "--attempts": "--retries --max-retries",
        "--concurrency": "--threads --max-concurrency --max-connections",
        "--limit": "--n --max-samples",
        "--base-url": "--endpoint --api-base",
        "--run-dir (then: rubricate export RUN -o FILE)": "--output --output-dir --out --save -o",
        **dict.fromkeys(("run", "run_a", "runs", "folder", "path"), "--run-dir --run --dir --runs"),
        **dict.fromkeys(("data", "dataset"), "--data --dataset --input --file --csv --answers"),
        "--output": "--out --save --to --file",
        "--map 'ignore=label.*'": "--ignore-labels",
        f"--map {option[2:]}=COLUMN": "--prompt --submission --reference",
        "--map submission=COLUMN,prompt=COLUMN": "--columns",
        "--model-options top_p=0.9": "--top-p",
        "--model-options reasoning_effort=high": "--reasoning-effort",
    }
    for own, others in ours.items():
        if option in others.split() and re.split("[ ;]", own)[0] in known:
            return own
    return ""


class _Command(TyperCommand):
    """A command whose arguments may not be empty.

    If it has common options, `--help` shows only those, and `--help-all` all options by group.

    Attributes:
        kind: the class of its settings.
        declared: its options.
        defaults: the default behaviour by option, in words.
    """

    kind: type
    declared: Mapping[str, Option]
    defaults: Mapping[str, str]

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Parse the arguments. Empty ones are errors: they would mean the working folder, or
        nothing."""
        if ctx.resilient_parsing:  # the shell requests completions
            from rubricate.cli._completion import complete_values

            complete_values(self.kind, self.declared, self.get_params(ctx))
            return super().parse_args(ctx, args)
        names = ["an argument", *args]
        for before, argument in zip(names, args, strict=False):
            name, equals, value = argument.partition("=")
            if not argument or (argument.startswith("--") and equals and not value):
                what = name or (before if before.startswith("-") else "an argument")
                raise InputError(f"{what} is empty; is a variable of the shell not set?")
        try:
            return super().parse_args(ctx, _with_one_map(args) if "map" in self.declared else args)
        except Exception as error:
            vars(error)["ctx"] = ctx  # typer sets none for an option without a value
            name = getattr(error, "option_name", "")
            known = [option for parameter in self.get_params(ctx) for option in parameter.opts]
            ours = _our_name(name, known)
            if ours.isidentifier():
                vars(error)["message"] = f"{error}: write {ours.upper()} alone, without {name}"
                vars(error)["possibilities"] = None
            elif ours:
                vars(error)["possibilities"] = [ours]
            elif name and name[1:2] != "-":  # a single letter
                vars(error)["possibilities"] = [o for o in known if o.startswith(f"-{name[:2]}")]
            takes = " ".join(self.collect_usage_pieces(ctx))
            if missing := self.declared.get(getattr(getattr(error, "param", None), "name", "")):
                vars(error)["message"] = f"{missing.help} It takes {takes}"
            elif type(error).__name__ == "UsageError":  # such as an extra argument
                is_rubric = "rubric" in self.declared and ".y" in str(error)
                rubric = "; a rubric is given by --rubric" if is_rubric else ""
                vars(error)["message"] = f"{error}; it takes {takes}{rubric}"
            raise

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return the words of the usage line. Releases of typer show RUNS, {RUN} and {RUNS}..."""
        return [re.sub(r"[{}]|\.\.\.$", "", piece) for piece in super().collect_usage_pieces(ctx)]

    def described(self, ctx: Any) -> Iterator[tuple[Any, tuple[str, str]]]:
        """Yield the arguments and options with their names and help texts, as help shows them."""
        for parameter in cast("list[Any]", self.get_params(ctx)):
            if option := self.declared.get(parameter.name or ""):
                default = self.defaults.get(parameter.name or "", option.shown_default)
                parameter.help = option.help + (f" [{default}]" if default else "")
            if record := parameter.get_help_record(ctx):
                # Releases of typer show an argument as RUN, RUN <str> and RUN <list[str]>.
                is_option = parameter.param_type_name == "option"
                yield parameter, record if is_option else (parameter.metavar, record[1])

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options with their defaults; only the common ones if there are
        many."""
        common = [name for name, option in self.declared.items() if option.common]
        shows_all = ctx.meta.get(HELP_ALL, False)
        always = {*common, "config", "json_output", "output", "verbose", "help", HELP_ALL}
        sections: dict[str, list[Any]] = {"Arguments": []}
        sections |= {str(group): [] for group in GROUPS} if shows_all else {}
        for parameter, record in self.described(ctx):
            title = "Arguments"
            if parameter.param_type_name == "option":
                if common and not shows_all and parameter.name not in always:
                    continue
                group = getattr(parameter, "rich_help_panel", None) or "Output"
                title = group if shows_all else "Options"
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
    then: str | None = None,
) -> Callable[[Callable[[_S], _C]], Callable[[_S], _C]]:
    """A decorator that turns a function of a settings object into a command.

    The function returns the exit code; None for 0.

    Args:
        kind: the class of the settings.
        defaults: the default behaviour by option, in words.
        load: creates the settings from the options and a settings file, and gives the command the
            option `--config`. Default: `read`.
        then: the next step for the user, printed last: `To see all of it: rubricate view {run}`.
            Names in braces are options.
    """

    def decorate(function: Callable[[_S], _C]) -> Callable[[_S], _C]:
        vars(function).update(settings=kind, defaults=defaults, load=load, then=then)
        return function

    return decorate


def _entry(function: Any) -> Callable[..., int]:
    """A function with the command's options as parameters, from which typer builds the command."""
    kind, load = function.settings, function.load
    options, types = options_of(kind), written_types(kind)
    kinds_of: dict[str, set[Any]] = {}

    def entry(config: str | None = None, **values: Any) -> int:
        raw: dict[str, Any] = {}
        for name, value in values.items():
            if name in kinds_of and value not in (None, [], ()):
                raw[name] = _typed(value, kinds_of[name])
        settings = read(kind, raw) if load is None else load(raw, config)
        code = int(function(settings) or ExitCode.FINE)
        if function.then is not None and code in (ExitCode.FINE, ExitCode.SOME_FAILED):
            print_next(function.then, settings)
        return code

    required: dict[str, Any] = {}
    optional: dict[str, Any] = {}
    for name, type_ in types.items():
        option = options[name]
        is_union = get_origin(type_) in (Union, UnionType)
        kinds = {*(get_args(type_) if is_union else (type_,))} - {NoneType}
        is_list = list[str] in kinds or (list[float] in kinds and str not in kinds)
        kinds_of[name] = kinds
        shell_type: Any = bool if kinds == {bool} else list[str] if is_list else str
        if option.is_argument:
            info: Any = typer.Argument(show_default=False, metavar=name.upper())
        else:
            written = "<int>" if kinds == {int} else "<float>" if kinds <= _FLOATS else "<str>"
            metavar = None if shell_type is bool else written
            names = [] if option.shell is None else option.shell.split()
            if shell_type is bool and option.default is False and not names:
                names = [f"--{name.replace('_', '-')}"]
            info = typer.Option(*names, rich_help_panel=option.group, metavar=metavar)
        if option.required or (option.is_argument and option.default in ("", ())):
            required[name] = Annotated[shell_type, info]
        else:
            optional[name] = Annotated[shell_type | None, info]
    if load is not None:
        optional["config"] = _CONFIG
    optional["verbose"] = _VERBOSE
    if any(option.common for option in options.values()):
        optional[HELP_ALL] = _HELP_ALL
    entry.__annotations__ = {**required, **optional}
    parameters = list[inspect.Parameter]()
    for name, annotation in entry.__annotations__.items():
        default = inspect.Parameter.empty if name in required else None
        parameter = inspect.Parameter(name, KEYWORD_ONLY, default=default, annotation=annotation)
        parameters.append(parameter)
    entry.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return entry


_FLOATS = {float, list[float]}
KEYWORD_ONLY = inspect.Parameter.KEYWORD_ONLY


def _typed(value: Any, kinds: set[Any]) -> Any:
    """Convert text from the shell to a number if the option accepts numbers."""
    if isinstance(value, list):
        return [_typed(each, kinds) for each in value]
    if not isinstance(value, str):
        return value
    if int in kinds and value.removeprefix("-").isdecimal():
        return int(value)
    with suppress(ValueError):
        return float(value) if kinds & _FLOATS and str not in kinds else value
    return value


def read(kind: type[_S], raw: Raw) -> _S:
    """Create settings from options of the shell or a file, reading the files that they name.

    Raises:
        InputError: a file cannot be read, or a value cannot be used.
    """
    values = dict(raw)
    for name in _READ & values.keys():
        values[name] = _read(name, values[name])
    if raw.get("examples") is not None:
        from rubricate.judge import Examples

        file = raw["examples"]
        names = [name for name in ("count", "pick") if f"examples_{name}" in raw]
        picks = {name: raw[f"examples_{name}"] for name in names}
        try:
            values["examples"] = Examples(_labelled(file, raw), **picks)
        except InputError as error:
            raise error.within(file=file) from None
    if "raw" in kind.__dataclass_fields__:
        values["raw"] = raw
    return kind(**values)


def _labelled(file: str, raw: Raw) -> Any:
    """Read labelled examples: a dataset, or a table with the columns of `--map`."""
    from rubricate.choosing import chosen_rubric
    from rubricate.dataset import RubricDataset, open_dataset
    from rubricate.dataset.items import is_table

    if raw.get("rubric") is None or not is_table(file):
        return RubricDataset.from_file(file)
    rubric = chosen_rubric(raw["rubric"])
    with errors_within(NamedPart("--examples, which uses --map, too")):
        items = open_dataset(file, rubric, raw.get("map")).to_grade()
        return RubricDataset("", rubric, [item.data for item in items])


_READ = {"weights", "length_penalty", "model_options", "headers"}
"""Options whose text has to be parsed."""


_PAIRS = {
    "model_options": "reasoning_effort=high",
    "headers": "NAME=VALUE (a key goes into its environment variable)",
}
"""Options of pairs, each with an example."""


def _read(name: str, value: Any) -> Any:
    """Parse the text of an option."""
    if value is None:
        return None
    from rubricate._documents import parse_json, parse_pairs

    try:
        if name == "length_penalty":
            from rubricate.rubric import LengthPenalty

            return LengthPenalty.parse(value)
        if isinstance(value, str):
            if name == "weights":
                return _weights(value)
            is_json = value.lstrip().startswith("{")
            return parse_json(value) if is_json else parse_pairs(value, _PAIRS[name])
    except InputError as error:
        raise error.within((name,)) from None
    return value


def _weights(text: str) -> Any:
    """Parse `--weights`: `reliability`, numbers, or numbers by name."""
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
    """Formats each message as one line, whatever it contains."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))


def _show_log(count: int | None) -> int | None:
    """Show log messages: level INFO and above for 1, all levels for more."""
    logger = logging.getLogger("rubricate")
    logger.setLevel(LEVELS[min(count or 0, len(LEVELS) - 1)])
    if not logger.handlers:
        handler = logging.StreamHandler()
        details = "%(asctime)s %(levelname)s %(name)s" if count else "Warning"
        handler.setFormatter(_OneLine(f"{details}: %(message)s"))
        logger.addHandler(handler)
    return count


def _show_all(context: typer.Context, wanted: bool | None) -> None:
    if wanted:
        context.meta[HELP_ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit


_CONFIG: Any = Annotated[
    str | None,
    typer.Option(
        help="A YAML file with these options; the command line wins.",
        metavar="<str>",
        rich_help_panel="The run",
    ),
]
_VERBOSE: Any = Annotated[
    int | None,
    typer.Option(
        "--verbose",
        "-v",
        count=True,
        callback=_show_log,
        help="Log what happens: -v each step, -vv each judgement.",
        show_default=False,
    ),
]
_HELP_ALL: Any = Annotated[
    bool | None,
    typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show all options."),
]
