"""Shards: the part of a run's items that one process judges."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.dataset import Item

_FORM = re.compile(r"([0-9]{1,9})/([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Shard:
    """One of N parts of a dataset's items: `2/4` is the second of four.

    Equal items are in the same part, so that they are asked about once.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse `K/N`.

        Raises:
            InputError: the text has another form.
        """
        match = _FORM.fullmatch(text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(
                f"shard must be K/N, part K of N, with K from 1 to N, such as 2/4; found '{text}'"
            )
        return cls(int(match[1]), int(match[2]))

    def has(self, item: Item) -> bool:
        """Whether an item belongs to this part."""
        return self.of == 1 or sameness(item) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def sameness(item: Item) -> int:
    """A hash of 64 bits of an item's prompt, context and submission.

    Only items with the same hash can lead to the same question to a judge.
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in (item.prompt, item.submission, *map(repr, item.context)):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return int.from_bytes(digest.digest(), "big")
