"""`inspect_ai.tool`: the tool calls of chat messages."""

from typing import TYPE_CHECKING

from rubricate.dataset import ToolCall, ToolCallError
from rubricate.dialects._missing import missing

__all__ = ["ToolCall", "ToolCallError"]

if not TYPE_CHECKING:
    __getattr__ = missing(__name__)
