"""One judgement on its way: what the sender has to know of it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from rubricate._usage import Usage
from rubricate.judge import Completion, Model, Request


class Settle(Protocol):
    """Called once a claimed request is no longer in flight."""

    def __call__(self, usage: Usage, *, is_answered: bool) -> None:
        """Note what it took, by its answer or by an estimate."""


Claim = Callable[[Model, Request], Awaitable[Settle | None]]
"""Waits until a request may be sent, at the last moment before it is."""


class Judgement:
    """One judgement and all its requests.

    Args:
        item: what is judged. Different prompts are those of different items.
        failed_before: whether it failed in an earlier run: that it fails again says nothing new of
            the endpoint.

    Attributes:
        ends: when its time is over (monotonic clock); None until its first request goes out.
        failed_at: how many answers the model had given when a request of this judgement failed
            first; None while none has.
        replicate: what the keys of its replicate end in.
        sent: how often it sent what to a model that answers later; not set before.
        claim: waits until a request may be sent, and raises `RunEnds` where it may not; None where
            nothing bounds that.
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
        """Whether a request of it has gone out."""
        return self.ends is not None

    @property
    def is_fresh(self) -> bool:
        """Whether its requests may still tell something of the endpoint."""
        return self.failed_at is None and not self.failed_before

    def takes(self, usage: Usage) -> None:
        """Called with what a request took, as soon as that is known or estimated."""

    def aside(self, waits: bool) -> None:
        """Called with True when it waits to be sent again, so that another may go; False after."""

    def look_ahead(self) -> bool:
        """Bring many more judgements, to find a prompt that is answered; whether there are any."""
        return False


SendFor = Callable[[Model, Request, Judgement], Awaitable[Completion]]
"""Sends a request of a judgement."""
