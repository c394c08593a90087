"""Rubrics that are trees: read, written, and scored at every level."""

from __future__ import annotations

import copy
import json
import pickle
from collections.abc import Sequence
from fractions import Fraction
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from formula import expected, leaves_of, near, worth
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, Group, InputError, Rubric, RubricDataset, Verdict
from rubricate.rubric import CannotAssess, Node, ScoringRules, restricted, score, score_with_groups

PROPERTY = settings(derandomize=True, deadline=None, max_examples=200)
STRATEGIES: Sequence[CannotAssess] = ("skip", "zero", "partial", "fail")
MISSING = ("abstained", "failed")
MET, UNMET = Verdict("", "judged", "MET", 1.0), Verdict("", "judged", "UNMET", 0.0)
SCORES = Path(__file__).with_name("paperbench_scores.json")

NESTED = """
name: replication
criteria:
- name: code
  weight: 3.0
  requirement: The code is all there
  criteria:
  - {name: training, weight: 2.0, requirement: Trains the model}
  - name: evaluation
    weight: 1.0
    criteria:
    - {name: metric, weight: 1.0, requirement: Computes the accuracy}
    - {name: leak, weight: -1.0, requirement: Trains on test data}
- {name: readme, weight: 1.0, requirement: Says how to run it}
"""


# Reading and writing


def test_the_criteria_of_a_tree_are_its_leaves_depth_first() -> None:
    rubric = Rubric.from_yaml(NESTED)
    assert rubric.names == ["training", "metric", "leak", "readme"]
    assert list(rubric.groups) == ["code", "evaluation"]
    assert rubric.paths["metric"] == ("code", "evaluation")
    assert rubric.paths["readme"] == ()
    assert rubric.total_positive_weight == 4.0


def test_a_tree_is_written_as_it_was_read(tmp_path: Path) -> None:
    rubric = Rubric.from_yaml(NESTED)
    assert Rubric.from_dict(rubric.to_dict()) == rubric
    assert Rubric.from_json(rubric.to_json()).to_json() == rubric.to_json()
    for name in ("tree.json", "tree.yaml"):
        rubric.to_file(tmp_path / name)
        read = Rubric.from_file(tmp_path / name)
        assert read == rubric
        assert read.groups["code"].requirement == "The code is all there"


def test_a_tree_is_built_in_python_as_in_a_file() -> None:
    built = Rubric(
        [
            Group(
                name="code",
                weight=2,
                criteria=[{"requirement": "Runs"}, Criterion(name="fast", requirement="Is fast")],
            ),
            Criterion(requirement="Is documented"),
        ]
    )
    assert built.names == ["criterion_1", "fast", "criterion_3"]
    assert built.tree[0] is built.groups["code"]
    assert built.groups["code"].criteria == built.criteria[:2]
    flat = Rubric(built.criteria)
    assert (flat.tree is flat.criteria, flat.groups) == (True, {})


def test_a_copy_with_other_criteria_has_their_tree() -> None:
    rubric = Rubric.from_yaml(NESTED)
    assert rubric.model_copy(update={"name": "other"}).tree == rubric.tree
    other = rubric.model_copy(update={"criteria": rubric.tree[1:]})
    assert (other.names, other.groups, other.name) == (["readme"], {}, "replication")


def test_a_tree_in_a_dataset_and_in_an_item_comes_back_from_its_file(tmp_path: Path) -> None:
    rubric = Rubric.from_yaml(NESTED)
    own = Rubric([Group(name="g", criteria=[{"name": "a", "requirement": "x"}])])
    dataset = RubricDataset("p", rubric)
    dataset.add_item("text", ground_truth=["MET", "MET", "UNMET", "UNMET"])
    dataset.add_item("text", rubric=own, ground_truth=["MET"])
    for suffix in ("json", "yaml", "jsonl"):
        dataset.to_file(tmp_path / f"d.{suffix}")
        read = RubricDataset.from_file(tmp_path / f"d.{suffix}")
        assert read.rubric == rubric
        assert read.items[1].rubric == own


