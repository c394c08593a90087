"""Anthropic's Messages API: `payload`, `reply` and `usage`, as in `_openai.py`.

Beyond the usual API it has marks for its prompt cache, strictly enforced structured output,
thinking with a budget, and counts of cache reads and writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import orjson

from rubricate.errors import ModelError
from rubricate.judge.models._forms import CHOICE_TEMPERATURE, Form, marked
from rubricate.judge.models._model import Message, Request
from rubricate.judge.models._responses import MOST_TOKENS
from rubricate.judge.models._wire import Reply, Sampling, TokenCounts, texts_of

PATH = "/messages"
VERSION = "2023-06-01"
"""The only version of the API."""
REPLY_TOKENS = 8192
"""`max_tokens` by default, because the API requires a limit. A verdict takes 100 to 300 tokens, so
that this is enough for 30 criteria in a request; at half, replies to 20 were truncated. Double is
more than some models allow, and such a request is rejected."""
TOOL = "judgement"
LEAST_MARKED = 4096
"""Characters from which a system prompt is marked for the cache: 1,024 tokens, the least that any
model caches. At half, nothing is gained; at double, some prompts cost ten times as much."""


def headers(key: str) -> dict[str, str]:
    """The headers that authenticate a request."""
    return {"x-api-key": key, "anthropic-version": VERSION}


def payload(
    model: str,
    request: Request,
    messages: tuple[Message, ...],
    form: Form,
    sampling: Sampling,
) -> dict[str, Any]:
    """Return the request body; the arguments are those of `_openai.payload`.

    JSON mode is a tool that the model must call, which also works for models without structured
    output. A model that thinks cannot be forced to call it, and writes JSON because the prompt asks
    for it.
    """
    sent: dict[str, Any] = {"model": model} | parameters(request, form, sampling)
    if system := "\n\n".join(part["content"] for part in messages if part["role"] == "system"):
        # All items share it; long ones contain labelled examples.
        is_long = sampling.marks and len(system) >= LEAST_MARKED
        sent["system"] = marked(system, system) if is_long else system
    # A message without text is rejected, such as an empty reply that is shown again.
    shown: list[dict[str, Any]] = [
        dict(part) for part in messages if part["role"] != "system" and part["content"].strip()
    ]
    sent["messages"] = shown
    if (
        sampling.marks
        and request.shared
        and request.is_one_of_several
        and len(shown[0]["content"]) > len(request.shared)
    ):
        shown[0]["content"] = marked(shown[0]["content"], request.shared)
    if request.schema is not None and form.rung == "json_schema":
        output = {"type": "json_schema", "schema": _without_bounds(request.schema)}
        sent["output_config"] = {**sent.get("output_config", {}), "format": output}
    elif request.schema is not None and form.rung == "json_object" and not _thinks(sent):
        sent["tools"] = [{"name": TOOL, "input_schema": request.schema}]
        sent["tool_choice"] = {"type": "tool", "name": TOOL}
    return sent


def parameters(request: Request, form: Form, sampling: Sampling) -> dict[str, Any]:
    """The sampling parameters in the form of the API: `max_tokens`, `temperature` and the like.

    A model that thinks accepts no temperature, and its thinking counts among the tokens of the
    reply.
    """
    sent = dict(sampling.options)
    thinks = _thinks(sent)
    if form.temperature is not None and not thinks:
        sent["temperature"] = CHOICE_TEMPERATURE if request.choices else form.temperature
    thought = sent["thinking"].get("budget_tokens", REPLY_TOKENS) if thinks else 0
    sent["max_tokens"] = sampling.max_tokens or REPLY_TOKENS + thought
    return sent


def _thinks(options: Mapping[str, Any]) -> bool:
    thinking = options.get("thinking")
    return isinstance(thinking, dict) and thinking.get("type") != "disabled"


def _without_bounds(value: Any) -> Any:
    """Return a schema without bounds of numbers, which structured output does not support."""
    if isinstance(value, list):
        return [_without_bounds(part) for part in value]
    if not isinstance(value, dict):
        return value
    return {
        name: _without_bounds(part)
        for name, part in value.items()
        if name not in ("minimum", "maximum") or isinstance(part, dict)
    }


def reply(body: Mapping[str, Any]) -> Reply:
    """Return the reply in a body: its text, else the arguments of the tool call.

    Thinking is neither: it is never searched for an answer.

    Raises:
        ModelError: `truncated` if there is no content, `refused` if the model declined,
            `context_length` if the context of the model was full.
    """
    content = body.get("content")
    if not isinstance(content, list):
        raise ModelError("truncated", "the answer has no content")
    end = body.get("stop_reason")
    if end == "refusal":
        raise ModelError("refused", "the model refused")
    if end == "model_context_window_exceeded":
        raise ModelError("context_length", "the reply does not fit into the model's context")
    blocks = [block for block in content if isinstance(block, dict)]
    text = texts_of(blocks, "text")
    thinking = texts_of(blocks, "thinking", "\n\n")
    calls = [
        orjson.dumps(block.get("input")).decode()
        for block in blocks
        if block.get("type") == "tool_use" and block.get("input")
    ]
    elsewhere = "\n".join(calls)
    if calls and not text.strip():
        text, elsewhere = elsewhere, ""
    return Reply(text, elsewhere, end if isinstance(end, str) else "", thinking=thinking)


def usage(body: object, raw: bytes, headers: Mapping[str, str]) -> TokenCounts | None:
    """The token counts of a body in Anthropic's format; None for any other.

    Cache reads and writes come on top of the input. Thinking is part of the output.
    """
    counts = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(counts, dict):
        return None
    read: Any = counts.get("input_tokens")
    output: Any = counts.get("output_tokens")
    cached = counts.get("cache_read_input_tokens") or 0
    written = counts.get("cache_creation_input_tokens") or 0
    kept = counts.get("cache_creation") or {}
    known = (read, cached, written, output)
    if not all(type(count) is int and 0 <= count <= MOST_TOKENS for count in known):
        return None
    if not (isinstance(kept, dict) and kept.get("ephemeral_5m_input_tokens", written) == written):
        return None  # some is kept for an hour, at another price
    if b"cost" in raw.lower() or counts.get("iterations"):
        return None
    return TokenCounts(read + cached + written, cached, written, output, 0)
