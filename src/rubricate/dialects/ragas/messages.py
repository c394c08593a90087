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


class HumanMessage(Document):
    """A message from the user."""

    content: str
    """The text."""
    metadata: dict[str, Any] | None = None
    """Further data; judges do not see it."""
    type: Literal["human"] = "human"


class AIMessage(Document):
    """A message from the model, with its tool calls."""

    content: str
    """The text; may be empty if there are tool calls."""
    metadata: dict[str, Any] | None = None
    """Further data; judges do not see it."""
    type: Literal["ai"] = "ai"
    tool_calls: list[ToolCall] | None = None
    """The tool calls."""


class ToolMessage(Document):
    """The result of a tool call."""

    content: str
    """The text."""
    metadata: dict[str, Any] | None = None
    """Further data; judges do not see it."""
    type: Literal["tool"] = "tool"


AnyMessage = Annotated[HumanMessage | AIMessage | ToolMessage, Discriminator("type")]
"""A message of the kind in `type`."""

_SPEAKERS = {"human": "Human", "ai": "AI", "tool": "ToolOutput"}


def pretty_repr(messages: Sequence[HumanMessage | AIMessage | ToolMessage]) -> str:
    """Return the conversation as text: `Human: ...`, `AI: ...`, `ToolOutput: ...`."""
    return render_turns(_turn(message) for message in messages)


def _turn(message: HumanMessage | AIMessage | ToolMessage) -> Turn:
    calls = (message.tool_calls or []) if isinstance(message, AIMessage) else []
    named = [(call.name, call.args) for call in calls]
    return Turn(_SPEAKERS[message.type], message.content, named)
