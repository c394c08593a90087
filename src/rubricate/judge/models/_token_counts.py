"""What an endpoint reports that a request took, in whatever names and sums it reports it.

A count that is missing, or that cannot be right, is unknown: None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["TokenCounts", "reported_cost", "reported_tokens", "written_text"]

MOST = 2**24
"""Tokens beyond which a count is no count. The longest context of any model is 10 million tokens.
At half of it a full one would be unknown; at double, a wrong count of a gateway costs twice as much
in the summary."""
MOST_DOLLARS = 10_000.0
"""Beyond which a cost is no cost: a context of 10 million tokens at twice the highest price that
there has been, 600 dollars a million. At half, such a request would be unknown."""
PLAIN = {"prompt_tokens", "completion_tokens", "total_tokens"}
INPUT = ("prompt_tokens", "input_tokens")
OUTPUT = ("completion_tokens", "output_tokens")
CACHED = ("cached_tokens", "prompt_cache_hit_tokens", "cache_read_input_tokens")
WRITTEN = ("cache_write_tokens", "cache_creation_tokens", "cache_creation_input_tokens")
COST = ("cost", "total_cost", "estimated_cost")
"""As OpenRouter and Perplexity, other gateways, and DeepInfra call it."""
REASONING = ("reasoning_tokens", "thinking_tokens")
INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details")
OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details")


class TokenCounts(NamedTuple):
    """The tokens of a request, as they are billed.

    Attributes:
        input: all of the prompt.
        cached: those of `input` that the endpoint read from its cache.
        written: those of `input` that it wrote into its cache.
        output: all that the model generated.
        reasoning: those of `output` that are its reasoning.
    """

    input: int
    cached: int
    written: int
    output: int
    reasoning: int


def reported_tokens(body: object) -> TokenCounts | None:
    """The token counts of a body of any status; None where it has none that can be right.

    Endpoints disagree on what a count includes, so that the total decides, if there is one:

    - Reasoning is beside `completion_tokens` (Gemini, Grok) where the total is larger without it.
    - Cached tokens are beside `prompt_tokens` where there are more of them, where the total is
      their sum, or where they have Anthropic's names.
    """
    usage = _usage_of(body)
    if usage.keys() == PLAIN:  # as most servers report it
        read, wrote = usage["prompt_tokens"], usage["completion_tokens"]
        is_plain = type(read) is type(wrote) is int and usage["total_tokens"] == read + wrote
        if is_plain and 0 < read <= MOST and 0 < wrote <= MOST:
            return TokenCounts(read, 0, 0, wrote, 0)
    prompt = _largest([usage], INPUT)
    if prompt is None:
        return None
    output, total = _largest([usage], OUTPUT), _count(usage.get("total_tokens"))
    inputs = [usage, *[_object(usage[name]) for name in INPUT_DETAILS if name in usage]]
    outputs = [usage, *[_object(usage[name]) for name in OUTPUT_DETAILS if name in usage]]
    cached, written = _largest(inputs, CACHED) or 0, _largest(inputs, WRITTEN) or 0
    reasoning = _largest(outputs, REASONING) or 0
    kept, known = cached + written, prompt + (output or 0)
    if kept > prompt or (kept and _are_beside(usage, total, known, kept, reasoning)):
        prompt += kept
    if output is None and total is not None and total > prompt:
        output = 0
    if output is None or not prompt:
        return None
    if total is not None:
        output = max(output, total - prompt)
    if reasoning > output:
        output += reasoning
    if not output and written_text(body):
        return None
    return TokenCounts(prompt, cached, written, output, reasoning)


def _are_beside(
    usage: Mapping[str, Any], total: int | None, known: int, kept: int, reasoning: int
) -> bool:
    """Whether tokens of the cache are not among those of the prompt."""
    is_anthropic = any(name in usage for name in (CACHED[-1], WRITTEN[-1]))
    if is_anthropic and (total is None or "prompt_tokens" not in usage):
        return True
    if total is None:
        return False
    return total - known in (kept, kept + reasoning) and total - known != reasoning


def reported_cost(body: object) -> float | None:
    """US dollars that a body says its request cost (OpenRouter, Perplexity); None for nothing.

    Where the user's own key at a provider is used, what the provider bills comes on top.
    """
    usage = _usage_of(body)
    names = [name for name in COST if name in usage]
    if not names and "is_byok" not in usage:
        return None
    cost = usage[names[0]] if names else None
    found = _number(cost.get("total_cost") if isinstance(cost, dict) else cost)
    if usage.get("is_byok") is True:
        upstream = _number(_object(usage.get("cost_details")).get("upstream_inference_cost"))
        found = found if upstream is None else (found or 0.0) + upstream
    return found if found is not None and found <= MOST_DOLLARS else None


def written_text(body: object) -> str:
    """All that a model wrote: the reply, its reasoning, a refusal, the arguments of tool calls."""
    choices = _object(body).get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = _object(_object(choice).get("message"))
    reasoning = message.get("reasoning_content") or message.get("reasoning")
    names = ("content", "refusal", "tool_calls", "function_call")
    return "\n".join(_texts([*(message.get(name) for name in names), reasoning]))


def _texts(value: object) -> Iterator[str]:
    """The texts in a value, at whatever depth, but for what they are (`type`, `id`)."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in ("type", "id"):
                yield from _texts(one)


def _usage_of(body: object) -> Mapping[str, Any]:
    """The object that a body calls its usage, which may be in its error; empty for none."""
    if isinstance(body, list) and body:  # Gemini's errors are in a list
        body = body[0]
    if isinstance(body, dict) and isinstance(usage := body.get("usage"), dict) and usage:
        return usage
    found = _object(body)
    return _object(found.get("usage")) or _object(_object(found.get("error")).get("usage"))


def _object(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _largest(objects: Iterable[Mapping[str, Any]], names: tuple[str, ...]) -> int | None:
    """The largest count under any of these names; gateways repeat them, or leave one at 0."""
    found: int | None = None
    for one in objects:
        for name in names:
            if name in one and (count := _count(one[name])) is not None:
                found = count if found is None or count > found else found
    return found


def _count(value: object) -> int | None:
    if type(value) is int:  # as nearly always
        return value if 0 <= value <= MOST else None
    number = _number(value)
    return None if number is None or number > MOST else math.ceil(number)


def _number(value: object) -> float | None:
    """A number that is finite and not negative, also as text; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value.removeprefix("$") if isinstance(value, str) else value)
    except (ValueError, OverflowError):
        return None
    return number if 0.0 <= number < math.inf else None
