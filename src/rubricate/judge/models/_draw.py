"""Which of several answers to equal requests is wanted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Draw:
    """Which of several answers to equal requests is wanted.

    Attributes:
        replicate: the replicate of the judgement; "" for the only one.
        number: how often the judgement has sent the same request before.
        is_anew: whether an earlier answer must not be reused.
        sample: the sample number of the request, which an API without seeds does not send.
    """

    replicate: str = ""
    number: int = 0
    is_anew: bool = False
    sample: int = 0
