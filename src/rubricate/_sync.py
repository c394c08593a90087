"""The plain door to asynchronous code: works in a script and inside a running loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

__all__ = ["run_sync"]

_T = TypeVar("_T")


def run_sync(make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end and return its result.

    Where a loop is running already (a notebook), the coroutine gets a thread and a loop of its
    own, and the caller waits.

    Args:
        make: makes the coroutine; called in the thread that runs it.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(make())
    outcome: list[_T] = []
    problem: list[BaseException] = []
    task: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def main() -> _T:
        current = asyncio.current_task()
        if current is not None:
            task.append((asyncio.get_running_loop(), current))
        return await make()

    def work() -> None:
        try:
            outcome.append(asyncio.run(main()))
        except BaseException as error:
            problem.append(error)

    thread = threading.Thread(
        target=contextvars.copy_context().run, args=(work,), name="rubricate", daemon=True
    )
    thread.start()
    try:
        thread.join()
    except KeyboardInterrupt:  # the notebook's stop button: end the run cleanly, then stop
        for loop, current in task:
            loop.call_soon_threadsafe(current.cancel)
        thread.join()
        raise
    if problem:
        raise problem[0]
    return outcome[0]
