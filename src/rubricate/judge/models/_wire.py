"""The OpenAI-compatible chat interface on the wire: bodies, errors, token counts, waits."""

from __future__ import annotations

import email.utils
import math
import re
import reprlib
import time
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from rubricate.errors import ModelError, ModelErrorKind
from rubricate.judge.models._model import Quota
from rubricate.judge.models._tokens import token_text

TAGGED_INSTRUCTION = (
    "Write the answer with these tags instead of JSON:\n"
    "<reason>...</reason>\n"
    "<evidence>one quote</evidence> (repeat the tag for each quote; none if there is none)\n"
    "<verdict>...</verdict>"
)
COST_HEADER = "x-litellm-response-cost"
_CONTEXT_WORDS = (
    "context_length",
    "context length",
    "context size",  # llama.cpp
    "context window",
    "maximum context",
    "maximum model length",  # vLLM
    "maximum number of tokens",  # Gemini
    "prompt is too long",  # Anthropic
    "reduce the length",  # Groq
    "too many tokens",
)
_THOUGHT = ("reasoning", "thinking")
"""Types of a message's parts that are not its text."""
_THOUGHTS = ("reasoning_content", "reasoning")
"""Where a message has its reasoning."""
_TOO_LONG = ("length", "max_tokens", "max_output_tokens", "model_length")
"""What endpoints and gateways call the end of a reply that is as long as it may be."""
_FILTERED = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled")
"""What gateways and servers call the end of a reply that something else broke off."""
_PASSING = frozenset({409, 421, 423, 425, 499})
"""Statuses below 500 of what may pass: a conflict, another connection is wanted, a lock, too early,
and a gateway that gave up."""
MOST_TOKENS = 2**24
"""Tokens beyond which a count is no count. The longest context of any model is 10 million tokens.
At half of it a full one would be unknown; at double, a wrong count of a gateway costs twice as much
in the summary."""
_COUNTS = frozenset(
    {
        *("prompt_tokens", "completion_tokens", "total_tokens"),
        *("prompt_tokens_details", "completion_tokens_details"),
    }
)
_PARTS = {"audio_tokens", "text_tokens", "image_tokens"}
_INPUT_DETAILS = frozenset({"cached_tokens", *_PARTS})
_OUTPUT_DETAILS = frozenset(
    {"reasoning_tokens", "accepted_prediction_tokens", "rejected_prediction_tokens", *_PARTS}
)
"""What the usage of most servers has, and its details."""
_USUAL = frozenset(
    ("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier")
)
"""What the bodies of most servers have, and no cost in it where the usage is plain."""
_KEY_WORDS = ("api key not valid", "api_key_invalid")
"""What Gemini says of a wrong key, with status 400."""


