"""Decides whether a model still answers, and when to give it up.

A failure can be caused by the prompt or by the endpoint. To tell them apart, other prompts are
tried: until one is accepted, requests go one at a time, each with the prompt of another item. A
model is given up only after the prompts of several items have failed with none accepted in between.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from rubricate.errors import ModelError
from rubricate.run.sending._judgement import Judgement

DIFFERENT = 10
"""Failed items, with no prompt accepted in between, before a model counts as dead; fewer if there
are no others to try. Reasoned, not measured: if a tenth of the prompts fail by themselves, ten in a
row do so once in 10^10 times. At half, once in 10^5, which a large run may meet; at double, a dead
endpoint is sent 20 judgements with all their attempts."""
DIFFERENT_IN_SILENCE = 3
"""The same if there was no answer at all, because each of them takes the whole timeout. With one, a
single prompt that hangs would end a run; at double, a run with few requests in flight waits for
another timeout before it ends."""
REFUSALS_AT_FIRST = 5
"""The same if prompts were refused as invalid and none was ever accepted. With one or two, a
dataset that begins with unsuitable prompts would end a run; at double, an option that the endpoint
does not support costs ten requests."""
REFUSED_KEYS, NOT_FOUND = 2, 20
"""Prompts refused because of the key (401), or because the model was not found (403, 404), with
none accepted in between, after some had been accepted before."""
FAILED_AGAIN = 100
"""Failed judgements before a model counts as dead, if they had failed in an earlier run as well:
many of them fail again, and say little of the endpoint. At half, a retry of 50 bad prompts ends
before the others are asked; at double, a dead endpoint is asked 200 times."""
RAISED = 100
"""Judgements in which a judge's own code raised, with no success so far, before the judge counts as
broken. That costs 100 failed verdicts or requests. Half of it would stop runs that begin with a
block of texts which the code cannot read."""


@dataclass(slots=True, eq=False)
class CircuitBreaker:
    """The circuit breaker of one model in one run.

    Attributes:
        is_open: whether more than one request may be in flight.
        accepted: how many requests the model has answered.
        lost: why the model was given up, if it was. Nothing is sent to it after that.
    """

    is_open: bool = False
    accepted: int = 0
    lost: ModelError | None = None
    _sending: bool = False
    _is_unreached: bool = False
    _queue: list[tuple[Judgement, asyncio.Future[None]]] = field(default_factory=list)
    _asking: set[Judgement] = field(default_factory=set)
    # Since the last accepted request, in order: judgements that failed, and those given up.
    _failing: dict[Judgement, None] = field(default_factory=dict)
    _items: set[int] = field(default_factory=set)
    _bad: dict[int, object] = field(default_factory=dict)  # items whose own prompt is at fault
    _given_up: dict[str, set[Judgement]] = field(default_factory=dict)

    # Until the first request is accepted, requests go one at a time

    async def turn(self, judgement: Judgement) -> None:
        """Wait until this judgement may send its request. Call `done` afterwards."""
        if not (self._sending or self._queue or self._items):
            self._sending = True
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((judgement, future))
        self._next()
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled():  # it already had its turn
                self.done()
            raise

    def done(self) -> None:
        """Note that the single request has returned."""
        self._sending = False
        self._next()

    def open(self) -> None:
        """Let all other requests go."""
        self.is_open = True
        queue, self._queue = self._queue, []
        for _, future in queue:
            if not future.done():
                future.set_result(None)

    def _next(self) -> None:
        """Give the turn to a prompt that has not been tried, if there is one.

        The latest call comes first, because it is the least like those that have failed. Once
        enough different prompts have failed, or if there is no connection (so that no prompt can be
        the cause), only the first failed one is retried.
        """
        if self._sending or self.is_open:
            return
        self._queue = [entry for entry in self._queue if not entry[1].done()]
        new = [entry for entry in self._queue if self._is_new(entry[0])]
        enough = self._is_unreached or len(self._items) >= DIFFERENT or not new
        chosen = None
        if self._failing and enough:
            oldest = next(iter(self._failing))
            chosen = next((entry for entry in self._queue if entry[0] is oldest), None)
        elif self._queue:
            chosen = (new or self._queue)[-1 if new and self._items else 0]
        if chosen is not None:
            self._queue.remove(chosen)
            self._sending = True
            chosen[1].set_result(None)

    # Judgements

    @property
    def has_new(self) -> bool:
        """Whether a request of an item without failures is in flight or waiting."""
        return any(map(self._is_new, self._asking))

    def _is_new(self, judgement: Judgement) -> bool:
        return judgement.is_fresh and id(judgement.item) not in self._items

    def join(self, judgement: Judgement) -> None:
        """Add a judgement that sends requests. Call `leave` when it is done."""
        self._asking.add(judgement)

    def leave(self, judgement: Judgement) -> None:
        """Remove a judgement that has nothing more to send."""
        self._asking.discard(judgement)
        if self._failing and self._failing.pop(judgement, self) is None:
            self._next()

    # Outcomes

    @property
    def different(self) -> int:
        """How many items have failed since the last accepted request."""
        return len(self._items)

    def accept(self) -> None:
        """Note an answer."""
        self.accepted += 1
        if self._failing or self._given_up:
            self._failing.clear()
            self._items.clear()
            self._given_up.clear()
        if not self.is_open:
            self.open()

    def is_about(self, judgement: Judgement) -> bool:
        """Whether the prompt itself causes the failures of a judgement.

        It does if others got through in the meantime, or if it failed in an earlier run, or if
        another prompt of the same item did.
        """
        failed_at = judgement.failed_at
        got_through = failed_at is not None and self.accepted > failed_at
        return judgement.failed_before or got_through or id(judgement.item) in self._bad

    def fail(self, judgement: Judgement, *, unsent: bool = False) -> bool:
        """Note a temporary failure. Returns whether it is news about the endpoint."""
        self._is_unreached = unsent
        is_about, is_known = self.is_about(judgement), judgement in self._failing
        if judgement.failed_at is None:
            judgement.failed_at = self.accepted
        if is_about and not unsent:
            self._bad[id(judgement.item)] = judgement.item
            return False
        self._failing[judgement] = None
        self._items.add(id(judgement.item))
        return not is_known

    def pause(self, error: ModelError, endpoint: str, seconds: float) -> None:
        """Give the model up because its endpoint asks for a pause that is too long."""
        if self.lost is None:
            text = f"{endpoint} asks to wait for {_duration(seconds)}: {error}"
            self.lost = ModelError(error.kind, text, status=error.status)

    def is_silent(self, error: ModelError, endpoint: str, seconds: float) -> None:
        """Give the model up because its endpoint has not answered for too long."""
        if self.lost is None:
            text = f"{endpoint} has not answered for {seconds:.0f} s: {error}"
            self.lost = ModelError(error.kind, text, status=error.status)

    def refuses_key(self, judgement: Judgement) -> bool:
        """Note that a working key is refused (401). Returns whether several prompts were by now."""
        return self._counted(judgement, "refused") >= REFUSED_KEYS

    def give_up(self, judgement: Judgement, error: ModelError) -> None:
        """Note the final failure of a judgement."""
        if self.lost is None and self._is_lost(judgement, error):
            self.lost = error

    def _is_lost(self, judgement: Judgement, error: ModelError) -> bool:
        if error.fatal:
            # The key or the model has stopped working, or this is about one prompt.
            if not self.accepted or (error.kind == "auth" and error.status not in (401, 403)):
                return True
            most = REFUSED_KEYS if error.status == 401 else NOT_FOUND
            return self._counted(judgement, "refused") >= most
        if error.kind in ("bad_request", "judge_error") and not self.accepted:
            self._items.add(id(judgement.item))
            self._counted(judgement, "wrong")
            return len(self._items) >= REFUSALS_AT_FIRST
        if error.retryable or error.kind == "deadline":
            return self._is_dead(judgement, error)
        return False

    def _is_dead(self, judgement: Judgement, error: ModelError) -> bool:
        if self.is_about(judgement) and not error.unsent:
            return judgement.failed_before and self._counted(judgement, "again") >= FAILED_AGAIN
        given_up = self._counted(judgement, "failed")
        if self.accepted:
            return given_up >= DIFFERENT and self.has_new  # else there is nothing to save
        is_silent = error.kind == "deadline" or (error.kind == "timeout" and error.status is None)
        most = DIFFERENT_IN_SILENCE if is_silent else DIFFERENT
        surely = error.unsent or error.kind == "loading" or self.different >= most
        return surely or not self.has_new

    def _counted(self, judgement: Judgement, what: str) -> int:
        given_up = self._given_up.setdefault(what, set())
        given_up.add(judgement)
        return len(given_up)


@dataclass
class Raising:
    """Finds the judges of a run whose own code always raises.

    Attributes:
        making: the voters, by index, that have completed a judgement.
        broken: those that have completed none and have raised `RAISED` times.
    """

    making: set[int] = field(default_factory=set)
    broken: set[int] = field(default_factory=set)
    _raised: Counter[int] = field(default_factory=Counter)

    def raised(self, voter: int) -> bool:
        """Note that a voter's judge has raised. Returns whether it counts as broken now."""
        self._raised[voter] += 1
        if voter in self.making or self._raised[voter] < RAISED:
            return False
        self.broken.add(voter)
        return True


def _duration(seconds: float) -> str:
    """A duration in words, at most `longer than a week`."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 7 * 24 * 60 else "longer than a week"
