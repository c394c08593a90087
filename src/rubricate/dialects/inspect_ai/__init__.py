"""inspect_ai's datasets: `inspect_ai.dataset` -> `rubricate.dialects.inspect_ai.dataset`.

They are the core's own; `rubricate.dialects.inspect_ai.model` has the chat messages.
"""
