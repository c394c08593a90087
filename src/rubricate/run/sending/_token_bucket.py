"""Allowances that fill at a rate: of requests, and of tokens."""

from __future__ import annotations

import time


class TokenBucket:
    """An allowance that fills at a rate, up to what a second brings (at least 1 unit).

    Attributes:
        rate: units a second, of all processes that share the allowance.
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
        """Seconds until there is so much; a full bucket is enough for any amount."""
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
        """Have another part of the allowance."""
        self.share = share
        self.level = min(self.level, max(1.0, self.size * share))


def told(bucket: TokenBucket | None, rates: list[float]) -> TokenBucket | None:
    """The bucket for the lowest of these rates; the one there is where it has that rate."""
    if not rates:
        return None
    rate = min(rates)
    return bucket if bucket and bucket.rate == rate else TokenBucket(rate, level=max(1.0, rate))


def planned_by(
    bucket: TokenBucket | None, quota: tuple[float, float, float] | None, in_flight: int
) -> TokenBucket | None:
    """The bucket that keeps to what an endpoint says is left of an allowance.

    Args:
        bucket: the one so far; it stays where the endpoint says nothing.
        quota: (the allowance, what is left of it, seconds until it is whole again).
        in_flight: how many requests are on the way that are not reckoned in yet.

    Returns:
        None while more than half of the allowance is left.
    """
    if quota is None:
        return bucket
    limit, left, full_in = quota
    missing = limit - left
    if left > 0.5 * limit or missing <= 0 or full_in <= 0:
        return None
    return TokenBucket(missing / full_in, level=left - in_flight, size=max(1.0, left))
