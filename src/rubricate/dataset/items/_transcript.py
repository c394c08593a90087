"""Conversations as text: what a judge is shown of a list of messages, and what trainers have."""

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
"""Types of a message's parts that need no mention."""
MESSAGE_KEYS = ("role", "content", "name", "tool_calls", "tool_call_id", "reasoning_content")


class Turn(NamedTuple):
    """What one speaker says, and the tools that it calls, each with its arguments."""

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
    """Whether a value looks like chat messages: a list of objects that have a role."""
    return (
        isinstance(value, Sequence)
        and not isinstance(value, str)
        and bool(value)
        and all(isinstance(message, Mapping) and "role" in message for message in value)
    )


class Transcript(str):
    """A conversation that is graded as a whole: its own text, with the messages kept beside.

    The text is that of `render_turns`; what a judge quotes is looked up in it. A message's
    reasoning parts are not in it.

    Args:
        messages: chat messages as `{"role": ..., "content": ...}`, those of OpenAI with their
            `tool_calls` too, or as `ChatMessage`.

    Attributes:
        messages: the messages.
        unseen: what they have that is not in the text, such as `an image`; "" for nothing.

    Raises:
        InputError: there is none, or one has no role or content.
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
        """What the assistant thinks and says, and what the others say."""
        from rubricate.rubric import SpokenParts, split_thinking  # for a length penalty alone

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
    """What of a message nobody wrote: its identifier and source, and a tool call's usual type."""
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    usual = {n: {"type"} for n, call in enumerate(calls) if "type" not in call.model_fields_set}
    return {"id": True, "source": True, **({"tool_calls": usual} if usual else {})}


class AnswerList(str):
    """Several answers to one task, such as all that were rejected; their JSON text as one.

    Attributes:
        answers: each of them.
    """

    answers: tuple[str, ...]

    def __new__(cls, answers: Sequence[str]) -> AnswerList:
        made = super().__new__(cls, json.dumps(answers, ensure_ascii=False))
        made.answers = tuple(answers)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (list(self.answers),)


class PromptText(str):
    """The text of messages that have more than text.

    Attributes:
        unseen: what else they have, such as `an image`.
    """

    unseen: str

    @classmethod
    def of(cls, text: str, messages: Sequence[ChatMessage]) -> str:
        """A text of messages; the text itself if they have nothing else."""
        if not (unseen := unseen_in(messages)):
            return text
        made = cls(text)
        made.unseen = unseen
        return made


def unseen_in(messages: Iterable[ChatMessage]) -> str:
    """What messages have that no text shows, in words: `an image`; "" for nothing."""
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
    """A chat message as a turn; of what is neither text nor reasoning, only the kind is said."""
    content = message.content if isinstance(message.content, list) else []
    others = [f"[{_shown_kind(part)}]" for part in content if part.type not in TEXTS]
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    return Turn(
        message.role,
        "\n".join(filter(None, (message.text, *others))),
        [(call.function, call.arguments) for call in calls],
    )


def text_of_chat(chat: Any) -> str:
    """Text as it is; one message as its text; several, or one that calls tools, as a `Transcript`.

    So is one that has more than text, such as an image. A list of one text is that text.

    Whatever a model put into a tool call is taken: it is to be judged.

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
    """The text of a message's parts; where some are not text, such as images, with these behind."""
    if isinstance(content, Sequence) and not isinstance(content, str):
        from rubricate.dataset.samples import kind_of

        parts = [part for part in content if isinstance(part, Mapping)]
        text = "".join(str(part.get("text") or "") for part in parts)
        others = [part for part in parts if kind_of(part)]
        return [{"type": "text", "text": text}, *others] if others else text
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
