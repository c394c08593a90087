"""Criteria that need no judge: answered by code, under a time limit, and never guessed at."""

from __future__ import annotations

import asyncio
import functools
import threading
from typing import Any

import pytest

import rubricate
from rubricate import (
    CodeCriterion,
    Criterion,
    DataItem,
    RegexCriterion,
    Rubric,
    RubricDataset,
    Verdict,
)


def judged(criterion: Criterion, submission: str = "a text", **item: Any) -> Verdict:
    dataset = RubricDataset("p", Rubric([criterion]), [DataItem(submission, **item)])
    result = rubricate.grade(dataset)
    return next(iter(result.items[0].criteria.values()))


def code(function: Any, **fields: Any) -> CodeCriterion:
    return CodeCriterion(name="c", function=function, **fields)


def _leaves(submission: str, item: DataItem) -> bool:
    raise SystemExit(3)


async def _leaves_later(submission: str, item: DataItem) -> bool:
    raise SystemExit(3)


async def _cancels(submission: str, item: DataItem) -> bool:
    raise asyncio.CancelledError


def _times_out(submission: str, item: DataItem) -> bool:
    raise TimeoutError("the service did not answer")


@pytest.mark.parametrize(
    ("given", "status", "label", "value"),
    [
        (True, "judged", "MET", 1.0),
        (False, "judged", "UNMET", 0.0),
        (0.25, "judged", "0.25", 0.25),
        (1, "judged", "1.0", 1.0),
        ("MET", "judged", "MET", 1.0),
        (None, "abstained", "CANNOT_ASSESS", None),
    ],
)
def test_what_a_callable_gives_is_the_verdict(
    given: Any, status: str, label: str, value: float | None
) -> None:
    verdict = judged(code(lambda submission, item: given))
    assert (verdict.status, verdict.label, verdict.value) == (status, label, value)
    assert verdict.judge == "code"
    assert verdict.usage.requests == 0


def test_numbers_and_truths_of_numpy_are_understood() -> None:
    numpy = pytest.importorskip("numpy")
    assert judged(code(lambda s, i: numpy.float64(0.5))).value == 0.5
    assert judged(code(lambda s, i: numpy.bool_(True))).label == "MET"


def test_a_callable_may_be_async_and_sees_the_item() -> None:
    async def check(submission: str, item: DataItem) -> bool:
        await asyncio.sleep(0)
        return submission == "five" and item.metadata["length"] == 4

    assert judged(code(check), "five", metadata={"length": 4}).label == "MET"


def test_a_callable_may_give_a_whole_verdict() -> None:
    def check(submission: str, item: DataItem) -> Verdict:
        return Verdict("any", "judged", value=0.5, reason="half of it")

    verdict = judged(code(check))
    assert (verdict.criterion, verdict.value, verdict.reason) == ("c", 0.5, "half of it")


def test_a_callable_may_say_that_its_criterion_does_not_apply(tmp_path: Any) -> None:
    def check(submission: str, item: DataItem) -> Verdict:
        return Verdict("", "not_applicable", reason="no code in it")

    dataset = RubricDataset("p", Rubric([code(check)]), [DataItem("a text")])
    for resumed in (False, True):
        result = rubricate.grade(dataset, run_dir=tmp_path / "run")
        verdict = result.items[0].criteria["c"]
        assert (verdict.status, verdict.value, verdict.resumed) == ("not_applicable", None, resumed)
        assert verdict.reason == "no code in it"


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (lambda s, i: 1 / 0, "code_error", "ZeroDivisionError: division by zero"),
        (_leaves, "code_error", "SystemExit: 3"),
        (_leaves_later, "code_error", "SystemExit: 3"),
        (_cancels, "code_error", "CancelledError"),
        (_times_out, "code_error", "TimeoutError: the service did not answer"),
        (lambda s, i: Verdict("", "failed"), "code_error", "the function gave a failed verdict"),
        (lambda s, i: 1.5, "unusable_answer", "the function gave 1.5, not True"),
        (lambda s, i: [True], "unusable_answer", "the function gave"),
        (
            lambda s, i: Verdict("", "judged", "MET", 0.3),
            "unusable_answer",
            "the label MET and the value 0.3; give one of them",
        ),
        (lambda s, i: next(iter([])), "code_error", "StopIteration"),
        (lambda s, i: float("nan"), "unusable_answer", "the function gave nan"),
    ],
)
def test_whatever_is_no_usable_answer_or_raised_is_a_failed_verdict(
    function: Any, kind: str, message: str
) -> None:
    verdict = judged_with_failures(code(function))
    assert (verdict.status, verdict.value) == ("failed", None)
    assert verdict.error is not None
    assert verdict.error.kind == kind
    assert message in verdict.error.message


def judged_with_failures(criterion: Criterion, submission: str = "a text") -> Verdict:
    result = rubricate.grade_one(Rubric([criterion]), submission)
    return result.criteria["c"]


def test_a_callable_that_does_not_end_fails_at_its_time_limit() -> None:
    released, ended = threading.Event(), []

    async def slow(submission: str, item: DataItem) -> bool:
        await asyncio.sleep(60)
        ended.append("async")
        return True

    def slow_too(submission: str, item: DataItem) -> bool:
        released.wait(60)
        ended.append("plain")
        return True

    for function in (slow, slow_too):
        verdict = judged_with_failures(code(function, time_limit=0.1))
        assert verdict.error is not None
        assert verdict.error.kind == "time_limit"
    assert ended == []
    released.set()


