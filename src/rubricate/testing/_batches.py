"""Batches at a scripted endpoint, in the APIs of OpenAI, Anthropic and Gemini."""

from __future__ import annotations

import asyncio
import math
import random
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from typing import Any, Literal

import orjson
from aiohttp import web

from rubricate.testing._interfaces import Chat, Gemini, Messages, Responses

BatchEvent = Literal["upload", "create", "look", "results"]
Row = tuple[str, dict[str, Any]]
"""The name and body of a request."""
Answer = Callable[..., Awaitable[web.StreamResponse]]
"""Answers a chat request from its body and headers, and the raw request outside of batches."""


@dataclass(slots=True)
class BatchScript:
    """How batches are processed.

    Attributes:
        seconds: the duration of a batch; `math.inf` to wait for `finish`.
        expired: the share of requests in the first batch that expire without an answer.
        failed: the share of requests that end with status 500.
        repeated: the share of results that appear twice.
        shuffled: whether results are in another order.
        truncated: how many times downloads of results end in the middle.
        hidden: how many times the creation of a batch gets no response, as if the connection broke.
        queue: the maximum number of pending requests, above which a batch fails (OpenAI). None for
            no limit.
        seed: the seed of random choices.
        on_event: called in the endpoint's thread after an upload or the creation of a batch, and
            before a status or results are sent.
    """

    seconds: float = 0.0
    expired: float = 0.0
    failed: float = 0.0
    repeated: float = 0.0
    shuffled: bool = False
    truncated: int = 0
    hidden: int = 0
    queue: int | None = None
    seed: int = 0
    on_event: Callable[[BatchEvent], None] = lambda event: None


@dataclass(slots=True)
class ScriptedBatch:
    """A batch at a scripted endpoint.

    Attributes:
        id: its id.
        name: the client's name for it, if the API has names.
        rows: the requests with their names, in the format of the API.
        made: when it was created (seconds since 1970).
        state: `running`, `ended`, `expired`, `cancelled` or `failed`.
        interface: the API of its requests and answers.
        headers: the headers of the request that created it.
        results: for each request its name, and the status and body of its answer; None without an
            answer.
    """

    id: str
    name: str
    rows: list[Row]
    interface: Chat
    headers: dict[str, str]
    made: float = field(default_factory=time.time)
    state: str = "running"
    results: list[tuple[str, tuple[int, dict[str, Any]] | None]] = field(default_factory=list)

    @property
    def unanswered(self) -> int:
        """The number of requests without an answer."""
        return sum(result is None for _, result in self.results)


Shown = Callable[[ScriptedBatch], dict[str, Any]]
"""The status of a batch in the format of an API."""


