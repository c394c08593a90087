"""Bodies on the wire: whatever an endpoint sends is an answer or a `ModelError`."""

from __future__ import annotations

import math
from importlib import import_module
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.errors import ModelError
from rubricate.judge.models._batch_protocols import _as_openai
from rubricate.judge.models._openai import reply as read_reply
from rubricate.judge.models._openai import token_probabilities
from rubricate.judge.models._responses import parse_body, quota, retry_after, status_error
from rubricate.judge.models._token_counts import reported_cost, reported_tokens, written_text

PROPERTY = settings(derandomize=True, deadline=None)
KEYS = (
    *("choices", "message", "content", "refusal", "finish_reason", "usage", "error", "code"),
    *("text", "prompt_tokens", "completion_tokens", "total_tokens", "cached_tokens", "cost"),
    *("prompt_tokens_details", "completion_tokens_details", "reasoning_tokens"),
    *("cache_creation_input_tokens", "input_tokens", "output_tokens"),
)
keys = st.sampled_from(KEYS)
anything = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=4),
    max_leaves=20,
)


@PROPERTY
@given(st.dictionaries(keys, anything).map(orjson.dumps) | st.binary())
def test_any_body_is_an_answer_or_a_model_error_and_nothing_else(raw: bytes):
    try:
        body = parse_body(raw)
        reply = read_reply(body)
    except ModelError:
        return
    assert isinstance(reply.text, str)


@PROPERTY
@given(st.dictionaries(keys, anything) | anything)
def test_whatever_a_body_reports_is_counts_that_can_be_billed_or_nothing(body: Any):
    tokens, cost = reported_tokens(body), reported_cost(body).dollars
    assert isinstance(written_text(body), str)
    assert cost is None or 0.0 <= cost < math.inf
    if tokens is not None:
        assert tokens.cached + tokens.written <= tokens.input
        assert tokens.reasoning <= tokens.output
        assert min(tokens) >= 0


@PROPERTY
@given(st.integers(300, 599), anything.map(orjson.dumps) | st.binary())
def test_any_refusal_has_a_kind_and_a_message_of_one_line(status: int, raw: bytes):
    error = status_error(status, raw)
    assert error.status == status
    assert str(error).startswith(f"HTTP {status}: ")
    assert len(str(error).splitlines()) == 1


@pytest.mark.parametrize(
    "message",
    [
        "request (6031 tokens) exceeds the available context size (4096 tokens), try increasing it",
        "This model's maximum context length is 4096 tokens, however you requested 6031 tokens",
        "The decoder prompt (length 6031) is longer than the maximum model length of 4096",
        "The input (6031 tokens) is longer than the model's context length (4096 tokens).",
        "Your input exceeds the context window of this model.",
        "prompt is too long: 210000 tokens > 200000 maximum",
        "The input token count (6031) exceeds the maximum number of tokens allowed (4096).",
        "Please reduce the length of the messages or completion.",
    ],
)
def test_every_way_to_say_that_a_prompt_does_not_fit_is_understood(message: str) -> None:
    error = status_error(400, orjson.dumps({"error": {"message": message}}))
    assert error.kind == "context_length"


@PROPERTY
@given(st.text() | st.floats().map(str))
def test_any_retry_after_is_a_finite_wait_or_none(value: str):
    wait = retry_after({"retry-after": value})
    assert wait is None or 0 <= wait < float("inf")


@pytest.mark.parametrize(
    ("reset", "seconds"),
    [
        ("6m0s", 360.0),
        ("20ms", 0.02),
        ("1.5", 1.5),
        ("2015-10-21T07:28:30Z", 30.0),
        ("1445412510", 30.0),
        ("1445412510000", 30.0),
        ("1445412000", 0.0),
    ],
)
def test_when_an_allowance_is_whole_again_is_read_in_every_way_it_is_said(
    reset: str, seconds: float
):
    headers = {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "10",
        "x-ratelimit-reset-requests": reset,
        "date": "Wed, 21 Oct 2015 07:28:00 GMT",
    }
    found = quota(headers)
    assert found is not None
    assert found.requests == (60.0, 10.0, pytest.approx(seconds))
    assert found.tokens is None


