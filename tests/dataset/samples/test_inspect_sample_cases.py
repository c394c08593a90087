"""From one record to one sample, case by case: what each field accepts, refuses and becomes."""

import json
import pickle
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict, ValidationError

from rubricate.dialects.inspect_ai.dataset import FieldSpec, Sample, json_dataset
from rubricate.dialects.inspect_ai.model import ChatMessageAssistant, ChatMessageUser
from rubricate.errors import InputError


class Difficulty(BaseModel):
    model_config = ConfigDict(frozen=True)

    level: int
    topic: str = "general"


class StrictDifficulty(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

    level: int


class Unfrozen(BaseModel):
    level: int


@pytest.fixture
def read(tmp_path: Path):
    """Writes records after one good record and reads the last one's sample."""

    def read_(record: object, spec: FieldSpec | None = None) -> Sample:
        path = tmp_path / "records.jsonl"
        first = {"input": "first", "q": "first", "level": 1}
        path.write_text(f"{json.dumps(first)}\n{json.dumps(record)}\n", encoding="utf-8")
        return json_dataset(str(path), spec)[1]

    return read_


@pytest.fixture
def refusal(read):
    """The message with which the second record of a file is refused."""

    def refusal_(record: object, spec: FieldSpec | None = None) -> str:
        with pytest.raises(ValueError) as caught:
            read(record, spec)
        message = str(caught.value)
        assert "records.jsonl:2: record 2" in message
        return message

    return refusal_


# --- input


@pytest.mark.parametrize(
    "record",
    [
        {},
        {"input": None},
        {"input": ""},
        {"input": []},
        {"input": False},
        {"input": float("nan")},
    ],
    ids=["absent", "null", "empty", "no messages", "false", "nan"],
)
def test_a_missing_input_is_refused_with_record_field_and_the_fields_there_are(refusal, record):
    message = refusal({**record, "question": "?", "target": "t"})
    assert "No input in dataset" in message
    assert "'input'" in message
    assert "'question', 'target'" in message


@pytest.mark.parametrize(
    ("value", "text"), [(0, "0"), (5, "5"), (1.5, "1.5"), ("  ", "  "), ("text", "text")]
)
def test_an_input_may_be_text_or_a_number(read, value, text):
    assert read({"input": value}).input == text


@pytest.mark.parametrize("value", [{"text": "x"}, {}, ["plain text"], [1], True], ids=json.dumps)
def test_an_input_of_another_type_is_refused_with_what_was_found(refusal, value):
    message = refusal({"input": value})
    assert "field 'input'" in message
    assert "found" in message


def test_messages_become_chat_messages_with_the_source_input(read):
    sample = read(
        {
            "input": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": ""},
                {"role": "tool", "content": "42", "tool_call_id": "c1", "function": "f"},
            ]
        }
    )
    assert [message.role for message in sample.input] == ["system", "user", "assistant", "tool"]
    assert {message.source for message in sample.input} == {"input"}
    assert sample.input[3].tool_call_id == "c1"
    assert sample.input[3].function == "f"


def test_messages_keep_their_id_and_metadata(read):
    message = {"role": "user", "content": "Hi", "id": "m1", "metadata": {"turn": 1}}
    (found,) = read({"input": [message]}).input
    assert found.id == "m1"
    assert found.metadata == {"turn": 1}


@pytest.mark.parametrize(
    "arguments", [{"x": 1}, '{"x": 1}'], ids=["an object", "JSON text as OpenAI writes it"]
)
def test_tool_calls_of_an_assistant_message_are_read(read, arguments):
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": arguments}}
    message = {"role": "assistant", "content": "", "tool_calls": [call]}
    (found,) = read({"input": [message]}).input
    assert isinstance(found, ChatMessageAssistant)
    assert found.tool_calls[0].function == "f"
    assert found.tool_calls[0].arguments == {"x": 1}


def test_an_unknown_role_is_named(refusal):
    message = refusal({"input": [{"role": "narrator", "content": "x"}]})
    assert "role not specified for chat input in dataset" in message
    assert '"narrator"' in message
    assert "system, user, assistant, tool" in message


@pytest.mark.parametrize(
    ("message", "what"), [({"content": "x"}, "role"), ({"role": "user"}, "content")]
)
def test_a_message_without_role_or_content_is_refused_with_its_number(refusal, message, what):
    text = refusal({"input": [{"role": "user", "content": "ok"}, message]})
    assert f"{what} not specified for chat input in dataset" in text
    assert "message 2" in text