def test_a_catastrophic_pattern_fails_and_does_not_hold_up_others() -> None:
    slow = RegexCriterion(name="c", pattern=r"^(a|a)*$")
    quick = RegexCriterion(name="quick", pattern="c$")
    dataset = RubricDataset("p", Rubric([slow, quick]), [DataItem("a" * 40 + "!c")])
    item = rubricate.grade(dataset).items[0]  # the pattern would take years
    assert item.criteria["c"].status == "failed"
    assert item.criteria["c"].error is not None
    assert item.criteria["c"].error.kind == "time_limit"
    assert item.criteria["quick"].label == "MET"


def test_answers_of_code_are_resumed_until_code_or_text_changes(tmp_path: Any) -> None:
    log = tmp_path / "calls"

    def first(submission: str, item: DataItem) -> bool:
        with log.open("a") as file:
            file.write(submission)
        return True

    def second(submission: str, item: DataItem) -> bool:
        with log.open("a") as file:
            file.write(submission)
        return False

    def run(function: Any, texts: list[str]) -> list[str | None]:
        dataset = RubricDataset("p", Rubric([code(function)]), [DataItem(text) for text in texts])
        result = rubricate.grade(dataset, run_dir=tmp_path / "run")
        return [verdict.label for _, verdict in result.verdicts()]

    assert run(first, ["a", "b"]) == ["MET", "MET"]
    assert run(first, ["a", "b", "c"]) == ["MET"] * 3
    assert sorted(log.read_text()) == ["a", "b", "c"]
    assert run(second, ["a"]) == ["UNMET"]
    assert len(log.read_text()) == 4


def test_a_metric_is_counted_again_from_the_journal(tmp_path: Any) -> None:
    requests: list[Any] = []

    def model(messages: Any) -> dict[str, Any]:
        requests.append(messages)
        entries = [
            {"item": item, "classified": "positive", "quote": "a text"} for item in ("a", "b", "c")
        ]
        return {"reason": "", "evidence": [], "verdict": {"items": entries, "others": []}}

    def run(**fields: Any) -> Verdict:
        rubric = Rubric.from_dict([{"name": "m", "requirement": "x", "kind": "metric", **fields}])
        dataset = RubricDataset("p", rubric, [DataItem("a text")])
        result = rubricate.grade(dataset, model, run_dir=tmp_path / "run")
        return result.items[0].criteria["m"]

    verdict = run(tp_instructions=["a", "b", "c"])
    assert (verdict.label, verdict.value) == ("tp 3, fp 0, tn 0, fn 0", 1.0)
    assert [evidence.quote for evidence in verdict.evidence] == ["a text"]
    again = run(tp_instructions=["a"], fp_instructions=["b", "c"], metrics=["precision", "recall"])
    assert again.label == "tp 1, fp 2, tn 0, fn 0"
    assert again.resumed
    assert again.detail is not None
    assert again.detail["expected_fp"] == ["b", "c"]
    assert len(requests) == 1


def _at_most(count: int, submission: str, item: DataItem) -> bool:
    return len(submission.split()) <= count


def _closure(count: int) -> Any:
    def check(submission: str, item: DataItem) -> bool:
        return len(submission.split()) <= count

    return check


class _AtMost:
    def __init__(self, count: int) -> None:
        self.count = count

    def __call__(self, submission: str, item: DataItem) -> bool:
        return len(submission.split()) <= self.count

    def check(self, submission: str, item: DataItem) -> bool:
        return self(submission, item)


@pytest.mark.parametrize(
    "made",
    [
        _closure,
        _AtMost,
        lambda count: _AtMost(count).check,
        lambda count: functools.partial(_at_most, count),
        lambda count: lambda s, i, most=count: len(s.split()) <= most,
    ],
)
def test_one_function_with_another_value_is_not_answered_from_the_journal(
    made: Any, tmp_path: Any
) -> None:
    def run(count: int) -> Verdict:
        dataset = RubricDataset("p", Rubric([code(made(count))]), [DataItem("one two three")])
        return rubricate.grade(dataset, run_dir=tmp_path / "run").items[0].criteria["c"]

    assert run(2).label == "UNMET"
    assert run(3).label == "MET"
    again = run(2)
    assert (again.label, again.resumed) == ("UNMET", True)


def test_a_constant_or_function_that_code_names_is_part_of_it(tmp_path: Any) -> None:
    def run(text: str) -> str | None:
        names: dict[str, Any] = {"__name__": "made"}
        exec(text, names)
        dataset = RubricDataset("p", Rubric([code(names["check"])]), [DataItem("one two")])
        return rubricate.grade(dataset, run_dir=tmp_path / "run").items[0].criteria["c"].label

    text = "MOST = 1\ndef count(s): return len(s.split())\ndef check(s, i): return count(s) <= MOST"
    assert run(text) == "UNMET"
    assert run(text.replace("MOST = 1", "MOST = 2")) == "MET"
    assert run(text.replace("len(s.split())", "0")) == "MET"
