"""`rubricate trust ppi`: what labels of some items say of all, and which to label next."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, PythonModel, Rubric, RubricDataset, Verdict
from rubricate.analysis import read_run
from rubricate.dataset import Item
from rubricate.judge import Judge
from rubricate.stats import corrected_mean


class Sure(Judge):
    """Says MET with the probability that ends the text."""

    name, note = "sure", None

    def key(self, case: Item, criterion: Criterion) -> str:
        return f"{case.submission} {criterion.requirement}"

    async def judge(self, case: Item, criterion: Criterion, send: Any) -> Verdict:
        probability = float(case.submission.split()[-1])
        return Verdict(criterion.name, "judged", "MET", 1.0, probability, judge=self.name)

    async def aclose(self) -> None:
        return None


def says(messages: list[Any]) -> dict[str, Any]:
    verdict = "MET" if "says 1" in messages[-1]["content"] else "UNMET"
    return {"reason": "r", "evidence": [], "verdict": verdict}


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """200 items of which 40, a random sample, have a label; the judge is right in 9 of 10."""
    generator = random.Random(4)
    data = RubricDataset("t", Rubric([Criterion(name="c", requirement="x")]))
    for number in range(200):
        truth = generator.random() < 0.6
        said = truth if generator.random() < 0.9 else not truth
        label = ["MET" if truth else "UNMET"] if number % 5 == 0 else None
        data.add_item(f"Text {number} says {said:d}", id=f"i{number}", ground_truth=label)
    package.grade(data, PythonModel(says, name="m"), run_dir=tmp_path / "run")
    return tmp_path / "run"


def test_labels_of_some_items_correct_the_mean_of_all(run: Path, rubricate: Any):
    report = json.loads(rubricate("trust", "ppi", "run", "--json").stdout)
    assert (report["items"], report["labelled"], report["next_items"]) == (200, 40, None)
    rows = read_run(run).rows
    expected = corrected_mean([row.value for row in rows], [row.human_value for row in rows])
    found = report["criteria"][0]["mean"]
    for name in ("naive", "labelled_only", "prediction_powered", "rogan_gladen"):
        assert found[name]["value"] == pytest.approx(getattr(expected, name).value), name
    assert found["effective_labels"] > 60
    assert report["score"]["labelled"] == 40
    shown = " ".join(rubricate("trust", "ppi", "run").stdout.split())
    for word in ("PPI++", "Rogan-Gladen", "n eff", "200 items, 40 of them labelled"):
        assert word in shown


def test_what_to_label_next_is_a_random_sample_of_what_has_no_label(run: Path, rubricate: Any):
    options = ("trust", "ppi", "run", "--next", "20", "--json")
    first = json.loads(rubricate(*options).stdout)
    assert len(set(first["next_items"])) == 20
    assert all(int(item[1:]) % 5 for item in first["next_items"])
    assert json.loads(rubricate(*options).stdout) == first
    other = json.loads(rubricate(*options, "--seed", "1").stdout)
    assert other["next_items"] != first["next_items"]
    shown = rubricate("trust", "ppi", "run", "--next", "2").stdout
    assert f"a random sample): {', '.join(first['next_items'][:2])}" in shown
    assert f"rubricate label DATA --run run --item {first['next_items'][0]}" in shown


def test_what_makes_no_sense_is_one_clear_line(run: Path, rubricate: Any):
    for options, message in (
        (("--next", "-1"), "next must be at least 0"),
        (("--groups", "nope"), "no item has metadata 'nope'"),
        (("--confidence", "95"), "confidence must be less than 1, found 95"),
    ):
        done = rubricate("trust", "ppi", "run", *options)
        assert done.returncode == 1
        assert message in done.stderr
