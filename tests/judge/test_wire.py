"""Bodies on the wire: whatever an endpoint sends is an answer or a `ModelError`."""

from __future__ import annotations

import orjson
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.errors import ModelError
from rubricate.judge.models._wire import (
    completion_text,
    parse_body,
    retry_after,
    status_error,
    token_counts,
)

PROPERTY = settings(derandomize=True, deadline=None)
keys = st.sampled_from(
    [
        "choices",
        "message",
        "content",
        "refusal",
        "finish_reason",
        "usage",
        "prompt_tokens",
        "completion_tokens",
        "prompt_tokens_details",
        "cached_tokens",
        "cost",
        "error",
        "code",
        "text",
    ]
)
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
        text = completion_text(body)
    except ModelError:
        return
    assert isinstance(text, str)
    read, cached, written, billed = token_counts(body)
    assert min(read, cached, written) >= 0
    assert billed is None or isinstance(billed, float)


@PROPERTY
@given(st.integers(300, 599), anything.map(orjson.dumps) | st.binary())
def test_any_refusal_has_a_kind_and_a_message_of_one_line(status: int, raw: bytes):
    error = status_error(status, raw, None)
    assert error.status == status
    assert str(error).startswith(f"HTTP {status}: ")
    assert len(str(error).splitlines()) == 1


@PROPERTY
@given(st.text() | st.floats().map(str))
def test_any_retry_after_is_a_finite_wait_or_none(value: str):
    wait = retry_after({"Retry-After": value})
    assert wait is None or 0 <= wait < float("inf")
