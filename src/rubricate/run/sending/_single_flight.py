"""Single flight: what several want at once is asked for once, and all have the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Protocol
from weakref import WeakValueDictionary


class HasKeys(Protocol):
    """What asks for the answers of some keys."""

    @property
    def keys(self) -> Sequence[str]:
        """The keys."""
        ...


class SingleFlight:
    """Keys of answers that are planned, that are being asked for, and that have been meanwhile.

    Nothing is kept of a key once no call about it is planned any more.
    """

    def __init__(self) -> None:
        self._planned: dict[str, int] = {}
        self._asking: dict[str, asyncio.Future[None] | None] = {}  # a future where one waits
        self._asked: set[str] = set()

    def plan(self, calls: Iterable[HasKeys]) -> None:
        """Note calls that are to be made about keys that have no answer as yet."""
        for call in calls:
            for key in call.keys:
                self._planned[key] = self._planned.get(key, 0) + 1
                self._asked.discard(key)  # in vain

    def begin(self, keys: Sequence[str]) -> bool | None:
        """Whether a planned call is to be made as it is planned; `end` is then to follow.

        It is not where another has asked for one of its answers since it was planned; None where
        one is asking: `over` waits for that.
        """
        asked = asking = False
        for key in keys:
            left = self._planned.pop(key, 1) - 1
            if left:
                self._planned[key] = left
            if key in self._asked:
                asked = True
                if not left:
                    self._asked.discard(key)
            if key in self._asking:
                asking = True
        if asking:
            return None
        if not asked:
            for key in keys:
                self._asking[key] = None
        return not asked

    async def over(self, keys: Sequence[str]) -> None:
        """Wait until nobody asks for one of these answers."""
        while on_way := [key for key in keys if key in self._asking]:
            waited = self._asking[on_way[0]]
            if waited is None:
                waited = self._asking[on_way[0]] = asyncio.get_running_loop().create_future()
            await asyncio.wait([waited])

    def end(self, keys: Sequence[str]) -> None:
        """Note that a call has been made, whatever came of it."""
        for key in keys:
            if (waited := self._asking.pop(key, None)) is not None:
                waited.set_result(None)
            if key in self._planned:
                self._asked.add(key)


Locks = WeakValueDictionary[str, asyncio.Lock]
"""A lock a key, as long as anybody has it: whoever comes second finds what the first one got.

For what cannot be planned ahead.
"""


def lock_of(locks: Locks, key: str) -> asyncio.Lock:
    """The lock of a key."""
    lock = locks.get(key)
    if lock is None:
        lock = locks[key] = asyncio.Lock()
    return lock
