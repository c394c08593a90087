"""The requests of one judgement, where it takes several, or one is asked again."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, TypeVar

from rubricate.errors import UnreadableReply
from rubricate.judge.asking._replies import NOT_READ, shown_again, wrong_with
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import NO_USAGE, Usage

_T = TypeVar("_T")


class Conversation:
    """The requests of one judgement.

    Args:
        model: who is asked.
        send: how requests reach it.
        reasks: how often an unreadable reply is asked again.
        memory: what the judge keeps for its way of asking (see `Prompting.memory`).

    Attributes:
        model: who is asked.
        memory: what is kept from one judgement to the next.
        usage: what the requests took so far.
        wrong: what was wrong with the last reply; "" for nothing.
    """

    __slots__ = ("_reasks", "_send", "memory", "model", "usage", "wrong")

    def __init__(self, model: Model, send: Send, reasks: int, memory: Any) -> None:
        self.model = model
        self.memory = memory
        self.usage: Usage = NO_USAGE
        self.wrong = ""
        self._send = send
        self._reasks = reasks

    async def send(self, request: Request) -> Completion:
        """Send a request, and count what it took."""
        completion = await self._send(self.model, request)
        self.usage += completion.usage
        return completion

    async def ask(
        self,
        request: Request,
        read: Callable[[Completion, Request], _T],
        correction: Callable[[str], str],
    ) -> _T:
        """What is read in the reply to a request, which is asked again where it cannot be read.

        Args:
            request: what to ask.
            read: reads a reply.
            correction: what is sent to the model about what was wrong with a reply.

        Raises:
            UnreadableReply: no reply can be read.
            ModelError: there is none.
        """

        async def at_once(completion: Completion, request: Request) -> _T:
            return read(completion, request)

        return await self.ask_further(request, at_once, correction)

    async def ask_further(
        self,
        request: Request,
        read: Callable[[Completion, Request], Awaitable[_T]],
        correction: Callable[[str], str],
    ) -> _T:
        """`ask`, with a reading that may itself send requests.

        Args:
            request, correction: as for `ask`.
            read: reads a reply.

        Raises:
            UnreadableReply: no reply can be read.
            ModelError: there is none.
        """
        current, self.wrong = request, ""
        for _ in range(1 + self._reasks):
            completion = await self.send(current)
            try:
                answer = await read(completion, current)
            except NOT_READ as error:
                self.wrong = wrong_with(error)
                request = self.model.after_unreadable(request, completion)
                current = asked_again(request, completion, correction(self.wrong))
            else:
                self.wrong = ""
                return answer
        raise UnreadableReply(self.wrong)


def asked_again(request: Request, completion: Completion, correction: str) -> Request:
    """A request with the reply that cannot be used and what is wrong with it behind."""
    again = (
        Message(role="assistant", content=shown_again(completion)),
        Message(role="user", content=correction),
    )
    return replace(request, messages=(*request.messages, *again))
