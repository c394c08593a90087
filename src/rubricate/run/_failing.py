"""What an error of a judge's or a criterion's code becomes: a failed verdict, and no run's end."""

from __future__ import annotations

import asyncio
import hashlib
import logging

from rubricate.dataset import Item
from rubricate.errors import JournalError, described
from rubricate.judge import Judge, Send
from rubricate.rubric import Criterion, Failure, Verdict
from rubricate.run.sending import RunEnds

logger = logging.getLogger(__name__)


def failure_of(error: BaseException, what: str) -> Failure:
    """Why a verdict is failed whose judge or criterion raised this.

    Everything that they raise fails one verdict, so that no text and no bug costs the others. The
    log at debug level has the traceback.

    Args:
        error: what was raised.
        what: what was being done, for the log.

    Raises:
        BaseException: the error itself, where it is not the judge's: the run is stopped or
            cancelled, or its journal cannot be written.
    """
    if _is_of_the_run(error):
        raise error
    logger.debug("%s: %s", what, described(error), exc_info=error)
    kind = "cancelled" if isinstance(error, asyncio.CancelledError) else "judge_error"
    return Failure(kind, described(error))


def _is_of_the_run(error: BaseException) -> bool:
    if isinstance(error, asyncio.CancelledError | GeneratorExit):
        # A judge may raise them, too. Then nobody has cancelled the task that it works in.
        try:
            task = asyncio.current_task()
        except RuntimeError:  # no loop is running: the coroutine is thrown away
            return True
        return task is None or task.cancelling() > 0
    return isinstance(error, RunEnds | JournalError | KeyboardInterrupt)


class Raises(Judge):
    """In place of a judge whose `key` has raised: raises the same, where its verdict is due.

    Args:
        judge: the judge.
        error: what it has raised.
    """

    def __init__(self, judge: Judge, error: BaseException) -> None:
        self.name = judge.name
        self._error = error

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        raise self._error


def unkeyed(judge: Judge, item: Item, criterion: Criterion) -> str:
    """A key for what a judge has none for, under which only its failure is ever kept."""
    texts = (judge.name, item.id, item.submission, item.prompt, item.reference, criterion.name)
    digest = hashlib.blake2b(repr(texts).encode("utf-8", "surrogatepass"), digest_size=16)
    return f"no-key-{digest.hexdigest()}"
