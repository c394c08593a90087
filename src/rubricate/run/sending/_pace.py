"""The rate at which an endpoint accepts requests, learnt from its refusals (429)."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rubricate.run.sending._peers import Others

# "At half" and "at double" were measured with benchmarks/judge/pacing.py: 2,000 requests to each of
# its endpoints. "The same" means that time (within 0.02) and refusals of each run did not change.

FIRST_BURST, FIRST_RATE, FIRST_MORE, FIRST_ANSWERS = 20, 300.0, 0.5, 64
"""The start of a run: 20 requests at once, then 300 a second, plus half a request for each answer,
until there are 64 answers. By then, an endpoint with a low limit has refused some, and few requests
were wasted. At half the rate, a run at an endpoint that takes 100 a second takes 1.7 times as long
instead of 1.1; at double, an endpoint that takes 40 a second refuses half as many again. For the
other values, half and double are the same, except that half the burst brings 4 refusals a request
at an endpoint that takes 20 a second."""
FIRST_WAVE, FIRST_RATE_MOST, FIRST_STEP = 80.0, 1600.0, 4.0
"""If the first answer is quick, the start is faster: 80 requests in the time that the answer took,
at most 1,600 a second and 4 at once, so that a program that pauses for a moment does not catch up
in a burst. The first refusal undoes this. At half or double, runs at a quick endpoint take 0.02
longer or shorter."""
GROWTH, GROWTH_A_SECOND, GROWTH_AT_FIRST = 0.0001, 0.02, 0.2
"""The share by which the pace grows with each answer, and the least growth in a second (the last
until the pace has been measured once); it doubles after every 500 answers without a refusal. At
half of GROWTH_A_SECOND, a run whose endpoint doubles its limit takes 1.26 times as long as it
could, instead of 1.21; at double, 1.09, and an endpoint of 10 a second refuses half as many again.
Half and double of the others are the same here, but tests/run/test_limits.py needs the first
growth; GROWTH matters from 200 requests a second."""
SHORT, FEW = 0.5, 16
"""The rate is measured between two refusals that are at least this many seconds, or this many
answers, apart. Half and double are the same."""
LEAST_RATE = 0.1
"""The lowest rate, in requests a second, however often the endpoint refuses. Half and double are
the same: no simulated endpoint allows so few."""
RECENT, MOST_REFUSED = 10, 6
"""If 6 of 10 consecutive requests were refused, most are: a pause that the endpoint asks for
applies to all requests, and there is a rate to learn. (Before 10 were sent, half of those that
returned are enough, because refusals return sooner than answers.) With 6 of 5, or 12 of 10, nothing
is ever learnt, and five times as many are refused. With 6 of 20, a tenth as many are refused, but a
run at an endpoint that refuses 30 % at random takes 7.6 times as long as it could, instead of 4.3.
With 3 of 10 the results are the same as with 6."""
USELESS_AFTER, USELESS_SHARE = 40, 0.05
"""The pace is given up if after 40 answers more than 5 % of the requests sent since it was last
learnt are still refused. Half and double are the same, also for an endpoint that refuses a tenth at
random."""


class TokenBucket:
    """An allowance that refills at a rate, up to the amount of one second (at least 1 unit).

    Attributes:
        rate: units a second, for all processes that share the allowance.
        share: this process's part of it, from 0 to 1.
    """

    __slots__ = ("_at", "level", "rate", "share", "size")

    def __init__(self, rate: float, *, level: float, size: float | None = None) -> None:
        self.rate = rate
        self.size = max(1.0, rate) if size is None else size
        self.level = level
        self.share = 1.0
        self._at = time.monotonic()

    def wait(self, now: float, amount: float) -> float:
        """Seconds until the amount is available; a full bucket is enough for any amount."""
        rate, size = self.rate, self.size
        if self.share != 1.0:
            rate, size = rate * self.share, max(1.0, size * self.share)
        if self.level < size:
            self.level = min(size, self.level + (now - self._at) * rate)
        self._at = now
        missing = min(amount, size) - self.level
        if missing <= 0.0:
            return 0.0
        return missing / rate if rate else float("inf")

    def take(self, share: float) -> None:
        """Change the part of the allowance."""
        self.share = share
        self.level = min(self.level, max(1.0, self.size * share))


def planned_by(
    bucket: TokenBucket | None, quota: tuple[float, float, float] | None, in_flight: int
) -> TokenBucket | None:
    """A bucket that keeps to what an endpoint reports as left of an allowance.

    Args:
        bucket: the present bucket, kept if the endpoint reports nothing.
        quota: (the allowance, what is left of it, seconds until it is full again).
        in_flight: requests in flight that the endpoint has not counted yet.

    Returns:
        None while more than half of the allowance is left.
    """
    if quota is None:
        return bucket
    limit, remaining, full_in = quota
    missing = limit - remaining
    if remaining > 0.5 * limit or missing <= 0 or full_in <= 0:
        return None
    return TokenBucket(missing / full_in, level=remaining - in_flight, size=max(1.0, remaining))


@dataclass(slots=True)
class Refusals:
    """Whether most of the last requests were refused (429).

    Attributes:
        sent: when the last requests were sent (monotonic clock).
        outcomes: whether each of the last requests was refused.
    """

    sent: deque[float] = field(default_factory=partial(deque, maxlen=4 * RECENT))
    outcomes: deque[bool] = field(default_factory=partial(deque, maxlen=RECENT))
    _refused: deque[float] = field(default_factory=partial(deque, maxlen=MOST_REFUSED))

    def add(self, sent: float) -> None:
        """Record a refusal of a request sent at `sent`."""
        self.outcomes.append(True)
        self._refused.append(sent)

    @property
    def are_recent(self) -> bool:
        """Whether any of the last requests was refused."""
        return True in self.outcomes

    @property
    def are_most(self) -> bool:
        """Whether most consecutive requests were refused."""
        if len(self.sent) < RECENT:
            return 2 * sum(self.outcomes) >= len(self.outcomes)
        first = min(self._refused)
        since = sum(moment >= first for moment in self.sent)
        return len(self._refused) == MOST_REFUSED and since <= RECENT


@dataclass(slots=True)
class Pace:
    """The requests a second that an endpoint takes, learnt from its refusals.

    Attributes:
        bucket: admits requests at that rate; None without a pace. Until `is_learnt`, the bucket of
            the start of a run.
        is_learnt: whether the start is over.
        measured: the highest rate measured between refusals; 0 if there was none.
        answers: accepted requests in total.
        mark: the start of the current measurement (monotonic clock).
    """

    mark: float
    bucket: TokenBucket | None = None
    is_learnt: bool = False
    measured: float = 0.0
    answers: int = 0
    _since_mark: int = 0
    _since_cut: int = 0  # answers, from when the pace grows faster and faster
    _answered: int = 0  # of requests sent since the pace was learnt
    _refused: int = 0
    _first_window: tuple[float, float] | None = None
    _again_at: int = 0  # answers, before which nothing can be learnt

    @property
    def learnt(self) -> TokenBucket | None:
        """The bucket, unless it is the one of the start."""
        return self.bucket if self.is_learnt else None

    @property
    def is_useless(self) -> bool:
        """Whether the pace was dropped recently."""
        return self.answers < self._again_at

    def accepted(self, sent: float, seconds: float, refusals: Refusals, *, is_new: bool) -> None:
        """Note an answer; `is_new` if its request was sent after the last cut of the pace."""
        self.answers += 1
        self._since_cut += 1
        if sent >= self.mark:
            self._since_mark += 1
        else:
            self.count_first(1)
        self._answered += is_new
        bucket = self.bucket
        if not self.is_learnt:
            if refusals.are_recent:
                return
            if self.answers >= FIRST_ANSWERS:
                self.is_learnt, self.bucket = True, None
            elif bucket is not None:
                bucket.level += FIRST_MORE
                if self.answers == 1:
                    first = FIRST_WAVE / seconds if seconds > 0 else FIRST_RATE_MOST
                    bucket.rate = max(FIRST_RATE, min(FIRST_RATE_MOST, first))
                    bucket.size = FIRST_STEP
        elif bucket is not None:
            a_second = GROWTH_A_SECOND if self.measured else GROWTH_AT_FIRST
            share = max(GROWTH, a_second / bucket.rate)
            bucket.rate *= 1.0 + min(0.1, share * 2.0 ** min(20, self._since_cut // 500))
            bucket.size = max(1.0, bucket.rate)

    def count_first(self, more: int) -> None:
        """Add requests that were sent before the first refusal and accepted after it.

        The first estimate was too low without them.
        """
        if self._first_window is not None and self.bucket is not None:
            count, elapsed = self._first_window
            self._first_window = count + more, elapsed
            self.bucket.rate = self.bucket.size = max(1.0, 0.95 * max(FEW, count + more) / elapsed)

    def refused(self) -> None:
        """Note a refusal of a request sent after the last cut of the pace."""
        self._refused += 1

    def rate_after(self, now: float, in_flight: int, others: Others) -> float | None:
        """The new rate after a refusal; 0 to drop the pace, None to leave it.

        It is 95 % of the rate of the answers since the last refusal.
        """
        elapsed = max(0.0, now - self.mark)
        count = max(1.0, self._since_mark + others.since_mark(now))
        if not self.is_learnt or self.bucket is None:
            self.is_learnt = True
            elapsed = max(elapsed, 1.0)
            self._first_window, self.measured = (count, elapsed), 0.0
            rate = max(FEW, count) / elapsed
            return max(LEAST_RATE, 0.95 * rate)
        count += in_flight + others.in_flight - 1  # most of those in flight will be answered
        if elapsed < SHORT and (count < FEW or others.count):
            # Its answers count towards the next measurement; those of others arrive a little later.
            self.bucket.level = 0.0
            return None
        if self.measured == 0.0:
            rate = self.measured = count / elapsed
            self.forget_window()
        else:
            answered = self._answered + self._refused
            enough = USELESS_AFTER * min(4, 1 + others.count)  # others cause some refusals
            if answered >= enough and self._refused > USELESS_SHARE * answered:
                return 0.0
            self.measured = max(self.measured, count / elapsed)
            rate = max(count / elapsed, 0.5 * self.measured)
        return max(LEAST_RATE, 0.95 * rate)

    def is_shut(self, now: float, others: Others) -> bool:
        """Whether nothing was accepted since the last refusal, so there is nothing to measure."""
        is_paced = self.is_learnt and self.bucket is not None
        return is_paced and self._since_mark + others.since_mark(now) < 1.0

    def forget_window(self) -> None:
        """Restart the count of refusals at the present pace."""
        self._first_window = None
        self._answered = self._refused = 0

    def begin(self, bucket: TokenBucket, mark: float) -> None:
        """Set a new rate."""
        self.bucket = bucket
        self.mark, self._since_mark = mark, 0

    def give_up(self) -> None:
        """Drop the pace for a while."""
        self.bucket = None
        self._again_at = self.answers + 10 * USELESS_AFTER

    def is_cut(self) -> None:
        """Restart slow growth."""
        self._since_cut = 0

    def others_accepted(self, more: int) -> None:
        """Speed up growth, because other processes had `more` requests accepted."""
        self._since_cut += more
