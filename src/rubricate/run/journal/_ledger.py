"""What a run has cost: noted in its journal, together with the answers that it was paid for.

Every process has an entry of its own, which is written in the transaction that commits its answers.
So the sum of all entries is what the answers cost, whichever command, shard or worker asked, and it
is moved, copied and begun anew with the journal.

Where there is a greatest cost, an entry also says how many requests its process may have sent.
Those that are not answered count at the average price. A process writes that number before it sends
them: what it had in flight when it was killed counts as paid, and the sum never exceeds the bound.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import orjson

from rubricate.rubric import Usage
from rubricate.run._progress import Progress

__all__ = ["Decide", "Entry", "Ledger", "Row", "earlier_row", "entry_of"]

EARLIER = "earlier"
"""The entry of what was paid before journals had entries: the sum of their answers' costs."""
SHARED_REQUEST = "request-"
"""What keys of requests begin with whose usage is that of a judgement, too (`run/_kept.py`)."""
ROUNDING = 1 + 1e-9
AHEAD, OFTEN = 4, 0.5
"""How many requests a process may send ahead at first; twice as many where it asks again within so
many seconds, half as many where it does not. Asking takes 0.1 ms of an SQLite file and some
milliseconds of a database. At half the seconds a database is asked four times a second and process;
at double, twice as much is counted as paid that a killed process may not have sent."""
MOST_AHEAD = 1 << 20
SHARE = 32
"""The part of what is left that a process may send ahead at most: 3 %. At 16, a killed process may
leave 6 % of what is left unspent; at 64, the last dollars take twice as many questions."""
ALIVE = 10.0
"""Seconds since it wrote its entry for which a process may still give back what it does not send.
It writes one at least every second, so that one which is busy or swapped out is not given up; at
half, a slow disk could do that, and at double others wait longer for a killed one."""
SIGN_OF_LIFE, AGAIN = 1.0, 0.2
"""Seconds between entries that say only that the process lives, and between two looks at whether
others have given anything back."""

Answer = Literal["granted", "wait", "spent", "unknown"]


class Row(NamedTuple):
    """An entry as it is kept; `usage` is JSON, and `written` the time."""

    process: str
    usage: bytes
    may_have_sent: int
    written: float


@dataclass(frozen=True, slots=True)
class Entry:
    """What one process has paid for a run.

    Attributes:
        usage: what it has paid for, as far as it was answered.
        may_have_sent: requests that it may have sent in all; more than those of `usage` where
            some are in flight or were when it was killed.
        alive: whether it may still give back what it does not send.
    """

    usage: Usage
    may_have_sent: int = 0
    alive: bool = False

    @property
    def unanswered(self) -> int:
        """Requests that it may have sent and that have no answer."""
        return max(0, self.may_have_sent - self.usage.requests)


Decide = Callable[[Mapping[str, Entry]], None]
"""Given the other processes' entries; changes this one's, which is then written."""
Exchange = Callable[[Decide], Awaitable[None]]
"""Reads the others' entries and writes this process's, all in one transaction."""


