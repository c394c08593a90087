"""Sends a run's requests to models: limited, retried, and stopped once retrying is pointless."""

from __future__ import annotations

import asyncio
import logging
import random
import sys
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Coroutine
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeVar

from rubricate._usage import NO_USAGE, Usage
from rubricate.errors import ModelError
from rubricate.judge import Completion, Model, Request
from rubricate.run.sending._bills import Bills, size_of
from rubricate.run.sending._budget import RunEnds
from rubricate.run.sending._circuit_breaker import CircuitBreaker, Raising
from rubricate.run.sending._hedging import (
    Failures,
    Hedging,
    LostRequest,
    Outgoing,
    over_deadline,
)
from rubricate.run.sending._judgement import Judgement
from rubricate.run.sending._limiter import Limiter, bounded, limiter_of
from rubricate.run.sending._options import Budget, Limits, Retries

if TYPE_CHECKING:
    from rubricate.run.sending._sharing import Sharing

logger = logging.getLogger(__name__)

ALONE = 0.3
"""Longest time, in seconds, that the first request goes alone while it has no answer. Reasoned, not
measured: an endpoint refuses a wrong key within one round trip, which takes 0.25 s between
continents. At half, such a key costs as many requests as may be in flight; at double, every run
whose first reply takes longer starts 0.3 s later."""
SOON = 0.2
"""Seconds before a retry when the cause of the failure either passes quickly or not at all.
Reasoned, not measured: at half, a missing file descriptor is asked for ten times a second; at
double, a run continues up to 0.2 s later than it could."""
LAST_ONES = 30.0
"""Seconds to wait out an apparent outage that the prompts themselves may have caused, because it
began after all other prompts had been tried. Reasoned, not measured: most restarts of a server end
by then. At half, the last judgements of a run are lost more often; at double, a run with one prompt
that its endpoint cannot bear ends half a minute later."""
UNANSWERED = ("timeout", "deadline")
ModelKey = tuple[str, str]
"""A model's endpoint and name."""
T = TypeVar("T")


