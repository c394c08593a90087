"""What a journal is: every finished judgement under a key of all that could change it.

`Journal` is what all journals share, whatever stores them: records that wait for their batch, what
a row holds, and which keys are surely not there. `MemoryJournal` is that of a run without a folder.

A row has a record with a checksum, and beside it what was sent and received for it (`_exchanges`).
The reason of a verdict is mostly a part of the reply: then the record refers to it there, so that
it is stored once.
"""

from __future__ import annotations

import threading
import zlib
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from rubricate.run.journal._claims import Claims
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._ledger import Decide, Entry, Ledger
from rubricate.run.journal._records import Judged, record_of, to_json

if TYPE_CHECKING:
    from rubricate.run.journal._lease import Lease
    from rubricate.run.journal._places import Access

BATCH = 64
"""Answers after which a batch is written. At half, an SQLite file takes a third longer for each
answer; at double, a killed process loses twice as many."""
MOST_EXCHANGES = 1 << 18
"""Bytes of earlier exchanges that further ones under a key are put behind."""
REACH = 1 << 16
"""Bytes at the end of the exchanges that a look-up reads for the reason: a reply has 16,000
characters at most. At half, some replies in other scripts are stored twice; at double, a look-up
reads more of the earlier attempts of a judgement that has failed."""
SHORTEST = 32
"""Characters of a reason from which on it is referred to: the reference itself takes ten."""
_PACKED_FROM = 4096
"""Bytes of a text from which on it is deflated: a few pages take longer to pack than to write."""
_WRITTEN = 100_000
"""Hashes of texts that are held as written: 15 MB."""
_BITS = 25
_MASK = (1 << _BITS) - 1


class Pending:
    """An answer that is not known to be durable.

    Attributes:
        answer: the verdict, or its record.
        noted: what was sent and received for it.
    """

    __slots__ = ("answer", "noted")

    def __init__(self, answer: Judged, noted: list[bytes | Transcript]) -> None:
        self.answer, self.noted = answer, noted


Row = tuple[str, bytes, int, bytes | None]
"""An answer as it is stored: key, record, checksum and exchanges."""


