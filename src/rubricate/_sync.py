"""The plain door to asynchronous code: works in a script and inside a running loop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["BackgroundLoop", "run_sync"]

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


class BackgroundLoop:
    """An event loop in a thread of its own, for plain code that comes back to it."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._loop.run_forever,),
            name="rubricate",
            daemon=True,
        )
        self._thread.start()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the loop and wait for its result.

        An interruption (Ctrl-C) cancels the coroutine, and is raised when it has ended.
        """
        future = asyncio.run_coroutine_threadsafe(coroutine, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def close(self) -> None:
        """Cancel what is running and end the thread."""
        if self._loop.is_closed():
            return
        asyncio.run_coroutine_threadsafe(self._cancel_all(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self._loop.shutdown_asyncgens()

    def __enter__(self) -> BackgroundLoop:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
