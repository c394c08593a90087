"""Conversations as text, for judges, and as messages, for trainers."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson

from rubricate._documents import check_keys
from rubricate.errors import InputError

if TYPE_CHECKING:
    from rubricate.dataset.samples import ChatMessage, Content
    from rubricate.rubric import SpokenParts

TEXTS = ("text", "reasoning")
"""Types of a message's parts that are not mentioned as unseen."""
MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")


class Turn(NamedTuple):
    """The text of one speaker, and its tool calls with their arguments."""

    speaker: str
    text: str
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()


def render_turns(turns: Iterable[Turn]) -> str:
    """A conversation as text: `user: ...` and `assistant: ...`, each turn on its own line.

    Further lines of a turn are indented, so that no text can pass for another turn.
    """
    return "\n".join(line for turn in turns for line in _lines(turn))


def _lines(turn: Turn) -> list[str]:
    lines = [f"{turn.speaker}: {_indented(turn.text)}".rstrip()]
    if turn.calls:
        lines.append("Tools:")
        lines += [f"  {_indented(name)}: {dict(arguments)}" for name, arguments in turn.calls]
    return lines


def _indented(text: str) -> str:
    return "\n  ".join(text.splitlines())


def is_conversation(value: object) -> bool:
    """Whether a value looks like chat messages: a list of objects with a role."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(message, Mapping) and "role" in message for message in value)
    )


class Transcript(str):
    """A conversation that is graded as a whole: its text, with the original messages.

    The text is that of `render_turns`; a judge's quotes are located in it. It does not contain the
    reasoning parts of messages.

    Args:
        messages: chat messages as `{"role": ..., "content": ...}`, including OpenAI's with
            `tool_calls`, or as `ChatMessage`.

    Attributes:
        messages: the messages.
        unseen: their parts that are not in the text, such as `an image`; "" if there are none.

    Raises:
        InputError: there are no messages, or one has no role or content.
    """

    messages: tuple[ChatMessage, ...]
    unseen: str

    def __new__(cls, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> Transcript:
        from rubricate.dataset.samples import read_messages

        read = read_messages(messages)
        made = super().__new__(cls, render_turns(map(turn_of, read)))
        made.messages = tuple(read)
        made.unseen = unseen_in(read)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (list(self.messages),)

    @property
    def parts(self) -> SpokenParts:
        """The assistant's thinking and output, and the text of the others."""
        from rubricate.rubric import SpokenParts, split_thinking  # only for a length penalty

        thinking, output, other = [], [], []
        for message in self.messages:
            if message.role != "assistant":
                other.append(message.text)
                continue
            parts = split_thinking(message.text)
            content = message.content if isinstance(message.content, list) else []
            thinking += [part.reasoning for part in content if part.type == "reasoning"]
            thinking.append(parts.thinking)
            output.append(parts.output)
        return SpokenParts(*("\n".join(filter(None, texts)) for texts in (thinking, output, other)))

    def to_list(self) -> list[dict[str, Any]]:
        """The messages as JSON values."""
        return [
            message.model_dump(mode="json", exclude_none=True, exclude=_unsaid(message))
            for message in self.messages
        ]


def _unsaid(message: ChatMessage) -> dict[str, Any]:
    """Fields of a message that nobody wrote: its id and source, and a tool call's usual type."""
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    usual = {n: {"type"} for n, call in enumerate(calls) if "type" not in call.model_fields_set}
    return {"id": True, "source": True, **({"tool_calls": usual} if usual else {})}


class AnswerList(str):
    """Several answers to one task, such as all rejected ones; as text, their JSON list.

    Attributes:
        answers: the answers.
    """

    answers: tuple[str, ...]

    def __new__(cls, answers: Sequence[str]) -> AnswerList:
        made = super().__new__(cls, json.dumps(answers, ensure_ascii=False))
        made.answers = tuple(answers)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (list(self.answers),)


