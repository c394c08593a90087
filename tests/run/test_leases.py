"""A run in a database belongs to one process, whatever becomes of connections and processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import psycopg
import pytest

from rubricate.errors import JournalError
from rubricate.run import Shard
from rubricate.run.journal import Database, _lease, open_journal
from rubricate.run.journal._lease import LeaseLost
from rubricate.testing import Rule, ScriptedEndpoint

RECORD = {"status": "judged", "label": "MET", "reason": "r", "usage": {}, "judge": None}
QUICK = {"LEASE": 2.0, "HOLDS": 1.0, "EVERY": 0.2, "LOOK": 0.05, "QUIET": 0.4}


@pytest.fixture(autouse=True)
def quick(monkeypatch) -> None:
    """Leases that lapse within two seconds."""
    for name, value in QUICK.items():
        monkeypatch.setattr(_lease, name, value)


def query(address: str, text: str) -> list[Any]:
    with psycopg.connect(address, autocommit=True) as connection:
        cursor = connection.execute(text.encode())
        return cursor.fetchall() if cursor.description else []


def cut(server: Any) -> None:
    query(
        server.address(),
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'rubricate' AND pid <> pg_backend_pid()",
    )


LOSSES: dict[str, Callable[[Any], None]] = {
    "its server crashes and restarts": lambda server: server.restart("immediate"),
    "its connections are cut": cut,
}


@pytest.mark.parametrize("access", ["alone", "driver", Shard(1, 2)], ids=str)
@pytest.mark.parametrize("loss", LOSSES)
def test_whoever_has_a_run_keeps_it_when(loss, access, own_postgres):
    server = own_postgres()
    place = Database(server.address(), "run")
    with closing(open_journal(place, access=access)) as journal:
        LOSSES[loss](server)
        with pytest.raises(JournalError, match=r"another process is grading into this run.*since"):
            open_journal(place, access="alone")
        journal.put("a", RECORD)
    with closing(open_journal(place)) as journal:
        assert journal.get_many(["a"]) == {"a": RECORD}


@pytest.fixture
def lost(postgres) -> Iterator[Any]:
    """A journal whose process was not seen to be alive, and whose run another process has."""
    place = Database(postgres, "run")
    first = open_journal(place)
    first.put("a", RECORD)
    first._flush()
    first.lease._ends.set()  # renews no more
    query(postgres, "UPDATE rubricate_leases SET process = ''")  # as if on another machine
    with closing(open_journal(place)) as second:
        yield first, second
    with pytest.raises(LeaseLost):
        first.close()


def test_a_process_that_was_replaced_writes_nothing_more(lost):
    first, second = lost
    second.put("a", RECORD | {"label": "second"})
    second._flush()
    for key in ("a", "b"):
        first.put(key, RECORD | {"label": "late"})
    with pytest.raises(LeaseLost, match=r"taken over by another process \(since .* process \d+ on"):
        first._flush()
    assert second.get_many(["b"]) == {}
    assert second.get_many(["a"])["a"]["label"] == "second"
    assert not first.lease.holds
    assert first.lease.is_lost


def test_a_worker_stops_when_its_driver_is_replaced_or_not_seen_to_be_alive(postgres):
    place = Database(postgres, "run")
    driver = open_journal(place, access="driver")
    worker = open_journal(place, access="worker", holder=driver.lease.holder)
    worker.put("a", RECORD)
    worker._flush()
    time.sleep(QUICK["HOLDS"] + QUICK["EVERY"])
    assert worker.lease.holds
    driver.lease._ends.set()
    time.sleep(QUICK["HOLDS"] + QUICK["EVERY"])
    assert worker.is_full
    with closing(open_journal(place, access="driver")):
        worker.put("b", RECORD)
        with pytest.raises(LeaseLost):
            worker._flush()
        keys = query(postgres, "SELECT convert_from(key, 'UTF8') FROM rubricate_records")
        assert keys == [("a",)]
    for one in (worker, driver):
        one.put("c", RECORD)
        with pytest.raises(LeaseLost):
            one.close()


PROGRAM = f"""
import sys
from rubricate.run.journal import _lease
for name, value in {QUICK!r}.items():
    setattr(_lease, name, value)
