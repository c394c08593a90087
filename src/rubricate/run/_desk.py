"""What a judge works with: the way to models, and the journal for parts of a judgement."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.rubric import NO_USAGE, Criterion, Usage, Verdict
from rubricate.run._progress import Progress
from rubricate.run.journal import Answers, Transcript, verdict_from_record, verdict_record
from rubricate.run.sending import Judgement, Locks, RunEnds, SendFor, Spending

__all__ = ["Desk"]

logger = logging.getLogger(__name__)
_of_part: ContextVar[Transcript | None] = ContextVar("_of_part", default=None)
"""The transcript of the part that is being asked for; parts are, at the same time."""


class Desk:
    """The desk of one judgement; see `judge.PartKeeper`.

    Args:
        send: how the judge reaches models.
        judgement: what the sender has to know of the judgement.
        spending: what the run spends.
        answers: what is known, and where answers are kept.
        progress: is kept up to date.
        on_progress: told of every part.
        places: room for so many parts in all of the run.
        locks: keep a part from being asked by two judgements at once.
        goes_on: whether anything more may be asked.

    Attributes:
        transcript: what was sent and received, but for the parts; None where nobody keeps it.
    """

    def __init__(
        self,
        send: SendFor,
        judgement: Judgement,
        spending: Spending,
        answers: Answers,
        progress: Progress,
        on_progress: Callable[[Progress], None],
        places: asyncio.Semaphore,
        locks: Locks,
        goes_on: Callable[[], bool],
    ) -> None:
        self.transcript = answers.transcript()
        # What is in the run's usage already, and what is no part of it because it was known.
        self._counted = NO_USAGE
        self._known = NO_USAGE
        self._send = send
        self._judgement = judgement
        self._spending = spending
        self._answers = answers
        self._progress = progress
        self._on_progress = on_progress
        self._places = places
        self._locks = locks
        self._goes_on = goes_on

    async def __call__(self, model: Model, request: Request) -> Completion:
        transcript = _of_part.get() or self.transcript
        if transcript is None:
            completion = await self._send(model, request, self._judgement)
        else:
            asked = time.time()
            try:
                completion = await self._send(model, request, self._judgement)
            except ModelError as error:
                transcript.failed(model, request, asked, error)
                raise
            transcript.answered(model, request, asked, completion)
        if self._spending.is_bounded:
            self._counted += completion.usage
        return completion

    def left(self, usage: Usage) -> Usage:
        """What is to be counted yet of all that the judgement took."""
        if not (self._counted.requests or self._known.requests):
            return usage
        left = usage - self._known - self._counted
        return left if left.requests >= 0 else NO_USAGE  # a judge that does not tell all

    def leave(self) -> None:
        """Nothing more is asked from here."""
        if self._spending.is_bounded:
            self._spending.partly -= self._counted.cost or 0.0

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """The answer under a key; asked for, and kept at once, where there is none.

        Raises:
            RunEnds: it is not known, and the run may ask nothing more.
        """
        progress, name = self._progress, criterion.name or ""
        if self.transcript is not None:
            self.transcript.part(key)
        async with self._locks.of(key):
            record = self._answers.known([key]).records.get(key)
            if record is not None and record["status"] != "failed":
                verdict = verdict_from_record(record, criterion, name)
                progress.parts_known += 1
                progress.saved += verdict.usage
                self._known += verdict.usage
            else:
                transcript = self._answers.transcript()
                verdict = await self._asked(ask, transcript)
                shared = bool(verdict.usage.requests) and verdict.status != "failed"
                self._answers.put(
                    key, verdict_record(verdict), shared=shared, transcript=transcript
                )
                progress.parts += 1
                logger.debug("a part, %s: %s", name, verdict.label or verdict.status)
        self._on_progress(progress)
        return verdict

    async def _asked(
        self, ask: Callable[[], Awaitable[Verdict]], transcript: Transcript | None
    ) -> Verdict:
        progress = self._progress
        async with self._places:
            if not self._goes_on():
                raise RunEnds
            progress.in_flight += 1
            token = _of_part.set(transcript)
            try:
                verdict = await ask()
            finally:
                _of_part.reset(token)
                progress.in_flight -= 1
        if not self._spending.is_bounded:
            progress.usage += verdict.usage
            self._counted += verdict.usage
        return verdict