class Journal:
    """Records by key; what is committed is there after the process is killed.

    Args:
        access: how this process has it.

    Attributes:
        has_a_past: whether there may be records from before, or from other processes.
        damaged: how many records were found damaged; they count as not there.
        keeps_exchanges: whether what was sent and received is kept beside the records.
        lease: who has the run; None where no other process is to be kept off it.
        is_remote: whether a look-up may take a round trip over a network, so that many keys are
            looked up at once, in a thread; `get_many`, `exchanges`, `texts` and `claim` may be
            called there.
        is_full: whether so much waits to be written that no more is to be put before it is.
        trouble: what the store is waited for, in words; None for nothing.
        room: how many more processes can use the store at once; None for any number.
        ledger: what the run has cost; this process's entry is written with each commit.
        claims: in a cache, the answers that this process is asking for; None elsewhere. They are
            renewed, and those that are released end, with each commit.

    All methods raise `JournalError` where the store cannot be used any more.
    """

    keeps_exchanges = True
    is_remote = False
    lease: Lease | None = None

    def __init__(self, access: Access = "alone") -> None:
        self.has_a_past = False
        self.damaged = 0
        self.ledger = Ledger(self._exchange)
        self._access = access
        self._is_cache = access == "cache"
        self._notes_spending = access not in ("cache", "reading")
        self.claims = Claims() if self._is_cache else None
        self._keys: Keys | None = None
        self._lock = threading.Lock()
        self._waiting: dict[str, Pending] = {}
        self._written_now: dict[str, Pending] = {}  # the batch that is being written
        self._texts: dict[str, bytes] = {}
        self._written: set[str] = set()

    @property
    def is_full(self) -> bool:
        return False

    @property
    def trouble(self) -> str | None:
        return None

    @property
    def room(self) -> int | None:
        return None

    def get_many(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The records under keys; one that is not there, or damaged, is missing."""
        records: dict[str, dict[str, Any]] = {}
        with self._lock:
            for key in keys:
                pending = self._waiting.get(key) or self._written_now.get(key)
                if pending is not None:
                    records[key] = orjson.loads(to_json(record_of(pending.answer)))
        stored = self._keys
        wanted = [
            key for key in keys if key not in records and (stored is None or stored.may_have(key))
        ]
        for row in self._rows(wanted):
            record = read_row(*row)
            if record is not None:
                records[row[0]] = record
            else:
                self.damaged += 1
        return records

    def _rows(self, keys: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        """Key, record, checksum and the end of the exchanges of the keys that are stored."""
        return ()

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What was sent and received for the records under keys, where that is kept."""
        if self._written_now or not self._waiting.keys().isdisjoint(keys):
            self._flush()
        return {key: lines for key, lines in self._lines(keys) if isinstance(lines, bytes)}

    def _lines(self, keys: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        """Key and exchanges of the keys that are stored."""
        return ()

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with hashes, deflated; one that is not there is missing."""
        return {}

    def put(self, key: str, answer: Judged, exchanges: bytes | Transcript = b"") -> None:
        """Keep an answer; it is durable after the next commit, which may be now.

        It becomes bytes only with its batch: one after the other, that takes half the time.

        Args:
            key: its key.
            answer: the verdict, or its record; it is not to be changed afterwards.
            exchanges: what was sent and received for it.
        """
        if self._access == "reading":
            return
        with self._lock:
            pending = self._waiting.get(key)
            if pending is None:
                self._waiting[key] = Pending(answer, [exchanges])
            else:
                pending.answer = answer
                if exchanges:
                    pending.noted = [*([] if self._is_cache else pending.noted), exchanges]

    def put_text(self, name: str, text: bytes) -> None:
        """Keep a text that exchanges name, deflated, under its hash."""
        with self._lock:
            self._texts[self._note_written(name)] = text

    def has_text(self, name: str) -> bool:
        """Whether a text is known to be there."""
        return name in self._written

    def _note_written(self, name: str) -> str:
        if len(self._written) >= _WRITTEN:
            self._written.clear()
        self._written.add(name)
        return name

    def _packed(self, batch: dict[str, Pending], texts: dict[str, bytes]) -> Iterator[Row]:
        """A batch as rows in the order of their keys, so that no two processes wait for each other.

        Args:
            batch: the answers.
            texts: is given the texts that these name for the first time, by their hashes.
        """
        if self._keys is not None:  # what waits is looked up there
            self._keys.update(batch)
        for key in sorted(batch):
            pending, lines = batch[key], list[bytes]()
            for noted in pending.noted:
                if isinstance(noted, bytes):
                    lines.append(noted)
                    continue
                written, named = noted.written()
                lines.append(written)
                if named.keys() <= self._written:
                    continue
                for name, text in named.items():
                    if name not in self._written:
                        texts[self._note_written(name)] = _deflated(text.encode("utf-8", "replace"))
            yield _row(key, record_of(pending.answer), b"".join(lines))

    def commit(self) -> None:
        """Have what is waiting written, at once or soon; what kept it from that is raised."""

    def _flush(self) -> None:
        """Wait until all that was put is durable."""
        self.commit()

    async def durable(self) -> None:
        """Wait until all that was put is durable."""
        self.commit()

    def give_up(self) -> None:
        """Wait no more for the store: what it has not confirmed is not kept, and nothing looked up.

        May be called where `is_remote`.
        """

    async def _exchange(self, decide: Decide) -> None:
        """Read the others' entries, and write this process's, one process after the other."""
        decide(self.entries())

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, now and earlier."""
        return {}

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys of a cache, each as a whole or not at all.

        Returns:
            Which are claimed, and the claimed keys that have an answer.
        """
        return [True] * len(groups), ()

    def close(self) -> None:
        """Let go of the store, all that was put committed."""


class MemoryJournal(Journal):
    """The journal of a run that has no folder: records alone, gone with the process."""

    keeps_exchanges = False

    def __init__(self) -> None:
        super().__init__()
        self._records: dict[str, bytes] = {}

    def get_many(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        records = self._records
        if not records:
            return {}
        return {key: orjson.loads(records[key]) for key in keys if key in records}

    def put(self, key: str, answer: Judged, exchanges: bytes | Transcript = b"") -> None:
        self._records[key] = to_json(record_of(answer))


class Keys:
    """A set of keys that may say of one that it is there though it is not (a Bloom filter).

    What is surely not there need not be looked up. 4 MiB: of a million keys, 3 in a hundred others
    seem to be there; of ten millions, every fourth. With two bits a key it would be 4 in a
    thousand, at twice the time for every answer.
    """

    def __init__(self) -> None:
        self._bits = bytearray(1 << (_BITS - 3))

    def update(self, keys: Iterable[Hashable]) -> None:
        bits = self._bits
        for key in keys:
            bit = hash(key) & _MASK
            bits[bit >> 3] |= 1 << (bit & 7)

    def may_have(self, key: Hashable) -> bool:
        bit = hash(key) & _MASK
        return bool(self._bits[bit >> 3] >> (bit & 7) & 1)


def _row(key: str, record: dict[str, Any], lines: bytes) -> Row:
    """An answer as it is stored: where the reason is a part of a reply, by its place there.

    Such a record has `[bytes from the end of the exchanges, length]` in place of the reason, and
    the reason is a part of what the checksum is of. Further exchanges go behind earlier ones, and
    with a record that replaces this one, so that the place stays right.
    """
    reason, quoted = record.get("reason"), b""
    if lines and isinstance(reason, str) and len(reason) >= SHORTEST:
        text = to_json(reason)[1:-1]
        if len(text) != len(reason):  # as few reasons, it has something that is escaped
            text = to_json(text.decode())[1:-1]
        _, quoted, after = lines.rpartition(text)
        begin = len(after) + len(quoted)
        if quoted and begin <= REACH:
            record = record | {"reason": [begin, len(quoted)]}
        else:
            quoted = b""
    content = to_json(record)
    return key, content, checksum(key, content, quoted), lines or None


def checksum(key: str, record: bytes, quoted: bytes = b"") -> int:
    """The checksum of a record and of the reason that it refers to, which is that of no other."""
    return zlib.crc32(b"".join((key.encode("utf-8", "surrogatepass"), record, quoted)))


def read_row(
    key: object, record: object, stored_checksum: object, end: object
) -> dict[str, Any] | None:
    """The record of a row; None for a damaged one.

    Args:
        key, record: as they are stored.
        stored_checksum: the one beside them.
        end: the last `REACH` bytes of the exchanges, or more.
    """
    if not (isinstance(key, str) and isinstance(record, bytes)):
        return None
    end = end if isinstance(end, bytes) else b""
    number = checksum(key, record)
    if number == stored_checksum:
        read: dict[str, Any] = orjson.loads(record)
        return read
    try:
        read = orjson.loads(record)
        at, length = read["reason"]
        quoted = end[len(end) - at :][:length]
    except (ValueError, TypeError, KeyError):
        return None
    if zlib.crc32(quoted, number) != stored_checksum:
        return None
    read["reason"] = orjson.loads(b'"%b"' % orjson.loads(b'"%b"' % quoted).encode())
    return read


def _deflated(text: bytes) -> bytes:
    """A text in zlib's format; one of a few pages as it is.

    The memory is after its length: 256 kB anew for each is dear.
    """
    if len(text) < _PACKED_FROM:
        level, window, memory = 0, 9, 1
    else:
        level, window = 1, min(zlib.MAX_WBITS, len(text).bit_length())
        memory = min(8, window - 6)
    packing = zlib.compressobj(level, zlib.DEFLATED, window, memory)
    return packing.compress(text) + packing.flush()
