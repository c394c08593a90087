"""A request on its way, with all that its sending takes."""

from __future__ import annotations

from dataclasses import dataclass

from rubricate._usage import NO_USAGE, Usage
from rubricate.errors import ModelError
from rubricate.judge import Model, Request
from rubricate.run.sending._circuit_breaker import CircuitBreaker
from rubricate.run.sending._judgement import Judgement, Settle
from rubricate.run.sending._limiter import Limiter


@dataclass(slots=True, eq=False)
class Failures:
    """What a request has failed with so far.

    Attributes:
        attempts: how often it was sent, those attempts left out that do not count.
        patience: by how much more than usual it may be late: the more, the more often it was.
        cause: what it failed with.
    """

    attempts: int = 0
    patience: float = 1.0
    cause: ModelError | None = None

    def note(self, error: ModelError) -> None:
        """An attempt has failed."""
        self.attempts += 1
        if error.kind == "timeout":
            self.patience *= 2.0


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request on its way.

    Attributes:
        model, request: whom it asks, and what.
        judgement: whose it is.
        limiter: its endpoint's.
        breaker: its model's.
        failed: what it has failed with so far; None as long as nothing has failed.
        claims: of each attempt in flight, what is called with its cost; empty where nothing bounds
            what is sent.
        usage: what all its attempts took.
    """

    model: Model
    request: Request
    judgement: Judgement
    limiter: Limiter
    breaker: CircuitBreaker
    failed: Failures | None = None
    claims: tuple[Settle, ...] = ()
    usage: Usage = NO_USAGE

    async def claim(self) -> None:
        """Wait until an attempt may be sent; `RunEnds` where it may not."""
        if self.judgement.claim is not None:
            settle = await self.judgement.claim(self.model, self.request)
            self.claims += () if settle is None else (settle,)

    def takes(self, usage: Usage, *, is_answered: bool) -> None:
        """An attempt took this, by its answer or by an estimate."""
        self.usage = usage if self.usage is NO_USAGE else self.usage + usage
        self.judgement.takes(usage)
        if self.claims:
            self.claims, settle = self.claims[:-1], self.claims[-1]
            settle(usage.cost if is_answered else None)

    @property
    def patience(self) -> float:
        """By how much more than usual it may be late."""
        return 1.0 if self.failed is None else self.failed.patience
