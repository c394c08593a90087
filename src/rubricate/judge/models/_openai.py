"""OpenAI's chat API, which most servers have: `payload`, `reply` and `usage`.

Another API is a module beside this one with the same names (see `Wire`), and a `wire` in the table
of providers.
"""

from __future__ import annotations

import math
import re
import reprlib
from collections.abc import Mapping
from typing import Any

import orjson

from rubricate.errors import ModelError
from rubricate.judge.models._forms import CHOICE_TEMPERATURE, Form, chosen, marked, with_few_quotes
from rubricate.judge.models._model import Message, Request
from rubricate.judge.models._responses import COST_HEADER, MOST_TOKENS
from rubricate.judge.models._wire import Reply, Sampling, TokenCounts

PATH = "/chat/completions"
"""The path after the address."""


def headers(key: str) -> dict[str, str]:
    """The headers that authenticate a request."""
    return {"Authorization": f"Bearer {key}"}


# Requests


def payload(
    model: str,
    request: Request,
    messages: tuple[Message, ...],
    form: Form,
    sampling: Sampling,
) -> dict[str, Any]:
    """Return the request body.

    Args:
        model: the endpoint's name for the model.
        request: the request.
        messages: its messages, in the form in which they are sent.
        form: the optional parameters.
        sampling: how replies are sampled.
    """
    sent: dict[str, Any] = {"model": model, "messages": messages}
    sent |= parameters(request, form, sampling)
    if sampling.marks and request.shared and request.is_one_of_several:
        shown: list[dict[str, Any]] = [dict(message) for message in messages]
        first = next(message for message in shown if message["role"] == "user")
        first["content"] = marked(first["content"], request.shared)
        sent["messages"] = shown
    if request.schema is not None and form.rung == "json_schema":
        sent["response_format"] = _response_format(request.schema, sampling.bounds_quotes)
    elif request.schema is not None and form.rung == "json_object":
        sent["response_format"] = {"type": "json_object"}
    return sent


def parameters(request: Request, form: Form, sampling: Sampling) -> dict[str, Any]:
    """The sampling parameters in the form of the API: `temperature`, `max_tokens` and the like."""
    sent = dict(sampling.options)
    if form.temperature is not None:
        sent["temperature"] = CHOICE_TEMPERATURE if request.choices else form.temperature
    if sampling.max_tokens is not None and form.most:
        sent[form.most] = sampling.max_tokens
    return sent | chosen(form, request.sample) if request.choices else sent


_KEPT_FORMATS = 1024
"""The number of schemas cached in the form of the API."""
_FORMATS: dict[tuple[int, bool], tuple[dict[str, Any], dict[str, Any]]] = {}
"""By the identity of the schema, which is unique as long as the schema is stored here."""


def _response_format(schema: dict[str, Any], bounds_quotes: bool) -> dict[str, Any]:
    """Return the response format for a schema, built once for each schema."""
    kept = _FORMATS.get((id(schema), bounds_quotes))
    if kept is None:
        if len(_FORMATS) >= _KEPT_FORMATS:
            _FORMATS.clear()
        shown = with_few_quotes(schema) if bounds_quotes else schema
        inner = {"name": "judgement", "strict": True, "schema": shown}
        kept = schema, {"type": "json_schema", "json_schema": inner}
        _FORMATS[id(schema), bounds_quotes] = kept
    return kept[1]


# Replies


_THOUGHT = ("reasoning", "thinking")
"""Types of a message's parts that are not text."""
_THOUGHTS = ("reasoning_content", "reasoning")
"""The keys of a message's reasoning."""
_FILTERED = ("content_filter", "safety", "recitation", "prohibited_content", "blocklist", "spii")
_BROKEN = ("error", "abort", "aborted", "cancelled", "canceled")
"""Finish reasons of gateways and servers for a reply that was interrupted."""


