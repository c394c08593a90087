"""What a judge works with: the way to models, and the journal for parts of a judgement."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from contextvars import ContextVar

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request, Send
from rubricate.rubric import NO_USAGE, Criterion, Verdict
from rubricate.run._answers import Answers
from rubricate.run._exchanges import Transcript
from rubricate.run._progress import Progress
from rubricate.run._records import verdict_from_record, verdict_record

__all__ = ["Desk", "RunEnds"]

logger = logging.getLogger(__name__)
_of_part: ContextVar[Transcript | None] = ContextVar("_of_part", default=None)
"""The transcript of the part that is being asked for; parts are, at the same time."""


class RunEnds(Exception):
    """Nothing more is to be asked; the judgement under way is left where it is."""


class Desk:
    """The desk of one judgement; see `judge.PartKeeper`.

    Args:
        send: how the judge reaches models.
        answers: what is known, and where answers are kept.
        progress: is kept up to date.
        on_progress: told of every part.
        place: where a part is asked; there is room for so many in all of the run.
        goes_on: whether anything more may be asked.

    Attributes:
        counted: what the parts took, which is in the run's usage already or was spent before it.
        transcript: what was sent and received, but for the parts; None where nobody keeps it.
    """

    def __init__(
        self,
        send: Send,
        answers: Answers,
        progress: Progress,
        on_progress: Callable[[Progress], None],
        place: Callable[[], AbstractAsyncContextManager[None]],
        goes_on: Callable[[], bool],
    ) -> None:
        self.counted = NO_USAGE
        self.transcript = answers.transcript()
        self._send = send
        self._answers = answers
        self._progress = progress
        self._on_progress = on_progress
        self._place = place
        self._goes_on = goes_on

    async def __call__(self, model: Model, request: Request) -> Completion:
        transcript = _of_part.get() or self.transcript
        if transcript is None:
            return await self._send(model, request)
        asked = time.time()
        try:
            completion = await self._send(model, request)
        except ModelError as error:
            transcript.failed(model, request, asked, error)
            raise
        transcript.answered(model, request, asked, completion)
        return completion

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
        record = self._answers.known([key]).records.get(key)
        if record is not None and record["status"] != "failed":
            verdict = verdict_from_record(record, criterion, name)
            progress.parts_known += 1
            progress.saved += verdict.usage
        else:
            async with self._place():
                if not self._goes_on():
                    raise RunEnds
                progress.in_flight += 1
                transcript = self._answers.transcript()
                token = _of_part.set(transcript)
                try:
                    verdict = await ask()
                finally:
                    _of_part.reset(token)
                    progress.in_flight -= 1
            shared = bool(verdict.usage.requests) and verdict.status != "failed"
            self._answers.put(key, verdict_record(verdict), shared=shared, transcript=transcript)
            progress.parts += 1
            logger.debug("a part, %s: %s", name, verdict.label or verdict.status)
            progress.usage += verdict.usage
        self.counted += verdict.usage
        self._on_progress(progress)
        return verdict
