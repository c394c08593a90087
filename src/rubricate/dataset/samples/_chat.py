"""Chat messages: what a sample's input may be besides plain text.

Parts of a message's content are models too, each with its `type`; a message's `role` and a part's
`type` tell pydantic which model to use.
"""

from __future__ import annotations

import uuid
from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Discriminator, Field, JsonValue


class _Model(BaseModel):
    """A model whose validator is built when it is first used: most datasets have no messages."""

    model_config = ConfigDict(defer_build=True)


class ContentText(_Model):
    """Text."""

    type: Literal["text"] = "text"
    text: str
    refusal: bool | None = None
    citations: list[dict[str, JsonValue]] | None = None


class ContentReasoning(_Model):
    """What a model thought before it answered."""

    type: Literal["reasoning"] = "reasoning"
    reasoning: str
    summary: str | None = None
    signature: str | None = None
    redacted: bool = False


class ContentImage(_Model):
    """An image: a path, an address or a data URI."""

    type: Literal["image"] = "image"
    image: str
    detail: Literal["auto", "low", "high", "original"] = "auto"


class ContentAudio(_Model):
    """A sound: a path, an address or a data URI."""

    type: Literal["audio"] = "audio"
    audio: str
    format: Literal["wav", "mp3"]


class ContentVideo(_Model):
    """A film: a path, an address or a data URI."""

    type: Literal["video"] = "video"
    video: str
    format: Literal["mp4", "mpeg", "mov"]


class ContentDocument(_Model):
    """A document: a path, an address or a data URI."""

    type: Literal["document"] = "document"
    document: str
    filename: str = ""
    mime_type: str = ""
    citations: bool | None = None


class ContentData(_Model):
    """Data in a form of a provider's own."""

    type: Literal["data"] = "data"
    data: dict[str, JsonValue]


class ContentToolUse(_Model):
    """A tool that the model's provider ran: which, on what, and what came back."""

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
    """A model's wish to have a function called."""

    id: str
    function: str
    arguments: dict[str, Any] = Field(default_factory=dict)
    parse_error: str | None = None
    type: str = "function"


class ToolCallError(_Model):
    """Why a call of a function failed."""

    type: str
    message: str


def _new_id() -> str:
    return uuid.uuid4().hex[:22]


class ChatMessageBase(_Model):
    """What all messages have.

    Attributes:
        id: its identifier; made at random where none is given.
        content: text, or a list of parts.
        source: `input` for a message that a dataset brought, `generate` for a model's, `operator`
            for one that somebody sent in between.
        metadata: anything else worth keeping.
    """

    id: str | None = Field(default_factory=_new_id)
    content: str | list[Content]
    source: Literal["input", "generate", "operator"] | None = None
    metadata: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """The content's text: all of it, or its text parts joined by line breaks."""
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
    """What a user says."""

    role: Literal["user"] = "user"
    tool_call_id: list[str] | None = None


class ChatMessageAssistant(ChatMessageBase):
    """What a model says."""

    role: Literal["assistant"] = "assistant"
    tool_calls: list[ToolCall] | None = None
    model: str | None = None


class ChatMessageTool(ChatMessageBase):
    """What a function gave back."""

    role: Literal["tool"] = "tool"
    tool_call_id: str | None = None
    function: str | None = None
    error: ToolCallError | None = None


ChatMessage = Annotated[
    ChatMessageSystem | ChatMessageUser | ChatMessageAssistant | ChatMessageTool,
    Discriminator("role"),
]
"""A message of a conversation; `role` says which."""
