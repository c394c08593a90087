"""What can be done about failures of a kind, in one line each."""

from __future__ import annotations

from collections.abc import Iterable

_BY_KIND = {
    "timeout": "a slow server needs a longer --timeout, or fewer requests at once (--concurrency); "
    "a model that does not stop writing needs --max-tokens",
    "deadline": "a judgement may take longer with --deadline, all its requests together",
    "context_length": "give the server more context, or send less: --chunk-tokens for long "
    "submissions, fewer examples, fewer --criteria-per-call",
    "unreadable_reply": "replies that are cut off need more --max-tokens; a model that cannot keep "
    "to the form is too small for this, or needs another way of asking: --criteria-per-call 1, the "
    "other --mode, your own --judge-prompt",
}


def advice(kinds: Iterable[str]) -> list[str]:
    """What can be done about failures, by kind, for the kinds of which something can be said."""
    return [f"{kind}: {_BY_KIND[kind]}" for kind in kinds if kind in _BY_KIND]
