"""inspect_ai: `inspect_ai.dataset` -> `rubricate.dialects.inspect_ai.dataset`, and a scorer.

`dataset` has its datasets and readers, `model` the chat messages, and `tool` their tool calls.
`scorer` grades the samples of an inspect task by a rubric.
"""

from rubricate.dialects import names_elsewhere

names_elsewhere(__name__)
