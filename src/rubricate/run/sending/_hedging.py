"""Hedging: a request that takes far longer than others is sent a second time, or sent again.

A request whose judgement has reached its deadline is given up for good.

`Latencies` derives from past answers how long is too long. While the endpoint is in trouble or
answers nothing, no request counts as late, because waiting is right then.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from rubricate._usage import NO_USAGE, Usage
from rubricate.errors import ModelError, ModelErrorKind, described
from rubricate.judge import Completion, Model, Request
from rubricate.run.sending._bills import UNANSWERED
from rubricate.run.sending._budget import RunEnds
from rubricate.run.sending._circuit_breaker import CircuitBreaker
from rubricate.run.sending._judgement import Judgement, Settle
from rubricate.run.sending._limiter import Limiter

logger = logging.getLogger(__name__)

BUGS = (
    *(ArithmeticError, AssertionError, AttributeError, ImportError, LookupError, NameError),
    *(MemoryError, RuntimeError, TypeError, ValueError),
)
"""Errors that a retry cannot fix."""
LOOK_EVERY = 0.25
"""Seconds between checks of the waiting requests."""


class LostRequest(ModelError):
    """A request was given up because others were answered far sooner."""


def over_deadline(seconds: float) -> ModelError:
    """The error of a judgement that has reached its deadline."""
    text = f"no answer within the {seconds:g} s that a judgement may take (its deadline)"
    return ModelError("deadline", text)


def model_error(raised: Exception) -> ModelError:
    """The `ModelError` for an exception from a model, such as one of its client library.

    It counts as temporary, like a lost connection, unless it is a bug in the program (`BUGS`).
    """
    logger.debug("a model raised %s", type(raised).__name__, exc_info=raised)
    if isinstance(raised, TimeoutError):
        return ModelError("timeout", described(raised))
    kind: ModelErrorKind = "judge_error" if isinstance(raised, BUGS) else "connection"
    return ModelError(kind, described(raised))


@dataclass(slots=True, eq=False)
class Failures:
    """The failures of a request so far.

    Attributes:
        attempts: how often it was sent, without attempts that do not count.
        patience: factor by which it may be later than usual; it doubles with every timeout.
        cause: the last error.
    """

    attempts: int = 0
    patience: float = 1.0
    cause: ModelError | None = None

    def note(self, error: ModelError) -> None:
        """Record a failed attempt."""
        self.attempts += 1
        if error.kind == "timeout":
            self.patience *= 2.0


@dataclass(slots=True, eq=False)
class Outgoing:
    """A request being sent.

    Attributes:
        model, request: the model, and what it is asked.
        judgement: the judgement that it belongs to.
        limiter: the limiter of its endpoint.
        breaker: the circuit breaker of its model.
        failed: its failures so far; None if there are none.
        claims: for each attempt in flight, the function to call with its cost; empty without a
            budget.
        usage: the usage of all its attempts.
    """

    model: Model
    request: Request
    judgement: Judgement
    limiter: Limiter
    breaker: CircuitBreaker
    failed: Failures | None = None
    claims: tuple[Settle, ...] = ()
    usage: Usage = NO_USAGE

    async def claim(self) -> None:
        """Wait until the budget allows an attempt. Raises `RunEnds` if it does not."""
        if self.judgement.claim is not None:
            settle = await self.judgement.claim(self.model, self.request)
            self.claims += () if settle is None else (settle,)

    def takes(self, usage: Usage, *, is_answered: bool) -> None:
        """Record the usage of an attempt, reported or estimated."""
        before = self.usage
        self.usage = usage if before is NO_USAGE else before + usage
        self.judgement.takes(usage)
        if self.claims:
            self.claims, settle = self.claims[:-1], self.claims[-1]
            settle(usage, is_answered=is_answered)

    @property
    def patience(self) -> float:
        """Factor by which it may be later than usual."""
        return 1.0 if self.failed is None else self.failed.patience


class Hedging:
    """Asks models, and checks regularly on the requests that are waiting for an answer.

    Args:
        deadline: seconds that a judgement may take, for the text of the error.
        bill: called once for every request sent, with its usage as far as known and its reply, if
            any.
    """

    def __init__(
        self, deadline: float, bill: Callable[[Outgoing, Usage, Completion | None], None]
    ) -> None:
        self._deadline = deadline
        self._bill = bill
        self._watches: set[_Watch] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._paused = False
        self._loop: asyncio.AbstractEventLoop

    @property
    def in_flight(self) -> list[Outgoing]:
        """The waiting requests. One that was sent twice is listed twice."""
        twice = [watch.out for watch in self._watches if watch.took is not None]
        return [watch.out for watch in self._watches] + twice

    async def complete(self, out: Outgoing, sent: float, ends: float) -> Completion:
        """Ask a model. If the answer is late, ask a second time in parallel; the first answer wins.

        Both requests are billed. Models that are not `repeatable` are asked once.

        Args:
            out: the request. A second one is sent only if its limiter has room.
            sent, ends: the time of sending (now) and the deadline of the judgement (monotonic
                clock).

        Raises:
            LostRequest: the request is considered lost.
            ModelError: an error of the model, or `deadline` if time is up.
        """
        if self._timer is None:  # nothing is waiting, so this may be another event loop
            self._loop = asyncio.get_running_loop()
        watch = _Watch(out, sent, ends, self._loop)
        self._watches.add(watch)
        soon = ends - sent < LOOK_EVERY
        if self._timer is None or soon:
            if self._timer is not None:
                self._stop()
            wait = max(0.0, ends - sent) + 0.001 if soon else LOOK_EVERY
            self._timer = self._loop.call_later(wait, self._look)
        first = UNANSWERED
        reply: Completion | None = None
        try:
            reply = checked(out.model, await out.model.complete(out.request))
            first = reply.usage
            return reply
        except asyncio.CancelledError:
            if not watch.take_back():  # cancelled by someone else
                raise
            if watch.answer is None:
                raise watch.lost(self._deadline) from None
            return watch.answer
        except ModelError as error:
            watch.take_back()
            first = error.usage = possible(error.usage)
            raise
        except Exception as raised:
            watch.take_back()
            failed = model_error(raised)
            first = failed.usage
            raise failed from raised
        finally:
            self._end(watch, first, reply)
            if watch.second is not None:  # close its connection before the loop can end
                watch.second.cancel()
                await asyncio.wait({watch.second}, timeout=1.0)

    def _end(self, watch: _Watch, first: Usage, reply: Completion | None) -> None:
        """Bill the requests that were sent."""
        self._watches.discard(watch)
        watch.ended = True
        self._bill(watch.out, first, reply)
        if watch.took is not None:
            self._bill(watch.out, watch.took, watch.answer)
        if not self._watches:  # the next request may come from another event loop
            self._stop()

    def _look(self) -> None:
        # After this process was paused (a laptop asleep, a blocked loop), everything seems late,
        # but answers may have arrived unread. They are read before the next check.
        assert self._timer is not None
        late = self._loop.time() - self._timer.when()
        self._paused = late > LOOK_EVERY and not self._paused
        if not self._paused:
            now = time.monotonic()
            for watch in tuple(self._watches):
                watch.look(now)
        self._timer = self._loop.call_later(LOOK_EVERY, self._look)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class _Watch:
    """Watches one request from sending to its end.

    Attributes:
        out: the request.
        second: the task of the second request, if any; cancelled if it loses.
        answer: the answer to the second request, if it came first.
        took: the usage of the second request; None if it was not sent.
        ended: whether the request has ended.
    """

    __slots__ = (
        "_answers",
        "_cancelling",
        "_ends",
        "_interrupted",
        "_sent",
        "_task",
        "answer",
        "ended",
        "out",
        "second",
        "took",
    )

    def __init__(
        self, out: Outgoing, sent: float, ends: float, loop: asyncio.AbstractEventLoop
    ) -> None:
        task = asyncio.current_task(loop)  # finding the loop again costs a system call
        assert task is not None
        self.out = out
        self._sent = sent
        self._ends = ends
        self._task = task
        self._cancelling = task.cancelling()
        self._answers = out.limiter.latencies.count
        self._interrupted = self.ended = False
        self.second: asyncio.Task[None] | None = None
        self.answer: Completion | None = None
        self.took: Usage | None = None

    def look(self, now: float) -> None:
        """If the request is late, send it a second time or give it up."""
        limiter = self.out.limiter
        latencies, patience, waited = limiter.latencies, self.out.patience, now - self._sent
        if self.ended or self._interrupted:
            return
        if now >= self._ends:
            self._interrupt()
            return
        if not self.out.model.repeatable:
            return
        if (
            latencies.second_after is None
            or latencies.lost_after is None
            or limiter.rate.in_trouble
        ):
            return
        if waited >= patience * latencies.lost_after:
            overtaken = latencies.is_overtaken(self._answers)
            if self.second is not None or overtaken or latencies.spend():
                self._interrupt()
        elif (
            self.second is None
            and waited >= patience * latencies.second_after
            and limiter.has_room
            and latencies.spend()
        ):
            self.second = self._task.get_loop().create_task(self._ask_again())

    async def _ask_again(self) -> None:
        out = self.out
        await out.limiter.acquire()
        try:
            await out.claim()
            self.took = UNANSWERED
            answer = checked(out.model, await out.model.complete(out.request))
        except RunEnds:
            return
        except Exception as raised:  # the first request may still be answered
            if self.took is not None:
                error = raised if isinstance(raised, ModelError) else model_error(raised)
                self.took = possible(error.usage)
            return
        finally:
            out.limiter.release()
        self.answer, self.took = answer, answer.usage
        if not (self.ended or self._interrupted):
            self._interrupt()

    def _interrupt(self) -> None:
        self._interrupted = True
        self._task.cancel()

    def take_back(self) -> bool:
        """Undo the cancellation by this watch; False if there was another one, too."""
        return self._interrupted and self._task.uncancel() <= self._cancelling

    def lost(self, deadline: float) -> ModelError:
        """The error of a request that is given up; `deadline` is in seconds."""
        waited = time.monotonic() - self._sent
        if time.monotonic() >= self._ends:
            error = over_deadline(deadline)
        else:
            text = f"no answer within {waited:.1f} s, far longer than others"
            error = LostRequest("timeout", text)
        return error


def checked(model: Model, reply: object) -> Completion:
    if model.is_trusted and type(reply) is Completion:
        return reply
    if not isinstance(reply, Completion):
        raise TypeError(f"complete gives a Completion, not {type(reply).__name__}")
    usage = reply.usage
    if not (isinstance(reply.text, str) and isinstance(usage, Usage)):
        raise TypeError("the text of a Completion is a str, and its usage a Usage")
    return reply if usage.is_possible else replace(reply, usage=possible(usage))


def possible(usage: object) -> Usage:
    """The usage that a model reports, or unknown if it cannot be right."""
    return usage if isinstance(usage, Usage) and usage.is_possible else UNANSWERED
