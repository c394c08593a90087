"""Chat messages: the input of a sample, unless it is plain text.

Parts of a message's content are models too, each with its `type`; by a message's `role` and a
part's `type`, pydantic selects the model.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue


class _Model(BaseModel):
    """A model whose validator is built on first use, because most datasets have no messages."""

    model_config = ConfigDict(defer_build=True)


class ContentText(_Model):
    """Text."""

    type: Literal["text"] = "text"
    text: str
    refusal: bool | None = None
    citations: list[dict[str, JsonValue]] | None = None


class ContentReasoning(_Model):
    """The model's reasoning before its answer."""

    type: Literal["reasoning"] = "reasoning"
    reasoning: str
    summary: str | None = None
    signature: str | None = None
    redacted: bool = False


class ContentImage(_Model):
    """An image: a path, a URL or a data URI."""

    type: Literal["image"] = "image"
    image: str
    detail: Literal["auto", "low", "high", "original"] = "auto"


class ContentAudio(_Model):
    """A sound: a path, a URL or a data URI."""

    type: Literal["audio"] = "audio"
    audio: str
    format: Literal["wav", "mp3"]


class ContentVideo(_Model):
    """A video: a path, a URL or a data URI."""

    type: Literal["video"] = "video"
    video: str
    format: Literal["mp4", "mpeg", "mov"]


class ContentDocument(_Model):
    """A document: a path, a URL or a data URI."""

    type: Literal["document"] = "document"
    document: str
    filename: str = ""
    mime_type: str = ""
    citations: bool | None = None


class ContentData(_Model):
    """Data in a provider's own format."""

    type: Literal["data"] = "data"
    data: dict[str, JsonValue]


class ContentToolUse(_Model):
    """A tool that the model's provider ran: its name, input and result."""

    type: Literal["tool_use"] = "tool_use"
    tool_type: Literal["web_search", "mcp_call", "code_execution"]
    id: str
    name: str
    context: str | None = None
    arguments: str
    result: str
    error: str | None = None


Content = Annotated[
    ContentText
    | ContentReasoning
    | ContentImage
    | ContentAudio
    | ContentVideo
    | ContentDocument
    | ContentData
    | ContentToolUse,
    Discriminator("type"),
]
"""One part of a message's content."""


class ToolCall(_Model):
    """A function call requested by a model."""

    id: str
    function: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    parse_error: str | None = None
    type: str = "function"


class ToolCallError(_Model):
    """The error of a failed function call."""

    type: str
    message: str


def _new_id() -> str:
    return uuid.uuid4().hex[:22]


class ChatMessageBase(_Model):
    """The common fields of all messages.

    Attributes:
        id: its identifier. Default: random.
        content: text, or a list of parts.
        source: `input` for a message from a dataset, `generate` for a model's, `operator` for one
            that somebody sent in between.
        metadata: any other data.
    """

    id: str | None = Field(default_factory=_new_id)
    content: str | list[Content]
    source: Literal["input", "generate", "operator"] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The text of the content: all of it, or its text parts joined by line breaks."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content if isinstance(part, ContentText))

    @text.setter
    def text(self, text: str) -> None:
        if isinstance(self.content, str):
            self.content = text
        else:
            others = [part for part in self.content if not isinstance(part, ContentText)]
            self.content = [*others, ContentText(text=text)]


class ChatMessageSystem(ChatMessageBase):
    """Instructions."""

    role: Literal["system"] = "system"


class ChatMessageUser(ChatMessageBase):
    """A user's message."""

    role: Literal["user"] = "user"
    tool_call_id: list[str] | None = None


class ChatMessageAssistant(ChatMessageBase):
    """A model's message."""

    role: Literal["assistant"] = "assistant"
    tool_calls: list[ToolCall] | None = None
    model: str | None = None


class ChatMessageTool(ChatMessageBase):
    """The result of a function call."""

    role: Literal["tool"] = "tool"
    tool_call_id: str | None = None
    function: str | None = None
    error: ToolCallError | None = None


ChatMessage = Annotated[
    ChatMessageSystem | ChatMessageUser | ChatMessageAssistant | ChatMessageTool,
    Discriminator("role"),
]
"""A message of a conversation, of the class that `role` selects."""
