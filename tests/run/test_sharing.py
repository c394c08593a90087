"""One key, many processes: its limits are shared, and no process has to be told of the others."""

from __future__ import annotations

import json
import logging
import os
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rubricate
from rubricate.errors import JournalError
from rubricate.run.sending._shares import (
    INTERVAL,
    Pace,
    Report,
    Traffic,
    exchange,
    fair_part,
    without,
)
from rubricate.run.sending._sharing import key_name
from rubricate.run.sending._stores import PostgresStore, SQLiteStore, StoreError, change
from rubricate.testing import JudgeRequest, Rule, ScriptedEndpoint

INF = float("inf")


class Key:
    """A key's value, and the processes that exchange it."""

    def __init__(self) -> None:
        self.value: bytes | None = None
        self.now = 100.0

    def tell(self, name: str, wants: float = INF, growth=1.0, has_learnt: bool = False, **traffic):
        report = Report(wants, Traffic(**traffic), growth, has_learnt)
        self.value, share = exchange(self.value, name, report, self.now)
        return share

    def pace(self, name: str, **traffic) -> Pace:
        return self.tell(name, **traffic).traffic.pace

    def parts(self, *names: str, rounds: int = 6) -> list[float]:
        """The parts of processes that all want more, after so many rounds."""
        for _ in range(rounds):
            self.now += INTERVAL
            found = [self.tell(name).part for name in names]
        return found


@given(st.lists(st.floats(0, 2) | st.just(INF), min_size=1, max_size=12))
def test_a_fair_division_gives_the_whole_and_nobody_less_than_an_equal_part(wants):
    parts = [
        fair_part([wants[index], *wants[:index], *wants[index + 1 :]])
        for index in range(len(wants))
    ]
    assert sum(parts) == pytest.approx(1.0)
    for part, want in zip(parts, wants, strict=True):
        assert part >= min(want, 1 / len(wants)) - 1e-9


@given(st.lists(st.tuples(st.integers(0, 4), st.floats(0, 1.2) | st.just(INF), st.floats(0, 0.6))))
def test_parts_together_are_never_more_than_the_whole(steps):
    key, held = Key(), {}
    for name, wants, later in steps:
        key.now += later
        share = key.tell(str(name), wants)
        held[name] = share.part, key.now + share.seconds
        assert sum(part for part, ends in held.values() if key.now < ends) <= 1.0 + 1e-9


def test_who_comes_has_its_part_as_soon_as_the_others_have_heard_of_it():
    key = Key()
    assert key.tell("a").part == 1.0
    share = key.tell("b")
    assert share.part == 0.0
    assert share.again < INTERVAL
    assert key.tell("a").part == 0.5
    assert key.tell("b").part == 0.5


def test_what_a_killed_process_had_is_taken_over_within_two_seconds():
    key = Key()
    assert key.parts("a", "b", "killed") == pytest.approx([1 / 3] * 3)
    killed = key.now
    while key.parts("a", "b", rounds=1) != [0.5, 0.5]:
        assert key.now - killed < 2.0


def test_a_part_is_gone_for_its_process_before_others_may_have_it():
    key = Key()
    key.tell("stopped")
    key.tell("b")
    share = key.tell("stopped")
    ends = key.now + share.seconds
    while key.parts("b", rounds=1) != [1.0]:
        pass
    assert key.now > ends


def test_who_needs_little_has_what_it_needs_and_the_others_have_the_rest():
    key = Key()
    for _ in range(6):
        key.now += INTERVAL
        much = key.tell("much").part
        little = [key.tell(name, 0.05).part for name in ("b", "c", "d")]
    assert little == pytest.approx([0.05] * 3)
    assert much == pytest.approx(0.85)


def test_forty_processes_have_equal_parts_and_exchange_less_often():
    key = Key()
    names = [f"p{number}" for number in range(40)]
    parts = key.parts(*names, rounds=10)
    assert parts == pytest.approx([1 / 40] * 40)
    assert key.tell("p0").again > INTERVAL
    assert len(key.value or b"") < 10_000


def test_the_last_to_leave_takes_all_with_it():
    key = Key()
    key.tell("a")
    key.tell("b")
    left = without(key.value, "a", 0, key.now)
    assert left is not None
    assert without(left, "b", 0, key.now) is None


