"""The one command that was asked for, without the others."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

import typer
from typer.main import get_command_name

__all__ = ["asked"]


def asked(app: typer.Typer, arguments: Sequence[str]) -> typer.Typer:
    """The application with the command alone that `arguments` begin with, if that is one.

    typer makes every option of every registered command before it looks at the arguments, which
    takes a tenth of the time of a short command.
    """
    only = copy(app)
    only.registered_commands = [
        command
        for command in app.registered_commands
        if command.callback is not None
        and (command.name or get_command_name(command.callback.__name__)) in arguments[:1]
    ]
    return only if only.registered_commands else app