class BatchServer:
    """Accepts batches in three APIs, and gets their requests answered.

    Args:
        script: how batches are processed.
        answer: answers one request.

    Attributes:
        batches: all batches, in order.
        answered: the names of all answered, and thus billed, requests, in order.
        usages: the token counts of Anthropic's API for each answer, in order. Its cache stores
            marked prefixes of at least 1,024 tokens (of 4 characters).
    """

    def __init__(self, script: BatchScript, answer: Answer) -> None:
        self.script = script
        self.batches: list[ScriptedBatch] = []
        self.answered: list[str] = []
        self._runs: dict[str, asyncio.Task[None]] = {}
        self._interfaces = {"chat/completions": Chat(), "responses": Responses()}
        self._messages, self._gemini = Messages(), Gemini()
        self.usages = self._messages.usages
        self._answer = answer
        self._files: dict[str, bytes] = {}
        self._chance = random.Random(script.seed)

    def finish(self) -> None:
        """Let all batches end at the next status request, regardless of `seconds`."""
        self.script.seconds = 0.0

    def expire_caches(self) -> None:
        """Empty Anthropic's cache, as happens 5 minutes after the last use."""
        self._messages.cached.clear()

    def add_to(self, router: web.UrlDispatcher) -> None:
        """Add the routes of the three APIs.

        Args:
            router: the router of the endpoint's application.
        """
        paths = {resource.canonical for resource in router.resources()}
        for path, interface in (
            ("/v1/messages", self._messages),
            ("/v1/responses", self._interfaces["responses"]),
        ):
            if path not in paths:
                router.add_post(path, partial(self._answer_live, interface))
        for method, path, handler in (
            ("POST", "/v1/files", self._upload),
            ("GET", "/v1/files/{file}/content", self._file),
            ("POST", "/v1/batches", self._create_openai),
            ("GET", "/v1/batches", partial(self._list, _openai, "data")),
            ("GET", "/v1/batches/{id}", partial(self._look, _openai)),
            ("POST", "/v1/batches/{id}/cancel", self._cancel),
            ("POST", "/v1/messages/batches", self._create_anthropic),
            ("GET", "/v1/messages/batches", partial(self._list, _anthropic, "data")),
            ("GET", "/v1/messages/batches/{id}", partial(self._look, _anthropic)),
            ("GET", "/v1/messages/batches/{id}/results", self._results_anthropic),
            ("POST", "/v1/messages/batches/{id}/cancel", self._cancel),
            ("POST", "/v1beta/models/{model}:batchGenerateContent", self._create_gemini),
            ("GET", "/v1beta/batches", partial(self._list, _gemini, "operations")),
            ("GET", "/v1beta/batches/{id}", partial(self._look, _gemini)),
            ("POST", "/v1beta/batches/{id}:cancel", self._cancel),
        ):
            router.add_route(method, path, handler)

    # Common parts

    async def _answer_live(self, interface: Chat, raw: web.Request) -> web.StreamResponse:
        """Answer a request outside of batches."""
        body = orjson.loads(await raw.read())
        response = await self._answer(interface.chat(body), dict(raw.headers), raw)
        if response.status != 200 or response.content_type != "application/json":
            return response
        assert isinstance(response, web.Response)
        assert isinstance(response.body, bytes)
        return web.json_response(interface.reply(body, orjson.loads(response.body)))

    def _create(
        self, raw: web.Request, shown: Shown, name: str, rows: list[Row], interface: Chat
    ) -> web.Response:
        """Create a batch, and return the response."""
        batch_id = f"batch-{len(self.batches) + 1}"
        batch = ScriptedBatch(batch_id, name, rows, interface, dict(raw.headers))
        out = sum(len(each.rows) for each in self.batches if each.state == "running")
        self.batches.append(batch)
        if self.script.queue is not None and out + len(rows) > self.script.queue:
            batch.state = "failed"
        self.script.on_event("create")
        if self.script.hidden:
            self.script.hidden -= 1
            assert raw.transport is not None
            raw.transport.abort()
        return web.json_response(shown(batch))

    async def _poll(self, raw: web.Request) -> ScriptedBatch:
        """The batch of a path; its requests are answered if its time is over."""
        self.script.on_event("look")
        batch = self._batch_of(raw)
        if batch.state == "running" and time.time() >= batch.made + self.script.seconds:
            # Run it once and to the end, even if other requests arrive or the client disconnects.
            if batch.id not in self._runs:
                self._runs[batch.id] = asyncio.create_task(self._run(batch))
            await asyncio.shield(self._runs[batch.id])
        return batch

    async def _look(self, shown: Shown, raw: web.Request) -> web.Response:
        body = shown(await self._poll(raw))
        return self._result_lines([body]) if "response" in body else web.json_response(body)

    async def _list(self, shown: Shown, name: str, raw: web.Request) -> web.Response:
        return web.json_response({name: [shown(batch) for batch in self.batches[::-1]]})

    def _batch_of(self, raw: web.Request) -> ScriptedBatch:
        name = raw.match_info["id"]
        for batch in self.batches:
            if batch.id == name:
                return batch
        raise web.HTTPNotFound(text='{"error":{"message":"no such batch"}}')

    async def _run(self, batch: ScriptedBatch) -> None:
        script, chance = self.script, self._chance
        for name, body in batch.rows:
            if chance.random() < script.expired:
                batch.results.append((name, None))
            elif chance.random() < script.failed:
                error = {"error": {"type": "api_error", "message": "scripted row failure"}}
                batch.results.append((name, (500, error)))
            else:
                response = await self._answer(batch.interface.chat(body), batch.headers)
                assert isinstance(response, web.Response)
                assert isinstance(response.body, bytes)
                reply = orjson.loads(response.body)
                if response.status == 200:
                    reply = batch.interface.reply(body, reply)
                batch.results.append((name, (response.status, reply)))
                self.answered.append(name)
            if chance.random() < script.repeated:
                batch.results.append(batch.results[-1])
        batch.state = "expired" if batch.unanswered else "ended"
        if batch.unanswered:
            script.expired = 0.0
        if script.shuffled:
            chance.shuffle(batch.results)

    async def _cancel(self, raw: web.Request) -> web.Response:
        batch = self._batch_of(raw)
        if batch.state == "running" and batch.id not in self._runs:
            batch.state = "cancelled"
            batch.results = [(name, None) for name, _ in batch.rows]
        return web.json_response({"id": batch.id})

    def _result_lines(self, lines: list[Any]) -> web.Response:
        """Return results as JSON lines, truncated if the script says so."""
        self.script.on_event("results")
        content = b"".join(orjson.dumps(line) + b"\n" for line in lines)
        if self.script.truncated and lines:
            self.script.truncated -= 1
            content = content[: len(content) // 2]
        return web.Response(body=content, content_type="application/jsonl")

    # OpenAI

    async def _upload(self, raw: web.Request) -> web.Response:
        form = await raw.post()
        file = form["file"]
        assert isinstance(file, web.FileField)
        name = f"file-{len(self._files) + 1}"
        self._files[name] = file.file.read()
        self.script.on_event("upload")
        return web.json_response({"id": name, "purpose": form["purpose"]})

    async def _create_openai(self, raw: web.Request) -> web.Response:
        body = orjson.loads(await raw.read())
        entries = [orjson.loads(line) for line in self._files[body["input_file_id"]].splitlines()]
        rows = [(entry["custom_id"], entry["body"]) for entry in entries]
        interface = self._interfaces[body["endpoint"].removeprefix("/v1/")]
        name = (body.get("metadata") or {}).get("rubricate", "")
        return self._create(raw, _openai, name, rows, interface)

    async def _file(self, raw: web.Request) -> web.Response:
        kind, _, number = raw.match_info["file"].partition("-")
        batch = self.batches[int(number) - 1]
        lines = []
        for name, result in batch.results:
            line: dict[str, Any] = {"custom_id": name, "response": None, "error": None}
            if result is None:
                line["error"] = {"code": f"batch_{batch.state}", "message": "not answered"}
            else:
                line["response"] = {"status_code": result[0], "body": result[1]}
            if (kind == "output") == (result is not None and result[0] == 200):
                lines.append(line)
        return self._result_lines(lines)

    # Anthropic

    async def _create_anthropic(self, raw: web.Request) -> web.Response:
        entries = orjson.loads(await raw.read())["requests"]
        rows = [(entry["custom_id"], entry["params"]) for entry in entries]
        self.script.on_event("upload")
        return self._create(raw, _anthropic, "", rows, self._messages)

    async def _results_anthropic(self, raw: web.Request) -> web.Response:
        batch, lines = self._batch_of(raw), []
        for name, result in batch.results:
            entry: dict[str, Any] = {
                "type": "canceled" if batch.state == "cancelled" else "expired"
            }
            if result is not None and result[0] == 200:
                entry = {"type": "succeeded", "message": result[1]}
            elif result is not None:
                entry = {"type": "errored", "error": {"type": "error", **result[1]}}
            lines.append({"custom_id": name, "result": entry})
        return self._result_lines(lines)

    # Gemini

    async def _create_gemini(self, raw: web.Request) -> web.Response:
        wanted = orjson.loads(await raw.read())["batch"]
        model = raw.match_info["model"]
        rows = [
            (entry["metadata"]["key"], entry["request"] | {"model": model})
            for entry in wanted["input_config"]["requests"]["requests"]
        ]
        self.script.on_event("upload")
        return self._create(raw, _gemini, wanted["display_name"], rows, self._gemini)


def _openai(batch: ScriptedBatch) -> dict[str, Any]:
    has_ended, number = batch.state not in ("running", "failed"), batch.id.partition("-")[2]
    has_errors = any(result is None or result[0] != 200 for _, result in batch.results)
    errors = {"data": [{"code": "token_limit_exceeded", "message": "Enqueued token limit reached"}]}
    return {
        "id": batch.id,
        "object": "batch",
        "status": {"running": "in_progress", "ended": "completed"}.get(batch.state, batch.state),
        "created_at": math.floor(batch.made),
        "metadata": {"rubricate": batch.name},
        "output_file_id": f"output-{number}" if has_ended else None,
        "error_file_id": f"errors-{number}" if has_ended and has_errors else None,
        "errors": errors if batch.state == "failed" else None,
    }


def _anthropic(batch: ScriptedBatch) -> dict[str, Any]:
    return {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": "in_progress" if batch.state == "running" else "ended",
        "created_at": datetime.fromtimestamp(batch.made, UTC).isoformat(),
        "request_counts": {"processing": len(batch.rows), "succeeded": 0},
    }


def _gemini(batch: ScriptedBatch) -> dict[str, Any]:
    states = {"running": "RUNNING", "ended": "SUCCEEDED", "expired": "SUCCEEDED"}
    state = states.get(batch.state, batch.state.upper())
    operation: dict[str, Any] = {
        "name": f"batches/{batch.id}",
        "metadata": {"displayName": batch.name, "state": f"BATCH_STATE_{state}"},
        "done": batch.state != "running",
    }
    if batch.state == "running":
        return operation
    entries = []
    for name, result in batch.results:
        entry: dict[str, Any] = {"metadata": {"key": name}}
        if result is None:
            entry["error"] = {"code": 4, "message": "the deadline of the batch is over"}
        elif result[0] != 200:
            entry["error"] = {"code": 13, "message": "scripted row failure"}
        else:
            entry["response"] = result[1]
        entries.append(entry)
    return operation | {"response": {"inlinedResponses": {"inlinedResponses": entries}}}
