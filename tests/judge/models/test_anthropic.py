"""Anthropic's Messages interface: what is sent, what is read, and what it costs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest
from aiohttp import web

import rubricate
from rubricate import Criterion, HTTPModel, Rubric, RubricDataset, ScaleCriterion
from rubricate.errors import ModelError, RunStopped
from rubricate.judge.models import ModelPrice
from rubricate.judge.models._anthropic import reply
from rubricate.testing import Rule, ScriptedEndpoint

KEY = "sk-ant-0123456789abcdef"
JUDGE = "anthropic/claude-sonnet-4-5"
PRICES = {JUDGE: ModelPrice(input=3.0, output=15.0, cached_input=0.3, cache_write=3.75)}
MOST_NAMES = {
    *("model", "max_tokens", "messages", "system", "temperature", "tools", "tool_choice"),
    *("thinking", "output_config"),
}
"""What the interface knows of a request, as far as it is sent; it refuses other fields."""


class MessagesEndpoint(ScriptedEndpoint):
    """The scripted endpoint behind Anthropic's interface, which bills as Anthropic does.

    Attributes:
        bodies: what was posted, with the headers.
        billed: US dollars at the prices above.
        structured: whether the model has structured output.
        change: what replaces parts of each body of success.
    """

    _path = "/v1/messages"

    def __init__(self, rules: Any = (), *, structured: bool = True, **options: Any) -> None:
        super().__init__(rules, **options)
        self.bodies: list[tuple[dict[str, Any], dict[str, str]]] = []
        self.billed = 0.0
        self.structured = structured
        self.change: dict[str, Any] = {}

    async def _complete(self, raw: web.Request) -> web.StreamResponse:
        body = orjson.loads(await raw.read())
        self.bodies.append((body, dict(raw.headers)))
        if raw.headers.get("x-api-key") != KEY or raw.headers["anthropic-version"] != "2023-06-01":
            return refusal(401, "authentication_error", "invalid x-api-key")
        output = body.get("output_config", {}).get("format")
        if unknown := body.keys() - MOST_NAMES:
            return refusal(400, "invalid_request_error", f"{unknown}: Extra inputs not permitted")
        if output and not self.structured:
            return refusal(400, "invalid_request_error", "this model has no output_config.format")
        if any(word in json.dumps(output) for word in ("minimum", "maximum")):
            return refusal(400, "invalid_request_error", "output_config: bounds not supported")
        thinks = body.get("thinking", {}).get("type") == "enabled"
        if thinks and ("temperature" in body or "tool_choice" in body):
            return refusal(400, "invalid_request_error", "may not be set when thinking is enabled")
        if thinks and body["max_tokens"] <= body["thinking"]["budget_tokens"]:
            return refusal(400, "invalid_request_error", "max_tokens must be above budget_tokens")
        if not all(texts_of(message)[-1].strip() for message in body["messages"]):
            return refusal(400, "invalid_request_error", "text content blocks must be non-empty")
        usual = [{"role": "system", "content": body.get("system", "")}]
        usual += [
            {"role": message["role"], "content": "".join(texts_of(message))}
            for message in body["messages"]
        ]
        form = "json_schema" if output else "json_object" if "tools" in body else "text"
        asked = {"model": body["model"], "messages": usual, "response_format": {"type": form}}
        if form == "text":
            del asked["response_format"]
        raw._read_bytes = orjson.dumps(asked)
        response = await super()._complete(raw)
        if not isinstance(response, web.Response) or response.status != 200:
            return response
        given = orjson.loads(response.body)
        answer = self.batches._messages.reply(body, given)
        (block,) = answer["content"]
        if form == "json_object":
            block = {
                "type": "tool_use",
                "id": "t",
                "name": "judgement",
                "input": json.loads(block["text"]),
            }
            answer["stop_reason"] = "tool_use"
        thought = [{"type": "thinking", "thinking": '{"verdict": "UNMET"}', "signature": "s"}]
        answer["content"] = [*(thought if thinks else []), block]
        for count, price in zip(answer["usage"].values(), (3, 0.3, 3.75, 15), strict=True):
            self.billed += count * price / 1e6
        limits = {"limit": "50", "remaining": "49", "reset": "2026-01-01T00:00:01Z"}
        headers = {f"anthropic-ratelimit-requests-{name}": part for name, part in limits.items()}
        return web.json_response(answer | self.change, headers=headers)


def texts_of(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    return [content] if isinstance(content, str) else [part["text"] for part in content]


def refusal(status: int, kind: str, message: str) -> web.Response:
    error = {"type": "error", "error": {"type": kind, "message": message}, "request_id": "r"}
    return web.json_response(error, status=status)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[MessagesEndpoint]:
    with MessagesEndpoint() as listening:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", listening.url.removesuffix("/v1"))
        yield listening


def dataset(items: int = 3, *criteria: Criterion, size: int = 1) -> RubricDataset:
    asked = criteria or (Criterion(name="speed", requirement="Gives the speed of light"),)
    data = RubricDataset("How fast is light?", Rubric(asked))
    for number in range(items):
        data.add_item(f"The speed of light is 299792 km/s, answer {number}. " * size)
    return data


def test_a_run_sends_what_the_interface_asks_for_and_is_resumed(
    endpoint: MessagesEndpoint, tmp_path: Path
):
    asked = [Criterion(name=n, requirement=f"Gives the {n} of light") for n in ("speed", "hue")]
    for _ in range(2):
        result = rubricate.grade(dataset(3, *asked), JUDGE, run_dir=tmp_path / "run", cache=None)
        assert [item.criteria["speed"].label for item in result] == ["MET"] * 3
        assert len(endpoint.bodies) == 6
    body, headers = endpoint.bodies[0]
    assert headers["x-api-key"] == KEY
    assert "Authorization" not in headers
    assert body["model"] == "claude-sonnet-4-5"
    assert body["system"].startswith("You grade a submission")
    assert body["temperature"] == 0.0
    assert body["max_tokens"] == 8192
    assert body["output_config"]["format"]["schema"]["required"][-1] == "verdict"
    first, second = body["messages"][0]["content"]
    assert first["cache_control"] == {"type": "ephemeral"}
    assert "cache_control" not in second
    assert "299792" in first["text"]
    assert "Gives the speed" in second["text"]
    for file in (tmp_path / "run").iterdir():
        assert KEY.encode() not in file.read_bytes()


def test_cache_reads_and_writes_are_billed_and_make_single_questions_affordable(
    endpoint: MessagesEndpoint,
):
    asked = [Criterion(name=f"c{n}", requirement=f"Gives number {n}") for n in range(20)]
    data, model = dataset(5, *asked, size=520), HTTPModel(JUDGE, prices=PRICES)
    alone = rubricate.grade(data, model, cache=None)
    assert alone.usage.requests == 100
    assert alone.failed == 0
    assert alone.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)
    together = rubricate.grade(data, model, cache=None, criteria_per_call="all")
    assert together.usage.requests == 5
    assert together.usage.cached_tokens == 0
    assert alone.usage.cost + together.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)
    input_alone, input_together = (
        result.usage.cost - result.usage.output_tokens * 15 / 1e6 for result in (alone, together)
    )
    assert input_alone < 3.3 * input_together


@pytest.mark.parametrize(
    ("options", "structured", "where"),
    [
        ({}, True, "output_config"),
        ({}, False, "tools"),
        ({"structured": "json"}, True, "tools"),
        ({"structured": "text"}, True, None),
        ({"model_options": {"thinking": {"type": "enabled", "budget_tokens": 9000}}}, True, None),
        (
            {
                "model_options": {"thinking": {"type": "enabled", "budget_tokens": 2000}},
                "structured": "json",
            },
            True,
            None,
        ),
        ({"model_options": {"output_config": {"effort": "low"}}}, True, "output_config"),
    ],
)
def test_each_form_of_reply_gives_the_verdicts_of_the_compatible_interface(
    endpoint: MessagesEndpoint, options: dict[str, Any], structured: bool, where: str | None
):
    endpoint.structured = structured
    data = dataset(
        4,
        Criterion(name="speed", requirement="Gives the speed of light"),
        Criterion(name="colour", requirement="Mentions violet colours"),
        ScaleCriterion(name="depth", requirement="How deep", low=1, high=5),
    )
    result = rubricate.grade(data, JUDGE, cache=None, **options)
    assert result.failed == 0
    with ScriptedEndpoint() as usual:
        form = {"structured": options["structured"]} if "structured" in options else {}
        compatible = rubricate.grade(data, "m", base_url=usual.url, cache=None, **form)
    labels = [[(name, v.label) for name, v in i.criteria.items()] for i in (*result, *compatible)]
    assert labels[:4] == labels[4:]
    assert where is None or where in endpoint.bodies[-1][0]
    assert len(endpoint.bodies) <= 12 + (0 if structured else 3)
    if "model_options" in options and where == "output_config":
        assert endpoint.bodies[-1][0]["output_config"]["effort"] == "low"


@pytest.mark.parametrize(
    ("change", "status", "message"),
    [
        ({"stop_reason": "refusal", "content": []}, "refused", "the model refused"),
        ({"stop_reason": "model_context_window_exceeded"}, "context_length", "context"),
        ({"content": [], "stop_reason": "end_turn"}, "unreadable_reply", "empty"),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": '{"reason": "", "verdict": "MET"}'},
                    {"type": "text", "text": ""},
                ]
            },
            "unreadable_reply",
            "empty",
        ),
        (
            {"content": [{"type": "text", "text": '{"reason": "Yes'}], "stop_reason": "max_tokens"},
            "unreadable_reply",
            "",
        ),
    ],
)
def test_what_is_no_answer_fails_and_is_billed(
    endpoint: MessagesEndpoint, change: dict[str, Any], status: str, message: str
):
    endpoint.change = change
    result = rubricate.grade(dataset(1), HTTPModel(JUDGE, prices=PRICES), cache=None)
    (verdict,) = [verdict for _, verdict in result.verdicts()]
    assert verdict.error is not None
    assert verdict.error.kind == status
    assert message in verdict.error.message
    assert result.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)


@pytest.mark.parametrize("status", [429, 500, 529])
def test_overload_is_tried_again(
    monkeypatch: pytest.MonkeyPatch, endpoint: MessagesEndpoint, status: int
):
    endpoint._rules.append(
        Rule(status=status, message="Overloaded", headers={"retry-after": "0"}, times=2)
    )
    result = rubricate.grade(dataset(2), JUDGE, cache=None)
    assert result.failed == 0
    assert len(endpoint.bodies) == result.usage.requests == 4


@pytest.mark.parametrize(
    ("status", "message"), [(401, "invalid x-api-key"), (400, "Your credit balance is too low")]
)
def test_a_key_or_an_account_that_is_refused_ends_the_run(
    endpoint: MessagesEndpoint, status: int, message: str
):
    endpoint._rules.append(Rule(status=status, message=message))
    with pytest.raises(RunStopped, match=message):
        rubricate.grade(dataset(5), JUDGE, cache=None, concurrency=1)
    assert len(endpoint.bodies) == 1


def test_a_reply_without_text_is_asked_again_without_an_empty_message(endpoint: MessagesEndpoint):
    endpoint._rules.append(Rule(reply="", times=1))
    result = rubricate.grade(dataset(1), JUDGE, cache=None)
    assert result.failed == 0
    assert len(endpoint.bodies) == 2


def test_a_rubric_of_one_criterion_pays_for_no_cache(endpoint: MessagesEndpoint):
    result = rubricate.grade(dataset(2, size=520), HTTPModel(JUDGE, prices=PRICES), cache=None)
    assert result.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)
    assert "cache_control" not in json.dumps([body for body, _ in endpoint.bodies])


def test_a_body_without_content_is_no_reply():
    with pytest.raises(ModelError, match="no content"):
        reply({"type": "message", "stop_reason": "end_turn"})


def test_the_rate_that_is_left_is_read(endpoint: MessagesEndpoint):
    import asyncio

    from rubricate.judge import Request

    async def ask() -> Any:
        model = HTTPModel(JUDGE)
        try:
            return await model.complete(Request(({"role": "user", "content": "Say hello"},)))
        finally:
            await model.aclose()

    completion = asyncio.run(ask())
    assert completion.quota.requests[:2] == (50.0, 49.0)
    assert completion.finish_reason == "end_turn"
    assert not completion.cut_off


def test_an_address_keeps_its_version_and_the_keys_of_answers_are_as_before(
    monkeypatch: pytest.MonkeyPatch,
):
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    usual = HTTPModel(JUDGE).fingerprint()
    assert usual["endpoint"] == "https://api.anthropic.com/v1"
    for address in ("https://api.anthropic.com", "https://api.anthropic.com/v1/"):
        monkeypatch.setenv("ANTHROPIC_BASE_URL", address)
        assert HTTPModel(JUDGE).fingerprint() == usual


def test_an_address_of_ones_own_speaks_the_compatible_interface():
    with ScriptedEndpoint() as usual:
        result = rubricate.grade(dataset(1), JUDGE, base_url=usual.url, cache=None)
    assert result.failed == 0
    assert len(usual.requests) == 1


def test_a_long_system_prompt_is_cached_for_all_items(monkeypatch: pytest.MonkeyPatch):
    guidelines = "Light in vacuum is meant, unless the text says otherwise. " * 100
    asked = [Criterion(name="speed", requirement="Gives the speed of light")]
    data = RubricDataset("How fast is light?", Rubric(asked, guidelines=guidelines))
    for number in range(4):
        data.add_item(f"The speed of light is 299792 km/s, answer {number}.")
    with ScriptedEndpoint([Rule(verdict="MET", reason="It says so. " * 38)]) as usual:
        monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
        monkeypatch.setenv("ANTHROPIC_BASE_URL", usual.url)
        model = HTTPModel(JUDGE, prices=PRICES)
        dry = rubricate.estimate(data, model)
        result = rubricate.grade(data, model, cache=None, concurrency=1)
        written = [usage["cache_creation_input_tokens"] for usage in usual.batches.usages]
        read = [usage["cache_read_input_tokens"] for usage in usual.batches.usages]
    assert written[0] > 1024
    assert (written[1:], read) == ([0, 0, 0], [0, *written[:1] * 3])
    assert dry.cost_with_cache.likely == pytest.approx(result.usage.cost, rel=0.1)


FAULTS: list[Rule] = [
    *(Rule(fault=fault, times=2) for fault in ("reset", "truncate", "not_json", "hang", "drip")),
    *(Rule(status=status, times=2) for status in (408, 409, 429, 500, 503, 529)),
    Rule(reply='{"reason": "It says', times=2),
    Rule(reply="", times=2),
    Rule(reply="I cannot say.", times=2),
]


@pytest.mark.parametrize("judge", [JUDGE, "openai-responses/gpt-5-mini"])
@pytest.mark.parametrize(
    "fault", FAULTS, ids=lambda rule: str(rule.fault or rule.status or "reply")
)
def test_faults_cost_no_verdict_and_verdicts_are_those_of_the_chat_interface(
    monkeypatch: pytest.MonkeyPatch, judge: str, fault: Rule
):
    data = dataset(
        6,
        Criterion(name="speed", requirement="Gives the speed of light"),
        Criterion(name="colour", requirement="Mentions violet colours"),
    )
    results = []
    for name in (judge, "m"):
        with ScriptedEndpoint([fault]) as usual:
            for company in ("ANTHROPIC", "OPENAI"):
                monkeypatch.setenv(f"{company}_API_KEY", KEY)
                monkeypatch.setenv(f"{company}_BASE_URL", usual.url)
            address = {"base_url": usual.url} if name == "m" else {}
            results.append(rubricate.grade(data, name, cache=None, timeout=1.0, **address))
    labels = [[verdict.label for _, verdict in result.verdicts()] for result in results]
    assert labels[0] == labels[1]
    assert results[0].failed == results[1].failed == 0
