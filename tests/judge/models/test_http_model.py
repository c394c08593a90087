"""The HTTP model on real sockets: what it sends, what it understands, and what it never shows."""

from __future__ import annotations

import asyncio
import contextlib
import email.utils
import gzip
import inspect
import json
import re
import time
import zlib
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Any

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from rubricate import Criterion
from rubricate.dataset import Item
from rubricate.errors import InputError, ModelError
from rubricate.judge import Completion, Explained, HTTPModel, ModelJudge
from rubricate.judge.models import ModelPrice, Request
from rubricate.judge.models._forms import with_few_quotes
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

render, render_group = Explained().request, Explained().group_request
KEY = "sk-planted-0123456789"
REQUEST = render(Item("Light is fast."), Criterion(name="a", requirement="Says that it is fast"))
ANSWER = {"reason": "r", "evidence": [], "verdict": "MET"}

Handler = Callable[[web.Request], Any]


def body(**changes: Any) -> dict[str, Any]:
    """A complete answer; `changes` replace its top-level fields."""
    message = {"role": "assistant", "content": json.dumps(ANSWER)}
    return {"choices": [{"index": 0, "finish_reason": "stop", "message": message}], **changes}


def choice(finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    return body(choices=[{"index": 0, "finish_reason": finish_reason, "message": message}])


@contextlib.asynccontextmanager
async def serving(handler: Handler) -> AsyncIterator[str]:
    """A server on loopback whose every answer comes from `handler`; gives its base URL."""

    async def answer(request: web.Request) -> web.StreamResponse:
        reply = handler(request)
        if inspect.isawaitable(reply):
            reply = await reply
        return reply if isinstance(reply, web.StreamResponse) else web.json_response(reply)

    application = web.Application()
    application.router.add_route("*", "/{path:.*}", answer)
    async with TestServer(application) as server:
        yield str(server.make_url("/v1"))


def ask(handler: Handler, **options: Any) -> Completion:
    """One request to a server that answers with `handler`."""

    async def main() -> Completion:
        async with serving(handler) as url:
            model = HTTPModel("m", base_url=url, **options)
            try:
                return await model.complete(REQUEST)
            finally:
                await model.aclose()

    return asyncio.run(main())


def failure(handler: Handler, **options: Any) -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(handler, **options)
    return caught.value


def ask_scripted(model: HTTPModel, times: int = 1) -> list[Completion | ModelError]:
    """`times` requests one after another, in one loop; failures are in the list."""

    async def main() -> list[Completion | ModelError]:
        answers: list[Completion | ModelError] = []
        for _ in range(times):
            try:
                answers.append(await model.complete(REQUEST))
            except ModelError as error:
                answers.append(error)
        await model.aclose()
        return answers

    return asyncio.run(main())


def forms(endpoint: ScriptedEndpoint) -> list[str]:
    return [
        request.body.get("response_format", {"type": "text"})["type"]
        for request in endpoint.requests
    ]


# The way of structured output


@pytest.mark.parametrize(
    ("known", "tried"),
    [
        (["json_schema", "json_object", "text"], ["json_schema"] * 3),
        (["json_object", "text"], ["json_schema"] + ["json_object"] * 3),
        (["text"], ["json_schema", "json_object"] + ["text"] * 3),
    ],
    ids=["json_schema", "json_object", "text"],
)
def test_the_best_way_that_the_endpoint_knows_is_found_once_and_remembered(known, tried):
    with ScriptedEndpoint(formats=known) as endpoint:
        answers = ask_scripted(HTTPModel("m", base_url=endpoint.url), times=3)
    assert forms(endpoint) == tried
    assert [answer.usage.requests for answer in answers] == [len(tried) - 2, 1, 1]


def test_the_schema_is_sent_where_the_endpoint_knows_schemas(endpoint: ScriptedEndpoint):
    ask_scripted(HTTPModel("m", base_url=endpoint.url))
    sent = endpoint.requests[0].body["response_format"]["json_schema"]
    assert sent["strict"] is True
    assert sent["schema"] == with_few_quotes(REQUEST.schema)


def test_a_refusal_for_another_reason_does_not_cost_the_better_way():
    rules = [Rule(status=400, message="flagged by our policy", times=3)]
    with ScriptedEndpoint(rules) as endpoint:
        first, second, third = ask_scripted(HTTPModel("m", base_url=endpoint.url), times=3)
    assert isinstance(first, ModelError)
    assert (first.kind, first.usage.requests) == ("bad_request", 3)
    assert forms(endpoint)[3:] == ["json_schema", "json_schema"]
    assert second.usage.requests == third.usage.requests == 1


def test_once_a_way_has_worked_a_vague_refusal_is_not_tried_in_other_ways():
    rules = [Rule(verdict="MET", times=1), Rule(status=400, message="flagged", times=1)]
    with ScriptedEndpoint(rules) as endpoint:
        _, refused, after = ask_scripted(HTTPModel("m", base_url=endpoint.url), times=3)
    assert isinstance(refused, ModelError)
    assert forms(endpoint) == ["json_schema"] * 3
    assert after.usage.requests == 1


def test_free_text_is_asked_for_without_a_form_and_settles_none():
    asked: list[dict[str, Any]] = []

    async def main(url: str) -> None:
        model = HTTPModel("m", base_url=url)
        free = replace(REQUEST, schema=None)
        await model.complete(free)
        await model.complete(REQUEST)
        with pytest.raises(ModelError):
            await model.complete(replace(free, messages=({"role": "user", "content": "bad"},)))
        await model.aclose()

    def respond(request: JudgeRequest) -> Rule:
        asked.append(request.body)
        known = request.body.get("response_format", {}).get("type") != "json_schema"
        bad = request.body["messages"][-1]["content"] == "bad"
        return Rule(reply="text") if known and not bad else Rule(status=400, message="odd")

    with ScriptedEndpoint(respond=respond) as endpoint:
        asyncio.run(main(endpoint.url))
    forms = [body.get("response_format", {}).get("type") for body in asked]
    assert forms == [None, "json_schema", "json_object", None]
    assert "tags" not in str(asked[0]["messages"][-1])


def test_a_temperature_that_is_refused_by_name_is_left_out_from_then_on():
    def respond(request):
        if "temperature" in request.body:
            return Rule(status=400, message="Unsupported value: 'temperature'")
        return None

    with ScriptedEndpoint(respond=respond) as endpoint:
        ask_scripted(HTTPModel("m", base_url=endpoint.url), times=2)
    assert ["temperature" in request.body for request in endpoint.requests] == [True, False, False]
    assert forms(endpoint) == ["json_schema"] * 3


# What an answer holds


def test_tokens_and_the_billed_cost_are_read_and_unknown_where_there_are_none():
    said = {"prompt_tokens": 120, "completion_tokens": 30, "cost": 0.0125}
    said |= {"prompt_tokens_details": {"cached_tokens": 100}}
    found = ask(lambda request: body(usage=said)).usage
    assert (found.requests, found.input_tokens, found.output_tokens) == (1, 120, 30)
    assert (found.cached_tokens, found.cost) == (100, 0.0125)
    assert found.seconds > 0
    found = ask(lambda request: body()).usage
    assert (found.input_tokens, found.output_tokens, found.cost) == (0, 0, None)


PRICES = {"m": ModelPrice(input=100.0, output=200.0)}
READ = {"prompt_tokens": 100, "completion_tokens": 50}
PRICED = (100 * 100 + 50 * 200) / 1e6


@pytest.mark.parametrize(
    ("usage", "headers", "dollars"),
    [
        (READ, {}, PRICED),
        (READ, {"X-LiteLLM-Response-Cost": "0.5"}, 0.5),
        (READ | {"cost": 0.5}, {}, 0.5),
        (READ | {"cost": 0}, {}, PRICED),
        (READ | {"cost": 0.001, "is_byok": True}, {}, PRICED + 0.001),
        # What is written into the cache costs 1.25 times the input's price, for an hour twice.
        (
            {"input_tokens": 100, "output_tokens": 50}
            | {"cache_creation": {"ephemeral_5m_input_tokens": 4, "ephemeral_1h_input_tokens": 8}},
            {},
            PRICED + (4 * 125 + 8 * 200) / 1e6,
        ),
    ],
)
def test_the_cost_is_what_the_endpoint_says_or_that_of_the_tokens(
    usage: dict[str, Any], headers: dict[str, str], dollars: float
):
    def handler(request: web.Request) -> web.Response:
        return web.json_response(body(usage=usage), headers=headers)

    assert ask(handler, prices=PRICES).usage.cost == pytest.approx(dollars)


@pytest.mark.parametrize("broken", ["the connection", "the body"])
def test_what_an_answer_took_that_broke_off_behind_its_usage_is_read(broken: str):
    text = json.dumps({"usage": READ, **body()})[:-30].encode()

    async def handler(request: web.Request) -> web.StreamResponse:
        if broken == "the body":
            return web.Response(body=text)
        response = web.StreamResponse(headers={"Content-Length": "5000"})
        await response.prepare(request)
        await response.write(text)
        assert request.transport is not None
        request.transport.close()
        return response

    error = failure(handler, prices=PRICES)
    assert error.kind == "truncated"
    assert error.usage.cost == pytest.approx(PRICED)


def test_a_model_has_a_known_price_none_or_on_ones_own_machine_0(
    monkeypatch: pytest.MonkeyPatch, endpoint: ScriptedEndpoint
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint.url)
    monkeypatch.setenv("OLLAMA_BASE_URL", endpoint.url)
    models = [HTTPModel(f"openai/{name}") for name in ("gpt-4.1-mini", "no-such-model")]
    models += [HTTPModel("ollama/llama3"), HTTPModel(models[0].name, base_url=endpoint.url)]
    usages = [ask_scripted(model)[0].usage for model in models]
    # 0.40 and 1.60 US dollars per million tokens, since April 2025
    price = (0.4 * usages[0].input_tokens + 1.6 * usages[0].output_tokens) / 1e6
    assert price > 0
    assert [usage.cost for usage in usages] == [pytest.approx(price), None, 0.0, None]


def test_content_in_parts_is_joined_and_null_is_an_empty_reply():
    parts = [{"type": "text", "text": "<verdict>"}, {"type": "image"}, {"text": "MET</verdict>"}]
    assert ask(lambda request: choice(content=parts)).text == "<verdict>MET</verdict>"
    assert ask(lambda request: choice(content=None)).text == ""


@pytest.mark.parametrize(
    ("reply", "kind", "is_retryable"),
    [
        (choice(refusal="I would rather not."), "refused", False),
        (choice("content_filter", content="{"), "refused", False),
        (choice("SAFETY", content="{"), "refused", False),
        (choice("error", content=json.dumps(ANSWER)), "server", True),
        (choice("abort", content=json.dumps(ANSWER)), "server", True),
    ],
)
def test_a_refusal_is_not_retried_and_a_reply_that_ended_as_an_error_is(reply, kind, is_retryable):
    error = failure(lambda request: reply)
    assert (error.kind, error.retryable, error.fatal) == (kind, is_retryable, False)
    assert (reply["choices"][0]["message"].get("refusal") or "") in str(error)


@pytest.mark.parametrize(
    ("problem", "kind", "text"),
    [
        ({"message": "overloaded", "type": "server_error"}, "server", "overloaded"),
        ({"message": "slow down", "code": 429}, "rate_limit", "slow down"),
        ("broken", "server", "broken"),
    ],
)
def test_an_error_object_with_status_200_is_an_error(problem: Any, kind: str, text: str):
    error = failure(lambda request: {"error": problem})
    assert error.kind == kind
    assert text in str(error)


@pytest.mark.parametrize("content", ["<html>", "[]", "", '{"choices": []}', '{"choices": [{}]}'])
def test_a_body_that_is_no_answer_may_be_asked_for_again(content: str):
    error = failure(lambda request: web.Response(text=content))
    assert (error.kind, error.retryable) == ("truncated", True)


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (400, "This model's maximum context length is 8192 tokens", "context_length"),
        (401, "no", "auth"),
        (403, "no", "auth"),
        (404, "no such model", "not_found"),
        (408, "slow", "timeout"),
        (413, "large", "context_length"),
        (422, "odd", "bad_request"),
        (429, "slow down", "rate_limit"),
        (500, "oops", "server"),
        (503, "down", "server"),
        (503, "Loading model", "loading"),
        (529, "overloaded", "server"),
    ],
)
def test_a_status_becomes_a_kind_of_error(status: int, message: str, kind: str):
    error = failure(lambda r: web.json_response({"error": {"message": message}}, status=status))
    assert (error.kind, error.status) == (kind, status)
    assert message in str(error)


