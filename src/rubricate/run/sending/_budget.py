"""What a run spends on its way, and when that is as much as it may."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from rubricate.judge import Completion, Model, Request
from rubricate.run._progress import Progress
from rubricate.run.sending._judgement import Judgement, SendFor

if TYPE_CHECKING:
    from rubricate.run.sending._accounts import Account, Part

__all__ = ["RunEnds", "Spending"]

ROUNDING = 1 + 1e-9
AHEAD, OFTEN = 4.0, 0.5
"""How many judgements a process is granted ahead at first; twice as many where it asks again within
so many seconds, half as many where it does not."""
AGAIN, PATIENCE = 0.2, 5.0
"""Seconds until it asks again where others may give back what they were granted, and for which they
may."""


class RunEnds(Exception):
    """Nothing more is to be asked; the judgement under way is left where it is."""


class Spending:
    """What a run spends on its way, against its greatest cost.

    A judgement is begun if it fits together with those in flight, each taken for as dear as one
    has been on average; and so is every request. The first of each goes alone: it shows what they
    cost. Requests are counted as they are answered, not when their judgement is done.

    Args:
        max_cost: US dollars that may be spent; None for no bound, and nothing is counted.
        progress: has what was spent, and is kept up to date.
        account: what all processes of the run spend together; None for one process.
        patience: seconds to wait for an account that cannot be read.

    Attributes:
        is_bounded: whether there is a bound.
        reached: why nothing more may be asked; None where it may.
        partly: US dollars that judgements have taken so far that are not done.
    """

    def __init__(
        self,
        max_cost: float | None,
        progress: Progress,
        account: Account | None = None,
        patience: float = 120.0,
    ) -> None:
        self.is_bounded = max_cost is not None
        self.reached: str | None = None
        self.partly = 0.0
        self._max_cost = max_cost or 0.0
        self._progress = progress
        self._first_judgement = asyncio.Lock()
        self._first_request = asyncio.Lock()
        self._requests = 0  # in flight
        self._part: Part | None = None
        if account is not None and max_cost is not None:
            self._part = account.part(max_cost)
        self._patience = patience
        self._asking = asyncio.Lock()
        self._asked, self._ahead = time.monotonic(), AHEAD

    def has_room(self, judgements: int) -> bool:
        """Whether so many further judgements fit; `reached` says why not."""
        progress = self._progress
        asked = progress.calls + progress.parts
        if self.is_bounded and asked and self.reached is None and self._price_is_known():
            average = (progress.usage.cost or 0.0) / asked
            on_way = max(0.0, progress.in_flight * average - self.partly)
            self._check(on_way + judgements * average)
        return self.reached is None

    def affords(self, judgements: int) -> bool:
        """Whether so many further judgements fit, as far as is known; nothing comes of it."""
        progress = self._progress
        asked, cost = progress.calls + progress.parts, progress.usage.cost
        if not self.is_bounded:
            return True
        if not asked or cost is None:
            return False
        on_way = max(0.0, progress.in_flight * cost / asked - self.partly)
        return cost + on_way + judgements * cost / asked <= self._max_cost * ROUNDING

    async def secure(self, judgements: int) -> None:
        """Wait until so many further judgements are granted, or `reached` says why they are not."""
        if self._part is not None:
            await self._secure(self._part, lambda: judgements * self._average)

    @property
    def _average(self) -> float:
        """US dollars that a judgement has cost on average; 0 while that is not known."""
        asked = self._progress.calls + self._progress.parts
        return self._spent / asked if asked else 0.0

    @property
    def _on_way(self) -> float:
        """US dollars that what is in flight will cost."""
        usage, judgements = self._progress.usage, self._progress.in_flight * self._average
        requests = self._requests * self._spent / usage.requests if usage.requests else 0.0
        return max(0.0, judgements - self.partly, requests)

    def _beyond(self, average: float) -> float:
        """What one more request takes beyond what is in flight."""
        return (self._requests + 1) * average - self._on_way

    async def _secure(self, part: Part, more: Callable[[], float]) -> None:
        """Wait until so much more is granted; nothing may be awaited before it is used.

        Where it is not known what anything costs, wait until anything is left at all.
        """
        begin = time.monotonic()
        while self.reached is None and not self._is_granted(part, more()):
            async with self._asking:
                if self._is_granted(part, more()):  # another has asked meanwhile
                    return
                await self._ask(part, max(0.0, more()), begin)

    def _is_granted(self, part: Part, more: float) -> bool:
        return self._spent + self._on_way + max(0.0, more) <= part.granted * ROUNDING

    async def _ask(self, part: Part, more: float, begin: float) -> None:
        from rubricate.run.sending._stores import StoreError, StoreLost

        now, ahead = time.monotonic(), self._ahead
        self._ahead = min(1e6, 2.0 * ahead) if now - self._asked < OFTEN else max(1.0, ahead / 2.0)
        self._asked = now
        try:
            answer = await asyncio.to_thread(
                part.ask, self._spent, self._on_way, more, self._ahead * more
            )
        except StoreError as error:
            answer = "wait"
            if isinstance(error, StoreLost) or now - begin >= self._patience:
                self.reached = (
                    "the greatest cost cannot be kept, because it is not known what other "
                    f"processes of this run have spent: {error}"
                )
        else:
            if answer == "spent" or (answer == "wait" and now - begin >= PATIENCE):
                self.reached = f"{self._bound} is reached by the processes of this run together"
        if answer == "wait" and self.reached is None:
            await asyncio.sleep(AGAIN)

    async def close(self) -> None:
        """Give back what was granted and is not spent."""
        part, self._part = self._part, None
        if part is not None:
            from rubricate.run.sending._stores import StoreError

            with suppress(StoreError):  # then all that was granted counts as spent
                await asyncio.to_thread(part.leave, self._spent)

    @property
    def _spent(self) -> float:
        return self._progress.usage.cost or 0.0

    @property
    def _bound(self) -> str:
        return f"the greatest cost of ${self._max_cost:g}"

    async def send(
        self, send: SendFor, model: Model, request: Request, judgement: Judgement
    ) -> Completion:
        """Send a request, if it fits.

        Raises:
            RunEnds: it does not.
        """
        if not self._progress.usage.requests:
            async with self._first_request:
                if not self._progress.usage.requests:
                    return await self._sent(send, model, request, judgement)
        if self.reached is None and self._price_is_known():
            average = self._spent / self._progress.usage.requests
            self._check((self._requests + 1) * average)
            if self._part is not None and self._beyond(average) > 0.0:
                await self._secure(self._part, lambda: self._beyond(average))
        if self.reached is not None:
            raise RunEnds
        return await self._sent(send, model, request, judgement)

    async def _sent(
        self, send: SendFor, model: Model, request: Request, judgement: Judgement
    ) -> Completion:
        self._requests += 1
        try:
            completion = await send(model, request, judgement)
        finally:
            self._requests -= 1
        self._progress.usage += completion.usage
        self.partly += completion.usage.cost or 0.0
        return completion

    def _price_is_known(self) -> bool:
        if self._progress.usage.cost is None:
            self.reached = (
                "the greatest cost cannot be kept, because the price of this model is not known"
            )
        return self.reached is None

    def _check(self, more: float) -> None:
        """Note that the bound is reached where so much more does not fit."""
        if (self._progress.usage.cost or 0.0) + more > self._max_cost * ROUNDING:
            self.reached = f"{self._bound} is reached"
