"""One bad prompt is not an outage: what always fails, fails alone, and the others are judged."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Collection
from typing import Any

import pytest

import rubricate
from rubricate import Criterion, Rubric, RubricDataset, RunStopped
from rubricate.run import Retries
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint


def dataset(items: int, criteria: int = 1) -> RubricDataset:
    names = [f"c{number}" for number in range(criteria)]
    rubric = Rubric([Criterion(name=name, requirement=f"Criterion {name}") for name in names])
    found = RubricDataset("p", rubric)
    for number in range(items):
        found.add_item(f"text {number} ends", f"i{number}")
    return found


def number_of(request: JudgeRequest) -> int:
    return int(request.submission.split()[1])


def endpoint(bad: Collection[int], rule: Rule | None = None) -> ScriptedEndpoint:
    """Answers all but the prompts of the bad items."""
    poison = rule or Rule(status=500)
    good = Rule(verdict="MET", delay=0.002)
    return ScriptedEndpoint(respond=lambda request: poison if number_of(request) in bad else good)


def outcome(result: rubricate.Result) -> dict[str, list[int]]:
    """The items by what became of their verdicts."""
    found: dict[str, list[int]] = {}
    for item, verdict in result.verdicts():
        what = verdict.error.kind if verdict.error else verdict.status
        found.setdefault(what, []).append(item.index)
    return found


@pytest.mark.parametrize("concurrency", [1, 8, 100])
@pytest.mark.parametrize(
    "bad",
    [range(1), range(15), range(24, 39), range(0, 120, 10), (0, 119)],
    ids=["the first", "15 at first", "15 in a row", "a tenth", "first and last"],
)
def test_prompts_that_always_fail_do_so_alone(bad: Collection[int], concurrency: int):
    with endpoint(bad) as judge:
        result = rubricate.grade(dataset(120), "m", base_url=judge.url, concurrency=concurrency)
        sent = Counter(map(number_of, judge.requests))
    assert outcome(result)["server"] == list(bad)
    assert len(outcome(result)["judged"]) == 120 - len(bad)
    assert result.stopped is None
    assert max(sent[number] for number in bad) <= 6 + 2
    assert {sent[number] for number in sent if number not in bad} == {1}


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Rule(fault="not_json"), "truncated"),
        (Rule(fault="truncate"), "truncated"),
        (Rule(fault="reset"), "connection"),
        (Rule(status=503), "server"),
        (Rule(status=520), "server"),
        (Rule(status=529), "server"),
        (Rule(status=408), "timeout"),
        (Rule(status=409), "server"),
        (Rule(status=423), "server"),
        (Rule(status=425), "server"),
        (Rule(status=421), "server"),
        (Rule(status=499), "server"),
        (Rule(status=302), "bad_request"),
        (Rule(status=400), "bad_request"),
        (Rule(status=418), "bad_request"),
        (Rule(status=451), "refused"),
    ],
    ids=lambda found: str(found.fault or found.status) if isinstance(found, Rule) else found,
)
def test_a_bad_first_prompt_fails_alone_whatever_the_endpoint_says(rule: Rule, kind: str):
    with endpoint([0], rule) as judge:
        result = rubricate.grade(
            dataset(20, 2), "m", base_url=judge.url, concurrency=4, attempts=3, max_outage=5
        )
        assert len(judge.requests) <= 38 + 2 * 4
    assert outcome(result) == {kind: [0, 0], "judged": [n for n in range(1, 20) for _ in "ab"]}


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_refusal_after_accepted_answers_is_about_that_call(status: int):
    with endpoint([7], Rule(status=status)) as judge:
        result = rubricate.grade(dataset(40), "m", base_url=judge.url, concurrency=2)
    assert outcome(result)["judged"] == [n for n in range(40) if n != 7]


def test_what_failed_in_an_earlier_run_goes_last(tmp_path):
    bad = [0, 3, 7]
    options: dict[str, Any] = {"attempts": 2, "concurrency": 4, "run_dir": tmp_path / "run"}
    with endpoint(bad) as judge:
        first = rubricate.grade(dataset(10), "m", base_url=judge.url, **options)
        assert outcome(first)["server"] == bad
        before = len(judge.requests)
        second = rubricate.grade(dataset(60), "m", base_url=judge.url, **options)
        order = [number_of(request) for request in judge.requests[before:]]
    assert outcome(second)["server"] == bad
    assert len(outcome(second)["judged"]) == 57
    assert sorted(order[:50]) == list(range(10, 60))
    assert sorted(order[50:]) == sorted(2 * bad)


def test_a_rerun_of_nothing_but_bad_prompts_does_not_stop(tmp_path):
    bad = range(20, 35)
    options: dict[str, Any] = {"attempts": 2, "concurrency": 8, "run_dir": tmp_path / "run"}
    with endpoint(bad) as judge:
        for _ in range(2):
            result = rubricate.grade(dataset(40), "m", base_url=judge.url, **options)
            assert outcome(result)["server"] == list(bad)
            assert result.stopped is None


@pytest.mark.parametrize("attempts", [1, 6])
@pytest.mark.parametrize("concurrency", [1, 32])
def test_where_every_prompt_fails_the_run_is_stopped_soon(attempts: int, concurrency: int):
    options: Any = {"concurrency": concurrency, "attempts": attempts}
    with endpoint(range(120)) as judge:
        with pytest.raises(RunStopped, match="HTTP 500") as stopped:
            rubricate.grade(dataset(120), "m", base_url=judge.url, **options)
        sent = {number_of(request) for request in judge.requests}
        assert len(judge.requests) <= 10 + 6
    assert stopped.value.result is not None
    found = outcome(stopped.value.result)
    assert found.keys() == {"server", "not_run"}
    assert set(found["server"]) <= sent  # only what was asked says what the endpoint said


def test_of_two_judges_a_dead_one_costs_its_own_votes(tmp_path):
    with endpoint(range(40)) as dead, endpoint([]) as living:
        judges = [rubricate.HTTPModel(n, base_url=e.url) for n, e in (("a", dead), ("b", living))]
        result = rubricate.grade(dataset(40), judges, attempts=3)
        assert len(dead.requests) <= 10 + 3
    assert outcome(result) == {"judged": list(range(40))}
    assert result.stopped is None
    kinds = Counter(
        vote.error.kind for _, one in result.verdicts() for vote in one.votes if vote.error
    )
    assert kinds["server"] <= 10
    assert kinds["not_run"] == 40 - kinds["server"]


@pytest.mark.parametrize("status", [500, 503])
def test_an_outage_in_a_run_with_bad_prompts_loses_nothing_else(status: int, monkeypatch):
    # The waits of a user, a fifth as long: all attempts of one request take longer than the outage.
    monkeypatch.setattr("rubricate.run.sending._concurrency.FIRST_PAUSE", 0.1)
    monkeypatch.setattr(Retries, "first_wait", 0.1)
    monkeypatch.setattr(Retries, "longest_wait", 6.0)
    bad = [0, 20, 21, 22, 23, 24, 59]
    down: list[float] = []

    def respond(request: JudgeRequest) -> Rule:
        if len(judge.requests) > 30 and (not down or time.monotonic() < down[0] + 0.5):
            down.append(time.monotonic())
            return Rule(status=status)
        return Rule(status=500) if number_of(request) in bad else Rule(verdict="MET", delay=0.01)

    with ScriptedEndpoint(respond=respond) as judge:
        result = rubricate.grade(dataset(60), "m", base_url=judge.url, concurrency=4)
    assert outcome(result)["server"] == bad
    assert len(outcome(result)["judged"]) == 53
    assert len(down) < 40


@pytest.mark.parametrize("dies_after", [0, 5])
def test_an_outage_ends_a_run_soon_after_its_time(dies_after: int, unused_url: str):
    begin = time.monotonic()
    rules = [Rule(verdict="MET", times=5), Rule(status=503)]
    with ScriptedEndpoint(rules) as judge:
        url = judge.url if dies_after else unused_url
        with pytest.raises(RunStopped):
            rubricate.grade(dataset(60), "m", base_url=url, max_outage=1.0, attempts=1000)
    assert time.monotonic() - begin < 10


def test_what_follows_the_leader_of_a_bad_item_is_no_outage():
    begin = time.monotonic()
    with endpoint(range(15)) as judge:
        options: Any = {"concurrency": 8, "leader_first": True, "attempts": 2}
        result = rubricate.grade(dataset(60, 3), "m", base_url=judge.url, **options)
    assert sorted(set(outcome(result)["server"])) == list(range(15))
    assert time.monotonic() - begin < 25  # and not the time of an outage that is hardly one, 30


def test_requests_in_vain_obey_the_attempts():
    with endpoint(range(8), Rule(status=408)) as judge:
        with pytest.raises(RunStopped):
            rubricate.grade(dataset(8), "m", base_url=judge.url, attempts=4)
        assert len(judge.requests) <= 8 * 4


@pytest.mark.parametrize("status", [408, 409, 425])
def test_requests_in_vain_are_as_many_as_the_attempts_when_only_they_are_left(status: int):
    bad = range(35, 43)
    with endpoint(bad, Rule(status=status)) as judge:
        result = rubricate.grade(
            dataset(43), "m", base_url=judge.url, attempts=3, concurrency=8, deadline=10
        )
        assert len(judge.requests) == 43 + 2 * len(bad)
    assert outcome(result)["timeout" if status == 408 else "server"] == list(bad)
