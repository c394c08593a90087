"""When a failed request is sent again, and after how long."""

from __future__ import annotations

import random
from typing import ClassVar

from rubricate.errors import ModelError
from rubricate.settings import Settings, option

LONGEST_WHILE_LOADING = 5.0
"""The longest wait, in seconds, for a server that loads its model: it says so at once."""


class Retries(Settings):
    """How long a request that fails is tried: exponential back-off with full jitter; what the
    endpoint says goes before.

    Attributes:
        first_wait: the longest wait before the second attempt, in seconds; it doubles.
        longest_wait: the longest wait that doubling leads to, in seconds.

    Raises:
        InputError: a value cannot be used.
    """

    first_wait: ClassVar[float] = 0.5
    longest_wait: ClassVar[float] = 30.0

    attempts: int = option(
        6,
        "How often a request that fails while others get through is sent, at most.",
        more="One refused for its rate (429) is sent until the deadline, however often that is.",
        group="Limits",
        unit="requests",
        ge=1,
    )
    deadline: float = option(
        600.0,
        "Seconds that one judgement may take with all its requests; it is failed after.",
        group="Limits",
        unit="seconds",
        gt=0,
    )
    max_outage: float = option(
        120.0,
        "Seconds without any answer after which a run is stopped.",
        more="Of an endpoint that has answered, or says that it is loading its model. Nothing is "
        "lost until then: failures in an outage do not count as attempts, and the run can be taken "
        "up later.",
        group="Limits",
        unit="seconds",
        ge=0,
    )

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
        asked = error.retry_after or 0.0
        if not error.retryable or elapsed + asked > self.deadline:
            return None
        if error.kind == "loading" and elapsed > self.max_outage:
            return None
        if error.kind not in ("rate_limit", "loading") and attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return asked + chance.uniform(0.0, self.first_wait / 2)
        soon = LONGEST_WHILE_LOADING if error.kind == "loading" else self.longest_wait
        longest = min(soon, self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 16))
        return chance.uniform(longest / 2, longest)
