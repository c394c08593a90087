"""How providers take batches: OpenAI's files and batches, Anthropic's, and Gemini's.

Another provider is a class beside these, in the table of `_batches.py`. docs/batch.md has the
sources of the limits.
"""

from __future__ import annotations

import secrets
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Protocol

import orjson

from rubricate.errors import InputError, ModelError
from rubricate.judge.models._batch_folder import Batch
from rubricate.judge.models._responses import Answer

SLACK = 600.0
"""Seconds by which the clocks of this machine and the provider's may differ. At double, more
batches are looked at when one is searched; at half, a wrong clock hides it."""
PAGE = 100
"""Batches in one answer to a list; the most that OpenAI and Anthropic give."""


class Http(Protocol):
    """Sends a request to the endpoint, and gives the body of an answer of success."""

    async def __call__(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> bytes:
        """Raises `ModelError` for any other answer, and for none."""


@dataclass(frozen=True, slots=True)
class Look:
    """What the provider says of a batch.

    Attributes:
        has_ended: whether nothing more will come of it.
        failed: why it was refused as a whole; "" where it was not.
        is_queue_full: whether that is because too much is out already.
        body: the provider's answer.
    """

    has_ended: bool
    failed: str = ""
    is_queue_full: bool = False
    body: Mapping[str, Any] | None = None


class BatchProtocol(Protocol):
    """How one provider takes batches.

    Attributes:
        path: where the interface takes requests live.
        most_requests, most_bytes: the limits of one batch.
        is_named: whether batches are found by our own name for them; else by what is in them.
    """

    most_requests: int
    most_bytes: int
    is_named: bool
    path: str

    def line(self, row: str, body: bytes) -> bytes:
        """One request as the batch has it."""

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        """Send a batch; gives its id."""

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        """The id of a batch that was sent, where this was not noted; None for none.

        Args:
            http: sends.
            batch: what is searched.
            known: ids of other batches.
        """

    async def look(self, http: Http, batch_id: str) -> Look:
        """How far a batch is."""

    async def results(self, http: Http, batch_id: str, look: Look) -> bytes:
        """What has come of a batch, as it was sent."""

    def answers(self, results: bytes) -> Iterator[tuple[str, Answer | None]]:
        """The answers in results, each with its request; None for what was not answered."""

    async def cancel(self, http: Http, batch_id: str) -> None:
        """Have a batch end early; what has been answered by then is paid."""


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        body = orjson.loads(raw)
    except orjson.JSONDecodeError:
        body = None
    if not isinstance(body, dict):
        raise ModelError("truncated", "the answer is not a JSON object")
    return body


def _id_of(body: Mapping[str, Any], name: str = "id") -> str:
    value = body.get(name)
    if not isinstance(value, str) or not value:
        raise ModelError("truncated", f"the answer has no {name}")
    return value


async def _listed(http: Http, path: str, name: str, after: str) -> AsyncIterator[dict[str, Any]]:
    """All batches, the newest first.

    Args:
        http: sends.
        path: lists one page, with its size.
        name: under which a page has its batches.
        after: the parameter that leads to the next page.
    """
    following: object = None
    while True:
        page = _parsed(await http("GET", f"{path}&{after}={following}" if following else path))
        entries = [entry for entry in page.get(name) or [] if isinstance(entry, dict)]
        for entry in entries:
            yield entry
        following = page.get("nextPageToken")
        if page.get("has_more") and entries:
            following = _id_of(entries[-1])
        if not following:
            return


def _lines(raw: bytes) -> Iterator[dict[str, Any]]:
    """The objects of JSON lines; one that is cut off is left out."""
    for line in raw.splitlines():
        try:
            entry = orjson.loads(line)
        except orjson.JSONDecodeError:
            continue
        if isinstance(entry, dict):
            yield entry


def _error(status: int, message: object) -> Answer:
    return Answer(status, {}, orjson.dumps({"error": {"message": str(message)}}))


class OpenAIBatches(BatchProtocol):
    """OpenAI's: a file of JSON lines is uploaded, and a batch made of it."""

    most_requests = 50_000
    most_bytes = 200 * 10**6
    is_named = True

    def line(self, row: str, body: bytes) -> bytes:
        head = f'{{"custom_id":"{row}","method":"POST","url":"/v1{self.path}","body":'
        return head.encode() + body + b"}\n"

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        if batch.input_file is None:
            edge = secrets.token_hex(16)
            head = (
                f'--{edge}\r\nContent-Disposition: form-data; name="purpose"\r\n\r\nbatch\r\n'
                f'--{edge}\r\nContent-Disposition: form-data; name="file"; '
                f'filename="rubricate-{batch.key}.jsonl"\r\n'
                "Content-Type: application/jsonl\r\n\r\n"
            )
            body = b"".join([head.encode(), *lines, f"\r\n--{edge}--\r\n".encode()])
            kind = f"multipart/form-data; boundary={edge}"
            batch.input_file = _id_of(_parsed(await http("POST", "/files", body, kind)))
        wanted = {
            "input_file_id": batch.input_file,
            "endpoint": f"/v1{self.path}",
            "completion_window": "24h",
            "metadata": {"rubricate": batch.key},
        }
        return _id_of(_parsed(await http("POST", "/batches", orjson.dumps(wanted))))

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        async for entry in _listed(http, f"/batches?limit={PAGE}", "data", "after"):
            if (entry.get("metadata") or {}).get("rubricate") == batch.key:
                return _id_of(entry)
            if (entry.get("created_at") or 0) < batch.created - SLACK:
                break
        return None

    async def look(self, http: Http, batch_id: str) -> Look:
        body = _parsed(await http("GET", f"/batches/{batch_id}"))
        status, failed, is_full = body.get("status"), "", False
        if status == "failed":
            errors = (body.get("errors") or {}).get("data") or [{}]
            failed = str(errors[0].get("message") or "the provider says no reason")
            is_full = errors[0].get("code") == "token_limit_exceeded"
        has_ended = status in ("completed", "expired", "cancelled", "failed")
        return Look(has_ended, failed, is_full, body)

    async def results(self, http: Http, batch_id: str, look: Look) -> bytes:
        files = [(look.body or {}).get(name) for name in ("output_file_id", "error_file_id")]
        contents = [await http("GET", f"/files/{file}/content") for file in files if file]
        return b"\n".join(contents)

    def answers(self, results: bytes) -> Iterator[tuple[str, Answer | None]]:
        for entry in _lines(results):
            row, response, error = (entry.get(n) for n in ("custom_id", "response", "error"))
            if isinstance(response, dict) and isinstance(response.get("status_code"), int):
                body = orjson.dumps(response.get("body"))
                yield str(row), Answer(response["status_code"], {}, body)
            elif isinstance(error, dict):
                is_left = error.get("code") in ("batch_expired", "batch_cancelled")
                yield str(row), None if is_left else _error(500, error.get("message"))

    async def cancel(self, http: Http, batch_id: str) -> None:
        await http("POST", f"/batches/{batch_id}/cancel")


_ERRORS = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "overloaded_error": 529,
}
"""The statuses of Anthropic's errors; any other is 500."""


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches: one request has them all. It takes no name for a batch."""

    most_requests = 100_000
    most_bytes = 256 * 10**6
    is_named = False

    def line(self, row: str, body: bytes) -> bytes:
        return b'{"custom_id":"%s","params":' % row.encode() + body + b"}"

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        return _id_of(_parsed(await http("POST", f"{self.path}/batches", body)))

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        """One made at the time with as many requests; its results show whether it is ours."""
        path, candidate = f"{self.path}/batches?limit={PAGE}", None
        async for entry in _listed(http, path, "data", "after_id"):
            made = datetime.fromisoformat(str(entry.get("created_at"))).timestamp()
            if made < batch.created - SLACK:
                break
            count = sum((entry.get("request_counts") or {}).values())
            if count == len(batch.rows) and entry.get("id") not in known:
                candidate = _id_of(entry)  # ours is the first one after it was sent
        return candidate

    async def look(self, http: Http, batch_id: str) -> Look:
        body = _parsed(await http("GET", f"{self.path}/batches/{batch_id}"))
        return Look(body.get("processing_status") == "ended", body=body)

    async def results(self, http: Http, batch_id: str, look: Look) -> bytes:
        return await http("GET", f"{self.path}/batches/{batch_id}/results")

    def answers(self, results: bytes) -> Iterator[tuple[str, Answer | None]]:
        for entry in _lines(results):
            row, result = str(entry.get("custom_id")), entry.get("result")
            kind = result.get("type") if isinstance(result, dict) else None
            if not isinstance(result, dict) or kind in ("canceled", "expired"):
                yield row, None
            elif kind == "succeeded":
                yield row, Answer(200, {}, orjson.dumps(result.get("message")))
            else:
                error = result.get("error") or {}
                error = error.get("error") or error
                yield row, _error(_ERRORS.get(str(error.get("type")), 500), error.get("message"))

    async def cancel(self, http: Http, batch_id: str) -> None:
        await http("POST", f"{self.path}/batches/{batch_id}/cancel")


class GeminiBatches(BatchProtocol):
    """Gemini's, with the requests in the message that makes the batch.

    The model is asked by Gemini's own interface, whose requests and replies are translated from and
    to those of OpenAI.
    """

    most_requests = 50_000
    most_bytes = 20 * 10**6 - 10**5
    is_named = True

    def line(self, row: str, body: bytes) -> bytes:
        return orjson.dumps({"request": _as_gemini(orjson.loads(body)), "metadata": {"key": row}})

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        name = orjson.dumps(f"rubricate-{batch.key}")
        head = b'{"batch":{"display_name":' + name + b',"input_config":{"requests":{"requests":['
        model = batch.model.partition("/")[2]
        path = f"/models/{model}:batchGenerateContent"
        made = await http("POST", path, head + b",".join(lines) + b"]}}}}")
        return _id_of(_parsed(made), "name")

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        async for entry in _listed(http, f"/batches?pageSize={PAGE}", "operations", "pageToken"):
            if (entry.get("metadata") or {}).get("displayName") == f"rubricate-{batch.key}":
                return _id_of(entry, "name")
        return None

    async def look(self, http: Http, batch_id: str) -> Look:
        body = _parsed(await http("GET", f"/{batch_id}"))
        state = str((body.get("metadata") or {}).get("state") or "")
        failed, error = "", body.get("error") or {}
        if state.endswith("FAILED"):
            failed = str(error.get("message") or "the provider says no reason")
        endings = ("SUCCEEDED", "FAILED", "CANCELLED", "EXPIRED")
        return Look(bool(body.get("done")) or state.endswith(endings), failed, body=body)

    async def results(self, http: Http, batch_id: str, look: Look) -> bytes:
        return orjson.dumps(look.body)

    def answers(self, results: bytes) -> Iterator[tuple[str, Answer | None]]:
        body: Any = orjson.loads(results)
        about = body.get("response") or (body.get("metadata") or {}).get("output") or {}
        listed = about.get("inlinedResponses") or []
        if isinstance(listed, dict):
            listed = listed.get("inlinedResponses") or []
        for entry in listed:
            row, error = str((entry.get("metadata") or {}).get("key")), entry.get("error")
            if isinstance(entry.get("response"), dict):
                yield row, Answer(200, {}, orjson.dumps(_as_openai(entry["response"])))
            elif isinstance(error, dict):
                status = _STATUSES.get(error.get("code") or 0, 500)
                is_left = error.get("code") in (_CANCELLED, _EXPIRED)
                yield row, None if is_left else _error(status, error.get("message"))

    async def cancel(self, http: Http, batch_id: str) -> None:
        await http("POST", f"/{batch_id}:cancel")


_CANCELLED, _EXPIRED = 1, 4
_STATUSES = {3: 400, 5: 404, 7: 403, 8: 429, 13: 500, 14: 503, 16: 401}
"""HTTP statuses of codes of google.rpc.Code; the two above are of what a batch left."""
_EFFORTS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Tokens of thinking, as Gemini's own compatible interface has them for 2.5 models."""


