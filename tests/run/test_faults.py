"""What goes wrong on the way: retried, asked again, or failed; never a value."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, HTTPModel, Rubric, Verdict
from rubricate.run import Retries
from rubricate.testing import Rule, ScriptedEndpoint

RUBRIC = Rubric([Criterion(name="a", requirement="Says something")])


def verdict(rules: list[Rule], **options: Any) -> tuple[Verdict, ScriptedEndpoint]:
    """One judgement by an endpoint with these rules."""
    with ScriptedEndpoint(rules) as endpoint:
        item = rubricate.grade_one(RUBRIC, "text", judge="m", base_url=endpoint.url, **options)
    return item.criteria["a"], endpoint


@pytest.mark.parametrize(
    "fault",
    [
        Rule(status=500, times=2),
        Rule(status=503, times=2),
        Rule(status=408, times=2),
        Rule(status=429, times=2),
        Rule(fault="reset", times=2),
        Rule(fault="truncate", times=2),
        Rule(fault="not_json", times=2),
    ],
    ids=lambda rule: str(rule.fault or rule.status),
)
def test_a_fault_that_passes_costs_requests_and_no_verdict(fault: Rule):
    found, endpoint = verdict([fault, Rule(verdict="MET")])
    assert (found.status, found.label) == ("judged", "MET")
    assert found.usage.requests == len(endpoint.requests) == 3


def test_a_hanging_endpoint_is_left_after_the_timeout():
    def respond(request: Any) -> Rule:
        if len(endpoint.requests) > 1:
            return Rule(verdict="MET")
        model._timeout = 60.0  # that of the request which hangs runs already
        return Rule(fault="hang")

    with ScriptedEndpoint(respond=respond) as endpoint:
        model = HTTPModel("m", base_url=endpoint.url, timeout=0.2)
        item = rubricate.grade_one(RUBRIC, "text", judge=model)
    assert (item.criteria["a"].label, len(endpoint.requests)) == ("MET", 2)


def test_the_wait_that_the_endpoint_asks_for_is_kept_by_all_requests(make_dataset):
    times: list[float] = []

    def respond(request: Any) -> Rule:
        times.append(time.monotonic())
        if len(times) == 2:
            return Rule(status=429, headers={"Retry-After": "0.5"})
        return Rule(verdict="MET")

    with ScriptedEndpoint(respond=respond) as endpoint:
        result = rubricate.grade(make_dataset(10), "m", base_url=endpoint.url, concurrency=2)
    assert result.failed == 0
    assert len(times) == 21
    # Only what the other slot sent before the refusal was read may have come earlier.
    assert sum(moment - times[1] >= 0.5 for moment in times) >= 12


def test_a_prompt_that_always_fails_is_no_outage(make_dataset, monkeypatch):
    waits = Retries.back_off

    def short_wait(*arguments: Any) -> float | None:
        return None if waits(*arguments) is None else 0.01

    monkeypatch.setattr(Retries, "back_off", short_wait)
    rules = [Rule(submission="Answer 1:", status=500), Rule(verdict="MET")]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(
            make_dataset(3), "m", base_url=endpoint.url, concurrency=1, attempts=8
        )
    kinds = [found.error.kind if found.error else found.label for _, found in result.verdicts()]
    assert kinds == ["MET", "MET", "server", "server", "MET", "MET"]
    assert len(endpoint.requests) == 4 + 2 * 8


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("I think it is met.", "no JSON object"),
        ("", "empty"),
        ('{"reason": "r", "verdict": "PARTLY"}', "'PARTLY' is not one of: 'MET', 'UNMET'"),
        ('{"reason": "r", "verdict": 1}', "1 is not one of"),
        ('{"verdict": "MET"}', "no 'reason'"),
    ],
    ids=["prose", "empty", "verdict_outside", "number", "no_reason"],
)
def test_an_unreadable_reply_is_asked_again_with_what_was_wrong_with_it(reply: str, wrong: str):
    found, endpoint = verdict([Rule(reply=reply, times=1), Rule(verdict="MET")])
    assert (found.label, found.usage.requests) == ("MET", 2)
    first, second = (request.body["messages"] for request in endpoint.requests)
    assert second[:2] == first
    assert [message["role"] for message in second[2:]] == ["assistant", "user"]
    assert second[2]["content"] == (reply or "(empty)")
    assert wrong in second[3]["content"]


@pytest.mark.parametrize(
    "reply", ["so so", "", '{"reason": "r", "verdict": "MAYBE"}'], ids=["prose", "empty", "outside"]
)
def test_a_reply_that_stays_unreadable_is_failed_after_two_more_requests(reply: str):
    found, endpoint = verdict([Rule(reply=reply)])
    assert (found.status, found.label, found.value) == ("failed", None, None)
    assert found.error.kind == "unreadable_reply"
    assert found.usage.requests == len(endpoint.requests) == 3


def test_a_refused_request_is_failed_and_the_others_go_on(make_dataset):
    rules = [
        Rule(submission="Answer 1", status=400, message="maximum context length exceeded"),
        Rule(verdict="MET"),
    ]
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(make_dataset(3), "m", base_url=endpoint.url)
    kinds = [verdict.error and verdict.error.kind for _, verdict in result.verdicts()]
    assert kinds == [None, None, "context_length", "context_length", None, None]
    assert len(endpoint.requests) == 6


def test_a_failed_verdict_is_no_value_in_no_mean_and_widens_the_bounds(
    make_dataset, tmp_path, rows
):
    """Of three items, the first fails on its first criterion and the last on both."""
    rules = [
        Rule(submission="Answer 0", criterion="kilometres", reply="?"),
        Rule(submission="Answer 2", reply="?"),
        Rule(verdict="MET"),
    ]
    dataset = make_dataset(3, ground_truth=["MET", "UNMET"])
    with ScriptedEndpoint(rules) as endpoint:
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, run_dir=tmp_path)
    failed = [verdict for _, verdict in result.verdicts() if verdict.status == "failed"]
    written = [row for row in rows(tmp_path) if row["status"] == "failed"]
    assert len(failed) == len(written) == result.failed == 3
    assert all(verdict.value is verdict.label is None for verdict in failed)
    assert all(row["value"] is row["label"] is None for row in written)
    assert written[0]["error"]["kind"] == "unreadable_reply"
    assert "no JSON object" in written[0]["error"]["message"]

    summary = result.summary()
    speed, boasting = summary.criteria
    assert (speed.judged, speed.failed, speed.value, speed.labels) == (1, 2, 1.0, {"MET": 1})
    assert (boasting.judged, boasting.failed, boasting.value) == (2, 1, 1.0)
    assert (speed.agreement.n, boasting.agreement.n) == (1, 2)
    assert summary.verdicts["failed"] == 3
    assert summary.errors == {"unreadable_reply": 3}
    kept = json.loads((tmp_path / "summary.json").read_text())
    assert kept["first_error"].startswith("unreadable_reply: ")

    first, second, third = (item.score for item in result)
    assert (second.value, second.coverage) == (0.5, 1.0)
    assert second.lowest == second.highest == 0.5
    assert first.coverage == 0.5
    assert first.lowest < first.highest
    assert (third.value, third.coverage) == (None, 0.0)
    assert (third.lowest, third.highest) == (0.0, 1.0)
