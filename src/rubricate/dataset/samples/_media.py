"""Parts of chat messages that are not text: images, audio, video and files, in any API's format."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NAMES = {"image": "an image", "audio": "audio", "video": "a video", "document": "a file"}
_FILES = ("document", "file", "pdf")
_PAYLOADS = ("image", "audio", "video", "document", "inline", "file", "blob")
"""Beginnings of the only key of a part without a `type` (Gemini, Bedrock)."""


def kind_of(part: object) -> str | None:
    """The kind of a message's part, unless it is text: `image`, `audio`, `video` or `document`.

    The formats of Inspect (`image`), OpenAI (`image_url`, `input_audio`, `file`), Anthropic
    (`image` with a `source`), Gemini (`inline_data`) and Bedrock (`image` as the only key) are
    recognised by common features: the `type`, or the key of the data. The result of a tool
    (`tool_result`) has the kind of its content.

    Args:
        part: the part, as JSON values.

    Returns:
        None for text, and for other parts of a conversation, such as reasoning.
    """
    if not isinstance(part, Mapping):
        return None
    kind = part.get("type")
    if kind == "data":  # another provider's format, as stored in messages
        return kind_of(part.get("data"))
    if kind == "tool_result":
        inner = part.get("content")
        return next(filter(None, map(kind_of, inner)), None) if isinstance(inner, list) else None
    if isinstance(kind, str):
        return _named(kind.lower())
    return None if "text" in part else _by_key(part)


def _by_key(part: Mapping[str, Any]) -> str | None:
    """The kind of a part without `type`: by its MIME type, or by its key."""
    for key, value in part.items():
        if isinstance(key, str) and key.lower().startswith(_PAYLOADS):
            held = value if isinstance(value, Mapping) else {}
            mime = held.get("mime_type") or held.get("mimeType") or key
            return _named(str(mime).lower()) or "document"
    return None


def _named(name: str) -> str | None:
    """The kind of a type or a MIME type."""
    for kind in ("image", "audio", "video"):
        if kind in name:
            return kind
    return "document" if any(word in name for word in _FILES) else None


def kinds_in(contents: Iterable[object]) -> str:
    """The kinds of parts in messages besides text, in words: `an image and a file`; or "".

    Args:
        contents: for each message, text or a list of parts as JSON values.
    """
    names: dict[str, None] = {}
    for content in contents:
        if isinstance(content, Sequence) and not isinstance(content, str):
            for part in content:
                if (kind := kind_of(part)) is not None:
                    names[NAMES[kind]] = None
    return " and ".join(names)
