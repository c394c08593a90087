"""Stored answers: the journal of this run, and the cache."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, NamedTuple
from weakref import WeakValueDictionary

import orjson

from rubricate._sync import in_thread
from rubricate.errors import JournalError
from rubricate.rubric import Usage
from rubricate.run._progress import Progress
from rubricate.run.journal._claims import Turn
from rubricate.run.journal._exchanges import TextNames, Transcript, named_keys, named_texts
from rubricate.run.journal._journal import Journal
from rubricate.run.journal._records import Judged, record_of, to_json

LOOK_AGAIN = 0.1
"""Seconds between checks whether another process has got the answer that it is asking for. Commits
are 0.2 s apart; at half, the database is queried twice as often; at double, 0.1 s is lost once."""


GRACE = 1.5
"""Seconds in which a server must confirm the last answers of an interrupted run. At half, a busy
server loses answers that were paid for; at double, the command may be killed before it has written
its results."""


class Known(NamedTuple):
    """Records of answers by key, and the keys that come from the cache."""

    records: dict[str, dict[str, Any]]
    cached: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Copies:
    """What was read from the cache: records, their exchanges, and the texts that those name.

    `error` says why the cache cannot be read.
    """

    records: dict[str, dict[str, Any]]
    exchanges: dict[str, bytes] = field(default_factory=dict)
    texts: dict[str, bytes] = field(default_factory=dict)
    error: JournalError | None = None


class Answers:
    """The journal of a run, backed by a cache that several runs share.

    If the cache fails (a full disk, a file locked by another process), the run continues without
    it.

    Args:
        journal: the journal of the run.
        cache: the shared cache, if any; closed by `close`.
        reads_cache: whether to read from the cache. Answers are written to it in any case.
        on_trouble: called with a line that says why the cache was given up.

    Attributes:
        ledger: what the run has cost, and what this process may still spend.
        lease: the lease of the run; None if no other process can take it over.
        is_remote: whether lookups go over a network. Use `look_up` for many keys at once.
        claims: the answers that this process is asking for, while others that share the cache wait
            for them; None without such a cache.
    """

    def __init__(
        self,
        journal: Journal,
        cache: Journal | None = None,
        *,
        reads_cache: bool = True,
        on_trouble: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._journal = journal
        self.ledger = journal.ledger
        self.lease = journal.lease
        self._cache = cache
        self._reads_cache = reads_cache
        self.is_remote = journal.is_remote or (cache is not None and cache.is_remote)
        self._on_trouble = on_trouble
        self._damaged_in_cache = 0
        self._trouble: str | None = None
        self._looking_up: dict[int, dict[str, dict[str, Any] | None]] = {}  # answers put meanwhile
        self.claims = None if cache is None or not reads_cache else cache.claims

    @cached_property
    def _names(self) -> TextNames:
        return TextNames()

    def transcript(self) -> Transcript | None:
        """A transcript for the exchanges of a judgement; None if they are not kept."""
        if self._cache is None and not self._journal.keeps_exchanges:
            return None
        return Transcript(self._names)

    def run_usage(self) -> Usage:
        """Usage of the run over all commands and processes; unknown if it cannot be read."""
        try:
            others = self._journal.entries()
        except JournalError:
            return Usage(cost=None)
        return self.ledger.total(others.values())

    @property
    def room(self) -> int | None:
        """How many more processes the journal's database has connections for; None for no limit."""
        return self._journal.room

    @property
    def has_a_past(self) -> bool:
        """Whether there may be answers from before this run."""
        return self._journal.has_a_past or (self._reads_cache and self._cache is not None)

    def expect_others(self) -> None:
        """Note that other processes have added answers since the journal was opened."""
        self._journal.has_a_past = True

    @property
    def damaged(self) -> int:
        """How many records were found damaged."""
        cache = self._cache.damaged if self._cache is not None else self._damaged_in_cache
        return self._journal.damaged + cache

    def known(self, keys: Sequence[str]) -> Known:
        """The records under these keys, including failed judgements in the journal."""
        records = self._journal.get_many(keys)
        if self._cache is None or not self._reads_cache:
            return Known(records)
        return self._with_copies(records, self._in_cache(self._missing(keys, records)))

    async def look_up(self, keys: Sequence[str]) -> Known:
        """The same as `known`, in a thread if the lookup goes over a network."""
        if not self.is_remote:
            return self.known(keys)
        journal, cache = self._journal, self._cache
        put: dict[str, dict[str, Any] | None] = dict.fromkeys(keys)
        self._looking_up[id(put)] = put
        try:
            get = partial(journal.get_many, keys)
            records = await in_thread(get) if journal.is_remote else get()
            read = partial(self._in_cache, self._missing(keys, records))
            is_remote = cache is not None and cache.is_remote
            known = self._with_copies(records, await in_thread(read) if is_remote else read())
        finally:
            del self._looking_up[id(put)]
        newer = {key: record for key, record in put.items() if record is not None}
        return Known(known.records | newer, known.cached - newer.keys())

    async def find(self, key: str) -> dict[str, Any] | None:
        """The record under a key; None if there is none."""
        return (await self.look_up([key])).records.get(key)

    def _missing(self, keys: Sequence[str], records: dict[str, dict[str, Any]]) -> list[str]:
        """The keys to look up in the cache."""
        if self._cache is None or not self._reads_cache:
            return []
        return [key for key in keys if key not in records or records[key]["status"] == "failed"]

    def _in_cache(self, keys: Sequence[str]) -> _Copies:
        """Read records and exchanges from the cache. May run in a thread."""
        cache, journal, records = self._cache, self._journal, dict[str, dict[str, Any]]()
        if cache is None or not keys:
            return _Copies(records)
        try:
            records = cache.get_many(keys)
            if not records or not journal.keeps_exchanges:
                return _Copies(records)
            exchanges = cache.exchanges(list(records))
            names = {name for lines in exchanges.values() for name in named_texts(lines)}
            texts = cache.texts([name for name in names if not journal.has_text(name)])
        except JournalError as error:
            return _Copies(records, error=error)
        return _Copies(records, exchanges, texts)

    def _with_copies(self, records: dict[str, dict[str, Any]], copies: _Copies) -> Known:
        """The records of journal and cache. Those of the cache are copied into the journal."""
        if copies.error is not None:
            self._give_up_cache(copies.error)
        for name, text in copies.texts.items():
            self._journal.put_text(name, text)
        for key, record in copies.records.items():
            lines = copies.exchanges.get(key, b"")
            self._journal.put(key, record, lines)
            if parts := named_keys(lines):
                self.known(parts)
        return Known(records | copies.records, frozenset(copies.records))

    async def claim(self, groups: Sequence[Sequence[str]]) -> None:
        """Claim the answers of calls, one group of keys each. The outcome is in `claims`."""
        cache, claims = self._cache, self.claims
        if claims is None or cache is None:
            return
        claim = partial(cache.claim, claims.holder, groups)
        try:
            claims.note(groups, *(await in_thread(claim) if cache.is_remote else claim()))
        except JournalError as error:
            if cache is self._cache:
                self._give_up_cache(error)

    async def turn(self, keys: Sequence[str]) -> Turn:
        """Whose turn it is to ask: this process's, or that of another one with the same cache."""
        if self.claims is not None and self.claims.turn(keys) is None:
            await self.claim([keys])
        return "mine" if self.claims is None else self.claims.turn(keys) or "mine"

    def release(self, keys: Sequence[str]) -> None:
        """End the claims on answers. Those that were put are shared."""
        if self.claims is not None:
            self.claims.release(keys)

    async def own_turn(self, key: str) -> bool:
        """Wait while another process asks for an answer. Returns whether there is one now."""
        while (turn := await self.turn([key])) == "theirs":
            await asyncio.sleep(LOOK_AGAIN)
            await self.claim([[key]])
        return turn == "answered"

    def put(
        self,
        key: str,
        answer: Judged,
        *,
        shared: bool,
        transcript: Transcript | None = None,
    ) -> None:
        """Store an answer in the journal and, if shared, in the cache.

        Args:
            key: its key.
            answer: the verdict, or another record.
            shared: whether to store it in the cache, too.
            transcript: its exchanges.
        """
        exchanges = b"" if transcript is None else transcript
        for put in self._looking_up.values():
            if key in put:  # a lookup in progress may return an older one
                put[key] = orjson.loads(to_json(record_of(answer)))
        self._journal.put(key, answer, exchanges)
        if shared and self._cache is not None:
            try:
                self._cache.put(key, answer, exchanges)
            except JournalError as error:
                self._give_up_cache(error)

    @property
    def is_full(self) -> bool:
        """Whether to wait for `durable` before judging more."""
        return self._journal.is_full or (self._cache is not None and self._cache.is_full)

    def commit(self) -> None:
        """Write what is pending, at once or soon."""
        journal, cache = self._journal, self._cache
        journal.commit()
        if journal.trouble != self._trouble:
            self._trouble = journal.trouble
            if self._trouble is not None:
                self._on_trouble(self._trouble)
        if cache is not None:
            try:
                cache.commit()
            except JournalError as error:
                self._give_up_cache(error)

    async def durable(self) -> None:
        """Wait until all that was put is durable."""
        await self._journal.durable()
        if self._cache is not None:
            try:
                await self._cache.durable()
            except JournalError as error:
                self._give_up_cache(error)

    async def ready(self) -> None:
        """Wait until judging may continue: all is durable, and this process holds the lease."""
        await self.durable()
        if self.lease is not None:
            await self.lease.held()

    async def end(self, progress: Progress, stop: asyncio.Event) -> None:
        """End an execution: record its usage, and make everything durable.

        If it is interrupted before or meanwhile, a server has `GRACE` seconds to confirm.
        """
        self.ledger.end(progress)
        if not self._journal.is_remote:
            await self._end()
            return
        task = asyncio.current_task()
        is_cut = stop.is_set() or (task is not None and task.cancelling() > 0)
        ending = asyncio.create_task(self._end(answers_looks=is_cut))
        late = asyncio.create_task(_grace(None if is_cut else stop))
        try:
            await asyncio.wait((ending, late), return_when=asyncio.FIRST_COMPLETED)
            if ending.done():
                ending.result()
            else:
                self._journal.give_up()
        finally:
            ending.cancel()
            late.cancel()

    async def _end(self, *, answers_looks: bool = False) -> None:
        await self.durable()
        if answers_looks:  # the remaining items are looked up next
            await in_thread(partial(self._journal.get_many, [""]))

    def _give_up_cache(self, error: JournalError) -> None:
        assert self._cache is not None
        self._damaged_in_cache = self._cache.damaged
        with suppress(JournalError):
            self._cache.close()
        self._cache = self.claims = None
        self._on_trouble(f"continuing without the cache: {error}")

    def close(self) -> None:
        """Close the cache."""
        if self._cache is not None:
            with suppress(JournalError):
                self._cache.close()


