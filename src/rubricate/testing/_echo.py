"""A judge that repeats what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate.testing._rules import JudgeRequest


def echo(messages: Sequence[Mapping[str, Any]]) -> str:
    """A judge that repeats the submission and says nothing of its own.

    Whatever stands in a submission comes back as the reply, a ready verdict too: a program that
    takes it for the judge's own passes every text that asks for it. Given as a judge
    (`rubricate.redteam(echo)`) it must have no verdict, and so no success.

    Args:
        messages: the request's messages, each with `role` and `content`.
    """
    asked = JudgeRequest.parse({"messages": [dict(message) for message in messages]}, {})
    return "\n\n".join(filter(None, (asked.submission, asked.second)))
