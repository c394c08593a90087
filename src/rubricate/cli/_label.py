"""`rubricate label`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.labelling import LabelSession


def label(
    data: Annotated[
        str,
        typer.Argument(help="A dataset, or a table; its labels go into NAME.labelled.json."),
    ],
    run: Annotated[
        Path | None,
        typer.Option(help="A run on it: its verdicts are shown when an item is labelled."),
    ] = None,
    annotator: Annotated[
        str | None, typer.Option(help="Whose labels these are. [the user's name]")
    ] = None,
    rubric: Annotated[
        Path | None, typer.Option(help="A rubric file, used in place of the dataset's own.")
    ] = None,
    map: Annotated[
        str | None, typer.Option(help="Which column of a table is what; see grade.")
    ] = None,
    order: Annotated[
        str | None,
        typer.Option(
            help="random, or uncertainty: where people or the judge differ or it is unsure first. "
            "[uncertainty with --run, else random]"
        ),
    ] = None,
    seed: Annotated[int, typer.Option(help="Of the random order.")] = 0,
    port: Annotated[int, typer.Option(help="Where the page is served. [a free port]")] = 0,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the page's address.")
    ] = False,
) -> int:
    """Label a dataset by hand, blind, on a page of this machine."""
    import asyncio

    from rubricate.dataset import TableColumns, open_label_file
    from rubricate.labelling import LabelSession, Order
    from rubricate.rubric import Rubric

    chosen = next((one for one in get_args(Order) if one == order), None)
    if order is not None and chosen is None:
        raise InputError(f"--order must be random or uncertainty, found '{order}'")
    if chosen == "uncertainty" and run is None:
        raise InputError("--order uncertainty needs --run: the judge says where it is not sure")
    file = open_label_file(
        data,
        None if rubric is None else Rubric.from_file(rubric),
        None if map is None else TableColumns.parse(map),
    )
    session = LabelSession(file, run=run, order=chosen, seed=seed)
    who = annotator if annotator is not None else _user()
    asyncio.run(_serve(session, who, port, browser=not no_browser))
    complete, items = session.progress()
    print(f"{complete} of {items} items have all labels; they are in {file.path}")
    return 0


def _user() -> str:
    import getpass

    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return ""


async def _serve(session: LabelSession, annotator: str, port: int, *, browser: bool) -> None:
    import asyncio
    import webbrowser

    from rubricate.cli._signals import stop_on_signals
    from rubricate.labelling import LabelServer

    stop = stop_on_signals()
    async with LabelServer(session, annotator=annotator, port=port) as server:
        print(server.url, flush=True)
        sys.stderr.write(
            f"Each label is saved in {session.file.path} at once. Ctrl-C stops the server.\n"
        )
        if session.file.loses_comments:
            sys.stderr.write(
                f"Comments of {session.file.path} cannot be kept: the file as it was will be "
                "beside it, as NAME.before-labels.\n"
            )
        if session.how == "uncertainty":
            sys.stderr.write(
                "The least sure items come first: good for finding errors, but no random sample.\n"
            )
        if browser:
            await asyncio.to_thread(webbrowser.open, server.url)
        await stop.wait()
