"""What commands that serve a page share."""

from __future__ import annotations

import asyncio
import getpass
import sys
import webbrowser
from collections.abc import Iterable

from rubricate.cli._ending import stop_on_signals
from rubricate.settings import Settings, option
from rubricate.views import PageServer


class PageOptions(Settings):
    """Options: where a page is served, and who labels on it."""

    port: int = option(
        0, "The port that the page is served on.", default_text="a free port", ge=0, le=65535
    )
    no_browser: bool = option(False, "Print the page's address instead of opening a browser.")
    annotator: str | None = option(None, "The annotator's name. [the user's name]")

    @property
    def labeller(self) -> str:
        """The name of the annotator, by default that of the user; empty if there is none."""
        if self.annotator is not None:
            return self.annotator
        try:
            return getpass.getuser()
        except (OSError, KeyError, ImportError):  # a user without a name; Windows has no `pwd`
            return ""


def serve(server: PageServer, settings: PageOptions, notes: Iterable[str]) -> None:
    """Serve a page until a signal stops it: print its address and notes, and open a browser."""
    asyncio.run(_serve(server, notes, browser=not settings.no_browser))


async def _serve(server: PageServer, notes: Iterable[str], *, browser: bool) -> None:
    stop = stop_on_signals()
    async with server:
        print(server.url, flush=True)
        sys.stderr.writelines(f"{note}\n" for note in notes)
        if browser:
            await asyncio.to_thread(webbrowser.open, server.url)
        await stop.wait()
