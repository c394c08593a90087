"""JSON as models write it: the slips that are read, and that nothing else changes a value."""

from __future__ import annotations

import json
import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate._model_json import Repeated, model_json, refuse_repeats
from rubricate.errors import UnreadableReply

PROPERTY = settings(derandomize=True, deadline=None)
texts = st.text(st.characters(codec="utf-8"), max_size=8) | st.sampled_from(
    ["\\", '"', ",}", ",]", "\\d", "{", "a\nb", ", }", '\\"', "\\u12", "//"]
)
values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**6), 10**6) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@PROPERTY
@given(values, st.sampled_from([None, 1]), st.booleans())
def test_json_is_read_as_json(value: object, indent: int | None, ascii_only: bool) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    assert model_json(f" {text}\n") == (value, True)
    assert model_json(f"{text} x") == (value, False)


@PROPERTY
@given(st.dictionaries(texts, values, min_size=1, max_size=3))
def test_a_last_comma_changes_nothing(value: dict[str, object]) -> None:
    text = json.dumps(value)
    assert model_json(f"{text[:-1]} ,\n}}") == (value, True)


@PROPERTY
@given(st.text(st.characters(codec="utf-8", exclude_characters='"\\'), max_size=10))
def test_control_characters_in_a_string_stand_for_themselves(text: str) -> None:
    assert model_json(f'{{"a": "{text}"}}') == ({"a": text}, True)


@pytest.mark.parametrize(
    ("written", "read"),
    [
        (r"\d+", r"\d+"),
        (r"a\\d", r"a\d"),
        (r"\n", "\n"),
        (r"C:\new", "C:\new"),  # what is an escape stays one
        (r"\u00e9", "é"),
        (r"\u00", r"\u00"),
        (r"\ud83d", "?"),
        (r"\ud83d\ude00", "😀"),
        (r"\'", r"\'"),
    ],
)
def test_a_lone_backslash_stands_for_itself(written: str, read: str) -> None:
    assert model_json(f'{{"a": "{written}"}}') == ({"a": read}, True)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "x",
        "{",
        '{"a" 1}',
        "{'a': 1}",
        '{"a": NaN}',
        '{"a": -Infinity}',
        '{"a": 1,, }',
        '{"a": "b"c"}',
        '{"a": True}',
        '{"a":' * 5000,
        "[" * 100_000,
        '{"a": ' + "1" * 5000 + "}",
    ],
)
def test_anything_else_is_no_json(text: str) -> None:
    with pytest.raises(ValueError):
        model_json(text)


def test_keys_that_stand_twice_are_told_at_any_depth() -> None:
    value, _ = model_json('{"a": 1, "b": 2, "a": 3}')
    assert isinstance(value, Repeated)
    assert (dict(value), value.counts) == ({"a": 3, "b": 2}, {"a": 2})
    for text in ('{"a": [{"b": {"c": 1, "c": 1}}]}', '[{"a": "\\ud800", "a": 2}]'):
        with pytest.raises(UnreadableReply, match="defined twice"):
            refuse_repeats(model_json(text)[0])
    refuse_repeats(model_json('{"a": {"a": [{"a": 1}, {"a": 2}]}}')[0])


def test_a_number_beyond_all_is_one() -> None:
    assert model_json('{"a": 1e999}')[0] == {"a": math.inf}