def with_logprobs(*places: Any) -> dict[str, Any]:
    return {"message": {"content": "A"}, "logprobs": {"content": list(places)}}


def place(token: str, logprob: Any, **others: float) -> dict[str, Any]:
    top = [{"token": name, "logprob": value} for name, value in others.items()]
    return {"token": token, "logprob": logprob, "top_logprobs": top}


@pytest.mark.parametrize(
    ("choice", "expected"),
    [
        (with_logprobs(place("A", -0.5, A=-0.5, B=-1.0)), {"A": -0.5, "B": -1.0}),
        (with_logprobs(place("C", -2.0, A=-0.5)), {"C": -2.0, "A": -0.5}),
        (with_logprobs(place("\n", -0.1), place(" A", -0.5)), {"A": -0.5}),
        (with_logprobs(place("A", 0.01, B=-9999.0)), {"A": 0.0, "B": -9999.0}),
        (with_logprobs(place("A", -1.0, **{" A": -1.0})), {"A": math.log(2) - 1.0}),
    ],
)
def test_the_first_tokens_probabilities_are_read_and_spellings_count_together(
    choice: dict[str, Any], expected: dict[str, float]
) -> None:
    text = "".join(one["token"] for one in choice["logprobs"]["content"])
    found, _ = token_probabilities(choice, text)
    assert found == pytest.approx({token: math.exp(one) for token, one in expected.items()})


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        ({"token": "\u0120A", "bytes": [32, 65]}, "A"),
        ({"token": "token_id:65", "bytes": [65]}, "A"),
        ({"token": "A", "bytes": None}, "A"),
        ({"token": "A", "bytes": ["x"]}, "A"),
        ({"token": "A", "bytes": [300]}, "A"),
        ({"token": "<0x41>"}, "A"),
        ({"token": "\u2581A"}, "A"),
    ],
)
def test_a_token_is_read_as_text(entry: dict[str, Any], text: str) -> None:
    found, unusable = token_probabilities(with_logprobs({**entry, "logprob": -0.5}), "A")
    assert (list(found or ()), unusable) == ([text], "")


@pytest.mark.parametrize("before", ["\n", " ", "\u2581", "\u0120", "**", "(", '"', ""])
def test_a_token_without_a_letter_is_passed_over(before: str) -> None:
    found, _ = token_probabilities(with_logprobs(place(before, -0.1), place("A", -0.5)), "A")
    assert found == pytest.approx({"A": math.exp(-0.5)})


THOUGHT = ["1", ".", " **", "Analyze", "**", "\n", "A", " 4"]


@pytest.mark.parametrize(
    ("tokens", "reply", "thought", "first"),
    [
        (["4"], "4", "", "4"),
        (["4"], "4. clear", "", "4"),
        (["4", "."], "4.", "Hm.", "4"),
        (["4", "<|im_end|>"], "4", "", "4"),
        (["```", "\n", "4", "\n", "```"], "```\n4\n```", "", "4"),
        ([*THOUGHT, "4"], "4", "".join(THOUGHT), "4"),
        (["<think>", *THOUGHT, "</think>", "\n\n", "4"], "4", "".join(THOUGHT), "4"),
        ([*THOUGHT, "</think>", "4"], "4", "", "4"),
        ([*THOUGHT, "[/THINK]", "4", "</s>"], "4", "".join(THOUGHT), "4"),
        (["<|channel|>", "final", "<|message|>", "4"], "4", "".join(THOUGHT), "4"),
        ([*THOUGHT, "</think>", "4", ".", " It"], "4. It", "".join(THOUGHT), "4"),
        # of the reasoning alone, or not to be told apart
        (THOUGHT, "4", "".join(THOUGHT), None),
        (THOUGHT, "4", "", None),
        (THOUGHT, "", "".join(THOUGHT), None),
        (THOUGHT, " \n", "".join(THOUGHT), None),
        (THOUGHT[:4], "4", "".join(THOUGHT), None),
        (["1"], "4", "1. **Analyze", None),
        (["1"], "1", "1", None),
        (["A", " student", " says", "4"], "4", "A student says no", None),
        (["A", " student", " says4"], "4", "A student says", None),
        (["5"], "4", "", None),
        (["1", "4"], "4", "", None),
    ],
)
def test_the_token_with_which_the_text_begins_is_found_behind_the_reasoning(
    tokens: list[str], reply: str, thought: str, first: str | None
) -> None:
    choice = with_logprobs(*(place(token, -0.1 - n) for n, token in enumerate(tokens)))
    choice["message"] = {"content": reply, "reasoning_content": thought}
    found, wrong = token_probabilities(choice, reply)
    where = [n for n, token in enumerate(tokens) if token == first]
    assert found == (None if first is None else {first: pytest.approx(math.exp(-0.1 - where[-1]))})
    assert bool(wrong) is (first is None)


