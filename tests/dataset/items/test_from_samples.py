"""From samples to a dataset that can be graded."""

from __future__ import annotations

import pytest

from rubricate import (
    Criterion,
    CriterionVerdict,
    InputError,
    MemoryDataset,
    Rubric,
    RubricDataset,
    Sample,
)

RUBRIC = Rubric(
    [Criterion(name="right", requirement="Is right"), Criterion(name="short", requirement="Short")]
)


def dataset(*samples: Sample) -> MemoryDataset:
    return MemoryDataset(samples, "answers")


def test_input_target_metadata_and_id_find_their_places():
    found = RubricDataset.from_samples(
        dataset(Sample("How fast?", target="Very.", id=3, metadata={"answer": "Fast.", "by": "m"})),
        rubric=RUBRIC,
        prompt="Physics",
        submission="answer",
    )
    (item,) = found
    assert (found.name, found.prompt, found.rubric) == ("answers", "Physics", RUBRIC)
    assert (item.submission, item.prompt, item.id) == ("Fast.", "How fast?", "3")
    assert item.reference_submission == "Very."
    assert item.metadata == {"by": "m"}


def test_the_target_can_be_the_labels():
    found = RubricDataset.from_samples(
        dataset(Sample("q", target=["MET", "no"])),
        rubric=RUBRIC,
        submission=lambda sample: "text",
        target="ground_truth",
    )
    assert found[0].ground_truth == [CriterionVerdict.MET, CriterionVerdict.UNMET]
    with pytest.raises(InputError, match="target has 1 labels, and the rubric 2"):
        RubricDataset.from_samples(
            dataset(Sample("q", target="MET")),
            rubric=RUBRIC,
            submission=lambda sample: "text",
            target="ground_truth",
        )


def test_labels_can_be_metadata():
    sample = Sample("q", metadata={"submission": "s", "human": "1"})
    found = RubricDataset.from_samples(dataset(sample), rubric=RUBRIC, labels={"right": "human"})
    assert found[0].ground_truth == [CriterionVerdict.MET, None]
    assert found[0].metadata == {}
    with pytest.raises(InputError, match="'wrong', which the rubric does not have"):
        RubricDataset.from_samples(dataset(sample), rubric=RUBRIC, labels={"wrong": "human"})


def test_what_is_missing_names_the_sample():
    with pytest.raises(InputError, match=r"sample 1 \(7\): there is no submission.* it has 'a'"):
        RubricDataset.from_samples(dataset(Sample("q", id=7, metadata={"a": 1})), rubric=RUBRIC)
    sample = Sample("q", metadata={"submission": "s", "human": "maybe"})
    with pytest.raises(InputError, match="sample 1: criterion 'right' has no label 'maybe'"):
        RubricDataset.from_samples(dataset(sample), rubric=RUBRIC, labels={"right": "human"})


def test_repeated_ids_are_named_before_anything_is_graded():
    samples = [Sample("q", id=1, metadata={"submission": text}) for text in ("a", "b")]
    with pytest.raises(InputError, match="share an id: '1'"):
        RubricDataset.from_samples(dataset(*samples), rubric=RUBRIC)