@pytest.mark.parametrize(
    ("entry", "error"),
    [
        ({"name": "g", "criteria": []}, r"^group 'g': the group 'g' needs at least one criterion"),
        ({"criteria": [{"requirement": "x"}]}, r"^\[0\]: a group of criteria needs a name$"),
        ({"name": "g", "criteria": {}}, r"^group 'g': criteria: expected a list of criteria"),
        (
            {"name": "g", "weight": -1, "criteria": [{"requirement": "x"}]},
            r"^group 'g': weight: a group's weight must not be negative: give the criteria",
        ),
        (
            {"name": "g", "options": [], "criteria": [{"requirement": "x"}]},
            r"^group 'g': a group of criteria is not judged and has no 'options'",
        ),
        (
            {"name": "g", "wieght": 2, "criteria": [{"requirement": "x"}]},
            r"^group 'g': unknown key 'wieght': did you mean 'weight'\?$",
        ),
        (
            {"name": "g", "criteria": [{"name": "h", "criteria": [{"requirment": "x"}]}]},
            r"^group 'g': group 'h': criteria\[0\]: unknown key 'requirment'",
        ),
        (
            {"name": "g", "criteria": [{"requirement": "x"}, {"name": "g", "requirement": "y"}]},
            r"^'g': the name is defined twice: criteria\[0\] and criteria\[0\]\.criteria\[1\]; ren",
        ),
    ],
)
def test_what_is_wrong_in_a_tree_is_said_in_one_line_with_its_place(
    entry: dict[str, Any], error: str
) -> None:
    with pytest.raises(InputError, match=error):
        Rubric.from_dict([entry])


def test_a_section_has_no_groups() -> None:
    group = {"name": "g", "criteria": [{"requirement": "x"}]}
    with pytest.raises(InputError, match=r"sections\[0\]\.criteria\[0\]: a section has no groups"):
        Rubric.from_dict({"sections": [{"name": "s", "criteria": [group]}]})


def test_a_tree_may_be_a_hundred_levels_deep_in_python_and_in_a_file_and_no_deeper() -> None:
    def nested(levels: int) -> Group:
        node: Any = Criterion(name="leaf", requirement="x")
        for level in range(levels):
            node = Group(name=f"g{level}", criteria=[node])
        return node

    def of_file(levels: int) -> dict[str, Any]:
        entry: dict[str, Any] = {"name": "leaf", "requirement": "x"}
        for level in range(levels):
            entry = {"name": f"g{level}", "criteria": [entry]}
        return entry

    rubric = Rubric([nested(100)])
    assert rubric == Rubric.from_dict({"criteria": [of_file(100)]})
    assert pickle.loads(pickle.dumps(rubric)) == rubric == copy.deepcopy(rubric)
    assert Rubric.from_yaml(rubric.to_yaml()) == rubric
    assert score(rubric.tree, [MET]).value == 1.0
    for make in (
        lambda: nested(101),
        lambda: nested(100_000),
        lambda: Rubric.from_dict({"criteria": [of_file(101)]}),
        lambda: Rubric.from_dict({"criteria": [of_file(100_000)]}),
        lambda: nested(2).model_copy(update={"criteria": (nested(100),)}),
    ):
        with pytest.raises(InputError, match="a tree has 100 levels at most"):
            make()


# The score


def recorded(node: Sequence[Any], name: str, scores: dict[str, float]) -> Node:
    """A node of the fixture as one of a rubric, and its recorded score."""
    weight, scores[name], *below = node
    if not below:
        return Criterion(name=name, weight=weight, requirement="x")
    children = [recorded(one, f"{name}.{i}", scores) for i, one in enumerate(below[0])]
    return Group(name=name, weight=weight, criteria=children)


