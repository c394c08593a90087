"""How a run's requests reach models: limited, retried, and stopped when there is no point."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.run._limits import Limiter
from rubricate.run._retries import RetryPolicy

__all__ = ["Sender"]

FAILURES_IN_A_ROW = 10
"""Calls given up one after another before an endpoint that has worked is taken for dead."""


REFUSALS_AT_FIRST = 5
"""Requests refused as wrong, with none ever accepted, before a run is given up: 200 more would be
refused the same way."""


class Sender:
    """Sends requests for one run.

    The first request goes alone: a wrong key, a dead endpoint and the endpoint's way of structured
    output are found out with one request, not with as many as may be in flight.

    Attributes:
        stopped_by: the error that ended the run, if one did: nothing is sent from then on.
    """

    def __init__(
        self,
        *,
        concurrency: int,
        retries: RetryPolicy,
        on_trouble: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._concurrency = concurrency
        self._retries = retries
        self._on_trouble = on_trouble
        self._limiters: dict[str, Limiter] = {}
        self._chance = random.Random(0)
        self._scout = asyncio.Lock()
        self._has_answered = False
        self._has_accepted = False
        self._failures = 0
        self._refusals = 0
        self.stopped_by: ModelError | None = None

    async def __call__(self, model: Model, request: Request) -> Completion:
        if self._has_answered:
            return await self._send(model, request)
        async with self._scout:
            if not self._has_answered:
                return await self._send(model, request)
        return await self._send(model, request)

    async def _send(self, model: Model, request: Request) -> Completion:
        limiter = self._limiters.get(model.endpoint)
        if limiter is None:
            limiter = self._limiters[model.endpoint] = Limiter(self._concurrency)
        begin = time.monotonic()
        attempt = requests = 0
        while True:
            if self.stopped_by is not None:
                raise self._repeated(self.stopped_by, requests)
            attempt += 1
            try:
                async with limiter:
                    if self.stopped_by is not None:  # while this one waited
                        raise self._repeated(self.stopped_by, 0)
                    completion = await model.complete(request)
            except ModelError as error:
                requests += error.requests
                wait = self._retries.wait(error, attempt, time.monotonic() - begin, self._chance)
                if wait is None:
                    self._gave_up(error)
                    error.requests = requests
                    raise
                self._on_trouble(str(error))
                if error.kind == "rate_limit" and error.retry_after is not None:
                    limiter.pause(error.retry_after)
                await asyncio.sleep(wait)
            else:
                self._has_answered = self._has_accepted = True
                self._failures = 0
                usage = completion.usage
                usage = replace(usage, requests=usage.requests + requests)
                return replace(completion, usage=usage)

    def _gave_up(self, error: ModelError) -> None:
        # Once a request has been accepted the key is good, and a 403 is about one prompt.
        fatal = error.fatal and not (error.status == 403 and self._has_accepted)
        if error.retryable:
            self._failures += 1
            fatal = not self._has_answered or self._failures >= FAILURES_IN_A_ROW
        elif not fatal:
            self._has_answered = True
            self._refusals += 1
            fatal = error.kind == "bad_request" and not self._has_accepted
            fatal = fatal and self._refusals >= REFUSALS_AT_FIRST
        if fatal and self.stopped_by is None:
            self.stopped_by = error

    @staticmethod
    def _repeated(error: ModelError, requests: int) -> ModelError:
        copy = ModelError(error.kind, str(error), status=error.status)
        copy.requests = requests
        return copy
