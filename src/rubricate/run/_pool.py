"""The tasks that make a run's calls."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine
from typing import Any

ASIDE, AHEAD = 1024, 4
"""Calls on their way beyond those that may be in flight, while these wait to be sent again; and how
many times as many are started to find a prompt that is answered. At half of ASIDE, an endpoint that
refuses many is idle sooner; at double, more prompts are in memory. At half of AHEAD, a dataset that
begins with prompts that no endpoint takes is given up later; at double, more are sent in vain."""

WAITING = 10_000
"""Calls on their way, while these wait for a model that answers later. With submissions of 7,000
tokens they take 0.6 GB; at half, a batch has at most 5,000 requests, and at double 20,000."""

YIELD_EVERY = 0.05
"""Seconds between the moments at which signals and the screen get their turn beside judges that
never wait. At half, such a job yields twice as often; at double, Ctrl-C is noticed later."""


class Pool:
    """As many tasks as calls may be in flight.

    More, while calls wait to be sent again, or while a prompt is looked for that is answered.

    Args:
        concurrency: how many calls may be in flight.
        most: how many there are to make at most.
        is_in_doubt: whether it is not known of some model if it answers anybody.
        most_aside: how many calls may be beyond those, while others wait.

    Attributes:
        is_idle: whether there is nothing left to begin.
        done: ends when all tasks have, with the error of one that failed.
        yields_at: when the next task is to call `let_others_run` (monotonic clock).
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
        self._aside = 0  # calls that wait to be sent again
        self.yields_at = 0.0

    def start(self, work: Callable[[], Coroutine[Any, Any, None]]) -> asyncio.Future[None]:
        """Begin with one task; gives `done`."""
        self._work = work
        self.done = asyncio.get_running_loop().create_future()
        self.begin(1)
        return self.done

    def begin_others(self) -> None:
        """Begin as many as calls may be in flight, or are to be made."""
        self.begin(min(self._concurrency, self._most) - 1)

    def begin(self, count: int) -> None:
        """Begin this many more tasks."""
        if self._work is None:
            return
        for _ in range(count):
            task = asyncio.create_task(self._work())
            task.add_done_callback(self._ended)
            self._tasks.add(task)

    async def let_others_run(self) -> None:
        """Yield to the loop's other work; what one task yields counts for all of them."""
        await asyncio.sleep(0)
        self.yields_at = time.monotonic() + YIELD_EVERY

    def close(self) -> list[asyncio.Future[Any]]:
        """Begin no more; gives the tasks that are left."""
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
        """A call waits to be sent again: another one takes its place until it does no more."""
        self._aside += 1 if waits else -1
        if waits and not self.is_idle and self._aside <= self._most_aside:
            self.begin(1)

    def look_ahead(self) -> bool:
        """Begin many more calls, to find one whose prompt is answered; whether there are any."""
        tasks = len(self._tasks)
        more = min((AHEAD - 1) * tasks, self._concurrency + ASIDE - tasks)
        if more > 0 and not self.is_idle:
            self.begin(more)
        return not self.is_idle

    def leave(self) -> bool:
        """Whether the task that asks is to end: there are more than may be in flight, without need.

        It is removed from the count at once, so that others that ask before it has ended stay.
        """
        if len(self._tasks) <= self._concurrency + self._aside or self._is_in_doubt():
            return False
        task = asyncio.current_task()
        assert task is not None
        self._tasks.discard(task)
        return True
