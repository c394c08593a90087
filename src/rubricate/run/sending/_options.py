"""Options of sending: limits of an endpoint, retries, and the budget of a run."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import ClassVar, Literal

from rubricate._files import is_address
from rubricate.errors import InputError, ModelError
from rubricate.settings import Settings, option

LONGEST_WHILE_LOADING = 5.0
"""Longest wait, in seconds, between attempts while a server loads its model, because it answers
503 at once."""


class Limits(Settings, group="Limits"):
    """Limits of an endpoint. Tokens are those of prompts and replies, estimated before a request is
    sent and corrected afterwards.

    Raises:
        InputError: a value is out of bounds.
    """

    concurrency: int = option(
        32,
        "Maximum number of requests in flight.",
        unit="requests",
        common=True,
        ge=1,
        across_processes="worker",
    )
    requests_per_minute: float | None = option(
        None,
        "Maximum requests to the endpoint in a minute, by all runs of this process and all "
        "processes that share its limits.",
        default_text="learnt from its answers",
        unit="requests a minute",
        gt=0,
        across_processes="endpoint",
    )
    tokens_per_minute: float | None = option(
        None,
        "Maximum tokens in a minute, of prompts and replies.",
        default_text="learnt from its answers",
        unit="tokens a minute",
        gt=0,
        across_processes="endpoint",
    )
    share_limits: str | bool | None = option(
        None,
        "Share the endpoint's limits with other processes: local (those of this user and machine), "
        "postgresql://USER@HOST/DATABASE (those that name the same), auto, none.",
        more="auto: in the journal's database, if that is where it is, else local.",
        default_text="that of the journal's database; in the shell auto",
        input_type=str | None,
        may_have_password=True,
    )

    def check(self) -> None:
        known = (None, True, False, "local", "auto", "none")
        if self.share_limits not in known and not is_address(self.share_limits):
            raise InputError(
                "share_limits must be local, auto, none, or the address of a database that begins "
                "with postgresql://"
            )

    def shared_by(self, journal: str | None) -> Limits:
        """The same limits, shared in the database of a run's journal unless set otherwise."""
        if journal is None or self.share_limits not in (None, "auto"):
            return self
        return replace(self, share_limits=journal)


class Budget(Settings, group="Limits"):
    """Limits of cost and time of a run; None for no limit."""

    max_cost: float | None = option(
        None,
        "Stop before spending more than this many US dollars.",
        more="All its commands, failed judgements and repeated requests count.",
        unit="US dollars",
        common=True,
        gt=0,
        across_processes="run",
    )
    missing_usage: Literal["estimate", "refuse"] = option(
        "estimate",
        "With --max-cost, if replies have no token counts: estimate their cost, or refuse to "
        "continue.",
        more="The estimate is rubricate's own count of tokens, more likely too high than too low.",
    )
    max_time: float | None = option(
        None,
        "Stop after N seconds.",
        more="Requests in flight are cancelled.",
        unit="seconds",
        gt=0,
        across_processes="run",
    )

    @property
    def estimates_usage(self) -> bool:
        """Whether to estimate the cost of replies without token counts; otherwise it is unknown."""
        return self.max_cost is not None and self.missing_usage == "estimate"


class Retries(Settings, group="Limits"):
    """Retries: exponential backoff with jitter; a `Retry-After` of the endpoint takes precedence.

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
        "Maximum number of attempts for a request that fails while others succeed.",
        more="A request refused because of a rate limit (429) is retried until the deadline.",
        unit="requests",
        ge=1,
    )
    deadline: float = option(
        600.0,
        "Maximum seconds for one judgement with all its requests; after that it fails.",
        unit="seconds",
        gt=0,
    )
    max_outage: float = option(
        120.0,
        "Stop the run after this many seconds without any answer.",
        more="It applies to an endpoint that has answered before, or says that it is loading its "
        "model. Nothing is lost: failures during an outage do not count as attempts, and you can "
        "resume the run later.",
        unit="seconds",
        ge=0,
    )

    def back_off(
        self, error: ModelError, attempt: int, elapsed: float, chance: random.Random
    ) -> float | None:
        """Seconds to wait after a failed attempt; None to give up.

        Args:
            error: the error of the attempt.
            attempt: the number of the attempt, from 1.
            elapsed: seconds since the first attempt.
            chance: source of the jitter.
        """
        requested = error.retry_after or 0.0
        if not error.retryable or elapsed + requested > self.deadline:
            return None
        if error.kind == "loading" and elapsed > self.max_outage:
            return None
        if error.kind not in ("rate_limit", "loading") and attempt >= self.attempts:
            return None
        if error.retry_after is not None:
            return requested + chance.uniform(0.0, self.first_wait / 2)
        soon = LONGEST_WHILE_LOADING if error.kind == "loading" else self.longest_wait
        longest = min(soon, self.longest_wait, self.first_wait * 2.0 ** min(attempt - 1, 16))
        return chance.uniform(longest / 2, longest)