def test_a_pace_that_one_has_measured_is_all_others_too_and_grows_by_what_all_are_answered():
    key = Key()
    key.tell("a")
    key.tell("b")
    pace = Pace(50.0, 52.0)
    learnt = key.tell("a", pace=pace, has_learnt=True).traffic.learnt
    assert key.pace("b") == pace
    key.tell("a", pace=pace, growth=1.01, learnt=learnt)
    key.tell("b", pace=pace, growth=1.02, learnt=learnt)
    assert key.pace("b", pace=pace, learnt=learnt).rate == pytest.approx(50 * 1.01 * 1.02)
    key.tell("b", growth=2.0, learnt=learnt - 1)  # of a pace that is none any more
    assert key.pace("a", pace=pace, learnt=learnt).rate == pytest.approx(50 * 1.01 * 1.02)


def test_of_two_paces_that_were_measured_at_the_same_time_the_lower_one_counts():
    key = Key()
    key.tell("a")
    key.tell("b")
    key.tell("a", pace=Pace(46.0, 48.0), has_learnt=True)
    assert key.pace("b", pace=Pace(69.0, 73.0), has_learnt=True).rate == 46.0
    learnt = key.tell("a").traffic.learnt
    assert key.pace("b", pace=Pace(69.0, 73.0), has_learnt=True, learnt=learnt).rate == 69.0


VALUES = {
    "no JSON": b"\xff\x00",
    "no object": b"[]",
    "another format": b'{"format": 99}',
    "too little": b'{"format": 2, "members": {"x": {}}}',
    "deep": b"[" * 100_000,
}


@pytest.mark.parametrize("value", VALUES.values(), ids=VALUES)
def test_a_value_that_is_none_of_ours_counts_as_none(value: bytes):
    _, share = exchange(value, "me", Report(INF), 100.0)
    assert (share.part, share.others) == (1.0, 0)


@pytest.mark.parametrize(
    ("where", "what"),
    [
        (("pace", "rate"), -1),
        (("pace", "rate"), "fast"),
        (("pace", "measured"), -5),
        (("members", "a", "part"), -3),
        (("members", "a", "until"), None),
        (("members", "a", "requests"), 0),
        (("members", "a", "in_flight"), [1]),
    ],
)
def test_a_value_that_makes_no_sense_counts_as_none(where: tuple[str, ...], what: object):
    key = Key()
    key.tell("a")
    data = json.loads(key.value or b"")
    inner = data
    for name in where[:-1]:
        inner = inner[name]
    inner[where[-1]] = what
    _, share = exchange(orjson.dumps(data), "me", Report(INF), key.now)
    assert (share.part, share.others) == (1.0, 0)


# The store


def added(value: bytes | None, now: float) -> tuple[bytes | None, int]:
    count = int(value or b"0") + 1
    return str(count).encode(), count


@pytest.fixture
def store_at() -> Iterator[Callable[..., SQLiteStore]]:
    """Open a store; it is closed after the test."""
    opened: list[SQLiteStore] = []

    def open_it(*arguments: Any) -> SQLiteStore:
        opened.append(SQLiteStore(*arguments))
        return opened[-1]

    yield open_it
    for one in opened:
        one.close()


@pytest.mark.parametrize("kind", ["file", "database"])
def test_a_value_is_changed_by_one_at_a_time(tmp_path: Path, request, kind: str):
    place = request.getfixturevalue("postgres") if kind == "database" else tmp_path / "limits"
    times = 20 if kind == "database" else 50

    def opened() -> PostgresStore | SQLiteStore:
        return PostgresStore(place) if kind == "database" else SQLiteStore(place)

    def work() -> None:
        with closing(opened()) as store:
            for _ in range(times):
                change(store, "name", added)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    with closing(opened()) as store:
        assert change(store, "name", added) == 4 * times + 1
        change(store, "name", lambda value, now: (None, None))
        assert change(store, "name", added) == 1


def test_a_value_that_was_removed_and_made_anew_is_another(store_at, tmp_path: Path):
    one, other = (store_at(tmp_path / "limits.sqlite") for _ in range(2))
    change(one, "name", added)
    found = one.read("name")
    change(other, "name", lambda value, now: (None, None))
    change(other, "name", added)
    assert not one.write("name", found, b"late")


