"""The requests of one judgement, including those that repeat an unreadable reply."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from inspect import isawaitable
from typing import Any, TypeVar

from rubricate.errors import UnreadableReply
from rubricate.judge.asking._replies import NOT_READ, shown_again, wrong_with
from rubricate.judge.models import Completion, Message, Model, Request, Send
from rubricate.rubric import NO_USAGE, Usage

_T = TypeVar("_T")


class Conversation:
    """The requests of one judgement.

    Args:
        model: the model.
        send: sends a request.
        reasks: how often to ask again after an unreadable reply.
        memory: state that the way of asking keeps between judgements (see `Prompting.memory`).

    Attributes:
        model: the model.
        memory: state kept between judgements.
        usage: the usage of all requests so far.
        wrong: what was wrong with the last reply; "" if nothing was.
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
        """Send a request and add its usage."""
        completion = await self._send(self.model, request)
        self.usage += completion.usage
        return completion

    async def ask(
        self,
        request: Request,
        read: Callable[[Completion, Request], _T | Awaitable[_T]],
        correction: Callable[[str], str],
    ) -> _T:
        """Send a request, read its reply, and ask again while the reply is unreadable.

        Args:
            request: the request.
            read: reads a reply; if it is asynchronous, it may send requests itself.
            correction: makes the message that tells the model what was wrong with its reply.

        Raises:
            UnreadableReply: no reply was readable.
            ModelError: the request failed.
        """
        current, self.wrong = request, ""
        for _ in range(1 + self._reasks):
            completion = await self.send(current)
            try:
                answer = read(completion, current)
                if isawaitable(answer):
                    answer = await answer
            except NOT_READ as error:
                self.wrong = wrong_with(error)
                request = self.model.after_unreadable(request, completion)
                current = asked_again(request, completion, correction(self.wrong))
            else:
                self.wrong = ""
                return answer
        raise UnreadableReply(self.wrong)


def asked_again(request: Request, completion: Completion, correction: str) -> Request:
    """Return the request followed by the unusable reply and the correction."""
    again = (
        Message(role="assistant", content=shown_again(completion)),
        Message(role="user", content=correction),
    )
    return replace(request, messages=(*request.messages, *again))
