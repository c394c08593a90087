"""What a dataset in memory promises; its files are in test_dataset_files.py."""

from __future__ import annotations

import copy
import dataclasses
from typing import Any

import pytest

from rubricate import Criterion, CriterionVerdict, DataItem, InputError, Rubric, RubricDataset

MET, UNMET, CANNOT_ASSESS = CriterionVerdict
RUBRIC = Rubric(
    [
        Criterion(name="Accuracy", weight=10.0, requirement="Factually correct"),
        Criterion(name="Clarity", weight=5.0, requirement="Clear and concise"),
        Criterion(name="Errors", weight=-2.5, requirement="Has errors"),
    ]
)
OWN = Rubric([Criterion(weight=1.0, requirement="Correct answer for Q1")])


def dataset(**changes: Any) -> RubricDataset:
    return RubricDataset(**{"prompt": "Explain photosynthesis", "rubric": RUBRIC, **changes})


def test_the_fields_of_the_page_come_first_and_in_its_order() -> None:
    items = [DataItem("text", "Q1")]
    made = RubricDataset("prompt", RUBRIC, items, "name", "reference")
    assert (made.prompt, made.name, made.reference_submission) == ("prompt", "name", "reference")
    assert made.rubric is RUBRIC
    assert made.items == items


def test_only_the_prompt_is_needed_and_nothing_is_shared() -> None:
    made = RubricDataset("prompt")
    assert (made.rubric, made.items, made.name, made.reference_submission) == (None, [], None, None)
    made.add_item("text", "Q1", rubric=OWN)
    assert len(RubricDataset("prompt")) == 0


def test_a_dataset_is_a_dataclass_that_can_be_replaced_and_copied() -> None:
    made = dataset(items=[DataItem("text", "Q1", [MET, UNMET, CANNOT_ASSESS])])
    assert dataclasses.is_dataclass(RubricDataset)
    renamed = dataclasses.replace(made, name="other")
    assert (renamed.name, renamed.items, made.name) == ("other", made.items, None)
    assert copy.deepcopy(made) == made


def test_its_length_is_that_of_its_items_and_it_iterates_over_them() -> None:
    items = [DataItem("one", "1"), DataItem("two", "2")]
    made = dataset(items=items)
    assert len(made) == 2
    assert all(found is given for found, given in zip(made, items, strict=True))
    assert made[1] is items[1]


def test_wrong_labels_are_refused_when_it_is_built_too() -> None:
    with pytest.raises(ValueError, match=r"items\[1\]\.ground_truth\[0\]: criterion 'Accuracy'"):
        dataset(items=[DataItem("one", "1"), DataItem("two", "2", ["MAT", MET, MET])])


def test_labels_given_as_text_become_verdicts() -> None:
    made = dataset(items=[DataItem("one", "1", ["MET", "UNMET", "CANNOT_ASSESS"])])
    labels = made[0].ground_truth
    assert labels is not None
    assert all(isinstance(label, CriterionVerdict) for label in labels)


# Properties


def test_names_number_and_positive_weight_are_those_of_the_global_rubric() -> None:
    made = dataset()
    assert made.criterion_names == ["Accuracy", "Clarity", "Errors"]
    assert made.num_criteria == 3
    assert made.total_positive_weight == 15.0


@pytest.mark.parametrize("name", ["criterion_names", "num_criteria", "total_positive_weight"])
def test_without_a_global_rubric_its_properties_are_value_errors(name: str) -> None:
    with pytest.raises(ValueError, match="no global rubric"):
        getattr(RubricDataset("p", items=[DataItem("x", "1", rubric=OWN)]), name)


# What holds for an item


def test_what_an_item_has_of_its_own_goes_before_what_is_global() -> None:
    own = DataItem("x", rubric=OWN, reference_submission="own", prompt="own")
    items = [own, DataItem("y"), DataItem("z", reference_submission="")]
    made = dataset(items=items, reference_submission="global")
    assert made.get_item_rubric(0) is OWN
    assert made.get_item_rubric(1) is RUBRIC
    assert [*map(made.get_item_reference_submission, range(3))] == ["own", "global", ""]
    assert [*map(made.get_item_prompt, range(2))] == ["own", "Explain photosynthesis"]
    assert dataset(items=items).get_item_reference_submission(1) is None


def test_no_rubric_at_all_is_a_value_error_that_names_the_item() -> None:
    made = RubricDataset("p", items=[DataItem("x", "1", rubric=OWN), DataItem("y", "2")])
    assert made.get_item_rubric(0) is OWN
    message = r"^Item 1 has no rubric and dataset has no global rubric$"
    with pytest.raises(ValueError, match=message):
        made.get_item_rubric(1)


@pytest.mark.parametrize(
    "method", ["get_item_rubric", "get_item_reference_submission", "get_item_prompt"]
)
def test_an_index_that_is_not_there_is_an_index_error(method: str) -> None:
    with pytest.raises(IndexError):
        getattr(dataset(), method)(0)


# Adding items


