"""Reading a model's reply: a JSON object or tagged text, and nothing that is only guessed."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import orjson

from rubricate._frozen import quickly_made
from rubricate.errors import ModelError, UnreadableReply
from rubricate.judge.models import Completion

__all__ = [
    "Reply",
    "failure_of",
    "read_group",
    "read_reply",
    "reply_objects",
    "shown_again",
    "what_was_wrong",
    "without_thinking",
]

_THINKING = re.compile(r"\A\s*<think(?:ing)?>.*?</think(?:ing)?>", re.DOTALL)
_FENCE = re.compile(r"\A```[a-zA-Z]*\s*(.*?)\s*```\Z", re.DOTALL)
_DECODER = json.JSONDecoder()


@quickly_made
@dataclass(frozen=True, slots=True)
class Reply:
    """A reply in parts: the answer as given, not yet checked against the criterion."""

    answer: Any
    reason: str
    quotes: tuple[str, ...]


_SHOWN = 1000
"""How many characters of a reply that was cut off are shown to the model again."""


def what_was_wrong(error: UnreadableReply, completion: Completion) -> str:
    """What is said of a reply that cannot be read, to the model and in the verdict."""
    if not completion.cut_off:
        return str(error)
    tokens = completion.usage.output_tokens
    after = f" after {tokens} tokens" if tokens else ""
    return f"the reply was cut off{after}, before it ended: it was as long as a reply may be"


def failure_of(error: ModelError, wrong: str) -> tuple[str, str]:
    """Class and message of a judgement that ended with a request that failed.

    Args:
        error: what the request failed with.
        wrong: what was wrong with an earlier reply, for which it was asked again; "" for nothing.
            Where only asking again was too long for the model, this is what the judgement failed
            for.
    """
    if wrong and error.kind == "context_length":
        return "unreadable_reply", f"{wrong}; and it could not be asked again: {error}"
    return error.kind, str(error)


def shown_again(completion: Completion) -> str:
    """A reply as it is shown to the model that is asked again.

    One that was cut off may fill all the room that there is, so only its beginning is shown.
    """
    text = completion.text or "(empty)"
    if not completion.cut_off or len(text) <= _SHOWN:
        return text
    return f"{text[:_SHOWN]} [...]"


def without_thinking(text: str) -> str:
    """A reply without what a model thought before it, between think tags."""
    thought = _THINKING.match(text)
    return text[thought.end() :] if thought else text


def read_reply(text: str) -> Reply:
    """Find the answer in a reply.

    The reply is a JSON object with `reason`, `evidence` and `verdict`, alone or among other text,
    or the same as tags. Where several stand in one reply they must agree.

    Raises:
        UnreadableReply: there is none, it lacks a part, or there are several that differ.
    """
    return _agreed(reply_objects(text, "verdict") or _tagged(without_thinking(text)))


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
    text = without_thinking(text).strip()
    if not text:
        raise UnreadableReply("the reply is empty")
    fenced = _FENCE.match(text)
    try:
        return [orjson.loads(fenced.group(1) if fenced else text)]
    except orjson.JSONDecodeError:
        return _objects(text, key)


def read_group(text: str, count: int) -> dict[int, Reply | UnreadableReply]:
    """Find the answers about several criteria, by their numbers from 1 to `count`.

    Each criterion stands for itself: what is wrong with one answer is said of that one alone.

    Raises:
        UnreadableReply: the reply has no JSON object at all, or several that differ.
    """
    text = without_thinking(text).strip()
    fenced = _FENCE.match(text)
    numbers = [str(number) for number in range(1, count + 1)]
    whole = _loaded(fenced.group(1) if fenced else text)
    found = [whole] if isinstance(whole, _Pairs) else _numbered(text, numbers)
    if not found:
        raise UnreadableReply("the reply has no JSON object with an entry for each criterion")
    if any(other != found[0] for other in found):
        raise UnreadableReply("the reply has several JSON objects that differ")
    return {int(number): _entry(found[0], number) for number in numbers}


class _Pairs(list[tuple[str, Any]]):
    """A JSON object's keys and values as they stand, a key that stands twice twice."""


def _loaded(text: str) -> Any:
    try:
        return json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return None


def _numbered(text: str, numbers: list[str]) -> list[_Pairs]:
    """The outermost JSON objects in a text that have an entry for a criterion."""
    decoder = json.JSONDecoder(object_pairs_hook=_Pairs)
    found: list[_Pairs] = []
    start = text.find("{")
    while start >= 0:
        try:
            value, end = decoder.raw_decode(text, start)
        except (ValueError, RecursionError):
            end = start + 1
        else:
            if isinstance(value, _Pairs) and any(key in numbers for key, _ in value):
                found.append(value)
        start = text.find("{", end)
    return found


def _entry(whole: _Pairs, number: str) -> Reply | UnreadableReply:
    given = [value for key, value in whole if key.strip() == number]
    if len(given) != 1:
        what = "no entry" if not given else f"{len(given)} entries"
        return UnreadableReply(f"the reply has {what} for criterion {number}")
    try:
        return _reply(_plain(given[0]))
    except UnreadableReply as error:
        return error


def _plain(value: Any) -> Any:
    """JSON values with ordinary objects."""
    if isinstance(value, _Pairs):
        return {key: _plain(inner) for key, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


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