def _as_gemini(body: dict[str, Any]) -> dict[str, Any]:
    """A chat request as Gemini's own interface has it."""
    system = [part["content"] for part in body["messages"] if part["role"] == "system"]
    config: dict[str, Any] = {}
    for name, value in body.items():
        if name in ("temperature", "top_p", "seed"):
            config["topP" if name == "top_p" else name] = value
        elif name in ("max_tokens", "max_completion_tokens"):
            config["maxOutputTokens"] = value
        elif name == "reasoning_effort" and value in _EFFORTS:
            config["thinkingConfig"] = {"thinkingLevel": value}
            if str(body["model"]).startswith("gemini-2"):
                config["thinkingConfig"] = {"thinkingBudget": _EFFORTS[value]}
            elif value == "none":
                raise InputError(f"{body['model']} cannot but think: give reasoning_effort=minimal")
        elif name == "extra_body" and (thinking := _thinking_config(value)):
            config["thinkingConfig"] = thinking
        elif name == "response_format":
            config["responseMimeType"] = "application/json"
            if schema := value.get("json_schema"):
                config["responseJsonSchema"] = schema["schema"]
        elif name not in ("model", "messages"):
            raise InputError(f"a batch of Gemini has no option like '{name}'; leave out --batch")
    sent: dict[str, Any] = {
        "contents": [
            {
                "role": "model" if part["role"] == "assistant" else "user",
                "parts": [{"text": part["content"]}],
            }
            for part in body["messages"]
            if part["role"] != "system"
        ],
        "generationConfig": config,
    }
    if system:
        sent["systemInstruction"] = {"parts": [{"text": "\n\n".join(system)}]}
    return sent


