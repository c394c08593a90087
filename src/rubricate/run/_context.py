"""The execution context of a judgement: the way to models, and the journal for parts of it."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.rubric import NO_USAGE, UNANSWERED, Criterion, Usage, Verdict
from rubricate.run._pool import Pool
from rubricate.run._progress import Progress
from rubricate.run.journal import (
    Answers,
    Locks,
    Transcript,
    lock_of,
    verdict_from_record,
)
from rubricate.run.sending import Claim, Expense, Judgement, RunEnds, SendFor

logger = logging.getLogger(__name__)
_of_part: ContextVar[Transcript | None] = ContextVar("_of_part", default=None)
"""The transcript of the part that is being asked for; parts are, at the same time."""


@dataclass(slots=True)
class RunContext:
    """What all judgements of a run share.

    Attributes:
        send: how requests reach models.
        claim: as of a `Judgement`.
        answers: the stored answers, and where new ones are kept.
        progress: is kept up to date.
        on_progress: called after every part.
        places: how many parts may be asked at once, in all of the run.
        may_continue: whether judgements that have started may send anything more.
        pool: starts other judgements while one waits to be sent again.
        locks: keep a part, or a request that is kept, from being asked by two judgements at once.
    """

    send: SendFor
    claim: Claim | None
    answers: Answers
    progress: Progress
    on_progress: Callable[[], None]
    places: asyncio.Semaphore
    may_continue: Callable[[], bool]
    pool: Pool
    locks: Locks


class Context(Judgement):
    """What a judge is given to work with: it sends, and keeps parts; see `judge.PartKeeper`.

    Args:
        run: what it shares with all others.
        item: what is judged.
        failed_before: whether the judgement failed in an earlier run.
        expense: what it takes of the maximum cost; None where the run has none.
        replicate: what the keys of its replicate end in.

    Attributes:
        transcript: what was sent and received, but for the parts; None where nobody keeps it.
        took: what all requests took so far, whatever the judge says of it.
    """

    __slots__ = ("_expense", "_known", "_run", "took", "transcript")

    def __init__(
        self,
        run: RunContext,
        item: object,
        failed_before: bool,
        expense: Expense | None = None,
        replicate: str = "",
    ) -> None:
        self.item = item
        self.failed_before = failed_before
        self.replicate = replicate
        self.ends = self.failed_at = None
        self.transcript = run.answers.transcript()
        self._run = run
        self._known = self.took = NO_USAGE  # the former is no part of the run's usage
        self._expense = expense
        self.claim = run.claim

    def takes(self, usage: Usage) -> None:
        self.took = usage if self.took is NO_USAGE else self.took + usage
        self._run.progress.takes(usage)
        if self._expense is not None:
            self._expense.takes(usage)

    def aside(self, waits: bool) -> None:
        self._run.pool.set_aside(waits)

    def look_ahead(self) -> bool:
        return self._run.pool.look_ahead()

    async def __call__(self, model: Model, request: Request) -> Completion:
        run = self._run
        transcript = _of_part.get() or self.transcript
        started = time.time()
        try:
            if request.kept:
                from rubricate.run._kept import kept_completion

                completion = await kept_completion(
                    run.send, run.answers, run.locks, model, request, self
                )
            else:
                completion = await run.send(model, request, self)
        except ModelError as error:
            if transcript is not None:
                transcript.failed(model, request, started, error)
            raise
        if transcript is not None:
            transcript.answered(model, request, started, completion)
        return completion

    def unreported(self, usage: Usage) -> Usage:
        """What was requested and the judge leaves out of its verdicts' usage."""
        return NO_USAGE if usage.requests >= self.took.requests else self.took - usage

    def uncounted(self, usage: Usage) -> Usage:
        """What is to be counted yet of all that the judgement took: what it did not `send`."""
        uncounted = usage - self._known - self.took
        return uncounted if uncounted.requests >= 0 else NO_USAGE  # a judge that does not tell all

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """The answer under a key; asked for, and kept at once, where there is none.

        Raises:
            RunEnds: it is not known, and the run may ask nothing more.
        """
        run, progress, name = self._run, self._run.progress, criterion.name
        if self.transcript is not None:
            self.transcript.part(key)
        async with lock_of(run.locks, key):
            record = await run.answers.find(key)
            is_known = record is not None and record["status"] != "failed"
            if not is_known and await run.answers.own_turn(key):
                record = await run.answers.find(key)
            if record is not None and record["status"] != "failed":
                verdict = verdict_from_record(record, criterion)
                progress.parts_known += 1
                progress.saved += verdict.usage
                self._known += verdict.usage
            else:
                transcript = run.answers.transcript()
                try:
                    verdict = await self._asked(ask, transcript)
                    shared = bool(verdict.usage.requests) and verdict.status not in UNANSWERED
                    run.answers.put(key, verdict, shared=shared, transcript=transcript)
                finally:
                    run.answers.release([key])
                progress.parts += 1
                logger.debug("a part, %s: %s", name, verdict.label or verdict.status)
        run.on_progress()
        return verdict

    async def _asked(
        self, ask: Callable[[], Awaitable[Verdict]], transcript: Transcript | None
    ) -> Verdict:
        run, progress = self._run, self._run.progress
        async with run.places:
            if not run.may_continue():
                raise RunEnds
            progress.in_flight += 1
            token = _of_part.set(transcript)
            try:
                verdict = await ask()
            finally:
                _of_part.reset(token)
                progress.in_flight -= 1
        return verdict
