"""`rubricate label`."""

from __future__ import annotations

import asyncio
import getpass
import sys
import webbrowser
from pathlib import Path
from typing import get_args

from rubricate.cli._signals import stop_on_signals
from rubricate.dataset import TableColumns, open_label_file
from rubricate.errors import InputError
from rubricate.labelling import LabelServer, LabelSession, Order
from rubricate.rubric import Rubric

__all__ = ["label_command"]


def label_command(
    data: str,
    *,
    run: Path | None,
    annotator: str | None,
    rubric: Path | None,
    map: str | None,
    order: str | None,
    seed: int,
    port: int,
    browser: bool,
) -> int:
    """Serve the labelling page until it is interrupted; returns the exit code."""
    chosen = next((one for one in get_args(Order) if one == order), None)
    if order is not None and chosen is None:
        raise InputError(f"--order must be random or worth, found '{order}'")
    if chosen == "worth" and run is None:
        raise InputError("--order worth needs --run: the judge says where it is not sure")
    file = open_label_file(
        data,
        None if rubric is None else Rubric.from_file(rubric),
        None if map is None else TableColumns.parse(map),
    )
    session = LabelSession(file, run=run, order=chosen, seed=seed)
    asyncio.run(_serve(session, annotator if annotator is not None else _user(), port, browser))
    complete, items = session.progress()
    print(f"{complete} of {items} items have all labels; they are in {file.path}")
    return 0


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # a user without a name
        return ""


async def _serve(session: LabelSession, annotator: str, port: int, browser: bool) -> None:
    stop = stop_on_signals()
    async with LabelServer(session, annotator=annotator, port=port) as server:
        print(server.url, flush=True)
        sys.stderr.write(f"Labels go into {session.file.path} with every key. Ctrl-C ends it.\n")
        if session.how == "worth":
            sys.stderr.write(
                "The items worth most come first: good for finding errors, but no random sample.\n"
            )
        if browser:
            await asyncio.to_thread(webbrowser.open, server.url)
        await stop.wait()
