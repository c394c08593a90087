"""What can be done with a dataset, case by case: order, slices, choices, and files beside it."""

import json
import random
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate.dialects.inspect_ai.dataset import Dataset, MemoryDataset, Sample, json_dataset
from rubricate.errors import InputError


def inputs(dataset: Dataset) -> list[str]:
    return [sample.input for sample in dataset]


def numbered(count: int) -> list[Sample]:
    return [Sample(f"question {number}", id=number) for number in range(count)]


@pytest.fixture
def lines(tmp_path: Path):
    """Writes records as JSON Lines, one a line."""

    def lines_(records: list[object], name: str = "records.jsonl") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{json.dumps(record)}\n" for record in records), encoding="utf-8")
        return path

    return lines_


@pytest.fixture(params=["made", "read"])
def ten(request, lines) -> MemoryDataset:
    """Ten samples, made by hand or read from a file."""
    if request.param == "made":
        return MemoryDataset(numbered(10), "numbers", "/data/numbers.jsonl")
    return json_dataset(lines([{"input": f"question {n}", "id": n} for n in range(10)]))


# --- a sequence


def test_an_index_out_of_range_is_an_index_error(ten):
    for index in (10, -11, np.int64(10)):
        with pytest.raises(IndexError, match="list index out of range"):
            ten[index]
    with pytest.raises(TypeError):
        ten["2"]


def test_the_same_record_is_the_same_object_however_it_is_reached(ten):
    assert ten[1] is ten[:2][1] is list(ten)[1] is ten.samples[1]
    assert ten.filter(lambda sample: sample.id == 1)[0] is ten[1]


def test_a_dataset_has_what_sequences_have(ten):
    assert ten[3] in ten
    assert ten.index(ten[3]) == 3
    assert ten.count(ten[3]) == 1
    assert next(reversed(ten)).id == 9
    assert not MemoryDataset([])


def test_name_location_and_shuffled_cannot_be_assigned(ten):
    for attribute in ("name", "location", "shuffled"):
        with pytest.raises(AttributeError):
            setattr(ten, attribute, "other")


def test_the_samples_can_be_replaced(ten):
    ten.samples = [sample for sample in ten if sample.id < 3]
    assert [sample.id for sample in ten] == [0, 1, 2]
    assert len(ten) == 3


def test_a_bad_record_far_down_a_long_file_is_named_and_the_others_can_be_used(tmp_path):
    path = tmp_path / "long.jsonl"
    path.write_text('{"input": "x"}\n' * 12_000 + '{"in": 1}\n{"input": "y"}\n', encoding="utf-8")
    dataset = json_dataset(path)
    assert len(dataset) == 12_002
    assert dataset[-1].input == "y"
    for use in (list, lambda dataset: dataset[12_000], lambda dataset: dataset.sort()):
        with pytest.raises(InputError, match=r"long\.jsonl:12001: record 12001: field 'input'"):
            use(dataset)
    assert dataset[11_999].input == "x"


# --- filter, sort, shuffle


@settings(deadline=None)  # the first sample builds pydantic's validators
@given(count=st.integers(0, 40), seed=st.integers())
def test_a_shuffle_is_that_of_the_random_module_for_the_seed(count, seed):
    expected = numbered(count)
    random.Random(seed).shuffle(expected)
    dataset = MemoryDataset(numbered(count))
    assert dataset.shuffle(seed) is None
    assert list(dataset) == expected
    assert dataset.shuffled


# --- shuffling choices


@settings(deadline=None)  # the first sample builds pydantic's validators
@given(count=st.integers(1, 40), seed=st.integers(), data=st.data())
def test_a_target_follows_its_choice(count, seed, data):
    choices = [f"choice {n}" for n in range(count)]
    labels = [*"ABCDEFGHIJKLMNOPQRSTUVWXYZ", *map(str, range(1, 15))][:count]
    target = data.draw(st.sampled_from(labels))
    dataset = MemoryDataset([Sample("x", choices=choices, target=target)])
    dataset.shuffle_choices(seed)
    moved = dataset[0]
    assert sorted(moved.choices) == sorted(choices)
    assert moved.choices[labels.index(moved.target)] == choices[labels.index(target)]


# --- readers: shuffle, choices, limit, ids


def test_a_seed_alone_shuffles_nothing(lines):
    dataset = json_dataset(lines([{"input": str(n)} for n in range(10)]), seed=42)
    assert inputs(dataset) == [str(n) for n in range(10)]
    assert not dataset.shuffled


CHOOSING = [
    {"input": "one", "choices": ["p", "q", "r", "s"], "target": "B"},
    {"input": "two", "choices": ["1", "2", "3"], "target": ["A", "C"]},
]


def test_zero_is_a_seed_for_choices(lines):
    path = lines(CHOOSING)
    by_reader, by_method = json_dataset(path, shuffle_choices=0), json_dataset(path)
    by_method.shuffle_choices(0)
    assert list(by_reader) == list(by_method)


@pytest.mark.parametrize(
    "options",
    [{"shuffle_choices": "yes"}, {"shuffle": "yes"}, {"limit": -1}, {"limit": "3"}],
    ids=repr,
)
def test_an_argument_of_a_wrong_kind_is_refused(lines, options):
    with pytest.raises(ValueError, match=next(iter(options))):
        json_dataset(lines(CHOOSING), **options)


def test_a_reader_names_the_file_and_sample_of_a_target_that_is_no_choice(lines):
    path = lines([{"input": "x", "id": "s7", "choices": ["p", "q"], "target": "Z"}])
    with pytest.raises(ValueError, match=r"records\.jsonl.*'s7'"):
        json_dataset(path, shuffle_choices=42)


# --- files beside a dataset


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("compose.yaml", "setup.sh", "data.txt", "cat.png", "../outside.txt"):
        path = tmp_path / "set" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(name, encoding="utf-8")
    (tmp_path / "set" / "tree").mkdir()
    return tmp_path / "set"


def sample_beside(folder: Path, record: dict[str, object], mapper=None) -> Sample:
    path = folder / "records.json"
    path.write_text(json.dumps([{"input": "x", **record}]), encoding="utf-8")
    return json_dataset(path, mapper)[0]


@pytest.mark.parametrize(
    "value",
    ["inline text", "missing.txt", "https://example.com/a", "data:text/plain;base64,eA==", "a\0b",
     "line\n" * 2000, "/nowhere/at/all"],
    ids=lambda value: repr(value[:20]),
)  # fmt: skip
def test_anything_but_a_path_beside_the_dataset_stays(folder, value):
    sample = sample_beside(folder, {"setup": value, "files": {"a": value}})
    assert sample.setup == value
    assert sample.files == {"a": value}


def test_images_of_user_messages_are_found_and_those_of_assistants_are_not(folder):
    content = [{"type": "text", "text": "look"}, {"type": "image", "image": "cat.png"}]
    messages = [{"role": "user", "content": content}, {"role": "assistant", "content": content}]
    user, assistant = sample_beside(folder, {"input": messages}).input
    assert user.content[1].image == str(folder / "cat.png")
    assert assistant.content[1].image == "cat.png"


def test_paths_of_samples_from_a_record_function_are_found_too(folder):
    sample = sample_beside(folder, {"text": "y"}, lambda r: Sample(r["text"], setup="setup.sh"))
    assert sample.setup == str(folder / "setup.sh")
