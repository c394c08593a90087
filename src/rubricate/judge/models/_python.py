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
from typing import Any
from weakref import WeakKeyDictionary

from rubricate.errors import InputError, ModelError, described
from rubricate.judge.models._model import Completion, Message, Model, Request
from rubricate.rubric import Usage, fingerprint, source_of

_FIRST_SEEN: WeakKeyDictionary[Callable[..., Any], str] = WeakKeyDictionary()
"""What callables were when they were first asked: one that notes its calls stays the same."""

Reply = str | dict[str, Any] | Completion


class PythonModel(Model):
    """Ask a callable: `(messages) -> reply`, plain or async.

    `messages` is a list of `{"role": ..., "content": ...}`. The reply is the text of the judge's
    answer, the answer as a dict (`{"reason": ..., "evidence": [...], "verdict": ...}`), or a
    `Completion`, which can hold the probabilities of the reply's first token as well. An exception
    in the callable, or a return value of another type, fails the verdict (`judge_error`) and is not
    retried, unless it is a `ModelError`, which says itself whether to.

    Args:
        function: the callable.
        name: what the model is called in results. The journal tells two callables apart by name,
            source text, compiled code and the plain values that they keep (a closure, `partial`
            arguments, attributes of a callable object, constants of the module that are named);
            change the name when a callable's answers change for another reason. Looked at is what
            it keeps when it is first asked in a process: one that notes its calls stays the same.

    Raises:
        InputError: the callable does not take one argument.
    """

    is_local = True

    def __init__(
        self,
        function: Callable[[list[Message]], Reply | Awaitable[Reply]],
        name: str | None = None,
    ) -> None:
        try:
            inspect.signature(function).bind([])
        except TypeError as error:
            raise InputError(
                f"a function that judges takes one argument, the list of messages: {error}"
            ) from None
        except ValueError:  # a function in C may have no signature
            pass
        self.function = function
        self.name = name or f"python/{getattr(function, '__name__', type(function).__name__)}"
        self.endpoint = self.name

    def fingerprint(self) -> dict[str, Any]:
        function = self.function
        try:
            source = _FIRST_SEEN.get(function)
        except TypeError:  # not hashable, or nothing can refer to it weakly
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

    def bare_label(self, label: str) -> str:
        return self._should_return(label)

    def _should_return(self, value: object) -> str:
        example = '{"reason": "...", "evidence": [], "verdict": "MET"}'
        return f"{self.name} returned {value!r:.60}: return a dictionary, such as {example}"


def _hash(function: Callable[..., Any]) -> str:
    """A hash of what a callable does and keeps."""
    does = json.dumps([source_of(function), fingerprint(function)])
    return hashlib.blake2b(does.encode(), digest_size=16).hexdigest()
