"""A run's scores by a declared scoring: benchmarks as published, on simulated verdicts."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, InputError, Rubric, RubricDataset, Verdict
from rubricate.analysis import compare_runs, read_run
from rubricate.dataset import DataItem, Item
from rubricate.rubric import DeclaredScoring, ScoringRules
from rubricate.run import ItemResult
from rubricate.run.results import DeclaredFigures, DeclaredTally

HEALTHBENCH = DeclaredScoring(items="raw", aggregate="clipped_mean", by=("tags",))
PROFBENCH = DeclaredScoring(by=("domain", "type"))
RACE = DeclaredScoring(
    aggregate="against_reference", pairs="task", reference="role:reference", by=("dimension",)
)
Simulated = list[tuple[Rubric, list[float | None], dict[str, Any]]]
"""Of each item its rubric, the values of its verdicts (None for one that failed), its metadata."""


def figures(items: Simulated, declared: DeclaredScoring, *, order: int = 0) -> DeclaredFigures:
    """What a run makes of simulated verdicts, in some order of completion."""
    tally, rules = DeclaredTally(), ScoringRules(declared=declared)
    places = list(range(len(items)))
    random.Random(order).shuffle(places)
    for place in places:
        rubric, values, metadata = items[place]
        item = Item.of(
            DataItem("text", "", None, rubric, metadata=metadata),
            rubric,
            id=str(place),
            prompt="",
            reference=None,
        )
        verdicts = {
            name: Verdict(name, "failed" if value is None else "judged", "", value)
            for name, value in zip(rubric.names, values, strict=True)
        }
        tally.add(ItemResult.scored(item, verdicts, rules, index=place))
    found = tally.figures()
    assert found is not None
    return found


def by_name(found: DeclaredFigures, field: str) -> dict[str, float | None]:
    (scores,) = (one for one in found.by if one.field == field)
    return {group.name: group.value for group in scores.groups}


def drawn(seed: int, weights: Sequence[float], tags: Sequence[Sequence[str]], n: int) -> Simulated:
    """Items with rubrics of their own: weights and tags drawn from these."""
    draw = random.Random(seed)
    found: Simulated = []
    for _ in range(n):
        count = draw.randint(2, 12)
        rubric = Rubric(
            [
                Criterion(requirement="x", weight=draw.choice(weights), tags=draw.choice(tags))
                for _ in range(count)
            ]
            + [Criterion(requirement="x", weight=5, tags=("axis:accuracy",))]
        )
        often = {True: 0.6, False: 0.2}
        met = [float(draw.random() < often[criterion.weight > 0]) for criterion in rubric]
        found.append((rubric, list(met), {}))
    return found


# What the papers' arithmetic gives is in test_benchmark_scores.py.


def healthbench_items(n: int) -> Simulated:
    tags = [("axis:accuracy", "level:a"), ("axis:communication",), ("axis:safety", "level:b")]
    items = drawn(1, [10, 7, 3, -4, -9, -10], tags, n)
    draw = random.Random(2)
    themes = ("theme:emergency", "theme:context", "hard")
    return [(r, v, {"tags": draw.sample(themes, draw.randint(0, 2))}) for r, v, _ in items]


def test_clipping_the_mean_is_not_clamping_each_item() -> None:
    items = healthbench_items(200)
    clamped = figures(items, DeclaredScoring()).overall.value
    raw = figures(items, HEALTHBENCH).overall.value
    assert clamped is not None
    assert raw is not None
    assert 0 < raw < clamped - 0.05


def test_figures_do_not_depend_on_the_order_in_which_items_get_done() -> None:
    items = healthbench_items(60)
    assert figures(items, HEALTHBENCH, order=1) == figures(items, HEALTHBENCH, order=2)


def race_items(n: int) -> Simulated:
    draw = random.Random(4)
    dimensions = ("comprehensiveness", "insight", "instruction", "readability")
    items: Simulated = []
    for task in range(n):
        rubric = Rubric(
            [
                Criterion(requirement="x", weight=draw.random() + 0.1, tags=(f"dimension:{one}",))
                for one in dimensions
                for _ in range(draw.randint(1, 4))
            ]
        )
        for role in ("target", "reference"):
            values: list[float | None] = [draw.randint(0, 100) / 100 for _ in rubric]
            items.append((rubric, values, {"task": f"t{task}", "role": role}))
    return items


# Missing verdicts


@pytest.mark.parametrize("declared", [HEALTHBENCH, PROFBENCH, RACE])
@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_for_every_completion_of_the_missing_verdicts(
    declared: DeclaredScoring, seed: int
) -> None:
    draw = random.Random(seed)
    if declared is RACE:
        items = [(r, [float((v or 0) > 0.6) for v in values], m) for r, values, m in race_items(3)]
    else:
        tags = [("axis:accuracy", "type:a"), ("axis:safety",), ("type:b",)]
        items = [
            (r, v, {"tags": ["t:x"], "domain": str(place % 2)})
            for place, (r, v, _) in enumerate(drawn(seed, [4, 2, 1, -3, -9], tags, 4))
        ]
    verdicts = [(place, at) for place, (_, v, _) in enumerate(items) for at in range(len(v))]
    lost = draw.sample(verdicts, 4)

    def completed(answers: Sequence[float | None]) -> DeclaredFigures:
        filled = [(r, list(v), m) for r, v, m in items]
        for (place, at), answer in zip(lost, answers, strict=True):
            filled[place][1][at] = answer
        return figures(filled, declared)

    def groups(found: DeclaredFigures) -> dict[tuple[str, str], Any]:
        every = {("", ""): found.overall}
        return every | {(one.field, group.name): group for one in found.by for group in one.groups}

    bounds = groups(completed([None] * 4))
    assert bounds["", ""].missing == 4
    for answers in product((None, 0.0, 1.0), repeat=4):
        for name, group in groups(completed(answers)).items():
            if group.value is not None:
                assert bounds[name].lowest - 1e-12 <= group.value <= bounds[name].highest + 1e-12


# The engine

CRITERIA = [
    {"name": "apple", "kind": "regex", "pattern": "apple", "points": 5, "tags": ["axis:a"]},
    {"name": "pear", "kind": "regex", "pattern": "pear", "points": 3, "tags": {"axis": "b"}},
    {"name": "rude", "kind": "regex", "pattern": "fool", "points": -9, "tags": ["axis:b"]},
]
TEXTS = {
    "apple and pear": "fruit",
    "apple": "fruit",
    "fool": "words",
    "you fool, an apple": "words",
}
SCORING = {"items": "raw", "aggregate": "clipped_mean", "by": ["axis", "domain"]}


def dataset(own: Any = None, of_all: Any = None, per_item: bool = False) -> RubricDataset:
    rubric = {"criteria": CRITERIA, **({"scoring": own} if own else {})}
    return RubricDataset.from_dict(
        {
            "prompt": "Name a fruit.",
            "rubric": None if per_item else rubric,
            **({"scoring": of_all} if of_all else {}),
            "items": [
                {
                    "submission": text,
                    "description": "",
                    "metadata": {"domain": domain},
                    **({"rubric": rubric} if per_item else {}),
                }
                for text, domain in TEXTS.items()
            ],
        }
    )


@pytest.mark.parametrize(
    "data",
    [
        dataset(own=SCORING),
        dataset(of_all=SCORING),
        dataset(of_all=SCORING, per_item=True),
        dataset(own=SCORING, per_item=True),
    ],
)
def test_a_scoring_counts_wherever_it_is_declared(data: RubricDataset, tmp_path: Path) -> None:
    result = rubricate.grade(data, run_dir=tmp_path)
    assert [item.score.value for item in result] == pytest.approx([1.0, 5 / 8, -9 / 8, -4 / 8])
    summary = result.summary()
    assert summary.score.mean == pytest.approx(0.0)
    assert summary.scoring is not None
    assert by_name(summary.scoring, "axis") == {"a": 0.75, "b": 0.0}
    assert by_name(summary.scoring, "domain") == {"fruit": pytest.approx(13 / 16), "words": 0.0}
    kept = json.loads((tmp_path / "summary.json").read_text())
    assert kept == summary.to_dict()
    assert kept["scoring"]["declared"] == SCORING
    assert RubricDataset.from_dict(data.to_dict()).to_dict() == data.to_dict()


def test_nothing_of_it_is_said_where_nothing_is_declared(tmp_path: Path) -> None:
    result = rubricate.grade(dataset(), run_dir=tmp_path)
    assert "scoring" not in result.summary().to_dict()
    assert "scoring" not in str(result.summary())
    assert "tag_scores" not in (tmp_path / "results.jsonl").read_text()


def test_two_declarations_that_differ_are_refused() -> None:
    other = {**SCORING, "items": "clamped"}
    with pytest.raises(InputError, match=r"items\[0\]: the scoring is declared in two ways"):
        rubricate.grade(dataset(own=SCORING, of_all=other))
    mixed = dataset(per_item=True, own=SCORING)
    mixed.items[2].rubric = Rubric([Criterion(requirement="Is good")])
    with pytest.raises(InputError, match=r"items\[2\]: only some rubrics declare a scoring"):
        rubricate.grade(mixed)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"by": "axs"},
            "scores by 'axs': no criterion has a tag of that field, and no item a tag ",
        ),
        ({"by": ["domian"]}, "did you mean 'domain'?"),
        ({"cannot_assess": "fail"}, "the rubric declares cannot_assess zero, and the option sets "),
    ],
)
def test_what_cannot_be_meant_is_said_before_anything_is_asked(
    options: dict[str, Any], message: str, tmp_path: Path
) -> None:
    data = dataset(own={"cannot_assess": "zero"})
    with pytest.raises(InputError) as caught:
        rubricate.grade(data, run_dir=tmp_path, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "results.jsonl").exists()


@pytest.mark.parametrize("metadata", [{"notes": "x" * 300}, {"notes": ["x"]}, {"notes": {"x": 1}}])
def test_scores_are_told_by_what_results_keep_and_nothing_else(metadata: dict[str, Any]) -> None:
    data = dataset()
    for item in data.items:
        item.metadata = metadata
    with pytest.raises(InputError, match="scores by 'notes': no criterion has a tag"):
        rubricate.grade(data, by="notes")


@pytest.mark.parametrize("tags", [5, [1], None, "fresh", ["fresh", "x" * 300]])
def test_tags_of_items_that_are_none_do_no_harm(tags: Any) -> None:
    data = dataset()
    for item in data.items:
        item.metadata["tags"] = tags
    result = rubricate.grade(data, by="tags")
    kept = ("fresh",) if "fresh" in str(tags) else ()
    assert {item.tags for item in result} == {kept}
    found = result.summary().scoring
    assert found is not None
    assert {"axis:a", "axis:b", *kept} == set(by_name(found, "tags"))


@pytest.mark.parametrize(
    ("roles", "message"),
    [
        (["reference", "x", "reference", "x"], None),
        (["reference", "reference", "reference", "x"], "not so: fruit"),
        (["x", "x", "reference", "x"], "needs one item with role:reference and another for each"),
    ],
)
def test_items_in_pairs_have_one_reference_each(roles: list[str], message: str | None) -> None:
    data = dataset(
        of_all={"aggregate": "against_reference", "pairs": "domain", "reference": "role:reference"}
    )
    for item, role in zip(data.items, roles, strict=True):
        item.metadata["role"] = role
    if message is None:
        found = rubricate.grade(data).summary().score
        assert (found.mean, found.scored) == (pytest.approx((5 / 8) / (13 / 8)), 1)
        return
    with pytest.raises(InputError) as caught:
        rubricate.grade(data)
    assert message in str(caught.value)


def test_runs_of_raw_scores_are_compared_as_they_are(tmp_path: Path) -> None:
    rubricate.grade(dataset(own=SCORING), run_dir=tmp_path / "a")
    better = dataset(own=SCORING)
    better.items[2].submission = "apple and pear"
    better.items[2].id = rubricate.grade(dataset()).items[2].id
    rubricate.grade(better, run_dir=tmp_path / "b")
    found = compare_runs(read_run(tmp_path / "a"), read_run(tmp_path / "b"))
    assert found.score.mean_a == pytest.approx(0.0)
    assert found.score.mean_b == pytest.approx((1 + 5 / 8 + 1 - 4 / 8) / 4)
    assert found.score.difference.value == pytest.approx(17 / 8 / 4)
