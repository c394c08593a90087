"""The usage that an endpoint reports, in any names and sums.

A count that is missing, or that cannot be right, is unknown: None, never 0. If a report is
ambiguous, the higher reading counts.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any, NamedTuple

import orjson

from rubricate.judge.models._responses import COST_HEADER, MOST_TOKENS
from rubricate.judge.models._wire import TokenCounts

MOST_DOLLARS = 10_000.0
"""The largest valid cost: a context of 10 million tokens at twice the highest price so far, 600
dollars a million. At half, such a request would have an unknown cost."""
_IGNORED = re.compile(r"\b(?:per|max|limit|remaining|details?|costs?|price|seconds?|time|ms)\b")
_COUNTED = re.compile(r"\btokens?\b|\bcount\b")
_FACTS = {
    # A name means the first of these that matches its words.
    "tools": re.compile(r"\btool.*\bprompt"),  # on top of the prompt (Gemini)
    "fresh": re.compile(r"\bmiss|\buncached"),
    "hour": re.compile(r"\b(?:ephemeral|writ\w*|creat\w*)\b.*\b1h"),
    "minutes": re.compile(r"\bephemeral"),
    "written": re.compile(r"\bcach.*\b(?:writ|creat)|\b(?:writ|creat).*\bcach"),
    "cached": re.compile(r"\bcach"),
    "reasoning": re.compile(r"\b(?:reason|think|thought)"),
    "input": re.compile(r"\b(?:prompt|input)"),
    "output": re.compile(r"\b(?:completion|output|generat|candidate|response|eval)"),
    "total": re.compile(r"\btotal"),
}
_APART = re.compile(r"\bcach\w* (?:read|write|creation) input|\bephemeral")
"""Anthropic's and Bedrock's names for cache tokens, which they do not include in the input."""
_WRITTEN_BY_MODELS = {
    *("content", "tool_calls", "function_call", "reasoning", "reasoning_content", "parsed"),
    *("reasoning_details", "annotations", "logprobs", "text"),
}
"""Fields of a body that the model wrote, so that they are not the endpoint's report."""
_REPORT = re.compile(
    r'(?<!\\)"(?P<name>usage|usage_?metadata|meta|x_groq|cost|total_cost)"\s*:\s*', re.IGNORECASE
)
"""The beginning of a report in a body's text; inside a nested string, its quotes are escaped."""
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d*)?")
MOST_REPORTS, LONGEST_REPORT = 16, 2**16
"""Limits for a truncated body; real ones have one or two reports, of some hundred characters."""
DEEPEST = 6
"""The nesting depth to which reports are searched for; the deepest seen was four. At half, that of
a gateway's error is missed; at double, nothing more was found."""


def reported_tokens(body: object) -> TokenCounts | None:
    """The token counts of a body with any status; None if it has none that can be right.

    They are in its usage, or else anywhere in it. Of several reports the highest counts, because
    they repeat each other; those in a list are parts of a request (Anthropic's `iterations`).
    """
    usage = _object(body).get("usage")
    counts = _counts(_parsed("usage", usage)) or _counts(body)
    if counts is None or max(counts) > MOST_TOKENS or (not counts.output and written_text(body)):
        return None
    return counts


def _counts(value: object, depth: int = 0) -> TokenCounts | None:
    """The counts in a value, at any depth."""
    if depth > DEEPEST:
        return None
    if isinstance(value, list):
        parts = [counts for part in value if (counts := _counts(part, depth + 1)) is not None]
        sums = [sum(column) for column in zip(*parts, strict=True)]
        return TokenCounts(*sums) if sums else None
    if not isinstance(value, dict):
        return None
    if billed := _counts(value.get("billed_units"), depth + 1):  # Cohere
        return billed
    reports = [_own_counts(value), *[_counts(part, depth + 1) for part in _inner(value)]]
    known = [part for part in reports if part is not None]
    return max(known, key=lambda part: part.input + part.output, default=None)


def _inner(value: Mapping[str, Any]) -> Iterator[object]:
    """Yield the objects and lists in an object that may contain a report of the endpoint."""
    for name, part in value.items():
        inner = _parsed(name, part)
        is_other = name in _WRITTEN_BY_MODELS or _name(name).says_more
        if isinstance(inner, dict | list) and not is_other:
            yield inner


def _parsed(name: str, value: object) -> object:
    """Return the value with this name; parsed if it is a usage as JSON text."""
    if isinstance(value, str) and "usage" in name.lower():
        try:
            return orjson.loads(value)
        except orjson.JSONDecodeError:
            return None
    return value


