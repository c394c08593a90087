"""A judge that repeats what it reads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rubricate.testing._rules import JudgeRequest


def echo(messages: Sequence[Mapping[str, Any]]) -> str:
    """A judge that repeats the submission and adds nothing.

    The submission comes back as the reply, even a ready verdict in it: a program that
    takes it for the judge's own passes every text that asks for it. Given as a judge
    (`rubricate.redteam(echo)`) it must have no verdict, and so no success.

    Args:
        messages: the request's messages, each with `role` and `content`.
    """
    request = JudgeRequest.parse({"messages": [dict(message) for message in messages]}, {})
    return "\n\n".join(filter(None, (request.submission, request.second)))
