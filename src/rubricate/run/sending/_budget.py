"""What a run spends on its way, and when that is as much as it may."""

from __future__ import annotations

import asyncio

from rubricate._usage import Usage
from rubricate.judge import Completion, Model, Request
from rubricate.run._progress import Progress
from rubricate.run.journal import Ledger
from rubricate.run.sending._bills import most_expensive
from rubricate.run.sending._judgement import Judgement, SendFor

__all__ = ["RunEnds", "Spending"]

ROUNDING = 1 + 1e-9


class RunEnds(BaseException):
    """Nothing more is to be asked; the judgement under way is left where it is.

    No `Exception`: a judge or a retry that catches those is ended with the run.
    """


class Spending:
    """What a run spends on its way, against its greatest cost.

    A judgement is begun if it fits together with those in flight, each taken for as dear as one
    has been on average. Every request that is sent, also a second or a repeated one, is claimed
    from the run's ledger, which knows what other commands and processes have paid. The first
    request goes alone: it shows what one costs.

    Args:
        max_cost: US dollars that the run may cost.
        progress: has what was spent, and is kept up to date.
        ledger: what the run has cost so far.

    Attributes:
        reached: why nothing more may be asked; None where it may.
        partly: US dollars that judgements have taken so far that are not done.
    """

    def __init__(self, max_cost: float, progress: Progress, ledger: Ledger) -> None:
        self.reached: str | None = None
        self.partly = 0.0
        self._max_cost = max_cost
        self._progress = progress
        self._ledger = ledger
        self._first_request = asyncio.Lock()

    def has_room(self, judgements: int) -> bool:
        """Whether so many further judgements fit; `reached` says why not."""
        if self.reached is None and self._has_price():
            more = self._on_way + judgements * self._average
            if not self._fits(more):
                self.reached = self._ledger.reached(self._max_cost)
        return self.reached is None

    def affords(self, judgements: int) -> bool:
        """Whether so many further judgements fit, as far as is known; nothing comes of it."""
        if not self._average or self._progress.usage.cost is None:
            return False
        return self._fits(self._on_way + judgements * self._average)

    async def begin(self) -> None:
        """Find out whether earlier commands and other processes have left anything."""
        self.reached = self.reached or await self._ledger.check(self._max_cost)

    @property
    def _spent(self) -> float:
        return self._progress.usage.cost or 0.0

    @property
    def _average(self) -> float:
        """US dollars that a judgement has cost on average; 0 while that is not known."""
        asked = self._progress.calls + self._progress.parts
        return self._spent / asked if asked else 0.0

    @property
    def _on_way(self) -> float:
        """US dollars that what is in flight will cost."""
        return max(0.0, self._progress.in_flight * self._average - self.partly)

    def _fits(self, more: float) -> bool:
        return self._ledger.by_others + self._spent + more <= self._max_cost * ROUNDING

    async def send(
        self, send: SendFor, model: Model, request: Request, judgement: Judgement
    ) -> Completion:
        """Send a request, if it fits.

        Raises:
            RunEnds: it does not.
        """
        self._ledger.price = model.price
        if not self._progress.usage.requests:
            async with self._first_request:
                if not self._progress.usage.requests:
                    return await send(model, request, judgement)
        if not self._has_price() or self.reached is not None:
            raise RunEnds
        return await send(model, request, judgement)

    async def claim(self, model: Model, request: Request) -> None:
        """Wait until a request may be sent, also a second or a repeated one.

        Raises:
            RunEnds: it may not.
        """
        why = await self._ledger.claim(self._max_cost, most_expensive(model, request))
        if why is not None:
            self.reached = why
            raise RunEnds

    def takes(self, usage: Usage) -> None:
        """Note what a claimed request took."""
        self.partly += usage.cost or 0.0
        self._ledger.answered(usage.cost)

    def _has_price(self) -> bool:
        if self._progress.usage.cost is None:
            why = (
                "the price of this model is not known"
                if self._progress.usage.input_tokens
                else "the endpoint does not report token counts (--missing-usage estimate goes on)"
            )
            self.reached = f"the greatest cost cannot be kept, because {why}"
        return self.reached is None
