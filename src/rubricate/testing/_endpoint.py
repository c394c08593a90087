"""A judge endpoint with scripted answers, on a real socket."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import random
import re
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, Literal

import orjson
from aiohttp import web

from rubricate.judge.models import forget_forms
from rubricate.testing._batches import BatchScript, BatchServer
from rubricate.testing._rules import JudgeRequest, Rule

FORMATS = ("json_schema", "json_object", "text")
KEYS = ("authorization", "x-api-key", "x-goog-api-key")
"""Headers that contain a key."""
Logprobs = Literal["given", "ignored", "refused"]
SURE = 0.9
"""The probability of the verdict of a rule."""
NEVER = -9999.0
"""The API's value for the logarithm of 0."""


class ScriptedEndpoint:
    """An OpenAI-compatible chat endpoint on this machine, for tests. It also accepts batches.

    Anthropic's Messages API, OpenAI's Responses API and Gemini's API (at `gemini_url`) are
    supported as well.

    Requests without a matching rule are judged by keywords: MET if at least half of the criterion's
    words of five letters or more occur in the submission, else UNMET. For a multi-choice criterion
    or a scale, the answer is the label that occurs in the submission, else the first; for a metric
    criterion, the items that occur in the submission are positive. If the reply is a single token,
    the verdict has a probability of 0.9, and the others share the rest. In a part of a long
    document, the findings are the criterion's words.

    Use it as a context manager, which runs the endpoint in a separate thread:

        with ScriptedEndpoint([Rule(submission="late", status=500, times=2)]) as endpoint:
            rubricate.grade(dataset, "any-model", base_url=endpoint.url)
            assert len(endpoint.requests) == 5

    As a process: `python -m rubricate.testing --rules rules.yaml`.

    Args:
        rules: the rules for answers; the first that applies is used.
        respond: a function that is asked before the rules; it returns a `Rule`, or None to use the
            rules. If it raises an exception, the request gets a 400, and the exception is raised
            again at the end of the context.
        formats: the supported forms of structured output; others get a 400.
        logprobs: how requests for log probabilities are answered: `given`, `ignored` (an answer
            without them) or `refused` (a 400).
        slots: the number of requests answered at once, as for a small server. Others wait, and are
            dropped if their client disconnects. Default: no limit.
        context_tokens: the maximum number of tokens (of 4 characters) of prompt and reply together.
            A longer prompt gets a 400, and a longer reply is cut off. Default: no limit.
        batches: how batches are processed, in the APIs of OpenAI, Anthropic and Gemini; rules apply
            to their requests, too.
        host, port: the address to listen on; port 0 picks a free port.

    Attributes:
        requests: all requests, in order; those of batches count when they are answered.
        batches: the server of batches, with all batches so far.
        usages: the token counts of each answer, in the format of the chat API.
    """

    _path = "/v1/chat/completions"

    def __init__(
        self,
        rules: Sequence[Rule] = (),
        *,
        respond: Callable[[JudgeRequest], Rule | None] | None = None,
        formats: Sequence[str] = FORMATS,
        logprobs: Logprobs = "given",
        slots: int | None = None,
        context_tokens: int | None = None,
        batches: BatchScript | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
    ) -> None:
        self.requests: list[JudgeRequest] = []
        self.batches = BatchServer(batches or BatchScript(), self._answer_chat)
        self.usages: list[dict[str, Any]] = []
        self._rules = list(rules)
        self._respond = respond
        self._formats = tuple(formats)
        self._logprobs = logprobs
        self._slots = slots
        self._context = math.inf if context_tokens is None else context_tokens
        self._turns: asyncio.Semaphore | contextlib.nullcontext[None] = contextlib.nullcontext()
        self._host = host
        self._port = port
        self._used: Counter[int] = Counter()
        self._prefixes: set[str] = set()
        self._thread: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ended: asyncio.Event | None = None
        self._raised: BaseException | None = None

    @property
    def url(self) -> str:
        """The base URL, for `base_url=` and `--base-url`."""
        return f"http://{self._host}:{self._port}/v1"

    @property
    def gemini_url(self) -> str:
        """The address of Gemini's API, for `GEMINI_BASE_URL`."""
        return f"http://{self._host}:{self._port}/v1beta/openai"

    def __enter__(self) -> ScriptedEndpoint:
        listening = threading.Event()
        problems: list[OSError] = []

        def run() -> None:
            try:
                asyncio.run(self.serve(listening.set))
            except OSError as error:  # such as a port in use
                problems.append(error)
                listening.set()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        listening.wait(timeout=10)
        if problems:
            raise problems[0]
        return self

    def __exit__(self, _kind: object, error: BaseException | None, _trace: object) -> None:
        if self._loop is not None and self._ended is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join(timeout=10)
        raised, self._raised = self._raised, None
        if raised is not None:
            if error is None:
                raise raised
            error.add_note(f"before, respond= raised {_named(raised)}")

    async def serve(self, on_listening: Callable[[], None]) -> None:
        """Listen until the context ends or the task is cancelled.

        Args:
            on_listening: called when it is listening.
        """
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        application = web.Application(client_max_size=2**30)
        for path in dict.fromkeys((self._path, "/v1beta/openai/chat/completions")):
            application.router.add_post(path, self._complete)
        self.batches.add_to(application.router)
        if self._slots is not None:
            self._turns = asyncio.Semaphore(self._slots)
        runner = web.AppRunner(
            application, access_log=None, shutdown_timeout=0.1, handler_cancellation=True
        )
        await runner.setup()
        try:
            site = web.TCPSite(runner, self._host, self._port)
            await site.start()
            self._port = runner.addresses[0][1]
            forget_forms(self.url)
            on_listening()
            await self._ended.wait()
        finally:
            server = runner.server
            transports = (
                []
                if server is None
                else [connection.transport for connection in server.connections]
            )
            await runner.cleanup()
            for transport in transports:
                if transport is not None:
                    transport.abort()  # also if the client does not read the answer
            for _ in range(3):  # rounds of the loop, in which connections close
                await asyncio.sleep(0)

    async def _complete(self, raw: web.Request) -> web.StreamResponse:
        return await self._answer_chat(orjson.loads(await raw.read()), dict(raw.headers), raw)

    async def _answer_chat(
        self, body: dict[str, Any], headers: dict[str, str], raw: web.Request | None = None
    ) -> web.StreamResponse:
        """Answer a chat request. One in a batch has no connection that could break."""
        keys = {name: "(given)" for name in headers if name.lower() in KEYS}
        request = JudgeRequest.parse(body, headers | keys)
        self.requests.append(request)
        cached = len(request.prefix) // 4 if request.prefix in self._prefixes else 0
        form = (request.body.get("response_format") or {}).get("type", "text")
        if form not in self._formats:
            return _error(400, f"response_format of type '{form}' is not supported", {})
        if self._logprobs == "refused" and "logprobs" in request.body:
            return _error(400, "this model does not support the 'logprobs' parameter", {})
        if request.criteria:
            rules = [self._rule(part) for part in request.criteria]
            rule = next((r for r in rules if r.verdict is None), _combined(rules))
        else:
            rule = self._rule(request)
        size = _tokens_in(request)
        if size > self._context:
            what = f"request ({size} tokens) exceeds the available context size"
            return _error(400, f"{what} ({self._context} tokens), try increasing it", {})
        async with self._turns:
            await asyncio.sleep(rule.delay)
        if rule.fault is not None and raw is not None:
            return await _broken(raw, rule)
        if rule.status is not None:
            return _error(rule.status, rule.message, rule.headers, rule.body)
        return self._answer(request, rule, form, cached)

    def _rule(self, request: JudgeRequest) -> Rule:
        if self._respond is not None and (rule := self._rule_by_code(request)) is not None:
            return rule
        for index, rule in enumerate(self._rules):
            if rule.matches(request) and (rule.times is None or self._used[index] < rule.times):
                self._used[index] += 1
                if not rule.answers:
                    return rule.model_copy(update={"verdict": _by_keywords(request)})
                return rule
        if "NOTHING" in request.labels:
            return _find_words(request)
        return Rule(verdict=_by_keywords(request), reason="judged by keywords")

    def _rule_by_code(self, request: JudgeRequest) -> Rule | None:
        """Call `respond`. An exception fails the judgement, and later the test."""
        assert self._respond is not None
        try:
            return self._respond(request)
        except (asyncio.CancelledError, KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:  # also those of pytest.fail and pytest.skip
            self._raised = self._raised or error
            return Rule(status=400, message=f"respond= raised {_named(error)}")

    def _answer(self, request: JudgeRequest, rule: Rule, form: str, cached: int) -> web.Response:
        content, logprobs = rule.reply, None
        if content is None and request.choices:
            content, logprobs = _draw_token(request, rule)
        elif content is None and form == "text":
            quotes = "".join(f"<evidence>{quote}</evidence>\n" for quote in rule.evidence)
            verdict = json.dumps(rule.verdict) if isinstance(rule.verdict, dict) else rule.verdict
            content = f"<reason>{rule.reason}</reason>\n{quotes}<verdict>{verdict}</verdict>"
        elif content is None:
            content = json.dumps(_entry(rule))
        size = _tokens_in(request)
        most = min(_most_tokens(request.body), self._context - size)
        whole = len(content) <= 4 * most
        if not whole:
            content = content[: 4 * int(most)]
        thought = len(rule.thinking) // 4
        written = max(len(content) // 4, 1 if content else 0) + thought
        message = {"role": "assistant", "content": content}
        if rule.thinking:
            message["reasoning_content"] = rule.thinking
        self._prefixes.add(request.prefix)
        body: dict[str, Any] = {
            "id": f"scripted-{len(self.requests)}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": request.body.get("model"),
            "choices": [
                {
                    "index": 0,
                    "finish_reason": "stop" if whole else "length",
                    "message": message,
                    "logprobs": logprobs if self._logprobs == "given" else None,
                }
            ],
            "usage": {
                "prompt_tokens": size,
                "completion_tokens": written,
                "total_tokens": size + written,
                "prompt_tokens_details": {"cached_tokens": cached},
                "completion_tokens_details": {"reasoning_tokens": thought},
            },
        }
        body |= rule.body
        self.usages.append(body["usage"])
        return _json(200, body)


def _json(status: int, body: dict[str, Any], headers: dict[str, str] | None = None) -> web.Response:
    content = orjson.dumps({name: value for name, value in body.items() if value is not None})
    return web.Response(
        status=status, body=content, headers=headers, content_type="application/json"
    )


def _named(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _tokens_in(request: JudgeRequest) -> int:
    return sum(len(str(message.get("content"))) for message in request.body["messages"]) // 4


def _most_tokens(body: dict[str, Any]) -> float:
    """The maximum number of tokens of the reply, as requested."""
    limit = body.get("max_tokens", body.get("max_completion_tokens"))
    return math.inf if limit is None else float(limit)


def _draw_token(request: JudgeRequest, rule: Rule) -> tuple[str, dict[str, Any] | None]:
    """Draw a token by a rule's probabilities, and return the logprobs if requested.

    The draw depends only on the prompt and the seed.
    """
    shares = rule.probabilities
    if shares is None:
        others = [label for label in request.labels if label != str(rule.verdict)]
        shares = {label: (1.0 - SURE) / len(others) for label in others} | {str(rule.verdict): SURE}
    tokens = {label: token for token, label in request.choices.items()}
    by_token = {tokens.get(label, label): share for label, share in shares.items()}
    about = (request.body.get("seed", 0), request.body["messages"])
    chance = random.Random(orjson.dumps(about))
    token = chance.choices([*by_token], [*by_token.values()])[0]
    if not request.body.get("logprobs"):
        return token, None
    ranked = sorted(by_token.items(), key=lambda entry: -entry[1])
    listed = [
        {"token": label, "logprob": math.log(share) if share else NEVER, "bytes": None}
        for label, share in ranked
    ]
    chosen = next(entry for entry in listed if entry["token"] == token)
    top = listed[: request.body.get("top_logprobs", 0)]
    return token, {"content": [{**chosen, "top_logprobs": top}]}


def _entry(rule: Rule) -> dict[str, Any]:
    return {"reason": rule.reason, "evidence": rule.evidence, "verdict": rule.verdict}


def _combined(rules: Sequence[Rule]) -> Rule:
    """Combine the rules of several criteria of one request."""
    entries = {str(number): _entry(rule) for number, rule in enumerate(rules, start=1)}
    delay, thinking = max(rule.delay for rule in rules), rules[0].thinking
    return Rule(reply=json.dumps(entries), delay=delay, thinking=thinking)


def _by_keywords(request: JudgeRequest) -> str | dict[str, Any]:
    submission = request.submission.casefold()
    if request.items:
        named = {item: item.casefold() in submission for item in request.items}
        entries = [
            {"item": item, "classified": "positive" if here else "unmentioned", "quote": ""}
            for item, here in named.items()
        ]
        return {"items": entries, "others": []}
    if request.second:
        return _choose_better(request)
    if "MET" not in request.labels:
        labels = [label for label in request.labels if label.casefold() in submission]
        return [*labels, *request.labels, ""][0]
    words = _words(request)
    count = sum(word in submission for word in words)
    return "MET" if words and 2 * count >= len(words) else "UNMET"


def _choose_better(request: JudgeRequest) -> str:
    """The label of the submission that has more of the criterion's words."""
    words = _words(request)
    first, second = (
        sum(word in text.casefold() for word in words)
        for text in (request.submission, request.second)
    )
    return "EQUAL" if first == second else "FIRST" if first > second else "SECOND"


def _words(request: JudgeRequest) -> set[str]:
    return set(re.findall(r"\w{5,}", request.criterion.casefold()))


def _find_words(request: JudgeRequest) -> Rule:
    """The findings in a part of a long document: the criterion's words."""
    submission = request.submission.casefold()
    words = [word for word in sorted(_words(request)) if word in submission]
    label = "RELEVANT" if words else "NOTHING"
    return Rule(verdict=label, reason=f"has {len(words)} of the words", evidence=words)


def _error(
    status: int, message: str, headers: dict[str, str], body: dict[str, Any] | None = None
) -> web.Response:
    return _json(
        status, {"error": {"message": message, "type": "scripted"}} | (body or {}), headers
    )


async def _broken(raw: web.Request, rule: Rule) -> web.StreamResponse:
    if rule.fault == "hang":
        await asyncio.sleep(3600)
    if rule.fault == "drip":
        response = web.StreamResponse(headers={"Content-Length": "100000"})
        await response.prepare(raw)
        with contextlib.suppress(ConnectionError):  # until the client disconnects
            for _ in range(36_000):
                await response.write(b" ")
                await asyncio.sleep(0.1)
    if rule.fault == "not_json":
        return web.Response(text="<html>gateway</html>", content_type="text/html")
    if rule.fault == "truncate":
        response = web.StreamResponse(headers={"Content-Length": "5000"})
        await response.prepare(raw)
        await response.write(b'{"choices": [')
    if raw.transport is not None:
        raw.transport.abort()
    return web.Response()
