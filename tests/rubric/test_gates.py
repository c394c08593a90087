"""Gates: what a criterion requires of others, and what becomes of it and of the score."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import pytest
from formula import expected, leaves_of, near, worth
from hypothesis import given, settings
from hypothesis import strategies as st

from rubricate import Criterion, Gate, Group, InputError, Rubric, RubricDataset, Verdict
from rubricate.rubric import (
    CannotAssess,
    DeclaredScoring,
    Failure,
    Gates,
    Node,
    ScoringRules,
    Skipped,
    score_with_groups,
)

PROPERTY = settings(derandomize=True, deadline=None, max_examples=250)
X = {"requirement": "x"}
MET, UNMET = Verdict("", "judged", "MET", 1.0), Verdict("", "judged", "UNMET", 0.0)
ABSTAINED = Verdict("", "abstained", "CANNOT_ASSESS")
FAILED = Verdict("", "failed", error=Failure("timeout", "no answer within 5 s"))


def named(name: str, requires: Any = None, **more: Any) -> dict[str, Any]:
    """A criterion as a file has it."""
    return {"name": name, **X, **more, **({} if requires is None else {"requires": requires})}


def gated(*entries: Any) -> Gates:
    gates = Rubric.from_dict([*entries]).gates
    assert gates is not None
    return gates


# Reading and writing


def test_gates_are_read_in_all_their_forms_and_written_as_they_were() -> None:
    rubric = Rubric.from_dict(
        [
            named("a"),
            named("b", "a"),
            named("c", {"criterion": "a", "label": "UNMET"}),
            named("d", ["b", {"criterion": "c", "at_least": 0.5}]),
            {"name": "g", "requires": "a", "criteria": [named("e", "b")]},
        ]
    )
    assert rubric.by_name["b"].requires == (Gate(criterion="a"),)
    written = rubric.to_dict()
    assert [entry.get("requires") for entry in written] == [  # type: ignore[union-attr]
        None,
        "a",
        {"criterion": "a", "label": "UNMET"},
        ["b", {"criterion": "c", "at_least": 0.5}],
        "a",
    ]
    assert Rubric.from_yaml(rubric.to_yaml()) == rubric == Rubric.from_dict(written)
    assert rubric.gates is not None
    assert rubric.gates.waves == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 2}
    assert [gate.criterion for gate in rubric.gates.of("e")] == ["a", "b"]
    assert Rubric([Criterion(requirement="x")]).gates is None


def test_a_rubric_with_gates_is_copied_and_pickled_whole() -> None:
    rubric = Rubric.from_dict(
        [named("a"), {"name": "g", "requires": "a", "criteria": [named("b")]}]
    )
    for other in (pickle.loads(pickle.dumps(rubric)), copy.deepcopy(rubric), rubric.model_copy()):
        assert other == rubric
        assert other.tree == rubric.tree
        assert other.gates.waves == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("entries", "error"),
    [
        (
            [named("runs"), named("b", "run")],
            "'b' requires 'run', and nothing has that name; did you mean 'runs'?",
        ),
        (
            [named("a"), named("b", {"criterion": "a", "label": "A"})],
            "'b' requires 'a', which has no label 'A'; allowed: 'MET', 'UNMET', 'CANNOT_ASSESS'",
        ),
        (
            [named("a", kind="scale", low=1, high=5), named("b", {"criterion": "a", "label": "6"})],
            "'b' requires 'a', which has no label '6'; allowed: whole numbers from 1 to 5",
        ),
        (
            [named("a"), named("b", {"criterion": "a", "label": "CANNOT_ASSESS"})],
            "'b' requires 'a' to be CANNOT_ASSESS, which settles nothing",
        ),
        (
            [named("a", weight=-1), named("b", "a")],
            "'b' requires 'a', a fault: say which label, such as {criterion: a, label: UNMET}",
        ),
        (
            [
                named(
                    "a", options=[{"label": "low", "value": 0.0}, {"label": "high", "value": 0.8}]
                ),
                named("b", {"criterion": "a", "at_least": 0.9}),
            ],
            "'b' requires 'a' to be at least 0.9; no answer to it is worth more than 0.8",
        ),
        (
            [{"name": "g", "criteria": [named("a")]}, named("b", "g")],
            "'b' requires the group 'g': say at_least which score",
        ),
        (
            [named("a", "c"), named("b", "a"), named("c", "b")],
            "gates go in a circle: a -> c -> b -> a",
        ),
        ([named("a", "a")], "gates go in a circle: a -> a"),
        (
            [
                named("a", {"criterion": "g", "at_least": 0.5}),
                {"name": "g", "criteria": [named("b", "a")]},
            ],
            "gates go in a circle: a -> g -> b -> a",
        ),
        (
            [{"name": "g", "requires": "b", "criteria": [named("b")]}],
            "gates go in a circle: b -> b",
        ),
        (
            [named("a"), named("b", {"criterion": "a", "lable": "A"})],
            "criterion 'b': requires[0]: unknown key 'lable': did you mean 'label'?",
        ),
        (
            [named("a"), named("b", {"criterion": "a", "at_least": 2})],
            "criterion 'b': requires[0].at_least: must be at most 1, found 2",
        ),
        (
            [named("a"), named("b", {"criterion": "a", "at_least": 0.5, "label": "MET"})],
            "criterion 'b': requires[0]: label and at_least exclude each other: give one of them",
        ),
        (
            [named("a"), named("b", 3)],
            "criterion 'b': requires: expected a criterion's name, found 3",
        ),
    ],
)
def test_a_gate_that_cannot_be_is_an_error_of_one_line(entries: list[Any], error: str) -> None:
    with pytest.raises(InputError) as found:
        Rubric.from_dict(entries)
    assert str(found.value) == error


def test_a_long_chain_of_gates_is_no_trouble() -> None:
    chain = [
        {"name": "c0", **X},
        *(named(f"c{n}", f"c{n - 1}") for n in range(1, 3000)),
    ]
    assert gated(*chain).waves["c2999"] == 2999


# What becomes of a criterion


@pytest.mark.parametrize(
    ("gate", "verdict", "status", "why"),
    [
        ("a", MET, None, ""),
        ("a", UNMET, "skipped", "not asked: it requires 'a', which is UNMET"),
        ({"criterion": "a", "label": "UNMET"}, UNMET, None, ""),
        ({"criterion": "a", "label": "UNMET"}, MET, "skipped", "which is MET"),
        ({"criterion": "a", "at_least": 0.5}, MET, None, ""),
        ({"criterion": "a", "at_least": 0.5}, UNMET, "skipped", "which is UNMET"),
        ({"criterion": "a", "at_least": 0.0}, UNMET, None, ""),
        ("a", ABSTAINED, "abstained", "it requires 'a', of which the judge could not tell"),
        ("a", FAILED, "failed", "it requires 'a': timeout: no answer within 5 s"),
        ("a", Verdict("", "skipped"), "skipped", "which was not asked"),
    ],
)
def test_what_a_gate_makes_of_what_requires_it(
    gate: Any, verdict: Verdict, status: str | None, why: str
) -> None:
    gates = gated(named("a"), named("b", gate))
    found = gates.outcome("b", {"a": verdict})
    if status is None or found is None:
        assert found is status is None
        return
    assert (found.criterion, found.status) == ("b", status)
    assert why in (found.error.message if found.error else found.reason or "")
    assert found.value is None


def test_the_best_answer_opens_a_gate_of_any_kind() -> None:
    options = [
        {"label": "poor", "value": 0.2},
        {"label": "good", "value": 0.8},
        {"label": "n/a", "na": True},
    ]
    gates = gated(named("a", options=options), named("b", "a"))
    good = Verdict("a", "judged", "good", 0.8)
    assert gates.outcome("b", {"a": good}) is None
    for other in (Verdict("a", "judged", "poor", 0.2), Verdict("a", "not_applicable", "n/a")):
        found = gates.outcome("b", {"a": other})
        assert found is not None
        assert found.reason == f"not asked: it requires 'a', which is {other.label}"


def test_of_several_gates_one_that_does_not_hold_comes_before_one_that_failed() -> None:
    gates = gated(named("a"), named("b"), named("c", ["a", "b"]))
    for a, b, status in (
        (FAILED, UNMET, "skipped"),
        (ABSTAINED, FAILED, "failed"),
        (ABSTAINED, MET, "abstained"),
    ):
        for pair in ({"a": a, "b": b}, {"a": b, "b": a}):
            found = gates.outcome("c", pair)
            assert found is not None
            assert found.status == status


def test_a_cause_comes_down_several_gates_whole() -> None:
    gates = gated(named("a"), named("b", "a"), named("c", "b"))
    first = gates.outcome("b", {"a": FAILED})
    assert first is not None
    second = gates.outcome("c", {"b": first})
    assert second is not None
    assert second.error is not None
    assert second.error.kind == "gate"
    assert second.error.message.endswith("it requires 'a': timeout: no answer within 5 s")


@pytest.mark.parametrize(
    ("verdicts", "status"),
    [
        ([MET, MET, UNMET, MET], None),
        ([MET, UNMET, UNMET, UNMET], "skipped"),
        ([MET, MET, MET, FAILED], None),  # decided whatever comes
        ([UNMET, UNMET, MET, FAILED], "skipped"),
        ([MET, MET, UNMET, FAILED], "failed"),
        ([MET, MET, UNMET, ABSTAINED], "abstained"),
        ([Verdict("", "not_applicable")] * 4, "skipped"),
    ],
)
def test_a_group_opens_a_gate_where_the_bounds_of_its_score_leave_no_doubt(
    verdicts: list[Verdict], status: str | None
) -> None:
    names = "abcd"
    gates = gated(
        {"name": "g", "criteria": [named(name) for name in names]},
        named("z", {"criterion": "g", "at_least": 0.75}),
    )
    found = gates.outcome("z", dict(zip(names, verdicts, strict=True)))
    assert (found and found.status) == status


def test_a_group_that_requires_something_requires_it_of_all_in_it() -> None:
    inner = {"name": "h", "criteria": [named("b")]}
    gates = gated(named("a"), {"name": "g", "requires": "a", "criteria": [inner]})
    assert list(gates.awaited("b")) == ["a"]
    waiting = gates.waiting()
    assert waiting.settle("b") == []
    assert waiting.settle("a") == ["b"]


# The score


def test_what_is_skipped_counts_nothing_or_is_left_out_as_declared() -> None:
    rubric = Rubric.from_yaml(
        "[{name: a, requirement: x}, {name: b, requirement: y, requires: a}, "
        "{name: c, requirement: z}]"
    )
    verdicts = [UNMET, Verdict("b", "skipped"), MET]
    for skipped, value in (("zero", 1 / 3), ("skip", 0.5)):
        declared = DeclaredScoring(skipped=skipped)
        found, _ = score_with_groups(rubric.tree, verdicts, ScoringRules(declared=declared))
        assert found.value == found.lowest == found.highest == value
        assert found.coverage == 1.0


def test_labels_score_as_the_judges_verdicts_do_whether_or_not_people_were_asked() -> None:
    rubric = Rubric.from_yaml("[{name: a, requirement: x}, {name: b, requirement: y, requires: a}]")
    dataset = RubricDataset("p", rubric)
    assert dataset.compute_weighted_score(["UNMET", "MET"]) == 0.0
    assert dataset.compute_weighted_score(["UNMET", None]) == 0.0
    assert dataset.compute_weighted_score(["MET", "MET"]) == 1.0
    gates = rubric.gates
    assert gates is not None
    assert gates.applied({"a": UNMET})["b"].status == "skipped"
    assert gates.applied({"b": MET}) == {"b": MET}
    assert gates.applied({"a": ABSTAINED, "b": MET})["b"] == MET


# Bounds: every completion of what is missing, with the gates gone through again


@st.composite
def gated_trees(draw: st.DrawFn) -> tuple[Node, ...]:
    """Trees of up to five criteria of which later ones require earlier ones or groups."""
    size = draw(st.integers(2, 5))
    weights = st.sampled_from([-1.0, 0.0, 1.0, 2.0, 3.0])
    nodes: list[Node] = []
    names: list[tuple[str, str]] = []  # and what it is
    made = 0

    def leaf(requires: list[Any]) -> Criterion:
        nonlocal made
        made += 1
        told: dict[str, Any] = {"name": f"c{made}", "weight": draw(weights), "requires": requires}
        if draw(st.booleans()):
            return Criterion(requirement="x", **told)
        options = [{"label": "low", "value": 0.4}, {"label": "high", "value": 0.6}]
        return Criterion(requirement="x", options=options, **told)

    def requires() -> list[Any]:
        found = []
        for name, kind in names:
            if draw(st.integers(0, 2)):
                continue
            given: dict[str, Any] = {"criterion": name}
            if kind == "group" or draw(st.booleans()):
                given["at_least"] = draw(st.sampled_from([0.25, 0.5, 0.6]))
            else:
                given["label"] = draw(st.sampled_from(kind.split()))
            found.append(given)
        return found

    while made < size:
        own = requires()
        if draw(st.booleans()):
            inner: list[Criterion] = []
            for _ in range(draw(st.integers(1, min(3, size - made)))):
                inner.append(leaf(requires() if draw(st.booleans()) else []))
            group = Group(
                name=f"g{len(nodes)}", weight=abs(draw(weights)), criteria=inner, requires=own
            )
            nodes.append(group)
            names += [(one.name, " ".join(one.labels[:2])) for one in inner]
            names.append((group.name, "group"))
        else:
            one = leaf(own)
            nodes.append(one)
            names.append((one.name, " ".join(one.labels[:2])))
    return tuple(nodes)


def settled(
    tree: Sequence[Node], gates: Gates, raw: Mapping[str, Verdict], declared: DeclaredScoring
) -> dict[str, Verdict]:
    """The verdicts that come of what judges would say, wave by wave."""
    found: dict[str, Verdict] = {}
    for name in sorted(gates.waves, key=gates.waves.__getitem__):
        found[name] = gates.outcome(name, found, declared) or raw[name]
    return {one.name: found[one.name] for one in leaves_of(tree)}


@PROPERTY
@given(
    gated_trees(),
    st.lists(st.sampled_from(["best", "worst", "abstained", "failed"]), min_size=5, max_size=5),
    st.sampled_from(["skip", "zero", "partial", "fail"]),
    st.sampled_from(["zero", "skip"]),
)
def test_the_bounds_hold_for_every_completion_the_gates_gone_through_again(
    tree: tuple[Node, ...], said: list[str], strategy: CannotAssess, skipped: Skipped
) -> None:
    declared, gates = DeclaredScoring(skipped=skipped), Gates(tree)
    names = [one.name for one in leaves_of(tree)]
    answers_to = {
        one.name: {
            "best": one.verdict(one.labels[0 if one.options is None else 1]),
            "worst": one.verdict(one.labels[1 if one.options is None else 0]),
            "abstained": ABSTAINED,
            "failed": FAILED,
        }
        for one in leaves_of(tree)
    }
    raw = {name: answers_to[name][word] for name, word in zip(names, said, strict=False)}
    found = settled(tree, gates, raw, declared)
    whole, groups = score_with_groups(
        tree, [*found.values()], ScoringRules(strategy, declared=declared)
    )
    counted = partial(worth, strategy=strategy, skipped=skipped)

    def values_of(verdicts: Mapping[str, Verdict]) -> dict[str, Any]:
        values: dict[str, Any] = {}
        values[""] = expected(tree, iter(verdicts.values()), counted, values)
        return values

    missing = {name for name in names if found[name].status in ("failed", "abstained")}
    stays = {name for name in missing if raw[name] == ABSTAINED}
    stays |= {name for name in missing if raw[name] == FAILED and found[name].status == "failed"}
    ways = []
    for name in names:
        answers = [*answers_to[name].values()][:3] if name in missing else []
        ways.append(answers if name in missing - stays else [raw[name], *answers])
    for completion in product(*ways):
        completed = settled(tree, gates, dict(zip(names, completion, strict=True)), declared)
        for name, value in values_of(completed).items():
            if value is None:
                continue
            score = {"": whole, **groups}[name]
            assert score.lowest is not None
            assert score.highest is not None
            assert float(score.lowest) - 1e-12 <= value <= float(score.highest) + 1e-12
    for name, value in values_of(found).items():
        assert {"": whole, **groups}[name].value == near(value)


@pytest.mark.parametrize("in_group", [False, True])
def test_what_a_gate_may_come_to_leave_out_may_leave_the_bounds_too(in_group: bool) -> None:
    options = [{"label": "low", "value": 0.4}, {"label": "high", "value": 0.6}]
    behind: Any = named("b", options=options, requires="a")
    if in_group:
        behind = {"name": "g", "criteria": [behind]}
    rubric = Rubric.from_dict([named("a", weight=0), behind, named("c")])
    verdicts = [ABSTAINED, ABSTAINED, MET]
    for skipped, highest in (("zero", 0.8), ("skip", 1.0)):
        found, _ = score_with_groups(
            rubric.tree, verdicts, ScoringRules("zero", declared=DeclaredScoring(skipped=skipped))
        )
        assert (found.lowest, found.value, found.highest) == (0.5, 0.5, highest)