def test_an_item_is_added_with_all_that_it_was_given() -> None:
    made = dataset()
    made.add_item("text", "Q1", ["MET"], OWN, "reference", id="q", prompt="p", metadata={"a": 1})
    expected = DataItem(
        "text", "Q1", [MET], OWN, "reference", id="q", prompt="p", metadata={"a": 1}
    )
    assert made.items == [expected]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"ground_truth": [MET]}, "Ground truth has 1 values, but rubric has 3 criteria"),
        ({"ground_truth": [MET, MET, MET], "rubric": OWN}, "3 values, but rubric has 1 criteria"),
        ({"ground_truth": [MET, "met", MET]}, "criterion 'Clarity' has no label 'met'"),
        ({"submission": 3}, "submission|string"),
    ],
)
def test_an_item_that_does_not_fit_is_a_value_error_and_the_dataset_stays(
    arguments: dict[str, Any], message: str
) -> None:
    made = dataset(items=[DataItem("one", "1")])
    before = copy.deepcopy(made)
    with pytest.raises(ValueError, match=message):
        made.add_item(**{"submission": "text", "description": "Q1", **arguments})
    assert made == before


def test_an_item_without_any_rubric_cannot_be_added() -> None:
    made = RubricDataset("p")
    with pytest.raises(
        ValueError, match=r"^Cannot add item: no per-item rubric provided and no global rubric set$"
    ):
        made.add_item("text", "Q1")
    assert len(made) == 0
    made.add_item("text", "Q1", rubric=OWN)
    assert len(made) == 1


# Splitting: the dataset's side of it; how labels are balanced is in test_splitting.py


def labelled(count: int) -> RubricDataset:
    labels = [[MET, UNMET, MET], [UNMET, UNMET, CANNOT_ASSESS], [MET, MET, None]]
    items = [DataItem(f"text {index}", "d", labels[index % 3]) for index in range(count)]
    return dataset(
        items=items,
        name="n",
        reference_submission="r",
        metadata={"licence": "MIT"},
        extra={"source": "x"},
    )


@pytest.mark.parametrize("stratify", [True, False])
def test_both_parts_keep_all_but_the_items(stratify: bool) -> None:
    whole = labelled(6)
    for part in whole.split_train_test(n_train=2, stratify=stratify):
        assert part.rubric is RUBRIC
        assert dataclasses.replace(part, items=[]) == dataclasses.replace(whole, items=[])


@pytest.mark.parametrize("stratify", [True, False])
def test_a_split_leaves_the_dataset_as_it_was(stratify: bool) -> None:
    whole = labelled(6)
    before = copy.deepcopy(whole)
    train, _ = whole.split_train_test(3, stratify=stratify, seed=0)
    train.add_item("more", "d")
    assert whole == before


@pytest.mark.parametrize("stratify", [True, False])
def test_a_seed_repeats_a_split_and_seeds_differ(stratify: bool) -> None:
    whole = labelled(40)

    def texts(seed: int | None) -> list[str]:
        return [
            item.submission for item in whole.split_train_test(20, stratify=stratify, seed=seed)[0]
        ]

    assert texts(5) == texts(5)
    assert len({frozenset(texts(seed)) for seed in range(10)}) == 10
    assert len({frozenset(texts(None)) for _ in range(4)}) > 1


def test_a_stratified_split_is_the_default_and_balances_labels() -> None:
    train, test = labelled(60).split_train_test(30, seed=1)
    for part in (train, test):
        first = [item.ground_truth[0] for item in part if item.ground_truth is not None]
        assert abs(first.count(MET) - 20) <= 1


@pytest.mark.parametrize("stratify", [True, False])
def test_a_size_that_does_not_fit_the_dataset_is_a_value_error(stratify: bool) -> None:
    for size, message in (
        (-1, "n_train must be non-negative, got -1"),
        (4, r"n_train \(4\) exceeds dataset size \(3\)"),
    ):
        with pytest.raises(ValueError, match=f"^{message}$"):
            labelled(3).split_train_test(size, stratify=stratify)
    assert [len(part) for part in dataset().split_train_test(0, stratify=stratify)] == [0, 0]


def test_stratifying_needs_labels_on_every_item_and_names_the_first_without() -> None:
    whole = labelled(3)
    whole.add_item("unlabelled", "d")
    with pytest.raises(ValueError, match="labels on every item, and item 3 has none"):
        whole.split_train_test(2)
    train, test = whole.split_train_test(2, stratify=False)
    assert (len(train), len(test)) == (2, 2)
    with pytest.raises(InputError, match="Item 0 has no rubric"):
        RubricDataset("p", items=[DataItem("x", "1", [MET])]).split_train_test(0)


def test_the_options_of_a_split_are_given_by_name() -> None:
    with pytest.raises(TypeError):
        labelled(3).split_train_test(1, False)  # type: ignore[misc]


def test_items_with_rubrics_of_their_own_are_split_too() -> None:
    other = Rubric([Criterion(name="b", requirement="B"), Criterion(name="c", requirement="C")])
    items = [DataItem(f"one {i}", "d", [(MET, UNMET)[i % 2]], OWN) for i in range(8)]
    items += [DataItem(f"two {i}", "d", [MET, (MET, UNMET)[i % 2]], other) for i in range(8)]
    train, test = RubricDataset("p", items=items).split_train_test(8, seed=2)
    for part in (train, test):
        assert part.rubric is None
        own = [item for item in part if item.rubric is OWN]
        assert len(own) == 4
        assert sum(item.ground_truth == [MET] for item in own) == 2
