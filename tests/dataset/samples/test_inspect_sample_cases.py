"""From one record to one sample, case by case: what each field accepts, refuses and becomes."""

import json
from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from rubricate.dialects.inspect_ai.dataset import FieldSpec, Sample, json_dataset


class StrictDifficulty(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")

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


# --- target


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


@pytest.mark.parametrize("value", [True, False, 1.5, [1], {"a": 1}], ids=repr)
def test_an_id_of_another_type_is_refused(refusal, value):
    assert "field 'id'" in refusal({"input": "x", "id": value})


# --- metadata


def test_the_metadata_field_nests_when_it_is_named_itself(read):
    record = {"input": "x", "metadata": {"a": 1}}
    assert read(record, FieldSpec(metadata=["metadata"])).metadata == {"metadata": {"a": 1}}


def test_a_strict_model_sees_the_extra_keys_of_a_metadata_column_but_not_those_of_the_record(
    read, refusal
):
    spec = FieldSpec(metadata=StrictDifficulty)
    assert read({"input": "x", "level": 2, "other": 1}, spec).metadata == {"level": 2}
    assert "other" in refusal({"input": "x", "metadata": {"level": 2, "other": 1}}, spec)


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


@pytest.mark.parametrize("value", [["a"], {"a": 1}, 5, "{bad"], ids=repr)
def test_files_of_another_type_are_refused_with_record_and_field(refusal, value):
    assert "field 'files'" in refusal({"input": "x", "files": value})


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


# --- Sample


def test_assignment_is_not_validated():
    sample = Sample("x")
    sample.target = 5
    assert sample.target == 5