def reply(body: Mapping[str, Any]) -> Reply:
    """Return the only reply in a body.

    Raises:
        ModelError: `truncated` if there is none, `refused` if the model or a filter declined,
            `server` if it was interrupted.
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
        and not (message.get("refusal") or message.get("tool_calls"))
        and not message.get("function_call")
        and not (message.get("reasoning_content") or message.get("reasoning"))
        and not content.isspace()
        and content
    ):
        return Reply(content)
    text = completion_text(choice)
    probabilities, unusable = token_probabilities(choice, text)
    elsewhere = text_elsewhere(message, text)
    thinking = _thought(choice)
    if thinking.strip() in elsewhere:
        thinking = ""
    return Reply(text, elsewhere, finish_reason(choice), probabilities, unusable, thinking)


def completion_text(choice: Mapping[str, Any]) -> str:
    """The reply's text.

    Raises:
        ModelError: `refused` if the model or a filter declined, `server` if it was interrupted.
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
    """Return text in other places of a reply, or a second answer beside its text; "" if there is
    none.

    Without text, that is the arguments of its only tool call, else its reasoning. If two such
    places contain JSON or differ, it is all of them, so that none is taken for the answer. Beside a
    text, it is the arguments of a tool call: reasoning does not count as an answer there.
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
    stripped = [
        thought.strip() for thought in map(message.get, _THOUGHTS) if isinstance(thought, str)
    ]
    thoughts = list(dict.fromkeys(stripped))
    if functions:
        arguments = [_arguments(functions[0])] if len(functions) == 1 else []
        return "\n".join(
            [
                *arguments,
                *[thought for thought in thoughts if arguments and thought[:1] in ("{", "`")],
            ]
        )
    return "\n".join(filter(None, thoughts))


def _arguments(function: Any) -> str:
    """The arguments of a tool call, as text; "" if there are none."""
    arguments = function.get("arguments") if isinstance(function, dict) else None
    if isinstance(arguments, dict):
        return orjson.dumps(arguments).decode() if arguments else ""
    return arguments if isinstance(arguments, str) and arguments.strip() != "{}" else ""


def finish_reason(choice: Mapping[str, Any]) -> str:
    """The endpoint's reason for the end of a reply; "" if it gives none."""
    reason = choice.get("finish_reason")
    return reason if isinstance(reason, str) else ""


_SPECIAL = r"(?:\s|</?[A-Za-z][\w:-]*>|<\|[^<>|]*\|>|\[/?[A-Z_]+\])*"
"""Control tokens and space that chat templates put around reasoning and text."""


def token_probabilities(
    choice: Mapping[str, Any], text: str
) -> tuple[dict[str, float] | None, str]:
    """The alternatives for the first token of the reply's text, with probabilities.

    Servers that separate a model's reasoning from the text may list the tokens of both, or of the
    reasoning only. A token without a letter or digit, with which some models begin, is skipped.
    Variants of a token that differ in surrounding space are added up.

    Args:
        choice: the reply in the body.
        text: its text.

    Returns:
        The probability of each token, or None if there are none or they are unusable; and why they
        are unusable.
    """
    logprobs = choice.get("logprobs")
    if logprobs is None:
        return None, ""
    content = logprobs.get("content") if isinstance(logprobs, dict) else None
    if not isinstance(content, list):
        return None, "they have another form than the interface's"
    try:
        begin = _begin_of_text(list(map(_token, content)), text.strip(), _thought(choice).strip())
        for place in content[begin:]:
            if any(letter.isalnum() for letter in _token(place)):
                return _place_probabilities(place, place.get("top_logprobs") or []), ""
    except (TypeError, ValueError, AttributeError) as error:
        wrong = isinstance(error, _Unusable)
        return None, str(error) if wrong else "they have another form than the interface's"
    return None, ""


def _begin_of_text(tokens: list[str], reply: str, thought: str) -> int:
    """The index of the first token of the reply's text.

    Args:
        tokens: the texts of the listed tokens.
        reply: the reply's text, stripped.
        thought: the separate reasoning, stripped; "" if there is none.

    Raises:
        _Unusable: the index is uncertain.
    """
    if not reply:
        raise _Unusable("the reply has no text")
    wrong = _Unusable("their tokens do not spell the reply's text")
    spelled = "".join(tokens)
    if not thought and reply.startswith(spelled.strip()):  # the list may end before the text
        return 0
    match = re.search(re.escape(reply) + _SPECIAL + r"\Z", spelled)
    if match is None or spelled.strip() == thought:
        raise wrong
    before = spelled[: match.start()]
    parted = re.fullmatch(_SPECIAL + re.escape(thought) + _SPECIAL, before)
    if (
        any(letter.isalnum() for letter in before)
        and not parted
        and before.rstrip()[-1:] not in ">]"
    ):
        raise wrong
    at = 0
    for index, token in enumerate(tokens):
        if at + len(token) > match.start():
            if spelled[at : match.start()].strip():
                break
            return index
        at += len(token)
    raise wrong


def _thought(choice: Mapping[str, Any]) -> str:
    """The reasoning that is separate from the reply's text; "" if there is none."""
    message = choice["message"]
    for name in _THOUGHTS:
        text = message.get(name)
        if isinstance(text, str) and text.strip():
            return text
    return ""


class _Unusable(ValueError):
    """Unusable logprobs, and why."""