def parse_body(raw: bytes) -> dict[str, Any]:
    """The JSON object of an answer with a status of success."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        shown = " ".join(raw.decode("utf-8", "replace").split())
        what = f"the answer is not JSON: {shown}" if shown else "the answer is empty"
        raise ModelError("truncated", what) from None
    if not isinstance(body, dict):
        raise ModelError("truncated", "the answer is not a JSON object")
    if body.get("error"):  # some gateways report errors with status 200
        code = body["error"].get("code") if isinstance(body["error"], dict) else None
        if isinstance(code, int) and code != 200:
            raise status_error(code, raw)
        raise ModelError("server", _error_text(raw))
    return body


class Reply(NamedTuple):
    """What a body says of its only reply.

    Attributes:
        text: its text.
        elsewhere: see `Completion`.
        finish_reason: why it ended, in the endpoint's words; "" where it says nothing.
        probabilities, unusable: see `token_probabilities`.
    """

    text: str
    elsewhere: str = ""
    finish_reason: str = "stop"
    probabilities: dict[str, float] | None = None
    unusable: str = ""

    @property
    def cut_off(self) -> bool:
        """Whether it ended because it was as long as it may be."""
        return self.finish_reason != "stop" and self.finish_reason.lower() in _TOO_LONG


def read_reply(body: Mapping[str, Any]) -> Reply:
    """What a body says of its only reply.

    Raises:
        ModelError: `truncated` where it has none, `refused` where the model or a filter declined,
            `server` where it broke off.
    """
    choices = body.get("choices")
    choice = choices[0] if isinstance(choices, list) and choices else None
    message = choice.get("message") if isinstance(choice, dict) else None
    if not isinstance(choice, dict) or not isinstance(message, dict):
        raise ModelError("truncated", "the answer has no choices[0].message")
    content = message.get("content")
    if (
        type(content) is str
        and choice.get("finish_reason") == "stop"
        and choice.get("logprobs") is None
        and not any(map(message.get, _BESIDE))
        and not content.isspace()
        and content
    ):
        return Reply(content)
    text = completion_text(choice)
    probabilities, unusable = token_probabilities(choice, text)
    elsewhere = text_elsewhere(message, text)
    return Reply(text, elsewhere, finish_reason(choice), probabilities, unusable)


_BESIDE = ("refusal", "tool_calls", "function_call")
"""What a message can have that says something else than its text."""


def completion_text(choice: Mapping[str, Any]) -> str:
    """The reply's text.

    Raises:
        ModelError: `refused` where the model or a filter declined, `server` where it broke off.
    """
    message = choice["message"]
    if message.get("refusal"):
        raise ModelError("refused", f"the model refused: {message['refusal']}")
    reason = finish_reason(choice).lower()
    if reason in _FILTERED:
        raise ModelError("refused", "the endpoint's content filter stopped the answer")
    if reason in _BROKEN:
        raise ModelError("server", f"the endpoint ended the answer with finish_reason '{reason}'")
    content = message.get("content")
    if isinstance(content, list):
        parts = [part for part in content if isinstance(part, dict)]
        texts = [part.get("text") for part in parts if part.get("type") not in _THOUGHT]
        content = "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def text_elsewhere(message: Mapping[str, Any], text: str) -> str:
    """What stands in the place of a reply's text, or beside it as another one; "" for nothing.

    Without text, that is the arguments of its only tool call, else its reasoning. Where two such
    places hold JSON or differ, it is all of them, so that none is taken for the answer. Beside a
    text, it is a tool call's arguments alone: reasoning is no answer there.
    """
    has_text = bool(text) and not text.isspace()
    if has_text and not message.get("tool_calls") and not message.get("function_call"):
        return ""
    calls = message.get("tool_calls") or []
    if not isinstance(calls, list):
        calls = []
    functions = [call.get("function") for call in calls if isinstance(call, dict)]
    functions += [message["function_call"]] if message.get("function_call") else []
    if has_text:
        return "\n".join(filter(None, map(_arguments, functions)))
    said = [one.strip() for one in map(message.get, _THOUGHTS) if isinstance(one, str)]
    thoughts = list(dict.fromkeys(said))
    if functions:
        given = [_arguments(functions[0])] if len(functions) == 1 else []
        return "\n".join([*given, *[one for one in thoughts if given and one[:1] in ("{", "`")]])
    return "\n".join(filter(None, thoughts))


def _arguments(function: Any) -> str:
    """The arguments of a tool call, as text; "" for none."""
    given = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(given, dict):
        return orjson.dumps(given).decode() if given else ""
    return given if isinstance(given, str) and given.strip() != "{}" else ""


def finish_reason(choice: Mapping[str, Any]) -> str:
    """Why the reply ended, in the endpoint's words; "" where it says nothing."""
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else ""


_SPECIAL = r"(?:\s|</?[A-Za-z][\w:-]*>|<\|[^<>|]*\|>|\[/?[A-Z_]+\])*"
"""Control tokens and space, as chat templates put them around reasoning and text."""


def token_probabilities(
    choice: Mapping[str, Any], reply: str
) -> tuple[dict[str, float] | None, str]:
    """What the first token of the reply's text could have been, with probabilities.

    Servers that hand a model's reasoning over apart from the text may list the tokens of both, or
    of the reasoning alone. A token without a letter or digit, as some models begin with, is passed
    over. Spellings of a token that differ in the space around it count together.

    Args:
        choice: what the body says of the reply.
        reply: its text.

    Returns:
        The probability of each token, or None where none are given or they cannot be used; and
        what is wrong with those that cannot be used.
    """
    given = choice.get("logprobs")
    if given is None:
        return None, ""
    content = given.get("content") if isinstance(given, dict) else None
    if not isinstance(content, list):
        return None, "they have another form than the interface's"
    try:
        begin = _begin_of_text(list(map(_token, content)), reply.strip(), _thought(choice).strip())
        for place in content[begin:]:
            if any(one.isalnum() for one in _token(place)):
                return _place_probabilities(place, place.get("top_logprobs") or []), ""
    except (TypeError, ValueError, AttributeError) as error:
        wrong = isinstance(error, _Unusable)
        return None, str(error) if wrong else "they have another form than the interface's"
    return None, ""


