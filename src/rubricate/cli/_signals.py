"""Ctrl-C, termination, a lost terminal: the first signal ends a run cleanly, the second at once."""

from __future__ import annotations

import asyncio
import signal
from typing import Any

from rubricate.errors import RubricateError

SIGNALS = (signal.SIGINT, signal.SIGTERM)
HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The terminal is gone, such as an ssh connection; None on Windows."""


def stop_on_signals(stop: asyncio.Event | None = None) -> asyncio.Event:
    """An event that the first signal sets, a new one if none is given; to be called in the running
    loop."""
    stop = stop or asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in SIGNALS:
        loop.add_signal_handler(number, _first_signal, loop, stop)
    if HANGUP is not None and signal.getsignal(HANGUP) != signal.SIG_IGN:  # as under `nohup`
        loop.add_signal_handler(HANGUP, _first_signal, loop, stop)
    return stop


def _first_signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    stop.set()
    loop.set_exception_handler(_tell)
    for number in SIGNALS:
        loop.remove_signal_handler(number)
    if HANGUP is not None and loop.remove_signal_handler(HANGUP):
        signal.signal(HANGUP, signal.SIG_IGN)  # it comes twice: of the shell, and of the system


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of what nobody waits for; not of what a run that is broken off could not do any more.

    Where a journal's server is away, that is to write the last answers.
    """
    if not isinstance(context.get("exception"), RubricateError):
        loop.default_exception_handler(context)
