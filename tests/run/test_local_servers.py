"""Servers of one's own, as llama.cpp and others behave: small contexts, queues, models that run on.

Each test is something that a real server did (docs/measurements.md).
"""

from __future__ import annotations

import time

import pytest

import rubricate
from rubricate import RunStopped
from rubricate.rubric import Usage
from rubricate.run import Limits
from rubricate.run.sending._adaptive_rate import AdaptiveRate
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

RUNAWAY = Rule(reply='{"reason": "' + "and so on " * 4000)
"""A reply that goes on until something ends it."""


def test_a_submission_too_long_for_the_servers_context_fails_alone_and_is_sent_once(make_dataset):
    dataset = make_dataset(3)
    dataset.add_item("Light is fast. " * 2000, "a long answer")
    with ScriptedEndpoint(context_tokens=2000) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url)
        long = [one for one in endpoint.requests if len(one.submission) > 10_000]
    errors = [verdict.error for verdict in result.items[3].criteria.values()]
    assert [error and error.kind for error in errors] == ["context_length"] * 2
    assert (result.failed, len(long)) == (2, 2)
    text = str(result.summary())
    assert "exceeds the available context size" in text
    assert "--chunk-tokens" in text


def test_a_reply_that_fills_the_context_is_asked_again_with_its_beginning_alone(make_dataset):
    with ScriptedEndpoint([RUNAWAY], context_tokens=4000) as endpoint:
        result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, limit=1)
        sizes = [sum(len(one["content"]) for one in r.body["messages"]) for r in endpoint.requests]
        asked_again = endpoint.requests[-1].body["messages"]
    assert len(sizes) == 2 * 3
    assert max(sizes) < 4 * 2000
    assert "cut off after" in asked_again[-1]["content"]
    for verdict in result.items[0].criteria.values():
        assert verdict.error is not None
        assert verdict.error.kind == "unreadable_reply"
        assert "cut off after" in verdict.error.message


def test_a_reply_that_is_cut_off_is_no_answer_though_it_could_be_read(make_dataset):
    def respond(request: JudgeRequest) -> Rule:
        return Rule(reply='{"reason": "r", "evidence": [], "verdict": "UNMET"}' + "\n" * 20_000)

    with ScriptedEndpoint(respond=respond, context_tokens=4000) as endpoint:
        result = rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, limit=1)
    for verdict in result.items[0].criteria.values():
        assert verdict.error is not None
        assert "cut off after" in verdict.error.message


def test_several_criteria_whose_reply_is_cut_off_are_asked_again_with_the_cause(make_dataset):
    with ScriptedEndpoint([RUNAWAY], context_tokens=4000) as endpoint:
        result = rubricate.grade(
            make_dataset(1), "m", base_url=endpoint.url, criteria_per_call="all"
        )
        assert len(endpoint.requests) == 3
        assert "cut off after" in endpoint.requests[-1].body["messages"][-1]["content"]
    assert result.failed == 2


@pytest.mark.parametrize("together", [1, "all"])
def test_where_only_asking_again_is_too_long_the_first_cause_is_told(make_dataset, together):
    def respond(request: JudgeRequest) -> Rule | None:
        if "cannot be used" in str(request.body) or "could not be used" in str(request.body):
            return Rule(status=400, message="the maximum context length is 4000 tokens")
        return Rule(reply="I would rather not say.")

    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(
            make_dataset(1), "m", base_url=endpoint.url, criteria_per_call=together
        )
    errors = [verdict.error for _, verdict in result.verdicts()]
    assert {error.kind for error in errors if error} == {"unreadable_reply"}
    for error in errors:
        assert error is not None
        assert "has no JSON object" in error.message
        assert "could not be asked again: HTTP 400: the maximum context length" in error.message


def test_a_server_that_loads_its_model_is_waited_for_however_many_attempts_that_takes(make_dataset):
    loading = Rule(status=503, message="Loading model", times=10)
    with ScriptedEndpoint([loading]) as endpoint:
        result = rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, attempts=2)
        assert len(endpoint.requests) == 10 + 4
    assert result.failed == 0


def test_a_server_that_never_gets_its_model_loaded_ends_the_run(make_dataset):
    loading = Rule(status=503, message="Loading model")
    with (
        ScriptedEndpoint([loading]) as endpoint,
        pytest.raises(RunStopped, match="Loading model"),
    ):
        rubricate.grade(make_dataset(2), "m", base_url=endpoint.url, max_outage=0.1)


def test_a_slow_server_that_queues_loses_nothing(make_dataset):
    with ScriptedEndpoint([Rule(delay=0.04, verdict="MET")], slots=1) as endpoint:
        result = rubricate.grade(make_dataset(15), "m", base_url=endpoint.url, timeout=0.6)
    assert result.failed == 0


def asked(in_flight: int) -> AdaptiveRate:
    """What is known of an endpoint with so many requests in flight, of which none is answered."""
    rate = AdaptiveRate()
    rate.join(Limits(concurrency=32))
    for _ in range(in_flight):
        rate.admitted(0.0)
    return rate


def room(rate: AdaptiveRate, in_flight: int) -> int:
    """How many requests may be in flight at once."""
    for count in range(in_flight, 0, -1):
        rate.concurrency.returned()
        if rate.wait(time.monotonic() + 60.0, 0.0) == 0.0:
            return count
    raise AssertionError("nothing may go")


def test_where_no_request_was_answered_in_time_one_goes_at_once():
    rate = asked(9)
    sent = time.monotonic() - 120.0
    rate._last_cut = sent
    for _ in range(9):
        rate.timed_out(sent, 0)
    assert room(rate, 9) == 1


@pytest.mark.parametrize(("seconds", "more"), [(100.0, False), (10.0, True)])
def test_half_as_many_go_at_once_as_were_answered_in_time_and_more_if_that_is_quick(seconds, more):
    rate = asked(20)
    rate._last_cut = sent = time.monotonic() - 120.0
    rate.timed_out(sent, 12)
    for _ in range(50):
        rate.accepted(sent, Usage(1, seconds=seconds))
    found = room(rate, 20)
    assert found > 6 if more else found == 6


def test_one_request_that_hangs_among_many_that_are_answered_slows_nothing():
    rate = asked(20)
    rate._last_cut = sent = time.monotonic() - 120.0
    rate.timed_out(sent, 400)
    assert room(rate, 20) == 20


def test_timeouts_are_named_with_what_can_be_done_about_them(make_dataset):
    with (
        ScriptedEndpoint([Rule(fault="hang")]) as endpoint,
        pytest.raises(RunStopped) as stopped,
    ):
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, timeout=0.05, attempts=1)
    assert stopped.value.result is not None
    assert "--max-tokens" in str(stopped.value.result.summary())
