"""A call: what a judge is asked about an item at once, and the keys of its answers.

If the judge's own code raises an error, the call's verdicts are failed, and the run continues.
"""

from __future__ import annotations

import asyncio
import hashlib
import logging
from dataclasses import dataclass

from rubricate.dataset import Item
from rubricate.errors import JournalError, described
from rubricate.judge import Judge, Send, checked_key
from rubricate.rubric import Criterion, Failure, Verdict
from rubricate.run.sending import RunEnds

logger = logging.getLogger(__name__)
Group = list[Criterion]
"""Criteria that are asked about together."""


@dataclass(slots=True)
class Question:
    """A criterion to be judged, and the key of the answer."""

    criterion: Criterion
    key: str


@dataclass(slots=True)
class Call:
    """The criteria of an item that a judge is asked about together, mostly one.

    Attributes:
        voter: the judge's index among all of the run.
        judge: who is asked.
        suffix: what the keys of its replicate end in.
        questions: the criteria, with the keys of the answers.
        keys: these keys.
        failed_before: whether it failed in an earlier run.
    """

    voter: int
    judge: Judge
    suffix: str
    questions: list[Question]
    keys: list[str]
    failed_before: bool = False

    def about(self, questions: list[Question], *, failed_before: bool = False) -> Call:
        """The same call about some of its questions."""
        keys = [question.key for question in questions]
        return Call(self.voter, self.judge, self.suffix, questions, keys, failed_before)

    @property
    def needs_judge(self) -> bool:
        """Whether a judge is asked; if not, the verdict is computed."""
        return self.questions[0].criterion.needs_judge

    def failed(self, question: Question, failure: Failure) -> Verdict:
        """The verdict on one of its criteria where there is no usable answer."""
        name = question.criterion.name
        return Verdict(name, failure.status, error=failure, judge=self.judge.name)


def calls_about(
    voter: int, judge: Judge, suffix: str, item: Item, group: Group, wanted: Group
) -> list[Call]:
    """The call about those criteria of a group that are wanted.

    If the judge raises instead of giving their keys, each criterion gets its own call, and
    what has no key even then fails.
    """
    try:
        if len(group) == 1:
            key = judge.key(item, group[0])
            if not (isinstance(key, str) and key.isascii()):
                key = checked_key(judge, key)
            key += suffix
            return [Call(voter, judge, suffix, [Question(group[0], key)], [key])]
        keys = [checked_key(judge, key) + suffix for key in judge.keys(item, group)]
        pairs = zip(group, keys, strict=True)
        questions = [Question(criterion, key) for criterion, key in pairs if criterion in wanted]
        return [Call(voter, judge, suffix, questions, [question.key for question in questions])]
    except BaseException as error:
        if len(group) > 1:
            return [
                call
                for criterion in wanted
                for call in calls_about(voter, judge, suffix, item, [criterion], [criterion])
            ]
        key = unkeyed(judge, item, group[0]) + suffix
        return [Call(voter, Raises(judge, error), suffix, [Question(group[0], key)], [key])]


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
