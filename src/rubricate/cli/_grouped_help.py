"""Help in which many options stand in groups, by what they are about."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from rubricate.errors import InputError
from rubricate.settings import GROUPS

OUTPUT = "Output"
"""Where options stand that say nothing of what they are about."""
ALL = "help_all"


class GroupedCommand(TyperCommand):
    """A command whose options may not be empty; where they are many, they stand in groups, and
    `--help` shows those of common use.

    Attributes:
        common: the names of these; empty where all are shown.
    """

    common: frozenset[str] = frozenset()

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read what is given; what is empty would be the working folder, or left out silently."""
        names = ["what is given", *args]
        for before, argument in zip(names, args, strict=False):
            name, equals, value = argument.partition("=")
            if not argument or (argument.startswith("--") and equals and not value):
                said = name or (before if before.startswith("-") else "an argument")
                raise InputError(f"{said} is empty; is a variable of the shell not set?")
        return super().parse_args(ctx, args)

    def get_params(self, ctx: Any) -> list[Any]:
        """Arguments and options; `--help-all` among them where `--help` does not show all."""
        found: list[Any] = super().get_params(ctx)
        return [*found[:-1], _help_all(), found[-1]] if self.common else found

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options, of many those of common use."""
        if not self.common:
            super().format_options(ctx, formatter)
            return
        shown = self.get_params(ctx)
        all_of_them = ctx.meta.get(ALL, False)
        if not all_of_them:
            always = {*self.common, "verbose", "help", ALL}
            shown = [one for one in shown if one.name in always or not _is_option(one)]
        sections: dict[str, list[Any]] = {"Arguments": []}
        sections |= {str(group): [] for group in GROUPS} if all_of_them else {}
        for one in shown:
            group = getattr(one, "rich_help_panel", None) or OUTPUT
            title = (group if all_of_them else "Options") if _is_option(one) else "Arguments"
            if (record := one.get_help_record(ctx)) is not None:
                sections.setdefault(title, []).append(record)
        for title, records in sections.items():
            if records:
                with formatter.section(title):
                    formatter.write_dl(records)


def _is_option(parameter: Any) -> bool:
    return bool(parameter.param_type_name == "option")


@cache
def _help_all() -> Any:
    """The option, which typer makes for a command of its own."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _command(
        help_all: Annotated[
            bool,
            typer.Option("--help-all", callback=_show_all, is_eager=True, help="Show all options."),
        ] = False,
    ) -> None: ...

    found: Any = typer.main.get_command(only).params[0]
    found.expose_value = False
    return found


def _show_all(context: typer.Context, wanted: bool) -> None:
    if wanted:
        context.meta[ALL] = True
        typer.echo(context.get_help())
        raise typer.Exit
