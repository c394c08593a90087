"""One text out of what trainers have: text, or a list of chat messages as a model wrote them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

import orjson

from rubricate._documents import check_keys
from rubricate.dataset.items._transcript import Transcript
from rubricate.errors import InputError

__all__ = ["text_of_chat"]

MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")


def text_of_chat(given: Any) -> str:
    """Text as it is; one message as its text; several, or one that calls tools, as a `Transcript`.

    Whatever a model put into a tool call is taken: it is to be judged.

    Raises:
        InputError: it is neither, or a message has no content, an unknown role or a misspelt key.
    """
    if isinstance(given, str):
        return given
    if not isinstance(given, Sequence) or not all(isinstance(part, Mapping) for part in given):
        raise InputError(f"expected text or a list of chat messages, found {type(given).__name__}")
    for message in given:
        check_keys(message, MESSAGE_KEYS)
        if "content" not in message and "tool_calls" not in message:
            raise InputError("a message has no content")
    messages = [_message(message) for message in given]
    if len(messages) == 1 and not messages[0]["tool_calls"]:
        return str(messages[0]["content"])
    return Transcript(messages)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls") or []
    return {
        "role": "user",
        **message,
        "content": _content(message.get("content")),
        "tool_calls": [_call(call, number) for number, call in enumerate(calls, start=1)],
    }


def _content(content: Any) -> str:
    if isinstance(content, Sequence) and not isinstance(content, str):
        return "".join(str(part.get("text") or "") for part in content if isinstance(part, Mapping))
    return "" if content is None else str(content)


def _call(call: Any, number: int) -> dict[str, Any]:
    """A tool call; it may lack an identifier (TRL), and its arguments may be no JSON object."""
    if not isinstance(call, Mapping):
        return {"id": str(number), "function": str(call)}
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    name = inner.get("name") or ("" if inner is function else function or "")
    arguments = inner.get("arguments")
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):  # else shown as it was written
            arguments = orjson.loads(arguments or "{}")
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"arguments": arguments}
    return {"id": str(call.get("id") or number), "function": str(name), "arguments": arguments}