@pytest.mark.parametrize(
    ("choice", "wrong"),
    [
        (with_logprobs(place("A", "NaN")), "that of 'A' is 'NaN', not a number"),
        (with_logprobs(place("A", None)), "that of 'A' is none, not a number"),
        (with_logprobs({"token": "A"}), "that of 'A' is none, not a number"),
        (with_logprobs(place("A", True)), "that of 'A' is True, not a number"),
        (with_logprobs(place("A", 0.55, B=0.45)), "that of 'A' is 0.55, more than 0"),
        (with_logprobs(place("A", -0.5, B=3.0)), "that of 'B' is 3, more than 0"),
        (with_logprobs(place("A", -9999.0)), "all of them are 0"),
        (with_logprobs({"token": 7, "logprob": -0.5}), "a token is 7, not text"),
        (with_logprobs({"logprob": -0.5}), "a token is None, not text"),
        (with_logprobs("A"), "another form"),
        (with_logprobs({**place("A", -0.5), "top_logprobs": 3}), "another form"),
        (with_logprobs({**place("A", -0.5), "top_logprobs": ["A"]}), "another form"),
        ({"message": {}, "logprobs": {"tokens": ["A"]}}, "another form"),
        ({"message": {}, "logprobs": [1]}, "another form"),
        ({"logprobs": None}, ""),
        (with_logprobs(), ""),
        ({}, ""),
    ],
)
def test_logprobs_that_cannot_be_used_are_named(choice: dict[str, Any], wrong: str) -> None:
    found, unusable = token_probabilities(choice, "A")
    assert found is None
    assert wrong in unusable
    assert bool(unusable) is bool(wrong)


CHAT = {"role": "assistant", "content": "MET"}
THOUGHT = "The text says so."
REASONING: list[tuple[str, dict[str, Any]]] = [
    ("_openai", {"choices": [{"message": CHAT | {"reasoning_content": THOUGHT}}]}),
    ("_openai", {"choices": [{"message": CHAT | {"reasoning": THOUGHT}, "finish_reason": "stop"}]}),
    (
        "_anthropic",
        {
            "content": [
                {"type": "thinking", "thinking": THOUGHT, "signature": "s"},
                {"type": "redacted_thinking", "data": "x"},
                {"type": "text", "text": "MET"},
            ],
            "stop_reason": "end_turn",
        },
    ),
    (
        "_openai_responses",
        {
            "status": "completed",
            "output": [
                {"type": "reasoning", "summary": [{"type": "summary_text", "text": THOUGHT}]},
                {"type": "message", "content": [{"type": "output_text", "text": "MET"}]},
            ],
        },
    ),
    (
        "gemini",
        {
            "candidates": [
                {
                    "content": {"parts": [{"text": THOUGHT, "thought": True}, {"text": "MET"}]},
                    "finishReason": "STOP",
                }
            ]
        },
    ),
]


@pytest.mark.parametrize(("wire", "body"), REASONING)
def test_reasoning_that_comes_apart_is_kept_apart_from_the_reply(wire: str, body: dict[str, Any]):
    if wire == "gemini":
        wire, body = "_openai", _as_openai(body)
    reply = import_module(f"rubricate.judge.models.{wire}").reply(body)
    assert (reply.text, reply.elsewhere, reply.thinking) == ("MET", "", THOUGHT)


def test_reasoning_in_the_place_of_a_text_is_kept_once():
    reply = read_reply({"choices": [{"message": {"content": "", "reasoning": f" {THOUGHT}\n"}}]})
    assert (reply.text, reply.elsewhere, reply.thinking) == ("", THOUGHT, "")
