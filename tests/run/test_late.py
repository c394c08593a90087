"""Requests that wait far longer than others: asked again, and nobody waits for the timeout."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

import rubricate
from rubricate.run.sending._latency import ENOUGH, Latencies
from rubricate.testing import Rule, ScriptedEndpoint


@pytest.mark.parametrize("fault", ["hang", "drip"])
@pytest.mark.parametrize("concurrency", [2, 16])
def test_a_call_that_is_never_answered_costs_seconds_and_no_verdict(
    make_dataset, monkeypatch, fault: Any, concurrency: int
):
    for name, value in (("SECOND_FLOOR", 0.3), ("LOST_FLOOR", 0.6)):
        monkeypatch.setattr(f"rubricate.run.sending._latency.{name}", value)
    monkeypatch.setattr("rubricate.run.sending._hedging.LOOK_EVERY", 0.1)
    rules = [Rule(submission="Answer 30:", fault=fault, times=2), Rule(verdict="MET")]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(
            make_dataset(40), "m", base_url=endpoint.url, concurrency=concurrency, deadline=100
        )
    assert result.failed == 0  # waiting for the timeout, 120 s, it would be over its deadline
    # On a busy machine others are late, too; requests are repeated for few of them.
    assert 82 <= len(endpoint.requests) <= result.usage.requests <= 82 + 8


def test_a_pause_of_the_process_is_no_lateness_of_the_endpoint(make_dataset, monkeypatch):
    for name, value in (("SECOND_FLOOR", 0.3), ("LOST_FLOOR", 0.6)):
        monkeypatch.setattr(f"rubricate.run.sending._latency.{name}", value)

    async def graded() -> rubricate.Result:
        grading = asyncio.create_task(
            rubricate.agrade(make_dataset(40), "m", base_url=endpoint.url, concurrency=8)
        )
        while len(endpoint.requests) < 60:  # noqa: ASYNC110 - they come in another thread
            await asyncio.sleep(0.01)
        time.sleep(1.5)  # noqa: ASYNC251 - nothing of this loop runs meanwhile
        return await grading

    with ScriptedEndpoint([Rule(verdict="MET", delay=0.05)]) as endpoint:
        result = asyncio.run(graded())
    assert result.failed == 0
    assert len(endpoint.requests) == result.usage.requests == 80


def test_what_is_late_follows_the_latencies_and_is_bounded_in_number():
    latencies = Latencies()
    for _ in range(ENOUGH - 1):
        latencies.add(2.0)
    assert latencies.second_after is latencies.lost_after is None
    latencies.add(2.0)
    assert (latencies.second_after, latencies.lost_after) == (8.0, 20.0)
    spent = 0
    while latencies.spend():
        spent += 1
    assert spent == 5
    for _ in range(100):
        latencies.add(0.01)
        spent += latencies.spend()
    assert spent <= 5 + 0.05 * 100
