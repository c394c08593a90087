"""Coordinates calls with other processes that share a cache."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Iterator
from itertools import islice

from rubricate.run.items import Call, JudgedItem, Pending
from rubricate.run.journal import LOOK_AGAIN, Answers, SingleFlight

QUICK, MOST_AHEAD = 0.1, 64
"""If calls follow each other within 0.1 s, twice as many are claimed together each time, up to 64;
otherwise half as many. A claim of any size takes 0.1 ms with an SQLite file and 1 ms with a
database, so claims cost at most 1 %. At double the seconds, other processes wait longer for what is
claimed here but not asked for yet."""
MOST_ASIDE = 512
"""How many calls may wait for other processes before no more items are read. At half, three
processes that share all answers can run out of other calls; at double, twice as many items are in
memory."""


class Turns:
    """Claims calls before they are made, and postpones those that another process is making.

    Args:
        answers: the stored answers, with the claims.
        flights: the calls of this process.
    """

    def __init__(self, answers: Answers, flights: SingleFlight) -> None:
        self._answers = answers
        self._flights = flights
        self._claiming = asyncio.Lock()
        self._window, self._claimed_at = 1, 0.0
        self._aside: list[tuple[JudgedItem, Call]] = []
        self._looked = time.monotonic()
        self._looked_up: set[str] = set()  # keys with a record, which may be damaged
        self._unshared: set[int] = set()  # voters whose answers are not shared

    async def claim(self, ready: deque[Pending], calls: Iterator[Pending]) -> None:
        """Add calls to those that are ready.

        These are postponed calls that are now answered or free and, if none is ready, the next
        ones; several together if calls are quick.

        Args:
            ready: the calls that may be made.
            calls: the other calls.
        """
        if ready and not self._is_due:
            return
        async with self._claiming:  # one claim for all that wait here
            waiting: list[tuple[JudgedItem, Call]] = []
            if self._is_due:
                waiting, self._aside, self._looked = self._aside, [], time.monotonic()
            further: list[Pending] = []
            if not (ready or self.is_full):
                further = [*islice(calls, self._window)]
                now = time.monotonic()
                is_quick = now - self._claimed_at < QUICK
                self._claimed_at = now
                self._window = (
                    min(MOST_AHEAD, 2 * self._window) if is_quick else max(1, self._window // 2)
                )
            shared = [call.keys for _, call in further if call is not None and self._shares(call)]
            groups = [*(call.keys for _, call in waiting), *shared]
            if groups:
                await self._answers.claim(groups)
            for item, call in waiting:
                is_theirs = await self._answers.turn(call.keys) == "theirs"
                (self._aside if is_theirs else ready).append((item, call))
            ready.extend(further)

    @property
    def _is_due(self) -> bool:
        """Whether it is time to check the calls that wait for other processes."""
        return bool(self._aside) and time.monotonic() - self._looked >= LOOK_AGAIN

    async def is_mine(self, item: JudgedItem, call: Call) -> bool | None:
        """Whether this process should make a call.

        False if there is an answer by now. None if the call is postponed because another process is
        making it.
        """
        keys = call.keys
        turn = await self._answers.turn(keys) if self._shares(call) else "mine"
        if turn == "mine" or (turn == "answered" and not self._looked_up.isdisjoint(keys)):
            return True
        self._flights.end(keys)
        if turn == "theirs":
            self._flights.plan([call.keys])
            self._aside.append((item, call))
            return None
        self._looked_up.update(keys)
        self._answers.release(keys)
        return False

    def _shares(self, call: Call) -> bool:
        return call.needs_judge and call.voter not in self._unshared

    def note_unshared(self, call: Call) -> None:
        """Note that a judge's answers are in no cache: nobody need wait for them."""
        self._unshared.add(call.voter)

    @property
    def waits(self) -> bool:
        """Whether calls wait for other processes."""
        return bool(self._aside)

    @property
    def is_full(self) -> bool:
        """Whether no further items are to be read before those come."""
        return len(self._aside) >= MOST_ASIDE
