"""How long answers take, and when a request counts as late."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from functools import partial

# These constants are estimates, not tuned; tests/run/test_late.py checks what they promise. At half
# the multiples, requests that are merely slow are paid twice; at double, it takes twice as long to
# notice a lost request.

SEEN, ENOUGH, EVERY = 128, 20, 32
"""The last 128 answers count, once there are 20. The thresholds are updated every 32 answers."""
SECOND_AFTER, SECOND_FLOOR = 4.0, 1.0
"""A request is sent a second time after 4 times the 95th percentile, but not before 1 s."""
LOST_AFTER, LOST_FLOOR = 10.0, 5.0
"""A request counts as lost after 10 times the 95th percentile, but not before 5 s."""
OVERTAKEN = 10
"""A lost request may be sent again in any case once 10 later requests have been answered."""
SHARE, AT_FIRST, SAVED = 0.03, 5.0, 20.0
"""How many late requests may be sent again: 5 at first, plus 3 % of those answered. Unused ones are
saved, up to 20. This limits what hedging adds to the cost of a run."""


@dataclass(slots=True)
class Latencies:
    """The recent latencies of one endpoint.

    Attributes:
        count: how many answers there have been.
        second_after: seconds after which a waiting request may be sent a second time in parallel.
        lost_after: seconds after which a waiting request may be given up and sent again.
            Both are None until there were enough answers.
    """

    count: int = 0
    second_after: float | None = None
    lost_after: float | None = None
    _last: deque[float] = field(default_factory=partial(deque, maxlen=SEEN))
    _budget: float = AT_FIRST

    def add(self, seconds: float) -> None:
        """Record the latency of an answer."""
        self._last.append(seconds)
        self.count += 1
        if self._budget < SAVED:
            self._budget += SHARE
        if self.count == ENOUGH or self.count % EVERY == 0:
            most = sorted(self._last)[int(0.95 * len(self._last))]
            self.second_after = max(SECOND_FLOOR, SECOND_AFTER * most)
            self.lost_after = max(LOST_FLOOR, LOST_AFTER * most)

    def is_overtaken(self, count: int) -> bool:
        """Whether enough answers have come since there were `count`."""
        return self.count - count >= OVERTAKEN

    def spend(self) -> bool:
        """Use up one repetition of a late request; False if none is left."""
        if self._budget < 1.0:
            return False
        self._budget -= 1.0
        return True
