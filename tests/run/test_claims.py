"""Processes that share a cache: what one is asking for, the others wait for."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubricate
from rubricate import Criterion, Rubric, RubricDataset
from rubricate.run.journal import Database, Journal, open_journal
from rubricate.run.journal._postgres import PostgresJournal
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

PROGRAM = """
import json, sys
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

url, cache, items, told = sys.argv[1], sys.argv[2], int(sys.argv[3]), json.loads(sys.argv[4])
names = told.pop("names", ["c"])
dataset = RubricDataset("p", Rubric([Criterion(name=n, requirement=f"is {n}") for n in names]))
for number in range(items):
    dataset.add_item(f"text {number}", f"i{number}")
print("ready", flush=True)
input()
result = rubricate.grade(dataset, "m", base_url=url, cache=cache, **told)
print(json.dumps([result.calls, result.cached, result.failed]), flush=True)
"""


def started(url: str, cache: str, items: int, *told: dict[str, Any]) -> list[subprocess.Popen[str]]:
    """Processes that grade the same items with one cache, and begin at the same time."""
    running = [
        subprocess.Popen(
            [sys.executable, "-c", PROGRAM, url, cache, str(items), json.dumps(one)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for one in told
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    return running


def come_of(running: list[subprocess.Popen[str]]) -> list[list[int]]:
    """Of each process the calls, the answers from the cache, and the failures."""
    return [json.loads(process.communicate(timeout=60)[0]) for process in running]


@pytest.fixture(params=["file", "database"])
def cache(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "database":
        return str(request.getfixturevalue("postgres"))
    return str(tmp_path / "cache")


WAYS: dict[str, dict[str, Any]] = {
    "one criterion": {},
    "three criteria": {"names": ["a", "b", "c"]},
    "a leader first": {"names": ["a", "b", "c"], "leader_first": True},
    "three criteria a request": {"names": ["a", "b", "c"], "criteria_per_call": 3},
}


@pytest.mark.parametrize("told", WAYS.values(), ids=WAYS)
def test_processes_that_begin_together_ask_for_each_answer_once(cache: str, told: dict[str, Any]):
    with ScriptedEndpoint([Rule(verdict="MET", delay=0.02)]) as endpoint:
        found = come_of(started(endpoint.url, cache, 60, *[told] * 3))
        calls = 1 if "criteria_per_call" in told else len(told.get("names", "c"))
        assert len(endpoint.requests) <= 1.05 * 60 * calls
    judgements = 60 * len(told.get("names", "c"))
    assert [sum(one[:2]) for one in found] == [judgements] * 3
    assert [failed for *_, failed in found] == [0, 0, 0]


def test_what_fails_in_one_process_is_asked_for_by_the_other(cache: str):
    asked: list[str] = []

    def respond(request: JudgeRequest) -> Rule:
        text = str(request.body)
        asked.append(text)
        fails = "text 7" in text and sum("text 7" in one for one in asked) <= 1
        return Rule(status=400, delay=0.2) if fails else Rule(verdict="MET", delay=0.02)

    with ScriptedEndpoint(respond=respond) as endpoint:
        found = come_of(started(endpoint.url, cache, 20, {}, {}))
    assert sorted(failed for *_, failed in found) == [0, 1]
    assert len(asked) <= 22


def test_what_a_killed_process_was_asking_for_is_asked_for_by_the_others(
    cache: str, monkeypatch: pytest.MonkeyPatch
):
    for module in ("_sqlite", "_postgres"):
        monkeypatch.setattr(f"rubricate.run.journal.{module}.LEASE", 1.0)
    with ScriptedEndpoint([Rule(verdict="MET", delay=30.0)]) as endpoint:
        [killed] = started(endpoint.url, cache, 20, {})
        while len(endpoint.requests) < 15:
            time.sleep(0.01)
        killed.send_signal(signal.SIGKILL)
        killed.communicate()
        endpoint._rules[:] = [Rule(verdict="MET")]
        dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="is c")]))
        for number in range(20):
            dataset.add_item(f"text {number}", f"i{number}")
        result = rubricate.grade(dataset, "m", base_url=endpoint.url, cache=cache)
    assert (result.calls, result.failed) == (20, 0)


def test_a_lone_run_waits_for_nobody(tmp_path: Path, make_dataset):
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint:
        for _ in range(2):  # the second one has all from the cache
            begin = time.monotonic()
            rubricate.grade(make_dataset(20), "m", base_url=endpoint.url, cache=tmp_path)
            assert time.monotonic() - begin < 10.0
        assert len(endpoint.requests) == 40  # two criteria


def opened(kind: str, request: pytest.FixtureRequest, folder: Path, count: int) -> list[Journal]:
    """A cache, opened several times as by several processes."""
    place = folder / "cache.sqlite"
    if kind == "database":
        return [
            open_journal(Database.shared(request.getfixturevalue("postgres")), access="cache")
            for _ in range(count)
        ]
    return [open_journal(place, access="cache") for _ in range(count)]


@pytest.mark.parametrize("kind", ["file", "database"])
def test_a_claim_is_of_one_process_and_of_all_of_a_group_or_of_none(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
):
    one, other = opened(kind, request, tmp_path, 2)
    try:
        assert one.claim("one", [["a", "b"], ["c"]])[0] == [True, True]
        assert other.claim("other", [["b", "x"], ["y"], ["c"]])[0] == [False, True, False]
        assert one.claim("one", [["x"], ["y", "z"], ["a"]])[0] == [True, False, True]
        assert other.claims is not None
        assert other.claim("other", [["z"]])[0] == [True]
        one.put("k", {"status": "judged"})
        one.commit()
        one.exchanges(["k"])  # waits until it is written
        assert {*other.claim("other", [["k"], ["m"]])[1]} == {"k"}
    finally:
        one.close()
        other.close()


@given(
    st.lists(
        st.tuples(
            st.integers(0, 2),
            st.sampled_from(["take", "release", "close"]),
            st.lists(st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3), max_size=3),
        ),
        max_size=25,
    )
)
def test_no_answer_is_asked_for_by_two_processes(tmp_path_factory, steps):
    folder = tmp_path_factory.mktemp("claims")
    caches = [open_journal(folder / "cache.sqlite", access="cache") for _ in range(3)]
    try:
        for index, step, groups in steps:
            cache = caches[index]
            assert cache.claims is not None
            if step == "take" and groups:
                cache.claims.note(groups, *cache.claim(cache.claims.holder, groups))
            elif step == "release":
                cache.claims.release([key for group in groups for key in group])
                cache.commit()
            elif step == "close":
                cache.close()
                caches[index] = open_journal(folder / "cache.sqlite", access="cache")
            held = [key for one in caches if one.claims for key in one.claims._mine]
            assert len(held) == len({*held})
    finally:
        for cache in caches:
            cache.close()


def test_claims_in_a_database_are_made_beside_the_event_loop(
    postgres: str, make_dataset, endpoint: ScriptedEndpoint, monkeypatch: pytest.MonkeyPatch
):
    def noted(self: PostgresJournal, *groups: Any) -> Any:
        threads.append(threading.current_thread())
        return claim(self, *groups)

    threads: list[threading.Thread] = []
    claim = PostgresJournal.claim
    monkeypatch.setattr(PostgresJournal, "claim", noted)
    rubricate.grade(make_dataset(20), "m", base_url=endpoint.url, cache=postgres)
    assert threads
    assert threading.main_thread() not in threads
