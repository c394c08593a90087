"""What was sent and received, as the report page holds it: bounded, and each text once an item."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rubricate._spelling import common_prefix
from rubricate.run import Exchange
from rubricate.run.results import Conversations, ResultRow

MOST = 32 * 1024 * 1024
"""Characters of messages and replies that a page holds at most, before they are packed."""
LEAST = 64 * 1024
"""With less room than this no further item is looked up."""
WORTH = 200
"""Characters that a message must share with an earlier one to be written as what differs."""


def wide(text: str) -> int:
    """The length of a text as a browser counts it, in units of UTF-16."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class PageSent:
    """Gives each item's messages and replies, as long as there is room in the page.

    Args:
        conversations: where they are looked up.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._characters_left = MOST

    def of_item(self, rows: tuple[ResultRow, ...]) -> tuple[list[str], list[Any]] | None:
        """What was sent and received for an item's lines of results.

        Returns:
            The messages that others begin as, and for each line its conversations; None where the
            page has no room for them.
        """
        before = self._characters_left
        if before < LEAST:
            return None
        texts: list[str] = []
        entries = [
            [
                {
                    "judge": conversation.judge,
                    "missing": conversation.missing,
                    "exchanges": [self._exchange(each, texts) for each in conversation.exchanges],
                }
                for conversation in conversations
            ]
            for conversations in map(self._conversations.of, rows)
        ]
        if self._characters_left < 0:  # a long item is left out, shorter ones behind it are not
            self._characters_left = before
            return None
        return texts, entries

    def _exchange(self, exchange: Exchange, texts: list[str]) -> dict[str, Any]:
        fields: dict[str, Any] = {
            "model": exchange.model,
            "asked": f"{datetime.fromtimestamp(exchange.sent_at, UTC):%Y-%m-%d %H:%M:%S} UTC",
            "requests": exchange.requests,
            "messages": [
                [message["role"], *self._shortened(message["content"], texts)]
                for message in exchange.messages
            ],
            "reply": exchange.elsewhere or exchange.reply,
            "thinking": exchange.thinking or None,
            "left_out": exchange.left_out,
            "cut_off": exchange.cut_off,
            "damaged": exchange.damaged,
            "probabilities": exchange.probabilities,
            "error": None if exchange.error is None else ": ".join(exchange.error),
        }
        received = (exchange.elsewhere or exchange.reply or "", exchange.thinking)
        self._characters_left -= sum(map(len, received)) + WORTH
        return {name: value for name, value in fields.items() if value not in (None, 0, False)}

    def _shortened(self, content: str, texts: list[str]) -> tuple[int, int, str]:
        """A message as the beginning of an earlier one, by its place, and what comes after it."""
        for place, text in enumerate(texts):
            shared = common_prefix(text, content)
            if shared >= WORTH or content == text:
                self._characters_left -= len(content) - shared
                return place, wide(content[:shared]), content[shared:]
        texts.append(content)
        self._characters_left -= len(content)
        return len(texts) - 1, wide(content), ""