from rubricate.cli import main
main()
"""


WORKING = """
SELECT count(*) FROM pg_stat_activity
WHERE state = 'active' AND pid <> pg_backend_pid() AND datname = current_database()
"""


class Command:
    """A run as a process of its own, whose lease lapses within two seconds."""

    def __init__(self, folder: Path, endpoint: ScriptedEndpoint, address: str, *more: str) -> None:
        rubric = [{"name": "c", "requirement": "Says c"}]
        items = [{"submission": f"text {n}"} for n in range(300)]
        data = {"prompt": "p", "rubric": rubric, "items": items}
        (folder / "data.json").write_text(json.dumps(data))
        self.endpoint = endpoint
        told = [sys.executable, "-c", PROGRAM, "grade", "data.json", "--judge", "m", "--base-url"]
        told += [endpoint.url, "--no-cache", "--share-limits", "none", "--run-dir", "run"]
        told += ["--journal", address, "--concurrency", "4", *more]
        self.process = subprocess.Popen(
            told, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )

    def after(self, requests: int) -> None:
        """Wait until so many have been sent."""
        while len(self.endpoint.requests) < requests:
            assert self.process.poll() is None, self.process.communicate()
            time.sleep(0.01)

    def end(self) -> tuple[int, str]:
        _, said = self.process.communicate(timeout=60)
        return self.process.returncode, said


@pytest.fixture
def slow() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint([Rule(delay=0.02)]) as endpoint:
        yield endpoint


def lines(said: str) -> list[str]:
    return [line for line in said.splitlines() if not line.startswith("judged ")]


def test_a_process_that_was_stopped_and_replaced_says_so_and_sends_nothing_more(
    tmp_path, slow, postgres, rows
):
    first = Command(tmp_path, slow, postgres)
    first.after(60)
    first.process.send_signal(signal.SIGSTOP)
    with psycopg.connect(postgres, autocommit=True) as connection:  # what it has sent still arrives
        while connection.execute(WORKING).fetchone() != (0,):
            time.sleep(0.01)
    second = Command(tmp_path, slow, postgres)
    code, said = second.end()
    assert code == 0, said
    assert "another process held this run until" in said
    sent = [request.submission for request in slow.requests]
    written = (tmp_path / "run" / "results.jsonl").read_bytes()
    first.process.send_signal(signal.SIGCONT)
    code, said = first.end()
    assert code == 1
    assert re.fullmatch(r"Error: .*this run was taken over by another process .*", lines(said)[-1])
    # But for the one that it had checked and was about to write when it was stopped.
    assert len(slow.requests) <= len(sent) + 1
    assert sum(Counter(sent).values()) - len(Counter(sent)) <= 4 + 128
    assert (tmp_path / "run" / "results.jsonl").read_bytes() == written
    assert {row["status"] for row in rows(tmp_path / "run")} == {"judged"}


def test_a_run_whose_process_was_killed_is_free_at_once_on_its_machine(tmp_path, slow, postgres):
    first = Command(tmp_path, slow, postgres)
    first.after(60)
    first.process.kill()
    begin = time.monotonic()
    with closing(open_journal(Database(postgres, "run"))):
        assert time.monotonic() - begin < QUICK["LEASE"]
    first.end()


@pytest.mark.parametrize(
    ("process", "is_dead"),
    [
        ("{own} {pid} {began}", False),
        ("{own} {pid} 1", True),
        ("{own} 1 1", not os.geteuid()),
        ("{own} 4194303 1", True),
        ("another-boot 4026531836 4194303 1", False),
        ("{boot} 1 4194303 1", False),
        ("", False),
    ],
)
def test_a_process_is_known_to_be_dead_only_on_its_own_machine_boot_and_container(process, is_dead):
    boot, space, pid, began = _lease._identity().split()
    told = process.format(own=f"{boot} {space}", boot=boot, pid=pid, began=began)
    assert _lease._is_dead(told) == is_dead


def test_several_that_wait_for_one_lease_do_not_all_get_it(postgres):
    place = Database(postgres, "run")
    dead = open_journal(place, access="driver")
    dead.lease._ends.set()
    got, refused = [], []

    def wait() -> None:
        try:
            got.append(open_journal(place))
        except JournalError as error:
            refused.append(str(error))

    threads = [threading.Thread(target=wait) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(got), len(refused)) == (1, 3)
    got[0].close()
    dead.put("a", RECORD)
    with pytest.raises(LeaseLost):
        dead.close()
