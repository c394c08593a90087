"""`rubricate trust plan`: what a figure takes, by a formula or by drawing from a run."""

from __future__ import annotations

import json
import random
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import rubricate as package
from rubricate import Criterion, InputError, PythonModel, Rubric, RubricDataset
from rubricate.analysis import FinishedRun, plan_report, read_run
from rubricate.analysis.planning._plan import _narrow_enough
from rubricate.stats import (
    corrected_mean,
    label_agreement,
    lower_end_power,
    mcnemar_power,
    paired_power,
    permutation_test,
    share_width,
)


def grade_simulated(folder: Path, right: float, *, seed: int = 4, **options: Any) -> Path:
    """300 items of two criteria with labels; the judge agrees with people in a share `right`."""
    generator = random.Random(seed)
    names = ("clear", "true")
    data = RubricDataset("t", Rubric([Criterion(name=name, requirement=name) for name in names]))
    truths = random.Random(1)
    for number in range(300):
        labels = [truths.random() < 0.6 for _ in names]
        said = [one if generator.random() < right else not one for one in labels]
        data.add_item(
            f"{number} "
            + " ".join(f"{name}={one:d}" for name, one in zip(names, said, strict=True)),
            id=f"i{number}",
            ground_truth=["MET" if one else "UNMET" for one in labels],
            metadata={"class": number // 10},
        )

    def says(messages: list[Any]) -> dict[str, Any]:
        text = messages[-1]["content"]
        asked = (
            "clear" if "<criterion>clear" in text or "clear\n" in text.split("=")[-1] else "true"
        )
        return {
            "reason": "r",
            "evidence": [],
            "verdict": "MET" if f"{asked}=1" in text else "UNMET",
        }

    package.grade(data, PythonModel(says, name=f"m{right}"), run_dir=folder, **options)
    return folder


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Two judges' runs of the same items."""
    folder = tmp_path_factory.mktemp("plans")
    return grade_simulated(folder / "a", 0.85), grade_simulated(folder / "b", 0.9, seed=5)


def drawn(run: Path, items: int, seed: int) -> list[Any]:
    """The rows of items drawn with replacement, each with the number of its item."""
    by_item: dict[str, list[Any]] = {}
    for row in read_run(run).rows:
        by_item.setdefault(row.item, []).append(row)
    chosen = random.Random(seed).choices([*by_item.values()], k=items)
    return [(number, row) for number, rows in enumerate(chosen) for row in rows]


def test_without_a_run_a_plan_is_the_formula():
    found = plan_report("accuracy", value=0.85, half_width=0.05).answers[0]
    assert share_width(found.items, 0.85) <= 0.05 < share_width(found.items - 1, 0.85)
    assert (found.labels, found.requests, found.cost) == (found.items, None, None)
    found = plan_report("accuracy", value=0.9, at_least=0.8, power=0.9).answers[0]
    later = [lower_end_power(found.items + more, 0.9, 0.8) for more in range(20)]
    assert min(later) >= 0.9 > lower_end_power(found.items - 1, 0.9, 0.8)


def test_the_other_way_round_it_shows_what_a_number_of_items_gives():
    there = plan_report("accuracy", value=0.9, half_width=0.04, label_cost=0.5).answers[0]
    back = plan_report("accuracy", value=0.9, items=there.items, label_cost=0.5).answers[0]
    assert (back.half_width, back.cost) == (there.half_width, there.cost)
    assert there.cost == 0.5 * there.items


def test_by_the_spread_alone_a_comparison_has_a_guess_and_what_holds_however_many_differ():
    flips = {"spread": 0.3371, "difference": 0.08}  # 10 % better, 2 % worse
    for n in (20, 50, 100):
        guess, least = plan_report("comparison", **flips, items=n).answers
        assert guess.power == pytest.approx(paired_power(n, 0.08, 0.3371), abs=1e-9)
        assert "12% differ (a guess)" in guess.name
        assert least.power <= min(guess.power, mcnemar_power(n, 0.08, 0.12) + 0.02)
        known = plan_report("comparison", **flips, differing=0.12, items=n).answers
        assert known[0].power == pytest.approx(known[1].power, abs=0.005)


def test_kappas_width_is_that_of_data_drawn_anew(runs: tuple[Path, Path]):
    run = read_run(runs[0])
    found = plan_report("kappa", run, criterion="true", items=80, simulations=100).answers[0]
    widths = []
    for seed in range(100):
        rows = [row for _, row in drawn(runs[0], 80, seed) if row.criterion == "true"]
        kappa = label_agreement([row.label for row in rows], [row.human_label for row in rows])
        widths.append(kappa.figures["cohen_kappa"].high - kappa.figures["cohen_kappa"].low)
    assert found.half_width == pytest.approx(np.mean(widths) / 2, rel=0.05)


def test_a_comparisons_power_is_that_of_differences_like_the_runs(runs: tuple[Path, Path]):
    a, b = map(read_run, runs)
    found = plan_report("comparison", a, b, difference=0.06, items=200)
    second = b.item_scores
    differences = np.array([second[item] - score for item, score in a.item_scores.items()])
    # As the plan says: of both signs, and the more often the more they are like the difference.
    both = np.concatenate([differences, -differences])
    low, high = 0.0, 50.0
    for _ in range(60):
        theta = (low + high) / 2
        weights = np.exp(theta * both)
        low, high = (theta, high) if (weights @ both) / weights.sum() < 0.06 else (low, theta)
    chance, shown = np.random.default_rng(3), 0
    for _ in range(500):
        made = both[chance.choice(len(both), 200, p=weights / weights.sum())]
        shown += permutation_test(made.tolist(), rounds=999).p_value < 0.05
    assert found.answers[0].power == pytest.approx(shown / 500, abs=0.03 + 0.03)


def test_a_prediction_powered_means_width_is_that_of_labels_drawn_anew(runs: tuple[Path, Path]):
    run = read_run(runs[0])
    found = plan_report("ppi", run, items=40, pool=300, criterion="true").answers[0]
    rows = [row for row in run.rows if row.criterion == "true"]
    widths = []
    for seed in range(300):
        order = random.Random(seed).choices(rows, k=300)
        human = [row.human_value if at < 40 else None for at, row in enumerate(order)]
        mean = corrected_mean([row.value for row in order], human).prediction_powered
        widths.append((mean.high - mean.low) / 2)
    assert found.half_width == pytest.approx(np.mean(widths), rel=0.05)
    assert (found.items, found.graded, found.labels) == (40, 300, 40)


def test_groups_that_belong_together_take_more_items(tmp_path: Path):
    chance, data = (
        random.Random(1),
        RubricDataset("t", Rubric([Criterion(name="c", requirement="x")])),
    )
    for group in range(30):
        share = chance.choice((0.1, 0.9))
        for number in range(10):
            said = chance.random() < share
            data.add_item(f"says {said:d} {group} {number}", metadata={"class": group})

    def says(messages: list[Any]) -> dict[str, Any]:
        met = "says 1" in messages[-1]["content"]
        return {"reason": "r", "evidence": [], "verdict": "MET" if met else "UNMET"}

    package.grade(data, PythonModel(says, name="m"), run_dir=tmp_path / "r")
    run = read_run(tmp_path / "r")
    alone = plan_report("mean", run, half_width=0.1).answers[0].items
    together = plan_report("mean", run, half_width=0.1, groups="class").answers[0].items
    assert together > 3 * alone


def test_requests_and_cost_are_those_of_the_run(
    endpoint: Any, rubricate: Any, write_dataset: Any, tmp_path: Path
):
    texts = ["Roughly 300000 kilometres", "Fast, and shamelessly it praises itself"]
    items = [{"submission": f"{texts[n % 2]} {n}", "description": ""} for n in range(8)]
    write_dataset(items=items)
    grade = ("grade", "data.json", "--judge", "m", "--base-url", endpoint.url, "--no-cache")
    plan = ("trust", "plan", "mean", "--items", "100", "--json")
    rubricate(*grade, "--run-dir", "run")
    point = json.loads(rubricate(*plan, "run").stdout)["answers"][0]
    assert (point["requests"], point["cost"]) == (200, None)  # two criteria; m has no price
    (tmp_path / "prices.yaml").write_text("m: {input: 1, output: 2}")
    rubricate(*grade, "--run-dir", "priced", "--prices", "prices.yaml")
    point = json.loads(rubricate(*plan, "priced").stdout)["answers"][0]
    summary = read_run(tmp_path / "priced").summary
    assert point["cost"] == pytest.approx(100 * summary["usage"]["cost"] / summary["items"])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("accuracy", "--half-width", "0.05"), "needs --value"),
        (("accuracy", "--half-width", "5"), "half_width must be less than 1, found 5"),
        (("accuracies",), "accuracy, sensitivity"),
        (("mean", "--at-least", "0.8"), "a plan for mean does not support at_least"),
        (
            ("kappa", "--value", "0.6", "--spread", "0.2"),
            "kappa does not support spread",
        ),
        (("mean", "--spread", "0.2", "--items", "1"), "items must be at least 2"),
        (("comparison", "--differing", "0.1", "--difference", "0.2"), "cannot be where 0.1"),
        (("mean", "nowhere"), "nowhere: no such run folder"),
        (("mean", "--spread", "0.2", "--groups", "class"), "groups needs a run: name its folder"),
        (("mean", "--spread", "0.2", "-o", "plan.txt"), "must end in one of"),
    ],
)
def test_what_cannot_be_planned_is_one_line(arguments: tuple[str, ...], told: str, rubricate: Any):
    done = rubricate("trust", "plan", *arguments)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


