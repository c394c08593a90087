"""What can be done with a dataset, case by case: order, slices, choices, and files beside it."""

import copy
import json
import pickle
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


@pytest.mark.parametrize("kind", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_a_dataset_takes_any_iterable_of_samples(kind):
    dataset = MemoryDataset(kind(numbered(3)))
    dataset.shuffle(1)
    dataset.sort(key=lambda sample: sample.id)
    assert [sample.id for sample in dataset] == [0, 1, 2]
    assert len(dataset) == 3


def test_a_dataset_leaves_the_callers_list_alone():
    samples = numbered(10)
    dataset = MemoryDataset(samples)
    dataset.shuffle(42)
    samples.clear()
    assert len(dataset) == 10


@pytest.mark.parametrize("index", [2, np.int64(2), np.uint8(2), -8, np.int32(-8)], ids=repr)
def test_anything_that_is_a_whole_number_is_an_index(ten, index):
    assert ten[index].id == 2


def test_an_index_out_of_range_is_an_index_error(ten):
    for index in (10, -11, np.int64(10)):
        with pytest.raises(IndexError, match="list index out of range"):
            ten[index]
    with pytest.raises(TypeError):
        ten["2"]


def test_the_same_record_is_the_same_object_however_it_is_reached(ten):
    assert ten[1] is ten[:2][1] is list(ten)[1] is ten.samples[1]
    assert ten.filter(lambda sample: sample.id == 1)[0] is ten[1]


def test_a_slice_is_a_dataset_of_the_same_name_location_and_shuffled(ten):
    ten.shuffle(1)
    part = ten[2:4]
    assert isinstance(part, MemoryDataset)
    assert (part.name, part.location, part.shuffled) == (ten.name, ten.location, True)
    assert [sample.id for sample in part] == [sample.id for sample in ten][2:4]


def test_a_slice_has_an_order_of_its_own(ten):
    before = [sample.id for sample in ten]
    ten[:].shuffle(42)
    assert [sample.id for sample in ten] == before
    assert not ten.shuffled


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


@pytest.mark.parametrize(
    "copied", [lambda dataset: pickle.loads(pickle.dumps(dataset)), copy.deepcopy, copy.copy],
    ids=["pickle", "deepcopy", "copy"],
)  # fmt: skip
def test_a_dataset_can_be_pickled_and_copied(ten, copied):
    ten.shuffle(1)
    other = copied(ten)
    assert list(other) == list(ten)
    assert (other.name, other.location, other.shuffled) == (ten.name, ten.location, True)
    other.sort(key=lambda sample: sample.id)
    assert [sample.id for sample in ten] != list(range(10))


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


def test_a_datasets_repr_has_its_size_name_and_location():
    shown = repr(MemoryDataset(numbered(2), "numbers", "/data/numbers.jsonl"))
    assert "2 samples" in shown
    assert "numbers" in shown
    assert "/data/numbers.jsonl" in shown


# --- filter, sort, shuffle


def test_a_filter_keeps_order_location_and_shuffled_and_counts_truthy_results(ten):
    ten.shuffle(3)
    part = ten.filter(lambda sample: sample.id % 2)
    assert [sample.id for sample in part] == [sample.id for sample in ten if sample.id % 2]
    assert (part.location, part.shuffled) == (ten.location, True)


@pytest.mark.parametrize(("given", "named"), [(None, "numbers"), ("", "numbers"), ("odd", "odd")])
def test_a_filters_name_falls_back_to_the_datasets(given, named):
    dataset = MemoryDataset(numbered(3), "numbers")
    assert dataset.filter(lambda sample: True, given).name == named


def test_a_sort_is_by_input_length_stable_both_ways_and_keeps_shuffled():
    dataset = MemoryDataset([Sample(text) for text in ("bbb", "a", "cc", "dd", "eee")])
    dataset.shuffle(1)
    order = inputs(dataset)
    assert dataset.sort() is None
    assert inputs(dataset) == sorted(order, key=len)
    dataset.sort(reverse=True)
    assert inputs(dataset) == sorted(sorted(order, key=len), key=len, reverse=True)
    assert dataset.shuffled


def test_a_sort_takes_the_length_of_all_messages_together():
    short = Sample([{"role": "user", "content": "abc"}])
    long = Sample([{"role": "user", "content": "ab"}, {"role": "assistant", "content": "abc"}])
    dataset = MemoryDataset([long, Sample("abcd"), short])
    dataset.sort()
    assert list(dataset) == [short, Sample("abcd"), long]


@settings(deadline=None)  # the first sample builds pydantic's validators
@given(count=st.integers(0, 40), seed=st.integers())
def test_a_shuffle_is_that_of_the_random_module_for_the_seed(count, seed):
    expected = numbered(count)
    random.Random(seed).shuffle(expected)
    dataset = MemoryDataset(numbered(count))
    assert dataset.shuffle(seed) is None
    assert list(dataset) == expected
    assert dataset.shuffled


def test_a_shuffle_without_a_seed_follows_the_random_module(ten):
    expected = list(range(10))
    random.seed(5)
    random.shuffle(expected)
    random.seed(5)
    ten.shuffle()
    assert [sample.id for sample in ten] == expected


def test_two_shuffles_follow_each_other(ten):
    expected = list(range(10))
    random.Random(1).shuffle(expected)
    random.Random(2).shuffle(expected)
    ten.shuffle(1)
    ten.shuffle(2)
    assert [sample.id for sample in ten] == expected


# --- shuffling choices


def test_seeded_choices_are_those_of_other_programs():
    dataset = MemoryDataset(
        [
            Sample("one", choices=["p", "q", "r", "s"], target="B"),
            Sample("two", choices=["1", "2", "3"], target=["A", "C"]),
        ]
    )
    assert dataset.shuffle_choices(42) is None
    assert (dataset[0].choices, dataset[0].target) == (["r", "q", "s", "p"], "B")
    assert (dataset[1].choices, dataset[1].target) == (["2", "3", "1"], ["C", "B"])
    assert not dataset.shuffled


def test_samples_without_choices_take_nothing_from_the_generator():
    def samples() -> list[Sample]:
        return [Sample(str(n), choices=list("pqrs"), target="A") for n in range(3)]

    alone, between = MemoryDataset(samples()), MemoryDataset(samples())
    between.samples.insert(1, Sample("free", target="anything"))
    between.samples.insert(1, Sample("free", choices=[], target="anything"))
    alone.shuffle_choices(7)
    between.shuffle_choices(7)
    assert [s.choices for s in between if s.choices] == [s.choices for s in alone]


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


@pytest.mark.parametrize("target", ["b", " B", "B ", "B"], ids=repr)
def test_a_label_may_be_lower_case_or_have_spaces_and_comes_back_upper_case(target):
    dataset = MemoryDataset([Sample("x", choices=["p", "q", "r", "s"], target=target)])
    dataset.shuffle_choices(42)
    assert dataset[0].target == "B"
    assert dataset[0].choices == ["r", "q", "s", "p"]


@pytest.mark.parametrize("target", ["", []], ids=["empty", "no targets"])
def test_a_sample_without_a_target_needs_none_after_a_shuffle(target):
    dataset = MemoryDataset([Sample("x", choices=["p", "q", "r", "s"], target=target)])
    dataset.shuffle_choices(42)
    assert dataset[0].choices == ["r", "q", "s", "p"]
    assert dataset[0].target == target


@pytest.mark.parametrize("target", ["Paris", "7"])
def test_a_target_that_is_a_choices_text_stays_it(target):
    dataset = MemoryDataset([Sample("x", choices=["Rome", "Paris", "7"], target=target)])
    dataset.shuffle_choices(1)
    assert dataset[0].target == target


WRONG = ["word", "Z", "1", "0", "A,B", "\u00e9", "\u0661", "AA", "-1", ["A", "Z"]]


@pytest.mark.parametrize("id_", ["s7", None], ids=["with id", "without id"])
@pytest.mark.parametrize("target", WRONG, ids=repr)
def test_a_target_that_is_no_choice_names_sample_target_and_choices(target, id_):
    dataset = MemoryDataset(
        [Sample("fine"), Sample("x", choices=["p", "q"], target=target, id=id_)]
    )
    with pytest.raises(ValueError) as caught:
        dataset.shuffle_choices(42)
    message = str(caught.value)
    wrong = target if isinstance(target, str) else target[-1]
    assert f"Unexpected multiple choice answer: {wrong!r}" in message
    assert ("id 's7'" if id_ else "index 1") in message
    assert "A='p', B='q'" in message


@pytest.mark.parametrize("seed", [42, None], ids=["seeded", "unseeded"])
def test_an_error_in_shuffling_choices_leaves_every_sample_as_it_was(seed):
    def samples() -> list[Sample]:
        good = Sample("good", choices=["p", "q", "r"], target="A")
        return [good, Sample("bad", choices=["p", "q", "r"], target="Z")]

    dataset = MemoryDataset(samples())
    state = random.getstate()
    with pytest.raises(InputError):
        dataset.shuffle_choices(seed)
    assert list(dataset) == samples()
    assert random.getstate() == state


# --- readers: shuffle, choices, limit, ids


def test_a_reader_shuffles_as_the_random_module_and_keeps_the_files_numbers(lines):
    path = lines([{"input": f"question {n}"} for n in range(10)])
    expected = list(range(1, 11))
    random.Random(42).shuffle(expected)
    dataset = json_dataset(path, auto_id=True, shuffle=True, seed=42, limit=4)
    assert [sample.id for sample in dataset] == expected[:4]
    assert inputs(dataset) == [f"question {number - 1}" for number in expected[:4]]
    assert dataset.shuffled


@pytest.mark.parametrize("seed", [0, 42])
def test_a_number_as_shuffle_is_the_seed(lines, seed):
    path = lines([{"input": str(n)} for n in range(10)])
    assert inputs(json_dataset(path, shuffle=seed)) == inputs(
        json_dataset(path, shuffle=True, seed=seed)
    )
    with pytest.raises(ValueError, match="seed"):
        json_dataset(path, shuffle=seed, seed=1)


def test_a_seed_alone_shuffles_nothing(lines):
    dataset = json_dataset(lines([{"input": str(n)} for n in range(10)]), seed=42)
    assert inputs(dataset) == [str(n) for n in range(10)]
    assert not dataset.shuffled


CHOOSING = [
    {"input": "one", "choices": ["p", "q", "r", "s"], "target": "B"},
    {"input": "two", "choices": ["1", "2", "3"], "target": ["A", "C"]},
]


@pytest.mark.parametrize(
    "options", [{"shuffle_choices": 42}, {"shuffle_choices": True, "seed": 42}], ids=repr
)
def test_a_reader_shuffles_choices_by_a_number_or_by_its_seed(lines, options):
    dataset = json_dataset(lines(CHOOSING), **options)
    assert [sample.choices for sample in dataset] == [["r", "q", "s", "p"], ["2", "3", "1"]]
    assert [sample.target for sample in dataset] == ["B", ["C", "B"]]
    assert not dataset.shuffled


def test_zero_is_a_seed_for_choices(lines):
    path = lines(CHOOSING)
    by_reader, by_method = json_dataset(path, shuffle_choices=0), json_dataset(path)
    by_method.shuffle_choices(0)
    assert list(by_reader) == list(by_method)


def test_choices_are_shuffled_in_the_order_of_the_shuffled_samples(lines):
    path = lines(CHOOSING * 5)
    expected = json_dataset(path)
    expected.shuffle(3)
    expected.shuffle_choices(4)
    assert list(json_dataset(path, shuffle=3, shuffle_choices=4)) == list(expected)
    assert list(json_dataset(path, shuffle=3, shuffle_choices=4, limit=3)) == expected.samples[:3]


@pytest.mark.parametrize("value", [False, None])
def test_choices_stay_unless_asked(lines, value):
    assert json_dataset(lines(CHOOSING), shuffle_choices=value)[0].choices == ["p", "q", "r", "s"]


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


def test_ids_that_stand_twice_are_refused_where_a_check_is_asked_for(lines):
    path = lines([{"input": "x", "id": "a"}, {"input": "y", "id": "b"}, {"input": "z", "id": "a"}])
    assert len(json_dataset(path)) == 3
    with pytest.raises(ValueError, match="'a'"):
        json_dataset(path, check=True)


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


def test_paths_beside_the_dataset_become_absolute(folder):
    sample = sample_beside(
        folder,
        {
            "sandbox": ["docker", "compose.yaml"],
            "setup": "setup.sh",
            "files": {"a": "data.txt", "b": "../outside.txt", "c": "tree"},
        },
    )
    assert sample.sandbox.config == str(folder / "compose.yaml")
    assert sample.setup == str(folder / "setup.sh")
    assert sample.files == {
        "a": str(folder / "data.txt"),
        "b": str(folder.parent / "outside.txt"),
        "c": str(folder / "tree"),
    }


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
