"""`MemoryDataset`: a sequence, changed in place, sharing its samples."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Dataset, InputError, MemoryDataset, Sample
from rubricate.dataset import ChatMessageUser


def samples(count: int = 5) -> list[Sample]:
    return [Sample(input="x" * (count - n), id=n) for n in range(count)]


def test_it_is_a_sequence_with_a_list_of_its_own():
    given = samples()
    dataset = MemoryDataset(given, "name", "/place")
    dataset.shuffle(1)
    assert [s.id for s in given] == [0, 1, 2, 3, 4]
    assert isinstance(dataset, Dataset)
    assert len(dataset) == 5
    assert dataset.samples[0] is dataset[0] is dataset[np.int64(0)]
    assert dataset[-1] is dataset.samples[4]
    assert dataset[0] in dataset
    assert next(reversed(dataset)) is dataset[4]
    assert len(MemoryDataset(s for s in given)) == 5
    for index in (5, -6, np.int64(5)):
        with pytest.raises(IndexError, match="list index out of range"):
            dataset[index]
    for attribute in ("name", "location", "shuffled"):
        with pytest.raises(AttributeError):
            setattr(dataset, attribute, "other")
    assert repr(dataset) == "<MemoryDataset: 5 samples, name='name', location='/place', shuffled>"


def test_slices_and_filters_share_samples_and_keep_what_the_dataset_is_called():
    dataset = MemoryDataset(samples(), "name", "/place", shuffled=True)
    part = dataset[1:3]
    kept = dataset.filter(lambda sample: sample.id % 2, name="")
    for found in (part, kept):
        assert isinstance(found, MemoryDataset)
        assert (found.name, found.location, found.shuffled) == ("name", "/place", True)
    assert part[0] is kept[0] is dataset[1]
    assert dataset.filter(bool, name="other").name == "other"


def test_sorting_and_shuffling_change_it_in_place_and_return_nothing():
    dataset = MemoryDataset(samples())
    assert dataset.shuffle(42) is None
    order = list(range(5))
    random.Random(42).shuffle(order)
    assert [s.id for s in dataset] == order
    assert dataset.shuffled
    assert dataset.sort() is None
    assert [s.id for s in dataset] == [4, 3, 2, 1, 0]
    dataset.sort(reverse=True, key=lambda sample: sample.id)
    assert [s.id for s in dataset] == [4, 3, 2, 1, 0]
    assert dataset.shuffled
    chat = Sample(input=[ChatMessageUser(content="abc"), ChatMessageUser(content="de")])
    both = MemoryDataset([Sample(input="abcdef"), chat])
    both.sort()
    assert both[0] is chat


def test_the_samples_can_be_replaced():
    dataset = MemoryDataset(samples())
    dataset.samples = [sample for sample in dataset if sample.id < 3]
    assert [sample.id for sample in dataset] == [0, 1, 2]


def choices(*pairs: tuple[list[str], str | list[str]]) -> MemoryDataset:
    return MemoryDataset([Sample("q", list(given), target) for given, target in pairs])


def test_seeded_choices_are_shuffled_as_programs_expect_them():
    dataset = choices((["p", "q", "r", "s"], "B"), (["1", "2", "3"], ["A", "C"]))
    assert dataset.shuffle_choices(42) is None
    assert [s.choices for s in dataset] == [["r", "q", "s", "p"], ["2", "3", "1"]]
    assert [s.target for s in dataset] == ["B", ["C", "B"]]


@pytest.mark.parametrize("target", ["b", " B ", "q", "B"])
def test_a_target_follows_its_choice_by_label_or_by_text(target):
    dataset = choices((["p", "q", "r", "s"], target))
    dataset.shuffle_choices(3)
    (sample,) = dataset
    found = sample.target
    assert found == "q" or sample.choices["ABCD".index(found)] == "q"


def test_samples_without_choices_or_target_need_no_rewriting():
    dataset = choices(([], "text"), (["p", "q"], ""))
    dataset.shuffle_choices(1)
    assert [s.target for s in dataset] == ["text", ""]


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


@pytest.mark.parametrize("target", ["Z", "0", "1", "word", "A,B", "é", ["A", "Z"]])
def test_a_target_that_is_no_choice_changes_nothing_and_names_the_sample(target):
    dataset = choices((["p", "q"], "A"), (["v", "w"], target))
    dataset[1].id = "bad"
    before = [s.model_dump() for s in dataset]
    with pytest.raises(InputError, match=r"id 'bad'; its 2 choices are A='v', B='w'"):
        dataset.shuffle_choices(1)
    assert [s.model_dump() for s in dataset] == before


def test_repeated_ids_are_named():
    dataset = MemoryDataset([Sample("x", id=1), Sample("y", id="1"), Sample("z")])
    with pytest.raises(InputError, match="share an id: '1'"):
        dataset.check_ids()
