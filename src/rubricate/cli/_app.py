"""The command line: its commands, and how errors leave it.

Exit codes: 0 fine; 1 usage or input error, or a run that could not go on; 2 finished, but some
verdicts failed; 3 a comparison found the second run worse; 4 too little could be compared to tell;
5 a certificate does not hold; 130 interrupted.
"""

from __future__ import annotations

import contextlib
import os
import sys
from io import TextIOWrapper
from typing import Annotated, Any, NoReturn

import typer

from rubricate._terminal import cleaned
from rubricate._version import __version__
from rubricate.cli._agree import agree
from rubricate.cli._asked import asked
from rubricate.cli._calibrate import calibrate
from rubricate.cli._cascade import cascade
from rubricate.cli._certify import certify
from rubricate.cli._compare import compare
from rubricate.cli._compare_pair_options import compare_pair
from rubricate.cli._export import export
from rubricate.cli._few_labels import few_labels
from rubricate.cli._grade_options import grade
from rubricate.cli._grouped_help import GroupedCommand
from rubricate.cli._init import init
from rubricate.cli._judges import judges
from rubricate.cli._label import label
from rubricate.cli._logging import LoggedCommands
from rubricate.cli._redteam import redteam
from rubricate.cli._replay import replay
from rubricate.cli._report import report
from rubricate.cli._reports_options import reports
from rubricate.cli._show import show
from rubricate.cli._variance import variance
from rubricate.errors import RubricateError

__all__ = ["main"]


class _Commands(LoggedCommands):
    """Commands that say when they were interrupted, about which typer keeps silent."""

    def invoke(self, ctx: Any) -> Any:
        """Run the command; returns its exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            sys.stderr.write("Interrupted.\n")
            return 130


app = typer.Typer(
    cls=_Commands,
    help="Grade texts against rubrics with judges, and know how far to believe the grades.",
    invoke_without_command=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
_ClickException: type[Exception] = next(
    base for base in typer.BadParameter.__mro__ if base.__name__ == "ClickException"
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rubricate {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    context: typer.Context,
    version: Annotated[
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Grade texts against rubrics with judges, and know how far to believe the grades."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


for _command in (
    grade,
    show,
    export,
    report,
    label,
    agree,
    calibrate,
    cascade,
    compare,
    few_labels,
    variance,
    certify,
    replay,
    redteam,
    compare_pair,
    reports,
    init,
    judges,
):
    app.command(cls=GroupedCommand)(_command)


def main() -> None:
    """Run the command line; errors become one line on standard error."""
    _open_closed_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # what it has no character for is no error
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(cleaned, before)
    try:
        _run()
    finally:
        sys.stdout, sys.stderr = before


def _open_closed_streams() -> None:
    """Let a standard stream that is closed (`>&-`) lead nowhere.

    Else printing would fail, and the first file that is opened would get the stream's number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # gets the least number that is free
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def _run() -> NoReturn:
    """Run the command line; ends with its exit code."""
    try:
        code = asked(app, sys.argv[1:])(standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        code = 130
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        code = 130
    except RubricateError as error:
        sys.stderr.write(f"Error: {_one_line(str(error))}\n")
        code = 1
    except BrokenPipeError:
        sys.stderr.close()
        code = 1
    except OSError as error:  # a full disk behind standard output, say
        sys.stderr.write(f"Error: {_one_line(str(error))}\n")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # what could not be written is not tried again
        code = 1
    except Exception as error:
        if not isinstance(error, _ClickException):
            raise
        message = error.format_message()  # type: ignore[attr-defined]
        if message:
            sys.stderr.write(f"Error: {_one_line(message)} (see {_as_called(error)} --help)\n")
        code = 1
    sys.exit(code if isinstance(code, int) else 0)


def _as_called(error: Exception) -> str:
    """The command that was told something wrong, as it is called."""
    context = getattr(error, "ctx", None)
    names = [context.info_name] if context is not None and context.parent is not None else []
    return " ".join(["rubricate", *filter(None, names)])


def _one_line(text: str) -> str:
    return " ".join(text.split())
