"""Reading a model's reply: a JSON object or tagged text, and nothing that is only guessed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

from rubricate.errors import UnreadableReply
from rubricate.rubric import Evidence

__all__ = ["Reply", "locate", "read_reply", "reply_objects"]

_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A```[a-zA-Z]*\s*(.*?)\s*```\Z", re.DOTALL)
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in parts: the answer as given, not yet checked against the criterion."""

    answer: Any
    reason: str
    quotes: tuple[str, ...]


def read_reply(text: str) -> Reply:
    """Find the answer in a reply.

    The reply is a JSON object with `reason`, `evidence` and `verdict`, alone or among other text,
    or the same as tags. Where several stand in one reply they must agree.

    Raises:
        UnreadableReply: there is none, it lacks a part, or there are several that differ.
    """
    return _agreed(reply_objects(text, "verdict") or _tagged(_THINKING.sub("", text)))


def reply_objects(text: str, key: str) -> list[Any]:
    """The JSON values that a reply is or has in it.

    Args:
        text: the reply; what a model thought before it, between think tags, is left out.
        key: what an object among other text must have to count.

    Returns:
        The one value that the reply is, whatever it is; else the outermost objects in it that
        have the key, in their order.

    Raises:
        UnreadableReply: the reply is empty.
    """
    text = _THINKING.sub("", text).strip()
    if not text:
        raise UnreadableReply("the reply is empty")
    fenced = _FENCE.match(text)
    try:
        return [orjson.loads(fenced.group(1) if fenced else text)]
    except orjson.JSONDecodeError:
        return _objects(text, key)


def _agreed(found: list[Any]) -> Reply:
    replies = [_reply(candidate) for candidate in found]
    if not replies:
        raise UnreadableReply("the reply has no JSON object with a verdict")
    if any(reply.answer != replies[0].answer for reply in replies):
        raise UnreadableReply("the reply has several verdicts that differ")
    return replies[-1]


def _objects(text: str, key: str) -> list[Any]:
    """The outermost JSON objects in a text that have a key."""
    found: list[Any] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = _DECODER.raw_decode(text, start)
        except (ValueError, RecursionError):  # also a number of thousands of digits
            end = start + 1
        else:
            if isinstance(value, dict) and key in value:
                found.append(value)
        start = text.find("{", end)
    return found


def _tagged(text: str) -> list[Any]:
    verdicts = re.findall(r"<verdict>(.*?)</verdict>", text, re.DOTALL)
    reasons = re.findall(r"<reason>(.*?)</reason>", text, re.DOTALL)
    quotes = re.findall(r"<evidence>(.*?)</evidence>", text, re.DOTALL)
    evidence = [quote.strip() for quote in quotes if quote.strip()]
    reason = " ".join(reason.strip() for reason in reasons)
    return [
        {"reason": reason, "evidence": evidence, "verdict": verdict.strip()} for verdict in verdicts
    ]


def _reply(data: Any) -> Reply:
    if not isinstance(data, dict):
        raise UnreadableReply(f"the reply is a JSON {type(data).__name__}, not an object")
    if "verdict" not in data:
        raise UnreadableReply("the reply's JSON object has no 'verdict'")
    reason, quotes = data.get("reason"), data.get("evidence", [])
    if not isinstance(reason, str):
        raise UnreadableReply("the reply's JSON object has no 'reason' text")
    quotes = [quotes] if isinstance(quotes, str) else quotes
    if not isinstance(quotes, list) or not all(isinstance(quote, str) for quote in quotes):
        raise UnreadableReply("'evidence' in the reply is not a list of quotes")
    return Reply(data["verdict"], reason, tuple(quote for quote in quotes if quote.strip()))


def locate(quote: str, submission: str) -> Evidence:
    """Find a quote in the submission: as it stands, else with other spacing and letter case."""
    start = submission.find(quote)
    if start >= 0:
        return Evidence(quote, start, start + len(quote))
    words = r"\s+".join(re.escape(word) for word in quote.split())
    match = re.search(words, submission, re.IGNORECASE)
    return Evidence(quote, *match.span()) if match else Evidence(quote)