class Ledger:
    """What this process has paid for a run, and what it may send within a greatest cost.

    Args:
        exchange: the journal's.

    Attributes:
        process: the name of this process's entry.
        by_others: US dollars that all others have paid, as of the last exchange.
        price: prices what others have paid whose cost is unknown, as without `--prices`.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.process = secrets.token_hex(8)
        self.by_others = 0.0
        self.price: Callable[[Usage], float | None] = lambda usage: None
        self._exchange = exchange
        self._ended = Usage()
        self._running: list[Progress] = []
        self._may_have_sent = 0
        self._in_flight = self._granted = 0  # requests; the latter may be sent without asking
        self._claims = False  # whether requests are claimed before they are sent
        self._asking = asyncio.Lock()
        self._news = asyncio.Event()
        self._asked, self._ahead = 0.0, AHEAD
        self._dearest = self._lost = 0.0  # US dollars: of one request, and by killed processes
        self._written: tuple[Usage, int] = Usage(), 0
        self._written_at = time.monotonic()

    # What was paid

    def add(self, progress: Progress) -> None:
        """Count what an execution takes from now on."""
        self._running.append(progress)

    def end(self, progress: Progress) -> None:
        """Note that an execution takes nothing more."""
        self._running = [one for one in self._running if one is not progress]
        self._ended += progress.usage

    @property
    def usage(self) -> Usage:
        """What this process has paid for."""
        usage = self._ended
        for progress in self._running:
            usage += progress.usage
        return usage

    @property
    def _unanswered(self) -> int:
        """Requests that may be sent without an answer; without claims, judgements in flight."""
        if self._claims:
            return self._in_flight + self._granted
        return sum(one.in_flight for one in self._running)

    def total(self, others: Collection[Entry]) -> Usage:
        """What the run took by all processes, with an estimate of what killed ones may have."""
        usage = Usage.total((self.usage, *(one.usage for one in others)))
        lost = sum(one.unanswered for one in others if not one.alive)
        if not lost:
            return usage
        cost = None
        if usage.cost is not None and usage.requests:
            cost = lost * usage.cost / usage.requests
        return usage + Usage(lost, cost=cost, estimated_cost=cost or 0.0)

    def row(self) -> Row:
        """The entry as it is to be written now."""
        usage = orjson.dumps(self.usage.to_dict())
        return Row(self.process, usage, self._may_have_sent, time.time())

    def due_row(self) -> Row | None:
        """The entry where it is not written as it is; None otherwise."""
        usage = self.usage
        if not self._claims:
            # Before the next entry, those in flight may be answered and as many sent, and, where
            # answers are quick, as many more as were answered since the last one.
            recent = usage.requests - self._written[0].requests if self._running else 0
            self._may_have_sent = usage.requests + 2 * self._unanswered + recent
        now, state = time.monotonic(), (usage, self._may_have_sent)
        is_old = self._may_have_sent and now - self._written_at >= SIGN_OF_LIFE
        if state == self._written and not (is_old and self._claims):
            return None
        self._written, self._written_at = state, now
        return self.row()

    # What may be sent

    async def claim(self, max_cost: float, price: float = 0.0) -> str | None:
        """Wait until one more request may be sent; why it may not, in words, or None.

        Call `answered` when it has its answer, or has failed.

        Args:
            max_cost: the greatest cost.
            price: US dollars that the request costs at most; 0 where that is not known.

        Raises:
            JournalError: the journal cannot be used.
        """
        self._may_cost(price)
        if not self._granted:
            async with self._asking:
                while not self._granted:
                    self._news.clear()
                    answer = await self._ask(max_cost)
                    if answer == "wait":
                        with suppress(TimeoutError):
                            await asyncio.wait_for(self._news.wait(), AGAIN)
                    elif answer != "granted":
                        return self._why(max_cost, answer)
        self._granted -= 1
        self._in_flight += 1
        return None

    def answered(self, cost: float | None) -> None:
        """Note that a claimed request is no longer in flight, and what it has cost."""
        self._in_flight -= 1
        self._may_cost(cost or 0.0)
        self._news.set()

    def _may_cost(self, price: float) -> None:
        """Note that a request may be as dear; what was granted for cheaper ones is asked anew."""
        if price > self._dearest:
            self._dearest, self._granted = price, 0

    async def check(self, max_cost: float) -> str | None:
        """Look at what others have paid; why nothing may be sent, in words, or None.

        Raises:
            JournalError: the journal cannot be used.
        """
        if self._granted:
            return None
        async with self._asking:
            answer = await self._ask(max_cost)
        return self._why(max_cost, answer) if answer == "spent" else None

    async def give_back(self) -> None:
        """Give back what was granted and is not sent."""
        async with self._asking:
            self._granted = 0
            if self._may_have_sent != self.usage.requests + self._unanswered:
                await self._exchange(lambda others: self._note())

    def _why(self, max_cost: float, answer: Answer) -> str:
        if answer == "unknown":
            return (
                "the greatest cost cannot be kept, because what this run has paid so far is not "
                "known; give --prices, or begin anew with --fresh"
            )
        return self.reached(max_cost)

    def reached(self, max_cost: float) -> str:
        """That a greatest cost is reached, and by whom, in words."""
        reached = f"the greatest cost of ${max_cost:g} is reached"
        if self._lost:
            reached += f"; ${self._lost:.2f} of it may have been paid by killed processes"
        elif self.by_others:
            reached += f"; ${self.by_others:.2f} of it by other commands or processes"
        return reached

    async def _ask(self, max_cost: float) -> Answer:
        self._claims = True
        now, ahead = time.monotonic(), self._ahead
        often = now - self._asked < OFTEN
        self._ahead = min(MOST_AHEAD, 2 * ahead) if often else max(1, ahead // 2)
        self._asked = now
        answer: Answer = "wait"

        def decide(others: Mapping[str, Entry]) -> None:
            nonlocal answer
            answer, self._granted = self._decided(others.values(), max_cost, ahead)
            self._note()

        await self._exchange(decide)
        return answer

    def _note(self) -> None:
        self._may_have_sent = self.usage.requests + self._unanswered

    def _decided(
        self, others: Collection[Entry], max_cost: float, ahead: int
    ) -> tuple[Answer, int]:
        """Whether a request may be sent, and how many may be without asking again.

        It may where the bound leaves room for it beside all that is in flight, each as dear as the
        dearest so far. The last requests, for which that is not so, are sent one after the other.
        """
        by_others = Usage.total(one.usage for one in others)
        if by_others.cost is None and (by_others.input_tokens or by_others.estimated_cost):
            cost = self.price(by_others)
            known = None if cost is None else cost + by_others.estimated_cost
            by_others = replace(by_others, cost=known)
        paid = by_others + self.usage
        if paid.cost is None or by_others.cost is None:
            return "unknown", 0
        in_flight = self._in_flight + sum(one.unanswered for one in others if one.alive)
        lost = sum(one.unanswered for one in others if not one.alive)
        self.by_others = by_others.cost
        # One request, of whichever process, shows what a request costs, and as many as have been
        # answered show how much costs differ: so they are in flight at most.
        most = max(1, paid.requests) - in_flight
        if most < 1:
            return "wait", 0
        if not paid.requests:
            return "granted", 1
        average = paid.cost / paid.requests
        self._lost = lost * average
        price, left = max(average, self._dearest), max_cost * ROUNDING - paid.cost - self._lost
        if left < average or left <= 0.0:
            return "spent", 0
        free = left - (in_flight + 1) * price
        if free < 0.0:
            return ("wait", 0) if in_flight else ("granted", 1)
        share = SHARE * (len(others) + 1)
        more = min(ahead, int(free / price / share)) if price else ahead
        return "granted", min(1 + more, most)


def entry_of(row: Row, now: float | None) -> Entry:
    """An entry that was kept; one that cannot be read has an unknown cost.

    Args:
        row: it.
        now: the time, by the clock of whoever wrote it; None where no other process can live.
    """
    _, content, may_have_sent, written = row
    alive = now is not None and abs(now - written) < ALIVE
    try:
        return Entry(Usage(**orjson.loads(content)), may_have_sent, alive)
    except (ValueError, TypeError):
        return Entry(Usage(cost=None))


def earlier_row(records: Iterable[tuple[str, dict[str, Any] | None]]) -> Row:
    """The entry of what the answers of a journal without entries cost.

    Answers that came from a cache cannot be told from others, and count: rather too much than too
    little.

    Args:
        records: by their keys; None for damaged ones.
    """
    usage = Usage.total(
        Usage(**record.get("usage", {}))
        for key, record in records
        if record is not None and not key.startswith(SHARED_REQUEST)
    )
    return Row(EARLIER, orjson.dumps(usage.to_dict()), usage.requests, time.time())
