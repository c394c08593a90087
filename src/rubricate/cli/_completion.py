"""Shell completion of the values of options and arguments."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from rubricate.settings import python_types

RUNS = frozenset({"run", "runs", "run_a", "run_b", "run_dir", "other", "then"})


def complete_values(kind: Any, declared: Any, parameters: Iterable[Any]) -> None:
    """Add completion of values to the parameters of a command.

    Args:
        kind: the class of the command's settings.
        declared: its options by name.
        parameters: the parameters in typer.
    """
    types = python_types(kind)
    for parameter in parameters:
        option = declared.get(parameter.name)
        if option is not None:
            values = tuple(_values(parameter.name, types.get(parameter.name), option.is_path))
            parameter._custom_shell_complete = _offer(values)


def _offer(values: tuple[str, ...]) -> Any:
    def offered(context: Any, parameter: Any, incomplete: str) -> list[str]:
        names = values or tuple(_paths(incomplete))
        return [name for name in names if name.startswith(incomplete)]

    return offered


def _values(name: str, type_: Any, is_path: bool) -> Iterator[str]:
    """All possible values of an option; none if they are files."""
    if name in ("judge", "escalate_to"):
        from rubricate.judge.models import PROVIDERS

        yield "builtin"
        yield from (f"{provider.prefix}/" for provider in PROVIDERS.values())
    elif name in RUNS:
        yield from sorted(str(path.parent) for path in Path().glob("runs/*/run.json"))
    elif not is_path:
        yield from _choices(type_)


def _choices(type_: Any) -> Iterator[str]:
    if get_origin(type_) is Literal:
        yield from map(str, get_args(type_))
    else:
        for part in get_args(type_):
            yield from _choices(part)


def _paths(incomplete: str) -> Iterator[str]:
    folder, _, start = incomplete.rpartition("/")
    for path in sorted(Path(folder).glob(f"{start}*")):
        yield f"{path}/" if path.is_dir() else str(path)