def _own_counts(usage: Mapping[str, Any]) -> TokenCounts | None:
    """The counts of an object itself, and those that give details of them.

    Endpoints disagree on what a count includes, so that the total decides, if there is one:

    - Reasoning comes on top of the output (Gemini, Grok) if the total is larger without it.
    - Cache tokens come on top of the input if there are more of them, if the total is their sum, or
      if they have Anthropic's names.
    """
    facts: dict[str, int | None] = {}
    names = _read(usage, facts)
    prompt, output, total = facts.get("input"), facts.get("output"), facts.get("total")
    cached, reasoning = facts.get("cached") or 0, facts.get("reasoning") or 0
    kept = facts.get("hour") or 0
    written = max(facts.get("written") or 0, kept + (facts.get("minutes") or 0))
    if fresh := facts.get("fresh"):
        prompt = max(prompt or 0, fresh + cached)
    if prompt is None:
        return None
    prompt += facts.get("tools") or 0
    known = prompt + (output or 0)
    if total is not None and total < known:
        total = None
    of_cache = cached + written
    beside = of_cache > prompt
    if of_cache and not beside:
        is_apart = any(map(_APART.search, names))
        if total is None or not any("prompt" in name for name in names):
            beside = is_apart
        if not beside and total is not None:
            rest = total - known
            beside = rest in (of_cache, of_cache + reasoning) and rest != reasoning
    if beside:
        prompt += of_cache
    if output is None and total is not None and total > prompt:
        output = 0
    if output is None or not prompt:
        return None
    if total is not None:
        output = max(output, total - prompt)
    elif None in (facts | {"total": 0}).values():  # an unreadable count may come on top of the rest
        return None
    is_included = total is not None or any("output" in name for name in names)
    if reasoning > output or not is_included:
        output += reasoning
    return TokenCounts(prompt, cached, written, output, reasoning, kept)


def _read(
    usage: Mapping[str, Any], facts: dict[str, int | None], *, more: bool = False
) -> list[str]:
    """Store the largest count of each fact in `facts`, None if it is unreadable.

    Args:
        usage: the object; gateways repeat counts under other names, or leave one at 0.
        facts: receives the counts.
        more: whether the object gives details of a count: it has no sums.

    Returns:
        The words of the names that were recognised.
    """
    names = []
    for name, value in usage.items():
        words, fact, says_more = _name(name)
        if says_more and not more and isinstance(value, dict):
            names += _read(value, facts, more=True)
        if fact is None or value is None or isinstance(value, dict | list):
            continue
        if more and fact in ("input", "output", "total"):
            continue
        names.append(words)
        count = _count(value)
        known = facts.setdefault(fact, count)
        if count is not None and (known is None or count > known):
            facts[fact] = count
    return names


class _Name(NamedTuple):
    """The meaning of a name in a report.

    Attributes:
        words: its words in lower case.
        fact: the meaning of its number; None if it is not a count.
        says_more: whether its object gives details of a count beside it, such as the cached part.
    """

    words: str
    fact: str | None
    says_more: bool


def _name(name: str) -> _Name:
    return _short_name(name[:LONGEST_NAME])


LONGEST_NAME = 64
"""The maximum number of letters of a name that are read; the longest known name has 35."""


@lru_cache(maxsize=1024)
def _short_name(name: str) -> _Name:
    apart = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", " ", name)
    words = apart.strip().lower()
    says_more = "details" in words or _FACTS["written"].search(words) is not None
    is_count = _COUNTED.search(words) and not _IGNORED.search(words)
    facts = (fact for fact, pattern in _FACTS.items() if pattern.search(words))
    return _Name(words, next(facts, None) if is_count else None, says_more)


class Cost(NamedTuple):
    """The cost in US dollars that an endpoint reports for a request.

    Attributes:
        dollars: the cost; None if it is not reported.
        is_whole: whether that is all; else the tokens cost something on top.
    """

    dollars: float | None
    is_whole: bool = True


_COST = re.compile(r"\bcosts?\b")
_UNITS = {"ticks": 1e-10, "nanos": 1e-9, "micros": 1e-6, "cents": 0.01}
"""Units in names, in dollars; xAI's `cost_in_usd_ticks` are 10 to the power of -10."""
_WHOLE = {
    *("cost", "costs", "total", "estimated", "in", "usd", "dollars", "response", "inference"),
    *("details", "upstream", "amount", "value", *_UNITS),
}
"""The words of names of a whole cost; others name a part, such as the cost of the prompt."""


def reported_cost(body: object, headers: Mapping[str, str] = {}) -> Cost:
    """The cost that a body, or LiteLLM's header, reports: the highest of several.

    If the user's own key at a provider is used (OpenRouter), the provider's bill comes on top.
    """
    costs = [_cost(body), Cost(_number(headers.get(COST_HEADER)))]
    known = [cost for cost in costs if cost.dollars is not None and cost.dollars <= MOST_DOLLARS]
    return max(known, key=lambda cost: cost.dollars or 0.0, default=Cost(None))


