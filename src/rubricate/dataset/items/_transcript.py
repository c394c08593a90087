"""Conversations as text: what a judge is shown of a list of messages."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from rubricate.rubric import SpokenParts, split_thinking

if TYPE_CHECKING:
    from rubricate.dataset.samples._chat import ChatMessage

__all__ = ["Transcript", "Turn", "is_conversation", "render_turns"]


class Turn(NamedTuple):
    """What one speaker says, and the tools that it calls, each with its arguments."""

    speaker: str
    text: str
    calls: Sequence[tuple[str, Mapping[str, Any]]] = ()


def render_turns(turns: Iterable[Turn]) -> str:
    """A conversation as text: `user: ...` and `assistant: ...`, each turn on a line of its own.

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
        and all(isinstance(one, Mapping) and "role" in one for one in value)
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

    Raises:
        InputError: there is none, or one has no role or content.
    """

    messages: tuple[ChatMessage, ...]

    def __new__(cls, messages: Sequence[Mapping[str, Any] | ChatMessage]) -> Transcript:
        from rubricate.dataset.samples._values import read_messages

        read = read_messages(messages)
        made = super().__new__(cls, render_turns(map(turn_of, read)))
        made.messages = tuple(read)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return (list(self.messages),)

    @property
    def parts(self) -> SpokenParts:
        """What the assistant thinks and says, and what the others say."""
        thinking, output, other = [], [], []
        for message in self.messages:
            if message.role != "assistant":
                other.append(message.text)
                continue
            said = split_thinking(message.text)
            content = message.content if isinstance(message.content, list) else []
            thinking += [part.reasoning for part in content if part.type == "reasoning"]
            thinking.append(said.thinking)
            output.append(said.output)
        return SpokenParts(*("\n".join(filter(None, texts)) for texts in (thinking, output, other)))

    def to_list(self) -> list[dict[str, Any]]:
        """The messages as JSON values."""
        return [
            message.model_dump(mode="json", exclude_none=True, exclude={"id", "source"})
            for message in self.messages
        ]


def turn_of(message: ChatMessage) -> Turn:
    """A chat message as a turn; of what is neither text nor reasoning, only the kind is said."""
    content = message.content if isinstance(message.content, list) else []
    others = [f"[{part.type}]" for part in content if part.type not in ("text", "reasoning")]
    calls = (message.tool_calls or []) if message.role == "assistant" else []
    return Turn(
        message.role,
        "\n".join(filter(None, (message.text, *others))),
        [(call.function, call.arguments) for call in calls],
    )
