"""What one item promises: fields, labels, identifiers."""

from __future__ import annotations

import dataclasses
import os
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, CriterionVerdict, DataItem, InputError, Rubric, RubricDataset
from rubricate.dataset import Item

PROPERTY = settings(derandomize=True, deadline=None, max_examples=100)
MET, UNMET = CriterionVerdict.MET, CriterionVerdict.UNMET
RUBRIC = Rubric(
    [
        Criterion(name="right", requirement="Is right"),
        Criterion(
            name="style",
            requirement="How is the style?",
            options=[
                {"label": "dry", "value": 0},
                {"label": "lively", "value": 1},
                {"label": "none", "na": True},
            ],
        ),
    ]
)


def test_an_argument_that_is_no_field_is_refused() -> None:
    with pytest.raises(InputError, match=r"argument 'reference' \(known: submission, "):
        DataItem("text", reference="what the judge would not have seen")  # type: ignore[call-arg]
    with pytest.raises(InputError, match=r"argument 'refernce' \(known: prompt, "):
        RubricDataset("task", RUBRIC, refernce="likewise")  # type: ignore[call-arg]


def test_the_fields_of_the_page_come_first_and_in_its_order() -> None:
    item = DataItem("text", "Q1", [MET, "dry"], RUBRIC, "reference")
    assert (item.submission, item.description) == ("text", "Q1")
    assert item.ground_truth == [MET, "dry"]
    assert item.rubric is RUBRIC
    assert item.reference_submission == "reference"
    names = [field.name for field in dataclasses.fields(DataItem)]
    page = ["submission", "description", "ground_truth", "rubric", "reference_submission"]
    assert names[:5] == page
    bare = DataItem("", "")
    assert (bare.ground_truth, bare.rubric, bare.reference_submission) == (None, None, None)
    assert (bare.prompt, bare.metadata, bare.extra) == (None, {}, {})
    assert bare != DataItem("", "Q1")


# Loading


def load(**changes: Any) -> DataItem:
    return DataItem.from_dict({"submission": "text", "description": "Q1", **changes}, RUBRIC)


def test_binary_labels_become_verdicts_and_options_stay_text() -> None:
    labels = load(ground_truth=["MET", "lively"]).ground_truth
    assert labels == [MET, "lively"]
    assert labels is not None
    assert isinstance(labels[0], CriterionVerdict)
    assert not isinstance(labels[1], CriterionVerdict)


def test_a_label_of_none_means_that_nobody_labelled_it() -> None:
    item = load(ground_truth=[None, "none"])
    assert item.ground_truth == [None, "none"]
    assert item.to_dict()["ground_truth"] == [None, "none"]


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (
            ["MAT", "dry"],
            "ground_truth[0]: criterion 'right' has no label 'MAT'; "
            "allowed: 'MET', 'UNMET', 'CANNOT_ASSESS'",
        ),
        (
            ["MET", "drey"],
            "ground_truth[1]: criterion 'style' has no label 'drey'; "
            "allowed: 'dry', 'lively', 'none'",
        ),
        (
            ["MET", "MET"],
            "ground_truth[1]: criterion 'style' has no label 'MET'; "
            "allowed: 'dry', 'lively', 'none'",
        ),
        (["MET", 1], "ground_truth[1]: criterion 'style' expects a label as text, got int 1"),
        (
            [True, "dry"],
            "ground_truth[0]: criterion 'right' expects a label as text, got bool True (in YAML, "
            "put quotes around it)",
        ),
        (["MET"], "ground_truth: Ground truth has 1 values, but rubric has 2 criteria"),
        ([], "ground_truth: Ground truth has 0 values, but rubric has 2 criteria"),
        ("MET", "ground_truth: expected a list"),
        ({"right": "MET"}, "ground_truth: expected a list"),
    ],
)
def test_a_wrong_label_names_criterion_and_allowed_labels(labels: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        load(ground_truth=labels)
    assert str(caught.value).startswith(message)


def test_labels_go_by_the_items_own_rubric() -> None:
    own = [{"requirement": "x"}]
    assert load(rubric=own, ground_truth=["UNMET"]).ground_truth == [UNMET]


def test_a_text_must_be_in_a_file_and_a_description_need_not() -> None:
    with pytest.raises(InputError, match="missing required field: 'submission'"):
        load(submission=None)
    assert DataItem.from_dict({"submission": "text"}).description == ""


def test_reasons_for_labels_are_kept_shown_beside_them_and_written_back() -> None:
    item = load(ground_truth=["MET", "dry"], ground_truth_reasons=["It says so.", None])
    assert item.to_dict()["ground_truth_reasons"] == ["It says so.", None]
    labels = Item("text", data=item, rubric=RUBRIC).labels()
    assert [verdict.reason for verdict in labels.values()] == ["It says so.", None]
    assert "ground_truth_reasons" not in load(ground_truth=["MET", "dry"]).to_dict()


@pytest.mark.parametrize("labels", [None, ["MET", "dry"]])
def test_reasons_are_as_many_as_labels(labels: Any) -> None:
    with pytest.raises(InputError, match=r"ground_truth_reasons: 1 reasons for . labels"):
        load(ground_truth=labels, ground_truth_reasons=["why"])


@pytest.mark.parametrize(
    "key", ["submission_id", "prompt_id", "rubric_id", "context_id", "Submission", "descriptions"]
)
def test_a_name_of_an_id_or_a_key_beside_the_right_one_is_no_misspelling(key: str) -> None:
    assert load(**{key: "x"}).extra == {key: "x"}


@pytest.mark.parametrize(
    ("wrong", "right"),
    [
        ("ground_truths", "ground_truth"),
        ("groundTruth", "ground_truth"),
        ("reference_submision", "reference_submission"),
        ("meta_data", "metadata"),
        ("ID", "id"),
    ],
)
def test_a_misspelt_key_is_an_error_with_the_right_spelling(wrong: str, right: str) -> None:
    with pytest.raises(InputError, match=f"unknown key '{wrong}': did you mean '{right}'"):
        load(**{wrong: None})


def test_prompt_metadata_and_id_are_written_and_read() -> None:
    item = DataItem("text", "Q1", id="q-1", prompt="Why?", metadata={"grade": 3})
    data = item.to_dict()
    assert next(iter(data)) == "id"
    assert (data["id"], data["prompt"], data["metadata"]) == ("q-1", "Why?", {"grade": 3})
    assert DataItem.from_dict(data) == item


# Identifiers


def test_the_default_id_is_12_hexadecimal_digits_and_is_not_written() -> None:
    item = DataItem("text", "Q1")
    assert len(item.id) == 12
    assert int(item.id, 16) >= 0
    assert "id" not in item.to_dict()


def test_the_default_id_is_this_one_and_the_same_in_every_process() -> None:
    program = (
        "from rubricate import DataItem, Rubric\n"
        "rubric = Rubric([{'requirement': 'x', 'b': 1, 'a': 2}])\n"
        "print(DataItem('größe', 'Q1').id, DataItem('x', rubric=rubric, prompt='p').id)"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    here = DataItem("größe", "Q1").id
    rubric = Rubric([{"requirement": "x", "a": 2, "b": 1}])
    assert found == {f"{here} {DataItem('x', rubric=rubric, prompt='p').id}\n"}
    assert here == "4bf0da8a8df9"


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"submission": "other"}, False),
        ({"prompt": "Why?"}, False),
        ({"reference_submission": "reference"}, False),
        ({"rubric": RUBRIC}, False),
        ({"description": "other"}, True),
        ({"ground_truth": [MET]}, True),
        ({"metadata": {"a": 1}}, True),
        ({"extra": {"source": "x"}}, True),
        ({"annotations": {"ada": {"right": "MET"}}}, True),
    ],
)
def test_what_is_judged_and_nothing_else_is_in_the_default_id(
    changes: dict[str, Any], same: bool
) -> None:
    found = DataItem(**{"submission": "text", **changes}).id
    assert (found == DataItem("text").id) is same


