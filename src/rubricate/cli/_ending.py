"""How a command ends: its exit code, its last line, and what signals do.

Ctrl-C, termination, a lost terminal: the first signal ends a run cleanly, the second at once.

Before and after a run, too, they end the command with the exit code of what is interrupted.
Whatever a run waits for then (a server that does not answer, a worker, a disk), the command ends
within `SECONDS`. A thread sees to that, because it may be the event loop that is blocked.
"""

from __future__ import annotations

import atexit
import os
import signal
from contextlib import suppress
from enum import IntEnum
from typing import TYPE_CHECKING, Any

from rubricate.errors import RubricateError

if TYPE_CHECKING:
    import asyncio
    from pathlib import Path
    from socket import socket

    from rubricate.run.results import Summary


class ExitCode(IntEnum):
    """How a command ended; `meaning` says it in words."""

    meaning: str

    def __new__(cls, code: int, meaning: str) -> ExitCode:
        member = int.__new__(cls, code)
        member._value_ = code
        member.meaning = meaning
        return member

    FINE = 0, "fine; no gate that was given failed"
    ERROR = 1, "usage or input error (one line), or the run could not go on"
    SOME_FAILED = 2, "finished, but some verdicts failed, or a judge of `judges --check`"
    WORSE = 3, "`compare --fail-if-worse`: the second run is shown to be worse"
    UNDECIDED = (
        4,
        "too little was judged: `compare --fail-if-worse`, `--fail-under` and its like",
    )
    NOT_CERTIFIED = 5, "`grade --certificate`: judge, prompt or rubric are not those certified"
    BELOW = 6, "`--fail-under` and its like: a figure is shown to be below its threshold"
    UNCLEAR = 7, "`--on-unclear fail`: a gate cannot tell whether to pass"
    OUT = 8, "`--no-wait`: requests are out in batches; the same command collects the answers"
    INTERRUPTED = 130, "interrupted; what was judged is kept, and its figures are printed"


HANGUP: signal.Signals | None = getattr(signal, "SIGHUP", None)
"""The terminal is gone, such as an ssh connection; None on Windows."""
SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # the last is Windows' Ctrl-Break
    if hasattr(signal, name)
)
SECONDS = 4.5
"""Seconds after the first signal in which a command ends. At half, a slow database has no time to
confirm the last answers; at double, people press Ctrl-C again."""


def print_next(advice: str, settings: Any, **further: object) -> None:
    """Print what a user does next, as the last line; nothing with --json or --quiet.

    It is one line however narrow the terminal is, so that its command can be copied.

    Args:
        advice: `Next, to see all of it: rubricate view {run}`.
        settings: options whose values are the names in braces, ready for a shell.
        further: values of other names.
    """
    values = vars(settings) | further
    if not (values.get("json_output") or values.get("quiet") or values.get("dry_run")):
        import shlex

        ready = {name: shlex.quote(str(value)) for name, value in values.items()}
        print(advice.format(**ready))


READ = "Next, to read answers beside verdicts: rubricate view {run}"


def print_next_of_run(summary: Summary, settings: Any, run: Path) -> None:
    """Print what a user does next with a run."""
    if summary.nothing_judged:
        return
    if summary.agreement is not None:
        print_next("Next, for intervals: rubricate trust agree {run}", settings, run=run)
    else:
        print_next(READ, settings, run=run)


def interrupt_on_signals() -> None:
    """Have every signal raise `KeyboardInterrupt`, as Ctrl-C does; for its own process."""
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


def stop_on_signals() -> asyncio.Event:
    """A new event that the first signal sets; to be called in the running loop of the main thread,
    in the task that ends last. Then signals do what they did before.

    A thread receives each signal from the system, through a socket, so that it is heard even where
    the loop is blocked. `loop.add_signal_handler` would not be, and Windows has no such method.
    """
    import asyncio
    import socket
    import threading

    stop = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if number != HANGUP or handler != signal.SIG_IGN:  # as under `nohup`
            signal.signal(number, _heard)

    def restore(_: object) -> None:
        for number, handler in before.items():
            if number != HANGUP or signal.getsignal(number) == _heard:
                signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        writer.close()

    if task is not None:
        task.add_done_callback(restore)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)  # was the loop's own
    listener = threading.Thread(
        target=_listen, args=(reader, loop, stop), name="rubricate-signals", daemon=True
    )
    listener.start()
    return stop


def _heard(*_: object) -> None:
    """Handle a signal that `_listen` receives."""


def _listen(reader: socket, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Pass the first signal on to the loop, and end the process where that does not in time."""
    import threading

    with reader:
        if not _has_signal(reader):
            return
        with suppress(RuntimeError):  # the loop is closed: the command is ending
            loop.call_soon_threadsafe(_first_signal, loop, stop)
        late = threading.Timer(SECONDS, _end_now)
        late.daemon = True
        late.start()
        # After another one the loop is blocked: it has not seen the first. A hangup comes twice.
        if _has_signal(reader, hangup_counts=False):
            _end_now()


def _has_signal(reader: socket, *, hangup_counts: bool = True) -> bool:
    """Wait for a signal; False where the run ends without one."""
    while number := reader.recv(1):
        if number[0] in SIGNALS and (hangup_counts or number[0] != HANGUP):
            return True
    return False


def _end_now() -> None:
    """End the process as it is. Every answer that was confirmed is in the journal."""
    with suppress(Exception):
        begin = "\033[?25h\n" if os.isatty(2) else ""  # the progress hides the cursor
        text = (
            f"Interrupted. The run could not end cleanly in {SECONDS:g} s; the same command "
            "reuses the answers that are stored.\n"
        )
        os.write(2, (begin + text).encode())
    os._exit(ExitCode.INTERRUPTED)


def _first_signal(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    stop.set()
    loop.set_exception_handler(_report)
    signal.set_wakeup_fd(-1)  # the next one does at once what it does by itself
    for number in SIGNALS:
        if signal.getsignal(number) != _heard:
            continue
        if number == HANGUP:  # it comes twice: of the shell, and of the system
            signal.signal(number, signal.SIG_IGN)
        else:
            again = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, again)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Tell of what nobody waits for; not of what a run that is broken off could not do any more.

    Where a journal's server is away, that is to write the last answers.
    """
    if not isinstance(context.get("exception"), RubricateError):
        loop.default_exception_handler(context)
