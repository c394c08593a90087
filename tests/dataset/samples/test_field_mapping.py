"""From records to samples: every kind of value, and errors that say where."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from rubricate import FieldSpec, InputError, Sample, file_dataset, json_dataset


@pytest.fixture
def one(tmp_path):
    """The sample of one record."""

    def read(record: dict[str, Any], fields: Any = None) -> Sample:
        path = tmp_path / "one.jsonl"
        path.write_text(json.dumps(record))
        (sample,) = json_dataset(path, fields)
        return sample

    return read


@pytest.mark.parametrize("value", [None, "", [], False])
def test_a_record_without_input_is_an_error_that_names_everything(one, value):
    with pytest.raises(
        InputError, match=r"one\.jsonl:1: record 1: field 'input': No input"
    ) as info:
        one({"question": "q", "input": value})
    assert "'question', 'input'" in str(info.value)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": 1}, "expected text or a list of chat messages"),
        (["text"], "message 1: expected a chat message"),
        ([{"role": "boss", "content": "x"}], 'role not specified .* found "boss"'),
        ([{"content": "x"}], "role not specified"),
        ([{"role": "user"}], "content not specified"),
    ],
)
def test_an_input_of_another_kind_says_what_it_is(one, value, message):
    with pytest.raises(InputError, match=message):
        one({"input": value})


def test_messages_keep_their_id_and_metadata(one):
    (message,) = one(
        {"input": [{"role": "user", "content": "hi", "id": "m", "metadata": {"a": 1}}]}
    ).input
    assert (message.id, message.metadata, message.source) == ("m", {"a": 1}, "input")


def test_tool_calls_are_read_in_both_forms(one):
    sample = one(
        {
            "input": [
                {
                    "role": "assistant",
                    "content": "",
                    "tool_calls": [
                        {"id": "1", "function": "f", "arguments": {"x": 1}},
                        {"id": "2", "function": {"name": "g", "arguments": '{"y": 2}'}},
                    ],
                },
                {"role": "tool", "content": "3", "tool_call_id": "1", "function": "f"},
            ]
        }
    )
    calls = sample.input[0].tool_calls
    assert [(call.function, call.arguments) for call in calls] == [("f", {"x": 1}), ("g", {"y": 2})]
    assert [call.type for call in calls] == ["function", "function"]
    assert sample.input[1].tool_call_id == "1"


@pytest.mark.parametrize(
    ("field", "given", "held"),
    [
        ("input", 0, "0"),
        ("input", 2.5, "2.5"),
        ("input", "  ", "  "),
        ("target", float("nan"), ""),
        ("target", {"a": 1}, "{'a': 1}"),
        ("target", None, ""),
        ("target", 4.0, "4.0"),
        ("target", True, "True"),
        ("target", ["a", 1, None, True], ["a", "1", "None", "True"]),
        ("target", [], []),
        ("target", ["a", float("nan"), "b"], ["a", "b"]),
        ("choices", "a, b ,,c", ["a", "b", "c"]),
        ("choices", "New York", ["New", "York"]),
        ("choices", '["A", "B, C"]', ["A", "B, C"]),
        ("choices", "", None),
        ("choices", "  ", None),
        ("choices", "[A], [B]", ["[A]", "[B]"]),
        ("choices", None, None),
        ("choices", [], []),
        ("choices", ["a", "", " ", 1], ["a", "1"]),
        ("choices", 5, ["5"]),
        ("id", 0, 0),
        ("id", 1.0, 1),
        ("id", "", None),
        ("id", "x", "x"),
        ("metadata", "", None),
        ("metadata", None, None),
        ("metadata", '{"a": 1}', {"a": 1}),
        ("metadata", '{"a": NaN, "b": [NaN]}', {"a": None, "b": [None]}),
        ("metadata", {}, {}),
        ("files", {}, {}),
        ("sandbox", "", None),
        ("files", "", None),
        ("files", '{"a": "b"}', {"a": "b"}),
        ("setup", 5, "5"),
        ("setup", "", None),
    ],
)
def test_a_value_becomes_what_the_field_holds(one, field, given, held):
    assert getattr(one({"input": "x", field: given}), field) == held


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("id", True),
        ("id", 1.5),
        ("id", [1]),
        ("id", False),
        ("id", {"a": 1}),
        ("metadata", "{bad"),
        ("metadata", "[1]"),
        ("metadata", [1]),
        ("metadata", 3),
        ("sandbox", "[bad"),
        ("sandbox", ["docker"]),
        ("sandbox", {"kind": "docker"}),
        ("files", {"a": 1}),
        ("files", ["a"]),
        ("files", 5),
        ("files", "{bad"),
        ("setup", ["a"]),
    ],
)
def test_a_value_that_does_not_fit_names_its_record_and_field(one, field, value):
    with pytest.raises(InputError, match=rf"one\.jsonl:1: record 1: field '{field}'"):
        one({"input": "x", field: value})


def test_metadata_may_be_named_fields(one):
    record = {"input": "x", "a": 1, "metadata": {"b": 2}}
    assert one(record, FieldSpec(metadata=["a", "c"])).metadata == {"a": 1, "c": None}
    assert one(record, FieldSpec(metadata=("a",))).metadata == {"a": 1}
    assert one(record, FieldSpec(metadata=[])).metadata is None
    assert one(record, FieldSpec(metadata=["metadata"])).metadata == {"metadata": {"b": 2}}


@pytest.mark.parametrize(
    "value", ["docker", ["docker", "c.yaml"], '["docker", "c.yaml"]', {"type": "docker"}], ids=repr
)
def test_a_sandbox_is_a_type_a_pair_or_an_object(one, value):
    sandbox = one({"input": "x", "sandbox": value}).sandbox
    assert (sandbox.type, sandbox.config) == (
        "docker",
        "c.yaml" if "c.yaml" in str(value) else None,
    )


def test_a_field_spec_has_its_fields_in_order_and_equals_by_value():
    spec = FieldSpec("q", "a", "opts", "key", ["m"], "box", "f", "s")
    named = {"input": "q", "target": "a", "choices": "opts", "id": "key", "metadata": ["m"]}
    assert spec == FieldSpec(**named, sandbox="box", files="f", setup="s")
    assert spec != FieldSpec()


class Level(BaseModel, frozen=True, extra="forbid"):
    level: int
    topic: str = "none"


class Loose(BaseModel):
    level: int


def test_metadata_may_be_a_model_that_checks_it(one):
    spec = FieldSpec(metadata=Level)
    assert one({"input": "x", "level": "3"}, spec).metadata == {"level": 3, "topic": "none"}
    assert one({"input": "x", "metadata": "", "level": 3}, spec).metadata["level"] == 3
    assert one({"input": "x", "metadata": {"level": 4}}, spec).metadata["level"] == 4
    with pytest.raises(InputError, match="Could not parse metadata into Level"):
        one({"input": "x", "metadata": {"level": 4, "more": 1}}, spec)
    with pytest.raises(InputError, match="field 'metadata'"):
        one({"input": "x", "metadata": 3}, spec)


def test_a_metadata_model_that_is_not_frozen_is_refused_before_reading(tmp_path):
    empty = tmp_path / "empty.jsonl"
    empty.touch()
    with pytest.raises(InputError, match="Loose must have frozen=True"):
        json_dataset(empty, FieldSpec(metadata=Loose))


def test_tool_calls_that_are_no_list_are_refused(one):
    message = {"role": "assistant", "content": "", "tool_calls": 5}
    with pytest.raises(InputError, match="message 1: tool_calls: expected a list, found 5"):
        one({"input": [message]})


def test_a_record_function_may_return_any_number_of_samples(one, tmp_path):
    path = tmp_path / "two.jsonl"
    path.write_text('{"n": 0}\n{"n": 2}\n{"n": 1}\n')

    def samples(record):
        return (Sample(input=f"{record['n']}.{i}") for i in range(record["n"]))

    dataset = json_dataset(path, samples, auto_id=True)
    assert [(s.id, s.input) for s in dataset] == [(1, "2.0"), (2, "2.1"), (3, "1.0")]
    assert len(json_dataset(path, samples, limit=1)) == 1


def test_what_a_record_function_does_wrong_names_the_record(one):
    with pytest.raises(InputError, match="record 1: the record function raised ValidationError"):
        one({"input": "x"}, lambda record: Sample(input=5))
    with pytest.raises(InputError, match="returned None"):
        one({"input": "x"}, lambda record: None)
    with pytest.raises(InputError, match="returned dict"):
        one({"input": "x"}, lambda record: {})
    with pytest.raises(InputError, match="one of them a int"):
        one({"input": "x"}, lambda record: [1])


@pytest.mark.parametrize("error", [KeyError("missing"), PermissionError(13, "no"), StopIteration()])
@pytest.mark.parametrize("name", ["a.jsonl", "a.json", "a.csv"])
def test_a_record_functions_error_is_the_cause_of_an_input_error(tmp_path, name, error):
    path = tmp_path / name
    path.write_text('{"input": "x"}' if "json" in name else "input\nx\n")

    def fails(record):
        raise error

    with pytest.raises(InputError, match=r"record 1: the record function raised") as caught:
        file_dataset(path, fails)
    assert str(caught.value).startswith(str(path))
    assert caught.value.__cause__ is error


def test_a_limit_counts_the_samples_that_a_function_makes_also_of_a_json_array(tmp_path):
    path = tmp_path / "many.json"
    path.write_text(json.dumps([{"n": n} for n in range(40)]))

    def even(record):
        return [] if record["n"] % 2 else Sample(input=str(record["n"]))

    assert [s.input for s in json_dataset(path, even, limit=3)] == ["0", "2", "4"]
    skipping = json_dataset(path, FieldSpec(input="n"), limit=3, on_error="skip")
    assert [s.input for s in skipping] == ["0", "1", "2"]


@pytest.mark.parametrize("fields", [{"input": "x"}, FieldSpec, "input", Sample], ids=str)
@pytest.mark.parametrize("name", ["a.jsonl", "a.csv"])
def test_sample_fields_of_another_kind_are_refused(tmp_path, name, fields):
    with pytest.raises(InputError, match="FieldSpec"):
        file_dataset(tmp_path / name, fields)
