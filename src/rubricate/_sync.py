"""Helpers between synchronous code and event loops, and between tasks."""

from __future__ import annotations

import asyncio
import contextvars
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import CancelledError, Future, wait
from contextlib import suppress
from typing import Any, Generic, TypeVar

from rubricate.errors import RubricateError

_T = TypeVar("_T")


def running_loop() -> asyncio.AbstractEventLoop:
    """The running event loop.

    Raises:
        RubricateError: there is none, or it does not belong to asyncio.
    """
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        pass
    text = "an asynchronous call needs a running asyncio event loop"
    if "trio" in sys.modules:
        text += (
            "; in a trio program call the plain form in a thread: "
            "await trio.to_thread.run_sync(...)"
        )
    raise RubricateError(text)


def free_after_fork(lock: threading.Lock) -> None:
    """Keep a lock usable in forked processes, by making forks wait for its holder.

    Threads do not exist in the forked process, so a lock they held would stay locked forever.
    """
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(
            before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release
        )


def run_sync(make: Callable[[], Coroutine[Any, Any, _T]]) -> _T:
    """Run a coroutine to its end and return its result.

    If an event loop is already running (in a notebook), the coroutine runs in a separate thread
    with its own loop while the caller waits.

    Args:
        make: creates the coroutine, in the thread that runs it.
    """
    try:
        asyncio.get_running_loop()
        is_running = True
    except RuntimeError:
        is_running = False
    if not is_running:  # outside of `except`, so that errors of the run are not chained to it
        return asyncio.run(make())
    from concurrent.futures import ThreadPoolExecutor  # needed only here

    tasks: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def main() -> _T:
        current = asyncio.current_task()
        assert current is not None
        tasks.append((asyncio.get_running_loop(), current))
        return await make()

    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, "rubricate") as threads:
        outcome = threads.submit(context.run, lambda: asyncio.run(main()))
        try:
            return outcome.result()
        except KeyboardInterrupt:  # the notebook's stop button: end the run cleanly, then stop
            for loop, current in tasks:
                with suppress(RuntimeError):  # the loop is closed
                    loop.call_soon_threadsafe(current.cancel)
            raise  # when the thread has ended


class Channel(Generic[_T]):
    """A bounded queue with one consumer. Producers wait while it is full.

    It does what a bounded `asyncio.Queue` does, in a third of the time; every item of a run passes
    two of them.

    Args:
        room: its capacity.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._things: deque[_T] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taker: asyncio.Future[None] | None = None
        self._is_closed = False

    async def put(self, thing: _T) -> None:
        """Add something. Returns when there is room for more."""
        self._things.append(thing)
        self._wake_taker()
        if len(self._things) > self._room:
            space = asyncio.get_running_loop().create_future()
            self._waiting.append(space)
            await space

    def close(self) -> None:
        """Mark the end of the input."""
        self._is_closed = True
        self._wake_taker()

    async def take(self) -> _T | None:
        """The next element; None once the channel is closed and empty."""
        while not self._things:
            if self._is_closed:
                return None
            self._taker = asyncio.get_running_loop().create_future()
            await self._taker
        if self._waiting:
            space = self._waiting.popleft()
            if not space.done():
                space.set_result(None)
        return self._things.popleft()

    def remaining(self) -> Iterator[_T]:
        """The remaining elements, when there is no consumer any longer."""
        while self._things:
            yield self._things.popleft()

    def _wake_taker(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None and not taker.done():
            taker.set_result(None)


async def in_thread(act: Callable[[], _T], late: Callable[[_T], None] | None = None) -> _T:
    """Run a blocking call in a thread, while the loop continues.

    Unlike with `asyncio.to_thread`, the thread does not keep the program from exiting, because it
    may be waiting for a server that never answers.

    Args:
        act: the call.
        late: called with the result if nothing is waiting for it any longer.
    """
    loop = asyncio.get_running_loop()
    outcome: asyncio.Future[_T] = loop.create_future()

    def tell(value: _T | None, error: BaseException | None) -> None:
        if outcome.done():
            if late is not None and error is None:
                late(value)  # type: ignore[arg-type]
        elif error is not None:
            outcome.set_exception(error)
        else:
            outcome.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        value: _T | None = None
        error: BaseException | None = None
        try:
            value = act()
        except StopIteration as stop:  # a future cannot hold one
            error = RuntimeError(f"StopIteration: {stop}")
        except BaseException as raised:
            error = raised
        with suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(tell, value, error)

    threading.Thread(target=work, name="rubricate-wait", daemon=True).start()
    return await outcome


class BackgroundLoop:
    """An event loop in its own thread, for synchronous code that uses it several times.

    A forked process inherits the loop but not its thread, so it gets a new one on first use.
    """

    def __init__(self) -> None:
        # Loops of parent processes. Closing one would also close the sockets of the parent.
        self._inherited: list[asyncio.AbstractEventLoop] = []
        self._starting = threading.Lock()
        self._start()

    def _start(self) -> None:
        self._process = os.getpid()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(
            target=contextvars.copy_context().run,
            args=(self._loop.run_forever,),
            name="rubricate",
            daemon=True,
        )
        self._thread.start()

    @property
    def is_inherited(self) -> bool:
        """Whether the loop runs in the parent process, and not here."""
        return self._process != os.getpid()

    def run(self, coroutine: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the loop and wait for its result.

        An interruption (Ctrl-C) cancels the coroutine, and is raised when it has ended.
        """
        with self._starting:
            if self.is_inherited:
                self._inherited.append(self._loop)
                self._start()
        outcome: Future[_T] = Future()
        tasks: list[asyncio.Task[_T]] = []

        def begin() -> None:
            task = self._loop.create_task(coroutine)
            task.add_done_callback(lambda ended: _pass_on(ended, outcome))
            tasks.append(task)

        def give_up() -> None:
            for task in tasks:
                task.cancel()
            if not tasks:  # interrupted before it started
                coroutine.close()
                outcome.cancel()

        try:
            self._loop.call_soon_threadsafe(begin)
            return outcome.result()
        except KeyboardInterrupt:
            self._loop.call_soon_threadsafe(give_up)
            wait([outcome])
            raise

    def close(self) -> None:
        """Cancel what is running and end the thread."""
        if self.is_inherited or self._loop.is_closed():
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

    def __exit__(self, *_: object) -> None:
        self.close()


def _pass_on(ended: asyncio.Task[_T], outcome: Future[_T]) -> None:
    """Pass the outcome of a task on to a future of another thread."""
    if ended.cancelled():
        outcome.set_exception(CancelledError())
    elif (problem := ended.exception()) is not None:
        outcome.set_exception(problem)
    else:
        outcome.set_result(ended.result())
