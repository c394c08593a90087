"""The tasks that make the calls of a run."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

ASIDE, AHEAD = 1024, 4
"""How many further calls may start while others wait for a retry; and the factor by which more
calls start to find a prompt that is answered. At half of ASIDE, an endpoint that refuses many is
idle sooner; at double, more prompts are in memory. At half of AHEAD, a dataset that begins with
prompts which no endpoint accepts is given up later; at double, more requests are wasted."""

WAITING = 10_000
"""How many calls may wait for a model that answers later. With submissions of 7,000 tokens they
take 0.6 GB; at half, a batch has at most 5,000 requests, and at double 20,000."""

YIELD_EVERY = 0.05
"""Seconds after which judges that never wait must yield to signals and the screen. At half, such a
job yields twice as often; at double, Ctrl-C is noticed later."""


class Pool:
    """Runs one task for each call that may be in flight.

    There are more tasks while calls wait for a retry, or while a model has not answered yet and
    different prompts are tried.

    Args:
        concurrency: how many calls may be in flight.
        most: the maximum number of calls in the run.
        is_in_doubt: whether any model has neither answered yet nor been given up.
        most_aside: how many further calls may start while others wait.

    Attributes:
        is_idle: whether there is nothing left to start.
        done: completes with all tasks, or with the error of one of them.
        yields_at: when the next task should call `let_others_run` (monotonic clock).
    """

    def __init__(
        self,
        concurrency: int,
        most: int,
        is_in_doubt: Callable[[], bool],
        most_aside: int = ASIDE,
    ) -> None:
        self.is_idle = False
        self.done: asyncio.Future[None] | None = None
        self._concurrency = concurrency
        self._most = most
        self._is_in_doubt = is_in_doubt
        self._most_aside = most_aside
        self._work: Callable[[], Coroutine[Any, Any, None]] | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._aside = 0  # calls that wait for a retry
        self.yields_at = 0.0

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Future[None]:
        """Start with one task. Returns `done`."""
        self._work = work
        self.done = asyncio.get_running_loop().create_future()
        self.begin(1)
        return self.done

    def begin_others(self) -> None:
        """Start as many tasks as calls may be in flight, but no more than there are calls."""
        self.begin(min(self._concurrency, self._most) - 1)

    def begin(self, count: int) -> None:
        """Start more tasks."""
        if self._work is None:
            return
        for _ in range(count):
            task = asyncio.create_task(self._work())
            task.add_done_callback(self._ended)
            self._tasks.add(task)

    async def let_others_run(self) -> None:
        """Yield to other work in the event loop, on behalf of all tasks."""
        await asyncio.sleep(0)
        self.yields_at = time.monotonic() + YIELD_EVERY

    def close(self) -> list[asyncio.Future[Any]]:
        """Start no more tasks. Returns those that are still running."""
        self._work = None
        return [*self._tasks]

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if self.done is None or self.done.done():
            return
        if error is not None:
            self.done.set_exception(error)
        elif not self._tasks:
            self.done.set_result(None)

    def set_aside(self, waits: bool) -> None:
        """Note that a call starts or stops waiting for a retry. Another one takes its place."""
        self._aside += 1 if waits else -1
        if waits and not self.is_idle and self._aside <= self._most_aside:
            self.begin(1)

    def look_ahead(self) -> bool:
        """Start many more calls to find a prompt that is answered. False if none is left."""
        tasks = len(self._tasks)
        more = min((AHEAD - 1) * tasks, self._concurrency + ASIDE - tasks)
        if more > 0 and not self.is_idle:
            self.begin(more)
        return not self.is_idle

    def leave(self) -> bool:
        """Whether the calling task should end, because more are running than needed.

        It is removed from the count at once, so that others which ask before it has ended stay.
        """
        if len(self._tasks) <= self._concurrency + self._aside or self._is_in_doubt():
            return False
        task = asyncio.current_task()
        assert task is not None
        self._tasks.discard(task)
        return True
