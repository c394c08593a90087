"""Other APIs, whose requests and replies are converted from and to those of the chat API."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]


class Chat:
    """The chat API itself."""

    def chat(self, body: Body) -> Body:
        """Convert a request to a chat request."""
        return body

    def reply(self, body: Body, chat: Body) -> Body:
        """Convert a chat reply to the format of the API."""
        return chat


LEAST_CACHED = 1024


class Messages(Chat):
    """Anthropic's Messages API.

    Attributes:
        usages: the token counts of each reply, in order.
        cached: the contents of the cache: marked prefixes of at least 1,024 tokens (of 4
            characters).
    """

    def __init__(self) -> None:
        self.usages: list[dict[str, int]] = []
        self.cached: set[str] = set()

    def chat(self, body: Body) -> Body:
        return _chat(
            body["model"],
            [("system", body.get("system", "")), *_messages(body["messages"], "content")],
            (body.get("output_config") or {}).get("format", {}).get("schema"),
        ) | {"max_tokens": body["max_tokens"]}

    def reply(self, body: Body, chat: Body) -> Body:
        thought, text, is_whole, counts = _parts(chat)
        start, size, read = "", 0, 0
        for content in (body.get("system", ""), *(each["content"] for each in body["messages"])):
            for part in [{"text": content}] if isinstance(content, str) else content:
                start += part["text"]
                if "cache_control" in part and len(start) >= 4 * LEAST_CACHED:
                    size = len(start) // 4
                    read = size if start in self.cached else read
                    self.cached.add(start)
        self.usages.append(
            {
                "input_tokens": counts["prompt_tokens"] - size,
                "cache_read_input_tokens": read,
                "cache_creation_input_tokens": size - read,
                "output_tokens": counts["completion_tokens"],
            }
        )
        thinking = [{"type": "thinking", "thinking": thought, "signature": "s"}] if thought else []
        return {
            "type": "message",
            "role": "assistant",
            "model": chat["model"],
            "content": [*thinking, {"type": "text", "text": text}],
            "stop_reason": "end_turn" if is_whole else "max_tokens",
            "usage": self.usages[-1],
        }


class Responses(Chat):
    """OpenAI's Responses API."""

    def chat(self, body: Body) -> Body:
        schema = body.get("text", {}).get("format", {}).get("schema")
        return _chat(body["model"], _messages(body["input"], "content"), schema)

    def reply(self, body: Body, chat: Body) -> Body:
        thought, text, is_whole, counts = _parts(chat)
        return {
            "object": "response",
            "status": "completed" if is_whole else "incomplete",
            "incomplete_details": None if is_whole else {"reason": "max_output_tokens"},
            "model": chat["model"],
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": thought}]},
                {"type": "message", "content": [{"type": "output_text", "text": text}]},
            ],
            "usage": {
                name.replace("prompt", "input").replace("completion", "output"): count
                for name, count in counts.items()
            },
        }


class Gemini(Chat):
    """Gemini's own API, whose requests have the name of the model in their path."""

    def chat(self, body: Body) -> Body:
        return _chat(
            body["model"],
            [("system", body["systemInstruction"]["parts"]), *_messages(body["contents"], "parts")],
            body["generationConfig"].get("responseJsonSchema"),
        )

    def reply(self, body: Body, chat: Body) -> Body:
        thought, text, is_whole, counts = _parts(chat)
        parts = [{"text": thought, "thought": True}] if thought else []
        reasoning = counts["completion_tokens_details"]["reasoning_tokens"]
        return {
            "candidates": [
                {
                    "content": {"role": "model", "parts": [*parts, {"text": text}]},
                    "finishReason": "STOP" if is_whole else "MAX_TOKENS",
                }
            ],
            "modelVersion": chat["model"],
            "usageMetadata": {
                "promptTokenCount": counts["prompt_tokens"],
                "candidatesTokenCount": counts["completion_tokens"] - reasoning,
                "thoughtsTokenCount": reasoning,
                "cachedContentTokenCount": counts["prompt_tokens_details"]["cached_tokens"],
            },
        }


def _chat(model: str, parts: list[tuple[str, Any]], schema: object) -> Body:
    messages = [{"role": role, "content": _text(content)} for role, content in parts]
    chat: Body = {"model": model, "messages": messages}
    if schema:
        chat["response_format"] = {"type": "json_schema", "json_schema": {"schema": schema}}
    return chat


def _messages(messages: list[Body], name: str) -> list[tuple[str, Any]]:
    return [
        ("assistant" if message["role"] == "model" else message["role"], message[name])
        for message in messages
    ]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


def _parts(chat: Body) -> tuple[str, str, bool, Body]:
    """A chat reply's reasoning, its text, whether that is complete, and the counts."""
    choice = chat["choices"][0]
    message, is_whole = choice["message"], choice["finish_reason"] == "stop"
    return message.get("reasoning_content", ""), message["content"], is_whole, chat["usage"]
