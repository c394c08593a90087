"""Which of many criteria the judge is worst at, from ten labels each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, PythonModel, Rubric, RubricDataset
from rubricate.analysis import agreement_report, read_run

CRITERIA = [f"c{n}" for n in range(8)]
WRONG = {"c0": 7, "c1": 2, "c2": 1}
"""How many of 10 verdicts are wrong; of the other criteria none."""


@pytest.fixture
def run(tmp_path: Path) -> Path:
    rubric = Rubric([Criterion(name=name, requirement=f"about {name}.") for name in CRITERIA])
    dataset = RubricDataset("", rubric)
    for n in range(10):
        wrong = " ".join(f"about {name}." for name in CRITERIA if n < WRONG.get(name, 0))
        truth = ["MET" if (n + at) % 2 else "UNMET" for at in range(len(CRITERIA))]
        said = " ".join(
            f"[{name} {'UNMET' if (label == 'MET') == (f'about {name}.' in wrong) else 'MET'}]"
            for name, label in zip(CRITERIA, truth, strict=True)
        )
        dataset.add_item(f"{n} {said}", id=f"i{n}", ground_truth=truth)

    def model(messages: list[Any]) -> dict[str, Any]:
        text = " ".join(str(message["content"]) for message in messages)
        name = next(name for name in CRITERIA if f"about {name}." in text)
        verdict = text.split(f"[{name} ")[1].split("]")[0]
        return {"reason": "r", "evidence": [], "verdict": verdict}

    package.grade(dataset, PythonModel(model, name="m"), run_dir=tmp_path / "run")
    return tmp_path / "run"


def test_accuracies_are_pooled_and_the_worst_criterion_is_named(run: Path, rubricate: Any):
    report = agreement_report(read_run(run))
    assert [line.accuracy.value for line in report.criteria[:4]] == [0.3, 0.8, 0.9, 1.0]
    shares = report.pooled
    assert 0.3 < shares["c0"].share.value < 0.45
    assert 0.8 < shares["c3"].share.value < 0.99
    assert shares["c0"].lowest > 0.9
    shown = " ".join(rubricate("trust", "agree", "run").stdout.split())
    assert "Probability of the lowest accuracy of all: c0 9" in shown
    assert "pooled" in shown.split("c0")[0]


def test_intervals_hold_for_all_criteria_together_if_that_is_wanted(run: Path, rubricate: Any):
    each, together = (agreement_report(read_run(run), simultaneous=s) for s in (False, True))
    for a, b in zip(each.criteria, together.criteria, strict=True):
        assert b.accuracy.value == a.accuracy.value
        assert b.accuracy.low < a.accuracy.low
    assert together.stratified == each.stratified
    shown = " ".join(rubricate("trust", "agree", "run", "--simultaneous").stdout.split())
    assert "95% for all 8 criteria together (Bonferroni)" in shown
