"""`deadline=` bounds one judgement with all its requests, also one that hangs."""

from __future__ import annotations

import asyncio
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


class TimeOver:
    """Puts the clock forward once a request hangs and so many other judgements are done."""

    def __init__(self, clock: Any, others: int = 0) -> None:
        self.clock, self.others = clock, others
        self.done, self.is_hanging = 0, False

    def look(self, progress: rubricate.Progress) -> None:
        self.done = max(self.done, progress.done)
        if self.is_hanging and self.done >= self.others:
            self.clock.ahead = 100.0

    def hangs(self) -> Rule:
        self.is_hanging = True
        if self.done >= self.others:
            self.clock.ahead = 100.0
        return HANG


@pytest.mark.parametrize("concurrency", [1, 16])
def test_a_judgement_whose_request_hangs_is_failed_in_time_and_alone(clock, concurrency: int):
    over = TimeOver(clock, others=3 if concurrency == 1 else 11)

    def respond(request: JudgeRequest) -> Rule:
        return over.hangs() if "text 3 ends" in request.submission else Rule(verdict="MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(
            dataset(12),
            "m",
            base_url=endpoint.url,
            deadline=60,
            concurrency=concurrency,
            on_progress=over.look,
        )
    kinds = [verdict.error and verdict.error.kind for _, verdict in result.verdicts()]
    assert kinds == [None] * 3 + ["deadline"] + [None] * 8


def test_a_python_judge_that_hangs_is_bounded_too(clock):
    over = TimeOver(clock, others=2)

    async def judge(messages: Any) -> dict[str, Any]:
        if "text 1 ends" in str(messages):
            over.hangs()
            await asyncio.Event().wait()
        return {"reason": "r", "evidence": [], "verdict": "MET"}

    result = rubricate.grade(dataset(3), judge, deadline=60, on_progress=over.look)
    assert [v.error and v.error.kind for _, v in result.verdicts()] == [None, "deadline", None]


def test_asking_again_is_within_the_deadline(clock):
    over = TimeOver(clock)

    def respond(request: JudgeRequest) -> Rule:
        again = len(request.body["messages"]) > 2
        return over.hangs() if again else Rule(reply="so so")

    with ScriptedEndpoint(respond=respond) as endpoint:
        item = rubricate.grade_one(RUBRIC, "text", judge="m", base_url=endpoint.url, deadline=60)
    error = item.criteria["a"].error
    assert error is not None
    assert "deadline" in error.kind + error.message


def test_a_batch_of_rewards_has_its_failures_in_time(clock):
    over = TimeOver(clock)

    def respond(request: JudgeRequest) -> Rule:
        return over.hangs() if "hangs" in request.submission else Rule(verdict="MET")

    options: dict[str, Any] = {"deadline": 60, "attempts": 2, "concurrency": 1}
    with (
        ScriptedEndpoint(respond=respond) as endpoint,
        RewardFunction(RUBRIC, "m", base_url=endpoint.url, **options) as reward,
    ):
        assert reward(["fine", "hangs", "fine as well"]) == [1.0, None, 1.0]


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
