"""Judges and criteria whose code raises, or gives what is no verdict: that verdict fails alone."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

import rubricate
from rubricate import (
    Cascade,
    Criterion,
    Judge,
    Model,
    ModelJudge,
    Panel,
    PythonModel,
    Rubric,
    RubricDataset,
    RunStopped,
    Usage,
    Verdict,
)
from rubricate.judge import Completion, Explained, Prompting, Reply, Request
from rubricate.rubric import Computed, ComputedCriterion, Failure

BAD = "text 2"
MET = {"reason": "r", "evidence": [], "verdict": "MET"}


class Odd(BaseException):
    """No `Exception`."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no message")


class Wordless(Exception):
    def __str__(self) -> Any:
        return 5  # noqa: PLE0307


def endless(depth: int = 0) -> Any:
    return endless(depth + 1)


LONG = "line one\nline two \x1b[31m\u202e" + "x" * 5_000
RAISED: dict[str, Callable[[], Any]] = {
    "too deep": endless,
    "no text": b"\xff".decode,
    **{
        kind.__name__: lambda kind=kind: _raise(kind(LONG))
        for kind in (
            *(ValueError, KeyError, MemoryError, AssertionError, TimeoutError, OSError),
            *(StopIteration, StopAsyncIteration, GeneratorExit, asyncio.CancelledError, Odd),
            *(rubricate.InputError, RunStopped, SystemExit, Unprintable, Wordless),
        )
    },
}


def _raise(error: BaseException) -> None:
    raise error


class Own(Judge):
    name = "own"

    def key(self, item: Any, criterion: Any) -> Any:
        return f"own {item.submission} {criterion.name}"

    async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
        await asyncio.sleep(0)
        return Verdict(criterion.name, "judged", "MET", 1.0)


def dataset(*criteria: Criterion, items: int = 5) -> RubricDataset:
    rubric = Rubric(criteria or [Criterion(name=n, requirement=f"Is {n}") for n in "ab"])
    made = RubricDataset("p", rubric)
    for index in range(items):
        made.add_item(f"text {index} here")
    return made


def where(place: str, fail: Callable[[], Any]) -> Any:
    """A judge one of whose methods, or of what it is made of, fails on one item."""

    def check(text: object) -> None:
        if BAD in str(text):
            fail()

    class Judging(Own):
        async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            await asyncio.sleep(0)
            check(item.submission)
            return await super().judge(item, criterion, send)

    class Plain(Own):
        def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            check(item.submission)
            return Own.judge(self, item, criterion, send)

    class Keyed(Own):
        def key(self, item: Any, criterion: Any) -> Any:
            check(item.submission)
            return super().key(item, criterion)

    class Grouped(Own):
        def groups(self, criteria: Any) -> Any:
            return [list(range(len(criteria)))]

        async def judge_group(self, item: Any, criteria: Any, send: Any) -> Any:
            check(item.submission)
            return await super().judge_group(item, criteria, send)

    class Asking(Prompting):
        version = place

        def request(self, item: Any, criterion: Any) -> Request:
            if place == "request":
                check(item.submission)
            return Request(({"role": "user", "content": f"{item.submission} {criterion.name}"},))

        def read(self, completion: Any, request: Any) -> Reply:
            check(request.messages[0]["content"])
            return Reply("MET", "r", (), {})

    class Answering(Model):
        name = "answering"

        def fingerprint(self) -> dict[str, Any]:
            return {}

        async def complete(self, request: Any) -> Completion:
            check(request.messages)
            return Completion(json.dumps(MET))

    class Counting(Panel):
        def verdict(self, criterion: Any, votes: Any) -> Verdict:
            check(votes[0].reason)
            return super().verdict(criterion, votes)

    class Escalating(Cascade):
        def at_stage(self, index: int, found: Any, votes: Any) -> Verdict:
            check(found.reason)
            return super().at_stage(index, found, votes)

    def telling(messages: Any) -> dict[str, Any]:
        return {**MET, "reason": messages[-1]["content"]}

    both = [PythonModel(telling, name=name) for name in "xy"]
    found = {
        "judge": Judging,
        "plain judge": Plain,
        "key": Keyed,
        "group": Grouped,
        "request": lambda: ModelJudge(PythonModel(lambda _: MET), Asking()),
        "read": lambda: ModelJudge(PythonModel(lambda _: MET), Asking()),
        "model": Answering,
        "callable": lambda: lambda messages: check(messages) or MET,
        "votes": lambda: Counting(both),
        "stages": lambda: Escalating(both, 0.5),
    }
    return found[place]()


def statuses(result: rubricate.Result) -> list[set[str]]:
    return [{verdict.status for verdict in item.criteria.values()} for item in result.items]


PLACES = (
    *("judge", "plain judge", "key", "group", "request", "read", "model", "callable", "votes"),
    "stages",
)


