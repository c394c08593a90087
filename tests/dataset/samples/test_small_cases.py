"""Samples and datasets in small cases: order, seeds, copies, and what counts as missing."""

from __future__ import annotations

import copy
import pickle
import random

import pytest

from rubricate import InputError, MemoryDataset, Sample, file_dataset, json_dataset


def numbered(count: int = 10) -> MemoryDataset:
    return MemoryDataset([Sample(f"question {n}", id=n) for n in range(count)], "name", "/place")


def ids(dataset: MemoryDataset) -> list[object]:
    return [sample.id for sample in dataset]


@pytest.fixture
def lines(tmp_path):
    path = tmp_path / "my.data.jsonl"
    rows = ('{"input": "x", "id": 7, "choices": ["p", "q", "r", "s"], "target": "B"}\n',) * 10
    path.write_text("".join(rows))
    return path


def test_a_slice_has_its_own_order_and_a_sort_is_stable_both_ways():
    dataset = numbered()
    dataset[:].shuffle(42)
    assert ids(dataset) == list(range(10))
    assert not dataset.shuffled
    texts = MemoryDataset([Sample(text) for text in ("bbb", "a", "cc", "dd", "eee")])
    texts.sort(reverse=True)
    assert [s.input for s in texts] == ["bbb", "eee", "cc", "dd", "a"]


@pytest.mark.parametrize(
    "copied", [lambda dataset: pickle.loads(pickle.dumps(dataset)), copy.deepcopy, copy.copy]
)
def test_a_copy_of_a_dataset_has_its_own_order(copied):
    dataset = numbered()
    dataset.shuffle(1)
    other = copied(dataset)
    assert list(other) == list(dataset)
    assert (other.name, other.location, other.shuffled) == ("name", "/place", True)
    other.sort(key=lambda sample: sample.id)
    assert ids(dataset) != list(range(10))


def test_shuffling_choices_uses_the_generator_only_for_samples_with_choices():
    def samples() -> list[Sample]:
        return [Sample(str(n), choices=list("pqrs"), target="A") for n in range(3)]

    alone, between = MemoryDataset(samples()), MemoryDataset(samples())
    between.samples.insert(1, Sample("free", choices=[], target="anything"))
    alone.shuffle_choices(7)
    between.shuffle_choices(7)
    assert [s.choices for s in between if s.choices] == [s.choices for s in alone]
    state = random.getstate()
    with pytest.raises(InputError):
        MemoryDataset([*samples(), Sample("bad", choices=["p"], target="Z")]).shuffle_choices()
    assert random.getstate() == state


def test_a_number_is_the_seed_of_choices_and_of_both_shuffles_together(lines):
    for options in ({"shuffle_choices": 42}, {"shuffle_choices": True, "seed": 42}):
        first = json_dataset(lines, **options)[0]
        assert (first.choices, first.target) == (["r", "q", "s", "p"], "B")
    together = json_dataset(lines)
    together.shuffle(3)
    together.shuffle_choices(4)
    assert list(json_dataset(lines, shuffle=3, shuffle_choices=4, limit=3)) == list(together)[:3]


def test_a_dataset_of_a_file_has_its_stem_as_name_and_an_absolute_location(lines, monkeypatch):
    monkeypatch.chdir(lines.parent)
    dataset = json_dataset(lines.name)
    assert (dataset.name, dataset.location) == ("my.data", str(lines))
    assert [json_dataset(lines, name=name).name for name in ("", "mine")] == ["my.data", "mine"]
    with pytest.raises(InputError, match=r"\.jsonl"):
        file_dataset(lines.rename(lines.with_suffix(".txt")))


def test_a_sample_copies_the_containers_it_is_given_and_has_no_hash():
    metadata, choices = {"a": 1}, ["p", "q"]
    sample = Sample("x", choices=choices, metadata=metadata)
    metadata["b"] = 2
    choices.append("r")
    assert (sample.metadata, sample.choices) == ({"a": 1}, ["p", "q"])
    assert sample.model_copy(deep=True) == sample
    with pytest.raises(TypeError, match="unhashable"):
        hash(sample)
