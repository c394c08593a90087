"""The calls of a run, in the order in which to make them. Items are read as needed."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine, Iterator
from itertools import islice
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from rubricate.run._plan import Plan
from rubricate.run.items import Call, ItemMachine, JudgedItem, Pending
from rubricate.run.journal import LOOK_AGAIN, Answers, Known, SingleFlight

if TYPE_CHECKING:
    from rubricate.run._turns import Turns

Opened = tuple[JudgedItem, list[Call]]
"""An item and some of its calls."""
BLOCK, LOCAL_BLOCK = 256, 16
"""Items whose answers are looked up together: the size of a worker's block; fewer without a
network, where the event loop waits for their keys (10 ms for 16 items with 10 criteria). At half, a
link of 20 ms costs quick judgements twice as much; at double, twice as many items are in memory."""
MOST_DEFERRED = 1024
"""How many calls that failed in an earlier run may wait until the others are done. At half, such
calls mix with others sooner; at double, more items are open."""
KEYS = attrgetter("keys")


class CallQueue:
    """Reads items, applies their stored answers, and returns the remaining calls.

    Args:
        plan: the items.
        machine: decides which calls they need.
        answers: the stored answers.
        leader_first: whether an item's first call to a judge goes before its other calls.
        on_progress: called after stored answers were applied.

    Attributes:
        open: items in progress, by index.
        flights: keeps two calls of this process from asking for the same answer.
        turns: the same for other processes; None if no other process shares the answers.
    """

    def __init__(
        self,
        plan: Plan,
        machine: ItemMachine,
        answers: Answers,
        *,
        leader_first: bool,
        on_progress: Callable[[], None],
    ) -> None:
        self.open: dict[int, JudgedItem] = {}
        self.flights = SingleFlight()
        self.turns = None if answers.claims is None else _turns(answers, self.flights)
        self._items = enumerate(plan)
        self._machine = machine
        self._answers = answers
        self._leader_first = leader_first
        self._on_progress = on_progress
        self._pending: Iterator[Pending] = iter(())
        if not answers.is_remote:
            self._pending = self._local_calls()
        self._ready: deque[Pending] = deque()  # before those in `_pending`
        self._deferred: deque[Pending] = deque()  # after all blocks
        # With a network: the next block, batches being looked up, and what to look up next.
        self._block: asyncio.Task[list[Opened]] | None = None
        self._looking_up: dict[int, list[Opened]] = {}
        self._unread: list[Opened] = []
        self._leaders = 0  # calls in flight that may lead to more calls
        self._more = asyncio.Event()

    def begin(self) -> None:
        """Start looking up stored answers over a network."""
        self._block = asyncio.create_task(self._next_block())

    def end(self) -> list[asyncio.Future[Any]]:
        """Stop reading. Returns the futures to cancel."""
        return [] if self._block is None else [self._block]

    def pop(self) -> Pending | None:
        """The next call, first of open items, then of new ones; None if there is none yet."""
        if self._unread:
            return None
        if self._ready:
            return self._ready.popleft()
        if self.turns is not None and self.turns.is_full:
            return None
        pending = next(self._pending, None)
        if pending is None and self._deferred and self._block is None:
            pending = self._deferred.popleft()
        return pending

    async def pop_claimed(self, turns: Turns) -> Pending | None:
        """The same if other processes share the answers: skips calls that one of them is making."""
        if not self._unread:
            await turns.claim(self._ready, self._pending)
        return self.pop()

    async def wait(self) -> bool:
        """Wait until there may be another call. False if there will be none."""
        turns = self.turns
        if self._unread:
            await self._look_up_unread()
        elif self._block is not None and not (turns is not None and turns.is_full):
            await self._continue(self._block)
        elif turns is not None and turns.waits:
            await asyncio.sleep(LOOK_AGAIN)
        elif self._leaders:
            await self._more.wait()
        else:
            return False
        return True

    def look_up(self, item: JudgedItem, calls: list[Call]) -> None:
        """Queue further calls of an item, unless their answers are stored."""
        if not calls:
            return
        if self._answers.is_remote:
            self._unread.append((item, calls))
            return
        for _, calls_left in self._without_stored([(item, calls)]):
            self._ready.extend((item, call) for call in calls_left)
        self._on_progress()

    async def leading(
        self, item: JudgedItem, call: Call, making: Coroutine[Any, Any, bool]
    ) -> bool:
        """Make a call that may lead to more calls, while workers stay for those."""
        self._leaders += 1
        try:
            return await making
        finally:
            if item.leads(call):
                self._ready.extend((item, follower) for follower in item.follow(call))
            self._leader_ended()

    def _leader_ended(self) -> None:
        self._leaders -= 1
        self._more.set()
        self._more.clear()

    def rest(self) -> Iterator[JudgedItem]:
        """The remaining items in the order of the dataset, with their stored verdicts.

        Nothing is looked up for unread items if nothing can be stored.
        """
        for batch in (*self._looking_up.values(), self._unread):
            self._without_stored(batch)
        while True:
            while self.open:
                yield self.open.pop(next(iter(self.open)))
            opened = self._started(BLOCK) if self._answers.has_a_past else []
            if not opened:
                break
            self._without_stored(opened)
        for index, item in self._items:
            if item.data.unreadable is None:
                yield JudgedItem(item, index)
            else:
                yield self._machine.start(item, index)[0]

    # Reading

    def _started(self, count: int) -> list[Opened]:
        """The next `count` items, with their calls if nothing is stored."""
        opened: list[Opened] = []
        for index, item in islice(self._items, count):
            opened.append(self._machine.start(item, index))
            self.open[index] = opened[-1][0]
        return opened

    def _local_calls(self) -> Iterator[Pending]:
        """The calls to make for all items, with a local store."""
        size = 1
        while opened := self._started(size):
            yield from self._calls_of(self._without_stored(opened))
            size = min(2 * size, LOCAL_BLOCK)

    async def _next_block(self) -> list[Opened]:
        """The next items with the calls to make; empty after the last."""
        return await self._looked_up(self._started(BLOCK))

    async def _continue(self, block: asyncio.Task[list[Opened]]) -> None:
        """Continue with a block while the next one is looked up."""
        await asyncio.wait((block,))
        if block is self._block:  # else another worker has done it
            opened = block.result()
            self._block = asyncio.create_task(self._next_block()) if opened else None
            self._pending = self._calls_of(opened)

    def _calls_of(self, block: list[Opened]) -> Iterator[Pending]:
        """The calls to make; None once for an item that needs none."""
        for item, calls in block:
            if item.verdicts or item.votes:
                self._on_progress()
            for call in calls or (None,):
                if call is None or not call.failed_before:
                    yield item, call
                    continue
                self._deferred.append((item, call))
                if len(self._deferred) > MOST_DEFERRED:
                    yield self._deferred.popleft()

    async def _look_up_unread(self) -> None:
        """Look up all calls that are waiting for it."""
        unread, self._unread = self._unread, []
        self._leaders += 1  # what is not stored leads to more calls
        try:
            for item, calls in await self._looked_up(unread):
                self._ready.extend((item, call) for call in calls)
                if item.is_complete:
                    self._ready.append((item, None))
        finally:
            self._leader_ended()
        self._on_progress()

    async def _looked_up(self, batch: list[Opened]) -> list[Opened]:
        """The items of a batch with the calls to make; looked up in a thread."""
        to_make: dict[int, Opened] = {}
        self._looking_up[id(batch)] = batch
        while batch:
            keys = _keys(batch)
            self._apply_stored(
                batch, await self._answers.look_up(keys) if keys else Known({}), to_make
            )
        del self._looking_up[id(batch)]
        return list(to_make.values())

    def _without_stored(self, batch: list[Opened]) -> list[Opened]:
        """The items of a batch with the calls to make; looked up directly."""
        to_make: dict[int, Opened] = {}
        while batch:
            self._apply_stored(batch, self._answers.known(_keys(batch)), to_make)
        return list(to_make.values())

    def _apply_stored(self, batch: list[Opened], known: Known, to_make: dict[int, Opened]) -> None:
        """Apply the stored answers to the calls of many items.

        Args:
            batch: items with the calls that were looked up. It is replaced by those with further
                calls, which follow from the stored answers.
            known: the stored answers.
            to_make: receives the items with the calls to make, by index.
        """
        opened, batch[:] = [*batch], []
        for item, calls in opened:
            pending = to_make.setdefault(item.index, (item, []))[1]
            if calls:
                calls_left = self._machine.take_known(item, calls, known)
                self.flights.plan(map(KEYS, calls_left))
                pending += item.lead(calls_left) if self._leader_first else calls_left
            if item.has_next and (more := self._machine.next_calls(item)):
                batch.append((item, more))


def _keys(batch: list[Opened]) -> list[str]:
    keys: list[str] = []
    for _, calls in batch:
        for call in calls:
            keys += call.keys
    return keys


def _turns(answers: Answers, flights: SingleFlight) -> Turns:
    from rubricate.run._turns import Turns

    return Turns(answers, flights)
