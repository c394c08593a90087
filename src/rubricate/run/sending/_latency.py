"""How long answers take, and from when on a request is late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial

# These constants are reasoned, not tuned; tests/run/test_late.py holds what they promise. At half
# the multiples, requests that are only slow are paid twice; at double, a lost request is noticed
# after twice the time.

SEEN, ENOUGH, EVERY = 128, 20, 32
"""The last 128 answers count, once there are 20; the thresholds are renewed every 32 answers."""
SECOND_AFTER, SECOND_FLOOR = 4.0, 1.0
"""A request is sent a second time after 4 times the 95th percentile, but not before 1 s."""
LOST_AFTER, LOST_FLOOR = 10.0, 5.0
"""A request counts as lost after 10 times the 95th percentile, but not before 5 s."""
OVERTAKEN = 10
"""A lost request may be sent again in any case once 10 later requests have been answered."""
SHARE, AT_FIRST, SAVED = 0.03, 5.0, 20.0
"""Late requests that may be sent again: 5 at first, then 3 % of those answered; the unused rest is
saved, up to 20. This bounds what hedging adds to the cost of a run."""


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
        if self._budget < SAVED:
            self._budget += SHARE
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
