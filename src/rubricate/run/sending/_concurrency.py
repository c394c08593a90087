"""How many requests may be in flight at once, and how long none may: concurrency and outage."""

from __future__ import annotations

from dataclasses import dataclass

INFINITE = float("inf")
FAILURES_IN_A_ROW = 5
"""Failures with no answer between that count as an outage. Reasoned, not measured: no simulated
endpoint fails. At half, two connections that break at once pause a run; at double, more requests
fail in vain."""
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0
"""Seconds between two attempts during an outage; they double from the first to the longest. Tried
with benchmarks/judge/pacing.py: at half or double, runs at an endpoint whose allowance is whole
again each minute take 0.02 longer or shorter."""


@dataclass(slots=True)
class Concurrency:
    """How many requests may be in flight: as the runs say, and as learnt.

    Attributes:
        most: as the runs say.
        room: as learnt, 1 at least. It grows with answers, up to `threshold` by one each, beyond it
            by one for each round.
        in_flight: how many are.
        stuck: how many of those were sent before an outage, and may take their time to fail.
        quick: seconds; slower answers give no more room.
    """

    most: int = 0
    room: float = INFINITE
    in_flight: int = 0
    stuck: int = 0
    quick: float = INFINITE
    threshold: float = INFINITE

    def cut(self, room: float) -> None:
        """Have room for this many, at least for one, from here on."""
        self.room = self.threshold = max(1.0, room)

    def back(self) -> None:
        """A request is not in flight any more."""
        self.in_flight -= 1
        if self.stuck:
            self.stuck -= 1


@dataclass(slots=True)
class Outage:
    """Whether the endpoint answers anybody, and until when nothing is let through.

    Attributes:
        since: when the outage began (monotonic clock); None while there is none.
        paused_until: until when nothing is let through (monotonic clock); 0 if never.
        asked_until: the same as far as the endpoint has asked for it.
        is_noted: whether anything has failed, or was paused for, since the last answer.
    """

    since: float | None = None
    paused_until: float = 0.0
    asked_until: float = 0.0
    is_noted: bool = False
    _failures: int = 0
    _pause: float = 0.0

    def pause(self, now: float, seconds: float) -> None:
        """Let nothing through for so long."""
        self.paused_until = max(self.paused_until, now + seconds)

    def pause_longer(self, now: float) -> None:
        """Let nothing through for twice as long as the last time."""
        self.is_noted = True
        self._pause = self._pause or FIRST_PAUSE
        self.pause(now, self._pause)
        self._pause = min(2 * self._pause, LONGEST_PAUSE)

    def ends(self) -> None:
        """The endpoint answers."""
        self._failures = 0
        self._pause = 0.0
        self.is_noted = False
        self.since = None

    def failed(self, now: float, *, several: bool, is_news: bool) -> bool:
        """A request got no answer; whether that is an outage, of which this says something new."""
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