@pytest.mark.parametrize("raised", RAISED)
@pytest.mark.parametrize("place", PLACES)
def test_what_a_judge_raises_fails_that_verdict_and_no_other(
    place: str, raised: str, tmp_path: Path
) -> None:
    judge = where(place, RAISED[raised])
    for turn in ("first", "resumed"):
        result = rubricate.grade(dataset(), judge, run_dir=tmp_path / "run", attempts=1)
        assert statuses(result) == [{"judged"}] * 2 + [{"failed"}] + [{"judged"}] * 2
        assert result.stopped is None
        assert turn == "first" or result.resumed >= 8  # what has failed alone is asked again
        for verdict in result.items[2].criteria.values():
            assert verdict.error is not None
            assert len(verdict.error.message) <= 400
            assert verdict.error.message.isprintable()


def test_a_judge_that_is_mended_is_asked_for_what_failed_alone(tmp_path: Path) -> None:
    broken = [True]
    asked: list[str] = []

    class Mended(Own):
        async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            asked.append(item.submission)
            if broken[0] and BAD in item.submission:
                raise KeyError("score")
            return await super().judge(item, criterion, send)

    first = rubricate.grade(dataset(), Mended(), run_dir=tmp_path)
    assert first.items[2].criteria["a"].error == Failure("judge_error", "KeyError: 'score'")
    broken[0] = False
    asked.clear()
    assert rubricate.grade(dataset(), Mended(), run_dir=tmp_path).failed == 0
    assert asked == ["text 2 here"] * 2


def test_the_log_at_debug_level_has_the_traceback(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="rubricate"):
        rubricate.grade(dataset(), where("judge", RAISED["ValueError"]))
    assert any("check(item.submission)" in (one.exc_text or "") for one in caplog.records)


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)
GIVEN: dict[str, Any] = {
    "nothing": None,
    "a text": "MET",
    "a list": [],
    "a value that is no number": math.nan,
    "an infinite value": math.inf,
    "a value above 1": 5.0,
    **{
        name: Verdict(**{"criterion": "a", "status": "judged", "label": "MET", "value": 1.0} | part)
        for name, part in {
            "a probability that is no number": {"probability": math.nan},
            "an unknown status": {"status": "fine"},
            "a skipped one": {"status": "skipped"},
            "a label of no answer": {"label": "MAYBE"},
            "a label that is no text": {"label": 1},
            "no label": {"label": None},
            "a reason that is no text": {"reason": 5},
            "evidence that is none": {"evidence": ("a quote",)},
            "no usage": {"usage": None},
            "a usage of texts": {"usage": Usage("1")},  # type: ignore[arg-type]
            "an error that is a text": {"status": "failed", "error": "boom"},
            "a detail that is no JSON": {"detail": {"x": object()}},
            "a detail in itself": {"detail": {"x": CIRCLE}},
            "another answer than its label": {"answer": "UNMET"},
            "another criterion": {"criterion": "zzz"},
            "no criterion": {"criterion": None},
            "the value of another label": {"value": 0.0},
            "a value between the labels": {"value": 0.7},
            "the value of another answer": {"value": 0.0, "answer": "MET"},
            "votes that are none": {"votes": (1,)},
        }.items()
    },
}


@pytest.mark.parametrize("given", GIVEN)
def test_what_is_no_verdict_fails_alone(given: str, tmp_path: Path) -> None:
    wrong = GIVEN[given]

    class Wrong(Own):
        async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            if BAD not in item.submission:
                return await super().judge(item, criterion, send)
            if isinstance(wrong, float):
                return Verdict(criterion.name, "judged", "MET", wrong)
            if isinstance(wrong, Verdict) and wrong.criterion == "a":
                return replace(wrong, criterion=criterion.name)
            return wrong

    for _ in range(2):
        result = rubricate.grade(dataset(), Wrong(), run_dir=tmp_path)
        assert statuses(result) == [{"judged"}] * 2 + [{"failed"}] + [{"judged"}] * 2
        for line in (tmp_path / "results.jsonl").read_text().splitlines():
            json.loads(line, parse_constant=pytest.fail)


async def _soon(verdict: Verdict) -> Verdict:
    return verdict


@pytest.mark.parametrize(
    ("own", "message"),
    [
        ({"judge": lambda self, *_: Verdict("a", "judged", "MET", 1.0)}, "Own.judge is not async"),
        (
            {"judge": lambda self, *_: _soon(Verdict("b", "judged", "MET", 1.0))},
            'Own.judge gave a verdict on "b" for the criterion "a"',
        ),
        (
            {"judge": lambda self, *_: _soon(Verdict("a", "judged", "MET", 0.0))},
            "Own.judge gave MET with the value 0; by the criterion it is 1: leave the value out",
        ),
        ({"key": lambda self, item, criterion: None}, "Own.key gave null: write def key"),
        ({"groups": lambda self, criteria: [[0, 1]], "judge_group": None}, "gave 1 for 2"),
    ],
)
def test_a_judge_that_is_written_wrongly_says_what_to_write(
    own: dict[str, Any], message: str
) -> None:
    async def one(self: Any, item: Any, criteria: Sequence[Any], send: Any) -> Any:
        return [Verdict("a", "judged", "MET", 1.0)]

    own = {name: one if method is None else method for name, method in own.items()}
    result = rubricate.grade(dataset(items=1), type("Own", (Own,), own)())
    error = result.items[0].criteria["a"].error
    assert error is not None
    assert message in error.message