def test_a_changed_copy_gets_its_own_default_id_and_keeps_a_given_one() -> None:
    changed = dataclasses.replace(DataItem("text", "Q1"), submission="other")
    assert changed == DataItem("other", "Q1")
    assert "id" not in changed.to_dict()
    assert dataclasses.replace(DataItem("text", id="a"), submission="other").id == "a"
    assert DataItem("other", id=DataItem("text").id).id == DataItem("text").id


def dataset(*items: DataItem) -> RubricDataset:
    return RubricDataset("p", RUBRIC, list(items))


def test_items_of_the_same_content_are_numbered() -> None:
    one, two = DataItem("one"), DataItem("two")
    ids = dataset(one, DataItem("two"), DataItem("one", "again"), DataItem("one")).item_ids()
    assert ids == [one.id, two.id, f"{one.id}-2", f"{one.id}-3"]


def test_two_items_given_one_id_are_refused_by_name() -> None:
    with pytest.raises(InputError, match=r"share an id: 'q-1' \(items 1, 2\); give each item"):
        dataset(DataItem("one", id="q-1"), DataItem("two", id="q-1")).item_ids()


@PROPERTY
@given(st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(["", "A", "A-2", "A-3", "x"]))))
def test_the_ids_of_a_dataset_all_differ_and_given_ones_stay(given: list[tuple[str, str]]) -> None:
    first = DataItem("a").id
    named = [(text, id.replace("A", first)) for text, id in given]
    items = [DataItem(text, id=id) for text, id in named]
    explicit = [item.id for item in items if item.id != item.content_id()]
    if len(set(explicit)) == len(explicit):
        ids = dataset(*items).item_ids()
        assert len(set(ids)) == len(items)
        for item, id in zip(items, ids, strict=True):
            assert id == item.id or item.id == item.content_id()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"prompt": [{"role": "user", "content": "x"}]}, 'prompt: .*found \\[{"role": "user"'),
        ({"description": 3}, "description: .*found 3"),
        ({"metadata": [1]}, r"metadata: .*found \[1\]"),
        ({"submission": ["a"]}, "submission.message 1: expected a chat message"),
        ({"submission": None}, "submission: .*found null"),
        ({"rubric": "rubric.json"}, "rubric: a rubric is"),
    ],
)
def test_a_wrong_argument_of_an_item_is_told_in_one_line(arguments, message):
    for _ in range(2):  # what is made first builds the validator
        with pytest.raises(InputError, match=f"^{message}") as caught:
            DataItem(**{"submission": "a", "description": "d", **arguments})
        assert "\n" not in str(caught.value)
    with pytest.raises(InputError, match=r"^description: must be"):
        DataItem("a", 3)  # type: ignore[arg-type]
    with pytest.raises(InputError, match=r"^prompt: must be"):
        RubricDataset(["x"], None, [])  # type: ignore[arg-type]
