"""The usage of requests: tokens, time and money."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

MOST_TOKENS, MOST = 2**40, 1e9
"""Limits of plausible usage: 100,000 requests of the longest existing context, and a billion
dollars or 30 years. Sums of millions of them still fit into 64 bits, as they would at half or
double."""
_NUMBERS = frozenset((float, int))


@dataclass(frozen=True, slots=True)
class Usage:
    """The usage of one verdict, or of many.

    Attributes:
        requests: requests sent, including retries and repeated questions.
        input_tokens: tokens of the prompts.
        cached_tokens: the part of `input_tokens` that the endpoint served from its cache.
        output_tokens: tokens of the replies, including reasoning if the endpoint counts it.
        cost: US dollars; None if unknown.
        seconds: time spent waiting for answers, summed over requests.
        reasoning_tokens: the part of `output_tokens` that the endpoint counts as reasoning.
        estimated_cost: the part of `cost` that is an estimate, because a request got no answer or
            no token counts. If `cost` is None for that reason, what it is estimated to be.
    """

    requests: int = 0
    input_tokens: int = 0
    cached_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = 0.0
    seconds: float = 0.0
    reasoning_tokens: int = 0
    estimated_cost: float = 0.0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.requests + other.requests,
            self.input_tokens + other.input_tokens,
            self.cached_tokens + other.cached_tokens,
            self.output_tokens + other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost + other.cost,
            self.seconds + other.seconds,
            self.reasoning_tokens + other.reasoning_tokens,
            self.estimated_cost + other.estimated_cost,
        )

    def __sub__(self, other: Usage) -> Usage:
        """The usage without a part of it."""
        return Usage(
            self.requests - other.requests,
            self.input_tokens - other.input_tokens,
            self.cached_tokens - other.cached_tokens,
            self.output_tokens - other.output_tokens,
            None if self.cost is None or other.cost is None else self.cost - other.cost,
            self.seconds - other.seconds,
            self.reasoning_tokens - other.reasoning_tokens,
            self.estimated_cost - other.estimated_cost,
        )

    @property
    def is_possible(self) -> bool:
        """Whether all fields are numbers that are not negative and not implausibly large.

        Custom models and judges report their usage themselves. A wrong number must neither end a
        run nor make it cheaper.
        """
        requests, read, cached, written, cost, seconds, reasoning, estimated = _fields(self)
        try:
            # The combined bits of all integers show whether one is negative or too large.
            counts = requests | read | cached | written | reasoning
            total = (cost or 0.0) + seconds + estimated  # fails for what is no number
            return (
                type(counts) is int
                and 0 <= counts < MOST_TOKENS
                and type(total) in _NUMBERS
                and total < MOST
                and (cost is None or cost >= 0.0)
                and seconds >= 0.0
                and estimated >= 0.0
            )
        except TypeError:
            return False

    def to_dict(self) -> dict[str, Any]:
        """The usage as JSON values, without fields that few endpoints report if they are 0.

        orjson is ten times slower for a dataclass than for a dictionary.
        """
        values: dict[str, Any] = {
            "requests": self.requests,
            "input_tokens": self.input_tokens,
            "cached_tokens": self.cached_tokens,
            "output_tokens": self.output_tokens,
            "cost": self.cost,
            "seconds": self.seconds,
        }
        if self.reasoning_tokens:
            values["reasoning_tokens"] = self.reasoning_tokens
        if self.estimated_cost:
            values["estimated_cost"] = self.estimated_cost
        return values

    @staticmethod
    def total(usages: Iterable[Usage]) -> Usage:
        """The sum of usages; zero for none."""
        requests = input_tokens = cached_tokens = output_tokens = reasoning_tokens = 0
        cost: float | None = 0.0
        seconds = estimated_cost = 0.0
        for usage in usages:
            requests += usage.requests
            input_tokens += usage.input_tokens
            cached_tokens += usage.cached_tokens
            output_tokens += usage.output_tokens
            cost = None if cost is None or usage.cost is None else cost + usage.cost
            seconds += usage.seconds
            reasoning_tokens += usage.reasoning_tokens
            estimated_cost += usage.estimated_cost
        return Usage(
            requests,
            input_tokens,
            cached_tokens,
            output_tokens,
            cost,
            seconds,
            reasoning_tokens,
            estimated_cost,
        )

    def split(self, parts: int) -> list[Usage]:
        """The usage in equal parts that add up to it. The first part gets the remainder."""

        def part(count: int, is_first: bool) -> int:
            return count // parts + (count % parts if is_first else 0)

        return [
            Usage(
                part(self.requests, first),
                part(self.input_tokens, first),
                part(self.cached_tokens, first),
                part(self.output_tokens, first),
                None if self.cost is None else self.cost / parts,
                self.seconds / parts,
                part(self.reasoning_tokens, first),
                self.estimated_cost / parts,
            )
            for first in [True, *[False] * (parts - 1)]
        ]


_fields = attrgetter(*Usage.__slots__)
"""Gets all fields of a usage in order, twice as fast as one by one."""
NO_USAGE = Usage()
"""The empty usage."""
