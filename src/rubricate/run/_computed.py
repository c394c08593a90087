"""Criteria that need no judge: they are computed from the text, within a time limit."""

from __future__ import annotations

import asyncio
import hashlib
import inspect
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

import orjson

from rubricate._sync import in_thread
from rubricate.dataset import Item
from rubricate.errors import UnreadableReply, described
from rubricate.judge import Judge, Send
from rubricate.rubric import (
    NOT_APPLICABLE,
    Computed,
    ComputedCriterion,
    Criterion,
    Failure,
    Verdict,
)

_T = TypeVar("_T")
GRACE = 0.25
"""Extra seconds for computations that stop themselves at their time limit."""


class Code(Judge):
    """Judges computed criteria, without a request."""

    name = "code"

    def key(self, item: Item, criterion: Criterion) -> str:
        assert isinstance(criterion, ComputedCriterion)
        digest = hashlib.blake2b(digest_size=16)
        digest.update(orjson.dumps([criterion.kind, criterion.identity()]))
        for text in (item.submission, item.prompt, item.reference or ""):
            digest.update(b"\0" + text.encode("utf-8", "surrogatepass"))
        if criterion.sees_item:
            digest.update(orjson.dumps(item.data.to_dict(), default=repr))
        return digest.hexdigest()

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        assert isinstance(criterion, ComputedCriterion)
        limit = criterion.time_limit
        begin = time.monotonic()
        try:
            result = criterion.compute_at_once(item.submission) or await _within(
                limit + GRACE, lambda: criterion.compute(item.submission, item.data)
            )
            return self._verdict(criterion, result)
        except TimeoutError as error:
            if time.monotonic() - begin < limit:  # raised by the code itself
                return self._failed(criterion, "code_error", described(error))
            message = f"not done within {limit:g} s, its time limit"
            return self._failed(criterion, "time_limit", message)
        except UnreadableReply as error:
            return self._failed(criterion, "unusable_answer", str(error))
        except Exception as error:
            return self._failed(criterion, "code_error", described(error))

    def _verdict(self, criterion: Criterion, result: object) -> Verdict:
        if isinstance(result, Verdict):
            if result.status == "failed":
                error = result.error or Failure("code_error", "the function gave a failed verdict")
                return replace(result, criterion=criterion.name, judge=self.name, error=error)
            computed = Computed(_answer(criterion, result), result.reason, result.evidence)
        else:
            computed = result if isinstance(result, Computed) else Computed(result)
        return criterion.verdict_of(
            criterion.read(computed.answer),
            reason=computed.reason,
            evidence=computed.evidence,
            judge=self.name,
        )

    def _failed(self, criterion: Criterion, kind: str, message: str) -> Verdict:
        failure = Failure(kind, message)
        return Verdict(criterion.name, "failed", error=failure, judge=self.name)


CODE = Code()


def _answer(criterion: Criterion, verdict: Verdict) -> object:
    """The answer from which the verdict of user code can be derived."""
    if verdict.status == "not_applicable":
        return NOT_APPLICABLE
    if verdict.status == "abstained":
        return None
    if verdict.label is None:
        return verdict.value
    if verdict.value is not None:
        label = criterion.read(verdict.label).label
        if criterion.value(label) != verdict.value:
            raise UnreadableReply(
                f"the function gave a verdict with the label {verdict.label} and the value "
                f"{verdict.value}; give one of them"
            )
    return verdict.label


def _bearable(error: BaseException) -> BaseException:
    """The error, or a replacement if it would end the run and not only the judgement."""
    return error if isinstance(error, Exception) else RuntimeError(described(error))


async def _awaited(awaitable: Awaitable[_T]) -> _T:
    try:
        return await awaitable
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise _bearable(error) from None
    except SystemExit as error:
        raise _bearable(error) from None


async def _within(seconds: float, function: Callable[[], _T | Awaitable[_T]]) -> Any:
    """The result of a plain or async function. Raises `TimeoutError` after the limit.

    A plain function runs in a thread, which is abandoned if it does not end, because a thread
    cannot be stopped. An awaitable result is awaited in the caller's event loop.
    """

    def work() -> _T | Awaitable[_T]:
        try:
            return function()
        except Exception:
            raise
        except BaseException as error:
            raise _bearable(error) from None

    async with asyncio.timeout(seconds):
        result = await in_thread(work, late=_close)
        return await _awaited(result) if inspect.isawaitable(result) else result


def _close(value: object) -> None:
    """Close a coroutine that will not be awaited."""
    if inspect.iscoroutine(value):
        value.close()
