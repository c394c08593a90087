"""What the processes of one run spend together, against its greatest cost.

A process may spend what it has been granted. All grants, and what was spent by processes that have
ended, are never more than the greatest cost. What a killed process was granted counts as spent.
"""

from __future__ import annotations

import math
import secrets
import threading
from contextlib import suppress
from pathlib import Path
from typing import Literal

import orjson

from rubricate.run.journal import Place
from rubricate.run.sending._stores import (
    PostgresStore,
    SQLiteStore,
    Store,
    StoreError,
    StoreLost,
    change,
)

__all__ = ["Account", "Part", "account_of", "forget_account"]

ROUNDING = 1 + 1e-9
FILE = "spending.sqlite"
Answer = Literal["granted", "wait", "spent"]


class Account:
    """The money of one run, which its processes spend together.

    Args:
        store: where it is kept; closed with the account.
        run: the run's name there.
    """

    def __init__(self, store: Store, run: str) -> None:
        self.name = f"spending {run}"
        self.store = store
        self.lock = threading.Lock()

    def part(self, max_cost: float) -> Part:
        """What one process is granted of it."""
        return Part(self, max_cost)

    def close(self) -> None:
        """Let go of the store."""
        with self.lock:
            self.store.close()


class Part:
    """What one process is granted of what a run may spend.

    Attributes:
        granted: US dollars that it may spend; less than 0 until it has asked.
    """

    def __init__(self, account: Account, max_cost: float) -> None:
        self.granted = -1.0
        self._account = account
        self._most = max_cost
        self._me = secrets.token_hex(8)

    def ask(self, spent: float, on_way: float, more: float, ahead: float = 0.0) -> Answer:
        """Ask for more.

        Args:
            spent: US dollars that it has spent.
            on_way: what is in flight, and may cost as much.
            more: what is to be sent next.
            ahead: how much beyond that it would like, so as not to ask again at once.

        Returns:
            `granted`; `wait` where others may give back what they were granted and do not spend;
            `spent` where it is all spent.

        Raises:
            StoreError: the store cannot be used.
        """

        def asked(value: bytes | None, now: float) -> tuple[bytes, tuple[Answer, float]]:
            gone, members = _read(value)
            members.pop(self._me, None)
            free = self._most - gone - sum(max(pair) for pair in members.values())
            left = self._most - gone - sum(spent for spent, _ in members.values())
            answer: Answer = "granted"
            needs = spent + on_way + more
            granted = needs + max(0.0, min(ahead, (free - needs) / (2 * (len(members) + 1))))
            if needs > free * ROUNDING or free <= 0.0:
                answer = "spent" if needs > left * ROUNDING or left <= 0.0 else "wait"
                granted = spent + on_way
            members[self._me] = spent, granted
            return _written(gone, members), (answer, granted)

        with self._account.lock:
            answer, granted = change(self._account.store, self._account.name, asked)
        self.granted = max(granted, spent)
        return answer

    def leave(self, spent: float) -> None:
        """Give back what is not spent.

        Raises:
            StoreError: the store cannot be used.
        """

        def left(value: bytes | None, now: float) -> tuple[bytes, None]:
            gone, members = _read(value)
            members.pop(self._me, None)
            return _written(gone + spent, members), None

        with self._account.lock:
            change(self._account.store, self._account.name, left)


def account_of(journal: Place, name: str | None = None) -> Account:
    """The account of a run, in the database of its journal, or a file beside it.

    Args:
        journal: where the journal is.
        name: the account's. Default: that of the run, which its shards have in common.
    """
    if isinstance(journal, Path):
        store: Store = SQLiteStore(journal.parent / FILE, keeps=True)
        return Account(store, name or "")
    return Account(PostgresStore(journal.address, keeps=True), name or journal.run or "")


def forget_account(journal: Place) -> None:
    """Forget what the shards of a run have spent, also where that cannot be read."""
    if isinstance(journal, Path):
        for suffix in ("", "-wal", "-shm"):
            with suppress(OSError):  # whoever opens it says what is wrong
                journal.with_name(FILE + suffix).unlink(missing_ok=True)
        return
    account = account_of(journal)
    with suppress(StoreError):  # whoever opens the journal says what is wrong
        change(account.store, account.name, lambda value, now: (None, None))
    account.close()


def _read(value: bytes | None) -> tuple[float, dict[str, tuple[float, float]]]:
    """What processes have spent that have ended, and by process what it has and was granted.

    Raises:
        StoreLost: that cannot be read, which does not mean that nothing was spent.
    """
    try:
        data = orjson.loads(value or b'{"gone": 0, "members": {}}')
        gone = float(data["gone"])
        members = {
            str(name): (float(spent), float(granted))
            for name, (spent, granted) in data["members"].items()
        }
        if all(0 <= one < math.inf for pair in ((gone,), *members.values()) for one in pair):
            return gone, members
    except (ValueError, TypeError, KeyError, AttributeError):  # not ours
        pass
    raise StoreLost("the account of what was spent cannot be read; --fresh begins another")


def _written(gone: float, members: dict[str, tuple[float, float]]) -> bytes:
    return orjson.dumps({"gone": gone, "members": members})
