"""What a run knows of one model: whether it answers, and why it is given up.

A failure may be about the prompt or about the endpoint. What tells them apart is whether other
prompts get through: until one has, requests go one at a time, each with another item's prompt; and
a model is given up only when the prompts of different items have failed with none accepted between.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass, field

from rubricate.errors import ModelError
from rubricate.run.sending._judgement import Judgement

DIFFERENT = 10
"""Items whose prompts have failed, with none accepted, before a model is taken for dead; fewer
where there are no others to ask."""
DIFFERENT_IN_SILENCE = 3
"""As many where there was no answer at all: each took the whole of its time."""
REFUSALS_AT_FIRST = 5
"""As many whose prompts were refused as wrong, with none ever accepted: 200 more would be, too."""
REFUSED_KEYS, NOT_FOUND = 2, 20
"""As many prompts that were refused for their key (401), or whose model was not found (403, 404),
with none accepted between, once some had been accepted before."""
FAILED_AGAIN = 100
"""As many judgements that had failed in an earlier run, too."""
RAISED = 100
"""Judgements in each of which a judge's own code raised, with none that it has made, before it is
taken for broken. That costs 100 failed verdicts, or requests, in a run of 100,000. Half as many
would stop runs that begin with a block of texts that the code cannot read."""


@dataclass(slots=True, eq=False)
class CircuitBreaker:
    """One model in one run.

    Attributes:
        is_open: whether more than one request may be on its way.
        accepted: how many requests it has answered.
        lost: why it is given up, once it is: nothing is sent to it from then on.
    """

    is_open: bool = False
    accepted: int = 0
    lost: ModelError | None = None
    _sending: bool = False
    _is_unreached: bool = False
    _queue: list[tuple[Judgement, asyncio.Future[None]]] = field(default_factory=list)
    _asking: set[Judgement] = field(default_factory=set)
    # Since the last accepted request, in order: what has failed, and what was given up.
    _failing: dict[Judgement, None] = field(default_factory=dict)
    _items: set[int] = field(default_factory=set)
    _bad: dict[int, object] = field(default_factory=dict)  # items: others' prompts get through
    _given_up: dict[str, set[Judgement]] = field(default_factory=dict)

    # Until the first request is accepted, one goes at a time

    async def turn(self, judgement: Judgement) -> None:
        """Wait until this judgement's request may go; `done` is to be called after it."""
        if not (self._sending or self._queue or self._items):
            self._sending = True
            return
        future: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._queue.append((judgement, future))
        self._next()
        try:
            await future
        except asyncio.CancelledError:
            if not future.cancelled():  # its turn had come
                self.done()
            raise

    def done(self) -> None:
        """The request that went alone is back."""
        self._sending = False
        self._next()

    def open(self) -> None:
        """Let the others go, too."""
        self.is_open = True
        queue, self._queue = self._queue, []
        for _, future in queue:
            if not future.done():
                future.set_result(None)

    def _next(self) -> None:
        """Give the turn to a prompt that says something new, if there is one.

        That of the call that came last is furthest from those that have failed. Once enough
        different ones have failed, or where there is no connection and no prompt can be the cause,
        the first of them alone is sent again.
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

    # Who asks

    @property
    def has_new(self) -> bool:
        """Whether a prompt of an item none of whose prompts has failed is on its way, or waits."""
        return any(map(self._is_new, self._asking))

    def _is_new(self, judgement: Judgement) -> bool:
        return judgement.is_fresh and id(judgement.item) not in self._items

    def join(self, judgement: Judgement) -> None:
        """A judgement asks; it is to `leave`."""
        self._asking.add(judgement)

    def leave(self, judgement: Judgement) -> None:
        """A judgement asks nothing more for now."""
        self._asking.discard(judgement)
        if self._failing and self._failing.pop(judgement, self) is None:
            self._next()

    # What its answers say

    @property
    def different(self) -> int:
        """The prompts of how many items have failed since the last one was accepted."""
        return len(self._items)

    def accept(self) -> None:
        """A request has got its answer."""
        self.accepted += 1
        if self._failing or self._given_up:
            self._failing.clear()
            self._items.clear()
            self._given_up.clear()
        if not self.is_open:
            self.open()

    def is_about(self, judgement: Judgement) -> bool:
        """Whether the failures of a judgement are about its prompt: others got through meanwhile,
        or it is known from an earlier run, or from another prompt of the same item."""
        failed_at = judgement.failed_at
        got_through = failed_at is not None and self.accepted > failed_at
        return judgement.failed_before or got_through or id(judgement.item) in self._bad

    def fail(self, judgement: Judgement, *, unsent: bool = False) -> bool:
        """A request that may succeed later has failed; whether that is news of the endpoint."""
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
        """The endpoint asks all requests to wait, for so long that no call can."""
        if self.lost is None:
            text = f"{endpoint} asks to wait for {_duration(seconds)}: {error}"
            self.lost = ModelError(error.kind, text, status=error.status)

    def is_silent(self, error: ModelError, endpoint: str, seconds: float) -> None:
        """The endpoint has answered nobody for as long as it is waited for."""
        if self.lost is None:
            text = f"{endpoint} has not answered for {seconds:.0f} s: {error}"
            self.lost = ModelError(error.kind, text, status=error.status)

    def refuses_key(self, judgement: Judgement) -> bool:
        """A key that was good is refused (401): whether for several prompts by now."""
        return self._counted(judgement, "refused") >= REFUSED_KEYS

    def give_up(self, judgement: Judgement, error: ModelError) -> None:
        """A judgement has failed for good."""
        if self.lost is None and self._is_lost(judgement, error):
            self.lost = error

    def _is_lost(self, judgement: Judgement, error: ModelError) -> bool:
        if error.fatal:
            # A key or a model that was good is no longer so, or this is about one prompt.
            if not self.accepted or (error.kind == "auth" and error.status not in (401, 403)):
                return True
            most = REFUSED_KEYS if error.status == 401 else NOT_FOUND
            return self._counted(judgement, "refused") >= most
        if error.kind == "bad_request" and not self.accepted:
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
            return given_up >= DIFFERENT and self.has_new  # else there is nothing to be spared
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
    """Which judges of a run raise in all that they do.

    Attributes:
        making: the voters, by index, that have made a judgement.
        broken: those that have made none, and have raised in `RAISED`.
    """

    making: set[int] = field(default_factory=set)
    broken: set[int] = field(default_factory=set)
    _raised: Counter[int] = field(default_factory=Counter)

    def raised(self, voter: int) -> bool:
        """A voter's judge has raised; whether it is broken by that."""
        self._raised[voter] += 1
        if voter in self.making or self._raised[voter] < RAISED:
            return False
        self.broken.add(voter)
        return True


def _duration(seconds: float) -> str:
    """A time in words; a moment that will not come is `longer than a week`."""
    minutes = seconds / 60
    if minutes < 2:
        return f"{seconds:.0f} s"
    if minutes < 120:
        return f"{minutes:.0f} min"
    return f"{minutes / 60:.0f} h" if minutes < 7 * 24 * 60 else "longer than a week"