# --- target


@pytest.mark.parametrize(
    ("value", "target"),
    [
        (None, ""),
        (float("nan"), ""),
        ("t", "t"),
        (4.0, "4.0"),
        (True, "True"),
        (["a", 1, None, True], ["a", "1", "None", "True"]),
        ([], []),
        ({"a": 1}, "{'a': 1}"),
    ],
    ids=repr,
)
def test_a_target_becomes_text_or_a_list_of_texts(read, value, target):
    assert read({"input": "x", "target": value}).target == target


def test_an_absent_target_is_an_empty_text(read):
    assert read({"input": "x"}).target == ""


def test_nan_in_a_list_of_targets_is_missing(read):
    assert read({"input": "x", "target": ["a", float("nan"), "b"]}).target == ["a", "b"]


# --- choices


@pytest.mark.parametrize(
    ("value", "choices"),
    [
        (None, None),
        ("", None),
        ("  ", None),
        (["a", "", " ", 2], ["a", "2"]),
        ([], []),
        ("a, b ,,c", ["a", "b", "c"]),
        ("New York", ["New", "York"]),
        ('["A", "B, C"]', ["A", "B, C"]),
        ("[A], [B]", ["[A]", "[B]"]),
        (7, ["7"]),
    ],
    ids=repr,
)
def test_choices_are_a_list_or_text_that_is_split(read, value, choices):
    assert read({"input": "x", "choices": value}).choices == choices


# --- id


@pytest.mark.parametrize(
    ("value", "id_"), [(1, 1), ("1", "1"), (1.0, 1), ("", None), (None, None), (0, 0)], ids=repr
)
def test_an_id_is_a_whole_number_or_text_and_an_empty_one_is_none(read, value, id_):
    found = read({"input": "x", "id": value}).id
    assert found == id_
    assert type(found) is type(id_)


@pytest.mark.parametrize("value", [True, False, 1.5, [1], {"a": 1}], ids=repr)
def test_an_id_of_another_type_is_refused(refusal, value):
    assert "field 'id'" in refusal({"input": "x", "id": value})


# --- metadata


@pytest.mark.parametrize(
    ("value", "metadata"),
    [
        (None, None),
        ("", None),
        (" ", None),
        ({}, {}),
        ({"a": 1}, {"a": 1}),
        ('{"a": 1}', {"a": 1}),
        ('{"a": NaN, "b": [NaN]}', {"a": None, "b": [None]}),
    ],
    ids=repr,
)
def test_metadata_is_an_object_or_one_as_json_text(read, value, metadata):
    assert read({"input": "x", "metadata": value}).metadata == metadata


@pytest.mark.parametrize("value", ["{bad", "[1]", [1], 5], ids=repr)
def test_metadata_that_is_no_object_is_refused_with_record_and_field(refusal, value):
    assert "field 'metadata'" in refusal({"input": "x", "metadata": value})


@pytest.mark.parametrize("names", [["a", "b"], ("a", "b")], ids=["list", "tuple"])
def test_named_fields_become_metadata_and_an_absent_one_is_none(read, names):
    record = {"input": "x", "a": 1, "c": 3, "metadata": {"ignored": True}}
    assert read(record, FieldSpec(metadata=names)).metadata == {"a": 1, "b": None}


def test_the_metadata_field_nests_when_it_is_named_itself(read):
    record = {"input": "x", "metadata": {"a": 1}}
    assert read(record, FieldSpec(metadata=["metadata"])).metadata == {"metadata": {"a": 1}}


def test_an_empty_list_of_names_means_no_metadata(read):
    assert read({"input": "x", "metadata": {"a": 1}}, FieldSpec(metadata=[])).metadata is None


@pytest.mark.parametrize(
    "record",
    [
        {"level": "3", "other": 1},
        {"metadata": None, "level": 3},
        {"metadata": "", "level": 3},
        {"metadata": {"level": "3"}},
        {"metadata": '{"level": 3}'},
    ],
    ids=["fields", "null column", "empty column", "own column", "own column as text"],
)
def test_a_metadata_model_gives_a_plain_checked_dict_with_defaults(read, record):
    sample = read({"input": "x", **record}, FieldSpec(metadata=Difficulty))
    assert sample.metadata == {"level": 3, "topic": "general"}
    assert type(sample.metadata) is dict


