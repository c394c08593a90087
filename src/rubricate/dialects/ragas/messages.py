"""`ragas.messages`: the messages of a conversation."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field

from rubricate._documents import Document
from rubricate.dataset import Turn, render_turns


class ToolCall(Document):
    """A model's wish to have a tool called."""

    name: str
    """The tool."""
    args: dict[str, Any] = Field(default_factory=dict)
    """What it is called with."""


class HumanMessage(Document):
    """What a user says."""

    content: str
    """The text."""
    metadata: dict[str, Any] | None = None
    """Anything else worth keeping; no judge is shown it."""
    type: Literal["human"] = "human"


class AIMessage(Document):
    """What a model says, and which tools it calls."""

    content: str
    """The text; may be empty beside tool calls."""
    metadata: dict[str, Any] | None = None
    """Anything else worth keeping; no judge is shown it."""
    type: Literal["ai"] = "ai"
    tool_calls: list[ToolCall] | None = None
    """The tools that it calls."""


class ToolMessage(Document):
    """What a tool gave back."""

    content: str
    """The text."""
    metadata: dict[str, Any] | None = None
    """Anything else worth keeping; no judge is shown it."""
    type: Literal["tool"] = "tool"


AnyMessage = Annotated[HumanMessage | AIMessage | ToolMessage, Discriminator("type")]
"""A message; `type` says which."""

_SPEAKERS = {"human": "Human", "ai": "AI", "tool": "ToolOutput"}


def pretty_repr(messages: Sequence[HumanMessage | AIMessage | ToolMessage]) -> str:
    """The conversation as text (see `render_turns`): `Human: ...`, `AI: ...`, `ToolOutput: ...`."""
    return render_turns(_turn(message) for message in messages)


def _turn(message: HumanMessage | AIMessage | ToolMessage) -> Turn:
    calls = (message.tool_calls or []) if isinstance(message, AIMessage) else []
    named = [(call.name, call.args) for call in calls]
    return Turn(_SPEAKERS[message.type], message.content, named)
