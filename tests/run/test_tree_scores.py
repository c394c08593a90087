"""The groups of a tree, over all items and at every level: in figures, agreement and comparison."""

from __future__ import annotations

import json
import random
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, Verdict
from rubricate.analysis import agreement_report, compare_runs, read_run
from rubricate.rubric import Group, ScoringRules
from rubricate.run import ItemResult
from rubricate.run.results import GroupFigures, TreeFigures
from rubricate.stats import clustered_mean

RULES = ScoringRules()


def leaf(name: str, weight: float = 1.0) -> Criterion:
    return Criterion(name=name, requirement=f"Is {name}", weight=weight)


def tree() -> Rubric:
    inner = Group(name="inner", weight=2, criteria=(leaf("b", 3), leaf("c", -1)))
    return Rubric([Group(name="outer", weight=3, criteria=(leaf("a", 2), inner)), leaf("d")])


def figures(
    rubric: Rubric, items: list[list[float | None]], order: int = 0
) -> dict[str, GroupFigures]:
    tally = TreeFigures.tally()
    places = list(range(len(items)))
    random.Random(order).shuffle(places)
    for place in places:
        verdicts = {
            name: Verdict(name, "failed" if value is None else "judged", "", value)
            for name, value in zip(rubric.names, items[place], strict=True)
        }
        tally.add(ItemResult.of_verdicts(str(place), rubric, verdicts, RULES, index=place))
    found = tally.figures()
    assert found is not None
    return {one.name: one for one in found.groups}


def test_every_group_has_its_mean_over_items_at_every_level() -> None:
    found = figures(tree(), [[1, 1, 1, 1], [0, 1, 0, 0]])
    inner = [2 / 3, 1.0]
    outer = [(2 * a + 2 * b) / 4 for a, b in zip([1, 0], inner, strict=True)]
    assert found["inner"].value == pytest.approx(sum(inner) / 2)
    assert found["outer"].value == pytest.approx(sum(outer) / 2)
    assert (found["inner"].path, found["inner"].weight, found["inner"].n) == (["outer"], 2, 2)
    assert list(found) == ["outer", "inner"]


def test_the_mean_of_a_group_has_an_interval_by_item() -> None:
    draw = random.Random(1)
    items: list[list[float | None]] = [
        [draw.choice((0.0, 1.0)), draw.choice((0.0, 1.0)), draw.choice((0.0, 1.0, None)), 1.0]
        for _ in range(12)
    ]
    for name, one in figures(tree(), items).items():
        scores = [figures(tree(), [item])[name].value for item in items]
        expected = clustered_mean(scores).mean.within(0, 1)
        assert (one.low, one.high) == pytest.approx((expected.low, expected.high))
    same = figures(tree(), [[1, 1, 1, 1]] * 3)["outer"]
    assert same.value == pytest.approx(5 / 6)
    assert same.low < 0.5  # three equal scores tell little of others


@pytest.mark.parametrize("seed", range(8))
def test_the_bounds_of_groups_hold_for_every_completion(seed: int) -> None:
    draw = random.Random(seed)
    items: list[list[float | None]] = [
        [draw.choice((0.0, 1.0, None)) for _ in range(4)] for _ in range(2)
    ]
    bounds = figures(tree(), items)
    lost = [(i, k) for i, item in enumerate(items) for k, value in enumerate(item) if value is None]
    for answers in product((None, 0.0, 1.0), repeat=len(lost)):
        filled = [list(item) for item in items]
        for (item, at), answer in zip(lost, answers, strict=True):
            filled[item][at] = answer
        for name, one in figures(tree(), filled).items():
            low, high = bounds[name].lowest, bounds[name].highest
            if one.value is not None:
                assert low is not None
                assert high is not None
                assert low - 1e-12 <= one.value <= high + 1e-12


def test_groups_do_not_depend_on_the_order_in_which_items_get_done() -> None:
    draw = random.Random(3)
    items: list[list[float | None]] = [
        [draw.choice((0.0, 1.0, None)) for _ in range(4)] for _ in range(40)
    ]
    assert figures(tree(), items, 1) == figures(tree(), items, 2)


# In runs

LEAVES = ("apple", "plum", "peach", "short")
NESTED: dict[str, Any] = {
    "criteria": [
        {
            "name": "fruit",
            "weight": 2,
            "criteria": [
                {"name": "apple", "weight": 1},
                {
                    "name": "stone",
                    "weight": 3,
                    "criteria": [{"name": "plum", "weight": 1}, {"name": "peach", "weight": 2}],
                },
            ],
        },
        {"name": "short", "weight": 1},
    ]
}


def with_patterns(node: dict[str, Any]) -> dict[str, Any]:
    if "criteria" in node:
        return {**node, "criteria": [with_patterns(one) for one in node["criteria"]]}
    own = {"kind": "regex", "requirement": node["name"], "pattern": node["name"]}
    return {**node, **own, "tags": [f"axis:{'pit' if node['name'][0] == 'p' else 'other'}"]}