def _begin_of_text(tokens: list[str], reply: str, thought: str) -> int:
    """The index of the token with which the reply's text begins.

    Args:
        tokens: the texts of the tokens that are listed.
        reply: the reply's text, without space around it.
        thought: the reasoning that came apart from it, without space around it; "" for none.

    Raises:
        _Unusable: that is not sure.
    """
    if not reply:
        raise _Unusable("the reply has no text")
    wrong = _Unusable("their tokens do not spell the reply's text")
    spelled = "".join(tokens)
    if not thought and reply.startswith(spelled.strip()):  # the list may end before the text
        return 0
    found = re.search(re.escape(reply) + _SPECIAL + r"\Z", spelled)
    if found is None or spelled.strip() == thought:
        raise wrong
    before = spelled[: found.start()]
    parted = re.fullmatch(_SPECIAL + re.escape(thought) + _SPECIAL, before)
    if any(one.isalnum() for one in before) and not parted and before.rstrip()[-1:] not in ">]":
        raise wrong
    at = 0
    for index, token in enumerate(tokens):
        if at + len(token) > found.start():
            if spelled[at : found.start()].strip():
                break
            return index
        at += len(token)
    raise wrong


def _thought(choice: Mapping[str, Any]) -> str:
    """The reasoning that came apart from the reply's text; "" for none."""
    message = choice["message"]
    given = (message.get(name) for name in _THOUGHTS)
    return next((text for text in given if isinstance(text, str) and text.strip()), "")


class _Unusable(ValueError):
    """What is wrong with logprobs."""


def _place_probabilities(place: dict[str, Any], listed: list[Any]) -> dict[str, float]:
    """The probabilities of what may stand at one place, by the tokens' text without space.

    The token that stands there is mostly listed, too; some servers list it without its bytes.
    """
    own = place["token"], str(place.get("bytes"))
    by_token = {own: (_token(place), _probability(place))}
    for entry in listed:
        known = entry["token"], str(entry.get("bytes"))
        if known != (own[0], "None"):
            by_token[known] = _token(entry), _probability(entry)
    found: dict[str, float] = {}
    for text, probability in by_token.values():
        found[text.strip()] = found.get(text.strip(), 0.0) + probability
    if not any(found.values()):
        raise _Unusable("all of them are 0")
    return found


def _token(entry: Any) -> str:
    token = entry.get("token")
    if not isinstance(token, str):
        raise _Unusable(f"a token is {reprlib.repr(token)}, not text")
    return token_text(token, entry.get("bytes"))


_ROUNDING = 0.011
"""How far above 0 a logprob may be by rounding."""


def _probability(entry: Mapping[str, Any]) -> float:
    logprob = entry.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float) or math.isnan(logprob):
        shown = "none" if logprob is None else reprlib.repr(logprob)
        raise _Unusable(f"that of {reprlib.repr(entry.get('token'))} is {shown}, not a number")
    if logprob > _ROUNDING:
        raise _Unusable(f"that of {reprlib.repr(entry.get('token'))} is {logprob:g}, more than 0")
    return math.exp(min(0.0, logprob))


def plain_tokens(
    body: object, raw: bytes, headers: Mapping[str, str]
) -> tuple[int, int, int, int] | None:
    """The tokens of prompt, cache, reply and reasoning, of a body that reports them as OpenAI does.

    Most servers do: the total is the sum of prompt and reply, the others are among these, and no
    cost is named. What others report, `_token_counts` reads.

    Args:
        body: the body.
        raw: the same, as it came.
        headers: by their names in lower case.
    """
    usage = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(usage, dict) or not _COUNTS.issuperset(usage) or COST_HEADER in headers:
        return None
    if not _USUAL.issuperset(body) and b"cost" in raw.lower():  # type: ignore[arg-type]
        return None
    read, wrote = usage.get("prompt_tokens"), usage.get("completion_tokens")
    if not (type(read) is type(wrote) is int and usage.get("total_tokens") == read + wrote):
        return None
    if not 0 < read < read + wrote <= MOST_TOKENS:
        return None
    if len(usage) == 3:
        return read, 0, wrote, 0
    cached = _among(usage.get("prompt_tokens_details"), "cached_tokens", _INPUT_DETAILS)
    thought = _among(usage.get("completion_tokens_details"), "reasoning_tokens", _OUTPUT_DETAILS)
    is_within = 0 <= cached <= read and 0 <= thought <= wrote
    return (read, cached, wrote, thought) if is_within else None


