"""The entry point of the command line, and how errors end it (see `cli/_ending.py`)."""

from __future__ import annotations

import contextlib
import os
import sys
from io import TextIOWrapper
from typing import Annotated, NoReturn

import typer

from rubricate._terminal import cleaned
from rubricate._version import __version__
from rubricate.cli._commands import CommandGroup
from rubricate.cli._ending import ExitCode, interrupt_on_signals, leave_on_signals
from rubricate.errors import RubricateError, RunStopped

app = typer.Typer(
    cls=CommandGroup,
    help="Grade texts against rubrics with judges, and know how far to believe the grades.",
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
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


def main() -> None:
    """Run the command line in its own process, with exit codes for signals throughout."""
    interrupt_on_signals()
    try:
        run_command()
    except KeyboardInterrupt:  # another signal while the first is being reported
        os._exit(ExitCode.INTERRUPTED)
    finally:
        leave_on_signals()


def run_command() -> None:
    """Run the command line, and print errors as one line on standard error."""
    _open_closed_streams()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")  # characters that it cannot encode are no error
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = map(cleaned, before)
    try:
        _run()
    finally:
        sys.stdout, sys.stderr = before


def _open_closed_streams() -> None:
    """Open closed standard streams (`>&-`) on the null device.

    Otherwise printing would fail, and the next file to be opened would get the stream's number.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)  # gets the lowest free number
            setattr(sys, name, os.fdopen(nowhere, mode, encoding="utf-8"))


def _run() -> NoReturn:
    """Run the command line, and exit with its code."""
    try:
        code = app(standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        code = ExitCode.INTERRUPTED
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        code = ExitCode.INTERRUPTED
    except RubricateError as error:
        is_stopped = isinstance(error, RunStopped) and error.interrupted
        line = "Interrupted." if is_stopped else f"Error: {_one_line(str(error))}"
        sys.stderr.write(f"{line}\n")
        code = ExitCode.INTERRUPTED if is_stopped else ExitCode.ERROR
    except (MemoryError, RecursionError) as error:
        what = "larger than the memory" if isinstance(error, MemoryError) else "nested too deeply"
        sys.stderr.write(f"Error: a file or a value is {what}\n")
        code = ExitCode.ERROR
    except BrokenPipeError:
        sys.stderr.close()
        code = ExitCode.ERROR
    except OSError as error:  # such as a full disk behind standard output
        with contextlib.suppress(OSError):  # the terminal is gone
            sys.stderr.write(f"Error: {_one_line(str(error))}\n")
        with contextlib.suppress(OSError):
            sys.stdout.close()  # does not try again to write what could not be written
        code = ExitCode.ERROR
    except Exception as error:
        if not isinstance(error, _ClickException):
            raise
        message = error.format_message()  # type: ignore[attr-defined]
        if message:
            sys.stderr.write(f"Error: {_one_line(message)} (see {_as_called(error)} --help)\n")
        code = ExitCode.ERROR
    sys.exit(int(code) if isinstance(code, int) else 0)


def _as_called(error: Exception) -> str:
    """The command of an error about arguments, as the user calls it."""
    names: list[str] = []
    context = getattr(error, "ctx", None)
    while context is not None and context.parent is not None:
        names.insert(0, context.info_name)
        context = context.parent
    return " ".join(["rubricate", *names])


def _one_line(text: str) -> str:
    return " ".join(text.split())
