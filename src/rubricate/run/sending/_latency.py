"""How long answers take, and from when on a request is late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial

SEEN, ENOUGH, EVERY = 128, 20, 32
"""The last so many answers count; from so many on; looked at again every so many."""
SECOND_AFTER, SECOND_FLOOR = 4.0, 1.0
"""A request is sent a second time after so many times the 95th percentile, in seconds at least."""
LOST_AFTER, LOST_FLOOR = 10.0, 5.0
"""A request is taken for lost after so many times the 95th percentile, in seconds at least."""
OVERTAKEN = 10
"""A lost request that so many answers to others have overtaken may be sent again in any case."""
SHARE, AT_FIRST, SAVED = 0.03, 5.0, 20.0
"""Requests that may be sent again for being late: so many at first, then this share of those
answered; what is not used is saved up to so many."""


@dataclass(slots=True)
class Latencies:
    """The recent latencies of one endpoint.

    Attributes:
        count: how many answers there have been.
        second_after: seconds after which a second request may be sent beside one that waits.
        lost_after: seconds after which a request that waits may be given up and sent again.
            Both are None until enough answers came.
    """

    count: int = 0
    second_after: float | None = None
    lost_after: float | None = None
    _last: deque[float] = field(default_factory=partial(deque, maxlen=SEEN))
    _budget: float = AT_FIRST

    def add(self, seconds: float) -> None:
        """An answer came after so long."""
        self._last.append(seconds)
        self.count += 1
        self._budget = min(SAVED, self._budget + SHARE)
        if self.count == ENOUGH or self.count % EVERY == 0:
            most = sorted(self._last)[int(0.95 * len(self._last))]
            self.second_after = max(SECOND_FLOOR, SECOND_AFTER * most)
            self.lost_after = max(LOST_FLOOR, LOST_AFTER * most)

    def is_overtaken(self, count: int) -> bool:
        """Whether enough answers came since there were `count`."""
        return self.count - count >= OVERTAKEN

    def spend(self) -> bool:
        """Take one late request from what may be sent again; False where nothing is left."""
        if self._budget < 1.0:
            return False
        self._budget -= 1.0
        return True
