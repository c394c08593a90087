"""Estimates the cost of requests from what earlier ones cost.

Used for requests in flight, and for those whose cost is never reported: cancelled requests,
timeouts, and replies without token counts.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence

import orjson

from rubricate._usage import Usage
from rubricate.judge import Completion, Model, Request
from rubricate.run.journal import Price

UNANSWERED = Usage(1, cost=None)
"""Usage of a request that was sent and never answered, before it is estimated."""
SURE = 2.0
"""Standard deviations added to the expected cost of several requests, so that 1 of 40 sums is
higher. At half, 1 of 6 is, so costs are understated too often; at double, with every tenth request
lost and prices that vary by a factor of 50, the estimate adds 16 % instead of 8 %."""
REPLY_TOKENS = 400
"""Assumed length of an unknown reply: a long reason with several quotes, as in `--dry-run`."""
AT_ONCE = 64
"""Replies are counted in groups of this size, like a write batch of the journal, which is faster.
Not measured: at double, twice as many prompts are held in memory."""
A_MESSAGE = 4
"""Tokens that chat templates put around a message."""


class Bills:
    """The known costs of one model's requests, and estimates for those without a known cost.

    Attributes:
        are_reported: whether the endpoint has ever reported the usage of a reply.
    """

    def __init__(self) -> None:
        self._replies = self._read = self._written = self._size = 0
        self._priced = self._estimated = 0  # replies with a cost, and requests estimated by these
        self._cost = self._squares = 0.0
        self.are_reported = False
        self._uncounted: list[tuple[Request, Usage]] = []

    def add(self, request: Request, usage: Usage) -> None:
        """Learn from the usage of a reply, reported or estimated."""
        self._uncounted.append((request, usage))
        if len(self._uncounted) >= AT_ONCE:
            self._count()

    def _count(self) -> None:
        for request, usage in self._uncounted:
            cost = usage.cost
            if cost is not None:
                self._priced += 1
                self._cost += cost
                self._squares += cost * cost
            self._replies += 1
            self._size += size_of(request)
            self._read += usage.input_tokens
            self._written += usage.output_tokens
        self._uncounted.clear()

    def estimate(self, model: Model, request: Request, reply: Completion | None) -> Usage:
        """The estimated usage of a request.

        It is the average of earlier requests, scaled up for a longer prompt; if there were none,
        our own token count at the model's price. Both are more likely too high than too low.

        Args:
            model: the model.
            request: what was sent.
            reply: what came back; None for nothing.
        """
        self._count()
        if not self._replies or (reply is not None and not self.are_reported):
            read = _input_tokens(model, request, reply)
            written = _output_tokens(model, request, reply)
            cost = model.price(Usage(1, read, 0, written))
        else:
            longer = size_of(request) * self._replies / max(1, self._size)
            read = math.ceil(longer * self._read / self._replies)
            written = math.ceil(self._written / self._replies)
            cost = self._of_others() * max(1.0, longer) if self._priced else None
        return Usage(1, read, 0, written, cost, 0.0, 0, cost or 0.0)

    def in_flight(self, model: Model, requests: Sequence[Request]) -> Usage:
        """The estimated usage of all these requests in flight."""
        self._count()
        if self._priced:
            cost: float | None = self._sum_of(len(requests))
        elif self._replies:
            cost = None
        else:
            costs = [self.estimate(model, request, None).cost for request in requests]
            cost = None if None in costs else sum(filter(None, costs))
        return Usage(len(requests), cost=cost)

    def _of_others(self) -> float:
        """How much one more estimate adds to the sum of the estimates so far."""
        before = self._sum_of(self._estimated)
        self._estimated += 1
        return self._sum_of(self._estimated) - before

    def _sum_of(self, further: int) -> float:
        """An upper bound for the cost of `further` requests together.

        The upper end of a prediction interval for the sum of k costs after n observations: the
        mean plus SURE standard deviations of the sum, which are those of one cost times
        sqrt(k + k^2 / n).
        """
        mean = self._cost / self._priced
        variance = self._squares / self._priced - mean * mean
        # If all costs are equal, rounding leaves a variance of about 1e-16 times the squared mean.
        deviation = math.sqrt(variance) if variance > 1e-12 * mean * mean else 0.0
        spread = math.sqrt(further + further * further / self._priced)
        return further * mean + SURE * deviation * spread


def price_of(model: Model, request: Request) -> Price:
    """The part of a request's cost that is known before it is sent."""
    most = most_tokens(model, request)
    cost = model.price(Usage(1, _input_tokens(model, request, None), 0, most or 0))
    has_bound = most is not None and cost is not None
    name = orjson.dumps([model.endpoint, model.name, has_bound])  # an address may have a password
    reply = 0.0 if has_bound else model.price(Usage(0, 0, 0, REPLY_TOKENS))
    account = hashlib.blake2b(name, digest_size=8).hexdigest()
    return Price(account, cost or 0.0, reply or 0.0, has_bound, model.has_sent(request))


def size_of(request: Request) -> int:
    """The characters of a request's messages."""
    size = 0
    for message in request.messages:
        size += len(message["content"])
    return size


def _input_tokens(model: Model, request: Request, reply: Completion | None) -> int:
    """Our own token count of a prompt, including the schema if it was sent."""
    count = _counter(model)
    messages = request.messages if reply is None else reply.sent or request.messages
    texts = [message["content"] for message in messages]
    if request.schema is not None and (reply is None or reply.form == "json_schema"):
        texts.append(orjson.dumps(request.schema).decode())
    return sum([A_MESSAGE + count(text) for text in texts])


def _counter(model: Model) -> Callable[[str], int]:
    from rubricate.judge import estimated_tokens

    return model.count_tokens or estimated_tokens


def _output_tokens(model: Model, request: Request, reply: Completion | None) -> int:
    """Our own token count of a reply; if it never came, the most that it could have."""
    if reply is not None:
        return max(1, _counter(model)(reply.uncounted or reply.text + reply.elsewhere))
    return most_tokens(model, request) or REPLY_TOKENS


def most_tokens(model: Model, request: Request) -> int | None:
    """The maximum number of tokens of a reply; None if that is not set."""
    parameters = model.parameters(request)
    names = ("max_tokens", "max_completion_tokens", "max_output_tokens")
    limits = [parameters.get(name) for name in names]
    return next((most for most in limits if isinstance(most, int) and most > 0), None)
