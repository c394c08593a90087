"""A Python callable as a model: for tests, for rules in code, for clients of one's own."""

from __future__ import annotations

import hashlib
import inspect
import json
import time
from collections.abc import Awaitable, Callable
from typing import Any

from rubricate.errors import ModelError
from rubricate.judge.models._model import Completion, Message, Request
from rubricate.rubric import Usage, source_of

__all__ = ["PythonModel"]

Reply = str | dict[str, Any] | Completion


class PythonModel:
    """Ask a callable: `(messages) -> reply`, plain or async.

    `messages` is a list of `{"role": ..., "content": ...}`. The reply is the text of the judge's
    answer, the answer as a dict (`{"reason": ..., "evidence": [...], "verdict": ...}`), or a
    `Completion`, which can hold the probabilities of the reply's first token as well. An exception
    in the callable is a failed request and is not retried, unless it is a `ModelError`, which says
    itself whether to.

    Args:
        function: the callable.
        name: what the model is called in results. The journal tells two callables apart by name
            and source text; change the name when a callable's answers change for another reason.
    """

    def __init__(
        self,
        function: Callable[[list[Message]], Reply | Awaitable[Reply]],
        name: str | None = None,
    ) -> None:
        self.function = function
        self.name = name or f"python/{getattr(function, '__name__', type(function).__name__)}"
        self.endpoint = self.name

    def fingerprint(self) -> dict[str, Any]:
        source = source_of(self.function)
        return {
            "model": self.name,
            "source": hashlib.blake2b(source.encode(), digest_size=16).hexdigest(),
        }

    async def complete(self, request: Request) -> Completion:
        begin = time.perf_counter()
        try:
            reply = self.function(list(request.messages))
            if inspect.isawaitable(reply):
                reply = await reply
            if isinstance(reply, Completion):
                return reply
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        except ModelError:
            raise
        except Exception as error:
            raise ModelError("bad_request", f"{type(error).__name__}: {error}") from error
        return Completion(text, Usage(requests=1, seconds=time.perf_counter() - begin))

    async def aclose(self) -> None:
        return None
