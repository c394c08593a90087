"""Which answer is wanted, of several to equal requests."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draw:
    """Which answer is wanted, of several that equal requests are to get.

    Attributes:
        replicate: that of the judgement; "" for the only one.
        number: how often the judgement has sent the same before.
        is_anew: whether no answer is wanted that was there before.
        sample: that of the request, which an interface without seeds does not send.
    """

    replicate: str = ""
    number: int = 0
    is_anew: bool = False
    sample: int = 0
