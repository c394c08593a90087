"""How a command ends: its exit code, its last line, and what signals do.

Ctrl-C, termination, a lost terminal: the first signal ends a run cleanly, the second one at once.

Before and after a run, signals also end the command with the exit code for an interruption.
Whatever the run is waiting for (a server that does not answer, a worker, a disk), the command ends
within `SECONDS`. A thread ensures that, because the event loop itself may be blocked.
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
    """How a command ended; `meaning` is the explanation in words."""

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
"""The signal for a lost terminal, such as a closed ssh connection; None on Windows."""
SIGNALS: tuple[signal.Signals, ...] = tuple(
    getattr(signal, name)
    for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # SIGBREAK is Ctrl-Break on Windows
    if hasattr(signal, name)
)
SECONDS = 4.5
"""Seconds after the first signal within which a command ends. At half, a slow database has no time
to confirm the last answers; at double, people press Ctrl-C again."""


def print_next(advice: str, settings: Any, **further: object) -> None:
    """Print the next step for the user as the last line, except with --json or --quiet.

    It is never wrapped, so that the command can be copied.

    Args:
        advice: a template, such as `Next, to see all of it: rubricate view {run}`.
        settings: the options whose values replace names in braces, quoted for a shell.
        further: the values of other names.
    """
    values = vars(settings) | further
    if not (values.get("json_output") or values.get("quiet") or values.get("dry_run")):
        import shlex

        ready = {name: shlex.quote(str(value)) for name, value in values.items()}
        print(advice.format(**ready))


READ = "Next, to read answers beside verdicts: rubricate view {run}"
INTERVALS = "Next, for intervals: rubricate trust agree {run}"


def print_next_of_run(summary: Summary, settings: Any, run: Path) -> None:
    """Print the next step for the user of a run."""
    if summary.nothing_judged:
        return
    if summary.agreement is not None:
        print_next(INTERVALS, settings, run=run)
    else:
        print_next(READ, settings, run=run)


def interrupt_on_signals() -> None:
    """Let every signal raise `KeyboardInterrupt`, like Ctrl-C. Only for a process of our own."""
    for number in SIGNALS:
        with suppress(ValueError):  # not the main thread
            if signal.getsignal(number) != signal.SIG_IGN:  # SIGHUP is ignored under `nohup`
                signal.signal(number, signal.default_int_handler)
                # At exit, Python removes its signal handlers after it has called all such
                # functions.
                atexit.register(signal.signal, number, signal.SIG_IGN)


def leave_on_signals() -> None:
    """Let every signal end the process at once, because everything is written and printed."""
    for number in SIGNALS:
        if signal.getsignal(number) == signal.default_int_handler:
            signal.signal(number, _leave)


def _leave(*_: object) -> None:
    os._exit(ExitCode.INTERRUPTED)


def stop_on_signals() -> asyncio.Event:
    """Return an event that the first signal sets, until the current task ends.

    Call it in the running loop of the main thread, in the task that ends last. A thread receives
    signals through a socket, so that they are noticed even if the loop is blocked, unlike with
    `loop.add_signal_handler`, which Windows does not have either.
    """
    import asyncio
    import socket
    import threading

    stop = asyncio.Event()
    loop, task = asyncio.get_running_loop(), asyncio.current_task()
    before = {number: signal.getsignal(number) for number in SIGNALS}
    for number, handler in before.items():
        if number != HANGUP or handler != signal.SIG_IGN:  # ignored under `nohup`
            signal.signal(number, _ignore_signal)

    def restore(_: object) -> None:
        for number, handler in before.items():
            if number != HANGUP or signal.getsignal(number) == _ignore_signal:
                signal.signal(number, handler)
        signal.set_wakeup_fd(-1)
        writer.close()

    if task is not None:
        task.add_done_callback(restore)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)  # replaces the loop's own
    listener = threading.Thread(
        target=_listen, args=(reader, loop, stop), name="rubricate-signals", daemon=True
    )
    listener.start()
    return stop


def _ignore_signal(*_: object) -> None:
    """Ignore a signal, because `_listen` receives it."""


def _listen(reader: socket, loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    """Pass the first signal on to the loop, and end the process if the loop does not in time."""
    import threading

    with reader:
        if not _has_signal(reader):
            return
        late = threading.Timer(SECONDS, _end_now)
        late.daemon = True
        with suppress(RuntimeError):  # the loop is closed, because the command is ending
            loop.call_soon_threadsafe(_first_signal, loop, stop)
        with suppress(RuntimeError):  # Python 3.12 starts no more threads when it ends
            late.start()
        # A second signal means that the loop is blocked, except for a hangup, which comes twice.
        if _has_signal(reader, hangup_counts=False):
            _end_now()


def _has_signal(reader: socket, *, hangup_counts: bool = True) -> bool:
    """Wait for a signal; False if the run ends without one."""
    while number := reader.recv(1):
        if number[0] in SIGNALS and (hangup_counts or number[0] != HANGUP):
            return True
    return False


def _end_now() -> None:
    """End the process at once. Every confirmed answer is in the journal."""
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
    signal.set_wakeup_fd(-1)  # the next signal has its default effect
    for number in SIGNALS:
        if signal.getsignal(number) != _ignore_signal:
            continue
        if number == HANGUP:  # it comes twice: from the shell and from the system
            signal.signal(number, signal.SIG_IGN)
        else:
            again = signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL
            signal.signal(number, again)


def _report(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Report errors that nobody awaits, except for what an interrupted run could not finish.

    If the server of a journal is unreachable, that is writing the last answers.
    """
    if not isinstance(context.get("exception"), RubricateError):
        loop.default_exception_handler(context)
