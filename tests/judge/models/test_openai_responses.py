"""OpenAI's Responses interface: what is sent, what is read, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson
import pytest
from aiohttp import web

import rubricate
from rubricate import Criterion, HTTPModel, Rubric, RubricDataset, ScaleCriterion
from rubricate.errors import ModelError
from rubricate.judge.models import ModelPrice
from rubricate.judge.models._openai_responses import reply, usage
from rubricate.testing import Rule, ScriptedEndpoint

JUDGE = "openai-responses/gpt-5-pro"
PRICES = {JUDGE: ModelPrice(input=15.0, output=120.0, cached_input=1.5)}
THOUGHT = 40
"""Tokens of reasoning in each reply."""
KNOWN = {"model", "input", "store", "text", "reasoning", "temperature", "max_output_tokens"}
"""What the interface knows of a request, as far as it is sent; it refuses other fields."""


class ResponsesEndpoint(ScriptedEndpoint):
    """The scripted endpoint behind the Responses interface.

    Attributes:
        bodies: what was posted.
        billed: US dollars at the prices above.
        forms: the ways of structured output that the model knows.
        change: what replaces parts of each body of success.
    """

    _path = "/v1/responses"

    def __init__(self, rules: Any = (), **options: Any) -> None:
        super().__init__(rules, **options)
        self.bodies: list[dict[str, Any]] = []
        self.billed = 0.0
        self.forms = ["json_schema", "json_object", "text"]
        self.change: dict[str, Any] = {}

    async def _complete(self, raw: web.Request) -> web.StreamResponse:
        body = orjson.loads(await raw.read())
        self.bodies.append(body)
        if unknown := body.keys() - KNOWN:
            return refusal(400, f"Unknown parameter: '{unknown.pop()}'.")
        if "temperature" in body:
            return refusal(400, "Unsupported parameter: 'temperature' is not supported")
        form = body.get("text", {}).get("format", {"type": "text"})
        if form["type"] not in self.forms:
            return refusal(400, "Invalid parameter: 'text.format' of type json_schema")
        if form["type"] == "json_schema" and not {"name", "schema", "strict"} <= form.keys():
            return refusal(400, "Missing required parameter: 'text.format.name'.")
        asked = {"model": body["model"], "messages": body["input"]}
        if form["type"] != "text":
            asked["response_format"] = {"type": form["type"]}
        raw._read_bytes = orjson.dumps(asked)
        response = await super()._complete(raw)
        if not isinstance(response, web.Response) or response.status != 200:
            return response
        given = orjson.loads(response.body)
        counts = given["usage"]
        read, cached = counts["prompt_tokens"], counts["prompt_tokens_details"]["cached_tokens"]
        wrote = counts["completion_tokens"] + THOUGHT
        self.billed += (15 * (read - cached) + 1.5 * cached + 120 * wrote) / 1e6
        text = given["choices"][0]["message"]["content"]
        thought = {"type": "summary_text", "text": '{"reason": "", "verdict": "UNMET"}'}
        answer = {
            "object": "response",
            "status": "completed",
            "error": None,
            "incomplete_details": None,
            "model": body["model"],
            "output": [{"type": "reasoning", "summary": [thought]}, message(text)],
            "usage": {
                "input_tokens": read,
                "input_tokens_details": {"cached_tokens": cached},
                "output_tokens": wrote,
                "output_tokens_details": {"reasoning_tokens": THOUGHT},
                "total_tokens": read + wrote,
            },
        }
        return web.json_response(answer | self.change)


def message(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {"type": "message", "role": "assistant", "status": "completed", "content": [part]}


def refusal(status: int, text: str) -> web.Response:
    return web.json_response({"error": {"message": text, "type": "invalid"}}, status=status)


@pytest.fixture
def endpoint(monkeypatch: pytest.MonkeyPatch) -> Iterator[ResponsesEndpoint]:
    with ResponsesEndpoint() as listening:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
        monkeypatch.setenv("OPENAI_BASE_URL", listening.url)
        yield listening


def dataset(items: int = 3) -> RubricDataset:
    criteria = (
        Criterion(name="speed", requirement="Gives the speed of light"),
        ScaleCriterion(name="depth", requirement="How deep", low=1, high=5),
    )
    data = RubricDataset("How fast is light?", Rubric(criteria))
    for number in range(items):
        data.add_item(f"The speed of light is 299792 km/s, answer {number}.")
    return data


@pytest.mark.parametrize("forms", [3, 2, 1])
@pytest.mark.parametrize("size", [1, "all"])
def test_verdicts_are_those_of_the_chat_interface_and_the_bill_is_shown(
    endpoint: ResponsesEndpoint, forms: int, size: Any
):
    endpoint.forms = endpoint.forms[-forms:]
    model = HTTPModel(JUDGE, prices=PRICES, model_options={"reasoning": {"effort": "low"}})
    result = rubricate.grade(dataset(), model, cache=None, criteria_per_call=size)
    assert result.failed == 0
    with ScriptedEndpoint() as usual:
        chat = rubricate.grade(
            dataset(), "m", base_url=usual.url, cache=None, criteria_per_call=size
        )
    labels = [[v.label for v in item.criteria.values()] for item in (*result, *chat)]
    assert labels[:3] == labels[3:]
    assert result.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)
    assert result.usage.reasoning_tokens == THOUGHT * (6 if size == 1 else 3)
    body = endpoint.bodies[-1]
    assert body["store"] is False
    assert body["reasoning"] == {"effort": "low"}
    assert [part["role"] for part in body["input"]] == ["system", "user"]


def test_a_limit_of_tokens_is_sent_by_its_name_there(endpoint: ResponsesEndpoint):
    rubricate.grade(dataset(1), JUDGE, cache=None, max_tokens=900)
    assert endpoint.bodies[-1]["max_output_tokens"] == 900


@pytest.mark.parametrize(
    ("change", "kind", "text"),
    [
        (
            {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
            "unreadable_reply",
            "cut off",
        ),
        (
            {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}},
            "refused",
            "content filter",
        ),
        (
            {"output": [{"type": "message", "content": [{"type": "refusal", "refusal": "No."}]}]},
            "refused",
            "No.",
        ),
        (
            {"output": [{"type": "reasoning", "summary": [{"text": '{"verdict": "MET"}'}]}]},
            "unreadable_reply",
            "empty",
        ),
    ],
)
def test_what_is_no_whole_answer_fails_and_is_billed(
    endpoint: ResponsesEndpoint, change: dict[str, Any], kind: str, text: str
):
    endpoint.change = change
    result = rubricate.grade(
        dataset(1), HTTPModel(JUDGE, prices=PRICES), cache=None, concurrency=1, attempts=1
    )
    verdicts = [verdict for _, verdict in result.verdicts()]
    assert {verdict.error.kind for verdict in verdicts if verdict.error} == {kind}
    assert all(text in str(verdict.error) for verdict in verdicts)
    assert result.usage.cost == pytest.approx(endpoint.billed, abs=1e-9)


def test_an_answer_that_the_server_gave_up_is_asked_again():
    failed = {"status": "failed", "output": [], "error": {"code": "x", "message": "overloaded"}}
    with pytest.raises(ModelError, match="overloaded") as raised:
        reply(failed)
    assert raised.value.retryable


@pytest.mark.parametrize(
    "body", [{"output": "MET"}, {"output": [message("MET")], "status": "in_progress"}, {}]
)
def test_a_body_that_is_no_whole_response_is_no_reply(body: dict[str, Any]):
    with pytest.raises(ModelError) as raised:
        reply(body)
    assert raised.value.kind == "truncated"


def test_counts_that_do_not_add_up_are_left_to_the_general_reader():
    counts = {"input_tokens": 7, "output_tokens": 3, "total_tokens": 10}
    assert usage({"usage": counts}, b"", {}) == (7, 0, 0, 3, 0, 0)
    odd = [{f"{side}_tokens_details": "x"} for side in ("input", "output")]
    for wrong in ({"total_tokens": 11}, {"input_tokens": -1}, {"output_tokens": "3"}, *odd):
        assert usage({"usage": counts | wrong}, b"", {}) is None
    assert usage({"usage": counts}, b'"cost": 1', {}) is None


def test_a_model_without_the_chat_interface_is_named_by_its_own(monkeypatch: pytest.MonkeyPatch):
    refused = "This model is only supported in v1/responses and not in v1/chat/completions."
    with ScriptedEndpoint([Rule(status=404, message=refused)]) as chat:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-0123456789abcdef")
        monkeypatch.setenv("OPENAI_BASE_URL", chat.url)
        with pytest.raises(rubricate.errors.RunStopped, match="openai-responses/gpt-5-pro"):
            rubricate.grade(dataset(1), "openai/gpt-5-pro", cache=None)