@pytest.mark.parametrize(
    ("status", "error", "kind"),
    [
        (400, {"message": "The model `x` does not exist", "code": "model_not_found"}, "not_found"),
        (429, {"message": "You exceeded your quota", "code": "insufficient_quota"}, "auth"),
        (400, {"message": "API key not valid. Please pass a valid one.", "code": 400}, "auth"),
    ],
    ids=["a model that llama-cpp-python does not have", "an empty account", "Gemini's wrong key"],
)
def test_what_no_later_request_can_change_is_told_by_its_code_and_fatal(status, error, kind):
    problem = [{"error": error}] if kind == "auth" and status == 400 else {"error": error}
    found = failure(lambda request: web.json_response(problem, status=status))
    assert (found.kind, found.fatal) == (kind, True)
    assert f"HTTP {status}: {error['message']}" in str(found)


@pytest.mark.parametrize(
    ("headers", "low", "high"),
    [
        ({"Retry-After": "2"}, 2.0, 2.0),
        ({"Retry-After": "0.25"}, 0.25, 0.25),
        ({"Retry-After": "2", "retry-after-ms": "1500"}, 1.5, 1.5),
        ({"Retry-After": "-3"}, 0.0, 0.0),
        ({"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}, 0.0, 0.0),
        ({"Retry-After": None}, 3000.0, 3601.0),
    ],
    ids=["seconds", "part_of_a_second", "milliseconds", "negative", "past_date", "date_in_an_hour"],
)
def test_the_wait_that_the_endpoint_asks_for_is_read(headers, low: float, high: float):
    if headers["Retry-After"] is None:
        headers = {"Retry-After": email.utils.formatdate(time.time() + 3600, usegmt=True)}
    error = failure(lambda request: web.json_response({}, status=429, headers=headers))
    assert low <= error.retry_after <= high


@pytest.mark.parametrize("value", ["soon", "", "inf", "nan", "Wed, 21 Oct 99999999999 07:28:00"])
def test_a_wait_that_cannot_be_read_is_none(value: str):
    error = failure(lambda r: web.json_response({}, status=429, headers={"Retry-After": value}))
    assert error.retry_after is None


# Trouble on the way


@pytest.mark.parametrize(
    ("fault", "kind", "options"),
    [
        ("reset", "connection", {}),
        ("truncate", "truncated", {}),
        ("not_json", "truncated", {}),
        ("hang", "timeout", {"timeout": 0.1}),
    ],
)
def test_a_broken_exchange_may_be_tried_again(fault: Any, kind: str, options: dict[str, Any]):
    with ScriptedEndpoint([Rule(fault=fault)]) as endpoint:
        (error,) = ask_scripted(HTTPModel("m", base_url=endpoint.url, **options))
    assert (error.kind, error.retryable) == (kind, True)


def test_nobody_listening_is_a_connection_error_that_names_the_address(unused_url: str):
    (error,) = ask_scripted(HTTPModel("m", base_url=unused_url))
    assert error.kind == "connection"
    assert unused_url in str(error)


@pytest.mark.parametrize(
    ("url", "wrong"),
    [
        ("http://me:secret-word@host/v1", "must not contain a user name or password"),
        ("https://host/v1?key=secret-word", "without '?' or '#'"),
        ("https://host/v1#secret-word", "without '?' or '#'"),
        ("http://:80/v1", "not a usable address"),
    ],
)
def test_an_address_that_cannot_be_one_is_refused_and_not_repeated(url: str, wrong: str):
    with pytest.raises(InputError, match=re.escape(wrong)) as caught:
        HTTPModel("m", base_url=url)
    assert "secret-word" not in str(caught.value)


def test_a_redirect_says_where_it_leads_without_what_may_be_secret_there():
    headers = {"Location": "https://judge.invalid/v1/chat/completions?key=abc"}
    error = failure(lambda request: web.Response(status=302, headers=headers))
    assert "give the right address as the base URL" in str(error)
    assert str(error).endswith("leads to https://judge.invalid/v1/chat/completions")


def compressed(encoding: str, content: bytes, status: int = 200) -> Handler:
    headers = {"Content-Encoding": encoding}
    return lambda request: web.Response(body=content, status=status, headers=headers)


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [("gzip", gzip.compress), ("GZip", gzip.compress), ("deflate", zlib.compress)],
)
def test_an_answer_that_is_compressed_though_nobody_asked_is_read(
    encoding: str, pack: Callable[[bytes], bytes]
):
    content = pack(json.dumps(body()).encode())
    assert json.loads(ask(compressed(encoding, content)).text) == ANSWER
    problem = pack(json.dumps({"error": {"message": "out of order"}}).encode())
    assert str(failure(compressed(encoding, problem, 503))).startswith("HTTP 503: out of order")


@pytest.mark.parametrize(
    ("content", "encoding", "kind", "text"),
    [
        (b"anything", "br", "bad_request", "compressed by 'br'"),
        (gzip.compress(b"{}")[:-4], "gzip", "truncated", "cut off, or too long"),
        (gzip.compress(b" " * (17 << 20)), "gzip", "truncated", "cut off, or too long"),
        (b"no gzip", "gzip", "truncated", "cannot be unpacked"),
    ],
    ids=["unknown", "cut off", "too long", "damaged"],  # packed bytes have the time in them
)
def test_a_compressed_answer_that_cannot_be_read_says_so(
    content: bytes, encoding: str, kind: str, text: str
):
    error = failure(compressed(encoding, content))
    assert error.kind == kind
    assert text in str(error)
    assert error.usage.cost is None  # it was answered, and nobody can read what it took


def test_an_empty_answer_is_called_so():
    error = failure(lambda request: web.Response(body=b""))
    assert (error.kind, str(error)[:19]) == ("truncated", "the answer is empty")


def test_what_could_do_something_to_a_terminal_is_not_in_a_message():
    text = failure(lambda request: web.Response(body=b"\x1b]0;title\x07 \x1b[31m red")).args[0]
    assert text.isprintable()
    assert "red" in text


# The key


@pytest.mark.parametrize(("key", "left"), [(KEY, False), ("short", True)])
def test_a_reply_that_repeats_the_key_is_read_without_it(
    monkeypatch: pytest.MonkeyPatch, key: str, left: bool
):
    monkeypatch.setenv("RUBRICATE_API_KEY", key)
    reply = json.dumps({**ANSWER, "reason": f"you sent {key}"})
    found = ask(lambda request: choice(content=reply)).text
    assert (key in found) is left  # a short one may be a word
    assert json.loads(found)["verdict"] == "MET"


def test_the_key_is_sent_as_a_bearer_token_and_without_one_nothing(monkeypatch: pytest.MonkeyPatch):
    seen: list[str | None] = []

    def handler(request: web.Request) -> dict[str, Any]:
        seen.append(request.headers.get("Authorization"))
        return body()

    ask(handler)
    monkeypatch.setenv("RUBRICATE_API_KEY", f" {KEY}\n")
    ask(handler)
    assert seen == [None, f"Bearer {KEY}"]


@pytest.mark.parametrize("status", [401, 403])
def test_a_refused_key_and_one_that_is_not_set_are_named(status, monkeypatch):
    def handler(request: web.Request) -> web.Response:
        return web.json_response({"error": "wrong"}, status=status)

    assert "set the environment variable RUBRICATE_API_KEY" in str(failure(handler))
    monkeypatch.setenv("RUBRICATE_API_KEY", KEY)
    error = failure(handler)
    assert error.fatal
    assert "check the key in the environment variable RUBRICATE_API_KEY" in str(error)


@pytest.mark.parametrize(
    "handler",
    [
        lambda r: web.json_response({"error": {"message": f"bad key {KEY}"}}, status=401),
        lambda r: web.json_response({"error": {"message": f"bad key {KEY}"}}, status=500),
        lambda r: web.json_response({"error": {"message": "x" * 290 + KEY}}, status=400),
        lambda r: web.Response(text="x" * 270 + KEY, status=502),
        lambda r: web.Response(text=f"<html>{KEY}"),
        lambda r: web.Response(text="x" * 290 + KEY),
        lambda r: {"error": {"message": f"bad key {KEY}"}},
        lambda r: choice(refusal=f"I will not say {KEY}"),
    ],
)
def test_no_error_repeats_the_key_or_a_part_of_it(
    handler: Handler, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("RUBRICATE_API_KEY", KEY)
    error = failure(handler)
    shown = repr(error) + str(error) + repr(vars(error)) + repr(error.__cause__)
    assert KEY not in shown
    assert KEY[:8] not in shown


def test_a_model_does_not_show_its_key(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = HTTPModel("openai/m")
    assert KEY not in repr(model) + repr(ModelJudge(model)) + json.dumps(model.fingerprint())


# Connections


def connections_of(*rounds: int) -> list[int]:
    """How many connections each round took: a round is a loop that asks so many times."""
    counts: list[int] = []
    with ScriptedEndpoint() as endpoint:
        model = HTTPModel("m", base_url=endpoint.url)

        async def one_round(times: int) -> None:
            for _ in range(times):
                await model.complete(REQUEST)
            (connections,) = model._connections.values()
            counts.append(len(connections._all))
            await model.aclose()

        for times in rounds:
            asyncio.run(one_round(times))
        assert len(endpoint.requests) == sum(rounds)
    return counts


def test_the_calls_of_one_loop_share_a_connection_and_another_loop_gets_its_own():
    assert connections_of(5, 3) == [1, 1]


def test_the_fingerprint_has_model_address_and_temperature_and_no_key(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("RUBRICATE_API_KEY", KEY)
    model = HTTPModel("m", base_url="http://host/v1", temperature=0.5)
    assert model.fingerprint() == {"model": "m", "endpoint": "http://host/v1", "temperature": 0.5}


def test_the_journal_key_changes_with_model_address_and_temperature():
    given = {"name": "m", "base_url": "http://host/v1", "temperature": 0.0}
    others = [{}, {"name": "n"}, {"base_url": "http://other/v1"}]
    others += [{"temperature": 1.0}, {"temperature": None}]
    judges = [ModelJudge(HTTPModel(**{**given, **other})) for other in others]
    keys = {judge.key(Item("s"), Criterion(name="a", requirement="r")) for judge in judges}
    assert len(keys) == len(others)


def payload_of(model: HTTPModel, request: Request) -> dict[str, Any]:
    """What is posted."""
    wire = model._wire
    return wire.payload(model._model, request, request.messages, model._form, model._sampling)


def test_claude_behind_openrouter_is_told_what_to_keep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k")
    request = render(Item("a text", "a task"), Criterion(requirement="Is short"))
    plain = payload_of(HTTPModel("openrouter/openai/m"), request)
    marked = payload_of(HTTPModel("openrouter/anthropic/m"), request)
    first, second = marked["messages"][1]["content"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert first["text"] + second["text"] == plain["messages"][1]["content"]
    assert first["text"].endswith("</submission-" + first["text"].rsplit("-", 1)[1])
    assert "Is short" in second["text"]
    assert "Is short" not in first["text"]


@pytest.mark.parametrize("choices", [(), ("A", "B")])
def test_the_most_tokens_of_a_reply_are_named_as_the_endpoint_names_them(choices):
    asked: list[dict[str, Any]] = []

    async def respond(request: web.Request) -> web.Response:
        asked.append(await request.json())
        if "max_tokens" in asked[-1]:
            message = "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."
            return web.json_response({"error": {"message": message}}, status=400)
        return web.json_response(body())

    request = replace(REQUEST, choices=choices, schema=None if choices else REQUEST.schema)

    async def main() -> None:
        async with serving(respond) as url:
            model = HTTPModel("m", base_url=url, max_tokens=70)
            await model.complete(request)
            await model.aclose()

    asyncio.run(main())
    assert asked[-1]["max_completion_tokens"] == (4 if choices else 70)
    assert "max_tokens" not in asked[-1]


def test_the_most_tokens_of_a_reply_are_part_of_what_the_model_is():
    free, bounded = (HTTPModel("m", base_url="http://x/v1", max_tokens=most) for most in (None, 70))
    assert "max_tokens" not in free.fingerprint()
    assert bounded.fingerprint()["max_tokens"] == 70
    with pytest.raises(InputError, match="at least 1, found 0"):
        HTTPModel("m", base_url="http://x/v1", max_tokens=0)


def test_a_server_whose_model_was_loaded_without_logprobs_is_asked_without():
    asked: list[dict[str, Any]] = []

    async def respond(request: web.Request) -> web.Response:
        asked.append(await request.json())
        if "logprobs" in asked[-1]:  # llama-cpp-python
            message = "logprobs is not supported for models created with logits_all=False"
            error = {"message": message, "type": "internal_server_error"}
            return web.json_response({"error": error}, status=500)
        return web.json_response(body())

    async def main() -> Completion:
        async with serving(respond) as url:
            model = HTTPModel("m", base_url=url)
            completion = await model.complete(replace(REQUEST, choices=("A", "B"), schema=None))
            await model.aclose()
            return completion

    completion = asyncio.run(main())
    assert completion.probabilities is None
    assert len(asked) == 2


@pytest.mark.parametrize(
    ("name", "url", "bounded"), [("m", "http://x/v1", True), ("openai/m", None, False)]
)
def test_a_server_of_ones_own_is_told_how_many_quotes_a_reply_may_have(
    name: str, url: str | None, bounded: bool, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = HTTPModel(name, base_url=url)
    group = render_group(
        Item("Light is fast."),
        [Criterion(name=one, requirement="Says so") for one in "ab"],
    )
    for request in (REQUEST, group):
        sent = payload_of(model, request)["response_format"]["json_schema"]["schema"]
        assert ('"maxItems": 8' in json.dumps(sent)) is bounded
        assert "maxItems" not in json.dumps(request.schema)


UNMET = json.dumps({"reason": "r", "evidence": [], "verdict": "UNMET"})
MET = json.dumps(ANSWER)


def call(arguments: Any) -> dict[str, Any]:
    function = {"name": "judgement", "arguments": arguments}
    return {"id": "1", "type": "function", "function": function}


@pytest.mark.parametrize(
    ("finish_reason", "message", "found"),
    [
        ("stop", {"content": UNMET}, "UNMET"),
        ("stop", {"content": UNMET, "reasoning_content": MET}, "UNMET"),
        ("stop", {"content": UNMET, "tool_calls": [call("{}")]}, "UNMET"),
        ("stop", {"content": UNMET, "tool_calls": [call(MET)]}, "a text and a tool call"),
        ("stop", {"content": UNMET, "function_call": {"arguments": MET}}, "a text and a tool call"),
        ("tool_calls", {"reasoning_content": MET, "tool_calls": [call(UNMET)]}, "more than one"),
        ("tool_calls", {"reasoning_content": "Is it?", "tool_calls": [call(UNMET)]}, "UNMET"),
        ("stop", {"content": "", "reasoning_content": MET, "reasoning": UNMET}, "more than one"),
        ("stop", {"content": "", "reasoning_content": UNMET, "reasoning": UNMET}, "UNMET"),
        ("stop", {"content": [{"type": "text", "text": UNMET}]}, "UNMET"),
        (
            "stop",
            {"content": [{"type": "reasoning", "text": MET}, {"type": "text", "text": UNMET}]},
            "UNMET",
        ),
        ("stop", {"content": "", "reasoning_content": UNMET}, "UNMET"),
        ("stop", {"content": None, "reasoning": f"\n{UNMET}"}, "UNMET"),
        ("stop", {"content": " \n", "reasoning": f"```json\n{UNMET}\n```"}, "UNMET"),
        ("tool_calls", {"content": None, "tool_calls": [call(UNMET)]}, "UNMET"),
        ("tool_calls", {"content": None, "tool_calls": [call(json.loads(UNMET))]}, "UNMET"),
        ("function_call", {"content": None, "function_call": {"arguments": UNMET}}, "UNMET"),
        (None, {"content": UNMET}, "UNMET"),
        ("stop", {"content": "", "reasoning_content": f"Perhaps {MET}"}, "not one whole"),
        ("stop", {"content": "", "reasoning_content": f"Perhaps:\n{MET}"}, "not one whole"),
        ("stop", {"content": "", "reasoning_content": f"{MET}\nBut no."}, "not one whole"),
        ("stop", {"content": "", "reasoning_content": "It is met."}, "its reasoning or tool call"),
        ("stop", {"content": "It is met.", "reasoning_content": MET}, "no JSON object"),
        ("tool_calls", {"content": None, "tool_calls": [call(MET), call(MET)]}, "empty"),
        ("tool_calls", {"content": None, "tool_calls": [call("")]}, "empty"),
        ("tool_calls", {"content": None, "tool_calls": [call("[]")]}, "a JSON list"),
        ("tool_calls", {"content": None, "tool_calls": "MET"}, "empty"),
        ("stop", {"content": ""}, "the reply is empty"),
        ("length", {"content": MET}, "cut off"),
        ("length", {"content": "", "reasoning_content": MET}, "cut off"),
        ("max_tokens", {"content": MET}, "cut off"),
        ("MAX_TOKENS", {"content": MET}, "cut off"),
        ("model_length", {"content": MET}, "cut off"),
    ],
)
def test_an_answer_is_read_where_endpoints_put_it_and_only_whole(
    finish_reason: Any, message: dict[str, Any], found: str
):
    asked: list[dict[str, Any]] = []

    async def respond(request: web.Request) -> dict[str, Any]:
        asked.append(await request.json())
        return choice(finish_reason, **{"role": "assistant", "content": "", **message})

    async def main() -> Any:
        async with serving(respond) as url:
            model = HTTPModel("m", base_url=url)
            criterion = Criterion(name="a", requirement="Says that it is fast")
            verdict = await ModelJudge(model, reasks=1).judge(
                Item("Light is fast."), criterion, lambda model, request: model.complete(request)
            )
            await model.aclose()
            return verdict

    verdict = asyncio.run(main())
    if found == "UNMET":
        assert (verdict.label, verdict.reason, len(asked)) == ("UNMET", "r", 1)
    else:
        assert (verdict.status, verdict.error.kind, len(asked)) == ("failed", "unreadable_reply", 2)
        assert found in verdict.error.message
        assert found in asked[1]["messages"][-1]["content"]


@pytest.mark.parametrize("temperature", [-0.1, float("nan"), float("inf")])
def test_a_temperature_that_cannot_be_one_is_refused(temperature: float):
    with pytest.raises(InputError, match="temperature must be 0 or more"):
        HTTPModel("m", base_url="http://127.0.0.1:9/v1", temperature=temperature)
