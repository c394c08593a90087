"""What a run has cost: noted in its journal, together with the answers that it was paid for.

Every process has its own entry, which is written in the transaction that commits its answers.
So the sum of all entries is what the answers cost, whichever command, shard or worker asked, and it
is moved, copied and started again with the journal.

Where there is a greatest cost, an entry also says how many dollars its process may have spent on
requests without an answer. A process writes that before it sends them: what it had in flight when
it was killed counts as paid, and the sum never exceeds the bound. A request counts for what is
known of its cost: its prompt, and the longest reply that it may get. Where replies may have any
length, each counts for as much as the dearest one of its model so far. One that ends without an
answer may be billed all the same: it still counts for that, though an estimate is shown.
"""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections.abc import Awaitable, Callable, Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal, NamedTuple

import orjson

from rubricate.rubric import NO_USAGE, Usage
from rubricate.run._progress import Progress
from rubricate.run.journal._accounts import (
    MOST_TIMES,
    Account,
    Accounts,
    Price,
    accounts_of,
)

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
"""Seconds between entries that say only that the process lives, after which it also gives back what
it may send ahead; and between two looks at whether others have given anything back."""

Answer = Literal["granted", "wait", "spent", "unknown"]


class Paid(NamedTuple):
    """An entry as it is kept; `usage` is JSON, and `written` the time.

    `may_have_sent` is the number of the row: the later one of two of a process has the greater. In
    earlier versions it was how many requests the process may have sent.
    """

    process: str
    usage: bytes
    may_have_sent: int
    written: float


UNKNOWN = Paid("earlier", b'{"cost":null}', 0, 0.0)
"""The entry of a journal that has answers and no entries: what they cost is not known."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one process has paid for a run.

    Attributes:
        usage: what it has paid for, as far as it was answered.
        unanswered: requests that it may have sent and that have no answer.
        held: US dollars that those may cost; None where only their number is known.
        requests: its requests to each model, where there is a greatest cost.
        judgements: its judgements by each judge, likewise.
        alive: whether it may still give back what it does not send.
        adopted: how many requests of killed processes it waits for, or has, and US dollars that
            those committed: a batch outlives the process that sent it.
    """

    usage: Usage
    unanswered: int = 0
    held: float | None = None
    requests: Mapping[str, Account] = field(default_factory=dict)
    judgements: Mapping[str, Account] = field(default_factory=dict)
    alive: bool = False
    adopted: tuple[int, float] = 0, 0.0


Decide = Callable[[Mapping[str, Entry]], None]
"""Given the other processes' entries; changes this one's, which is then written."""
Exchange = Callable[[Decide], Awaitable[None]]
"""Reads the others' entries and writes this process's, all in one transaction."""


