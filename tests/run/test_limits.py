"""How an endpoint's limits are kept: those given, and those learnt from its answers."""

from __future__ import annotations

import asyncio
import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import pytest

import rubricate
from rubricate import PythonModel, Usage
from rubricate.errors import ModelError
from rubricate.judge import Completion, Quota
from rubricate.run import Limits, Retries
from rubricate.run.sending._adaptive_rate import AdaptiveRate
from rubricate.run.sending._limiter import Limiter, limiter_of
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

ANSWER = '{"reason": "r", "evidence": [], "verdict": "MET"}'


def test_a_pause_holds_back_all_and_can_grow():
    async def main() -> list[float]:
        limiter = Limiter(Limits(concurrency=4))
        begin = time.monotonic()
        passed: list[float] = []

        async def send() -> None:
            await limiter.acquire()
            passed.append(time.monotonic() - begin)
            limiter.release()

        limiter.rate.outage.pause(time.monotonic(), 0.05)
        tasks = [asyncio.create_task(send()) for _ in range(4)]
        await asyncio.sleep(0)  # they wait now; a longer sleep could outlast the pause
        limiter.rate.outage.pause(time.monotonic(), 0.1)
        limiter.rate.outage.pause(time.monotonic(), 0.01)
        await asyncio.gather(*tasks)
        return passed

    passed = asyncio.run(main())
    assert len(passed) == 4
    assert min(passed) >= 0.1


