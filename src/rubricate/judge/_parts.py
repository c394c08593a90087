"""Answers to parts of a judgement, which the run keeps one by one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol, runtime_checkable

from rubricate.judge.models import Completion, Model, Request, Send
from rubricate.rubric import Criterion, Verdict


@runtime_checkable
class PartKeeper(Protocol):
    """A way to models that also keeps the answers to parts of a judgement."""

    async def __call__(self, model: Model, request: Request) -> Completion:
        """Send a request."""
        ...

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        """The answer that is kept under a key, else that of `ask`, which is then kept.

        Args:
            key: a hash of everything that could change the answer.
            criterion: what was asked, to read a kept answer by.
            ask: asks.
        """
        ...


async def part_answer(
    send: Send, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
) -> Verdict:
    """`PartKeeper.part` where there is a keeper; else the answer is asked for."""
    return await (send.part(key, criterion, ask) if isinstance(send, PartKeeper) else ask())


def keyed(send: Send, suffix: str) -> Send:
    """The same way to models, with a suffix to the keys of what is kept."""
    return _Keyed(send, suffix) if suffix and isinstance(send, PartKeeper) else send


class _Keyed:
    def __init__(self, send: PartKeeper, suffix: str) -> None:
        self._send = send
        self._suffix = suffix

    async def __call__(self, model: Model, request: Request) -> Completion:
        return await self._send(model, request)

    async def part(
        self, key: str, criterion: Criterion, ask: Callable[[], Awaitable[Verdict]]
    ) -> Verdict:
        return await self._send.part(key + self._suffix, criterion, ask)
