"""`rubricate trust replay`: published verdicts put together, offline."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rubricate import RubricDataset


def cohen(pairs: list[tuple[str, str]]) -> tuple[float, float | None]:
    """Accuracy and Cohen's kappa of pairs of MET and UNMET, written out."""
    n = len(pairs)
    accuracy = sum(a == b for a, b in pairs) / n
    met = [sum(pair[side] == "MET" for pair in pairs) / n for side in (0, 1)]
    chance = met[0] * met[1] + (1 - met[0]) * (1 - met[1])
    return accuracy, (accuracy - chance) / (1 - chance) if chance < 1 else None


def stratified(pairs: list[tuple[str, str, str]]) -> tuple[float, float]:
    """Accuracy, and the mean of the criteria's kappas weighted by n, of (criterion, pair)."""
    each = {
        name: [(a, b) for other, a, b in pairs if other == name]
        for name in dict.fromkeys(name for name, _, _ in pairs)
    }
    kappas = [(len(of), cohen(of)[1]) for of in each.values()]
    known = [(n, kappa) for n, kappa in kappas if kappa is not None]
    mean = sum(n * kappa for n, kappa in known) / sum(n for n, _ in known)
    return sum(a == b for _, a, b in pairs) / len(pairs), mean


def labelled(dataset: RubricDataset) -> list[tuple[str, dict[str, str | None], str]]:
    """Every labelled criterion's name, votes by judge, and label."""
    found = []
    for item in dataset:
        for name, label in zip(dataset.rubric.names, item.ground_truth, strict=True):
            votes = {judge: given[name] for judge, given in item.metadata["votes"].items()}
            if label is not None:
                found.append((name, votes, str(label)))
    return found


@pytest.mark.parametrize(("example", "judges"), [("physics.json", 8), ("ttcw.json", 7)])
def test_published_verdicts_agree_with_people_as_counted_by_hand(
    rubricate, shipped_example, example, judges
):
    done = rubricate("trust", "replay", shipped_example(example), "--json")
    assert done.returncode == 0, done.stderr
    figures: dict[str, Any] = json.loads(done.stdout)
    asked = labelled(RubricDataset.from_file(shipped_example(example)))
    assert len(figures["judges"]) == judges
    for judge in figures["judges"]:
        pairs = [(name, votes[judge["name"]], label) for name, votes, label in asked]
        pairs = [pair for pair in pairs if pair[1] is not None]
        assert judge["n"] == len(pairs)
        assert (judge["accuracy"], judge["kappa"]) == pytest.approx(stratified(pairs))
    majority = [
        (
            name,
            "MET" if 2 * sum(v == "MET" for v in votes.values()) > given(votes) else "UNMET",
            label,
        )
        for name, votes, label in asked
    ]
    panel = figures["panels"][0]
    assert (panel["accuracy"], panel["kappa"]) == pytest.approx(stratified(majority))
    assert figures["stratified"]["estimator"] == "mean of the criteria's kappas, weighted by n"


def given(votes: dict[str, str | None]) -> int:
    """How many votes there are."""
    return sum(vote is not None for vote in votes.values())


def test_weighing_the_published_judges_does_not_hurt(rubricate, shipped_example):
    done = rubricate("trust", "replay", shipped_example("physics.json"), "--json")
    majority, reliability = json.loads(done.stdout)["panels"]
    assert reliability["kappa"] > majority["kappa"] > 0.85
    assert reliability["tied"] == 0 < majority["tied"]


def test_only_the_judges_that_are_named_vote(rubricate, shipped_example):
    one, other = "gpt-4o/naive_cot_2", "gpt-4o/detailed_compare"
    data = shipped_example("physics.json")
    done = rubricate("trust", "replay", data, "--judge", one, "--judge", other)
    assert one in done.stdout
    assert other in done.stdout
    assert "gpt-3.5" not in done.stdout
    assert "panel: majority" in done.stdout


def test_a_judge_who_is_not_there_and_data_without_verdicts_are_errors(
    rubricate, shipped_example, write_dataset
):
    done = rubricate(
        "trust", "replay", shipped_example("physics.json"), "--judge", "gpt4o/naive_cot_2"
    )
    assert done.returncode == 1
    assert "did you mean 'gpt-4o/naive_cot_2'?" in done.stderr
    done = rubricate("trust", "replay", write_dataset())
    assert done.returncode == 1
    assert done.stderr.startswith("Error: ")
    assert "no verdicts are recorded" in done.stderr


def test_a_recorded_verdict_that_is_none_of_the_answers_is_failed(rubricate, write_dataset):
    items = [
        {
            "submission": "a",
            "description": "",
            "ground_truth": ["MET", "UNMET"],
            "metadata": {"votes": {"a": {"speed": "MET", "boasting": "maybe"}, "b": {}}},
        }
    ]
    done = rubricate("trust", "replay", write_dataset(items=items), "--json")
    judged = {j["name"]: j["votes"] for j in json.loads(done.stdout)["judges"]}
    assert judged["a"]["judged"] == judged["a"]["failed"] == 1
    assert judged["b"]["failed"] == 2


def test_recorded_answers_that_are_unknown_are_named(rubricate, write_dataset):
    items = [
        {
            "id": f"item-{number}",
            "submission": f"a {number}",
            "description": "",
            "ground_truth": ["MET", "UNMET"],
            "metadata": {"votes": {"a": {"speed": "PASS", "boasting": "MET", "sped": "MET"}}},
        }
        for number in range(2)
    ]
    path = write_dataset(items=items)
    shown = " ".join(rubricate("trust", "replay", path).stdout.split())
    assert (
        "No labels of their criteria, counted as failed: 'PASS' of a for speed (2 times, first in "
        "item item-0)"
    ) in shown
    assert "that the rubric does not have, not counted: 'MET' of a for sped (2 times" in shown
    unknown = json.loads(rubricate("trust", "replay", path, "--json").stdout)["unknown"]
    assert [(one["criterion"], one["known"]) for one in unknown] == [
        ("speed", True),
        ("sped", False),
    ]


def test_votes_that_are_all_known_have_no_such_line(rubricate, shipped_example):
    found = json.loads(
        rubricate("trust", "replay", shipped_example("physics.json"), "--json").stdout
    )
    assert found["unknown"] == []
