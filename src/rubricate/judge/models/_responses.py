"""HTTP responses of any API: bodies, errors, allowances, waits."""

from __future__ import annotations

import email.utils
import math
import re
import time
import zlib
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

import orjson

from rubricate.errors import ModelError, ModelErrorKind
from rubricate.judge.models._model import Quota

LONGEST_ANSWER = 16 * 2**20
"""The maximum number of bytes of a response: far more than a model's reply, though a hundred may be
in flight."""


class Answer(NamedTuple):
    """A response: status, headers by names in lower case, and the body."""

    status: int
    headers: dict[str, str]
    body: bytes


class BrokenOff(Exception):
    """The connection ended in the middle of a response, or the response is too long or not HTTP.

    Attributes:
        body: the received part of the body.
    """

    def __init__(self, message: str, body: bytes = b"") -> None:
        super().__init__(message)
        self.body = body


class ProxyRefused(Exception):
    """The proxy refuses a tunnel.

    Attributes:
        status: the status of its response.
    """

    def __init__(self, status: int) -> None:
        super().__init__(f"HTTP {status}")
        self.status = status


class NotConnected(ConnectionError):
    """No connection could be made, so nothing was sent."""


class NotConnectedInTime(TimeoutError):
    """No connection was made in time, so nothing was sent."""


class NoDescriptor(OSError):
    """No connection could be made because the process or the machine has no file descriptors
    left."""


# Bodies


MOST_TOKENS = 2**24
"""The largest valid number of tokens. The longest context of any model is 10 million tokens. At
half, a full one would be unknown; at double, a gateway's wrong count costs twice as much in the
summary."""
COST_HEADER = "x-litellm-response-cost"


def parse_body(raw: bytes) -> dict[str, Any]:
    """Return the JSON object of a successful response."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        shown = " ".join(raw.decode("utf-8", "replace").split())
        what = f"the answer is not JSON: {shown}" if shown else "the answer is empty"
        if shown[:14].lower().startswith(("<!doctype html", "<html")):  # a login page, or a website
            what = f"a web page came in place of a model's answer: {shown}"
        raise ModelError("truncated", what) from None
    if not isinstance(body, dict):
        raise ModelError("truncated", "the answer is not a JSON object")
    if body.get("error"):  # some gateways report errors with status 200
        code = body["error"].get("code") if isinstance(body["error"], dict) else None
        if isinstance(code, int) and code != 200:
            raise status_error(code, raw)
        raise ModelError("server", _error_text(raw))
    return body


_KNOWN = ("gzip", "x-gzip", "deflate")
_EITHER_HEADER = zlib.MAX_WBITS | 32
"""Makes zlib detect gzip or deflate."""


def plain_body(answer: Answer, longest: int) -> bytes:
    """Return the decompressed body.

    Args:
        answer: the response.
        longest: the maximum number of bytes.

    Raises:
        ModelError: `truncated` if it is damaged or too long, `bad_request` if the compression is
            unknown.
    """
    encoding = answer.headers.get("content-encoding", "").strip().lower()
    if encoding in ("", "identity") or not answer.body:
        return answer.body
    if encoding not in _KNOWN:
        raise ModelError(
            "bad_request",
            f"HTTP {answer.status}: the answer is compressed by '{encoding}', which nobody asked "
            "for; have the server or its gateway send it as it is",
        )
    unpacking = zlib.decompressobj(_EITHER_HEADER)
    try:
        body = unpacking.decompress(answer.body, longest)
    except zlib.error as error:
        raise ModelError("truncated", f"the answer cannot be unpacked: {error}") from None
    if not unpacking.eof:
        raise ModelError("truncated", "the answer cannot be unpacked: it is cut off, or too long")
    return body


# Allowances and waits


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait by the endpoint's `Retry-After` (seconds or a date).

    A date is compared with the response's own `Date`, so that this machine's clock does not matter.
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
    """The remaining allowances in the headers (`x-ratelimit-*`, `anthropic-ratelimit-*`), if
    any."""
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
    limit, remaining, reset = (
        headers.get(form.format(what, part)) for part in ("limit", "remaining", "reset")
    )
    if limit is None or remaining is None or reset is None:
        return None
    try:
        numbers = float(limit), float(remaining), _reset(reset, headers.get("date"))
    except ValueError:
        return None
    return numbers if all(math.isfinite(number) for number in numbers) else None


_LONGEST_WAIT = 1e9
"""Seconds, 32 years: a larger number is a time stamp."""
_DURATION = re.compile(r"(?:(\d+)h)?(?:(\d+)m)?(?:([\d.]+)s)?(?:([\d.]+)ms)?")


def _reset(value: str, date: str | None) -> float:
    """Seconds until an allowance is reset: from `6m0s`, `20ms`, `1.5`, or a time stamp.

    A time stamp is in ISO 8601, or in seconds or milliseconds since 1970, as in some gateways.
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


# Errors


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
_PASSING = frozenset({409, 421, 423, 425, 499})
"""Statuses below 500 that may be temporary: a conflict, a misdirected request, a lock, too early,
and a gateway that gave up."""
_KEY_WORDS = ("api key not valid", "api_key_invalid", "credit balance is too low")
"""Texts of Gemini for a wrong key and of Anthropic for an empty account, with status 400."""


def status_error(status: int, raw: bytes, headers: Mapping[str, str] = {}) -> ModelError:
    """The error for an unsuccessful response; temporary ones are retried.

    Args:
        status: the HTTP status.
        raw: the body, whose message the error repeats.
        headers: the headers, by names in lower case. `Retry-After` is the time to wait.
    """
    text = _error_text(raw, status)
    lower = text.lower()
    kind: ModelErrorKind
    if status in (401, 403) or any(word in lower for word in _KEY_WORDS):
        kind = "auth"
    elif status == 429:
        kind = "rate_limit"
        if "insufficient_quota" in raw.decode("utf-8", "replace"):
            kind = "auth"  # waiting does not refill an empty account
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
    """The message in an error body, as one line; the body itself if it has no such field."""
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if isinstance(body, list) and body:  # Gemini's errors are in a list
        body = body[0]
    message: object = None
    if isinstance(body, dict):
        error = body.get("error", body)
        message = error.get("message") if isinstance(error, dict) else error
        message = message or body.get("detail") or body.get("message")
    text = " ".join((str(message) if message else raw.decode("utf-8", "replace")).split())
    return text.removeprefix(f"{status}: ") or "(no message)"