def _cost(value: object, depth: int = 0) -> Cost:
    """The cost in a value, at any depth; for a list, the sum."""
    if depth > DEEPEST:
        return Cost(None)
    if isinstance(value, list):
        parts = [
            counted for part in value if (counted := _cost(part, depth + 1)).dollars is not None
        ]
        whole = all(part.is_whole for part in parts)
        return Cost(sum(part.dollars or 0.0 for part in parts) if parts else None, whole)
    if not isinstance(value, dict):
        return Cost(None)
    costs = _costs(value)
    cost = _sum_of({words: part for words, part in costs.items() if "upstream" not in words})
    theirs = _sum_of({words: part for words, part in costs.items() if "upstream" in words})
    is_more = (theirs.dollars or 0.0) > (cost.dollars or 0.0)
    byok = value.get("is_byok")
    if byok is True or (byok is None and is_more):
        both = [part.dollars for part in (cost, theirs) if part.dollars is not None]
        cost = Cost(sum(both) if both else None, theirs.dollars is not None and theirs.is_whole)
    elif is_more:
        cost = theirs
    inner = [_cost(part, depth + 1) for part in _inner(value)]
    return max([cost, *inner], key=lambda part: -1.0 if part.dollars is None else part.dollars)


def _costs(value: Mapping[str, Any], *, is_cost: bool = False) -> dict[str, float]:
    """The costs in an object, by the words of their names.

    Args:
        value: the object.
        is_cost: whether all its fields are costs.
    """
    costs: dict[str, float] = {}
    if str(value.get("currency") or "USD").upper() not in ("USD", "US$", "$"):
        return costs
    for name, entry in value.items():
        words = _name(name).words
        is_named = _COST.search(words) is not None
        named: dict[str, float] = {}
        if isinstance(entry, dict) and is_named and not is_cost:
            named = _costs(entry, is_cost=True)
        elif is_named or (is_cost and ({*words.split()} <= _WHOLE or _name(f"{name} tokens").fact)):
            number = _number(entry)
            if number is not None:
                unit = next((_UNITS[part] for part in words.split() if part in _UNITS), 1.0)
                named = {words: number * unit}
        for part, dollars in named.items():
            costs[part] = max(dollars, costs.get(part, 0.0))
    return costs


def _sum_of(costs: Mapping[str, float]) -> Cost:
    """The higher of a whole cost and the sum of its parts, some of which may be missing."""
    wholes = [dollars for words, dollars in costs.items() if {*words.split()} <= _WHOLE]
    parts = [dollars for words, dollars in costs.items() if not {*words.split()} <= _WHOLE]
    has_both = all(any(map(_FACTS[side].search, costs)) for side in ("input", "output"))
    dollars = max([*wholes, sum(parts)]) if costs else None
    return Cost(dollars, bool(wholes) or has_both)


def unfinished(raw: bytes) -> dict[str, Any]:
    """Return the usage that a truncated body reports."""
    text = raw.decode("utf-8", "replace")
    reports: dict[str, Any] = {}
    for place in islice(_REPORT.finditer(text), MOST_REPORTS):
        report = text[place.end() : place.end() + LONGEST_REPORT]
        try:
            value, end = json.JSONDecoder().raw_decode(report)
        except (ValueError, RecursionError):
            continue
        if report[end : end + 1] in (",", "}", "]", " ", "\n", "\r"):  # else digits may be missing
            reports[str(len(reports))] = {place["name"]: value}
    return reports


def written_text(body: object) -> str:
    """All that a model wrote: the reply, its reasoning, a refusal, the arguments of tool calls."""
    choices = _object(body).get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _object(_object(choice).get("message") or body)
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    names = ("content", "refusal", "tool_calls", "function_call")
    return "\n".join(_texts([*(message.get(name) for name in names), reasoning]))


def _texts(value: object) -> Iterator[str]:
    """Yield the texts in a value, at any depth, except for types and ids."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, list):
        for part in value:
            yield from _texts(part)
    elif isinstance(value, dict):
        for name, part in value.items():
            if name not in ("type", "id"):
                yield from _texts(part)


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _count(value: object) -> int | None:
    if type(value) is int:  # the usual case
        return value if 0 <= value <= MOST_TOKENS else None
    number = _number(value)
    return None if number is None or number > MOST_TOKENS else math.ceil(number)


def _number(value: object) -> float | None:
    """A finite number that is not negative, also as text; None for anything else."""
    if isinstance(value, str):
        value = value.strip().removeprefix("$").removesuffix("USD").strip()
        value = value.replace(",", "") if _GROUPED.fullmatch(value) else value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if 0.0 <= number < math.inf else None
