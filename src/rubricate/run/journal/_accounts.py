"""What requests cost by model and judgements by judge, and what further ones may cost."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

MOST_TIMES = 50
"""Upper limit, as a multiple of the average, for the assumed cost of a request that takes ever
longer. Replies of one model rarely vary by more; at 100, a request that hangs blocks twice as much
money."""
IN_ALL = 2.0
"""Estimated total time of a reply in flight, as a multiple of the time so far: on average it is
half done. At 1, the estimate for a killed process with long replies in flight is a quarter below
its bill; at 3, the estimate for one with usual replies is half above it."""


class Price(NamedTuple):
    """The part of a request's cost that is known before it is sent, in US dollars.

    Attributes:
        account: the name of its account, one for each model.
        known: the cost of its prompt, plus that of the longest reply if its length is limited.
        reply: the cost of a reply of usual length, used for the first request to a model.
        has_bound: whether it cannot cost more than `known`.
        is_sent: whether an earlier process may have sent it already, so that its cost is committed.
    """

    account: str
    known: float = 0.0
    reply: float = 0.0
    has_bound: bool = False
    is_sent: bool = False


@dataclass(slots=True)
class Account:
    """The requests to one model, or the judgements of one judge.

    Attributes:
        ended: how many have ended with a known cost.
        cost: US dollars that those cost beyond what was known beforehand.
        dearest: the highest such cost of one of them; before the first has ended, an assumption.
        paid: US dollars that those cost in total.
        seconds: their total duration; 0 for judgements.
        open: how many are in flight.
        known: the known US dollars of those in flight; for judgements, what they have cost so far,
            as a negative number.
        doubt: US dollars that unanswered requests may have cost beyond their estimate.
        since: when those in flight started, oldest first (monotonic clock).
    """

    ended: int = 0
    cost: float = 0.0
    dearest: float = 0.0
    paid: float = 0.0
    seconds: float = 0.0
    open: int = 0
    known: float = 0.0
    doubt: float = 0.0
    since: dict[int, float] = field(default_factory=dict)

    @property
    def average(self) -> float:
        """Average cost in US dollars beyond the known part; 0 before the first has
        ended."""
        return self.cost / self.ended if self.ended else 0.0

    def to_list(self) -> list[float]:
        """The account as JSON values."""
        fixed = [self.ended, self.cost, self.dearest, self.paid, self.seconds]
        return [*fixed, self.open, self.known, self.doubt]

    def begin(self, price: Price | None = None) -> None:
        """Add one in flight. Requests have a price, judgements do not."""
        self.open += 1
        if price is not None:
            self.known += price.known
            self.since[id(price)] = time.monotonic()

    def end(self, cost: float | None, price: Price | None = None) -> None:
        """Record the end of one.

        Args:
            cost: its total cost in US dollars; None if unknown.
            price: the price that it began with.
        """
        known, since = 0.0, None
        if price is not None:
            known, since = price.known, self.since.pop(id(price))
        self.open -= 1
        self.known = self.known - known if self.open else 0.0
        if cost is None:
            return
        if since is not None:
            self.seconds += time.monotonic() - since
        self.dearest = max(self.dearest, cost - known) if self.ended else cost - known
        self.cost += cost - known
        self.paid += cost
        self.ended += 1

    def held(self, of_all: Account) -> float:
        """US dollars to reserve for those in flight: for each, the highest cost so far.

        Long replies take long, so they are still in flight when all short ones have been answered.
        A request that takes longer than others therefore counts for proportionally more.

        Args:
            of_all: the account of all processes together.
        """
        held = max(0.0, self.known + self.open * of_all.dearest)
        if held and of_all.seconds:
            each = held / self.open
            for since in self.since.values():
                if (cost := of_all.by_time(since)) <= each:
                    break
                held += cost - each
        return held

    def by_time(self, since: float) -> float:
        """The cost in US dollars of one unanswered since `since`, from the durations of others."""
        if not self.seconds:
            return 0.0
        waited = (time.monotonic() - since) * self.ended / self.seconds
        return min(MOST_TIMES, IN_ALL * waited) * self.paid / self.ended

    def lose(self, price: Price, estimate: float, of_all: Account) -> None:
        """Record what an unanswered request may have cost beyond its estimate."""
        most = price.known + of_all.dearest
        if not price.has_bound:
            most = max(most, of_all.by_time(self.since[id(price)]))
        self.doubt += max(0.0, most - estimate)


class Accounts:
    """The accounts of this process by name, and the sums of all other processes.

    Attributes:
        own: this process's accounts.
        others: the sums over all other processes, as last read.
    """

    def __init__(self) -> None:
        self.own: dict[str, Account] = {}
        self.others: dict[str, Account] = {}

    def of(self, name: str, guess: float = 0.0) -> Account:
        """This process's account of a name. Until the first has ended, `guess` is its assumed
        cost."""
        account = self.own.get(name)
        if account is None:
            account = self.own[name] = Account(dearest=guess)
        return account

    def sum_of(self, name: str) -> Account:
        """An account, summed over all processes.

        Until the first has ended, the cost of one is assumed to be the highest of all other names,
        unless there is a guess.
        """
        total = _sum(
            [each for each in (self.own.get(name), self.others.get(name)) if each is not None]
        )
        if not (total.ended or total.dearest):
            known = [each for each in (*self.own.values(), *self.others.values()) if each.ended]
            total.dearest = max(
                (max(each.dearest, each.paid / each.ended) for each in known), default=0.0
            )
        return total

    @property
    def has_first(self) -> bool:
        """Whether the first request of any name is in flight, whose cost is not known yet."""
        return any(
            total.open and not total.ended for total in map(self.sum_of, {*self.own, *self.others})
        )

    @property
    def held(self) -> float:
        """US dollars reserved for what this process has in flight."""
        return sum(
            account.held(self.sum_of(name)) for name, account in self.own.items() if account.open
        )

    @property
    def doubt(self) -> float:
        """US dollars that unanswered requests of this process may have cost beyond the estimate."""
        return sum(account.doubt for account in self.own.values())

    def to_dict(self) -> dict[str, list[float]]:
        """This process's accounts as JSON values."""
        return {name: account.to_list() for name, account in self.own.items()}

    def look(self, entries: Iterable[tuple[Mapping[str, Account], bool]]) -> None:
        """Update the sums of the other processes. Dead processes have nothing in flight.

        Args:
            entries: for each process, its accounts and whether it is alive.
        """
        accounts_by_name: dict[str, list[Account]] = {}
        for accounts, is_alive in entries:
            for name, each in accounts.items():
                account = each if is_alive else replace(each, open=0, known=0.0)
                accounts_by_name.setdefault(name, []).append(account)
        self.others = {name: _sum(accounts) for name, accounts in accounts_by_name.items()}


def accounts_of(content: Mapping[str, Any]) -> dict[str, Account]:
    """Accounts from their JSON values."""
    return {name: Account(*values) for name, values in content.items()}


def _sum(accounts: list[Account]) -> Account:
    if len(accounts) < 2:
        return replace(accounts[0], since={}) if accounts else Account()
    total = Account(*map(sum, zip(*map(Account.to_list, accounts), strict=True)))  # type: ignore[arg-type]
    answered = [account.dearest for account in accounts if account.ended]
    total.dearest = max(answered or [account.dearest for account in accounts])
    return total