def test_a_database_that_was_away_is_used_again(own_postgres):
    server = own_postgres()
    store = PostgresStore(server.address())
    change(store, "name", added)
    server.stop("fast")
    with pytest.raises(StoreError):
        change(store, "name", added)
    server.start()
    assert change(store, "name", added) == 2
    store.close()


def test_a_process_that_stops_in_its_turn_is_in_the_others_way_for_a_second(postgres: str):
    stopped, other = PostgresStore(postgres), PostgresStore(postgres)
    change(stopped, "name", added)
    turn = stopped.in_turn("name")
    turn.__enter__()
    found = stopped.read("name")
    begin, count = time.monotonic(), None
    while count is None:
        with suppress(StoreError):  # it waits for its turn as long
            count = change(other, "name", added)
        assert time.monotonic() - begin < 60.0
    with pytest.raises(StoreError, match="idle-in-transaction"):
        stopped.write("name", found, b"late")
    assert change(stopped, "name", added) == 3
    for store in (stopped, other):
        store.close()


def test_a_database_that_is_not_there_is_told_before_anything_is_sent(make_dataset, endpoint):
    nowhere = "postgresql://me:secret@127.0.0.1:1/limits"
    with pytest.raises(JournalError, match="refused") as caught:
        rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, share_limits=nowhere)
    assert "secret" not in str(caught.value)
    assert endpoint.requests == []


def test_a_database_that_goes_away_in_mid_run_stops_nothing(
    make_dataset, own_postgres, caplog: pytest.LogCaptureFixture
):
    server = own_postgres()
    rule = Rule(verdict="MET", delay=0.02)
    with ScriptedEndpoint([rule]) as endpoint, caplog.at_level(logging.WARNING):

        def stop(progress: rubricate.Progress) -> None:
            if progress.done == 4:
                threading.Thread(target=server.stop).start()

        result = rubricate.grade(
            make_dataset(60),
            "m",
            base_url=endpoint.url,
            concurrency=2,
            requests_per_minute=3000,
            share_limits=server.address(),
            on_progress=stop,
        )
    assert result.failed == 0
    assert len([one for one in caplog.records if "not shared" in one.message]) == 1


