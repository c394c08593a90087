"""Which keys a journal may have: what is surely not there need not be looked up."""

from __future__ import annotations

from collections.abc import Hashable

_BITS = 25
_MASK = (1 << _BITS) - 1


class Keys:
    """A set of keys that may say of one that it is there though it is not (a Bloom filter).

    4 MiB: of a million keys, 4 in a thousand others seem to be there; of ten millions, every fifth.
    Text and bytes are never the same key.
    """

    def __init__(self) -> None:
        self._bits = bytearray(1 << (_BITS - 3))

    def add(self, key: Hashable) -> None:
        """Put a key in."""
        number, bits = hash(key), self._bits
        one, two = number & _MASK, number >> _BITS & _MASK
        bits[one >> 3] |= 1 << (one & 7)
        bits[two >> 3] |= 1 << (two & 7)

    def may_have(self, key: Hashable) -> bool:
        """Whether a key may be there."""
        number, bits = hash(key), self._bits
        one, two = number & _MASK, number >> _BITS & _MASK
        return bool(bits[one >> 3] >> (one & 7) & 1 and bits[two >> 3] >> (two & 7) & 1)
