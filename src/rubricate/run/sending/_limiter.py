"""Rate limiting: one limiter for each endpoint, shared by all runs in the process.

`AdaptiveRate` decides when a request may be sent. Requests wait here for that moment, first come,
first served, from any event loop and thread.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from operator import methodcaller
from pathlib import Path
from typing import TYPE_CHECKING
from weakref import WeakSet

from rubricate.judge import Completion
from rubricate.run.sending._adaptive_rate import AdaptiveRate
from rubricate.run.sending._latency import Latencies
from rubricate.run.sending._options import Limits

if TYPE_CHECKING:
    from rubricate.run.sending._shares import Report, Share

RESERVE = 32
"""File descriptors kept free for the journal, the results and other files. Not measured: a run
opens about ten besides its connections."""


class Limiter:
    """The rate limiter of one endpoint.

    A request is in flight between `acquire` and `release`. Report its outcome with `answered`
    (which also releases), `refused`, or a method of `rate`.

    Args:
        limits: those of the first run.
        starts_slowly: as of `AdaptiveRate`.

    Attributes:
        rate: the state of the endpoint. Change it only while holding `lock`.
        lock: guards `rate` and the queue of waiting requests.
        latencies: how long answers take.
    """

    def __init__(self, limits: Limits | None = None, *, starts_slowly: bool = True) -> None:
        self.rate = AdaptiveRate(starts_slowly=starts_slowly)
        self.lock = threading.RLock()
        self._waiting: deque[_Waiter] = deque()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_loop: asyncio.AbstractEventLoop | None = None
        self._notify: Callable[[], None] | None = None
        self.latencies: Latencies = self.rate.latencies
        if limits is not None:
            self.join(limits)

    # Who asks

    def join(self, limits: Limits) -> None:
        """Add a run. The highest concurrency and the lowest rates of all current runs apply."""
        with self.lock:
            self.rate.join(limits)
            if self._waiting:
                self._wake()

    def leave(self, limits: Limits) -> None:
        """Remove a run that has ended."""
        with self.lock:
            self.rate.leave(limits)
            self._wake()

    # Sharing with other processes

    def share(self, notify: Callable[[], None] | None) -> None:
        """Limit requests to the share set by `apply`; with None, stop sharing.

        `notify` is called, in any thread, when other processes should learn something at once: a
        request is waiting for a share, or one was refused.
        """
        with self.lock:
            self._notify = notify
            if notify is None:
                self.rate.stop_sharing()
            else:
                self.rate.give_back()
            self._wake()

    def report(self) -> Report:
        """The report for other processes."""
        with self.lock:
            waits = any(not waiter.is_gone for waiter in self._waiting)
            return self.rate.report(time.monotonic(), waits=waits)

    def apply(self, share: Share) -> None:
        """Apply what other processes have reported."""
        with self.lock:
            if self._notify is not None:  # still sharing
                self.rate.apply(share, time.monotonic())
                self._wake()

    def keep_share(self) -> None:
        """Keep the current share if nothing can be reported."""
        with self.lock:
            if self._notify is not None:
                self.rate.keep_share()
                self._wake()

    def give_back(self) -> int | None:
        """Give the share back, and return how many requests were accepted since the last report.

        Returns None and keeps the share while requests are being sent.
        """
        with self.lock:
            if self._notify is not None:
                if not self.is_idle:
                    return None
                self.rate.give_back()
            return self.rate.unreported

    @property
    def is_idle(self) -> bool:
        """Whether no request is waiting or in flight, and none was since the last report."""
        return not self._waiting and not self.rate.is_busy

    # Letting through

    @property
    def has_room(self) -> bool:
        """Whether one more request could go at once."""
        with self.lock:
            return not self._waiting and self.rate.wait(time.monotonic(), 0.0) == 0.0

    def admits(self, tokens: float = 0.0) -> bool:
        """Admit a request of about this many tokens if it may be sent at once."""
        with self.lock:
            if self._waiting or self.rate.wait(time.monotonic(), tokens) != 0.0:
                return False
            self.rate.admitted(tokens)
            return True

    async def acquire(
        self, tokens: float = 0.0, asker: object = None, *, is_new: bool = True
    ) -> bool:
        """Wait until a request of about this many tokens may be sent; False after `send_away`.

        First come, first served. During an outage the newest fresh request goes first, because its
        prompt is the least like those that have failed.
        """
        with self.lock:
            if self.admits(tokens):
                return True
            waiter = _Waiter(tokens, asker, is_new)
            self._waiting.append(waiter)
            self._wake()
        try:
            return await waiter.future
        except asyncio.CancelledError:
            with self.lock:
                if waiter.outcome:  # admitted, then cancelled
                    self.release()
                else:
                    waiter.outcome = False
                    self._wake()
            raise

    def send_away(self, asker: object) -> None:
        """Stop all waiting requests of one asker."""
        with self.lock:
            for waiter in self._waiting:
                if waiter.asker is asker:
                    waiter.settle(False)

    def release(self) -> None:
        """Note that a request is no longer in flight."""
        with self.lock:
            self.rate.concurrency.returned()
            if self._waiting:
                self._wake()

    def _wake(self) -> None:
        """Admit the requests that may be sent, and set a timer for the next one."""
        now, loop = time.monotonic(), _running_loop()
        if self._timer is not None and self._timer_loop is loop:
            self._timer.cancel()  # a timer of another loop merely fires once too often
        self._timer = None
        while self._waiting:
            first = self._waiting[0]
            if first.is_gone:
                self._waiting.popleft()
                continue
            if self.rate.outage.since is not None:
                first = next(
                    (waiter for waiter in reversed(self._waiting) if waiter.is_fresh), first
                )
            wait = self.rate.wait(now, first.tokens)
            if wait == float("inf"):
                return
            if self._notify is not None and not self.rate.has_share:
                self._notify()
            if wait > 0.0:
                self._look_again(first.loop, wait, loop)
                return
            if first is self._waiting[0]:
                self._waiting.popleft()
            else:
                self._waiting.remove(first)
            self.rate.admitted(first.tokens)
            first.settle(True)

    def _look_again(
        self,
        loop: asyncio.AbstractEventLoop,
        wait: float,
        running: asyncio.AbstractEventLoop | None,
    ) -> None:
        if loop is running:
            self._timer, self._timer_loop = loop.call_later(wait, self._look), loop
        else:
            with suppress(RuntimeError):  # closed meanwhile
                loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        with self.lock:
            self._wake()

    # Learning

    def answered(self, sent: float, completion: Completion, expected: float = 0.0) -> None:
        """Note an answer to a request sent at `sent`, for which `expected` tokens were reserved."""
        with self.lock:
            self.rate.concurrency.returned()
            if self._waiting:
                self._wake()
            self.rate.accepted(sent, completion.usage, expected)
            if completion.quota is not None:
                self.rate.planned(completion.quota)

    def refused(self, sent: float, wait: float | None) -> None:
        """Note that a request sent at `sent` got a 429; `wait` is what the endpoint asks for."""
        with self.lock:
            self.rate.refused(sent, wait)
            if self._notify is not None and self.rate.has_news:
                self._notify()


class _Waiter:
    """A waiting request, in its own event loop.

    Attributes:
        outcome: True once admitted, False once it no longer needs to be; None while waiting.
    """

    __slots__ = ("asker", "future", "is_new", "loop", "outcome", "tokens")

    def __init__(self, tokens: float, asker: object, is_new: bool) -> None:
        self.tokens = tokens
        self.asker = asker
        self.is_new = is_new
        self.loop = asyncio.get_running_loop()
        self.future: asyncio.Future[bool] = self.loop.create_future()
        self.outcome: bool | None = None

    @property
    def is_gone(self) -> bool:
        """Whether nothing is waiting here any longer."""
        return self.outcome is not None or self.loop.is_closed()

    @property
    def is_fresh(self) -> bool:
        """Whether a fresh request is waiting here, whose outcome may be news."""
        return self.is_new and not self.is_gone

    def settle(self, outcome: bool) -> None:
        """End the wait, from any thread."""
        if self.outcome is not None:
            return
        self.outcome = outcome
        if self.loop is _running_loop():
            self._end()
        else:
            with suppress(RuntimeError):  # closed meanwhile
                self.loop.call_soon_threadsafe(self._end)

    def _end(self) -> None:
        if not self.future.done():
            self.future.set_result(bool(self.outcome))


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


IS_CLOSED = methodcaller("is_closed")
_LIMITERS: dict[str, tuple[Limiter, WeakSet[asyncio.AbstractEventLoop]]] = {}
_LIMITERS_LOCK = threading.Lock()


def limiter_of(endpoint: str, *, starts_slowly: bool = True) -> Limiter:
    """The limiter of an endpoint, shared by all runs in the process.

    It keeps what it has learnt as long as an event loop that asked for it is open.
    """
    loop = asyncio.get_running_loop()
    with _LIMITERS_LOCK:
        for name, (_, loops) in list(_LIMITERS.items()):
            if all(map(IS_CLOSED, loops)):
                del _LIMITERS[name]
        limiter, loops = _LIMITERS.setdefault(
            endpoint, (Limiter(starts_slowly=starts_slowly), WeakSet())
        )
        loops.add(loop)
        return limiter


def _begin_anew() -> None:
    """In a forked process, forget what the parent's threads are waiting for or have in flight."""
    _LIMITERS.clear()
    _LIMITERS_LOCK.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_LIMITERS_LOCK.acquire,
        after_in_parent=_LIMITERS_LOCK.release,
        after_in_child=_begin_anew,
    )


def bounded(limits: Limits) -> tuple[Limits, str | None]:
    """The limits lowered so that each request has a file descriptor, and a line that says so."""
    allowed, free = _descriptors()
    most = max(1, free // 2, free - RESERVE)
    if limits.concurrency <= most:
        return limits, None
    text = f"at most {most} requests at once: 'ulimit -n' is {allowed}"
    return replace(limits, concurrency=most), text


def _descriptors() -> tuple[int, int]:
    """How many file descriptors the process may have, and how many are still free."""
    many = 2**31
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return many, many
    allowed, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if allowed == resource.RLIM_INFINITY:
        return many, many
    for folder in ("/proc/self/fd", "/dev/fd"):
        with suppress(OSError):
            return allowed, allowed - len(list(Path(folder).iterdir()))
    return allowed, allowed - RESERVE
