"""Parts of a run: which of its items a process judges, if it does not judge all of them."""

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
    """One of the parts that a dataset's items are dealt to: `2/4` is the second of four.

    Items that are the same are in the same part, so that they are asked about once.
    """

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Shard:
        """The part that is written as `K/N`.

        Raises:
            InputError: it is none.
        """
        match = _FORM.fullmatch(text)
        if match is None or not 1 <= int(match[1]) <= int(match[2]):
            raise InputError(
                f"shard must be K/N, part K of N, with K from 1 to N, such as 2/4; found '{text}'"
            )
        return cls(int(match[1]), int(match[2]))

    def has(self, item: Item) -> bool:
        """Whether an item is of this part."""
        return self.of == 1 or sameness(item) % self.of == self.number - 1

    def __str__(self) -> str:
        return f"{self.number}/{self.of}"


def sameness(item: Item) -> int:
    """A number of 64 bits that items have in common whose prompt, context and submission are equal.

    A judge may be asked the same about two of them; about others never.
    """
    digest = hashlib.blake2b(digest_size=8)
    for text in (item.prompt, item.submission, *map(repr, item.context)):
        content = text.encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(content))
        digest.update(content)
    return int.from_bytes(digest.digest(), "big")
