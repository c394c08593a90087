"""One judgement in progress, as the sender sees it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from rubricate._usage import Usage
from rubricate.judge import Completion, Model, Request


class Settle(Protocol):
    """Called once a claimed request is no longer in flight."""

    def __call__(self, usage: Usage, *, is_answered: bool) -> None:
        """Record its usage, from the answer or from an estimate."""


Claim = Callable[[Model, Request], Awaitable[Settle | None]]
"""Waits until the budget allows a request. Called at the last moment before sending."""


class Judgement:
    """One judgement and all its requests.

    Args:
        item: what is judged. Prompts count as different if their items differ.
        failed_before: whether it failed in an earlier run, in which case another failure is no news
            about the endpoint.

    Attributes:
        ends: its deadline (monotonic clock); None until its first request is sent.
        failed_at: how many answers the model had given when a request of this judgement first
            failed; None if none has failed.
        replicate: the suffix of the keys of its replicate.
        sent: how often each request was sent to a model that answers later; set on first use.
        claim: waits until the budget allows a request, and raises `RunEnds` if it does not; None
            without a budget.
    """

    __slots__ = ("claim", "ends", "failed_at", "failed_before", "item", "replicate", "sent")
    sent: dict[bytes, int]

    def __init__(self, item: object = None, *, failed_before: bool = False) -> None:
        self.item = self if item is None else item
        self.failed_before = failed_before
        self.claim: Claim | None = None
        self.ends: float | None = None
        self.failed_at: int | None = None
        self.replicate = ""

    @property
    def is_asked(self) -> bool:
        """Whether any of its requests was sent."""
        return self.ends is not None

    @property
    def is_fresh(self) -> bool:
        """Whether its requests can still be news about the endpoint."""
        return self.failed_at is None and not self.failed_before

    def takes(self, usage: Usage) -> None:
        """Called with the usage of each request, as soon as it is known or estimated."""

    def aside(self, waits: bool) -> None:
        """Called with True while it waits for a retry, so that others can go, and False after."""

    def look_ahead(self) -> bool:
        """Start many more judgements to find a prompt that is answered; False if none is left."""
        return False


SendFor = Callable[[Model, Request, Judgement], Awaitable[Completion]]
"""Sends a request of a judgement."""
