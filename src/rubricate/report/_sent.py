"""The prompts and replies in a report page: limited in size, and without repeated texts."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rubricate._spelling import common_prefix
from rubricate.run import Exchange
from rubricate.run.results import Conversations, ResultRow

MOST = 32 * 1024 * 1024
"""The maximum number of characters of prompts and replies in a page, before compression."""
LEAST = 64 * 1024
"""With fewer characters left than this, no further item is added."""
WORTH = 200
"""The minimum number of shared characters for which a message refers to an earlier one."""


def wide(text: str) -> int:
    """The length of a text in UTF-16 code units, as a browser counts."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class PageSent:
    """Provides the messages and replies of items, up to the maximum of a page.

    Args:
        conversations: looks them up.
    """

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._characters_left = MOST

    def of_item(self, rows: tuple[ResultRow, ...]) -> tuple[list[str], list[Any]] | None:
        """The messages and replies for the rows of an item.

        Returns:
            The texts that messages refer to, and for each row its conversations; None if the page
            is full.
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
        if self._characters_left < 0:  # shorter items may still fit
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
        """A message as a prefix of an earlier one (index and length), and the rest."""
        for place, text in enumerate(texts):
            shared = common_prefix(text, content)
            if shared >= WORTH or content == text:
                self._characters_left -= len(content) - shared
                return place, wide(content[:shared]), content[shared:]
        texts.append(content)
        self._characters_left -= len(content)
        return len(texts) - 1, wide(content), ""