def test_what_a_run_says_need_not_be_assumed(runs: tuple[Path, Path]):
    run = read_run(runs[0])
    with pytest.raises(InputError, match="value is for a plan without a run"):
        plan_report("accuracy", run, value=0.9, half_width=0.1)
    with pytest.raises(InputError, match="needs two runs of the same items"):
        plan_report("comparison", run, difference=0.1)
    with pytest.raises(InputError, match="of one binary criterion: name it"):
        plan_report("sensitivity", run, half_width=0.1)


def test_a_few_items_that_are_alike_by_chance_promise_no_narrow_interval(tmp_path: Path):
    def run_of(items: int, right: int) -> FinishedRun:
        rows = [
            {"submission": f"text {n}", "label.one": "MET" if n < right else "UNMET"}
            for n in range(items)
        ]
        met = {"reason": "r", "evidence": [], "verdict": "MET"}
        folder = tmp_path / f"{items} {right}"
        rubric = [{"name": "one", "requirement": "one"}]
        package.grade(rows, lambda messages: met, rubric=rubric, run_dir=folder)
        return read_run(folder)

    few, alike, mixed = run_of(7, 5), run_of(30, 30), run_of(30, 20)
    for figure in ("kappa", "mean", "ppi"):
        with pytest.raises(InputError, match=r"needs 8 .* there are 7"):
            plan_report(figure, few, half_width=0.1)
    with pytest.raises(InputError, match=r"needs 8 .* there are 7"):
        plan_report("comparison", few, other=few, difference=0.1)
    with pytest.raises(InputError, match="do not show how kappa varies"):
        plan_report("kappa", alike, half_width=0.1)
    assert plan_report("kappa", mixed, items=50).answers
    known = [plan.items for plan in plan_report("accuracy", few, half_width=0.1).answers]
    widest = plan_report("accuracy", value=0.5, half_width=0.1).answers[0].items
    assert max(number or 0 for number in known) == widest


