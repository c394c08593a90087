"""Claims on shared answers: while one process asks for an answer, the others wait for it.

A claim is a row in the shared store. It is added before the request and removed in the transaction
that writes the answer. It expires with its process: a few seconds after that was killed, the others
ask themselves.

There are no deadlocks, because no process waits for a claim while it holds one that it is not
asking for: the answers of one call are claimed together or not at all, a judgement waits for claims
before it sends anything, and the parts of judgements never ask for what another part waits for.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Literal

LEASE = 5.0
"""Seconds after which claims expire that are not renewed, which is how long others wait for a
killed process. If a program blocks its event loop for longer, or is swapped out, its answers are
asked for twice; at half, a busy machine is enough for that."""
RENEWAL = 1.0
"""Seconds between renewals, so that a process has several before its claims expire."""

Turn = Literal["mine", "answered", "theirs"]
"""Whose turn it is to ask: this process's; nobody's, because there is an answer; another's."""


class Claims:
    """The claims of one process.

    Attributes:
        holder: its name in the store.
        released: keys whose claims end with the next commit.
    """

    def __init__(self) -> None:
        self.holder = secrets.token_hex(8)
        self.released: list[str] = []
        self._mine: dict[str, bool] = {}  # whether there is an answer
        self._theirs: set[str] = set()  # as last read
        self._renewed = time.monotonic()

    def note(
        self, groups: Sequence[Sequence[str]], claimed: Sequence[bool], answered: Iterable[str]
    ) -> None:
        """Record which groups of keys were claimed, and which claimed keys have an answer."""
        for keys, is_mine in zip(groups, claimed, strict=True):
            if is_mine:
                self._mine |= dict.fromkeys(keys, False)
                self._theirs.difference_update(keys)
            else:
                self._theirs.update(keys)
        self._mine |= dict.fromkeys(answered, True)

    def turn(self, keys: Sequence[str]) -> Turn | None:
        """Whose turn it is, as last read; None if it was not read."""
        mine = self._mine
        if all(key in mine for key in keys):
            return "answered" if any(mine[key] for key in keys) else "mine"
        return None if self._theirs.isdisjoint(keys) else "theirs"

    def release(self, keys: Iterable[str]) -> None:
        """End claims with the commit of their answers."""
        self.released += [key for key in keys if self._mine.pop(key, None) is not None]

    def release_all(self) -> None:
        """End all claims with the next commit."""
        self.release([*self._mine])

    @property
    def is_due(self) -> bool:
        """Whether claims must be renewed or ended."""
        is_old = self._mine and time.monotonic() - self._renewed >= RENEWAL
        return bool(self.released or is_old)

    def due(self) -> list[str]:
        """The keys whose claims end now; the others are to be renewed."""
        released, self.released = self.released, []
        self._renewed = time.monotonic()
        return released
