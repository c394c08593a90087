"""A Python callable as a model: for tests, for rules in code, for your own clients."""

from __future__ import annotations

import contextlib
import hashlib
import inspect
import json
import time
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, cast
from weakref import WeakKeyDictionary

from rubricate.errors import InputError, ModelError, described
from rubricate.judge.models._model import Completion, Message, Model, Request
from rubricate.rubric import Usage, fingerprint, source_of

_FIRST_SEEN: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""Hashes of callables from their first use, so that one that records its calls stays the same."""

Reply = str | dict[str, Any] | Completion
_WANTED = 'return a dictionary with a reason: {"reason": "...", "evidence": [], "verdict": "MET"}'


class PythonModel(Model):
    """Asks a callable: `(messages) -> reply`, sync or async.

    `messages` is a list of `{"role": ..., "content": ...}`. The reply is the text of the judge's
    answer, the answer as a dict (`{"reason": ..., "evidence": [...], "verdict": ...}`), or a
    `Completion`, which can also contain the probabilities of the reply's first token. An exception
    in the callable, or a return value of another type, fails the verdict (`judge_error`) and is not
    retried, except for a `ModelError`, which says itself whether to retry.

    Args:
        function: the callable.
        name: its name in results. The journal distinguishes callables by name, source text,
            compiled code and the plain values that they hold (a closure, `partial` arguments,
            attributes of a callable object, constants of the module that it names); change the name
            if the answers of a callable change for another reason. The values are read at the first
            use in a process, so that a callable that records its calls stays the same.

    Raises:
        InputError: the callable does not take one argument, or cannot return a reply: it is
            `print`, or its annotation says so.
    """

    is_local = True

    def __init__(
        self,
        function: Callable[[list[Message]], Reply | Awaitable[Reply]],
        name: str | None = None,
    ) -> None:
        self.function = function
        self.name = name or f"python/{getattr(function, '__name__', type(function).__name__)}"
        self.endpoint = self.name
        returns: Any = inspect.Signature.empty
        try:
            signature = inspect.signature(function)
            signature.bind([])
            returns = signature.return_annotation
        except TypeError as error:
            raise InputError(
                f"a function that judges takes one argument, the list of messages: {error}"
            ) from None
        except ValueError:  # a function in C may have no signature
            pass
        returns = getattr(returns, "__name__", str(returns))
        if cast("object", function) is print or returns in ("None", "bool", "int", "float"):
            raise InputError(f"{self.name} cannot judge, because of what it returns: {_WANTED}")

    def fingerprint(self) -> dict[str, Any]:
        function = self.function
        try:
            source = _FIRST_SEEN.get(function)
        except TypeError:  # not hashable, or not weakly referable
            return {"model": self.name, "source": _hash(function)}
        if source is None:
            source = _hash(function)
            with contextlib.suppress(TypeError):
                _FIRST_SEEN[function] = source
        return {"model": self.name, "source": source}

    async def complete(self, request: Request) -> Completion:
        begin = time.perf_counter()
        try:
            reply = self.function(list(request.messages))
            if inspect.isawaitable(reply):
                reply = await reply
            if isinstance(reply, Completion):
                return reply
            if not isinstance(reply, str | dict):
                raise ModelError("judge_error", self._should_return(reply))
            text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        except ModelError:
            raise
        except Exception as error:
            line = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{Path(line.filename).name}, line {line.lineno}"
            text = f"{self.name} raised {described(error)} ({where})"
            raise ModelError("judge_error", text) from error
        return Completion(text, Usage(requests=1, seconds=time.perf_counter() - begin))

    def bare_label(self, text: str) -> str:
        return self._should_return(text)

    def _should_return(self, value: object) -> str:
        return f"{self.name} returned {value!r:.60}: {_WANTED}"


def _hash(function: Callable[..., Any]) -> str:
    """A hash of a callable's code and the values that it holds."""
    does = json.dumps([source_of(function), fingerprint(function)])
    return hashlib.blake2b(does.encode(), digest_size=16).hexdigest()