@pytest.mark.parametrize("name", ["all-in-one", "semantic-self-consistency"])
def test_every_inner_score_of_paperbenchs_trees_is_the_recorded_one(name: str) -> None:
    scores: dict[str, float] = {}
    rubric = Rubric([recorded(json.loads(SCORES.read_text())[name], "root", scores)])
    verdicts = [Verdict(leaf, "judged", "", scores[leaf]) for leaf in rubric.names]
    whole, groups = score_with_groups(rubric.tree, verdicts)
    assert whole.value == pytest.approx(scores["root"], abs=1e-12)
    assert len(groups) + len(rubric) == len(scores)
    for group, found in groups.items():
        assert found.value == found.lowest == found.highest
        assert found.value == pytest.approx(scores[group], abs=1e-12)
        assert found.coverage == 1.0


WEIGHTS = st.integers(-4, 6).map(lambda halves: halves / 2)


@st.composite
def trees(draw: st.DrawFn, most: int = 5) -> tuple[Node, ...]:
    """Small trees; every list of nodes of the drawn nesting is a level."""
    leaves = draw(st.integers(1, most))
    count = iter(range(100))

    def leaf() -> Criterion:
        weight, name = draw(WEIGHTS), f"c{next(count)}"
        if draw(st.integers(0, 3)):
            return Criterion(name=name, requirement="x", weight=weight)
        options = [{"label": "low", "value": 0.25}, {"label": "high", "value": 0.75}]
        return Criterion(name=name, requirement="x", weight=weight, options=options)

    def level(size: int, depth: int) -> tuple[Node, ...]:
        nodes: list[Node] = []
        while size:
            part = draw(st.integers(1, size))
            if depth < 3 and draw(st.booleans()):
                weight = abs(draw(WEIGHTS))
                inner = level(part, depth + 1)
                nodes.append(Group(name=f"g{next(count)}", weight=weight, criteria=inner))
            else:
                part = 1
                nodes.append(leaf())
            size -= part
        return tuple(nodes)

    return level(leaves, 0)


def answers(criterion: Criterion) -> list[Verdict]:
    return [criterion.verdict(label) for label in (*criterion.labels, "CANNOT_ASSESS")]


@st.composite
def judged_trees(draw: st.DrawFn, most: int = 5) -> tuple[tuple[Node, ...], list[Verdict]]:
    tree = draw(trees(most))
    beside = [Verdict("", "failed"), Verdict("", "skipped"), Verdict("", "not_applicable")]
    return tree, [draw(st.sampled_from([*answers(c), *beside])) for c in leaves_of(tree)]


@PROPERTY
@given(judged_trees(most=8), st.sampled_from(STRATEGIES))
def test_every_nodes_value_follows_the_formula_of_its_level(
    item: tuple[tuple[Node, ...], list[Verdict]], strategy: CannotAssess
) -> None:
    tree, verdicts = item
    found, groups = score_with_groups(tree, verdicts, ScoringRules(strategy))
    values: dict[str, Any] = {}
    counted = partial(worth, strategy=strategy)
    assert found.value == near(expected(tree, iter(verdicts), counted, values))
    assert groups.keys() == values.keys()
    for name, one in groups.items():
        assert one.value == near(values[name])


@PROPERTY
@given(judged_trees(most=4), st.sampled_from(STRATEGIES))
def test_the_bounds_of_every_node_are_the_least_and_the_most_of_all_completions(
    item: tuple[tuple[Node, ...], list[Verdict]], strategy: CannotAssess
) -> None:
    tree, verdicts = item
    found, groups = score_with_groups(tree, verdicts, ScoringRules(strategy))
    reached: dict[str, list[Fraction]] = {name: [] for name in ("", *groups)}
    ways = (
        [verdict, *answers(criterion)] if verdict.status in MISSING else [verdict]
        for criterion, verdict in zip(leaves_of(tree), verdicts, strict=True)
    )
    counted = partial(worth, strategy=strategy)
    for completed in product(*ways):
        values: dict[str, Any] = {}
        values[""] = expected(tree, iter(completed), counted, values)
        for name, value in values.items():
            if value is not None:
                reached[name].append(value)
    for name, one in {"": found, **groups}.items():
        assert one.lowest == near(min(reached[name], default=None)), name
        assert one.highest == near(max(reached[name], default=None)), name