def _among(details: Any, name: str, usual: frozenset[str]) -> int:
    """A count among details; 0 where there is none, -1 where they are not the usual ones."""
    if not details:
        return 0
    if not isinstance(details, dict) or not usual.issuperset(details):
        return -1
    count = details.get(name) or 0
    return count if type(count) is int else -1


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the endpoint asks to wait (`Retry-After`, as seconds or as a date).

    A date is compared with the answer's own `Date`, so that this machine's clock does not matter.
    """
    milliseconds = headers.get("retry-after-ms")
    value = headers.get("retry-after")
    try:
        if milliseconds is not None:
            seconds = float(milliseconds) / 1000
        elif value is not None:
            seconds = float(value)
        else:
            return None
    except ValueError:
        when = _date(value)
        if when is None:
            return None
        seconds = when - (_date(headers.get("date")) or time.time())
    return max(0.0, seconds) if math.isfinite(seconds) else None


def _date(value: str | None) -> float | None:
    try:
        return email.utils.parsedate_to_datetime(value or "").timestamp()
    except (ValueError, OverflowError):
        return None


def quota(headers: Mapping[str, str]) -> Quota | None:
    """What the headers say is left (`x-ratelimit-*`, `anthropic-ratelimit-*`), if they do."""
    if "x-ratelimit-limit-requests" in headers or "x-ratelimit-limit-tokens" in headers:
        form = "x-ratelimit-{1}-{0}"
    elif "anthropic-ratelimit-requests-limit" in headers:
        form = "anthropic-ratelimit-{0}-{1}"
    else:
        return None
    return Quota(_allowance(headers, form, "requests"), _allowance(headers, form, "tokens"))


def _allowance(
    headers: Mapping[str, str], form: str, what: str
) -> tuple[float, float, float] | None:
    limit, left, reset = (
        headers.get(form.format(what, part)) for part in ("limit", "remaining", "reset")
    )
    if limit is None or left is None or reset is None:
        return None
    try:
        numbers = float(limit), float(left), _reset(reset, headers.get("date"))
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) for number in numbers) else None


_LONGEST_WAIT = 1e9
"""Seconds, 32 years: a larger number is a moment."""
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def _reset(value: str, date: str | None) -> float:
    """Seconds until an allowance is whole: `6m0s`, `20ms`, `1.5`, or a moment.

    A moment is in ISO 8601, or in seconds or milliseconds since 1970, as some gateways have it.
    """
    parts = _DURATION.fullmatch(value)
    if parts and value:
        hours, minutes, seconds, milliseconds = (float(part or 0) for part in parts.groups())
        return 3600 * hours + 60 * minutes + seconds + milliseconds / 1000
    if "T" in value:
        moment = datetime.fromisoformat(value).timestamp()
    elif float(value) < _LONGEST_WAIT:
        return float(value)
    else:
        moment = float(value) / (1000 if float(value) > 1000 * _LONGEST_WAIT else 1)
    return max(0.0, moment - (_date(date) or time.time()))


def status_error(status: int, raw: bytes, headers: Mapping[str, str] = {}) -> ModelError:
    """The error that an answer without success stands for: what may pass is tried again.

    Args:
        status: its HTTP status.
        raw: its body, whose message the error repeats.
        headers: by their names in lower case. `Retry-After` says how long to wait.
    """
    text = _error_text(raw, status)
    lower = text.lower()
    kind: ModelErrorKind
    if status in (401, 403) or any(word in lower for word in _KEY_WORDS):
        kind = "auth"
    elif status == 429:
        kind = "rate_limit"
        if "insufficient_quota" in raw.decode("utf-8", "replace"):
            kind = "auth"  # an empty account does not fill up by waiting
    elif status == 408:
        kind = "timeout"
    elif status in _PASSING:
        kind = "server"
    elif status == 451:
        kind = "refused"
    elif status == 413 or any(word in lower for word in _CONTEXT_WORDS):
        kind = "context_length"
    elif status == 503 and "loading" in lower:  # llama.cpp and others, before the first request
        kind = "loading"
    elif status == 501:
        kind = "bad_request"
    elif status >= 500:
        kind = "server"
    elif status == 404 or "model_not_found" in raw.decode("utf-8", "replace"):
        kind = "not_found"
    else:
        kind = "bad_request"
    return ModelError(
        kind, f"HTTP {status}: {text}", status=status, retry_after=retry_after(headers)
    )


def _error_text(raw: bytes, status: int = 200) -> str:
    """The message in an error body, in one line; the body itself where it has no such field."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if isinstance(body, list) and body:  # Gemini's errors stand in a list
        body = body[0]
    message: object = None
    if isinstance(body, dict):
        error = body.get("error", body)
        message = error.get("message") if isinstance(error, dict) else error
        message = message or body.get("detail") or body.get("message")
    text = " ".join((str(message) if message else raw.decode("utf-8", "replace")).split())
    return text.removeprefix(f"{status}: ") or "(no message)"
