"""The ledger: what a run has cost, stored in its journal together with the answers paid for.

Every process has its own entry, written in the transaction that commits its answers. So the sum of
all entries is the cost of the answers, whichever command, shard or worker asked, and it moves and
restarts with the journal.

With a maximum cost, an entry also says how many dollars its process may have spent on requests
without an answer. The process writes that before it sends them, so that whatever was in flight when
it was killed counts as paid, and the sum never exceeds the maximum. A request counts for the known
part of its cost: its prompt, and the longest reply that it may get. If replies may have any length,
each counts as much as the most expensive one of its model so far. A request that ends without an
answer may still be billed, so it keeps counting for that, although an estimate is shown.
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
from rubricate.views import dollars

ROUNDING = 1 + 1e-9
AHEAD, OFTEN = 4, 0.5
"""How many requests a process may send in advance at first; twice as many if it asks again within
0.5 s, half as many if it does not. Asking takes 0.1 ms with an SQLite file and some milliseconds
with a database. At half the seconds, a database is asked four times a second by each process; at
double, twice as much counts as paid that a killed process may not have sent."""
MOST_AHEAD = 1 << 20
SHARE = 32
"""A process may reserve in advance at most this part of the remaining budget: 1/32, or 3 %. At 16,
a killed process may leave 6 % of it unspent; at 64, the last dollars take twice as many
questions."""
ALIVE = 10.0
"""Seconds after its last entry for which a process counts as alive, and may return what it does not
send. It writes an entry at least every second, so a busy or swapped-out process is not written off;
at half, a slow disk could cause that; at double, others wait longer for a killed one."""
SIGN_OF_LIFE, AGAIN = 1.0, 0.2
"""Seconds between entries that merely show that the process is alive, and after which it returns
its advance; and seconds between checks whether others have returned anything."""

Answer = Literal["granted", "wait", "spent", "unknown"]


class Paid(NamedTuple):
    """An entry as stored; `usage` is JSON, and `written` the time.

    `may_have_sent` numbers the rows of a process in the order of writing. In earlier versions it
    was the number of requests that the process may have sent.
    """

    process: str
    usage: bytes
    may_have_sent: int
    written: float


UNKNOWN = Paid("earlier", b'{"cost":null}', 0, 0.0)
"""The entry of a journal with answers but no entries: their cost is unknown."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What one process has paid for a run.

    Attributes:
        usage: the usage of its answered requests.
        unanswered: requests that it may have sent and that have no answer.
        held: US dollars that those may cost; None if only their number is known.
        requests: its requests to each model, if there is a maximum cost.
        judgements: its judgements by each judge, likewise.
        alive: whether it is alive, and may return what it does not send.
        adopted: how many requests of killed processes it has taken over, and the US dollars that
            were committed for them. A batch outlives the process that sent it.
    """

    usage: Usage
    unanswered: int = 0
    held: float | None = None
    requests: Mapping[str, Account] = field(default_factory=dict)
    judgements: Mapping[str, Account] = field(default_factory=dict)
    alive: bool = False
    adopted: tuple[int, float] = 0, 0.0


Decide = Callable[[Mapping[str, Entry]], None]
"""Takes the entries of other processes and changes this one's, which is then written."""
Exchange = Callable[[Decide], Awaitable[None]]
"""Reads the entries of others and writes this process's, in one transaction."""


