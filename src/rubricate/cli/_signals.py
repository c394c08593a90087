"""Ctrl-C, termination, a lost terminal: the first signal ends a run cleanly, the second at once.

Before and after a run, too, they end the command with the exit code of what is interrupted.
"""

from __future__ import annotations

import atexit
import os
import signal
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from rubricate.cli._exit_codes import ExitCode
from rubricate.errors import RubricateError

if TYPE_CHECKING:
    import asyncio

HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The terminal is gone, such as an ssh connection; None on Windows."""
SIGNALS = (signal.SIGINT, signal.SIGTERM, *([] if HANGUP is None else [HANGUP]))


def interrupt_on_signals() -> None:
    """Have every signal raise `KeyboardInterrupt`, as Ctrl-C does; for a process of its own."""
    for number in SIGNALS:
        with suppress(ValueError):  # this is not the main thread
            if signal.getsignal(number) != signal.SIG_IGN:  # as SIGHUP is under `nohup`
                signal.signal(number, signal.default_int_handler)
                # Python gives its handlers up before it has ended, after all other such functions.
                atexit.register(signal.signal, number, signal.SIG_IGN)


def leave_on_signals() -> None:
    """Have every signal end the process at once: everything is written and printed."""
    for number in SIGNALS:
        if signal.getsignal(number) == signal.default_int_handler:
            signal.signal(number, _leave)


def _leave(*_: object) -> None:
    os._exit(ExitCode.INTERRUPTED)


def stop_on_signals(stop: asyncio.Event | None = None) -> asyncio.Event:
    """An event that the first signal sets, a new one if none is given; to be called in the running
    loop, in the task that ends last. Then signals do what they did before."""
    import asyncio

    stop = stop or asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if number != HANGUP or handler != signal.SIG_IGN:  # as under `nohup`
            loop.add_signal_handler(number, _first_signal, loop, stop)

    def restore(_: object) -> None:
        for number, handler in before.items():
            if loop.remove_signal_handler(number) or number != HANGUP:
                signal.signal(number, handler)

    if task is not None:
        task.add_done_callback(restore)
    return stop


def _first_signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    stop.set()
    loop.set_exception_handler(_tell)
    for number in SIGNALS:
        if loop.remove_signal_handler(number) and number == HANGUP:
            signal.signal(number, signal.SIG_IGN)  # it comes twice: of the shell, and of the system


def _tell(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of what nobody waits for; not of what a run that is broken off could not do any more.

    Where a journal's server is away, that is to write the last answers.
    """
    if not isinstance(context.get("exception"), RubricateError):
        loop.default_exception_handler(context)
