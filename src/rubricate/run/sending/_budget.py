"""Keeps a run within its maximum cost."""

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
    """Ends the current judgement because the run may send nothing more.

    A `BaseException`, so that a judge or a retry that catches `Exception` does not swallow it.
    """


class Expense:
    """What one judgement uses of the maximum cost.

    Args:
        account: the account of its judge.
        wake: called at the end.

    Attributes:
        is_whole: whether it reached a verdict, so that its cost is that of a whole judgement.
    """

    def __init__(self, account: Account, wake: Callable[[], None]) -> None:
        self.is_whole = False
        self._account, self._wake = account, wake
        self._paid = 0.0
        account.begin()

    def takes(self, usage: Usage) -> None:
        """Record the usage of one request."""
        self._paid += usage.cost or 0.0
        self._account.known -= usage.cost or 0.0

    def end(self) -> None:
        """Close the expense once the judgement has ended."""
        self._account.known += self._paid
        self._account.end(self._paid if self.is_whole else None)
        self._wake()


class Spending:
    """Keeps the spending of a run below its maximum cost.

    A judgement starts if the budget covers it together with those in progress, each assumed to cost
    as much as the most expensive of its judge so far. A judge's first judgement goes alone, to show
    the price. If the budget does not cover it, it waits for the others to end. Every request,
    including retries and hedges, is reserved in the run's ledger, which also knows what other
    commands and processes have paid.

    Args:
        max_cost: US dollars that the run may cost.
        progress: what was spent so far; kept up to date.
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
        """Why no further judgement may start; None if one may."""
        usage = self._progress.usage
        if usage.cost is None:
            why = (
                "the price of this model is not known; give --prices"
                if usage.input_tokens
                else "the endpoint does not report token counts (see --missing-usage)"
            )
        elif self._ended == "unknown":
            why = (
                "what this run has paid so far is not known; give --prices, or start over with "
                "--fresh"
            )
        else:
            return None if self._ended == "granted" else self._ledger.reached(self._max_cost)
        return f"--max-cost (max_cost) cannot be kept, because {why}"

    @property
    def goes_on(self) -> bool:
        """Whether judgements may start."""
        return self._ended == "granted" and self._progress.usage.cost is not None

    async def begin(self, judge: str) -> Expense | None:
        """Wait until a judgement may start. Returns its expense, or None if it may not start.

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
        """Whether the budget covers a judgement beside those in progress."""
        judgements, remaining = self._ledger.judgements, self._ledger.remaining(self._max_cost)
        known, free = judgements.sum_of(judge), remaining - judgements.held
        if not known.ended:  # a judge's first judgement goes alone
            return not judgements.own[judge].open and free > 0.0
        return known.dearest <= free

    async def _fits_alone(self, judge: str) -> bool:
        """Whether the budget covers a judgement on its own; if not, the run ends."""
        average = self._ledger.judgements.sum_of(judge).average
        self._ended = await self._ledger.check(self._max_cost, average)
        return self.goes_on

    async def claim(self, model: Model, request: Request) -> Settle:
        """Wait until the budget allows a request, including retries and hedges.

        Returns:
            The function to call with its cost.

        Raises:
            RunEnds: the budget does not allow it.
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
