"""How a run's requests reach models: limited, retried, and stopped when there is no point."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.run._late import LostRequest, Watchdog
from rubricate.run._limits import Limiter, Limits, limiter_of
from rubricate.run._retries import RetryPolicy

__all__ = ["Sender"]

GIVEN_UP_IN_A_ROW, GIVEN_UP_IN_OUTAGE = 10, 2
"""Calls given up one after another before an endpoint that has worked is taken for dead; in an
outage that has lasted too long, two are enough."""
REFUSALS_AT_FIRST = 5
"""Requests refused as wrong, with none ever accepted, before a run is given up: 200 more would be
refused the same way."""
ALONE = 0.3
"""Seconds that the first request goes alone at most, if it gets no answer at all."""


class Sender:
    """Sends requests for one run; a context manager, in the loop that sends.

    The first request goes alone: a wrong key, a dead endpoint and the endpoint's way of structured
    output are found out with one request, not with as many as may be in flight.

    Args:
        limits: what each endpoint is asked at most, together with other runs in the process.
        retries: when a failed request is sent again.
        on_trouble: told of every failure that is retried, in words.

    Attributes:
        stopped_by: the error that ended the run, if one did: nothing is sent from then on.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        retries: RetryPolicy,
        on_trouble: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._limits = limits
        self._retries = retries
        self._on_trouble = on_trouble
        self._limiters: dict[str, Limiter] = {}
        self._chance = random.Random(0)
        self._watchdog = Watchdog()
        self._open = False
        self._first: asyncio.Future[None] | None = None
        self._has_answered = False
        self._has_accepted = False
        self._given_up = 0
        self._refusals = 0
        self.stopped_by: ModelError | None = None

    def __enter__(self) -> Sender:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.leave()

    def leave(self) -> None:
        """Give the endpoints' limits back; they are joined again by the next request."""
        for limiter in self._limiters.values():
            limiter.leave(self._limits)
        self._limiters.clear()

    async def __call__(self, model: Model, request: Request) -> Completion:
        while not self._open:
            if self._first is not None:
                await asyncio.wait([self._first])
                continue
            self._first = asyncio.get_running_loop().create_future()
            try:
                return await self._send(model, request)
            finally:
                self._open |= self._has_answered
                self._let_others()
        return await self._send(model, request)

    def _let_others(self) -> None:
        """Wake those that wait for the first request: to send, or one of them to be first."""
        first, self._first = self._first, None
        if first is not None and not first.done():
            first.set_result(None)

    def _open_late(self) -> None:
        self._open = True
        self._let_others()

    async def _send(self, model: Model, request: Request) -> Completion:
        limiter = self._limiters.get(model.endpoint)
        if limiter is None:
            limiter = self._limiters[model.endpoint] = limiter_of(model.endpoint)
            limiter.join(self._limits)
        begin = time.monotonic()
        attempt = requests = timeouts = 0
        while True:
            attempt += 1
            try:
                completion = await self._attempt(limiter, model, request, attempt, 2.0**timeouts)
            except ModelError as error:
                requests += error.requests
                if self.stopped_by is not None:
                    raise self._repeated(self.stopped_by, requests) from None
                timeouts += error.kind == "timeout"
                elapsed = time.monotonic() - begin
                if self._waits_out_an_outage(limiter, error) and elapsed < self._retries.deadline:
                    attempt -= 1
                    wait: float | None = 0.0  # the limiter holds it back
                elif limiter.silent_since is not None and error.retryable:
                    wait = None
                else:
                    wait = self._retries.wait(error, attempt, elapsed, self._chance)
                if wait is None:
                    self._gave_up(limiter, model, error)
                    error.requests = requests
                    raise
                self._on_trouble(str(error))
                await asyncio.sleep(wait)
            else:
                self._has_answered = self._has_accepted = True
                self._given_up = 0
                if requests:
                    usage = completion.usage
                    usage = replace(usage, requests=usage.requests + requests)
                    completion = replace(completion, usage=usage)
                return completion

    async def _attempt(
        self, limiter: Limiter, model: Model, request: Request, attempt: int, patience: float
    ) -> Completion:
        expected = 0.0
        if limiter.counts_tokens:
            expected = limiter.tokens(sum(len(part["content"]) for part in request.messages))
        let_through = await limiter.acquire(expected, self)
        if self.stopped_by is not None:  # while this one waited
            if let_through:
                limiter.release()
            raise self._repeated(self.stopped_by, 0)
        sent = time.monotonic()
        late = None
        if not self._open:
            late = asyncio.get_running_loop().call_later(ALONE, self._open_late)
        try:
            completion = await self._watchdog.complete(model, request, limiter, patience)
        except ModelError as error:
            if error.kind == "rate_limit":
                limiter.refused(sent, error.retry_after)
            elif not error.retryable:
                limiter.is_alive()
            elif self._has_answered and not isinstance(error, LostRequest):
                self._count_failure(limiter, error, sent, attempt)
            raise
        finally:
            if late is not None:
                late.cancel()
            limiter.release()
        limiter.accepted(sent, completion.usage, expected)
        if completion.quota is not None:
            limiter.planned(completion.quota)
        return completion

    def _count_failure(
        self, limiter: Limiter, error: ModelError, sent: float, attempt: int
    ) -> None:
        # A 500 may be about this one prompt; sent again, it tells nothing new of the endpoint.
        is_old_news = error.status == 500 and attempt > 1 and limiter.silent_since is None
        if not is_old_news:
            limiter.failed(sent)

    def _waits_out_an_outage(self, limiter: Limiter, error: ModelError) -> bool:
        """Whether the failure is the endpoint's, not the call's, and may pass in time."""
        if limiter.silent_since is None or not error.retryable or error.kind == "rate_limit":
            return False
        return time.monotonic() - limiter.silent_since < self._retries.max_outage

    def _gave_up(self, limiter: Limiter, model: Model, error: ModelError) -> None:
        # Once a request has been accepted the key is good, and a 403 is about one prompt.
        fatal = error.fatal and not (error.status == 403 and self._has_accepted)
        stopped_by = error
        if error.retryable:
            self._given_up += 1
            most = GIVEN_UP_IN_A_ROW
            if limiter.silent_since is not None:
                most = GIVEN_UP_IN_OUTAGE
                silent = time.monotonic() - limiter.silent_since
                stopped_by = ModelError(
                    error.kind, f"{model.endpoint} has not answered for {silent:.0f} s: {error}"
                )
            fatal = not self._has_answered or self._given_up >= most
        elif not fatal:
            self._has_answered = True
            self._refusals += 1
            fatal = error.kind == "bad_request" and not self._has_accepted
            fatal = fatal and self._refusals >= REFUSALS_AT_FIRST
        if fatal and self.stopped_by is None:
            self.stopped_by = stopped_by
            for one in self._limiters.values():
                one.send_away(self)

    @staticmethod
    def _repeated(error: ModelError, requests: int) -> ModelError:
        copy = ModelError(error.kind, str(error), status=error.status)
        copy.requests = requests
        return copy
