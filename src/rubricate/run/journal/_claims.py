"""Claims of answers that processes share: what one is asking for, the others wait for.

A claim is a row of the store that the answers are shared in, made before they are asked for and
removed in the transaction that writes them. It lapses with its process: the others ask themselves a
few seconds after that was killed.

Nobody waits for a claim while holding one that is not being asked for, so that no two processes
wait for each other: the answers of one call are claimed together or not at all, a judgement waits
for a claim before anything of it is asked, and the parts of judgements ask for nothing that another
part could be waiting for.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Sequence
from typing import Literal

LEASE = 5.0
"""Seconds after which claims lapse whose process does not renew them; so long do others wait for
one that was killed. A program that blocks its loop for longer, or is swapped out, has its answers
asked for twice; at half, a busy machine does that to it."""
RENEWAL = 1.0
"""Seconds between renewals: a process has several before its claims lapse."""

Turn = Literal["mine", "answered", "theirs"]
"""Whose turn it is to ask: this process's; its own, but there is an answer by now; another's."""


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
        self._theirs: set[str] = set()  # as of the last look
        self._renewed = time.monotonic()

    def note(
        self, groups: Sequence[Sequence[str]], claimed: Sequence[bool], answered: Iterable[str]
    ) -> None:
        """Note which groups of keys were claimed, and which of those keys have an answer."""
        for keys, is_mine in zip(groups, claimed, strict=True):
            if is_mine:
                self._mine |= dict.fromkeys(keys, False)
                self._theirs.difference_update(keys)
            else:
                self._theirs.update(keys)
        self._mine |= dict.fromkeys(answered, True)

    def turn(self, keys: Sequence[str]) -> Turn | None:
        """Whose turn it is, as of the last look; None where nobody looked."""
        mine = self._mine
        if all(key in mine for key in keys):
            return "answered" if any(mine[key] for key in keys) else "mine"
        return None if self._theirs.isdisjoint(keys) else "theirs"

    def release(self, keys: Iterable[str]) -> None:
        """End claims once what is put is committed."""
        self.released += [key for key in keys if self._mine.pop(key, None) is not None]

    def release_all(self) -> None:
        """End all claims with the next commit."""
        self.release([*self._mine])

    @property
    def is_due(self) -> bool:
        """Whether claims are to be renewed, or to end."""
        is_old = self._mine and time.monotonic() - self._renewed >= RENEWAL
        return bool(self.released or is_old)

    def due(self) -> list[str]:
        """The keys whose claims are to end; the others are to be renewed."""
        released, self.released = self.released, []
        self._renewed = time.monotonic()
        return released