def dataset(*texts: str) -> RubricDataset:
    return RubricDataset.from_dict(
        {
            "prompt": "p",
            "rubric": with_patterns(NESTED),
            "items": [
                {
                    "id": f"i{at}",
                    "submission": text,
                    "description": "",
                    "ground_truth": ["MET", "MET", "UNMET", "UNMET"],
                }
                for at, text in enumerate(texts)
            ],
        }
    )


def test_a_tree_is_in_summary_terminal_page_agreement_and_comparison(tmp_path: Path) -> None:
    a = rubricate.grade(dataset("apple plum", "peach", "none"), run_dir=tmp_path / "a")
    rubricate.grade(dataset("apple plum", "plum", "apple"), run_dir=tmp_path / "b")
    summary = a.summary()
    assert summary.tree is not None
    fruit, stone = summary.tree.groups
    assert (stone.name, stone.path) == ("stone", ["fruit"])
    assert stone.value == pytest.approx((1 / 3 + 2 / 3 + 0) / 3)
    assert fruit.value == pytest.approx((2 / 4 + 2 / 4 + 0) / 3)
    assert (fruit.human_mean, fruit.labelled) == (pytest.approx(2 / 4), 3)
    assert json.loads((tmp_path / "a" / "summary.json").read_text()) == summary.to_dict()
    shown = str(summary)
    assert "by group" in shown
    assert "\u00a0\u00a0stone" in shown
    runs = read_run(tmp_path / "a"), read_run(tmp_path / "b")
    assert runs[0].to_csv(tmp_path / "items.csv", by="item") == 3
    head, first, *_ = (tmp_path / "items.csv").read_text().splitlines()
    row = dict(zip(head.split(","), first.split(","), strict=True))
    assert float(row["groups.stone"]) == pytest.approx(1 / 3)
    levels = agreement_report(runs[0]).levels
    assert [(one.level, one.groups, one.scores.n) for one in levels] == [(1, 1, 3), (2, 1, 3)]
    assert levels[1].scores.figures["bias"].value == pytest.approx(0.0)
    found = compare_runs(*runs, by=["axis"])
    parts = {(one.field, one.name): one.scores for one in found.parts}
    assert parts["group", "stone"].difference.value == pytest.approx((0 - 1 / 3 + 0) / 3)
    assert parts["group", "fruit"].difference.value == pytest.approx((0 - 1 / 4 + 1 / 4) / 3)
    assert parts["axis", "pit"].n == 3
    low = parts["axis", "other"].difference.low
    assert low is not None
    assert low >= -1.0


def test_a_list_of_criteria_has_none_of_it(tmp_path: Path) -> None:
    plain = RubricDataset("p", Rubric([leaf("x")]))
    plain.add_item("text", ground_truth=["MET"])
    rubricate.grade(plain, lambda _: {"verdict": "MET", "reason": "r"}, run_dir=tmp_path / "a")
    run = read_run(tmp_path / "a")
    assert "tree" not in run.summary
    assert "levels" not in agreement_report(run).to_dict()
    assert "parts" not in compare_runs(run, run).to_dict()


def test_of_many_groups_a_table_has_the_first_levels(tmp_path: Path) -> None:
    wide = {
        "criteria": [
            {
                "name": f"g{at}",
                "weight": 1,
                "criteria": [
                    {"name": f"g{at}-{k}", "weight": 1, "criteria": [{"name": f"p{at}-{k}"}]}
                    for k in range(9)
                ],
            }
            for at in range(12)
        ]
    }
    for group in wide["criteria"]:
        for inner in group["criteria"]:  # type: ignore[attr-defined]
            inner["criteria"][0] = with_patterns({**inner["criteria"][0], "weight": 1})
    data = RubricDataset.from_dict(
        {"prompt": "p", "rubric": wide, "items": [{"submission": "p1-1", "description": ""}]}
    )
    summary = rubricate.grade(data).summary()
    assert summary.tree is not None
    assert len(summary.tree.groups) == 12 + 12 * 9
    (table,) = summary.tree.tables()
    assert len(table.rows) == 12
    assert "108 of deeper levels are in summary.json" in str(summary)


def test_only_so_many_criteria_are_bootstrapped_where_there_are_thousands(tmp_path: Path) -> None:
    rubricate.grade(dataset("apple plum", "peach", "none"), run_dir=tmp_path / "a")
    run = read_run(tmp_path / "a")
    every, some = agreement_report(run), agreement_report(run, bootstrapped=1)
    assert some.criteria[0] == every.criteria[0]
    for one, other in zip(some.criteria, every.criteria, strict=True):
        assert one.kappa.value == other.kappa.value
        assert one.agreement.n == other.agreement.n
    assert some.stratified == every.stratified


def test_an_item_without_a_score_is_in_the_bounds_only_where_it_makes_them_wider() -> None:
    from rubricate.rubric import Score
    from rubricate.run.results._mean import BoundedMean

    found = BoundedMean()
    found.add(Score(0.25, 0.25, 0.25, 0.0, 1.0))
    found.add(Score(None, 0.5, 1.0, 0.0, 0.0))
    assert (found.lowest, found.value, found.highest) == (0.25, 0.25, 0.625)