@pytest.mark.parametrize("groups", [[[0]], [[0, 1], [1]], [[0, 7]], [["a"]], None, [[], [0, 1]]])
def test_criteria_that_a_judge_groups_wrongly_are_each_asked_about(groups: Any) -> None:
    judge = type("Own", (Own,), {"groups": lambda self, criteria: groups})()
    assert statuses(rubricate.grade(dataset(), judge)) == [{"judged"}] * 5


def test_a_key_may_be_made_of_any_text(tmp_path: Path) -> None:
    odd = RubricDataset("p", Rubric([Criterion(name="a", requirement="Is a")]))
    odd.add_item("half a pair: \ud800")
    odd.add_item("nothing: \0")
    for resumed in (0, 2):
        result = rubricate.grade(odd, Own(), run_dir=tmp_path)
        assert (result.failed, result.resumed) == (0, resumed)


class Graded(Criterion):
    """A criterion of a user's, whose methods raise when they are told to."""

    kind: Literal["graded"] = "graded"
    raising: str = ""

    def ask(self) -> Any:
        return endless() if self.raising == "ask" else super().ask()

    def read(self, answer: object) -> Any:
        return 1 / 0 if self.raising == "read" else super().read(answer)

    def value(self, label: str) -> float | None:
        return math.nan if self.raising == "value" else super().value(label)


class Measured(ComputedCriterion):
    kind: Literal["measured"] = "measured"
    raising: str = ""

    def compute(self, submission: str, item: object = None) -> Computed:
        if self.raising == "compute":
            raise Odd
        return Computed("MET")

    def identity(self) -> object:
        return _raise(Odd()) if self.raising == "identity" else []


@pytest.mark.parametrize(
    "criterion",
    [
        *(Graded(name="c", requirement="r", raising=one) for one in ("ask", "read", "value")),
        *(Measured(name="c", requirement="r", raising=one) for one in ("compute", "identity")),
    ],
    ids=lambda one: one.raising,
)
@pytest.mark.parametrize("judge", ["one", "grouped", "panel", "cascade"])
def test_what_a_criterion_raises_fails_its_own_verdicts(
    criterion: Any, judge: str, tmp_path: Path
) -> None:
    def reply(messages: Any) -> Any:
        count = len(re.findall(r"^Criterion \d:", messages[1]["content"], re.MULTILINE))
        return {str(n): MET for n in range(1, count + 1)} if count else MET

    models = [PythonModel(reply, name=name) for name in "xy"]
    judges = {
        "one": models[0],
        "grouped": ModelJudge(models[0], Explained(criteria_per_call="all")),
        "panel": Panel(models),
        "cascade": Cascade(models, 0.5),
    }
    neighbours = [Criterion(name=name, requirement=f"Is {name}") for name in "ab"]
    sound = criterion.model_copy(update={"raising": ""})
    for one in (criterion, sound, criterion):
        result = rubricate.grade(
            dataset(neighbours[0], one, neighbours[1]),
            judges[judge],
            run_dir=tmp_path,
            allow_code=True,
            fresh=one is sound,
        )
        is_known = result.resumed > 0 and one.raising in ("read", "compute")
        for item in result.items:
            found = {name: verdict.status for name, verdict in item.criteria.items()}
            assert {found["a"], found["b"]} == {"judged"}, item.criteria["a"].error
            assert found["c"] == ("judged" if one is sound or is_known else "failed")


@pytest.mark.parametrize("panel", [False, True])
def test_a_judge_that_always_raises_ends_a_long_run(panel: bool) -> None:
    class Broken(Own):
        async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            raise KeyError("score")

    judge: Any = Panel([Broken(), PythonModel(lambda _: MET)], min_votes=2) if panel else Broken()
    with pytest.raises(RunStopped, match=r"own raised in each of its first 100 .*: KeyError: 's"):
        rubricate.grade(dataset(items=500), judge)
    if panel:  # the other one is enough
        assert rubricate.grade(dataset(items=120), Panel([Broken(), lambda _: MET])).failed == 0
    assert rubricate.grade(dataset(items=40), Broken()).failed == 80


def test_a_judge_that_raises_on_a_hundred_texts_but_not_on_all_ends_no_run() -> None:
    class Picky(Own):
        async def judge(self, item: Any, criterion: Any, send: Any) -> Any:
            if item.submission == "text 0 here":
                return await super().judge(item, criterion, send)
            raise KeyError("score")

    assert rubricate.grade(dataset(items=200), Picky(), concurrency=1).failed == 398
