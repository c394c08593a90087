"""What the labels of several annotators promise."""

from __future__ import annotations

from pathlib import Path

import pytest

from rubricate import Criterion, InputError, Rubric, RubricDataset, ScaleCriterion

RUBRIC = Rubric(
    [
        Criterion(name="right", requirement="Is right"),
        Criterion(name="clear", requirement="Is clear"),
        ScaleCriterion(name="style", requirement="How is the style?", low=1, high=5),
    ]
)
ANNOTATIONS = {
    "ada": {"right": "MET", "clear": "MET", "style": 3},
    "ben": {"right": "MET", "clear": "UNMET", "style": 4},
    "eve": {"right": "UNMET", "style": 5},
}


def dataset(**item: object) -> RubricDataset:
    return RubricDataset.from_dict(
        {
            "prompt": "p",
            "rubric": RUBRIC.to_dict(),
            "items": [{"submission": "text", "description": "", **item}],
        }
    )


@pytest.mark.parametrize("suffix", ["json", "yaml", "jsonl"])
def test_annotations_are_read_and_written(tmp_path: Path, suffix: str) -> None:
    made = dataset(annotations=ANNOTATIONS)
    made.to_file(tmp_path / f"data.{suffix}")
    read = RubricDataset.from_file(tmp_path / f"data.{suffix}")
    assert read == made
    assert read[0].annotations["eve"] == {"right": "UNMET", "style": "5"}


def test_what_annotators_say_together_is_the_label_that_the_ground_truth_does_not_give() -> None:
    (entry,) = dataset(annotations=ANNOTATIONS).to_grade()
    assert {name: label.label for name, label in entry.labels().items()} == {
        "right": "MET",  # two of three
        "style": "4",  # the mean; `clear` is tied
    }
    (entry,) = dataset(annotations=ANNOTATIONS, ground_truth=["UNMET", None, None]).to_grade()
    assert entry.labels()["right"].label == "UNMET"
    assert entry.labels()["style"].label == "4"


@pytest.mark.parametrize(
    ("annotations", "message"),
    [
        (
            {"ada": {"rihgt": "MET"}},
            "unknown criterion 'rihgt' (known: right, clear, style); did you mean 'right'?",
        ),
        ({"ada": {"right": "YES"}}, "criterion 'right' has no label 'YES'"),
        ({"ada": ["MET"]}, "expected labels as {criterion: label}"),
        (["MET"], "expected labels as {annotator: {criterion: label}}"),
    ],
)
def test_annotations_that_do_not_fit_are_refused(annotations: object, message: str) -> None:
    with pytest.raises(InputError, match="annotations") as caught:
        dataset(annotations=annotations)
    assert message in str(caught.value)


def test_an_item_added_later_is_checked_too() -> None:
    grown = dataset()
    with pytest.raises(InputError, match="has no label"):
        grown.add_item("other", annotations={"ada": {"right": "YES"}})
    assert len(grown) == 1
    grown.add_item("other", annotations={"ada": {"right": "MET"}})
    assert grown[1].annotations == {"ada": {"right": "MET"}}