def test_a_plan_is_told_in_all_forms(rubricate: Any, tmp_path: Path):
    plan = ("trust", "plan", "accuracy", "--value", "0.85", "--half-width", "0.05")
    shown = rubricate(*plan, "-o", "plan.html").stdout
    assert "The accuracy: within 0.05 to either side" in shown
    assert "213" in shown
    assert "213" in (tmp_path / "plan.html").read_text()
    rubricate(*plan, "-o", "plan.md")
    assert "| **accuracy 0.85** | 213 | 213 | 0.050 |" in (tmp_path / "plan.md").read_text()


def test_where_no_number_is_enough_it_says_so():
    found = plan_report("mean", spread=0.3, half_width=0.0001)
    assert found.answers[0].items is None
    assert "not with 1000000 items" in str(found)


@pytest.mark.parametrize("power", [0.3, 0.5, 1.3, 2.5])
def test_a_simulated_plan_reaches_its_width_however_fast_the_width_falls(power: float):
    def width(n: int) -> float:
        return 0.5 * (20 / n) ** power

    design: Any = SimpleNamespace(least=2, most=20_000)
    n = _narrow_enough(width, 0.1, design)
    assert n is not None
    assert n == pytest.approx(20 * 5 ** (1 / power), rel=0.04)
    assert width(n) <= 0.1
    assert _narrow_enough(width, 1e-9, design) is None


def test_a_simulated_width_holds_on_other_draws_and_says_what_it_simulates():
    sizes: list[int] = []
    wanted: dict[str, Any] = {"value": 0.6, "half_width": 0.1}
    n = plan_report("kappa", **wanted, on_simulation=sizes.append).answers[0].items
    assert {n, 200} <= set(sizes)
    for seed in (1, 2):
        again = plan_report("kappa", value=0.6, items=n, simulations=4000, seed=seed).answers[0]
        assert again.half_width is not None
        assert again.half_width <= 0.1


def test_a_simulated_power_holds_on_other_draws_and_takes_few_sizes():
    sizes: list[int] = []
    wanted: dict[str, Any] = {"value": 0.6, "at_least": 0.4}
    answer = plan_report("kappa", **wanted, on_simulation=sizes.append).answers[0]
    assert answer.power is not None
    assert answer.power >= 0.8
    assert len(sizes) < 12
    again = plan_report("kappa", **wanted, items=answer.items, seed=1).answers[0]
    assert again.power == pytest.approx(answer.power, abs=0.06)  # four standard errors of both