def test_a_metadata_column_that_is_a_number_is_refused_for_a_model(refusal):
    message = refusal({"input": "x", "metadata": 5}, FieldSpec(metadata=Difficulty))
    assert "Unexpected type for 'metadata' field" in message


def test_a_value_that_does_not_fit_the_metadata_model_is_refused(refusal):
    message = refusal({"input": "x", "level": "high"}, FieldSpec(metadata=Difficulty))
    assert "Could not parse metadata into Difficulty" in message


def test_a_strict_model_sees_the_extra_keys_of_a_metadata_column_but_not_those_of_the_record(
    read, refusal
):
    spec = FieldSpec(metadata=StrictDifficulty)
    assert read({"input": "x", "level": 2, "other": 1}, spec).metadata == {"level": 2}
    assert "other" in refusal({"input": "x", "metadata": {"level": 2, "other": 1}}, spec)


def test_a_metadata_model_that_is_not_frozen_is_refused_even_for_an_empty_file(tmp_path):
    path = tmp_path / "empty.jsonl"
    path.touch()
    with pytest.raises(ValueError, match="Metadata model Unfrozen must have frozen=True"):
        json_dataset(path, FieldSpec(metadata=Unfrozen))


# --- sandbox, files, setup


@pytest.mark.parametrize(
    ("value", "type_", "config"),
    [
        ("docker", "docker", None),
        (["docker", "compose.yaml"], "docker", "compose.yaml"),
        ('["docker", "compose.yaml"]', "docker", "compose.yaml"),
        ({"type": "docker", "config": "compose.yaml"}, "docker", "compose.yaml"),
        ({"type": "docker"}, "docker", None),
    ],
    ids=repr,
)
def test_a_sandbox_is_a_type_a_pair_or_an_object(read, value, type_, config):
    sandbox = read({"input": "x", "sandbox": value}).sandbox
    assert (sandbox.type, sandbox.config) == (type_, config)


@pytest.mark.parametrize("value", [None, "", " "], ids=repr)
def test_an_empty_sandbox_is_none(read, value):
    assert read({"input": "x", "sandbox": value}).sandbox is None


@pytest.mark.parametrize("value", [["docker"], ["a", "b", "c"], "[docker", {"kind": "docker"}, 5])
def test_a_sandbox_in_another_form_is_refused_with_record_and_field(refusal, value):
    assert "field 'sandbox'" in refusal({"input": "x", "sandbox": value})


@pytest.mark.parametrize(
    ("value", "files"),
    [(None, None), ("", None), ({}, {}), ({"a": "x"}, {"a": "x"}), ('{"a": "x"}', {"a": "x"})],
    ids=repr,
)
def test_files_are_texts_by_name_or_that_as_json_text(read, value, files):
    assert read({"input": "x", "files": value}).files == files


@pytest.mark.parametrize("value", [["a"], {"a": 1}, 5, "{bad"], ids=repr)
def test_files_of_another_type_are_refused_with_record_and_field(refusal, value):
    assert "field 'files'" in refusal({"input": "x", "files": value})


@pytest.mark.parametrize(("value", "setup"), [(None, None), ("", None), ("ls", "ls"), (5, "5")])
def test_a_setup_is_text_and_an_empty_one_is_none(read, value, setup):
    assert read({"input": "x", "setup": value}).setup == setup


@pytest.mark.parametrize("value", [["ls", "pwd"], {"run": "ls"}], ids=repr)
def test_a_setup_that_is_a_list_or_object_is_refused(refusal, value):
    assert "field 'setup'" in refusal({"input": "x", "setup": value})


# --- FieldSpec


def test_a_field_spec_has_its_fields_in_order_and_equals_by_value():
    spec = FieldSpec("q", "a", "opts", "key", ["m"], "box", "f", "s")
    assert spec == FieldSpec(
        input="q",
        target="a",
        choices="opts",
        id="key",
        metadata=["m"],
        sandbox="box",
        files="f",
        setup="s",
    )
    assert spec != FieldSpec()


def test_every_field_of_a_spec_names_where_its_value_is_read(read):
    record = {
        "q": "in", "a": "B", "opts": ["x", "y"], "key": 7, "m": 1, "box": "docker",
        "f": {"n": "text"}, "s": "ls",
    }  # fmt: skip
    spec = FieldSpec("q", "a", "opts", "key", ["m"], "box", "f", "s")
    assert read(record, spec) == Sample(
        "in", ["x", "y"], "B", 7, {"m": 1}, "docker", {"n": "text"}, "ls"
    )


# --- Sample


