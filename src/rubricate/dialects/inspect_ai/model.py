"""`inspect_ai.model`: the chat messages of a sample's input."""

from typing import TYPE_CHECKING

from rubricate.dataset import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageBase,
    ChatMessageSystem,
    ChatMessageTool,
    ChatMessageUser,
    Content,
    ContentAudio,
    ContentData,
    ContentDocument,
    ContentImage,
    ContentReasoning,
    ContentText,
    ContentToolUse,
    ContentVideo,
)
from rubricate.dialects._missing import missing

__all__ = [
    "ChatMessage",
    "ChatMessageAssistant",
    "ChatMessageBase",
    "ChatMessageSystem",
    "ChatMessageTool",
    "ChatMessageUser",
    "Content",
    "ContentAudio",
    "ContentData",
    "ContentDocument",
    "ContentImage",
    "ContentReasoning",
    "ContentText",
    "ContentToolUse",
    "ContentVideo",
]

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
