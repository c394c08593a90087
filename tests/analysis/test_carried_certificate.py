"""A certificate corrects the means of a run without labels."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

import rubricate as package
from rubricate import Criterion, PythonModel, Rubric, RubricDataset
from rubricate.analysis import carried_report, certify, read_certificate, read_run
from rubricate.errors import InputError
from rubricate.stats import corrected_share


def model(messages: list[Any]) -> dict[str, Any]:
    text = messages[-1]["content"]
    verdict = "MET" if "says 1" in text else "UNMET" if "says 0" in text else "CANNOT_ASSESS"
    return {"reason": "r", "evidence": [], "verdict": verdict}


def graded(tmp_path: Path, name: str, share: float, n: int, *, labels: bool, seed: int) -> Any:
    """The judge is right about 90 % of what is MET, and 75 % of what is not."""
    chance = random.Random(seed)
    dataset = RubricDataset("t", Rubric([Criterion(name="c", requirement="x")]))
    for at in range(n):
        truth = chance.random() < share
        said = (chance.random() < 0.9) if truth else (chance.random() < 0.25)
        label = ["MET" if truth else "UNMET"] if labels else None
        dataset.add_item(f"{name} {at} says {said:d}", id=f"{name}{at}", ground_truth=label)
    package.grade(dataset, PythonModel(model, name="m"), run_dir=tmp_path / name)
    return read_run(tmp_path / name)


def test_error_rates_are_carried_to_a_run_of_another_mix(tmp_path: Path, rubricate: Any):
    labelled = graded(tmp_path, "labelled", 0.6, 300, labels=True, seed=1)
    (tmp_path / "certificate.json").write_text(certify(labelled).model_dump_json())
    new = graded(tmp_path, "new", 0.2, 800, labels=False, seed=2)
    score, criterion = carried_report(new, read_certificate(tmp_path / "certificate.json")).means
    assert criterion.judge.value == pytest.approx(0.2 * 0.9 + 0.8 * 0.25, abs=0.04)
    assert criterion.judge.low > 0.25
    assert criterion.corrected.low < 0.2 < criterion.corrected.high
    assert "the mix of labels differs" in criterion.mix
    assert "though the mix of labels differs" in score.mix
    shown = " ".join(
        rubricate("trust", "ppi", "new", "--certificate", "certificate.json").stdout.split()
    )
    assert "certified on 300 others" in shown
    assert "the mix of labels differs: the judge says MET in" in shown


def test_a_run_of_the_same_mix_has_no_warning_and_its_score_loses_the_bias(tmp_path: Path):
    certificate = certify(graded(tmp_path, "labelled", 0.5, 300, labels=True, seed=3))
    new = graded(tmp_path, "new", 0.5, 500, labels=False, seed=4)
    score, criterion = carried_report(new, certificate).means
    assert (score.mix, criterion.mix) == (None, None)
    assert score.corrected.low < 0.5 < score.corrected.high
    assert score.judge.value - score.corrected.value == pytest.approx(certificate.score_bias.value)


def test_a_criterion_that_the_judge_decided_nowhere_is_shown_with_the_reason(tmp_path: Path):
    certificate = certify(graded(tmp_path, "labelled", 0.5, 50, labels=True, seed=3))
    dataset = RubricDataset("t", Rubric([Criterion(name="c", requirement="x")]))
    dataset.add_item("nothing", id="a")
    package.grade(dataset, PythonModel(model, name="m"), run_dir=tmp_path / "new")
    _, criterion = carried_report(read_run(tmp_path / "new"), certificate).means
    assert (criterion.name, criterion.n, criterion.corrected.value) == ("c", 0, None)
    assert criterion.corrected.undefined == "the judge decided no item"


def test_a_certificate_of_another_judge_is_refused_and_older_files_are_read(tmp_path: Path):
    certificate = certify(graded(tmp_path, "labelled", 0.5, 50, labels=True, seed=5))
    other = certificate.model_copy(update={"judge": "another"})
    with pytest.raises(InputError, match="does not fit: judged by m, certified is another"):
        carried_report(graded(tmp_path, "new", 0.5, 20, labels=False, seed=6), other)
    old = certificate.model_dump(mode="json")
    for name in ("score_bias", "sha256"):
        del old[name]
    for criterion in old["criteria"].values():
        del criterion["people"], criterion["perfect"]
    from rubricate.analysis._sealed import hash_of

    path = tmp_path / "old.json"
    path.write_text(json.dumps({**old, "sha256": hash_of(old)}))
    assert read_certificate(path).criteria == certificate.criteria
    path.write_text(json.dumps({**old, "items": 9, "sha256": hash_of(old)}))
    with pytest.raises(InputError, match="was changed since it was written"):
        read_certificate(path)


@pytest.mark.parametrize(("labels", "share"), [(50, 0.2), (100, 0.2), (100, 0.7)])
def test_the_interval_of_the_corrected_share_holds_the_truth(labels: int, share: float):
    chance = random.Random(labels)
    held = 0
    for _ in range(200):
        positive = labels // 2
        hits = sum(chance.random() < 0.9 for _ in range(positive))
        rejections = sum(chance.random() < 0.75 for _ in range(positive))
        says = sum(chance.random() < share * 0.9 + (1 - share) * 0.25 for _ in range(500))
        found = corrected_share(
            says / 500,
            500,
            sensitivity=hits / positive,
            positive=positive,
            specificity=rejections / positive,
            negative=positive,
        )
        held += found.low <= share <= found.high
    assert held / 200 > 0.92


def test_a_raw_score_is_corrected_and_not_cut_to_0(tmp_path: Path):
    def run(name: str, n: int, *, labels: bool) -> Any:
        criteria = [Criterion(name="c", requirement="x")]
        criteria += [Criterion(name="fault", requirement="y", weight=-5.0)]
        dataset = RubricDataset("t", Rubric(criteria), scoring={"items": "raw"})
        for at in range(n):
            label = ["MET" if at % 10 else "UNMET"] * 2 if labels else None
            dataset.add_item(f"{name} {at} says {at % 10 > 0:d}", ground_truth=label)
        package.grade(dataset, PythonModel(model, name="m"), run_dir=tmp_path / name)
        return read_run(tmp_path / name)

    certificate = certify(run("labelled", 100, labels=True))
    score, *_ = carried_report(run("new", 100, labels=False), certificate).means
    assert score.judge.value == pytest.approx(-3.6)
    assert score.corrected.value == pytest.approx(-3.6 - certificate.score_bias.value)
