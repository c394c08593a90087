"""`ragas.messages`: the messages of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from rubricate._documents import Document
from rubricate.dataset import Turn, render_turns


class ToolCall(Document):
    """A tool call by a model."""

    name: str
    """The name of the tool."""
    args: dict[str, Any] = Field(default_factory=dict)
    """Its arguments."""


class _Message(Document):
    content: str
    """The text; a message of the model with tool calls may have an empty one."""
    metadata: dict[str, Any] | None = None
    """Further data; judges do not see it."""
    type: str

    def pretty_repr(self) -> str:
        """Return the message as text, as `Human: ...`."""
        return pretty_repr([self])


class HumanMessage(_Message):
    """A message from the user."""

    type: Literal["human"] = "human"


class AIMessage(_Message):
    """A message from the model, with its tool calls."""

    type: Literal["ai"] = "ai"
    tool_calls: list[ToolCall] | None = None
    """The tool calls."""


class ToolMessage(_Message):
    """The result of a tool call."""

    type: Literal["tool"] = "tool"


AnyMessage = Annotated[HumanMessage | AIMessage | ToolMessage, Discriminator("type")]
"""A message of the kind in `type`."""

_SPEAKERS = {"human": "Human", "ai": "AI", "tool": "ToolOutput"}


def pretty_repr(messages: Sequence[_Message]) -> str:
    """Return the conversation as text: `Human: ...`, `AI: ...`, `ToolOutput: ...`."""
    return render_turns(_turn(message) for message in messages)


def _turn(message: _Message) -> Turn:
    calls = (message.tool_calls or []) if isinstance(message, AIMessage) else []
    named = [(call.name, call.args) for call in calls]
    return Turn(_SPEAKERS[message.type], message.content, named)
