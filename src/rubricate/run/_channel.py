"""A bounded channel between tasks of one loop."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterator
from typing import Generic, TypeVar

_T = TypeVar("_T")


class Channel(Generic[_T]):
    """Hands things to one task; who puts more into it than there is room for waits.

    It does what `asyncio.Queue` with a bound does, in a third of the time: every item of a run goes
    through two.

    Args:
        room: how many things may wait in it.
    """

    def __init__(self, room: int) -> None:
        self._room = room
        self._things: deque[_T] = deque()
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._taker: asyncio.Future[None] | None = None
        self._is_closed = False

    async def put(self, thing: _T) -> None:
        """Put a thing in; returns when there is room for further ones."""
        self._things.append(thing)
        self._wake_taker()
        if len(self._things) > self._room:
            space = asyncio.get_running_loop().create_future()
            self._waiting.append(space)
            await space

    def close(self) -> None:
        """Say that nothing more comes."""
        self._is_closed = True
        self._wake_taker()

    async def take(self) -> _T | None:
        """The next thing; None when it is closed and empty."""
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
        """What has not been taken, when nobody takes any more."""
        while self._things:
            yield self._things.popleft()

    def _wake_taker(self) -> None:
        taker, self._taker = self._taker, None
        if taker is not None and not taker.done():
            taker.set_result(None)
