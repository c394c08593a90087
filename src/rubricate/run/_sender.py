"""How a run's requests reach models: limited, retried, and stopped when there is no point."""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections.abc import Callable, Collection
from dataclasses import replace
from types import TracebackType

from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.run._late import LostRequest, Watchdog
from rubricate.run._limits import Limiter, Limits, limiter_of
from rubricate.run._retries import RetryPolicy
from rubricate.run._standing import Standing
from rubricate.run._telemetry import RequestSpan

__all__ = ["ModelKey", "Sender"]

logger = logging.getLogger(__name__)

ALONE = 0.3
"""Seconds that the first request goes alone at most, if it gets no answer at all."""
ModelKey = tuple[str, str]
"""A model's endpoint and name."""


class Sender:
    """Sends requests for one run; a context manager, in the loop that sends.

    The first request to a model goes alone: a wrong key, a dead endpoint and the endpoint's way of
    structured output are found out with one request, not with as many as may be in flight.

    Args:
        limits: what each endpoint is asked at most, together with other runs in the process.
        retries: when a failed request is sent again.
        on_trouble: told of every failure that is retried, in words.
        goes_on_without: whether the run has sense without the models that are given up, by endpoint
            and name. Default: it has none.

    Attributes:
        stopped_by: the error that ended the run, if one did: nothing is sent from then on.
        lost: the models that were given up.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        retries: RetryPolicy,
        on_trouble: Callable[[str], None] = lambda message: None,
        goes_on_without: Callable[[Collection[ModelKey]], bool] = lambda lost: False,
    ) -> None:
        self._limits = limits
        self._retries = retries
        self._on_trouble = on_trouble
        self._goes_on_without = goes_on_without
        self._limiters: dict[str, Limiter] = {}
        self._chance = random.Random(0)
        self._watchdog = Watchdog()
        self._standings: dict[ModelKey, Standing] = {}
        self.lost: dict[ModelKey, None] = {}
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
        key = (model.endpoint, model.name)
        standing = self._standings.get(key)
        if standing is None:
            standing = self._standings[key] = Standing()
        while not standing.is_open:
            if standing.first is not None:
                await asyncio.wait([standing.first])
                continue
            standing.first = asyncio.get_running_loop().create_future()
            try:
                return await self._send(model, request, standing)
            finally:
                standing.is_open |= standing.has_answered
                standing.let_others()
        return await self._send(model, request, standing)

    async def _send(self, model: Model, request: Request, standing: Standing) -> Completion:
        limiter = self._limiters.get(model.endpoint)
        if limiter is None:
            limiter = self._limiters[model.endpoint] = limiter_of(model.endpoint)
            limiter.join(self._limits)
        begin = time.monotonic()
        attempt = requests = timeouts = 0
        while True:
            attempt += 1
            try:
                completion = await self._attempt(
                    limiter, standing, model, request, attempt, 2.0**timeouts
                )
            except ModelError as error:
                requests += error.requests
                if (ended := self.stopped_by or standing.lost) is not None:
                    raise self._repeated(ended, requests) from None
                timeouts += error.kind == "timeout"
                elapsed = time.monotonic() - begin
                if self._waits_out_an_outage(limiter, error) and elapsed < self._retries.deadline:
                    attempt -= 1
                    wait: float | None = 0.0  # the limiter holds it back
                elif (limiter.silent_since is not None and error.retryable) or (
                    self._never_answers(standing, error, attempt, elapsed)
                ):
                    wait = None
                else:
                    wait = self._retries.wait(error, attempt, elapsed, self._chance)
                if wait is None:
                    self._gave_up(limiter, standing, model, error)
                    error.requests = requests
                    raise
                logger.info("retrying: %s", error)
                self._on_trouble(str(error))
                await asyncio.sleep(wait)
            else:
                standing.accepted()
                if requests:
                    usage = completion.usage
                    usage = replace(usage, requests=usage.requests + requests)
                    completion = replace(completion, usage=usage)
                return completion

    async def _attempt(
        self,
        limiter: Limiter,
        standing: Standing,
        model: Model,
        request: Request,
        attempt: int,
        patience: float,
    ) -> Completion:
        self._check_goes_on(limiter, standing)
        expected = 0.0
        if limiter.counts_tokens:
            expected = limiter.tokens(sum(len(part["content"]) for part in request.messages))
        let_through = await limiter.acquire(expected, standing)
        if (ended := self.stopped_by or standing.lost) is not None:  # while this one waited
            if let_through:
                limiter.release()
            raise self._repeated(ended, 0)
        sent, before = time.monotonic(), limiter.latencies.count
        late = None
        if not standing.is_open:
            late = asyncio.create_task(_open_late(standing))
        try:
            with RequestSpan(model, request) as span:
                completion = await self._watchdog.complete(model, request, limiter, patience)
                span.answered(completion)
        except ModelError as error:
            if error.kind == "timeout" and not isinstance(error, LostRequest):
                limiter.timed_out(sent, limiter.latencies.count - before)
            if error.kind == "rate_limit":
                limiter.refused(sent, error.retry_after)
            elif not error.retryable:
                limiter.is_alive()
            elif standing.has_answered and not isinstance(error, LostRequest):
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

    def _check_goes_on(self, limiter: Limiter, standing: Standing) -> None:
        """Raise the error that ended it all, or that nothing goes out as long as a call may take.

        The latter is so where an endpoint has asked another run to wait so long.
        """
        ended = self.stopped_by or standing.lost
        if ended is None and (wait := limiter.asked_to_wait) > self._retries.deadline:
            ended = ModelError("rate_limit", "no request is let through", retry_after=wait)
        if ended is not None:
            raise self._repeated(ended, 0)

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

    def _never_answers(
        self, standing: Standing, error: ModelError, attempt: int, elapsed: float
    ) -> bool:
        """Whether a model that has not said a word yet has had two requests and an outage's time.

        The deadline of one call would be far longer: where requests time out, only the user knows
        whether the server is that slow.
        """
        is_silent = error.kind == "timeout" and not standing.has_answered
        return is_silent and attempt > 1 and elapsed >= self._retries.max_outage

    def _gave_up(
        self, limiter: Limiter, standing: Standing, model: Model, error: ModelError
    ) -> None:
        silent = None
        if limiter.silent_since is not None:
            silent = time.monotonic() - limiter.silent_since
        if error.kind == "rate_limit" and limiter.asked_to_wait > self._retries.deadline:
            standing.is_paused(error, model.endpoint, limiter.asked_to_wait)
        standing.gave_up(error, model.endpoint, silent)
        key = (model.endpoint, model.name)
        if standing.lost is None or key in self.lost:
            return
        self.lost[key] = None
        if self._goes_on_without(self.lost.keys()):
            self._on_trouble(f"{model.name} is given up, the others go on: {standing.lost}")
            limiter.send_away(standing)
        elif self.stopped_by is None:
            self.stopped_by = standing.lost
            for (endpoint, _), one in self._standings.items():
                if endpoint in self._limiters:
                    self._limiters[endpoint].send_away(one)

    @staticmethod
    def _repeated(error: ModelError, requests: int) -> ModelError:
        copy = ModelError(
            error.kind, str(error), status=error.status, retry_after=error.retry_after
        )
        copy.requests = requests
        return copy


async def _open_late(standing: Standing) -> None:
    """Count the seconds that the first request goes alone from when it is on its way.

    What a model does before that, such as an import, blocks the loop, and this with it.
    """
    await asyncio.sleep(ALONE)
    standing.open_late()
