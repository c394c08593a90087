"""What requests and judgements have cost, by model and by judge, and what further ones may."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

MOST_TIMES = 50
"""By how many times the average one that takes ever longer is counted at most. Replies of one model
rarely vary by more; at 100, one that hangs keeps others waiting for twice as much money."""
IN_ALL = 2.0
"""By how much more than it has taken a reply in flight is likely to take in all: nobody knows how
far it is, and on average it is half done. At 1, a killed process whose long replies were in flight
is counted as a quarter less than it was billed; at 3, one with usual replies as half more."""


class Price(NamedTuple):
    """The part of a request's cost that is certain before it is sent, in US dollars.

    Attributes:
        account: the name of its account, one for each model.
        known: the cost of its prompt, with that of the longest reply if that has a bound.
        reply: the cost of a reply of usual length, for the first request to a model.
        has_bound: whether it cannot cost more than `known`.
        is_sent: whether an earlier process may have sent it, so that its cost is committed already.
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
        ended: how many have ended and have a cost.
        cost: US dollars that those have cost, beyond what was known beforehand.
        dearest: the most that one of them has; while none has ended, what one is taken for.
        paid: US dollars that those have cost in all.
        seconds: how long those took, together; 0 for judgements.
        open: how many are in flight.
        known: US dollars that are known of those in flight; of judgements in flight, what they
            have cost so far, below 0.
        doubt: US dollars that requests without an answer may have cost beyond their estimate.
        since: when those in flight started, the oldest first (monotonic clock).
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
        """US dollars that one costs on average, beyond what is certain; 0 while none has ended."""
        return self.cost / self.ended if self.ended else 0.0

    def to_list(self) -> list[float]:
        """It as JSON values."""
        fixed = [self.ended, self.cost, self.dearest, self.paid, self.seconds]
        return [*fixed, self.open, self.known, self.doubt]

    def begin(self, price: Price | None = None) -> None:
        """Count one that is in flight from now on; a price is that of a request."""
        self.open += 1
        if price is not None:
            self.known += price.known
            self.since[id(price)] = time.monotonic()

    def end(self, cost: float | None, price: Price | None = None) -> None:
        """Count one that has ended.

        Args:
            cost: US dollars that it cost in all; None where that is not known.
            price: what it started with.
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
        """US dollars that those in flight may cost, each as much as the dearest so far.

        Long replies take long, so that the first of them are in flight when all short ones have
        been answered: one that takes longer than others counts for more in proportion.

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
        """US dollars that one costs which started then and has no answer, by what others took."""
        if not self.seconds:
            return 0.0
        waited = (time.monotonic() - since) * self.ended / self.seconds
        return min(MOST_TIMES, IN_ALL * waited) * self.paid / self.ended

    def lose(self, price: Price, estimate: float, of_all: Account) -> None:
        """Keep what one may have cost beyond its estimate that ends without an answer."""
        most = price.known + of_all.dearest
        if not price.has_bound:
            most = max(most, of_all.by_time(self.since[id(price)]))
        self.doubt += max(0.0, most - estimate)


class Accounts:
    """The accounts of this process by their names, beside those of all others.

    Attributes:
        own: this process's.
        others: the sums of all others', as of the last look at them.
    """

    def __init__(self) -> None:
        self.own: dict[str, Account] = {}
        self.others: dict[str, Account] = {}

    def of(self, name: str, guess: float = 0.0) -> Account:
        """This process's account of a name; `guess` is what one is taken for while none ended."""
        account = self.own.get(name)
        if account is None:
            account = self.own[name] = Account(dearest=guess)
        return account

    def sum_of(self, name: str) -> Account:
        """An account of all processes together.

        While none has ended and nothing is known of what one costs, it is taken for as dear as the
        dearest of the other names.
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
        """Whether the first one of some name is in flight, which shows what it costs."""
        return any(
            total.open and not total.ended for total in map(self.sum_of, {*self.own, *self.others})
        )

    @property
    def held(self) -> float:
        """US dollars that what this process has in flight may cost."""
        return sum(
            account.held(self.sum_of(name)) for name, account in self.own.items() if account.open
        )

    @property
    def doubt(self) -> float:
        """US dollars that this process's unanswered requests may have cost beyond estimates."""
        return sum(account.doubt for account in self.own.values())

    def to_dict(self) -> dict[str, list[float]]:
        """This process's accounts as JSON values."""
        return {name: account.to_list() for name, account in self.own.items()}

    def look(self, entries: Iterable[tuple[Mapping[str, Account], bool]]) -> None:
        """Note what others have; of those that do not live any more nothing is in flight.

        Args:
            entries: the accounts of each, and whether it lives.
        """
        accounts_by_name: dict[str, list[Account]] = {}
        for accounts, is_alive in entries:
            for name, each in accounts.items():
                account = each if is_alive else replace(each, open=0, known=0.0)
                accounts_by_name.setdefault(name, []).append(account)
        self.others = {name: _sum(accounts) for name, accounts in accounts_by_name.items()}


def accounts_of(content: Mapping[str, Any]) -> dict[str, Account]:
    """Accounts that were kept as JSON values."""
    return {name: Account(*values) for name, values in content.items()}


def _sum(accounts: list[Account]) -> Account:
    if len(accounts) < 2:
        return replace(accounts[0], since={}) if accounts else Account()
    total = Account(*map(sum, zip(*map(Account.to_list, accounts), strict=True)))  # type: ignore[arg-type]
    answered = [account.dearest for account in accounts if account.ended]
    total.dearest = max(answered or [account.dearest for account in accounts])
    return total