class Ledger:
    """What this process has paid for a run, and what it may still send within a maximum cost.

    Its allotment is the total that it has written down as possibly spent. As long as its payments
    and its requests in flight stay within it, it may send without asking, which covers most
    requests.

    Args:
        exchange: the journal's function to exchange entries.

    Attributes:
        process: the name of this process's entry.
        requests: the requests to each model.
        judgements: the judgements by each judge.
        price: prices usage of others whose cost is unknown, for example without `--prices`.
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
        # with a database, an exchange decides in another thread
        self._lock = threading.RLock()
        self._asking = asyncio.Lock()
        self._turns: dict[str, asyncio.Lock] = {}
        self._news = asyncio.Event()
        self._asked, self._ahead = 0.0, AHEAD
        self._written: tuple[Usage, tuple[int, float | None]] | None = None
        self._at_last = Usage()  # the usage in the last entry
        self._written_at = time.monotonic()

    @cached_property
    def requests(self) -> Accounts:
        return Accounts()

    @cached_property
    def judgements(self) -> Accounts:
        return Accounts()

    # What was paid

    def add(self, progress: Progress, in_flight: Callable[[], Usage] = lambda: NO_USAGE) -> None:
        """Start counting the usage of an execution.

        Args:
            progress: has its usage.
            in_flight: returns the estimated usage of its requests in flight.
        """
        self._running.append((progress, in_flight))

    def end(self, progress: Progress) -> None:
        """Note that an execution has ended."""
        self._running = [each for each in self._running if each[0] is not progress]
        self._ended += progress.usage
        if self._is_bounded:
            self._give_back()

    @property
    def usage(self) -> Usage:
        """The usage that this process has paid for."""
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
        """The usage of the run over all processes, with an estimate for killed ones."""
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
        """US dollars that this process has paid or may have to pay."""
        return self._ended_cost + self.requests.held

    @property
    def _ended_cost(self) -> float:
        """US dollars that this process has paid or may have to pay, without requests in flight."""
        return (self._paid or 0.0) + self.requests.doubt

    @property
    def _doubt(self) -> float:
        """US dollars that unanswered requests of all processes may have cost beyond estimates."""
        return self.requests.doubt + sum(each.doubt for each in self.requests.others.values())

    @property
    def _gone(self) -> float:
        """US dollars that all processes have or may have paid, without requests in flight."""
        return (self._paid or 0.0) + (self._by_others or 0.0) + self._lost + self._doubt

    def row(self) -> Paid:
        """The entry to write now."""
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
        """How many requests it may have sent without an answer, and the US dollars they may cost.

        Without a maximum cost, requests are sent before they are written down. Then the estimate is
        twice what is in flight (all of it may be answered and as much sent before the next entry),
        plus what was answered since the last entry, for quick answers.

        Args:
            usage: what the process has paid for.
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
        """The entry to write if it has changed or is due; None otherwise."""
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
        """Return the advance."""
        with self._lock:
            self._allotment = min(self._allotment, self._committed)

    # Reservations

    async def reserve(self, max_cost: float, price: Price) -> Answer:
        """Wait until one more request may be sent, or is refused.

        Call `settle` once it is answered or has failed.

        Args:
            max_cost: the maximum cost.
            price: the known part of its cost.

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
        """Record the usage of a request that is no longer in flight."""
        account, cost = self.requests.own[price.account], usage.cost if is_answered else None
        if cost is not None and price.has_bound:
            cost = max(cost, price.known)
        with self._lock:
            if usage.estimated_cost and not is_answered:
                account.lose(price, usage.estimated_cost, self.requests.sum_of(price.account))
            account.end(cost, price)
        self.wake()

    def wake(self) -> None:
        """Let those that wait check again what is left."""
        self._news.set()

    async def wait(self) -> None:
        """Wait until something was answered, or others may have returned something."""
        self._news.clear()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._news.wait(), AGAIN)

    async def check(self, max_cost: float, cost: float = 0.0) -> Answer:
        """Whether the budget covers this cost, with nothing of this process in flight.

        Waits if that depends on what others have in flight.

        Raises:
            JournalError: the journal cannot be used.
        """
        while True:
            answer = await self._ask(max_cost, Price("", cost, has_bound=True))
            if answer != "wait":
                return answer

    def remaining(self, max_cost: float) -> float:
        """US dollars that this process may still spend, by the last entries of the others."""
        return max_cost * ROUNDING - self._gone - self._held_by_others

    def _begun(self, account: Account, price: Price) -> bool:
        """Start a request if the allotment of this process covers it. Returns whether it does."""
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
        """Ask for a new allotment that covers a request. With an account, start the request.

        If it depends on others, wait for a while.
        """
        answer: Answer = "wait"
        is_begun = False
        adopted = self._adopted

        def decide(others: Mapping[str, Entry]) -> None:
            nonlocal answer, is_begun
            with self._lock:
                if is_begun and account is not None:  # the database was lost in between
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
                    # After a pause of this process, what is in flight may seem more expensive than
                    # a moment ago, so never allot more than is left.
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
        """Whether a request may be sent, and how many US dollars to reserve in advance.

        It may if the maximum leaves room for it beside everything in flight. The last requests, for
        which it does not, are sent one after the other.
        """
        if self._paid is None or self._by_others is None:
            return "unknown", 0.0
        known, gone = self.requests.sum_of(price.account), self._gone
        remaining = max_cost * ROUNDING - gone
        in_flight = self.requests.held + self._held_by_others
        least = price.known + known.average
        if least > remaining or gone * ROUNDING >= max_cost:
            return "spent", 0.0
        # The first request to a model, by any process, shows what replies cost, and further ones
        # show how much they vary: at most as many are in flight as have been answered.
        if not price.has_bound and known.open >= max(1, known.ended):
            return "wait", 0.0
        cost = max(0.0, price.known + known.dearest)
        is_first = not (known.ended or price.has_bound)
        if is_first and self.requests.has_first:
            most = MOST_TIMES * (in_flight + cost)  # none is likely to cost that much more
            if not (price.known or price.reply) or most > remaining:
                return "wait", 0.0
        free = remaining - in_flight - cost
        if free < 0.0:
            return ("wait", 0.0) if in_flight > 0.0 else ("granted", 0.0)
        return "granted", min(self._ahead * cost, free / (SHARE * (self._others_alive + 1)))

    def _look(self, others: Collection[Entry]) -> None:
        """Update what others have paid, may have paid, and have in flight."""
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
        """US dollars that a process may have spent on unanswered requests.

        It uses the present costs of their models, which may be higher than the process knew.
        """
        if entry.held is None:
            return entry.unanswered * average
        now = [a.held(self.requests.sum_of(n)) for n, a in entry.requests.items() if a.open]
        return max(entry.held, sum(now))

    def reached(self, max_cost: float) -> str:
        """A sentence that says that the maximum cost is reached, and who spent what."""
        by_others = self._by_others or 0.0
        spent = (self._paid or 0.0) + by_others + self._lost
        most = f"{max_cost:.9f}".rstrip("0").rstrip(".")
        reached = f"the maximum cost of ${most} is reached: the run has cost {dollars(spent)}"
        if self._lost:
            reached += f"; {dollars(self._lost)} of it may have been paid by killed processes"
        elif by_others:
            reached += f"; {dollars(by_others)} of it by other commands or processes"
        if self._doubt:
            reached += f"; requests without an answer may have cost {dollars(self._doubt)} more"
        return reached


def entry_of(row: Paid, now: float | None) -> Entry:
    """A stored entry. If it cannot be read, its cost is unknown.

    Args:
        row: the entry as stored.
        now: the present time by the clock that `written` uses; None if no other process can be
            alive.
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
