"""`inspect_ai.tool`: the tool calls of chat messages."""

from rubricate.dataset import ToolCall as ToolCall, ToolCallError as ToolCallError
