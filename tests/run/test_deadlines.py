"""`deadline=` bounds one judgement with all its requests, also one that hangs."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, RunStopped
from rubricate.reward import RewardFunction
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

RUBRIC = Rubric([Criterion(name="a", requirement="Says something")])
HANG = Rule(fault="hang")


def dataset(items: int) -> RubricDataset:
    found = RubricDataset("p", RUBRIC)
    for number in range(items):
        found.add_item(f"text {number} ends", f"i{number}")
    return found


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_judgement_whose_request_hangs_is_failed_in_time_and_alone(concurrency: int):
    rules = [Rule(submission="text 3 ends", fault="hang"), Rule(verdict="MET")]
    begin = time.monotonic()
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(
            dataset(12), "m", base_url=endpoint.url, deadline=0.6, concurrency=concurrency
        )
    assert time.monotonic() - begin < 20  # the timeout is 120
    kinds = [verdict.error and verdict.error.kind for _, verdict in result.verdicts()]
    assert kinds == [None] * 3 + ["deadline"] + [None] * 8


def test_a_python_judge_that_hangs_is_bounded_too():
    async def judge(messages: Any) -> dict[str, Any]:
        if "text 1 ends" in str(messages):
            await asyncio.sleep(60)
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    begin = time.monotonic()
    result = rubricate.grade(dataset(3), judge, deadline=0.4)
    assert time.monotonic() - begin < 20
    assert [v.error and v.error.kind for _, v in result.verdicts()] == [None, "deadline", None]


def test_asking_again_is_within_the_deadline():
    def respond(request: JudgeRequest) -> Rule:
        again = len(request.body["messages"]) > 2
        return HANG if again else Rule(reply="so so")

    begin = time.monotonic()
    with ScriptedEndpoint(respond=respond) as endpoint:
        item = rubricate.grade_one(RUBRIC, "text", judge="m", base_url=endpoint.url, deadline=0.4)
    assert time.monotonic() - begin < 20
    error = item.criteria["a"].error
    assert error is not None
    assert "deadline" in error.kind + error.message


def test_a_batch_of_rewards_has_its_failures_in_time():
    rules = [Rule(submission="hangs", fault="hang"), Rule(verdict="MET")]
    begin = time.monotonic()
    with (
        ScriptedEndpoint(rules) as endpoint,
        RewardFunction(RUBRIC, "m", base_url=endpoint.url, deadline=0.5, attempts=2) as reward,
    ):
        assert reward(["fine", "hangs", "fine as well"]) == [1.0, None, 1.0]
    assert time.monotonic() - begin < 20


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_run_in_which_every_request_hangs_ends_soon(concurrency: int):
    with ScriptedEndpoint([HANG]) as endpoint:
        with pytest.raises(RunStopped, match="deadline") as stopped:
            rubricate.grade(
                dataset(60), "m", base_url=endpoint.url, deadline=0.4, concurrency=concurrency
            )
        assert len(endpoint.requests) <= max(3, concurrency)
    result = stopped.value.result
    assert result is not None
    kinds = {verdict.error.kind for _, verdict in result.verdicts() if verdict.error}
    assert kinds == {"deadline", "not_run"}
