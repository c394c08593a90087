"""Options that several commands about finished runs have, each said once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.stats import Undecided as UndecidedPolicy

JsonOutput = Annotated[bool, typer.Option("--json", help="Print it as JSON.")]
JsonFigures = Annotated[bool, typer.Option("--json", help="Print all figures as JSON.")]


def has_a_form(output: Path | None) -> Path | None:
    """The file, if its name says in which form it is to be; before anything is read."""
    if output is not None and output.suffix.lower() not in FORMS:
        raise InputError(f"the file's name must end in one of {', '.join(FORMS)}", file=output)
    return output


FORMS = (".md", ".html", ".json")
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        callback=has_a_form,
        help="Write it to this file, too: .md, .html or .json.",
    ),
]
Journal = Annotated[
    str | None,
    typer.Option(
        help="The database that has the run's prompts and replies. [that of a run of yours, as its "
        "folder notes it; none that only a folder names]"
    ),
]
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