def _thinking_config(extra: Any) -> Any:
    """What the compatible interface takes for thinking alone; None for anything else."""
    match extra:
        case {"google": {"thinking_config": thinking, **more}, **others} if not more | others:
            return thinking
    return None


_ENDS = {"STOP": "stop", "MAX_TOKENS": "length"}


def _as_openai(body: dict[str, Any]) -> dict[str, Any]:
    """A reply of Gemini's own interface as a chat reply; one without a candidate has no choice."""
    counts = body.get("usageMetadata") or {}
    read = counts.get("promptTokenCount") or 0
    thought = counts.get("thoughtsTokenCount") or 0
    written = (counts.get("candidatesTokenCount") or 0) + thought
    choices = []
    blocked = (body.get("promptFeedback") or {}).get("blockReason")
    for candidate in body.get("candidates") or ([{"finishReason": "SAFETY"}] if blocked else []):
        parts = (candidate.get("content") or {}).get("parts") or []
        texts = ["", ""]
        for part in parts:
            texts[bool(part.get("thought"))] += part.get("text") or ""
        end = str(candidate.get("finishReason") or "")
        message = {"role": "assistant", "content": texts[0], "reasoning_content": texts[1]}
        choices.append({"message": message, "finish_reason": _ENDS.get(end, end.lower())})
    return {
        "model": body.get("modelVersion"),
        "choices": choices,
        "usage": {
            "prompt_tokens": read,
            "completion_tokens": written,
            "total_tokens": read + written,
            "prompt_tokens_details": {"cached_tokens": counts.get("cachedContentTokenCount") or 0},
            "completion_tokens_details": {"reasoning_tokens": thought},
        },
    }
