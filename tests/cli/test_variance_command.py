"""`rubricate trust variance`: where the spread of verdicts comes from."""

from __future__ import annotations

import hashlib
import json
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, InputError, PythonModel, Rubric, RubricDataset
from rubricate.analysis import read_run, variance_report


def judge(name: str, noise: float) -> PythonModel:
    """Says what stands in the text, and in so many cases of the second criterion anything."""
    asked: dict[str, int] = {}

    def answer(messages: list[Any]) -> dict[str, Any]:
        text = messages[-1]["content"]
        asked[text] = asked.get(text, 0) + 1
        drawn = hashlib.sha256(f"{name} {asked[text]} {text.split('fence')[0]}".encode()).digest()
        verdict = "MET" if "truth 1" in text else "UNMET"
        if "Is shaky" in text and drawn[0] < 256 * noise:
            verdict = "MET" if drawn[1] % 2 else "UNMET"
        return {"reason": "r", "evidence": [], "verdict": verdict}

    return PythonModel(answer, name=name)


@pytest.fixture
def dataset() -> RubricDataset:
    rubric = Rubric(
        [
            Criterion(name="firm", requirement="Is firm"),
            Criterion(name="shaky", requirement="Is shaky"),
        ]
    )
    made = RubricDataset("p", rubric)
    for number in range(40):
        made.add_item(f"text {number}, truth {number % 2}", id=f"i{number}")
    return made


def test_replicates_and_judges_tell_the_spread_apart(dataset, tmp_path, rubricate):
    judges = [judge("a", 0.9), judge("b", 0.9)]
    package.grade(dataset, judges, replicates=3, run_dir=tmp_path / "run")
    report = json.loads(rubricate("trust", "variance", "run", "--json").stdout)
    assert (report["judges"], report["replicates"], report["prompts"]) == (["a", "b"], 3, [])
    firm, shaky = report["criteria"]
    assert firm["variance"]["shares"]["item"]["value"] == pytest.approx(1)
    assert (firm["differ"], firm["unstable"]) == (0, False)
    assert shaky["variance"]["shares"]["sampling"]["value"] > 0.5
    assert shaky["variance"]["shares"]["sampling"]["low"] is not None
    assert report["unstable"] == ["shaky"]
    shown = rubricate("trust", "variance", "run").stdout
    assert "Unstable (less than half of the spread is the items'): shaky." in shown


def test_runs_are_prompts_of_one_judge_or_judges_of_their_own(dataset, tmp_path):
    def run(name: str, **options: Any) -> Any:
        package.grade(dataset, judge(name[0], 0.5), run_dir=tmp_path / name, **options)
        return read_run(tmp_path / name)

    same = variance_report([run("a1"), run("a2")])
    assert (same.judges, len(same.prompts)) == (("a",), 2)
    assert list(same.criteria[0].variance.shares) == ["item", "prompt", "item x prompt, sampling"]
    other = variance_report([run("a3"), run("b1")])
    assert (other.judges, other.prompts) == (("a", "b"), ())
    with pytest.raises(InputError, match="one answer for each verdict"):
        variance_report([run("a1")])
    package.grade(dataset, [judge("a", 0), judge("c", 0)], run_dir=tmp_path / "both")
    with pytest.raises(InputError, match="some judges in common and some not"):
        variance_report([run("a1"), read_run(tmp_path / "both")])


def test_a_criterion_without_spread_says_why_it_has_no_shares(rubricate, tmp_path):
    rubric = Rubric([Criterion(name="firm", requirement="Is firm")])
    dataset = RubricDataset("p", rubric)
    for number in range(8):
        dataset.add_item(f"text {number}, truth 1", id=f"i{number}")
    package.grade(dataset, judge("a", 0), replicates=2, run_dir=tmp_path / "run")
    shown = rubricate("trust", "variance", "run").stdout
    assert "Without a value: item, sampling: all numbers are the same" in shown