@pytest.mark.parametrize("content", [b"no database " * 500, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_store_is_made_anew_and_that_is_said_once(
    store_at, tmp_path: Path, content: bytes
):
    path, said = tmp_path / "limits.sqlite", []
    path.write_bytes(content)
    store = store_at(path, said.append)
    assert [change(store, "name", added) for _ in range(3)] == [1, 2, 3]
    assert len(said) == 1
    assert "limits.sqlite" in said[0]


def test_a_store_that_is_damaged_while_it_is_in_use_is_found_again_by_all(store_at, tmp_path: Path):
    path = tmp_path / "limits.sqlite"
    one, other = store_at(path), store_at(path)
    change(one, "name", added)
    change(other, "name", added)
    for part in tmp_path.iterdir():
        part.unlink()
    change(one, "name", added)
    assert change(other, "name", added) == 2


def test_a_table_of_another_form_is_replaced(store_at, tmp_path: Path):
    path, said = tmp_path / "limits.sqlite", []
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE rubricate_limits (other TEXT)")
    database.close()
    assert change(store_at(path, said.append), "name", added) == 1
    assert len(said) == 1


def test_what_is_no_file_of_ones_own_is_neither_used_nor_replaced(tmp_path: Path):
    target = tmp_path / "valued"
    target.write_text("keep me")
    link, folder, pipe = tmp_path / "link", tmp_path / "folder", tmp_path / "pipe"
    link.symlink_to(target)
    folder.mkdir()
    os.mkfifo(pipe)
    for path in (link, folder, pipe, target / "below.sqlite"):
        with pytest.raises(StoreError, match=path.name):
            change(SQLiteStore(path), "name", added)
    assert target.read_text() == "keep me"


def test_neither_address_nor_key_is_in_a_keys_name():
    name = key_name("https://api.example.com/v1", "secret")
    assert name != key_name("https://api.example.com/v1", "other")
    assert name != key_name("https://other.example.com/v1", "secret")
    assert len(name) == 32


LOCAL = ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "0.0.0.0:8000", "vllm.localhost")


@pytest.mark.parametrize("host", LOCAL)
def test_localhost_is_another_endpoint_on_each_machine(host, monkeypatch: pytest.MonkeyPatch):
    address = f"http://{host}/v1"
    here = key_name(address, "secret")
    assert here == key_name(address, "secret")
    monkeypatch.setattr("rubricate.run.sending._sharing._machine", lambda: "another node")
    assert key_name(address, "secret") != here


def test_an_address_with_a_host_is_one_endpoint_for_all_machines(monkeypatch: pytest.MonkeyPatch):
    addresses = ("https://api.example.com/v1", "http://10.0.0.7:8000/v1", "http://[bad", "no URL")
    here = [key_name(one, "secret") for one in addresses]
    monkeypatch.setattr("rubricate.run.sending._sharing._machine", lambda: "another node")
    assert [key_name(one, "secret") for one in addresses] == here


# Processes


class LimitedKey:
    """An endpoint whose key lets so many requests a second through, and as many at once."""

    def __init__(self, rate: float) -> None:
        self.rate = rate
        self.answered: list[float] = []
        self.refused: list[float] = []
        self._level, self._at = rate, time.monotonic()
        self.endpoint = ScriptedEndpoint(respond=self._respond)

    def _respond(self, request: JudgeRequest) -> Rule:
        now = time.monotonic()
        self._level = min(self.rate, self._level + (now - self._at) * self.rate)
        self._at = now
        if self._level < 1.0:
            self.refused.append(now)
            return Rule(status=429)
        self._level -= 1.0
        self.answered.append(now)
        return Rule(verdict="MET", delay=0.02)


PROGRAM = """
import sys
import rubricate
from rubricate import Criterion, Rubric, RubricDataset

url, name, items, per_minute = sys.argv[1:]
dataset = RubricDataset("p", Rubric([Criterion(name="c", requirement="criterion c")]))
for number in range(int(items)):
    dataset.add_item(f"{name} text {number}", f"i{number}")
print("ready", flush=True)
input()
result = rubricate.grade(
    dataset, "m", base_url=url, share_limits="local", requests_per_minute=float(per_minute) or None
)
print(result.failed)
"""


def started(url: str, names: str, items: int, per_minute: float = 0) -> list[subprocess.Popen[str]]:
    """Processes that grade so many items each, and begin at the same time."""
    running = []
    for name in names:
        command = [sys.executable, "-c", PROGRAM, url, name, str(items), str(per_minute)]
        running.append(
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        )
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("\n")
        one.stdin.flush()
    return running


def test_processes_with_one_key_send_together_what_it_allows():
    key = LimitedKey(60.0)
    with key.endpoint as endpoint:
        running = started(endpoint.url, "abcd", 60, per_minute=3600)
        assert [process.communicate(timeout=60)[0] for process in running] == ["0\n"] * 4
    assert len(key.answered) == 240
    assert len(key.refused) <= 0.1 * 240  # sharing nothing: 0.2 and more
    assert key.answered[-1] - key.answered[0] <= 2.0 * 240 / 60


def test_a_lone_process_has_all_that_its_key_allows(make_dataset, tmp_path: Path):
    with ScriptedEndpoint([Rule(verdict="MET", delay=0.005)]) as endpoint:
        begin = time.monotonic()
        result = rubricate.grade(make_dataset(100), "m", base_url=endpoint.url, share_limits=True)
    assert result.failed == 0
    assert time.monotonic() - begin < 20.0
    assert not [one for one in threading.enumerate() if one.name == "rubricate-limits"]


def test_a_store_that_cannot_be_used_stops_nothing_and_that_is_said_once(
    make_dataset, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
):
    monkeypatch.setenv("XDG_CACHE_HOME", "/dev/null/nowhere")
    with ScriptedEndpoint([Rule(verdict="MET")]) as endpoint, caplog.at_level(logging.WARNING):
        for _ in range(2):
            result = rubricate.grade(
                make_dataset(5), "m", base_url=endpoint.url, share_limits="local"
            )
            assert result.failed == 0
    assert len([one for one in caplog.records if "not shared" in one.message]) == 1