async def _grace(stop: asyncio.Event | None) -> None:
    if stop is not None:
        await stop.wait()
    await asyncio.sleep(GRACE)


class SingleFlight:
    """Keeps two calls from asking for the same answer at the same time.

    It tracks the keys that are planned, in flight, and answered meanwhile. A key is forgotten once
    no call about it is planned.
    """

    def __init__(self) -> None:
        self._planned: dict[str, int] = {}
        self._asking: dict[str, asyncio.Future[None] | None] = {}  # a future if a call waits for it
        self._asked: set[str] = set()

    def plan(self, calls: Iterable[Sequence[str]]) -> None:
        """Add planned calls, for keys without an answer so far."""
        for keys in calls:
            for key in keys:
                self._planned[key] = self._planned.get(key, 0) + 1
                self._asked.discard(key)  # asked without success

    def begin(self, keys: Sequence[str]) -> bool | None:
        """Whether a planned call should be made as planned. If so, call `end` afterwards.

        False if another call has asked for one of its answers since it was planned. None if
        another call is asking for one now; `over` waits for that.
        """
        is_answered = asking = False
        for key in keys:
            remaining = self._planned.pop(key, 1) - 1
            if remaining:
                self._planned[key] = remaining
            if key in self._asked:
                is_answered = True
                if not remaining:
                    self._asked.discard(key)
            if key in self._asking:
                asking = True
        if asking:
            return None
        if not is_answered:
            for key in keys:
                self._asking[key] = None
        return not is_answered

    async def over(self, keys: Sequence[str]) -> None:
        """Wait until no call is asking for any of these answers."""
        while on_way := [key for key in keys if key in self._asking]:
            waited = self._asking[on_way[0]]
            if waited is None:
                waited = self._asking[on_way[0]] = asyncio.get_running_loop().create_future()
            await asyncio.wait([waited])

    def end(self, keys: Sequence[str]) -> None:
        """Note that a call has ended, successfully or not."""
        for key in keys:
            if (waited := self._asking.pop(key, None)) is not None:
                waited.set_result(None)
            if key in self._planned:
                self._asked.add(key)


Locks = WeakValueDictionary[str, asyncio.Lock]
"""A lock for each key in use, so that a second caller finds what the first one received.

For requests that cannot be planned ahead.
"""


def lock_of(locks: Locks, key: str) -> asyncio.Lock:
    """The lock of a key."""
    lock = locks.get(key)
    if lock is None:
        lock = locks[key] = asyncio.Lock()
    return lock