def test_a_sample_of_one_argument_has_defaults():
    sample = Sample("question")
    assert sample.model_dump() == {
        "input": "question", "choices": None, "target": "", "id": None, "metadata": None,
        "sandbox": None, "files": None, "setup": None,
    }  # fmt: skip


def test_a_sample_may_have_an_empty_input():
    assert Sample("").input == ""
    assert Sample([]).input == []


def test_a_sample_takes_numbers_as_target():
    assert Sample("x", target=5).target == "5"


@pytest.mark.parametrize(
    "sandbox", [("docker", "c.yaml"), ["docker", "c.yaml"], {"type": "docker", "config": "c.yaml"}]
)
def test_a_sandbox_given_to_a_sample_is_kept_in_whatever_form(sandbox):
    found = Sample("x", sandbox=sandbox).sandbox
    assert (found.type, found.config) == ("docker", "c.yaml")


@pytest.mark.parametrize("sandbox", [("docker",), [], {"kind": "docker"}, 5], ids=repr)
def test_a_sandbox_that_a_sample_cannot_use_is_refused_by_name(sandbox):
    with pytest.raises(ValidationError, match="sandbox"):
        Sample("x", sandbox=sandbox)


@pytest.mark.parametrize(
    "arguments", [{"id": True}, {"target": None}, {"metadata": {1: "a"}}, {"input": None}], ids=repr
)
def test_a_sample_refuses_values_of_another_type(arguments):
    with pytest.raises(ValidationError):
        Sample(**{"input": "x", **arguments})


def test_a_sample_refuses_an_unknown_argument_and_attribute():
    with pytest.raises(TypeError):
        Sample("x", answer="y")  # type: ignore[call-arg]
    with pytest.raises(ValueError):
        Sample("x").answer = "y"


def test_assignment_is_not_validated():
    sample = Sample("x")
    sample.target = 5
    assert sample.target == 5


def test_a_sample_copies_the_containers_that_it_is_given():
    metadata, choices = {"a": 1}, ["p", "q"]
    sample = Sample("x", choices=choices, metadata=metadata)
    metadata["b"] = 2
    choices.append("r")
    assert (sample.metadata, sample.choices) == ({"a": 1}, ["p", "q"])


FULL = {
    "input": [{"role": "user", "content": "Hi", "id": "m1"}],
    "choices": ["x", "y"], "target": ["A", "B"], "id": "s1", "metadata": {"a": [1, None]},
    "sandbox": ["docker", "nowhere.yaml"], "files": {"n": "text"}, "setup": "ls -l",
}  # fmt: skip


@pytest.mark.parametrize("record", [FULL, {"input": "x", "target": "t"}], ids=["full", "plain"])
def test_a_sample_that_was_read_survives_json_pickle_and_copies(read, record):
    sample = read(record)
    assert Sample.model_validate_json(sample.model_dump_json()) == sample
    assert Sample.model_validate(sample.model_dump()) == sample
    assert pickle.loads(pickle.dumps(sample)) == sample
    assert sample.model_copy(deep=True) == sample
    with pytest.raises(TypeError, match="unhashable"):
        hash(sample)


def test_a_sample_that_was_read_equals_one_that_was_made(read):
    record = {"input": "x", "target": "t", "id": 3, "metadata": {"a": 1}, "choices": ["p"]}
    assert read(record) == Sample("x", ["p"], "t", 3, {"a": 1})


def test_metadata_as_gives_the_model_leaves_out_what_it_does_not_name_and_converts():
    found = Sample("x", metadata={"level": "7", "other": 1}).metadata_as(StrictDifficulty)
    assert found == StrictDifficulty(level=7)
    with pytest.raises(ValidationError, match="frozen"):
        found.level = 8


@pytest.mark.parametrize(
    ("metadata", "model", "message"),
    [
        (None, Unfrozen, "Sample does not have metadata"),
        ({"level": 1}, Unfrozen, "Metadata model Unfrozen must have frozen=True"),
        ({"level": "high"}, Difficulty, "Could not parse metadata into Difficulty"),
        ({}, Difficulty, "Could not parse metadata into Difficulty"),
    ],
)
def test_metadata_as_says_why_there_is_no_model(metadata, model, message):
    with pytest.raises(InputError, match=message):
        Sample("x", metadata=metadata).metadata_as(model)


def test_a_sample_takes_message_objects():
    message = ChatMessageUser(content="Hi")
    assert Sample([message]).input[0].text == "Hi"
