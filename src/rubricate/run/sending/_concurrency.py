"""How many requests may be in flight at once (concurrency), and when none may (outage)."""

from __future__ import annotations

from dataclasses import dataclass

INFINITE = float("inf")
FAILURES_IN_A_ROW = 5
"""Failures without an answer in between that count as an outage. Not measured, because no simulated
endpoint fails. At half, two connections that break at once pause a run; at double, more requests
are wasted."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two attempts during an outage; they double from the first to the longest.
Measured with benchmarks/judge/pacing.py: at half or double, runs at an endpoint whose allowance
resets every minute take 0.02 longer or shorter."""


@dataclass(slots=True)
class Concurrency:
    """How many requests may be in flight: the configured limit and the learnt one.

    Attributes:
        most: the configured limit.
        room: the learnt limit, at least 1. Up to `threshold` it grows by one with each answer, then
            by one with each round of answers.
        in_flight: requests in flight.
        stuck: how many of those were sent before an outage, and may take long to fail.
        quick: seconds; slower answers do not raise `room`.
    """

    most: int = 0
    room: float = INFINITE
    in_flight: int = 0
    stuck: int = 0
    quick: float = INFINITE
    threshold: float = INFINITE

    def cut(self, room: float) -> None:
        """Lower the learnt limit to this many, at least one."""
        self.room = self.threshold = max(1.0, room)

    def returned(self) -> None:
        """Note that a request is no longer in flight."""
        self.in_flight -= 1
        if self.stuck:
            self.stuck -= 1


@dataclass(slots=True)
class Outage:
    """Whether the endpoint answers at all, and until when requests are held back.

    Attributes:
        since: when the outage began (monotonic clock); None without an outage.
        paused_until: until when requests are held back (monotonic clock); 0 if they are not.
        asked_until: the part of that pause that the endpoint asked for.
        is_noted: whether there was a failure or pause since the last answer.
    """

    since: float | None = None
    paused_until: float = 0.0
    asked_until: float = 0.0
    is_noted: bool = False
    _failures: int = 0
    _pause: float = 0.0

    def pause(self, now: float, seconds: float) -> None:
        """Hold requests back for `seconds`."""
        self.paused_until = max(self.paused_until, now + seconds)

    def pause_longer(self, now: float) -> None:
        """Hold requests back for twice as long as the last time."""
        self.is_noted = True
        self._pause = self._pause or FIRST_PAUSE
        self.pause(now, self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def ends(self) -> None:
        """Note that the endpoint answers."""
        self._failures = 0
        self._pause = 0.0
        self.is_noted = False
        self.since = None

    def failed(self, now: float, *, several: bool, is_news: bool) -> bool:
        """Note a request without an answer. Returns whether that is news of an outage."""
        self._failures += 1
        self.is_noted = True
        if self._failures < FAILURES_IN_A_ROW or not several:
            return False
        if self.since is None:
            self.since = now
        elif not is_news:
            return False
        else:
            self._pause = min(2 * self._pause, LONGEST_PAUSE)
        self._pause = self._pause or FIRST_PAUSE
        self.pause(now, self._pause)
        return True