class Ledger:
    """What this process has paid for a run, and what it may send within a greatest cost.

    What it may have spent in all, once that is written, is its allotment: what it has paid and what
    its requests in flight may cost stay within it, so that most requests need no question.

    Args:
        exchange: the journal's.

    Attributes:
        process: the name of this process's entry.
        requests: the requests to each model.
        judgements: the judgements by each judge.
        price: prices what others have paid whose cost is unknown, as without `--prices`.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.process = secrets.token_hex(8)
        self.price: Callable[[Usage], float | None] = lambda usage: None
        self._exchange = exchange
        self._ended = Usage()
        self._running: list[tuple[Progress, Callable[[], Usage]]] = []
        self._rows = 0
        self._is_bounded = False
        self._allotment = 0.0
        self._by_others: float | None = 0.0
        self._lost = self._held_by_others = 0.0
        self._others_alive = 0
        self._adopted = 0, 0.0
        # an exchange with a database decides in another thread
        self._lock = threading.RLock()
        self._asking = asyncio.Lock()
        self._turns: dict[str, asyncio.Lock] = {}
        self._news = asyncio.Event()
        self._asked, self._ahead = 0.0, AHEAD
        self._written: tuple[Usage, tuple[int, float | None]] | None = None
        self._at_last = Usage()  # what was paid by the last entry
        self._written_at = time.monotonic()

    @cached_property
    def requests(self) -> Accounts:
        return Accounts()

    @cached_property
    def judgements(self) -> Accounts:
        return Accounts()

    # What was paid

    def add(self, progress: Progress, in_flight: Callable[[], Usage] = lambda: NO_USAGE) -> None:
        """Count what an execution takes from now on.

        Args:
            progress: has it.
            in_flight: what its requests in flight are likely to take.
        """
        self._running.append((progress, in_flight))

    def end(self, progress: Progress) -> None:
        """Note that an execution takes nothing more."""
        self._running = [each for each in self._running if each[0] is not progress]
        self._ended += progress.usage
        if self._is_bounded:
            self._give_back()

    @property
    def usage(self) -> Usage:
        """What this process has paid for."""
        usage = self._ended
        for progress, _ in self._running:
            usage += progress.usage
        return usage

    @property
    def _paid(self) -> float | None:
        paid = self._ended.cost
        for progress, _ in self._running:
            cost = progress.usage.cost
            paid = None if paid is None or cost is None else paid + cost
        return paid

    def total(self, others: Collection[Entry]) -> Usage:
        """What the run took by all processes, with an estimate of what killed ones may have."""
        self._look(others)
        usage = Usage.total((self.usage, *(each.usage for each in others)))
        adopted = sum(each.adopted[0] for each in others) + self._adopted[0]
        lost = max(0, sum(each.unanswered for each in others if not each.alive) - adopted)
        if not lost and not self._lost:
            return usage
        cost = None if usage.cost is None else self._lost
        return usage + Usage(lost, cost=cost, estimated_cost=cost or 0.0)

    @property
    def _committed(self) -> float:
        """US dollars that this process has paid, or may have to."""
        return self._ended_cost + self.requests.held

    @property
    def _ended_cost(self) -> float:
        """US dollars that this process has paid, or may have to, without those in flight."""
        return (self._paid or 0.0) + self.requests.doubt

    @property
    def _doubt(self) -> float:
        """US dollars that unanswered requests of all processes may have cost beyond estimates."""
        return self.requests.doubt + sum(each.doubt for each in self.requests.others.values())

    @property
    def _gone(self) -> float:
        """US dollars that all processes have paid or may have paid, without those in flight."""
        return (self._paid or 0.0) + (self._by_others or 0.0) + self._lost + self._doubt

    def row(self) -> Paid:
        """The entry as it is to be written now."""
        with self._lock:
            usage = self.usage
            return self._row(usage, self._open(usage))

    def _row(self, usage: Usage, held: tuple[int, float | None]) -> Paid:
        content = usage.to_dict() | {"unanswered": held[0], "held": held[1]}
        if self._is_bounded:
            content["by_model"] = self.requests.to_dict()
            content["by_judge"] = self.judgements.to_dict()
        if self._adopted[0]:
            content["adopted"] = self._adopted
        self._rows += 1
        return Paid(self.process, orjson.dumps(content), self._rows, time.time())

    def _open(self, usage: Usage) -> tuple[int, float | None]:
        """The requests that it may have sent without an answer, and US dollars that they may cost.

        Without a greatest cost, nothing is written before it is sent. Then these are twice what is
        in flight, which may be answered and as much sent before the next entry, and, where answers
        are quick, as much as was answered since the last one.

        Args:
            usage: what it has paid for.
        """
        if self._is_bounded:
            ahead = self._allotment - (usage.cost or 0.0) - self.requests.doubt
            held = max(ahead, self.requests.held)
            return sum(each.open for each in self.requests.own.values()), held
        if not self._running:
            return 0, 0.0
        flying = Usage.total(in_flight() for _, in_flight in self._running)
        recent = usage - self._at_last
        more = flying + flying + recent
        return more.requests, more.cost

    def due_row(self) -> Paid | None:
        """The entry where it is not written as it is; None otherwise."""
        now = time.monotonic()
        is_old = now - self._written_at >= SIGN_OF_LIFE
        if self._is_bounded and now - self._asked >= SIGN_OF_LIFE:
            self._give_back()
        with self._lock:
            usage = self.usage
            state = usage, self._open(usage)
            if state == self._written and not (self._is_bounded and is_old):
                return None
            row = self._row(*state)
            self._written, self._written_at, self._at_last = state, now, usage
        return row

    def _give_back(self) -> None:
        """Give back what may be sent ahead."""
        with self._lock:
            self._allotment = min(self._allotment, self._committed)

    # What may be sent

    async def reserve(self, max_cost: float, price: Price) -> Answer:
        """Wait until one more request may be sent; whether it may.

        Call `settle` when it has its answer, or has failed.

        Args:
            max_cost: the greatest cost.
            price: the certain part of its cost.

        Raises:
            JournalError: the journal cannot be used.
        """
        account = self.requests.of(price.account, price.reply)
        if not price.is_sent and self._begun(account, price):
            return "granted"
        async with self._turns.setdefault(price.account, asyncio.Lock()):
            while price.is_sent or not self._begun(account, price):
                answer = await self._ask(max_cost, price, account)
                if answer != "wait":
                    return answer
        return "granted"

    def settle(self, price: Price, usage: Usage, *, is_answered: bool) -> None:
        """Note that a request is no longer in flight, and what it took."""
        account, cost = self.requests.own[price.account], usage.cost if is_answered else None
        if cost is not None and price.has_bound:
            cost = max(cost, price.known)
        with self._lock:
            if usage.estimated_cost and not is_answered:
                account.lose(price, usage.estimated_cost, self.requests.sum_of(price.account))
            account.end(cost, price)
        self.wake()

    def wake(self) -> None:
        """Have those that wait look again at what is left."""
        self._news.set()

    async def wait(self) -> None:
        """Wait until something has been answered, or others may have given something back."""
        self._news.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), AGAIN)

    async def check(self, max_cost: float, cost: float = 0.0) -> Answer:
        """Whether something of this cost fits, with nothing of this process in flight.

        Waits where it depends on what others have in flight.

        Raises:
            JournalError: the journal cannot be used.
        """
        while True:
            answer = await self._ask(max_cost, Price("", cost, has_bound=True))
            if answer != "wait":
                return answer

    def remaining(self, max_cost: float) -> float:
        """US dollars that this process may still pay, as of the last look at what others have."""
        return max_cost * ROUNDING - self._gone - self._held_by_others

    def _begun(self, account: Account, price: Price) -> bool:
        """Whether a request starts within what is allotted to this process."""
        with self._lock:
            known = self.requests.sum_of(price.account)
            if not price.has_bound and known.open >= known.ended:
                return False
            cost = max(0.0, price.known + known.dearest)
            if self._committed + cost > self._allotment * ROUNDING:
                return False
            account.begin(price)
            return True

    async def _ask(self, max_cost: float, price: Price, account: Account | None = None) -> Answer:
        """Ask for a request to start; without an account, whether one could be.

        Where it has to wait for others, it does so for a while.
        """
        answer: Answer = "wait"
        is_begun = False
        adopted = self._adopted

        def decide(others: Mapping[str, Entry]) -> None:
            nonlocal answer, is_begun
            with self._lock:
                if is_begun and account is not None:  # the database was lost on the way
                    account.end(None, price)
                    self._adopted = adopted
                self._look(others.values())
                adopts = price.is_sent and price.known <= self._lost * ROUNDING
                answer, ahead = ("granted", 0.0) if adopts else self._decided(max_cost, price)
                is_begun = answer == "granted" and account is not None
                if is_begun and account is not None:
                    account.begin(price)
                    if adopts:
                        self._adopted = adopted[0] + 1, adopted[1] + price.known
                        self._lost = max(0.0, self._lost - price.known)
                    # What is in flight may seem dearer after a pause of this process than a moment
                    # ago: no more is allotted than is left.
                    allotted = min(self.requests.held + ahead, self.remaining(max_cost))
                    self._allotment = self._ended_cost + allotted

        async with self._asking:
            adopted = self._adopted
            self._news.clear()
            self._is_bounded = True
            self._give_back()
            now = time.monotonic()
            often = now - self._asked < OFTEN
            self._ahead = min(MOST_AHEAD, 2 * self._ahead) if often else max(1, self._ahead // 2)
            self._asked = now
            await self._exchange(decide)
        if answer == "wait" and not self._news.is_set():
            await self.wait()
        return answer

    def _decided(self, max_cost: float, price: Price) -> tuple[Answer, float]:
        """Whether a request may be sent, and US dollars that may be spent ahead.

        It may where the bound leaves room for it beside all that is in flight. The last requests,
        for which that is not so, are sent one after the other.
        """
        if self._paid is None or self._by_others is None:
            return "unknown", 0.0
        known, gone = self.requests.sum_of(price.account), self._gone
        remaining = max_cost * ROUNDING - gone
        in_flight = self.requests.held + self._held_by_others
        least = price.known + known.average
        if least > remaining or gone * ROUNDING >= max_cost:
            return "spent", 0.0
        # The first request to a model, of whichever process, shows what its replies cost, and as
        # many as have been answered show how much they differ: this many are in flight at most.
        if not price.has_bound and known.open >= max(1, known.ended):
            return "wait", 0.0
        cost = max(0.0, price.known + known.dearest)
        is_first = not (known.ended or price.has_bound)
        if is_first and self.requests.has_first:
            most = MOST_TIMES * (in_flight + cost)  # none is likely to be so much dearer
            if not (price.known or price.reply) or most > remaining:
                return "wait", 0.0
        free = remaining - in_flight - cost
        if free < 0.0:
            return ("wait", 0.0) if in_flight > 0.0 else ("granted", 0.0)
        return "granted", min(self._ahead * cost, free / (SHARE * (self._others_alive + 1)))

    def _look(self, others: Collection[Entry]) -> None:
        """Note what others have paid, may have, and have in flight."""
        self.requests.look((each.requests, each.alive) for each in others)
        self.judgements.look((each.judgements, each.alive) for each in others)
        paid = Usage.total(each.usage for each in others)
        if paid.cost is None and (paid.input_tokens or paid.estimated_cost):
            cost = self.price(paid)
            paid = replace(paid, cost=None if cost is None else cost + paid.estimated_cost)
        self._by_others = paid.cost
        alive = [each for each in others if each.alive]
        everything = paid + self.usage
        average = (everything.cost or 0.0) / max(1, everything.requests)
        self._others_alive = len(alive)
        self._held_by_others = sum(self._cost_of(each, average) for each in alive)
        lost = sum(self._cost_of(each, average) for each in others if not each.alive)
        adopted = sum(each.adopted[1] for each in others) + self._adopted[1]
        self._lost = max(0.0, lost - adopted)

    def _cost_of(self, entry: Entry, average: float) -> float:
        """US dollars that a process may have spent on requests without an answer.

        By the costs of their models now, which may be more than it knew.
        """
        if entry.held is None:
            return entry.unanswered * average
        now = [a.held(self.requests.sum_of(n)) for n, a in entry.requests.items() if a.open]
        return max(entry.held, sum(now))

    def reached(self, max_cost: float) -> str:
        """That a greatest cost is reached, and what was spent by whom, in words."""
        by_others = self._by_others or 0.0
        spent = (self._paid or 0.0) + by_others + self._lost
        most = f"{max_cost:.9f}".rstrip("0").rstrip(".")
        reached = f"the greatest cost of ${most} is reached: the run has cost ${spent:.4f}"
        if self._lost:
            reached += f"; ${self._lost:.4f} of it may have been paid by killed processes"
        elif by_others:
            reached += f"; ${by_others:.4f} of it by other commands or processes"
        if self._doubt:
            reached += f"; requests without an answer may have cost ${self._doubt:.4f} more"
        return reached


def entry_of(row: Paid, now: float | None) -> Entry:
    """An entry that was kept; one that cannot be read has an unknown cost.

    Args:
        row: it.
        now: the time, by the clock of the process that wrote it; None where no other process
            can live.
    """
    _, content, may_have_sent, written = row
    alive = now is not None and abs(now - written) < ALIVE
    try:
        values = orjson.loads(content)
        held, unanswered = values.pop("held", None), values.pop("unanswered", None)
        requests, judgements = (
            accounts_of(values.pop(name, {})) for name in ("by_model", "by_judge")
        )
        adopted = tuple(values.pop("adopted", (0, 0.0)))
        usage = Usage(**values)
        if unanswered is None:  # written by an earlier version
            unanswered = max(0, may_have_sent - usage.requests)
        return Entry(usage, unanswered, held, requests, judgements, alive, adopted)
    except (ValueError, TypeError, AttributeError):
        return Entry(Usage(cost=None))
