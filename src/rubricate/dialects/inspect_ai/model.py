"""`inspect_ai.model`: the chat messages of a sample's input."""

from rubricate.dataset import (
    ChatMessage as ChatMessage,
    ChatMessageAssistant as ChatMessageAssistant,
    ChatMessageBase as ChatMessageBase,
    ChatMessageSystem as ChatMessageSystem,
    ChatMessageTool as ChatMessageTool,
    ChatMessageUser as ChatMessageUser,
    Content as Content,
    ContentAudio as ContentAudio,
    ContentData as ContentData,
    ContentDocument as ContentDocument,
    ContentImage as ContentImage,
    ContentReasoning as ContentReasoning,
    ContentText as ContentText,
    ContentToolUse as ContentToolUse,
    ContentVideo as ContentVideo,
)
