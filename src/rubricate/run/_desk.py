"""What a judge works with: the way to models, and the journal for parts of a judgement."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager

from rubricate.judge import Completion, Model, Request, Send
from rubricate.rubric import NO_USAGE, Criterion, Verdict
from rubricate.run._answers import Answers
from rubricate.run._progress import Progress
from rubricate.run._records import verdict_from_record, verdict_record

__all__ = ["Desk", "RunEnds"]

logger = logging.getLogger(__name__)


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
        self._send = send
        self._answers = answers
        self._progress = progress
        self._on_progress = on_progress
        self._place = place
        self._goes_on = goes_on

    async def __call__(self, model: Model, request: Request) -> Completion:
        return await self._send(model, request)

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """The answer under a key; asked for, and kept at once, where there is none.

        Raises:
            RunEnds: it is not known, and the run may ask nothing more.
        """
        progress, name = self._progress, criterion.name or ""
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
                try:
                    verdict = await ask()
                finally:
                    progress.in_flight -= 1
            shared = bool(verdict.usage.requests) and verdict.status != "failed"
            self._answers.put(key, verdict_record(verdict), shared=shared)
            progress.parts += 1
            logger.debug("a part, %s: %s", name, verdict.label or verdict.status)
            progress.usage += verdict.usage
        self.counted += verdict.usage
        self._on_progress(progress)
        return verdict
