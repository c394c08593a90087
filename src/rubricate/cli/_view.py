"""`rubricate view`."""

from __future__ import annotations

import sys
from pathlib import Path

from rubricate.cli._commands import command
from rubricate.cli._pages import PageOptions, serve
from rubricate.cli._runs import Journal
from rubricate.settings import option


class ViewSettings(Journal, PageOptions):
    """The options of `rubricate view`."""

    path: str = option("runs", "A run folder, or a folder with run folders.", is_argument=True)
    compare: str | None = option(
        None, "Another run folder: show what changed from the run to this one."
    )
    labels: str | None = option(
        None, "The dataset file that labels go into. [labelled.json in the run folder]"
    )


@command(ViewSettings)
def view(settings: ViewSettings) -> None:
    """Open runs as a page in your browser: items, comparisons, labels, runs in progress."""
    if sys.stderr.isatty():
        print("Starting the page …", file=sys.stderr, flush=True)
    from rubricate.report import ViewServer  # slow to import on a busy machine

    server = ViewServer(
        Path(settings.path),
        compare=settings.compare,
        journal=settings.journal,
        labels=settings.labels,
        annotator=settings.labeller,
        port=settings.port,
    )
    serve(server, settings, ["Ctrl-C stops the server."])
