"""The machine of items by tables: the plan and the answers so far give the next calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from rubricate import (
    Cascade,
    Criterion,
    DataItem,
    Panel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    Verdict,
)
from rubricate.dataset import Item
from rubricate.judge import Judge, Send
from rubricate.rubric import Failure
from rubricate.run import Progress, RunOptions
from rubricate.run._plan import Plan
from rubricate.run.items import Call, ItemMachine, JudgedItem, Stages
from rubricate.run.journal import Known, record_of


class Table(Judge):
    """A judge that is never asked: the table has its answers.

    Args:
        name: what it is called.
        group: whether all criteria are asked about at once.
        key: what its keys begin with. Default: its name.
    """

    def __init__(self, name: str, *, group: bool = False, key: str | None = None) -> None:
        self.name = name
        self._group = group
        self._key = key or name

    def key(self, item: Item, criterion: Criterion) -> str:
        return f"{self._key}-{criterion.name}"

    def groups(self, criteria: Sequence[Criterion]) -> list[list[int]]:
        indexes = list(range(len(criteria)))
        return [indexes] if self._group else [[index] for index in indexes]

    async def judge(self, item: Item, criterion: Criterion, send: Send) -> Verdict:
        raise AssertionError("the machine asks nobody")


def rubric(*names: str, **requires: str) -> Rubric:
    """Criteria by name; a keyword is one that requires another to be met."""
    criteria: list[Criterion] = [Criterion(name=name, requirement=f"Is {name}") for name in names]
    criteria += [
        Criterion(name=name, requirement=f"Is {name}", requires=required)
        for name, required in requires.items()
    ]
    return Rubric(criteria)


ONE = Table("a")
TWO = Panel([Table("a"), Table("b")])
SAME = Panel([Table("a", key="k"), Table("b", key="k")])
TOGETHER = Table("a", group=True)
FIRST_SURE = Cascade([Table("a"), Table("b")], 0.8)
STEPS: dict[str, tuple[Judge, Rubric, list[tuple[str, str]], dict[str, str]]] = {
    # the judge, the rubric, (what is asked, its answers) in turn, and the verdicts
    "each criterion is a call": (
        ONE, rubric("x", "y"), [("a:x a:y", "MET UNMET")], {"x": "MET", "y": "UNMET"},
    ),
    "criteria that go together are one call": (
        TOGETHER, rubric("x", "y"), [("a:x+y", "MET UNMET")], {"x": "MET", "y": "UNMET"},
    ),
    "a failure is a verdict": (ONE, rubric("x"), [("a:x", "failed")], {"x": "failed"}),
    "each member of a panel votes": (
        TWO, rubric("x"), [("a:x b:x", "MET MET")], {"x": "MET"},
    ),
    "two who would be asked the same are asked once": (
        SAME, rubric("x"), [("a:x", "MET")], {"x": "MET"},
    ),
    "a gate that holds brings the criterion behind it": (
        ONE, rubric("x", y="x"), [("a:x", "MET"), ("a:y", "UNMET")], {"x": "MET", "y": "UNMET"},
    ),
    "a gate that does not hold asks nothing more": (
        ONE, rubric("x", y="x"), [("a:x", "UNMET")], {"x": "UNMET", "y": "skipped"},
    ),
    "a gate whose answer is missing fails nothing silently": (
        ONE, rubric("x", y="x"), [("a:x", "failed")], {"x": "failed", "y": "failed"},
    ),
    "a cascade ends with a verdict that is sure": (
        FIRST_SURE, rubric("x"), [("a:x", "MET@0.9")], {"x": "MET"},
    ),
    "a cascade passes on a verdict that is not": (
        FIRST_SURE, rubric("x", "y"), [("a:x a:y", "MET@0.9 MET@0.6"), ("b:y", "UNMET")],
        {"x": "MET", "y": "UNMET"},
    ),
}  # fmt: skip


def machine_of(
    judge: Judge, criteria: Rubric, **options: Any
) -> tuple[ItemMachine, Progress, JudgedItem, list[Call]]:
    """A machine, and its only item with the first calls."""
    plan = Plan(RubricDataset("prompt", criteria, [DataItem("text")]), RunOptions())
    stages = Stages(judge, plan)
    progress = Progress(total=stages.judgements)
    machine = ItemMachine(stages, progress, **options)
    (item,) = plan
    return machine, progress, *machine.start(item, 0)


def written(calls: Sequence[Call]) -> str:
    """Calls as the tables have them: `a:x+y` asks a about x and y."""
    return " ".join(
        f"{call.judge.name}:{'+'.join(question.criterion.name for question in call.questions)}"
        for call in calls
    )


def verdict_of(criterion: str, answer: str) -> Verdict:
    """`MET`, `MET@0.9` with a probability, or `failed`."""
    if answer == "failed":
        return Verdict(criterion, "failed", error=Failure("server", "HTTP 500"))
    label, _, sure = answer.partition("@")
    value = float(label == "MET")
    return Verdict(criterion, "judged", label, value, float(sure) if sure else None)


def results(item: JudgedItem) -> dict[str, str]:
    return {
        name: verdict.label or verdict.status for name, verdict in sorted(item.verdicts.items())
    }


@pytest.mark.parametrize(("judge", "criteria", "steps", "verdicts"), STEPS.values(), ids=STEPS)
def test_answers_bring_the_next_calls_and_in_the_end_the_verdicts(
    judge: Judge, criteria: Rubric, steps: list[tuple[str, str]], verdicts: dict[str, str]
):
    machine, progress, item, calls = machine_of(judge, criteria)
    for asked, answers in steps:
        assert written(calls) == asked
        assert not item.is_complete
        remaining = iter(answers.split())
        for call in calls:
            names = [question.criterion.name for question in call.questions]
            machine.take(item, call, [verdict_of(name, next(remaining)) for name in names])
        calls = machine.next_calls(item)
    assert not calls
    assert item.is_complete
    assert results(item) == verdicts
    assert progress.done == progress.total


STORED: dict[str, tuple[bool, dict[str, str], str, dict[str, str]]] = {
    # only what failed, what is stored, what is asked, and the verdicts that are there at once
    "nothing is stored": (False, {}, "a:x a:y", {}),
    "what is stored is not asked again": (False, {"x": "MET"}, "a:y", {"x": "MET"}),
    "all is stored": (False, {"x": "MET", "y": "UNMET"}, "", {"x": "MET", "y": "UNMET"}),
    "what failed is asked again": (False, {"x": "failed", "y": "MET"}, "a:x", {"y": "MET"}),
    "only what failed is": (True, {"x": "failed"}, "a:x", {"y": "not_run"}),
}


@pytest.mark.parametrize(
    ("only_failed", "stored", "asked", "verdicts"), STORED.values(), ids=STORED
)
def test_stored_answers_leave_the_other_calls(
    only_failed: bool, stored: dict[str, str], asked: str, verdicts: dict[str, str]
):
    machine, _, item, calls = machine_of(Table("a"), rubric("x", "y"), only_failed=only_failed)
    records = {f"a-{name}": record_of(verdict_of(name, answer)) for name, answer in stored.items()}
    assert written(machine.take_known(item, calls, Known(records))) == asked
    assert results(item) == verdicts


def test_the_first_call_to_a_judge_leads_and_the_others_follow():
    _, _, item, calls = machine_of(Table("a"), rubric("x", "y", "z"))
    assert written(item.lead(calls)) == "a:x"
    assert item.leads(calls[0])
    assert written(item.follow(calls[0])) == "a:y a:z"


def test_what_a_run_that_ends_has_not_judged_is_not_run_and_says_so():
    machine, _, item, calls = machine_of(Table("a"), rubric("x", "y"))
    machine.take(item, calls[0], [verdict_of("x", "MET")])
    assert machine.end(item) == 1
    assert results(item) == {"x": "MET", "y": "not_run"}
    error = item.verdicts["y"].error
    assert error is not None
    assert error.kind == "not_run"


def test_what_is_computed_asks_no_judge():
    criteria = Rubric([RegexCriterion(name="x", pattern="t")])
    _, _, _, calls = machine_of(Table("a"), criteria)
    assert written(calls) == "code:x"
    assert not calls[0].needs_judge
