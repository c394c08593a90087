"""`Sample`: what it accepts, and that it stays what it is."""

from __future__ import annotations

import pickle

import pytest
from pydantic import BaseModel, ValidationError

from rubricate import Sample, json_dataset
from rubricate.dataset import ChatMessageUser


def test_a_sample_read_back_from_its_own_json_is_equal_to_itself():
    for sandbox in (None, "docker", ("docker", "compose.yaml"), {"type": "docker"}):
        sample = Sample(
            [ChatMessageUser(content="Hello")],
            ["a", "b"],
            ["A", "B"],
            7,
            {"deep": {"er": [1, None]}},
            sandbox,
            {"a.txt": "text"},
            "echo",
        )
        assert Sample.model_validate_json(sample.model_dump_json()) == sample
        assert Sample.model_validate(sample.model_dump()) == sample
        assert pickle.loads(pickle.dumps(sample)) == sample


def test_a_sandbox_configured_by_a_model_equals_what_is_read_back():
    class Compose(BaseModel):
        image: str

    sample = Sample("q", sandbox=("docker", Compose(image="a")))
    read = Sample.model_validate_json(sample.model_dump_json())
    assert read == sample
    assert read.sandbox.config == {"image": "a"}  # the JSON does not say of which class it was
    assert read != Sample("q", sandbox=("docker", Compose(image="b")))


def test_a_sample_of_a_file_is_like_one_made_by_hand(tmp_path):
    path = tmp_path / "one.jsonl"
    path.write_text('{"input": "q", "target": "t", "id": "x", "metadata": {"a": 1}}')
    (read,) = json_dataset(path)
    made = Sample(input="q", target="t", id="x", metadata={"a": 1})
    assert read == made
    assert type(read) is Sample
    assert repr(read) == repr(made)
    assert read.model_dump() == made.model_dump()
    assert read.model_fields_set == made.model_fields_set
    assert pickle.loads(pickle.dumps(read)) == made
    copy = read.model_copy(update={"target": "u"})
    assert (copy.target, read.target) == ("u", "t")
    for value in ("v", 5):  # assignment is not validated
        read.target = value
        assert read.target == value


@pytest.mark.parametrize(
    "sandbox", [["docker"], ("docker",), {"kind": "docker"}, 3, ["a", "b", "c"]]
)
def test_a_sandbox_of_another_form_is_refused_by_name(sandbox):
    with pytest.raises(ValidationError, match="sandbox"):
        Sample(input="x", sandbox=sandbox)


def test_a_sandbox_may_be_a_pair_or_an_object():
    for sandbox in (
        ["docker", "c.yaml"],
        ("docker", "c.yaml"),
        {"type": "docker", "config": "c.yaml"},
    ):
        spec = Sample(input="x", sandbox=sandbox).sandbox
        assert spec is not None
        assert (spec.type, spec.config) == ("docker", "c.yaml")


def test_wrong_values_and_names_are_refused():
    with pytest.raises(TypeError, match="extra"):
        Sample(input="x", extra=1)
    with pytest.raises(ValidationError, match="id"):
        Sample(input="x", id=True)
    with pytest.raises(ValidationError, match="target"):
        Sample(input="x", target=None)
    with pytest.raises(ValueError, match="nothing"):
        Sample(input="x").nothing = 1
    assert Sample(input="x", target=5).target == "5"


class Level(BaseModel, frozen=True):
    level: int
    topic: str = "none"


class Loose(BaseModel):
    level: int


def test_metadata_as_gives_a_checked_view_of_the_metadata():
    sample = Sample(input="x", metadata={"level": "7", "other": 1})
    view = sample.metadata_as(Level)
    assert (view.level, view.topic) == (7, "none")
    with pytest.raises(ValidationError, match="frozen"):
        view.level = 8
    with pytest.raises(ValueError, match="does not have metadata"):
        Sample(input="x").metadata_as(Level)
    with pytest.raises(ValueError, match="must have frozen=True"):
        sample.metadata_as(Loose)
    with pytest.raises(ValueError, match="Could not parse metadata into Level"):
        Sample(input="x", metadata={}).metadata_as(Level)
