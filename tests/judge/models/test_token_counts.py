"""Token counts and costs as endpoints report them: what they mean, and what cannot be right."""

from __future__ import annotations

import json
from typing import Any

import orjson
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rubricate.judge.models import ModelPrice
from rubricate.judge.models._openai import usage as plain_usage
from rubricate.judge.models._responses import MOST_TOKENS
from rubricate.judge.models._token_counts import (
    Cost,
    reported_cost,
    reported_tokens,
    unfinished,
    written_text,
)
from rubricate.judge.models._wire import TokenCounts

PRICE = ModelPrice(input=2.0, cached_input=0.5, output=8.0)
counts = st.integers(0, 100_000)
some = st.integers(1, 100_000)
NAMED = ("cached_tokens", "audio_tokens", "reasoning_tokens", "cache_write_tokens")


def cost(tokens: TokenCounts) -> float:
    return PRICE.cost(tokens.input, tokens.cached, tokens.output, tokens.written)


def openai(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    """All of the prompt, and all that was generated; of which some."""
    prompt = fresh + cached + written
    return {
        "prompt_tokens": prompt,
        "completion_tokens": text + thought,
        "total_tokens": prompt + text + thought,
        "prompt_tokens_details": {"cached_tokens": cached, "cache_write_tokens": written},
        "completion_tokens_details": {"reasoning_tokens": thought},
    }


def deepseek(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    found = openai(fresh, cached, 0, text, thought)
    del found["prompt_tokens_details"]
    return found | {"prompt_cache_hit_tokens": cached, "prompt_cache_miss_tokens": fresh}


def gemini(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    """Reasoning is in the total alone."""
    found = openai(fresh, cached, 0, text, thought)
    return found | {"completion_tokens": text, "completion_tokens_details": None}


def grok(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    """Reasoning is in the total, and said."""
    return openai(fresh, cached, 0, text, thought) | {"completion_tokens": text}


def anthropic(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    """What is cached is beside the prompt."""
    return {
        "input_tokens": fresh,
        "output_tokens": text + thought,
        "cache_read_input_tokens": cached,
        "cache_creation_input_tokens": written,
    }


def litellm(fresh: int, cached: int, written: int, text: int, thought: int) -> dict[str, Any]:
    """The usual names and sums, and those of Anthropic again."""
    again = {"cache_read_input_tokens": cached, "cache_creation_input_tokens": written}
    return openai(fresh, cached, written, text, thought) | again


@pytest.mark.parametrize("report", [openai, deepseek, gemini, grok, anthropic, litellm])
@given(fresh=some, cached=counts, written=counts, text=some, thought=counts)
def test_every_way_to_report_tokens_is_billed_as_it_is_meant(
    report: Any, fresh: int, cached: int, written: int, text: int, thought: int
):
    assume(report is not gemini or thought != cached)  # the same figures as of cached ones beside
    said = report(fresh, cached, written, text, thought)
    has_written = report in (openai, anthropic, litellm)
    written *= has_written
    meant = TokenCounts(fresh + cached + written, cached, written, text + thought, thought)
    found = reported_tokens({"usage": said})
    assert found is not None
    assert cost(found) == pytest.approx(cost(meant))
    assert found[:4] == meant[:4]


@given(fresh=some, cached=counts, text=some, thought=counts)
def test_cached_tokens_beside_the_prompt_never_make_it_cheaper(
    fresh: int, cached: int, text: int, thought: int
):
    said = openai(fresh, cached, 0, text, thought) | {"prompt_tokens": fresh}
    found = reported_tokens({"usage": said})
    assert found is not None
    assert cost(found) >= cost(TokenCounts(fresh + cached, cached, 0, text + thought, thought))
    del said["total_tokens"]
    found = reported_tokens({"usage": said})
    assert found is not None
    assert found.cached <= found.input


@pytest.mark.parametrize(
    "said",
    [
        {"input_tokens": 2000, "output_tokens": 50, "total_tokens": 2050},
        {"input_tokens": 2000, "output_tokens": 50, "total_tokens": 3050},
        {"input_tokens": 2000, "output_tokens": 50},
        {"prompt_tokens": 2000, "completion_tokens": 50},
        {"prompt_tokens": 2000, "completion_tokens": 50, "total_tokens": 3050},
    ],
)
def test_anthropics_names_mean_anthropics_sums_unless_the_total_says_otherwise(
    said: dict[str, Any],
):
    cache = {"cache_read_input_tokens": 1000}
    assert reported_tokens({"usage": said | cache}) == TokenCounts(3000, 1000, 0, 50, 0)


USAGE = {"prompt_tokens": 100, "completion_tokens": 50, "total_tokens": 150}


@pytest.mark.parametrize(
    ("said", "read", "output"),
    [
        ({"prompt_tokens": "100", "completion_tokens": "50"}, 100, 50),
        ({"prompt_tokens": " 100 ", "completion_tokens": "50.0"}, 100, 50),
        ({"prompt_tokens": 99.2, "completion_tokens": 49.9}, 100, 50),
        (USAGE | {"completion_tokens": None}, 100, 50),
        (USAGE | {"completion_tokens": -3}, 100, 50),
        (USAGE | {"total_tokens": 3}, 100, 50),
        (USAGE | {"total_tokens": "all"}, 100, 50),
        (USAGE | {"total_tokens": 10**30}, 100, 50),
        (USAGE | {"input_tokens": 0, "output_tokens": 0}, 100, 50),
        (USAGE | {"prompt_tokens_details": [1], "completion_tokens_details": "x"}, 100, 50),
        (USAGE | {"prompt_tokens_details": {"cached_tokens": -5}}, 100, 50),
        (USAGE | {"reasoning_tokens": 80, "total_tokens": None}, 100, 130),
        (USAGE | {"thinking_tokens": 80, "total_tokens": None}, 100, 130),
    ],
)
def test_counts_that_can_be_read_are(said: dict[str, Any], read: int, output: int):
    found = reported_tokens({"usage": said})
    assert found is not None
    assert (found.input, found.output) == (read, output)
    assert reported_tokens({"error": {"message": "x", "usage": said}}) == found
    assert reported_tokens([{"error": {"message": "x"}, "usage": said}]) == found


@pytest.mark.parametrize(
    "said",
    [
        None,
        {},
        [],
        "100",
        {"total_tokens": 150},
        {"prompt_tokens": 100},
        USAGE | {"prompt_tokens": None},
        USAGE | {"prompt_tokens": True},
        USAGE | {"prompt_tokens": 0, "completion_tokens": 0},
        USAGE | {"prompt_tokens": -1},
        USAGE | {"prompt_tokens": "1e999"},
        USAGE | {"prompt_tokens": float("nan")},
        USAGE | {"prompt_tokens": MOST_TOKENS + 1},
        {"prompt_tokens": 100, "completion_tokens": MOST_TOKENS + 1},
        {"prompt_tokens": 100, "completion_tokens": 0},
    ],
)
def test_counts_that_are_missing_or_cannot_be_right_are_unknown(said: Any):
    message = {"role": "assistant", "content": "yes"}
    assert reported_tokens({"usage": said, "choices": [{"message": message}]}) is None


def test_a_reply_without_text_may_have_no_output():
    found = reported_tokens({"usage": {"prompt_tokens": 9, "completion_tokens": 0}})
    assert found == TokenCounts(9, 0, 0, 0, 0)


BYOK = {"cost": 0.01, "is_byok": True}
"""OpenRouter, with the user's own key at a provider."""


@pytest.mark.parametrize(
    ("said", "dollars"),
    [
        ({"cost": 0.05}, 0.05),
        ({"cost": "0.05"}, 0.05),
        ({"cost": "$0.05"}, 0.05),
        ({"cost": "0.05 USD"}, 0.05),
        ({"total_cost": 0.05}, 0.05),
        ({"estimated_cost": 0.05}, 0.05),
        ({"cost_cents": 5}, 0.05),
        ({"cost_in_usd_ticks": 500_000_000}, 0.05),  # xAI
        ({"cost": {"amount": 0.05, "currency": "USD"}}, 0.05),
        ({"cost": {"amount": "0.05", "currency": "EUR"}}, None),
        ({"cost": {"input": 0.01, "output": 0.04}}, 0.05),
        ({"input_cost": 0.01, "output_cost": 0.04}, 0.05),
        ({"input_cost": 0.01, "output_cost": 0.04, "total_cost": 0.06}, 0.06),
        ({"cost": {"total_cost": 0.05, "input_tokens_cost": 0.01}}, 0.05),
        (  # Perplexity
            {
                "cost": {
                    "input_tokens_cost": 0.01,
                    "output_tokens_cost": 0.035,
                    "request_cost": 0.005,
                }
            },
            0.05,
        ),
        (BYOK | {"cost_details": {"upstream_inference_cost": 0.04}}, 0.05),
        (
            BYOK
            | {
                "cost_details": {
                    "upstream_inference_cost": None,
                    "upstream_inference_prompt_cost": 0.01,
                    "upstream_inference_completions_cost": 0.03,
                }
            },
            0.05,
        ),
        ({"cost": 0.95, "cost_details": {"upstream_inference_cost": 19}}, 19.95),
        ({"cost": 0.05, "cost_details": {"upstream_inference_cost": 0.05}}, 0.05),
        ({"cost": 0}, 0.0),
        ({"cost": -1}, None),
        ({"cost": 1e12}, None),
        *(({"cost": one}, None) for one in (-1e-9, True, "free", "inf", [0.1])),
        ({"cost": None}, None),
        ({}, None),
    ],
)
def test_a_cost_is_read_in_every_form(said: dict[str, Any], dollars: float | None):
    """Also beside the usage, in a list of parts, and in an error."""
    expected = Cost(None if dollars is None else pytest.approx(dollars))
    bodies: list[object] = [{"usage": said}, said, {"usage": {"iterations": [said]}}]
    bodies += [{"error": {"metadata": {"usage": said}}}, {"x": json.dumps(said)} | said]
    assert [reported_cost(body) for body in bodies] == [expected] * len(bodies)


@pytest.mark.parametrize("said", [BYOK, {"prompt_cost": 0.01}, {"cost": {"output": 0.01}}])
def test_a_cost_that_lacks_a_part_is_not_taken_for_the_whole(said: dict[str, Any]):
    assert reported_cost({"usage": said}) == Cost(0.01, is_whole=False)


def test_a_cost_is_also_read_in_litellms_header():
    assert reported_cost({}, {"x-litellm-response-cost": "0.05"}) == Cost(0.05)
    assert reported_cost({"cost": 0.06}, {"x-litellm-response-cost": "0.05"}) == Cost(0.06)


SHAPES = {
    # What providers and servers report: the body, and how many tokens it bills as input, cached,
    # written into the cache, output, reasoning, and kept in the cache for an hour.
    "gemini": (
        {
            "usageMetadata": {
                "promptTokenCount": 2000,
                "cachedContentTokenCount": 500,
                "toolUsePromptTokenCount": 30,
                "candidatesTokenCount": 40,
                "thoughtsTokenCount": 700,
                "totalTokenCount": 2770,
                "promptTokensDetails": [{"modality": "TEXT", "tokenCount": 2000}],
            }
        },
        (2030, 500, 0, 740, 700),
    ),
    "gemini, no total": (
        {
            "usage_metadata": {
                "prompt_token_count": 2000,
                "candidates_token_count": 40,
                "thoughts_token_count": 700,
            }
        },
        (2000, 0, 0, 740, 700),
    ),
    "gemini, all of it thought": (
        {"usageMetadata": {"promptTokenCount": 2000, "totalTokenCount": 2700}},
        (2000, 0, 0, 700, 0),
    ),
    "bedrock": (
        {
            "usage": {
                "inputTokens": 4,
                "outputTokens": 50,
                "totalTokens": 3054,
                "cacheReadInputTokens": 1000,
                "cacheWriteInputTokens": 2000,
                "cacheDetails": [{"ttl": "5m", "inputTokens": 2000}],
            }
        },
        (3004, 1000, 2000, 50, 0),
    ),
    "anthropic": (
        {
            "usage": {
                "input_tokens": 4000,
                "cache_read_input_tokens": 1000,
                "cache_creation_input_tokens": 2500,
                "cache_creation": {
                    "ephemeral_5m_input_tokens": 2000,
                    "ephemeral_1h_input_tokens": 500,
                },
                "output_tokens": 50,
                "output_tokens_details": {"thinking_tokens": 20},
            }
        },
        (7500, 1000, 2500, 50, 20, 500),
    ),
    "anthropic, cache by its parts": (
        {
            "usage": {
                "input_tokens": 4000,
                "cache_creation": {"ephemeral_5m_input_tokens": 2000},
                "output_tokens": 50,
            }
        },
        (6000, 0, 2000, 50, 0),
    ),
    "anthropic, in several iterations": (
        {
            "usage": {
                "input_tokens": 23_000,
                "output_tokens": 1000,
                "iterations": [
                    {"type": "compaction", "input_tokens": 180_000, "output_tokens": 3500},
                    {"type": "message", "input_tokens": 23_000, "output_tokens": 1000},
                ],
            }
        },
        (203_000, 0, 0, 4500, 0),
    ),
    "cohere": (
        {
            "meta": {
                "billed_units": {"input_tokens": 100.0, "output_tokens": 50.0},
                "tokens": {"input_tokens": 600.0, "output_tokens": 50.0},
            }
        },
        (100, 0, 0, 50, 0),
    ),
    "cohere, tokens alone": (
        {"usage": {"tokens": {"input_tokens": 600, "output_tokens": 50}}},
        (600, 0, 0, 50, 0),
    ),
    "ollama": (
        {"prompt_eval_count": 100, "eval_count": 50, "eval_duration": 479_992_100},
        (100, 0, 0, 50, 0),
    ),
    "watsonx": (
        {"results": [{"input_token_count": 100, "generated_token_count": 50}]},
        (100, 0, 0, 50, 0),
    ),
    "groq": (
        {
            "x_groq": {
                "usage": {
                    "prompt_tokens": 100,
                    "prompt_time": 0.5,
                    "completion_tokens": 50,
                    "completion_time": 99.0,
                    "total_time": 99.5,
                }
            }
        },
        (100, 0, 0, 50, 0),
    ),
    "grok, no total": (
        {
            "usage": {
                "prompt_tokens": 100,
                "completion_tokens": 50,
                "completion_tokens_details": {"reasoning_tokens": 30},
            }
        },
        (100, 0, 0, 80, 30),
    ),
    "openai, responses": (
        {
            "usage": {
                "input_tokens": 100,
                "input_tokens_details": {"cached_tokens": 60},
                "output_tokens": 50,
                "output_tokens_details": {"reasoning_tokens": 30},
            }
        },
        (100, 60, 0, 50, 30),
    ),
    "in a choice": (
        {"choices": [{"usage": {"prompt_tokens": 100, "completion_tokens": 50}}]},
        (100, 0, 0, 50, 0),
    ),
    "in a list": (
        {"usage": [{"prompt_tokens": 100, "completion_tokens": 50}]},
        (100, 0, 0, 50, 0),
    ),
    "as text": (
        {"usage": '{"prompt_tokens": "1,100", "completion_tokens": "50"}'},
        (1100, 0, 0, 50, 0),
    ),
    "in an error": (
        {"error": {"metadata": {"usage": {"prompt_tokens": 100, "completion_tokens": 50}}}},
        (100, 0, 0, 50, 0),
    ),
}


@pytest.mark.parametrize(("body", "counts"), SHAPES.values(), ids=SHAPES)
def test_every_providers_report_is_billed_in_full(body: Any, counts: tuple[int, ...]):
    """Also where the body was cut off behind it."""
    assert reported_tokens(body) == TokenCounts(*counts)
    raw = json.dumps({"id": "x", **body, "more": "text"}).encode()
    if not body.keys().isdisjoint({"usage", "usageMetadata", "usage_metadata", "meta", "x_groq"}):
        assert reported_tokens(unfinished(raw[:-9])) == TokenCounts(*counts)


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": 4, "output_tokens": 50, "cache_read_input_tokens": "many"},
        {"prompt_tokens": 100, "completion_tokens": 50, "reasoning_tokens": -1},
        {"promptTokenCount": 100, "candidatesTokenCount": 50, "thoughtsTokenCount": "1.2k"},
    ],
)
def test_a_report_with_a_part_that_cannot_be_read_is_unknown_and_not_less(usage: dict[str, Any]):
    assert reported_tokens({"usage": usage}) is None


def test_a_report_within_what_the_model_wrote_is_none():
    usage = {"prompt_tokens": 1, "completion_tokens": 1}
    message = {"content": [{"usage": usage}], "tool_calls": [{"arguments": {"usage": usage}}]}
    assert reported_tokens({"choices": [{"message": message}]}) is None
    text = json.dumps({"content": json.dumps({"usage": usage}), "id": "x"})
    assert unfinished(text.encode()) == {}


@given(
    read=some,
    wrote=some,
    total=st.none() | st.integers(-1, 1),
    inner=st.none() | st.dictionaries(st.sampled_from(NAMED), counts | st.none() | st.just("7")),
    outer=st.none() | st.dictionaries(st.sampled_from(NAMED), counts | st.none() | st.just(-1)),
)
def test_the_quick_way_reads_what_the_other_one_does(
    read: int, wrote: int, total: int | None, inner: Any, outer: Any
):
    usage = {"prompt_tokens": read, "completion_tokens": wrote}
    usage |= {} if total is None else {"total_tokens": read + wrote + total}
    usage |= {"prompt_tokens_details": inner} if inner else {}
    usage |= {"completion_tokens_details": outer} if outer else {}
    found = plain_usage({"usage": usage}, b"", {})
    if found is not None:
        assert reported_tokens({"usage": usage}) == found
    if total == 0 and not inner and not outer:
        assert found == TokenCounts(read, 0, 0, wrote, 0)


def test_what_openai_reports_is_read_in_the_quick_way():
    usage = openai(900, 100, 0, 40, 10)
    del usage["prompt_tokens_details"]["cache_write_tokens"]
    assert plain_usage({"usage": usage}, b"", {}) == TokenCounts(1000, 100, 0, 50, 10)


@pytest.mark.parametrize("opened", ['{"x_details":', '{"cost":', '{"usage":', '{"usage":[', "["])
def test_a_report_of_any_depth_is_looked_through(opened: str):
    closed = opened.translate(str.maketrans("{[", "}]", opened.strip("{[")))[::-1]
    deep = orjson.loads(opened * 450 + "1" + closed * 450)
    assert reported_tokens(deep) is None
    assert reported_cost(deep).dollars is None
    assert unfinished(opened.encode() * 100_000) == {}


def test_all_that_a_model_wrote_counts():
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "one"}],
        "reasoning_content": "two",
        "tool_calls": [{"id": "x", "type": "function", "function": {"arguments": "three"}}],
    }
    assert written_text({"choices": [{"message": message}]}).split() == ["one", "three", "two"]
    assert written_text({"choices": []}) == written_text([]) == ""