def test_a_slot_is_free_again_after_a_cancelled_wait():
    async def main() -> None:
        limiter = Limiter(Limits(concurrency=1))
        await limiter.acquire()
        waiting = [asyncio.create_task(limiter.acquire()) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()  # while it waits
        limiter.release()
        waiting[1].cancel()  # when it has just been let through
        await asyncio.gather(*waiting[:2], return_exceptions=True)
        async with asyncio.timeout(5):
            await waiting[2]
        limiter.release()
        assert limiter.has_room

    asyncio.run(main())


def test_who_stops_asking_does_not_wait_for_the_end_of_a_pause():
    async def main() -> tuple[list[bool], bool]:
        limiter, one, other = Limiter(Limits(concurrency=8)), object(), object()
        limiter.rate.outage.pause(time.monotonic(), 60.0)
        waiting = [asyncio.create_task(limiter.acquire(0.0, one)) for _ in range(3)]
        stays = asyncio.create_task(limiter.acquire(0.0, other))
        await asyncio.sleep(0)
        limiter.send_away(one)
        async with asyncio.timeout(5):
            let_through = await asyncio.gather(*waiting)
        stays.cancel()
        return let_through, stays.done()

    assert asyncio.run(main()) == ([False] * 3, False)


@pytest.mark.parametrize("beside", ["in one loop", "in threads of their own"])
def test_runs_of_one_process_share_the_limits_of_an_endpoint(make_dataset, beside: str):
    lock = threading.Lock()
    in_flight = most = 0

    async def judge(messages: Any) -> str:
        nonlocal in_flight, most
        with lock:
            in_flight += 1
            most = max(most, in_flight)
        await asyncio.sleep(0.01)
        with lock:
            in_flight -= 1
        return ANSWER

    async def together() -> list[rubricate.Result]:
        runs = [rubricate.agrade(make_dataset(8), model, concurrency=3) for _ in range(3)]
        found = await asyncio.gather(*runs)
        assert not limiter_of(model.endpoint).rate.is_joined  # all have left
        return found

    model = PythonModel(judge)
    if beside == "in one loop":
        results = asyncio.run(together())
    else:
        with ThreadPoolExecutor(3) as threads:
            runs = [
                threads.submit(rubricate.grade, make_dataset(8), model, concurrency=3)
                for _ in range(3)
            ]
            results = [run.result(timeout=60) for run in runs]
    assert [result.calls for result in results] == [8 * 2] * 3
    assert most == 3


def test_a_request_that_waits_in_one_loop_is_let_through_by_another():
    limiter, order = Limiter(Limits(concurrency=1)), []
    waits = threading.Event()

    async def first() -> None:
        await limiter.acquire()
        await asyncio.to_thread(waits.wait, 10)
        order.append("first")
        limiter.release()

    async def second() -> None:
        asking = asyncio.create_task(limiter.acquire())
        await asyncio.sleep(0)
        waits.set()
        async with asyncio.timeout(10):
            await asking
        order.append("second")
        limiter.release()

    with ThreadPoolExecutor(2) as threads:
        one = threads.submit(asyncio.run, first())
        while limiter.has_room:
            time.sleep(0.001)
        other = threads.submit(asyncio.run, second())
        one.result(timeout=20)
        other.result(timeout=20)
    assert order == ["first", "second"]


def test_a_pause_ends_for_those_in_another_loop_too():
    limiter = Limiter(Limits(concurrency=2))
    limiter.rate.outage.pause(time.monotonic(), 0.2)

    async def ask() -> bool:
        async with asyncio.timeout(10):
            return await limiter.acquire()

    with ThreadPoolExecutor(2) as threads:
        asking = [threads.submit(asyncio.run, ask()) for _ in range(2)]
        assert [one.result(timeout=20) for one in asking] == [True, True]


def test_what_was_learnt_goes_with_the_last_loop_that_asked():
    async def look() -> Limiter:
        assert limiter_of("an endpoint") is limiter_of("an endpoint")
        return limiter_of("an endpoint")

    assert asyncio.run(look()) is not asyncio.run(look())


def limited_model(rate: float, answered: list[float], refused: list[float]) -> PythonModel:
    """A model that lets a tenth of a second's worth of requests through, then `rate` a second."""
    begin = time.monotonic()

    async def judge(messages: Any) -> str:
        now = time.monotonic()
        if len(answered) >= 0.1 * rate + (now - begin) * rate:
            refused.append(now)
            raise ModelError("rate_limit", "HTTP 429", retry_after=0.05)
        answered.append(now)
        await asyncio.sleep(0.002)
        return ANSWER

    return PythonModel(judge)


def test_the_pace_that_a_key_allows_is_learnt_from_its_refusals(make_dataset):
    answered: list[float] = []
    refused: list[float] = []
    result = rubricate.grade(make_dataset(300), limited_model(200.0, answered, refused))
    assert result.failed == 0
    assert len(answered) == 600
    assert len(refused) <= 0.06 * 600
    settled = answered[300]
    assert sum(moment > settled for moment in refused) <= 0.02 * 300


def test_refusals_that_do_not_depend_on_the_pace_do_not_slow_a_run_down(make_dataset):
    asked = 0

    async def judge(messages: Any) -> str:
        nonlocal asked
        asked += 1
        if asked % 10 == 0:
            raise ModelError("rate_limit", "HTTP 429", retry_after=0.01)
        return ANSWER

    begin = time.monotonic()
    result = rubricate.grade(make_dataset(300), judge)
    assert result.failed == 0
    assert asked == 666
    assert time.monotonic() - begin < 30  # about 2 s; at the pace between refusals, for ever


@pytest.mark.parametrize(("share", "wait"), [(0.04, None), (0.1, "0.1")])
def test_isolated_refusals_that_no_rate_explains_slow_nothing_down(make_dataset, share, wait):
    seen: Counter[str] = Counter()
    chance = random.Random(0)

    def respond(request: JudgeRequest) -> Rule:
        pair = f"{request.submission}/{request.criterion}"
        seen[pair] += 1
        if seen[pair] == 1 and chance.random() < share:
            return Rule(status=429, headers={"Retry-After": wait} if wait else {})
        return Rule(verdict="MET", delay=0.005)

    learnt: list[bool] = []
    with ScriptedEndpoint(respond=respond) as endpoint:

        async def main() -> rubricate.Result:
            limiter = limiter_of(f"{endpoint.url}")

            def look(progress: rubricate.Progress) -> None:
                learnt.append(limiter.rate.pace.learnt is not None)

            return await rubricate.agrade(
                make_dataset(240), "m", base_url=endpoint.url, concurrency=100, on_progress=look
            )

        result = asyncio.run(main())
    assert result.failed == 0
    assert result.usage.requests == len(endpoint.requests) < 560
    assert not any(learnt)  # no pace was taken from them


def test_an_allowance_that_is_whole_again_at_fixed_times_is_used_up_each_time(make_dataset):
    begin, used = time.monotonic(), Counter[int]()

    async def judge(messages: Any) -> str:
        window = int(time.monotonic() - begin)
        used[window] += 1
        if used[window] > 60:
            raise ModelError("rate_limit", "HTTP 429")
        return ANSWER

    result = rubricate.grade(make_dataset(90), judge, concurrency=30)
    assert result.failed == 0
    assert sum(used.values()) < 1.5 * 180
    assert max(used) < 15  # about 3; at the pace that was once measured, half a minute


def answer() -> Completion:
    return Completion("", Usage(requests=1, seconds=0.01))


def test_only_refusals_that_come_close_together_hold_all_requests_back():
    async def main() -> list[bool]:
        limiter = Limiter(Limits(concurrency=8))
        for _ in range(9):
            await limiter.acquire()
            limiter.answered(time.monotonic(), answer())
        held_back = []
        for _ in range(5):
            limiter.refused(time.monotonic(), 60.0)
            held_back.append(limiter.rate.in_trouble)
        return held_back

    assert asyncio.run(main()) == [False, False, False, False, True]


def test_headers_that_tell_what_is_left_set_the_pace_before_any_refusal():
    async def main() -> float:
        limiter = Limiter(Limits(concurrency=8))
        limiter.rate.planned(Quota(requests=(100.0, 3.0, 9.7)))  # 10 a second, 3 left
        begin = time.monotonic()
        for _ in range(6):
            await limiter.acquire()
            limiter.release()
        return time.monotonic() - begin

    assert asyncio.run(main()) >= 0.25


def test_an_allowance_that_is_nearly_whole_does_not_slow_down():
    async def main() -> None:
        limiter = Limiter(Limits(concurrency=8))
        limiter.rate.planned(Quota(requests=(1.0, 0.0, 60.0)))
        assert not limiter.has_room
        limiter.rate.planned(Quota(requests=(100.0, 90.0, 6.0), tokens=(1000.0, 900.0, 6.0)))
        assert limiter.has_room
        assert not limiter.rate.counts_tokens

    asyncio.run(main())


def test_an_outage_lets_one_request_at_a_time_look_whether_it_is_over():
    async def main() -> None:
        limiter = Limiter(Limits(concurrency=8))
        for _ in range(8):
            await limiter.acquire()
        sent = time.monotonic()
        for _ in range(8):
            limiter.rate.failed(sent)
            limiter.release()
        assert limiter.rate.outage.since is not None
        assert not limiter.has_room
        limiter.rate.outage.paused_until = 0.0
        await limiter.acquire()
        assert not limiter.has_room
        limiter.answered(time.monotonic(), answer())
        assert limiter.rate.outage.since is None
        await limiter.acquire()
        assert limiter.has_room

    asyncio.run(main())


@pytest.mark.parametrize("concurrency", [1, 8])
def test_an_outage_loses_nothing_and_asks_little(make_dataset, monkeypatch, concurrency: int):
    monkeypatch.setattr("rubricate.run.sending._concurrency.FIRST_PAUSE", 0.05)
    # Long enough that other items are asked before one is asked again, also on a busy machine.
    monkeypatch.setattr(Retries, "first_wait", 1.0)
    monkeypatch.setattr(Retries, "longest_wait", 1.0)
    down_at: list[float] = []
    down = 0

    def respond(request: Any) -> Rule:
        nonlocal down
        if len(endpoint.requests) <= 10:
            return Rule(verdict="MET")
        down_at.append(time.monotonic())
        if down_at[-1] - down_at[0] < 1.0:
            down += 1
            return Rule(status=503)
        return Rule(verdict="MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(
            make_dataset(20), "m", base_url=endpoint.url, concurrency=concurrency
        )
    assert result.failed == 0
    assert down <= 2 * concurrency + 5 + 6


def test_what_a_completion_says_of_the_allowance_reaches_the_limiter(make_dataset):
    async def judge(messages: Any) -> Completion:
        return Completion(ANSWER, quota=Quota(tokens=(1e6, 1.0, 60.0)))

    async def main() -> None:
        model = PythonModel(judge)
        limiter = limiter_of(model.endpoint)
        await rubricate.agrade(make_dataset(1), model)
        assert limiter.rate.counts_tokens

    asyncio.run(main())


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of the adaptive rate, which a test sets."""
    found = [100.0]
    for module in ("_adaptive_rate", "_pace"):
        clock = SimpleNamespace(monotonic=lambda: found[0])
        monkeypatch.setattr(f"rubricate.run.sending.{module}.time", clock)
    return found


def test_refusals_of_requests_sent_before_a_pace_was_learnt_do_not_give_it_up(now: list[float]):
    rate = AdaptiveRate()
    rate.join(Limits(concurrency=100))

    def answered(count: int) -> None:
        for _ in range(count):
            now[0] += 0.001
            rate.refusals.sent.append(now[0])
            rate.admitted(0.0)
            rate.concurrency.returned()
            rate.accepted(now[0], Usage(requests=1, seconds=0.01))

    def refused(count: int, ago: float = 0.0) -> None:
        for _ in range(count):
            now[0] += 0.001
            rate.refusals.sent.append(now[0] - ago)
            rate.admitted(0.0)
            rate.concurrency.returned()
            rate.refused(now[0] - ago, None)

    answered(64)
    refused(12)
    now[0] += 1.0
    answered(50)
    refused(1)
    assert rate.pace.bucket is not None
    assert rate.pace.measured > 0
    refused(80, ago=0.5)  # these were on their way
    now[0] += 1.0
    answered(50)
    refused(1)
    assert rate.pace.bucket is not None
    now[0] += 1.0
    for _ in range(12):  # but these come whatever the pace
        now[0] += 0.1
        answered(5)
        refused(1)
    assert rate.pace.bucket is None


def sent_within(rate: AdaptiveRate, now: list[float], seconds: float) -> int:
    """How many requests may go in so many seconds, looked at each millisecond."""
    sent, end = 0, now[0] + seconds
    while now[0] < end:
        while rate.wait(now[0], 0.0) == 0.0:
            rate.refusals.sent.append(now[0])
            rate.admitted(0.0)
            sent += 1
        now[0] += 0.001
    return sent


@pytest.mark.parametrize(
    ("latency", "at_least", "at_most"), [(0.05, 95, 100), (1.0, 300, 330), (0.002, 20, 32)]
)
def test_a_run_starts_by_as_many_requests_as_the_first_answer_is_quick(
    now: list[float], latency: float, at_least: int, at_most: int
):
    for refused in (False, True):
        rate = AdaptiveRate()
        rate.join(Limits(concurrency=1000))
        rate.admitted(0.0)
        now[0] += latency
        rate.concurrency.returned()
        rate.accepted(now[0] - latency, Usage(requests=1, seconds=latency))
        if refused:
            burst = sent_within(rate, now, 0.001)
            rate.refused(now[0], None)
            assert burst <= 20
            assert sent_within(rate, now, 0.05) <= 16  # 300 a second
        else:
            assert at_least <= sent_within(rate, now, latency) <= at_most
