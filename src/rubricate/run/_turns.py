"""Calls whose answers other processes may be asking for, where they share a cache."""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import islice

from rubricate.run._calls import Call, JudgedItem
from rubricate.run.journal import LOOK_AGAIN, Answers
from rubricate.run.sending import SingleFlight

Pending = tuple[JudgedItem, Call | None]
QUICK, MOST_AHEAD = 0.1, 64
"""Calls are claimed several at once where they are begun within so many seconds: twice as many as
before, at most that many, else half as many. A claim takes 0.1 ms of an SQLite file and 1 ms of a
database, whatever it is of, so that this is 1 % at most. At double the seconds, other processes
wait longer for what is claimed here and not yet asked for."""
MOST_ASIDE = 512
"""Calls that wait for other processes before no further items are read. At half, three processes
that share all answers can run out of other calls; at double, twice as many items are in memory."""


class Turns:
    """Claims calls before they are made, and sets those aside that another process is making.

    Args:
        answers: what is known, and where claims are made.
        flights: the calls of this process.
    """

    def __init__(self, answers: Answers, flights: SingleFlight) -> None:
        self._answers = answers
        self._flights = flights
        self._aside: list[tuple[JudgedItem, Call]] = []
        self._looked = time.monotonic()
        self._looked_up: set[str] = set()  # keys with a record, which may be damaged
        self._unshared: set[int] = set()  # voters whose answers no cache has

    def ahead(self, calls: Iterator[Pending]) -> Iterator[Pending]:
        """The same calls, claimed several at once where they are quick."""
        window, before = 1, 0.0
        while batch := list(islice(calls, window)):
            groups = [call.keys for _, call in batch if call is not None and self._shares(call)]
            if groups:
                self._answers.take(groups)
            now = time.monotonic()
            window = min(MOST_AHEAD, 2 * window) if now - before < QUICK else max(1, window // 2)
            before = now
            yield from batch

    def is_mine(self, item: JudgedItem, call: Call) -> bool | None:
        """Whether a call that has begun is to be made by this process.

        It is not where there is an answer by now; None where it is set aside, because another
        process is making it.
        """
        keys = call.keys
        turn = self._answers.turn(keys) if self._shares(call) else "mine"
        if turn == "mine" or (turn == "answered" and not self._looked_up.isdisjoint(keys)):
            return True
        self._flights.end(keys)
        if turn == "theirs":
            self._flights.plan(keys)
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

    def come(self) -> list[tuple[JudgedItem, Call]]:
        """The calls that have waited long enough: they are answered, or are to be made here."""
        now = time.monotonic()
        if not self._aside or now - self._looked < LOOK_AGAIN:
            return []
        self._looked = now
        self._answers.take([call.keys for _, call in self._aside])
        waiting, self._aside = self._aside, []
        come: list[tuple[JudgedItem, Call]] = []
        for one in waiting:
            is_theirs = self._answers.turn(one[1].keys) == "theirs"
            (self._aside if is_theirs else come).append(one)
        return come
