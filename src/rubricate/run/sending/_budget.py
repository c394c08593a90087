"""What a run spends on its way, and when that is as much as it may."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable
from functools import partial

from rubricate._usage import Usage
from rubricate.judge import Model, Request
from rubricate.run._progress import Progress
from rubricate.run.journal import Account, Answer, Ledger
from rubricate.run.sending._bills import price_of
from rubricate.run.sending._judgement import Settle


class RunEnds(BaseException):
    """Nothing more is to be asked; the current judgement ends where it is.

    No `Exception`: a judge or a retry that catches those is ended with the run.
    """


class Expense:
    """What one judgement takes of a greatest cost.

    Args:
        account: of its judge's judgements.
        wake: called at the end.

    Attributes:
        is_whole: whether it has come to a verdict, so that its cost is that of a judgement.
    """

    def __init__(self, account: Account, wake: Callable[[], None]) -> None:
        self.is_whole = False
        self._account, self._wake = account, wake
        self._paid = 0.0
        account.begin()

    def takes(self, usage: Usage) -> None:
        """Note what a part of it took."""
        self._paid += usage.cost or 0.0
        self._account.known -= usage.cost or 0.0

    def end(self) -> None:
        """Note that it has ended."""
        self._account.known += self._paid
        self._account.end(self._paid if self.is_whole else None)
        self._wake()


class Spending:
    """What a run spends on its way, against its greatest cost.

    A judgement starts if it fits together with those that have started, each taken for as dear as
    the dearest of its judge so far; the first of a judge shows what one costs. Where it does not
    fit, it waits for them. Each of its requests, also a second or a repeated one, is reserved in
    the run's ledger, which knows what other commands and processes have paid.

    Args:
        max_cost: US dollars that the run may cost.
        progress: has what was spent, and is kept up to date.
        ledger: what the run has cost so far.
    """

    def __init__(self, max_cost: float, progress: Progress, ledger: Ledger) -> None:
        self._max_cost = max_cost
        self._progress = progress
        self._ledger = ledger
        self._ended: Answer = "granted"
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    @property
    def reached(self) -> str | None:
        """Why no further judgement may start; None where one may."""
        usage = self._progress.usage
        if usage.cost is None:
            why = (
                "the price of this model is not known"
                if usage.input_tokens
                else "the endpoint does not report token counts (see --missing-usage)"
            )
        elif self._ended == "unknown":
            why = (
                "what this run has paid so far is not known; give --prices, or begin anew with "
                "--fresh"
            )
        else:
            return None if self._ended == "granted" else self._ledger.reached(self._max_cost)
        return f"the greatest cost cannot be kept, because {why}"

    @property
    def goes_on(self) -> bool:
        """Whether judgements may start."""
        return self._ended == "granted" and self._progress.usage.cost is not None

    async def begin(self, judge: str) -> Expense | None:
        """Wait until a judgement may start; its expense, or None if it may not.

        Args:
            judge: the name of the judge's account.

        Raises:
            JournalError: the journal cannot be used.
        """
        judgements = self._ledger.judgements
        account = judgements.of(judge)
        async with self._turns[judge]:
            while self.goes_on:
                is_alone = not any(each.open for each in judgements.own.values())
                if self._fits(judge) or (is_alone and await self._fits_alone(judge)):
                    return Expense(account, self._ledger.wake)
                if not is_alone:
                    await self._ledger.wait()
        return None

    def _fits(self, judge: str) -> bool:
        """Whether a judgement fits beside those that have started."""
        judgements, remaining = self._ledger.judgements, self._ledger.remaining(self._max_cost)
        known, free = judgements.sum_of(judge), remaining - judgements.held
        if not known.ended:  # the first one of a judge goes alone
            return not judgements.own[judge].open and free > 0.0
        return known.dearest <= free

    async def _fits_alone(self, judge: str) -> bool:
        """Whether a judgement fits beside nothing else; if not, the run ends."""
        average = self._ledger.judgements.sum_of(judge).average
        self._ended = await self._ledger.check(self._max_cost, average)
        return self.goes_on

    async def claim(self, model: Model, request: Request) -> Settle:
        """Wait until a request may be sent, also a second or a repeated one.

        Returns:
            What is to be called with its cost.

        Raises:
            RunEnds: it may not.
            JournalError: the journal cannot be used.
        """
        self._ledger.price = model.price
        price = price_of(model, request)
        answer: Answer = "unknown"
        if self._progress.usage.cost is not None:
            answer = await self._ledger.reserve(self._max_cost, price)
        if answer != "granted":
            self._ended = answer
            raise RunEnds
        return partial(self._ledger.settle, price)
