"""Options that several commands about finished runs have, each said once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.stats import Undecided as UndecidedPolicy

__all__ = ["Groups", "JsonFigures", "JsonOutput", "Undecided", "undecided_policy"]

JsonOutput = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
JsonFigures = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]

Groups = Annotated[
    str | None,
    typer.Option(
        help="Metadata that says which items belong together: intervals are by it. [each by itself]"
    ),
]
Undecided = Annotated[
    str,
    typer.Option(
        help="A pair in which one did not decide: exclude, label (an abstention is a label) or "
        "wrong."
    ),
]


def undecided_policy(given: str) -> UndecidedPolicy:
    """What `--undecided` says.

    Raises:
        InputError: there is no such policy.
    """
    from rubricate.stats import Undecided

    for policy in get_args(Undecided):
        if policy == given:
            return policy  # type: ignore[no-any-return]
    raise InputError(f"--undecided must be exclude, label or wrong, found '{given}'")
