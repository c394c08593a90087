"""The batch APIs of providers: OpenAI's files and batches, Anthropic's, and Gemini's.

Another provider needs a class in this module and an entry in the table of `_batches.py`.
docs/batch.md cites the sources of the limits.
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
"""Seconds by which the clocks of this machine and the provider's may differ. At double, a search
checks more batches; at half, a wrong clock can hide the batch."""
PAGE = 100
"""Batches per page of a list; the maximum of OpenAI and Anthropic."""


class Http(Protocol):
    """Sends a request to the endpoint and returns the body of a successful response."""

    async def __call__(
        self, method: str, path: str, body: bytes = b"", kind: str = "application/json"
    ) -> bytes:
        """Raises `ModelError` if there is no response, or an unsuccessful one."""


@dataclass(frozen=True, slots=True)
class Look:
    """The status of a batch at the provider.

    Attributes:
        has_ended: whether nothing more will happen.
        failed: why it was rejected as a whole; "" if it was not.
        is_queue_full: whether it was rejected because too much is pending already.
        body: the provider's response.
    """

    has_ended: bool
    failed: str = ""
    is_queue_full: bool = False
    body: Mapping[str, Any] | None = None


class BatchProtocol(Protocol):
    """The batch API of one provider.

    Attributes:
        path: the path for live requests.
        most_requests, most_bytes: the limits of one batch.
        is_named: whether batches are found by our own name for them; else by their contents.
    """

    most_requests: int
    most_bytes: int
    is_named: bool
    path: str

    def line(self, row: str, body: bytes) -> bytes:
        """Return one request as a line of the batch."""

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        """Send a batch and return its id."""

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        """Return the id of a batch that was sent without its id being stored; None if there is
        none.

        Args:
            http: sends requests.
            batch: the batch to find.
            known: ids of other batches.
        """

    async def look(self, http: Http, batch_id: str) -> Look:
        """Return the status of a batch."""

    async def results(self, http: Http, batch_id: str, look: Look) -> bytes:
        """Return the results of a batch, unparsed."""

    def answers(self, results: bytes) -> Iterator[tuple[str, Answer | None]]:
        """Yield the answers in results, each with its request; None for an unanswered request."""

    async def cancel(self, http: Http, batch_id: str) -> None:
        """Cancel a batch; requests answered until then are billed."""


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
    """Yield all batches, the newest first.

    Args:
        http: sends requests.
        path: lists one page, with its size.
        name: the key of the batches in a page.
        after: the parameter for the next page.
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
    """Yield the objects of JSON lines, except for a truncated one."""
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
    """OpenAI's batches: a JSON Lines file is uploaded, and a batch made from it."""

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
"""The HTTP statuses of Anthropic's errors; any other is 500."""


class AnthropicBatches(BatchProtocol):
    """Anthropic's Message Batches: one request contains them all. Batches cannot be named."""

    most_requests = 100_000
    most_bytes = 256 * 10**6
    is_named = False

    def line(self, row: str, body: bytes) -> bytes:
        return b'{"custom_id":"%s","params":' % row.encode() + body + b"}"

    async def create(self, http: Http, batch: Batch, lines: Sequence[bytes]) -> str:
        body = b'{"requests":[' + b",".join(lines) + b"]}"
        return _id_of(_parsed(await http("POST", f"{self.path}/batches", body)))

    async def find(self, http: Http, batch: Batch, known: Collection[str]) -> str | None:
        """A batch made at that time with as many requests; its results show whether it is ours."""
        path, candidate = f"{self.path}/batches?limit={PAGE}", None
        async for entry in _listed(http, path, "data", "after_id"):
            made = datetime.fromisoformat(str(entry.get("created_at"))).timestamp()
            if made < batch.created - SLACK:
                break
            count = sum((entry.get("request_counts") or {}).values())
            if count == len(batch.rows) and entry.get("id") not in known:
                candidate = _id_of(entry)  # ours is the first after sending
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
    """Gemini's batches, with the requests inside the call that creates the batch.

    They use Gemini's own API, so requests and replies are translated from and to OpenAI's format.
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
"""HTTP statuses for google.rpc.Code; the two above are for requests that a batch did not
process."""
_EFFORTS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24576}
"""Thinking tokens by effort, as in Gemini's own OpenAI-compatible API for 2.5 models."""


def _as_gemini(body: dict[str, Any]) -> dict[str, Any]:
    """Convert a chat request to the format of Gemini's own API."""
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
    """The thinking options that the compatible API accepts; None for anything else."""
    match extra:
        case {"google": {"thinking_config": thinking, **more}, **others} if not more | others:
            return thinking
    return None


_ENDS = {"STOP": "stop", "MAX_TOKENS": "length"}


def _as_openai(body: dict[str, Any]) -> dict[str, Any]:
    """Convert a reply of Gemini's own API to a chat reply; one without a candidate has no
    choice."""
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