class PromptText(str):
    """The text of messages that contain more than text.

    Attributes:
        unseen: their other parts, such as `an image`.
    """

    unseen: str

    @classmethod
    def of(cls, text: str, messages: Sequence[ChatMessage]) -> str:
        """Return the text of messages with `unseen`; the text itself if there are no other
        parts."""
        if not (unseen := unseen_in(messages)):
            return text
        made = cls(text)
        made.unseen = unseen
        return made


def unseen_in(messages: Iterable[ChatMessage]) -> str:
    """The parts of messages that no text shows, in words: `an image`; "" if there are none."""
    parts = [
        [part.model_dump() for part in message.content if part.type not in TEXTS]
        for message in messages
        if isinstance(message.content, list)
    ]
    if not any(parts):
        return ""
    from rubricate.dataset.samples import kinds_in

    return kinds_in(parts)


def _shown_kind(part: Content) -> str:
    if part.type != "data":
        return part.type
    from rubricate.dataset.samples import kind_of

    return kind_of(part.data) or part.type


def turn_of(message: ChatMessage) -> Turn:
    """A chat message as a turn; parts that are neither text nor reasoning are only named."""
    content = message.content if isinstance(message.content, list) else []
    others = [f"[{_shown_kind(part)}]" for part in content if part.type not in TEXTS]
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    return Turn(
        message.role,
        "\n".join(filter(None, (message.text, *others))),
        [(call.function, call.arguments) for call in calls],
    )


def text_of_chat(chat: Any) -> str:
    """Text unchanged; one message as its text; several, or one with tool calls, as a `Transcript`.

    A message with more than text, such as an image, is also a `Transcript`. A list of one text is
    that text. The contents of tool calls are not validated, because they are to be judged.

    Raises:
        InputError: it is neither, or a message has no content, an unknown role or a misspelt key.
    """
    if isinstance(chat, list) and len(chat) == 1 and isinstance(chat[0], str):
        (chat,) = chat
    if isinstance(chat, str):
        return chat
    if not isinstance(chat, Sequence) or not all(isinstance(part, Mapping) for part in chat):
        raise InputError(f"expected text or a list of chat messages, found {type(chat).__name__}")
    for message in chat:
        check_keys(message, MESSAGE_KEYS)
        if "content" not in message and "tool_calls" not in message:
            raise InputError("a message has no content")
    messages = [_message(message) for message in chat]
    content = messages[0]["content"] if len(messages) == 1 else None
    if isinstance(content, str) and not messages[0]["tool_calls"]:
        return content
    return Transcript(messages)


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    calls = message.get("tool_calls") or []
    return {
        "role": "user",
        **message,
        "content": _content(message.get("content")),
        "tool_calls": [_call(call, number) for number, call in enumerate(calls, start=1)],
    }


def _content(content: Any) -> str | list[Any]:
    """The text of a message's parts, followed by parts that are not text, such as images."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        from rubricate.dataset.samples import kind_of

        parts = [part for part in content if isinstance(part, Mapping)]
        text = "".join(str(part.get("text") or "") for part in parts)
        others = [part for part in parts if kind_of(part)]
        return [{"type": "text", "text": text}, *others] if others else text
    return "" if content is None else str(content)


def _call(call: Any, number: int) -> dict[str, Any]:
    """A tool call; it may lack an identifier (TRL), and its arguments may not be a JSON object."""
    if not isinstance(call, Mapping):
        return {"id": str(number), "function": str(call)}
    function = call.get("function")
    inner = function if isinstance(function, Mapping) else call
    name = inner.get("name") or ("" if inner is function else function or "")
    arguments = inner.get("arguments")
    if isinstance(arguments, str):
        with suppress(orjson.JSONDecodeError):  # else shown unchanged
            arguments = orjson.loads(arguments or "{}")
    if not isinstance(arguments, Mapping):
        arguments = {} if arguments is None else {"arguments": arguments}
    return {"id": str(call.get("id") or number), "function": str(name), "arguments": arguments}
