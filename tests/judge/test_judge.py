"""Judges: one class, by whose stages and members a run asks; ways of asking are values."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    DataItem,
    InputError,
    Judge,
    Model,
    ModelJudge,
    Panel,
    PythonModel,
    RegexCriterion,
    Rubric,
    RubricDataset,
    Verdict,
)
from rubricate.dataset import Item
from rubricate.judge import Completion, Explained, Message, Prompting, Request

SPEED = Criterion(name="speed", requirement="Gives the speed of light")
DIGITS = RegexCriterion(name="digits", pattern=r"\d{6}")


def dataset(*criteria: Criterion) -> RubricDataset:
    return RubricDataset("How fast?", Rubric(criteria), [DataItem("300000 km/s")])


class Says(Judge):
    """Says MET, or what it is told to."""

    def __init__(self, name: str, label: str = "MET") -> None:
        self.name = name
        self._label = label

    def key(self, item: Item, criterion: Criterion) -> str:
        return f"{self.name} {item.submission} {criterion.requirement}"

    async def judge(self, item: Item, criterion: Criterion, send: Any) -> Verdict:
        value = float(self._label == "MET")
        return Verdict(criterion.name, "judged", self._label, value, judge=self.name)


def test_what_is_no_judge_is_refused_with_what_to_derive_from() -> None:
    class Alike:
        name, note, endpoint = "alike", None, "alike"

        def fingerprint(self) -> dict[str, Any]:
            return {}

    with pytest.raises(InputError, match="not a judge: Alike; one of your own derives from Judge"):
        rubricate.grade(dataset(SPEED), Alike())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="not a model: Alike; one of your own derives from Model"):
        ModelJudge(Alike())  # type: ignore[arg-type]
    with pytest.raises(InputError, match="a callable is wrapped in PythonModel"):
        ModelJudge(len)  # type: ignore[arg-type]


def test_every_judge_has_stages_and_members() -> None:
    one, other = Says("a"), Says("b")
    panel, cascade = Panel([one, other], replicates=2), Cascade([one, other], 0.5)
    assert [(m.judge, m.name, m.suffix) for m in one.members] == [(one, "a", "")]
    assert [m.name for m in panel.members] == ["a", "a #2", "b", "b #2"]
    assert [m.suffix for m in panel.members] == ["", "-r2", "", "-r2"]
    assert [len(judge.stages) for judge in (one, panel, cascade)] == [1, 1, 2]
    assert [stage.threshold for stage in cascade.stages] == [0.5, None]
    assert (one.voters, cascade.voters) == ((), ("a", "b"))


def test_judges_of_several_are_not_put_into_each_other_unseen() -> None:
    panel, cascade = Panel([Says("a"), Says("b")]), Cascade([Says("a"), Says("b")], 0.5)
    with pytest.raises(InputError, match=r"a \+ b is several judges"):
        Panel([panel, Says("c")])
    with pytest.raises(InputError, match="a cascade in a cascade"):
        Cascade([cascade, Says("c")], 0.5)
    result = rubricate.grade(dataset(SPEED), Cascade([panel, Says("c")], 0.5))
    assert result.items[0].criteria["speed"].stage == 1


def test_what_is_computed_asks_no_judge_and_names_none() -> None:
    judge = Says("a")
    result = rubricate.grade(dataset(DIGITS), judge)
    assert result.items[0].criteria["digits"].judge == "code"
    assert (result.summary().judge, judge.name) == ("code", "a")
    result = rubricate.grade(dataset(DIGITS, SPEED), judge)
    assert [v.judge for v in result.items[0].criteria.values()] == ["code", "a"]
    assert (result.summary().judge, judge.name) == ("a", "a")


def test_a_panel_is_attacked_as_any_judge() -> None:
    report = rubricate.redteam(Panel([Says("a"), Says("b"), Says("c", "UNMET")]), limit=1)
    assert report.judge == "a + b + c"


def test_a_panel_that_reads_in_parts_is_another_with_another_budget() -> None:
    def panel(tokens: int) -> str | None:
        asked = rubricate.judge.DocumentJudge(ModelJudge(MODEL), chunk_tokens=tokens)
        return Panel([asked, Says("a")]).fingerprint()

    assert panel(200) == panel(200) != panel(300)


MODEL = PythonModel(lambda messages: json.dumps({"score": 7}), name="m")


@dataclass(frozen=True)
class Score(Prompting):
    """Asks for a score of 10."""

    least: int
    form = '{"score": ...}'
    version = "score-1"

    def request(self, item: Item, criterion: Criterion) -> Request:
        text = f"{item.submission}\n{criterion.requirement}\nWhat of 10?"
        return Request((Message(role="user", content=text),), None)

    def read(self, completion: Any, request: Request) -> Any:
        score = json.loads(completion.text)["score"]
        return rubricate.judge.Reply("MET" if score >= self.least else "UNMET", None, (), {})


@pytest.mark.parametrize(("least", "label"), [(5, "MET"), (8, "UNMET")])
def test_a_way_of_asking_of_ones_own_is_a_value(least: int, label: str, tmp_path: Any) -> None:
    judge = ModelJudge(MODEL, Score(least))
    result = rubricate.grade(dataset(SPEED), judge, run_dir=tmp_path)
    assert result.items[0].criteria["speed"].label == label
    assert judge.prompt_version == "score-1"
    item = Item("300000 km/s")
    assert judge.key(item, SPEED) != ModelJudge(MODEL).key(item, SPEED)
    with pytest.raises(InputError, match="permutations are for a language model"):
        Panel([judge], permutations=2)


@pytest.mark.parametrize("way", [{"states_confidence": True}, {"fenced": False}])
def test_a_way_refuses_what_it_cannot_do_at_once(way: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="for one criterion a request"):
        Explained(criteria_per_call=2, **way)


class Whole(Judge):
    name = "whole"

    def key(self, item: Any, criterion: Any) -> Any:
        return f"whole {item.submission}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
        return Verdict(criterion.name, "judged", "MET", 1.0)


class WholeModel(Model):
    name = "whole"

    def fingerprint(self) -> dict[str, Any]:
        return {}

    async def complete(self, request: Request) -> Any:
        return Completion('{"reason": "r", "verdict": "MET"}')


async def _asynchronous(self: Any, item: Any, criterion: Any) -> str:
    return "key"


async def _no_verdict(self: Any, item: Any, criterion: Any, send: Any) -> Any:
    return "MET"


async def _other_arguments(self: Any, item: Any) -> Any:
    return None


def _plain(self: Any, item: Any, criterion: Any, send: Any) -> Any:
    return Verdict(criterion.name, "judged", "MET", 1.0)


@pytest.mark.parametrize(
    ("base", "own", "problem"),
    [
        (Judge, {"name": "own", "judge": Whole.judge}, r"Own lacks a method: write def key\(self"),
        (Judge, {"name": "own", "key": Whole.key}, "Own lacks a method: write async def judge"),
        (Judge, {"key": Whole.key, "judge": Whole.judge}, 'Own has no name: write name = "'),
        (Whole, {"judge": _other_arguments}, "Own.judge takes other arguments: write async def"),
        (Whole, {"key": _asynchronous}, "Own.key must not be async: write def key"),
        (
            Model,
            {"name": "own", "complete": WholeModel.complete},
            "Own lacks a method: write def f",
        ),
        (Model, {"name": "own", "fingerprint": WholeModel.fingerprint}, "write async def complete"),
        (WholeModel, {"name": None}, "Own has no name"),
    ],
)
def test_what_a_judge_of_ones_own_lacks_is_told_in_one_line(
    base: type, own: dict[str, Any], problem: str
) -> None:
    rubric = Rubric([Criterion(name="a", requirement="Is a"), Criterion(requirement="Is b")])
    dataset = RubricDataset("p", rubric)
    dataset.add_item("text")
    assert rubricate.grade(dataset, Whole()).failed == 0
    assert rubricate.grade(dataset, WholeModel()).failed == 0
    made = type("Own", (base,), own)
    for judge in (made(), [made(), WholeModel()]):
        with pytest.raises(InputError, match=problem) as caught:
            rubricate.grade(dataset, judge)
        assert len(str(caught.value).splitlines()) == 1
    with pytest.raises(InputError, match=r"Own is a class: pass an instance, Own\(\)"):
        rubricate.grade(dataset, made)
