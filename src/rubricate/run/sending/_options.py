"""What sending can be told: how much an endpoint is asked at once, and what a run may take."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

from rubricate._addresses import is_address
from rubricate.errors import InputError
from rubricate.settings import Settings, option


class Limits(Settings):
    """What an endpoint is asked at most. Tokens are those of prompts and replies, estimated before
    and corrected after.

    Raises:
        InputError: a value is out of bounds.
    """

    concurrency: int = option(
        32,
        "The most requests in flight at once.",
        group="Limits",
        unit="requests",
        common=True,
        ge=1,
        across_processes="worker",
    )
    requests_per_minute: float | None = option(
        None,
        "Requests that the endpoint may be sent in a minute, by all runs of this process, and all "
        "processes that share its limits, together.",
        group="Limits",
        default_text="as its answers tell",
        unit="requests a minute",
        gt=0,
        across_processes="endpoint",
    )
    tokens_per_minute: float | None = option(
        None,
        "Tokens, of prompts and replies, that the endpoint may be asked for in a minute.",
        group="Limits",
        default_text="as its answers tell",
        unit="tokens a minute",
        gt=0,
        across_processes="endpoint",
    )
    share_limits: str | bool | None = option(
        None,
        "Share the endpoint's limits with other processes: local (those of this user and machine), "
        "postgresql://USER@HOST/DATABASE (those that name the same), auto, none.",
        more="auto: in the journal's database, if that is where it is, else local.",
        group="Limits",
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
        """The same, shared in the database of a run's journal where nothing else is said."""
        if journal is None or self.share_limits not in (None, "auto"):
            return self
        return replace(self, share_limits=journal)


class Budget(Settings):
    """Bounds of a run; None is none."""

    max_cost: float | None = option(
        None,
        "Stop before the run has cost more than this many US dollars.",
        more="All its commands, failed judgements and repeated requests count.",
        group="Limits",
        unit="US dollars",
        common=True,
        gt=0,
        across_processes="run",
    )
    missing_usage: Literal["estimate", "refuse"] = option(
        "estimate",
        "With --max-cost, if replies come without token counts: estimate what they cost, or refuse "
        "to go on.",
        more="Estimates are by rubricate's own count of tokens, and rather too high than too low.",
        group="Limits",
    )
    max_time: float | None = option(
        None,
        "End after N seconds.",
        more="Requests in flight are broken off.",
        group="Limits",
        unit="seconds",
        gt=0,
        across_processes="run",
    )

    @property
    def estimates_usage(self) -> bool:
        """Whether the cost of replies without token counts is estimated. Else it is unknown."""
        return self.max_cost is not None and self.missing_usage == "estimate"
