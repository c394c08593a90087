"""`-v` and `-vv` on every command: what happens, on standard error."""

from __future__ import annotations

import logging
from functools import cache
from typing import Annotated, Any

import typer

from rubricate._terminal import one_line

LEVELS = (logging.WARNING, logging.INFO, logging.DEBUG)
FORM = "%(asctime)s %(levelname)s %(name)s: %(message)s"


def with_verbose(command: Any) -> Any:
    """A command that also has `-v`."""
    command.params.append(_verbose())
    return command


@cache
def _verbose() -> Any:
    """The option, which tells no command anything: typer makes it for a command of its own."""
    only = typer.Typer(add_completion=False)

    @only.command()
    def _command(
        verbose: Annotated[
            int,
            typer.Option(
                "--verbose",
                "-v",
                count=True,
                callback=_listen,
                help="Say what happens: -v each step, -vv each judgement.",
                show_default=False,
            ),
        ] = 0,
    ) -> None: ...

    option: Any = typer.main.get_command(only).params[0]
    option.expose_value = False
    return option


class _OneLine(logging.Formatter):
    """A message is a line, whatever is in it."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        return one_line(super().formatMessage(record))


def _listen(count: int) -> int:
    """Show messages of a level and above."""
    logger = logging.getLogger("rubricate")
    logger.setLevel(LEVELS[min(count, len(LEVELS) - 1)])
    if not logger.handlers:
        handler = logging.StreamHandler()
        handler.setFormatter(_OneLine(FORM))
        logger.addHandler(handler)
    return count
