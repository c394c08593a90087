"""Requests that wait far longer than others: sent a second time, or given up to be sent again.

What is far is derived from the latencies seen (`Latencies`). While the endpoint is in trouble, or
does not answer anybody, nothing is late: waiting longer is then right.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.run._limits import Limiter

__all__ = ["LostRequest", "complete_in_time"]

LOOK_EVERY = 1.0
"""Seconds until a waiting request is looked at first, and between looks."""


class LostRequest(ModelError):
    """A request that was given up because others were answered far sooner."""


async def complete_in_time(
    model: Model, request: Request, limiter: Limiter, patience: float
) -> Completion:
    """Ask a model; where its answer is late, ask a second time beside it, the first answer wins.

    Both count in the usage. Models that are not `repeatable` are just asked.

    Args:
        model, request: what to ask, and whom.
        limiter: the endpoint's; a second request goes only where it has room.
        patience: by how much more than usual this request may be late.

    Raises:
        LostRequest: it is taken for lost.
        ModelError: the model's own.
    """
    if not getattr(model, "repeatable", False):
        return await model.complete(request)
    watch = _Watch(model, request, limiter, patience)
    try:
        completion = await model.complete(request)
    except asyncio.CancelledError:
        if not watch.take_back():  # somebody else's cancellation
            raise
        if watch.answer is None:
            raise watch.lost() from None
        completion = watch.answer
    except ModelError as error:
        watch.take_back()
        error.requests += watch.second is not None
        raise
    finally:
        watch.end()
    if watch.second is not None:
        usage = completion.usage
        completion = replace(completion, usage=replace(usage, requests=usage.requests + 1))
    return completion


class _Watch:
    """Watches one request from its sending to its end.

    Attributes:
        second: the second request, if there was one.
        answer: the second request's answer, if it came first.
    """

    __slots__ = (
        "_answers",
        "_begin",
        "_cancelling",
        "_interrupted",
        "_limiter",
        "_loop",
        "_model",
        "_patience",
        "_request",
        "_task",
        "_timer",
        "answer",
        "second",
    )

    def __init__(self, model: Model, request: Request, limiter: Limiter, patience: float) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._model, self._request = model, request
        self._limiter, self._patience = limiter, patience
        self._task, self._cancelling = task, task.cancelling()
        self._begin = time.monotonic()
        self._answers = limiter.latencies.count
        self._interrupted = False
        self.second: asyncio.Task[None] | None = None
        self.answer: Completion | None = None
        self._loop = task.get_loop()
        self._timer = self._loop.call_later(LOOK_EVERY, self._look)

    def _look(self) -> None:
        limiter, latencies = self._limiter, self._limiter.latencies
        waited = time.monotonic() - self._begin
        self._timer = self._loop.call_later(LOOK_EVERY, self._look)
        if latencies.second_after is None or latencies.lost_after is None or limiter.in_trouble:
            return
        if waited >= self._patience * latencies.lost_after:
            overtaken = latencies.is_overtaken(self._answers)
            if self.second is not None or overtaken or latencies.spend():
                self._interrupt()
        elif (
            self.second is None
            and waited >= self._patience * latencies.second_after
            and limiter.has_room
            and latencies.spend()
        ):
            self.second = self._loop.create_task(self._ask_again())

    async def _ask_again(self) -> None:
        await self._limiter.acquire()
        try:
            answer = await self._model.complete(self._request)
        except ModelError:
            return  # the first may still be answered
        finally:
            self._limiter.release()
        if not self._timer.cancelled():
            self.answer = answer
            self._interrupt()

    def _interrupt(self) -> None:
        self._timer.cancel()
        self._interrupted = True
        self._task.cancel()

    def take_back(self) -> bool:
        """Undo the cancellation that this watch asked for; whether there was only that one."""
        return self._interrupted and self._task.uncancel() <= self._cancelling

    def lost(self) -> ModelError:
        """What a request that is given up failed with."""
        waited = time.monotonic() - self._begin
        error = LostRequest("timeout", f"no answer within {waited:.1f} s, far longer than others")
        error.requests += self.second is not None
        return error

    def end(self) -> None:
        """Stop watching; the request that lost is cancelled."""
        self._timer.cancel()
        if self.second is not None and self.answer is None:
            self.second.cancel()