@PROPERTY
@given(judged_trees(most=8), st.sampled_from(STRATEGIES))
def test_a_tree_of_one_group_scores_as_its_criteria_do(
    item: tuple[tuple[Node, ...], list[Verdict]], strategy: CannotAssess
) -> None:
    tree, verdicts = item
    inner = score(tree, verdicts, ScoringRules(strategy))
    outer, groups = score_with_groups(
        [Group(name="all", weight=3, criteria=tree)], verdicts, ScoringRules(strategy)
    )
    assert groups["all"] == inner
    assert outer.value == pytest.approx(inner.value)
    assert outer.lowest == pytest.approx(inner.lowest)
    assert outer.highest == pytest.approx(inner.highest)
    assert outer.coverage == inner.coverage


def test_only_faults_left_in_one_group_is_told_of_the_whole() -> None:
    inner = [Criterion(name="a", requirement="x"), Criterion(name="b", weight=-1, requirement="x")]
    tree = [Group(name="g", criteria=inner), Criterion(name="c", requirement="x")]
    found = score(tree, [Verdict("", "failed"), UNMET, MET])
    assert found.faults_only
    assert (found.lowest, found.value, found.highest) == (0.5, 1.0, 1.0)


def test_as_many_verdicts_as_leaves_are_needed() -> None:
    rubric = Rubric.from_yaml(NESTED)
    for count in (0, 3, 5):
        with pytest.raises(InputError, match=f"{count} verdicts for 4 criteria"):
            score(rubric.tree, [Verdict("", "failed")] * count)


def test_a_restricted_tree_has_the_groups_of_what_is_left() -> None:
    rubric = Rubric.from_yaml(NESTED)
    (code,) = restricted(rubric.tree, {"metric"})
    assert isinstance(code, Group)
    assert [node.name for node in code.criteria] == ["evaluation"]
    assert restricted(rubric.tree, set(rubric.names)) == rubric.tree
    assert restricted(rubric.tree, ()) == ()


def test_the_least_ratio_of_many_verdicts_takes_no_time_in_its_corner() -> None:
    penalties = [Criterion(requirement="x", weight=-1)] * 3000
    points = [Criterion(requirement="x", weight=1 + i / 7) for i in range(3000)]
    verdicts = [MET] * 3000 + [Verdict("", "failed")] * 3000
    assert score([*penalties, *points], verdicts).lowest == 0.0


# Ground truth and declared scoring


def test_the_score_of_labels_goes_through_the_tree() -> None:
    dataset = RubricDataset("p", Rubric.from_yaml(NESTED))
    assert dataset.compute_weighted_score(["MET", "UNMET", "MET", "MET"]) == 0.75
    assert dataset.compute_weighted_score(["CANNOT_ASSESS"] * 4) == 0.0
    assert dataset.compute_weighted_score(["MET", "MET", "UNMET", "UNMET"], normalize=False) == 3.0


@pytest.mark.parametrize(
    ("scoring", "error"),
    [
        ({"skiped": "zero"}, r"^scoring: unknown key 'skiped' \(known: .*did you mean 'skipped'"),
        ({"skipped": "zer0"}, r"^scoring\.skipped: unknown word 'zer0' .*did you mean 'zero'"),
        ({"skipped": None}, r"^scoring\.skipped: must be 'zero' or 'skip'"),
        (3, r"^scoring: must be"),
    ],
)
def test_declared_scoring_that_is_none_is_an_error(scoring: object, error: str) -> None:
    with pytest.raises(InputError, match=error):
        Rubric.from_dict({"scoring": scoring, "criteria": [{"requirement": "x"}]})
