"""Token counts and costs as endpoints report them: what they mean, and what cannot be right."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from rubricate.judge.models import ModelPrice
from rubricate.judge.models._token_counts import (
    MOST,
    TokenCounts,
    reported_cost,
    reported_tokens,
    written_text,
)

PRICE = ModelPrice(input=2.0, cached_input=0.5, output=8.0)
counts = st.integers(0, 100_000)
some = st.integers(1, 100_000)


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
    meant = TokenCounts(
        fresh + cached + written * has_written,
        cached,
        written * has_written,
        text + thought,
        thought,
    )
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
        USAGE | {"prompt_tokens": MOST + 1},
        {"prompt_tokens": 100, "completion_tokens": MOST + 1},
        {"prompt_tokens": 100, "completion_tokens": 0},
    ],
)
def test_counts_that_are_missing_or_cannot_be_right_are_unknown(said: Any):
    message = {"role": "assistant", "content": "yes"}
    assert reported_tokens({"usage": said, "choices": [{"message": message}]}) is None


def test_a_reply_without_text_may_have_no_output():
    found = reported_tokens({"usage": {"prompt_tokens": 9, "completion_tokens": 0}})
    assert found == TokenCounts(9, 0, 0, 0, 0)


@pytest.mark.parametrize(
    ("said", "dollars"),
    [
        ({"cost": 0.05}, 0.05),
        ({"cost": "0.05"}, 0.05),
        ({"cost": "$0.05"}, 0.05),
        ({"total_cost": 0.05}, 0.05),
        ({"estimated_cost": 0.05}, 0.05),
        ({"cost": {"total_cost": 0.05, "input_tokens_cost": 0.01}}, 0.05),
        (
            {
                "cost": 0.01,
                "is_byok": True,
                "cost_details": {"upstream_inference_cost": 0.04},
            },
            0.05,
        ),
        ({"cost": 0.05, "cost_details": {"upstream_inference_cost": 0.05}}, 0.05),
        ({"cost": 0}, 0.0),
        ({"cost": -1}, None),
        ({"cost": 1e12}, None),
        ({"cost": "free"}, None),
        ({"cost": None}, None),
        ({}, None),
    ],
)
def test_a_cost_is_read_in_every_form(said: dict[str, Any], dollars: float | None):
    assert reported_cost({"usage": said}) == (None if dollars is None else pytest.approx(dollars))


def test_all_that_a_model_wrote_counts():
    message = {
        "role": "assistant",
        "content": [{"type": "text", "text": "one"}],
        "reasoning_content": "two",
        "tool_calls": [{"id": "x", "type": "function", "function": {"arguments": "three"}}],
    }
    assert written_text({"choices": [{"message": message}]}).split() == ["one", "three", "two"]
    assert written_text({"choices": []}) == written_text([]) == ""
