"""How labels were chosen: recorded with each, kept, and heeded by the figures that rest on them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, Rubric, RubricDataset, Verdict
from rubricate.analysis import (
    agreement_report,
    cascade_report,
    certify,
    fit_calibration,
    ppi_report,
    read_run,
    read_summary,
)
from rubricate.dataset import Adjudication, Item, LabelFile, LabelSelection, NewLabel
from rubricate.errors import InputError
from rubricate.judge import Judge
from rubricate.labelling import LabelSession, chances

EASY, HARD = 150, 50
"""Items; the judge is right in 9 of 10 easy ones and in 4 of 10 hard ones: in 77.5 % of all."""


class Sure(Judge):
    """Says what the text says, as sure as the text says."""

    name, note = "sure", None

    def key(self, case: Item, criterion: Criterion) -> str:
        return f"{case.submission} {criterion.requirement}"

    async def judge(self, case: Item, criterion: Criterion, send: Any) -> Verdict:
        _, label, probability = case.submission.split()
        value = float(label == "MET")
        return Verdict(criterion.name, "judged", label, value, float(probability), judge=self.name)

    async def aclose(self) -> None:
        return None


def truth(n: int) -> str:
    return "MET" if n % 2 else "UNMET"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    dataset = RubricDataset("t", Rubric([Criterion(name="c", requirement="x")]))
    for n in range(EASY + HARD):
        right = n % 10 != 0 if n < EASY else n % 10 < 4
        said = truth(n) if right else truth(n + 1)
        dataset.add_item(f"{n} {said} {0.95 if n < EASY else 0.5}", id=f"i{n}")
    dataset.to_file("data.json")
    package.grade("data.json", Sure(), run_dir="run")
    return tmp_path / "data.json"


def labelled(data: Path, count: int, **options: Any) -> Path:
    """A run on the dataset with so many labels, made in the order of a session."""
    session = LabelSession(LabelFile(data), run="run", **options)
    new = [line["id"] for line in session.overview("ann")["items"] if not line["labelled"]]
    ids = new[:count]
    session.file.apply([session.label(item, "ann", "c", truth(int(item[1:]))) for item in ids])
    package.grade(str(data), Sure(), run_dir="labelled")
    return data.parent / "labelled"


def choices(data: Path) -> set[str]:
    return {each.how for item in RubricDataset.from_file(data) for each in item.selection.values()}


@pytest.mark.parametrize("name", ["saved.json", "saved.yaml", "saved.jsonl"])
def test_a_random_sample_is_the_default_and_the_record_survives_saving(data: Path, name: str):
    run = read_run(labelled(data, 20))
    again = RubricDataset.from_file(data)
    assert choices(data) == {"random"}
    again.to_file(name)
    kept = RubricDataset.from_file(name)
    assert [item.selection for item in kept] == [item.selection for item in again]
    assert sum(bool(item.selection) for item in kept) == 20
    chosen = [row.human_selection for row in run.rows if row.human_label is not None]
    assert chosen == [{"how": "random", "probability": 1 / 200}] * 20
    assert read_run(run.path).summary["labels_chosen"] == {"random": 20}
    assert "human_selection" in (run.path / "results.jsonl").read_text("utf-8")
    train, test = again.split_train_test(50, seed=1, stratify=False)
    assert sum(bool(item.selection) for item in (*train, *test)) == 20


def test_half_of_the_chance_of_an_active_choice_ignores_the_judge(data: Path):
    items = LabelFile(data).items
    sure = {item.id: {"c": 0.95 if n < EASY else 0.5} for n, item in enumerate(items)}
    chance = chances(items, sure)
    assert sum(chance.values()) == pytest.approx(1)
    assert min(chance.values()) > 0.5 / len(items)
    assert chance["i199"] > 1.5 * chance["i0"]
    assert set(chances(items, {}).values()) == {1 / len(items)}


def test_active_labels_give_the_figures_of_all_items(data: Path):
    run = read_run(labelled(data, 80, order="active"))
    assert choices(data) == {"active"}
    report = agreement_report(run)
    rows = [row for row in run.rows if row.human_label is not None]
    weights = [1 / row.human_selection["probability"] for row in rows]
    hits = [row.label == row.human_label for row in rows]
    accuracy = report.criteria[0].accuracy
    expected = sum(w * hit for w, hit in zip(weights, hits, strict=True)) / sum(weights)
    assert accuracy.value == pytest.approx(expected)
    assert accuracy.value > sum(hits) / len(hits)
    assert accuracy.low < 0.775 < accuracy.high
    assert (report.labels.weighted, report.probabilities) == (True, None)
    assert "80 active; figures are weighted" in str(report)
    mean = ppi_report(run).criteria[0].mean
    assert mean.prediction_powered.low < 0.5 < mean.prediction_powered.high
    assert certify(run).criteria["c"].figures["accuracy"] == accuracy
    for refused in (cascade_report, fit_calibration):
        with pytest.raises(InputError, match="cannot be weighted by their chances"):
            refused(run)
    assert "80 labels are on items chosen because the judge was unsure" in str(read_summary(run))


def test_labels_of_the_least_sure_items_are_named_and_refused(data: Path, rubricate: Any):
    run = read_run(labelled(data, 50, order="uncertainty"))
    shown = " ".join(rubricate("trust", "agree", "labelled").stdout.split())
    assert "50 of 50 labels are of items that were picked because the judge was unsure" in shown
    assert agreement_report(run).criteria[0].accuracy.value == pytest.approx(0.4)
    for refused in (ppi_report, certify, cascade_report, fit_calibration):
        with pytest.raises(InputError, match="no known chance") as error:
            refused(run)
        assert "\n" not in str(error.value)


def test_labels_chosen_in_two_ways_cannot_be_weighted(data: Path):
    labelled(data, 20)
    run = read_run(labelled(data, 40, order="active"))
    assert choices(data) == {"random", "active"}
    assert "were chosen actively and the others were not" in str(agreement_report(run))
    with pytest.raises(InputError, match="for means, label a random sample"):
        ppi_report(run)


def test_what_is_chosen_by_hand_says_so_and_the_first_label_decides(data: Path):
    run = read_run(labelled(data, 2, items=["i3", "i7"]))
    assert choices(data) == {"by_hand"}
    assert "2 by hand" in str(agreement_report(run))
    file = LabelFile(data)
    file.apply([NewLabel("i3", "bea", "c", "MET", LabelSelection("random"))])
    assert file.item("i3").data.selection["c"].how == "by_hand"
    file.apply([Adjudication("i3", "bea", "c", "UNMET", "wrong")])
    package.grade(str(data), Sure(), run_dir="decided")
    rows = {row.item: row for row in read_run("decided").rows}
    assert rows["i3"].human_selection == {"how": "by_hand", "adjudicated": True}
    file.apply([NewLabel("i7", "ann", "c", None)])
    assert file.item("i7").data.selection == {}
    named = LabelSession(LabelFile(data), items=["i9"], order="random")
    assert named.label("i9", "ann", "c", "MET").selection.how == "random"


@pytest.mark.parametrize(
    ("selection", "message"),
    [
        ({"c": "random"}, "expected an object with 'how'"),
        ({"c": {"how": "guess"}}, "known: random, active, uncertainty, by_hand"),
        ({"c": {"how": "active"}}, "chosen actively need this"),
        ({"c": {"how": "random", "probability": 0}}, "more than 0, found 0"),
        (["random"], "expected an object"),
    ],
)
def test_a_record_that_makes_no_sense_is_an_error(data: Path, selection: Any, message: str):
    document = json.loads(data.read_text("utf-8"))
    document["items"][0]["selection"] = selection
    data.write_text(json.dumps(document))
    with pytest.raises(InputError, match=message) as error:
        RubricDataset.from_file(data)
    assert "items[0].selection" in str(error.value)