def _place_probabilities(place: dict[str, Any], listed: list[Any]) -> dict[str, float]:
    """The probabilities of the alternatives at one position, by the stripped text of the token.

    Usually the actual token is listed, too; some servers list it without its bytes.
    """
    own = place["token"], str(place.get("bytes"))
    by_token = {own: (_token(place), _probability(place))}
    for entry in listed:
        known = entry["token"], str(entry.get("bytes"))
        if known != (own[0], "None"):
            by_token[known] = _token(entry), _probability(entry)
    probabilities: dict[str, float] = {}
    for text, probability in by_token.values():
        probabilities[text.strip()] = probabilities.get(text.strip(), 0.0) + probability
    if not any(probabilities.values()):
        raise _Unusable("all of them are 0")
    return probabilities


def _token(entry: Any) -> str:
    token = entry.get("token")
    if not isinstance(token, str):
        raise _Unusable(f"a token is {reprlib.repr(token)}, not text")
    return token_text(token, entry.get("bytes"))


_ROUNDING = 0.011
"""How far rounding may raise a logprob above 0."""


def _probability(entry: Mapping[str, Any]) -> float:
    logprob = entry.get("logprob")
    if isinstance(logprob, bool) or not isinstance(logprob, int | float) or math.isnan(logprob):
        shown = "none" if logprob is None else reprlib.repr(logprob)
        raise _Unusable(f"that of {reprlib.repr(entry.get('token'))} is {shown}, not a number")
    if logprob > _ROUNDING:
        raise _Unusable(f"that of {reprlib.repr(entry.get('token'))} is {logprob:g}, more than 0")
    return math.exp(min(0.0, logprob))


# Usage


COUNTS = frozenset(
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
"""The fields of most servers' usage, and of its details."""
_USUAL = frozenset(
    ("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier")
)
"""The fields of most servers' bodies, none of which is a cost if the usage is plain."""


def usage(body: object, raw: bytes, headers: Mapping[str, str]) -> TokenCounts | None:
    """The token counts of a body in OpenAI's format; None for any other.

    In such a body the total is the sum of prompt and reply, the other counts are parts of these,
    and there is no cost. Other formats are left to `_token_counts`.

    Args:
        body: the parsed body.
        raw: the body as received.
        headers: the headers, by names in lower case.
    """
    counts = body.get("usage") if isinstance(body, dict) else None
    if not isinstance(counts, dict) or not COUNTS.issuperset(counts) or COST_HEADER in headers:
        return None
    if not _USUAL.issuperset(body) and b"cost" in raw.lower():  # type: ignore[arg-type]
        return None
    read, wrote = counts.get("prompt_tokens"), counts.get("completion_tokens")
    if not (type(read) is type(wrote) is int and counts.get("total_tokens") == read + wrote):
        return None
    if not 0 < read < read + wrote <= MOST_TOKENS:
        return None
    if len(counts) == 3:
        return TokenCounts(read, 0, 0, wrote, 0)
    return counted(
        read, wrote, counts.get("prompt_tokens_details"), counts.get("completion_tokens_details")
    )


def counted(read: int, wrote: int, of_input: Any, of_output: Any) -> TokenCounts | None:
    """Counts with their details; None if these are unusual or contradictory."""
    cached = _among(of_input, "cached_tokens", _INPUT_DETAILS)
    thought = _among(of_output, "reasoning_tokens", _OUTPUT_DETAILS)
    is_within = 0 <= cached <= read and 0 <= thought <= wrote
    return TokenCounts(read, cached, 0, wrote, thought) if is_within else None


def _among(details: Any, name: str, usual: frozenset[str]) -> int:
    """A count in the details; 0 if it is missing, -1 if the details are unusual."""
    if not details:
        return 0
    if not isinstance(details, dict) or not usual.issuperset(details):
        return -1
    count = details.get(name) or 0
    return count if type(count) is int else -1


# Tokens


_BYTE = re.compile(r"<0x([0-9A-Fa-f]{2})>")
"""A single byte in SentencePiece's notation."""
_MARKS = str.maketrans({"\u2581": " ", "\u0120": " ", "\u010a": "\n", "\u0109": "\t"})
"""Leading space and line breaks in the notation of SentencePiece and byte-level tokenizers."""


def token_text(token: str, raw: object = None) -> str:
    """Return the text of a token.

    Args:
        token: the token as listed.
        raw: its bytes, as a list of numbers, if available.
    """
    if isinstance(raw, list) and raw:
        try:
            return bytes(raw).decode()
        except (TypeError, ValueError):  # no bytes, or part of a character
            pass
    if match := _BYTE.fullmatch(token):
        return chr(int(match[1], 16))
    marks = len(token) - len(token.lstrip("\u2581\u0120\u010a\u0109"))
    return token[:marks].translate(_MARKS) + token[marks:]
