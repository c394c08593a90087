"""When a failed request is sent again, and after how long."""

from __future__ import annotations

import random
from dataclasses import dataclass

from rubricate.errors import ModelError

__all__ = ["RetryPolicy"]


@dataclass(frozen=True, slots=True)
class RetryPolicy:
    """Exponential back-off with full jitter; what the endpoint says goes before.

    Attributes:
        attempts: how often a request is sent at most. A request refused for its rate (429) is
            bounded by `patience` instead.
        first_wait: the longest wait before the second attempt, in seconds; it doubles.
        longest_wait: the longest wait that doubling leads to, in seconds.
        patience: how long a call may go on being refused for its rate, in seconds.
    """

    attempts: int = 6
    first_wait: float = 0.5
    longest_wait: float = 30.0
    patience: float = 600.0

    def wait(
        self, error: ModelError, attempt: int, elapsed: float, chance: random.Random
    ) -> float | None:
        """Seconds to wait after the failed attempt number `attempt` (from 1); None to give up.

        Args:
            error: what the attempt failed with.
            attempt: how many attempts there have been.
            elapsed: seconds since the first one.
            chance: where the jitter comes from.
        """
        if not error.retryable:
            return None
        if error.kind == "rate_limit":
            if elapsed + (error.retry_after or 0.0) > self.patience:
                return None
        elif attempt >= self.attempts:
            return None
        longest = min(self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 16))
        wait = chance.uniform(longest / 2, longest)
        if error.retry_after is not None:
            if error.retry_after > self.patience:
                return None
            wait = error.retry_after + chance.uniform(0.0, self.first_wait)
        return wait
