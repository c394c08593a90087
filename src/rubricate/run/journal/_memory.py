"""The journal of a run that has no folder: in memory, gone with the process."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import orjson

from rubricate.run.journal._claims import Claims
from rubricate.run.journal._exchanges import Transcript
from rubricate.run.journal._ledger import Decide, Entry, Ledger
from rubricate.run.journal._records import to_json

if TYPE_CHECKING:
    from rubricate.run.journal._lease import Lease


class MemoryJournal:
    """A `Journal` of records alone: nobody could look at what was sent and received later."""

    has_a_past = keeps_exchanges = is_remote = is_full = False
    trouble = room = None
    lease: Lease | None = None
    claims: Claims | None = None
    damaged = 0

    def __init__(self) -> None:
        self._records: dict[str, bytes] = {}
        self.ledger = Ledger(self._exchange)

    async def _exchange(self, decide: Decide) -> None:
        decide({})

    def claim(
        self, holder: str, groups: Sequence[Sequence[str]]
    ) -> tuple[list[bool], Iterable[str]]:
        return [True] * len(groups), ()

    def entries(self) -> dict[str, Entry]:
        return {}

    def get_many(self, keys: Sequence[str]) -> dict[str, dict[str, Any]]:
        found = self._records
        return {key: orjson.loads(found[key]) for key in keys if key in found}

    def put(self, key: str, record: dict[str, Any], exchanges: bytes | Transcript = b"") -> None:
        self._records[key] = to_json(record)

    def commit(self) -> None:
        return None

    def give_up(self) -> None:
        """Nothing is waited for here."""

    async def durable(self) -> None:
        return None

    def exchanges(self, keys: Sequence[str]) -> dict[str, bytes]:
        return {}

    def put_text(self, name: str, text: bytes) -> None:
        return None

    def has_text(self, name: str) -> bool:
        return False

    def texts(self, names: Iterable[str]) -> dict[str, bytes]:
        return {}

    def close(self) -> None:
        return None
