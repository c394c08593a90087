"""Which items are labelled next."""

from __future__ import annotations

from typing import Any

import pytest

from rubricate import RubricDataset
from rubricate.cli._label import LabelSettings, label
from rubricate.dataset import LabelFile
from rubricate.errors import InputError
from rubricate.labelling import LabelSession, label_order


def entries(*items: dict[str, Any]) -> list[Any]:
    rubric = [{"name": "speed", "requirement": "x"}]
    data = {
        "prompt": "p",
        "rubric": rubric,
        "items": [
            {"id": str(n), "submission": str(n), "description": "", **item}
            for n, item in enumerate(items)
        ],
    }
    return list(RubricDataset.from_dict(data).to_grade())


def test_a_random_order_is_the_same_each_time_and_has_what_is_settled_last():
    made = entries(*[{}] * 20, {"ground_truth": ["MET"]})
    order = label_order(made, "random", confidences={}, labels={}, seed=3)
    assert sorted(order, key=int) == [str(n) for n in range(21)]
    assert order[-1] == "20"
    assert order != [str(n) for n in range(21)]
    made[5].data.annotations["ann"] = {"speed": "MET"}
    assert label_order(made, "random", confidences={}, labels={}, seed=3) == order
    assert label_order(made, "random", confidences={}, labels={}, seed=4) != order


def test_the_least_certain_come_first():
    made = entries(
        {"annotations": {"ann": {"speed": "MET"}, "bea": {"speed": "MET"}}},  # 0: all agree
        {},  # 1: the judge is sure
        {},  # 2: the judge is not sure
        {"annotations": {"ann": {"speed": "MET"}, "bea": {"speed": "UNMET"}}},  # 3: they differ
    )
    sure = {"0": {"speed": 0.6}, "1": {"speed": 0.98}, "2": {"speed": 0.55}, "3": {"speed": 1.0}}
    labels = {str(n): {"speed": "MET"} for n in range(4)}
    assert label_order(made, "uncertainty", confidences=sure, labels=labels) == ["3", "2", "1", "0"]
    labels["0"] = {"speed": "UNMET"}  # the judge differs from people
    assert set(label_order(made, "uncertainty", confidences=sure, labels=labels)[:2]) == {"0", "3"}


@pytest.mark.parametrize(
    ("data", "options", "said"),
    [
        (
            "data.json",
            {"order": "worst"},
            "order must be 'random', 'active' or 'uncertainty', found",
        ),
        ("data.json", {"order": "uncertainty"}, "the order 'uncertainty' needs a run"),
        ("data.json", {"order": "active"}, "the order 'active' needs a run"),
        ("nothing.json", {}, "nothing.json: file not found"),
        ("data.json", {"item": ["onw"]}, "data.json: unknown item 'onw'"),
        ("data.json", {"run": "nowhere"}, "nowhere: no such run folder"),
    ],
)
def test_what_does_not_fit_is_an_error(write_dataset, tmp_path, monkeypatch, data, options, said):
    write_dataset()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=said):
        label(LabelSettings(data=data, **options, no_browser=True))


def test_a_run_on_another_dataset_is_refused(rubricate, write_dataset):
    write_dataset("other.json", items=[{"submission": "another", "description": ""}])
    write_dataset()
    rubricate("grade", "other.json", "--run-dir", "run", "--quiet")
    done = rubricate("label", "data.json", "--run", "run", "--no-browser")
    assert done.stderr == "Error: run: has none of the items of data.json\n"


def test_only_the_items_that_are_named_are_labelled(write_dataset):
    file = LabelFile(write_dataset())
    second = file.items[1].id
    session = LabelSession(file, items=[second])
    assert [line["id"] for line in session.overview("ada")["items"]] == [second]
    assert session.progress() == (1, 1)


def test_what_code_decides_is_not_asked_about(write_dataset):
    rubric = [
        {"name": "right", "requirement": "Is right"},
        {"name": "digits", "kind": "regex", "pattern": "[0-9]"},
    ]
    items = [{"submission": "1", "description": "", "annotations": {"ada": {"right": "MET"}}}]
    session = LabelSession(LabelFile(write_dataset(rubric=rubric, items=items)))
    (line,) = session.overview("ada")["items"]
    assert (line["labelled"], line["criteria"], session.progress()) == (1, 1, (1, 1))
    assert [asked["criterion"] for asked in session.item(line["id"], "ada")["questions"]] == [
        "right"
    ]
    session.review(line["id"], "ada")  # all that is asked about has a label