class Sender:
    """Sends requests for one run. Use it as a context manager, in the event loop that sends.

    The first request to a model goes alone, so that a wrong key, a dead endpoint or an unsupported
    form of structured output costs one request and not as many as may be in flight. If it fails,
    the prompt of another item goes next.

    Args:
        limits: rate and concurrency limits of each endpoint, shared by all runs in the process.
        retries: when a failed request is sent again.
        on_trouble: called with one line for every failure that is retried.
        goes_on_without: whether the run can continue without the models that were given up
            (endpoint and name). Default: it cannot.
        budget: whether to estimate the cost of replies that come without token counts. The cost of
            requests without any reply is always estimated. Default: such costs are unknown.

    Raises:
        JournalError: the database for shared limits cannot be used.

    Attributes:
        stopped_by: the error that ended the run, if any. Nothing is sent after it.
        lost: the models that were given up, and why.
        raising: the judges whose own code raises on every input.
        is_traced: whether the program had loaded OpenTelemetry when this was created.
    """

    def __init__(
        self,
        *,
        limits: Limits,
        retries: Retries,
        on_trouble: Callable[[str], None] = lambda message: None,
        goes_on_without: Callable[[Collection[ModelKey]], bool] = lambda lost: False,
        budget: Budget | None = None,
    ) -> None:
        self._limits = limits
        self._retries = retries
        self._on_trouble = on_trouble
        self._goes_on_without = goes_on_without
        self._limiters: dict[str, Limiter] = {}
        self._joined_limits: dict[str, Limits] = {}
        self._sharing: Sharing | None = None
        if limits.share_limits:
            from rubricate.run.sending._sharing import sharing_at

            self._sharing = sharing_at(limits.share_limits)
        self.is_traced = "opentelemetry" in sys.modules
        self._shared: list[Limiter] = []
        self._chance = random.Random(0)
        self._hedging = Hedging(retries.deadline, self._bill)
        self._bills = defaultdict[CircuitBreaker, Bills](Bills)  # of a model, as its breaker is
        self._budget = budget
        self._breakers: dict[ModelKey, CircuitBreaker] = {}
        self.lost: dict[ModelKey, ModelError] = {}
        self.stopped_by: ModelError | None = None
        self.raising = Raising()

    def __enter__(self) -> Sender:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def leave(self) -> None:
        """Release the endpoints' limits. The next request joins them again."""
        for endpoint, limiter in self._limiters.items():
            limiter.leave(self._joined_limits[endpoint])
        for limiter in self._shared:
            assert self._sharing is not None
            self._sharing.leave(limiter)
        self._limiters.clear()
        self._shared.clear()

    def give_up(self, model: ModelKey, why: str) -> None:
        """Send nothing to a model that is known not to answer.

        Everything that does not need it continues: stored answers, computed criteria, other models.
        """
        breaker = self._breakers.setdefault(model, CircuitBreaker())
        breaker.lost = self.lost[model] = ModelError("not_run", why)

    def stop(self, error: ModelError) -> None:
        """End the run because of an error, unless an earlier one has ended it."""
        self.stopped_by = self.stopped_by or error

    @property
    def answered(self) -> set[ModelKey]:
        """The models that have answered."""
        return {key for key, breaker in self._breakers.items() if breaker.accepted}

    def in_flight(self) -> Usage:
        """Estimated usage of the requests in flight, from what earlier ones to each model took."""
        sent: dict[CircuitBreaker, list[Outgoing]] = defaultdict(list)
        for out in self._hedging.in_flight:
            sent[out.breaker].append(out)
        return Usage.total(
            self._bills[breaker].in_flight(some[0].model, [out.request for out in some])
            for breaker, some in sent.items()
        )

    @property
    def in_doubt(self) -> bool:
        """Whether any model has neither answered yet nor been given up."""
        return any(
            not each.accepted and each.lost is None for each in self._breakers.values()
        ) or any(limiter.rate.outage.since is not None for limiter in self._limiters.values())

    async def __call__(
        self, model: Model, request: Request, judgement: Judgement | None = None
    ) -> Completion:
        """Send a request, with retries, until it is answered or its judgement fails.

        Raises:
            ModelError: the judgement failed.
            RunEnds: the run ended before anything was sent for this judgement.
        """
        judgement = judgement or Judgement()
        key = (model.endpoint, model.name)
        breaker = self._breakers.get(key)
        if breaker is None:
            breaker = self._breakers[key] = CircuitBreaker()
        limiter = self._limiters.get(model.endpoint)
        if limiter is None:
            limiter = self._joined(model)
        out = Outgoing(model, request, judgement, limiter, breaker)
        breaker.join(judgement)
        try:
            while True:
                try:
                    completion = await self._attempt(out)
                except ModelError as error:
                    wait = await self._noted(out, error)
                    logger.info("retrying: %s", error)
                    self._on_trouble(str(error))
                    if error.kind in ("auth", "files"):
                        await asyncio.sleep(wait)
                    else:
                        await self._set_aside(out, wait)
                else:
                    breaker.accept()
                    if out.usage is completion.usage:
                        return completion
                    return replace(completion, usage=out.usage)
        finally:
            breaker.leave(judgement)

    async def _noted(self, out: Outgoing, error: ModelError) -> float:
        """Seconds to wait before a failed request is sent again.

        Raises:
            ModelError: it is not sent again.
        """
        failed = out.failed = out.failed or Failures()
        failed.note(error)
        wait = None
        if self.stopped_by is None and out.breaker.lost is None:
            wait, counts = self._wait(out, error, failed.attempts)
            failed.attempts -= not counts
            if wait is None:
                await self._bring_others(out, error)
                self._gave_up(out, error)
        if wait is None:
            if failed.cause is None or error.usage.requests:  # else it only waited for its turn
                failed.cause = error
            failed.cause.usage = out.usage
            raise failed.cause from None
        failed.cause = error
        return wait

    def _joined(self, model: Model) -> Limiter:
        """The limiter of a model's endpoint, after adding this run's limits to it."""
        limits, bound = self._limits, None
        if model.opens_connections:
            limits, bound = bounded(limits)
        limiter = limiter_of(model.endpoint, starts_slowly=not model.is_local)
        self._limiters[model.endpoint] = limiter
        limiter.join(limits)
        self._joined_limits[model.endpoint] = limits
        if self._sharing is not None and model.account is not None:
            self._sharing.join(limiter, model.endpoint, model.account)
            self._shared.append(limiter)
        if bound is not None:
            logger.info("%s", bound)
            self._on_trouble(bound)
        return limiter

    def _attempt(self, out: Outgoing) -> Awaitable[Completion]:
        """Send a request once: at once if the limits allow it, else in its turn.

        Raises:
            ModelError: the request cannot be sent.
        """
        limiter, judgement = out.limiter, out.judgement
        if out.model.answers_later:
            from rubricate.run.sending._later import answered_later

            return answered_later(out, self, self.stop, self._check_goes_on, self._bill)
        expected = 0.0
        if limiter.rate.counts_tokens:
            expected = limiter.rate.tokens(size_of(out.request))
        if self.stopped_by or out.breaker.lost or limiter.rate.outage.asked_until:
            self._check_goes_on(out)
        if judgement.ends is not None and time.monotonic() >= judgement.ends:
            raise self._too_late()
        if out.breaker.is_open and limiter.admits(expected):
            return self._sent(out, expected)
        return self._in_turn(out, expected)

    async def _in_turn(self, out: Outgoing, expected: float) -> Completion:
        limiter, breaker, judgement = out.limiter, out.breaker, out.judgement
        alone = not breaker.is_open
        if alone:
            turn = breaker.turn(judgement)
            await (turn if judgement.ends is None else self._in_time(judgement, turn))
        try:
            if alone:  # while this one waited
                self._check_goes_on(out)
            if not limiter.admits(expected):
                acquiring = limiter.acquire(expected, breaker, is_new=judgement.is_fresh)
                let_through = await self._in_time(judgement, acquiring)
                try:
                    self._check_goes_on(out)
                except BaseException:
                    if let_through:
                        limiter.release()
                    raise
            return await self._sent(out, expected)
        finally:
            if alone:
                breaker.done()

    async def _claimed(self, out: Outgoing) -> None:
        """Wait for budget. This time does not count towards the deadline of the judgement."""
        judgement, before = out.judgement, time.monotonic()
        try:
            await out.claim()
        except BaseException:
            out.limiter.release()
            raise
        if judgement.ends is not None:
            judgement.ends += time.monotonic() - before

    async def _sent(self, out: Outgoing, expected: float) -> Completion:
        limiter, breaker, judgement = out.limiter, out.breaker, out.judgement
        if judgement.claim is not None:
            await self._claimed(out)
        sent, before = time.monotonic(), limiter.latencies.count
        if judgement.ends is None:
            judgement.ends = sent + self._retries.deadline
        limiter.rate.refusals.sent.append(sent)
        late = None if breaker.is_open else asyncio.create_task(_open_late(breaker))
        answering = self._hedging.complete(out, sent, judgement.ends)
        is_answered = False
        try:
            if self.is_traced:
                from rubricate.run._telemetry import traced

                answering = traced(out.model, out.request, answering)
            completion = await answering
            is_answered = True
        except ModelError as error:
            self._learn(out, error, sent, before)
            raise
        finally:
            if late is not None:
                late.cancel()
            if not is_answered:
                limiter.release()
        limiter.answered(sent, completion, expected)
        return completion

    def _learn(self, out: Outgoing, error: ModelError, sent: float, before: int) -> None:
        """Learn from a failed request that was sent at `sent`, after `before` answers."""
        limiter, rate = out.limiter, out.limiter.rate
        is_lost = isinstance(error, LostRequest)
        if error.kind == "rate_limit":
            limiter.refused(sent, error.retry_after)
            return
        with limiter.lock:
            if error.kind in UNANSWERED and error.status is None and not is_lost:
                rate.timed_out(sent, limiter.latencies.count - before)
            if error.kind == "files":
                rate.lacks_descriptors()
            elif not error.retryable and error.kind != "deadline":
                rate.is_alive()
            elif not is_lost:
                self._failed(out, error, sent)

    async def _in_time(self, judgement: Judgement, waiting: Coroutine[Any, Any, T]) -> T:
        """Wait for a request's turn, at most until the deadline of its judgement."""
        if judgement.ends is None:
            return await waiting
        try:
            async with asyncio.timeout_at(judgement.ends):
                return await waiting
        except TimeoutError:
            raise self._too_late() from None

    def _too_late(self) -> ModelError:
        error = over_deadline(self._retries.deadline)
        error.usage = NO_USAGE
        return error

    def _check_goes_on(self, out: Outgoing) -> None:
        """Raise if the run or the model has ended, or if the endpoint asks for too long a pause.

        A pause is too long if it exceeds the deadline of a judgement; another run may have been
        asked for it.
        """
        ended = self.stopped_by or out.breaker.lost
        if ended is None:
            if not out.limiter.rate.outage.asked_until:
                return
            wait = out.limiter.rate.asked_to_wait
            if wait <= self._retries.deadline:
                return
            ended = ModelError("rate_limit", "no request is let through", retry_after=wait)
        elif not out.judgement.is_asked:
            if self.stopped_by is not None:
                raise RunEnds
            if ended.kind != "not_run":
                why = f"the model was given up before this was asked: {ended}"
                ended = ModelError("not_run", why)
        raise ended.copy(usage=NO_USAGE)  # this request was not sent

    def _failed(self, out: Outgoing, error: ModelError, sent: float) -> None:
        """Note a failure that may be the endpoint's fault. One that answers 4xx is alive."""
        limiter, breaker, judgement = out.limiter, out.breaker, out.judgement
        if error.status is not None and error.status < 500:
            limiter.rate.is_alive()
            breaker.fail(judgement)
            return
        is_news = (
            breaker.fail(judgement, unsent=error.unsent)
            or error.unsent
            or limiter.rate.outage.since is not None
        )
        if breaker.accepted and is_news:
            limiter.rate.failed(sent, several=error.unsent or breaker.different > 1)

    def _wait(self, out: Outgoing, error: ModelError, attempt: int) -> tuple[float | None, bool]:
        """Seconds to wait before a retry (None to give up), and whether the attempt counts."""
        breaker, judgement = out.breaker, out.judgement
        now = time.monotonic()
        elapsed = 0.0
        if judgement.ends is not None:
            elapsed = now - (judgement.ends - self._retries.deadline)
        silent = out.limiter.rate.outage.since
        if error.kind == "files":
            return (SOON if elapsed < self._retries.deadline else None), False
        if error.kind == "auth" and error.status == 401 and breaker.accepted:
            # A key that worked is refused: a single hiccup, or has it been revoked?
            is_revoked = breaker.refuses_key(judgement)
            return (SOON if attempt == 1 and not is_revoked else None), True
        if silent is not None and error.retryable and error.kind != "rate_limit":
            if now - silent >= self._believed(out, error):
                return None, True
            return 0.0, False  # the limiter holds it back
        # Waiting for the deadline would take far longer. A timeout gets a second attempt, because
        # only the user knows whether the server is that slow.
        has_had_enough = error.kind != "rate_limit" and (error.kind != "timeout" or attempt > 1)
        if not breaker.accepted and has_had_enough and elapsed >= self._retries.max_outage:
            return None, True
        wait = self._retries.back_off(error, attempt, elapsed, self._chance)
        if wait is not None and not breaker.accepted and error.kind != "rate_limit":
            wait = min(wait, max(SOON, self._retries.max_outage - elapsed))
        return wait, True

    async def _bring_others(self, out: Outgoing, error: ModelError) -> None:
        """Let other judgements send before concluding that no prompt gets through."""
        may_be_prompts = error.kind in ("server", "truncated", "connection", *UNANSWERED)
        needs_them = may_be_prompts and not (out.breaker.accepted or error.unsent)
        if needs_them and out.judgement.look_ahead():
            for _ in range(5):  # rounds of the loop, in which they begin
                await asyncio.sleep(0)

    def _believed(self, out: Outgoing, error: ModelError) -> float:
        """Seconds to wait for the end of what looks like an outage.

        If every other prompt has been tried and a prompt can cause such a failure, an outage that
        began just then is unlikely, so the wait is short.
        """
        most = self._retries.max_outage
        return min(most, LAST_ONES) if self._may_be_prompts(out, error) else most

    @staticmethod
    def _may_be_prompts(out: Outgoing, error: ModelError) -> bool:
        """Whether a prompt can have caused the last failure, and all other prompts were tried."""
        can_be = not error.unsent and (error.status in (None, 500) or error.status < 500)
        can_be = can_be and error.kind in ("server", "truncated", "connection")
        return can_be and not out.breaker.has_new and not out.judgement.look_ahead()

    async def _set_aside(self, out: Outgoing, wait: float) -> None:
        """Let other calls run while a request waits for its retry."""
        if not out.breaker.accepted or out.limiter.rate.outage.since is not None:
            out.judgement.look_ahead()
        out.judgement.aside(True)
        try:
            await asyncio.sleep(wait)
        finally:
            out.judgement.aside(False)

    def _gave_up(self, out: Outgoing, error: ModelError) -> None:
        """Record a final failure, and decide whether its model is given up."""
        model, limiter, breaker = out.model, out.limiter, out.breaker
        silent = limiter.rate.outage.since
        is_last = False
        if error.kind == "rate_limit" and limiter.rate.asked_to_wait > self._retries.deadline:
            breaker.pause(error, model.endpoint, limiter.rate.asked_to_wait)
        elif silent is not None and error.retryable and error.kind != "rate_limit":
            is_last = self._may_be_prompts(out, error)
            breaker.is_silent(error, model.endpoint, time.monotonic() - silent)
        else:
            breaker.give_up(out.judgement, error)
        if breaker.lost is None:
            if not breaker.accepted:
                out.judgement.look_ahead()
            return
        self._lose(breaker, (model.endpoint, model.name), ends_run=not is_last)

    def _lose(self, breaker: CircuitBreaker, key: ModelKey, *, ends_run: bool) -> None:
        """Stop sending to a model, and to all of them if the run cannot continue without it."""
        if key in self.lost or breaker.lost is None:
            return
        self.lost[key] = breaker.lost
        sent_away = {key: breaker}
        if self._goes_on_without(self.lost.keys()):
            self._on_trouble(f"{key[1]} is given up, the others go on: {breaker.lost}")
        elif ends_run and self.stopped_by is None:
            self.stopped_by = breaker.lost
            sent_away = self._breakers
        for (endpoint, _), each in sent_away.items():
            each.open()
            if endpoint in self._limiters:
                self._limiters[endpoint].send_away(each)

    def _bill(self, out: Outgoing, usage: Usage, reply: Completion | None) -> None:
        """Count the usage of one request, estimated if the endpoint does not report it."""
        bills = self._bills[out.breaker]
        if usage.cost is not None or usage.input_tokens:
            bills.are_reported = True
        else:
            estimate = bills.estimate(out.model, out.request, reply)
            if reply is None or (self._budget is not None and self._budget.estimates_usage):
                usage = replace(estimate, requests=usage.requests, seconds=usage.seconds)
            else:  # the cost stays unknown, but a later --max-cost counts the estimate
                usage = replace(usage, estimated_cost=estimate.estimated_cost)
        if reply is not None and (usage.cost is not None or usage.input_tokens):
            bills.add(out.request, usage)
        out.takes(usage, is_answered=reply is not None)


async def _open_late(breaker: CircuitBreaker) -> None:
    """Open the breaker after `ALONE` seconds, counted from when the request is on its way.

    Whatever a model does before that, such as an import, blocks the event loop and this timer too.
    """
    await asyncio.sleep(ALONE)
    breaker.open()
