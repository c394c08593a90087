"""The commands by their names; each is loaded and built when it is named.

A command is a function of its own name in the module of its own name. What it does is said in the
table here, so that the help of all is shown without loading any.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup

from rubricate._spelling import suggestion
from rubricate.cli._exit_codes import ExitCode
from rubricate.cli._grouped_help import GroupedCommand
from rubricate.cli._logging import with_verbose
from rubricate.errors import InputError

COMMANDS: Mapping[str, str | Mapping[str, str]] = {
    "grade": "Judge every item of a dataset by every criterion. What is known is not asked again.",
    "show": "Show a run's summary again, or some of its verdicts.",
    "runs": "List runs, the oldest first: dataset, judge, score with interval, agreement, cost, "
    "state.",
    "report": "Write a run as one HTML page: figures, plots, every verdict.",
    "compare": "Compare two runs: the difference, how sure, what flipped. Fails a build, too.",
    "label": "Label a dataset by hand, blind, on a page of this machine.",
    "export": "Write a run's verdicts as a table for other programs.",
    "compare-pair": "Ask which of two submissions is better, in both orders.\n\n"
    "Each criterion is asked about by itself. Answers that differ between the orders are a tie.",
    "redteam": "Attack a judge: is it talked into passing wrong answers?",
    "researchrubrics": "Grade research reports by the rubrics of their tasks. See docs/reports.md.",
    "trust": {
        "agree": "Show how far judge and people agree, with intervals.",
        "calibrate": "Fit a map from probabilities to how often they were right.",
        "cascade": "Choose on labels when a surer judge is asked. Asks nobody.",
        "plan": "Say how many items and labels a figure takes, and what they cost. Asks nobody.",
        "ppi": "Show the means that people would give, from a few labels. Name more to label.",
        "variance": "Show whether scores vary by item, judge, prompt or chance. List unstable "
        "criteria.",
        "certify": "Write down how far judge, prompt and rubric agreed.",
        "replay": "Show how recorded judges and panels agree. Asks nobody.",
    },
    "judges": "List the judges: addresses, keys, and installed extras.",
    "schema": "Print the JSON Schema of a file or of a command's JSON, or list all.",
    "init": "Write a dataset, rubric and configuration to start from.",
}
GROUPS = {"trust": "Say how far the grades can be trusted: agreement, calibration, variance."}


class CommandGroup(TyperGroup):
    """The commands of a table."""

    commands_by_name: Mapping[str, str | Mapping[str, str]] = COMMANDS

    def list_commands(self, ctx: Any) -> list[str]:
        """Their names, in the table's order."""
        return list(self.commands_by_name)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command; None if there is none of this name."""
        said = self.commands_by_name.get(cmd_name)
        if said is None:
            return None
        if isinstance(said, str):
            return named_command(cmd_name, said)
        return _group(cmd_name, said)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that the arguments begin with.

        Raises:
            InputError: there is none; with the one that is near.
        """
        name = args[0]
        if name not in self.commands_by_name and not name.startswith("-"):
            known = {one.rpartition(" ")[2]: one for one in all_names()} | {
                one: one for one in self.commands_by_name
            }
            near = suggestion(name, known)
            hint = f"; did you mean '{known[near]}'?" if near else ""
            raise InputError(f"no such command '{name}'{hint} (see rubricate --help)")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write the names with the first sentence of what they do."""
        rows = [
            (name, re.split(r"(?<=[.?])\s", text)[0])
            for name, said in self.commands_by_name.items()
            for text in [said if isinstance(said, str) else GROUPS[name]]
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


def all_names() -> list[str]:
    """Every command as it is called: a group's with the group's name before it."""
    return [
        f"{name} {inner}".strip()
        for name, said in COMMANDS.items()
        for inner in ([""] if isinstance(said, str) else said)
    ]


def named_command(name: str, said: str) -> Any:
    """A command, built from its function."""
    own = name.replace("-", "_")
    function = getattr(import_module(f"rubricate.cli._{own}"), own)
    alone = typer.Typer(add_completion=False, rich_markup_mode=None)
    alone.command(name=name, help=said, cls=GroupedCommand)(function)
    built: Any = typer.main.get_command(alone)
    built.everyday = getattr(function, "everyday", frozenset())
    return with_verbose(built)


def _group(name: str, table: Mapping[str, str]) -> Any:
    class Group(CommandGroup):
        commands_by_name = table

    alone = typer.Typer(cls=Group, help=GROUPS[name], add_completion=False, rich_markup_mode=None)

    @alone.callback(invoke_without_command=True)
    def _shown(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    group = typer.main.get_command(alone)
    group.name = name
    return group
