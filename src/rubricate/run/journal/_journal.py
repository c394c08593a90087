"""What a journal is: every finished judgement under a key of all that could change it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from rubricate.run.journal._claims import Claims
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._ledger import Entry, Ledger

if TYPE_CHECKING:
    from rubricate.run.journal._lease import Lease


class JournalReader(Protocol):
    """A journal of which is read what was sent and received.

    All methods raise `JournalError` where the store cannot be read.
    """

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        """What was sent and received for the records under keys, where that is kept."""
        ...

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        """The texts with hashes, deflated; one that is not there is missing."""
        ...

    def close(self) -> None:
        """Let go of the store, all that was put committed."""
        ...


class Journal(JournalReader, Protocol):
    """Records by key; what is committed is there after the process is killed.

    Attributes:
        has_a_past: whether it had records when it was opened.
        damaged: how many records were found damaged; they count as not there.
        keeps_exchanges: whether what was sent and received is kept beside the records.
        lease: who has the run; None where no other process is to be kept off it.
        is_remote: whether a look-up may take a round trip over a network, so that many keys are
            looked up at once, in a thread; `get_many`, `exchanges` and `texts` may be called there.
        ledger: what the run has cost; this process's entry is written with each commit.
        claims: in a cache, the answers that this process is asking for; None elsewhere. They are
            renewed, and those that are released end, with each commit.
        is_full: whether so much waits to be written that no more is to be put before it is.
        trouble: what the store is waited for, in words; None for nothing.
        room: how many more processes can use the store at once; None for any number.

    All methods raise `JournalError` where the store cannot be used any more.
    """

    has_a_past: bool
    damaged: int
    keeps_exchanges: bool
    lease: Lease | None
    is_remote: bool
    ledger: Ledger
    claims: Claims | None

    @property
    def is_full(self) -> bool: ...

    @property
    def trouble(self) -> str | None: ...

    @property
    def room(self) -> int | None: ...

    def get_many(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        """The records under keys; one that is not there, or damaged, is missing."""
        ...

    def put(self, key: str, record: dict[str, Any], exchanges: bytes | Transcript = b"") -> None:
        """Keep a record; it is durable after the next commit, which may be now.

        Args:
            key: its key.
            record: what it is; it is not to be changed afterwards.
            exchanges: what was sent and received for it.
        """
        ...

    def commit(self) -> None:
        """Have what is waiting written, at once or soon; what kept it from that is raised."""
        ...

    async def durable(self) -> None:
        """Wait until all that was put is durable."""
        ...

    def give_up(self) -> None:
        """Wait no more for the store: what it has not confirmed is not kept, and nothing looked up.

        May be called where `is_remote`.
        """
        ...

    def entries(self) -> dict[str, Entry]:
        """What all other processes have paid for this run, now and earlier."""
        ...

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        """Claim groups of keys of a cache, each as a whole or not at all.

        Returns:
            Which are claimed, and the claimed keys that have an answer.
        """
        ...

    def put_text(self, name: str, text: bytes) -> None:
        """Keep a text that exchanges name, deflated, under its hash."""
        ...

    def has_text(self, name: str) -> bool:
        """Whether a text is known to be there."""
        ...
