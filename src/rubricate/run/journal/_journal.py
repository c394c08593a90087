"""Journals: every finished judgement, under a key made of everything that could change it.

`Journal` has what all journals share, whatever stores them: records that wait for their batch, the
contents of a row, and which keys are certainly absent. `MemoryJournal` is for runs without a
folder.

A row has a record with a checksum, and its exchanges (`_exchanges`). The reason of a verdict is
usually a part of the reply; the record then refers to it, so that it is stored only once.
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
"""Bytes of earlier exchanges up to which further ones under the same key are appended."""
REACH = 1 << 16
"""Bytes at the end of the exchanges that a lookup reads to find the reason, because a kept reply
has at most 16,000 characters. At half, some replies in other scripts are stored twice; at double, a
lookup reads more of the earlier attempts of a failed judgement."""
SHORTEST = 32
"""Shortest reason, in characters, that is stored as a reference, which itself takes ten."""
_PACKED_FROM = 4096
"""Shortest text, in bytes, that is compressed: a few pages take longer to compress than to
write."""
_WRITTEN = 100_000
"""How many hashes of written texts are kept in memory (15 MB)."""
_BITS = 25
_MASK = (1 << _BITS) - 1


class Pending:
    """An answer that may not be durable yet.

    Attributes:
        answer: the verdict, or its record.
        noted: its exchanges.
    """

    __slots__ = ("answer", "noted")

    def __init__(self, answer: Judged, noted: list[bytes | Transcript]) -> None:
        self.answer, self.noted = answer, noted


Row = tuple[str, bytes, int, bytes | None]
"""An answer as it is stored: key, record, checksum and exchanges."""


class Journal:
    """Records by key. Committed records survive the death of the process.

    Args:
        access: how this process uses it.

    Attributes:
        has_a_past: whether there may be records from earlier, or from other processes.
        damaged: how many records were found damaged; they count as missing.
        keeps_exchanges: whether exchanges are stored with the records.
        lease: the lease of the run; None if no other process can take it over.
        is_remote: whether a lookup may take a network round trip, so that many keys should be
            looked up at once, in a thread. `get_many`, `exchanges`, `texts` and `claim` may be
            called there.
        is_full: whether so much is pending that nothing should be put before it is written.
        trouble: why the store keeps the run waiting, in words; None if it does not.
        room: how many more processes can use the store at once; None for no limit.
        ledger: what the run has cost; this process's entry is written with each commit.
        claims: in a cache, the answers that this process is asking for; None elsewhere. Each commit
            renews them, and ends those that were released.

    Every method raises `JournalError` if the store can no longer be used.
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
        """The records under these keys, without missing or damaged ones."""
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
        """Key, record, checksum and the end of the exchanges, for the stored keys among these."""
        return ()

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        """The exchanges of these keys, where they are stored."""
        if self._written_now or not self._waiting.keys().isdisjoint(keys):
            self._flush()
        return {key: lines for key, lines in self._lines(keys) if isinstance(lines, bytes)}

    def _lines(self, keys: Sequence[str]) -> Iterable[tuple[Any, ...]]:
        """Key and exchanges, for the stored keys among these."""
        return ()

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with these hashes, compressed, without missing ones."""
        return {}

    def put(self, key: str, answer: Judged, exchanges: bytes | Transcript = b"") -> None:
        """Store an answer. It is durable after the next commit, which may happen now.

        It is serialised together with its batch, which takes half the time.

        Args:
            key: its key.
            answer: the verdict, or its record. Do not change it afterwards.
            exchanges: its exchanges.
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
        """Store a compressed text of exchanges under its hash."""
        with self._lock:
            self._texts[self._note_written(name)] = text

    def has_text(self, name: str) -> bool:
        """Whether a text is known to be stored."""
        return name in self._written

    def _note_written(self, name: str) -> str:
        if len(self._written) >= _WRITTEN:
            self._written.clear()
        self._written.add(name)
        return name

    def _packed(self, batch: dict[str, Pending], texts: dict[str, bytes]) -> Iterator[Row]:
        """A batch as rows in the order of their keys, which rules out deadlocks between processes.

        Args:
            batch: the answers.
            texts: receives the texts that occur for the first time, by hash.
        """
        if self._keys is not None:  # pending answers were looked up in `_waiting`
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
        """Write what is pending, at once or soon. Raises the error of an earlier write, if any."""

    def _flush(self) -> None:
        """Wait until everything put so far is durable."""
        self.commit()

    async def durable(self) -> None:
        """Wait until everything put so far is durable."""
        self.commit()

    def give_up(self) -> None:
        """Stop waiting for the store. What it has not confirmed is lost, and lookups find nothing.

        Only for journals that are `is_remote`.
        """

    async def _exchange(self, decide: Decide) -> None:
        """Read the entries of other processes and write this one's, in one transaction."""
        decide(self.entries())

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, including earlier ones."""
        return {}

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys in a cache, each group as a whole or not at all.

        Returns:
            Which groups were claimed, and the claimed keys that have an answer.
        """
        return [True] * len(groups), ()

    def close(self) -> None:
        """Commit everything and close the store."""


class MemoryJournal(Journal):
    """The journal of a run without a folder: only records, lost with the process."""

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
    """A Bloom filter: a set of keys that may contain others, too.

    Keys that are certainly absent need no lookup. It takes 4 MiB. With a million keys, 3 % of the
    others seem to be present; with ten million, a quarter. Two bits a key would make it 0.4 %, at
    twice the time for every answer.
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
    """An answer as a row. A reason that is part of the reply is replaced by its position there.

    Such a record has `[bytes from the end of the exchanges, length]` as its reason, and the
    checksum covers the reason itself. The position stays right, because further exchanges are
    appended together with a record that replaces this one.
    """
    reason, quoted = record.get("reason"), b""
    if lines and isinstance(reason, str) and len(reason) >= SHORTEST:
        text = to_json(reason)[1:-1]
        if len(text) != len(reason):  # some characters are escaped, which is rare
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
    """The checksum of a record, its key and the reason that it refers to."""
    return zlib.crc32(b"".join((key.encode("utf-8", "surrogatepass"), record, quoted)))


def read_row(
    key: object, record: object, stored_checksum: object, end: object
) -> dict[str, Any] | None:
    """The record of a row; None if it is damaged.

    Args:
        key, record: as stored.
        stored_checksum: their checksum.
        end: at least the last `REACH` bytes of the exchanges.
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
    """A text in zlib's format; a short one is not compressed.

    The window depends on its length, because allocating 256 kB for each text is slow.
    """
    if len(text) < _PACKED_FROM:
        level, window, memory = 0, 9, 1
    else:
        level, window = 1, min(zlib.MAX_WBITS, len(text).bit_length())
        memory = min(8, window - 6)
    packing = zlib.compressobj(level, zlib.DEFLATED, window, memory)
    return packing.compress(text) + packing.flush()
