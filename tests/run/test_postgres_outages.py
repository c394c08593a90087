"""A database that goes away in mid-run: it is waited for, and nothing is lost."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

import rubricate
from rubricate.errors import JournalError
from rubricate.testing import Rule, ScriptedEndpoint

ITEMS = 60


@pytest.fixture
def slow() -> Iterator[ScriptedEndpoint]:
    with ScriptedEndpoint([Rule(delay=0.02)]) as endpoint:
        yield endpoint


def query(address: str, text: str) -> None:
    with psycopg.connect(address, autocommit=True) as connection:
        for statement in text.split(";;"):
            connection.execute(statement.encode())


def committed(address: str) -> int:
    with psycopg.connect(address) as connection:
        (found,) = connection.execute("SELECT count(*) FROM rubricate_records").fetchone()
        return found


class Grading:
    """A run in a thread of its own."""

    def __init__(self, endpoint: ScriptedEndpoint, dataset: Any, **options: Any) -> None:
        self.endpoint, self.dataset = endpoint, dataset
        self.options = {"base_url": endpoint.url, "concurrency": 4, **options}
        self.troubles: set[str | None] = set()
        self.result: Any = None
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def _run(self) -> None:
        try:
            self.result = rubricate.grade(
                self.dataset,
                "m",
                on_progress=lambda progress: self.troubles.add(progress.trouble),
                **self.options,
            )
        except JournalError as error:
            self.result = error

    def after(self, requests: int) -> None:
        """Wait until so many have been sent."""
        while len(self.endpoint.requests) < requests and self.thread.is_alive():
            time.sleep(0.002)
        assert self.thread.is_alive(), self.result

    def end(self) -> Any:
        self.thread.join(60)
        assert not self.thread.is_alive()
        return self.result

    def again(self) -> Any:
        return rubricate.grade(self.dataset, "m", **self.options)


def test_a_server_that_is_restarted_in_mid_run_is_waited_for(
    make_dataset, tmp_path: Path, slow, own_postgres
):
    server = own_postgres()
    grading = Grading(slow, make_dataset(ITEMS), run_dir=tmp_path / "run", journal=server.address())
    grading.after(30)
    server.stop("immediate")
    time.sleep(0.6)
    server.start()
    result = grading.end()
    assert (result.calls, result.failed) == (2 * ITEMS, 0)
    assert len(slow.requests) == 2 * ITEMS
    assert any(trouble and "waiting for it" in trouble for trouble in grading.troubles)
    assert grading.again().resumed == 2 * ITEMS


def test_a_server_that_stays_away_stops_the_run_which_then_goes_on_from_there(
    make_dataset, tmp_path: Path, slow, own_postgres
):
    server = own_postgres()
    grading = Grading(
        slow,
        make_dataset(ITEMS),
        run_dir=tmp_path / "run",
        journal=server.address(),
        max_outage=0.5,
    )
    grading.after(10)
    while not committed(server.address()):
        grading.after(0)
    server.stop()
    error = grading.end()
    assert isinstance(error, JournalError)
    assert re.search(r"away for \d+ s.*same command resumes it", str(error))
    assert len(str(error).splitlines()) == 1
    server.start()
    result = grading.again()
    assert (result.failed, result.calls + result.resumed) == (0, 2 * ITEMS)
    assert result.resumed > 0
    assert len(slow.requests) <= 2 * ITEMS + 128 + 4


def test_a_second_ctrl_c_while_the_server_is_away_ends_at_once_in_one_line(
    tmp_path: Path, slow, own_postgres
):
    server = own_postgres()
    rubric = [{"name": "c", "requirement": "Says c"}]
    items = [{"submission": f"text {n}"} for n in range(300)]
    data = {"prompt": "p", "rubric": rubric, "items": items}
    (tmp_path / "data.json").write_text(json.dumps(data))
    command = [sys.executable, "-c", "from rubricate.cli import main; main()", "grade"]
    command += ["data.json", "--judge", "m", "--base-url", slow.url, "--no-cache", "--quiet"]
    command += ["--run-dir", "run", "--journal", server.address(), "--share-limits", "none"]
    with subprocess.Popen(
        [*command, "--concurrency", "4"], cwd=tmp_path, stderr=subprocess.PIPE, text=True
    ) as process:
        while len(slow.requests) < 30 and process.poll() is None:
            time.sleep(0.01)
        server.stop("immediate")
        time.sleep(0.5)
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.5)
        _, said = process.communicate(timeout=30)
    assert (process.returncode, said) == (130, "Interrupted.\n")


FAULTS: dict[str, tuple[str, str]] = {
    "its connections are ended": (
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'rubricate' AND datname = current_database()",
        "SELECT 1",
    ),
    "it is read-only after a failover": (
        "ALTER DATABASE {name} SET default_transaction_read_only = on;;"
        " SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'rubricate' AND datname = current_database()",
        "SET default_transaction_read_only = off;;"
        " ALTER DATABASE {name} SET default_transaction_read_only = off",
    ),
    "its statements take longer than they may": (
        "CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(9); RETURN NEW; END $$;"
        " CREATE TRIGGER slow BEFORE INSERT ON rubricate_records EXECUTE FUNCTION slow();;"
        " ALTER DATABASE {name} SET statement_timeout = '100ms';;"
        " SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE application_name = 'rubricate' AND datname = current_database()",
        # The new timeout holds for this connection too: alone, it might wait for longer than that.
        "SET statement_timeout = 0;; DROP TRIGGER slow ON rubricate_records",
    ),
    "its disk is full": (
        "CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS"
        " $$ BEGIN RAISE EXCEPTION 'could not extend file: No space left on device'"
        " USING ERRCODE = '53100'; END $$;"
        " CREATE TRIGGER full_disk BEFORE INSERT ON rubricate_records"
        " EXECUTE FUNCTION full_disk()",
        "DROP TRIGGER full_disk ON rubricate_records",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_passes_is_waited_for(make_dataset, tmp_path: Path, slow, postgres, fault):
    name = re.search(r"/(t\w+)\?", postgres)[1]
    begin, end = (text.replace("{name}", name) for text in FAULTS[fault])
    grading = Grading(slow, make_dataset(ITEMS), run_dir=tmp_path / "run", journal=postgres)
    grading.after(30)
    query(postgres, begin)
    time.sleep(0.6)
    query(postgres, end)
    result = grading.end()
    assert (result.calls, result.failed) == (2 * ITEMS, 0)
    assert len(slow.requests) == 2 * ITEMS
    assert grading.again().resumed == 2 * ITEMS


def test_a_statement_that_a_person_cancels_is_not_sent_again(
    make_dataset, tmp_path, slow, postgres
):
    grading = Grading(slow, make_dataset(10 * ITEMS), run_dir=tmp_path / "run", journal=postgres)
    grading.after(30)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("BEGIN; LOCK TABLE rubricate_records")
        cancel = (
            # Whatever waits for the lock: answers that are written, or a look-up before them.
            "SELECT pg_cancel_backend(pid) FROM pg_stat_activity"
            " WHERE wait_event_type = 'Lock' AND datname = current_database()"
        )
        while not connection.execute(cancel).fetchall():
            grading.after(0)
            time.sleep(0.01)
    error = grading.end()  # without the lock, for which what it looks up at its end would wait
    assert "canceling statement" in str(error)
    assert len(str(error).splitlines()) == 1


NO_STANDBY = "ALTER SYSTEM SET synchronous_standby_names = 'gone';; SELECT pg_reload_conf()"
STANDBY = "ALTER SYSTEM RESET synchronous_standby_names;; SELECT pg_reload_conf()"


@pytest.mark.parametrize("comes_back", [True, False])
def test_a_commit_that_waits_for_a_standby_is_told_of_and_bounded(
    comes_back: bool, make_dataset, tmp_path, slow, own_postgres, monkeypatch
):
    from rubricate.run.journal import _server as server_module

    monkeypatch.setattr(server_module, "SILENT", 0.2)
    server = own_postgres()
    told = {"run_dir": tmp_path / "run", "journal": server.address()}
    bound = 120.0 if comes_back else 1.0
    grading = Grading(slow, make_dataset(4 * ITEMS), **told, max_outage=bound)
    grading.after(30)
    query(server.address(), NO_STANDBY)
    while comes_back and not any(one and "standby" in one for one in [*grading.troubles]):
        grading.after(0)
    if comes_back:
        query(server.address(), STANDBY)
    result = grading.end()
    assert any(one and "standby" in one for one in [*grading.troubles])
    if not comes_back:
        assert "away for" in str(result)
        assert len(str(result).splitlines()) == 1
        query(server.address(), STANDBY)
        result = grading.again()
    assert (result.failed, result.calls + result.resumed) == (0, 8 * ITEMS)


@pytest.mark.parametrize("waits", [True, False])
def test_a_database_without_a_free_connection_is_waited_for_and_called_that(
    waits: bool, make_dataset, tmp_path, slow, own_postgres, caplog
):
    server = own_postgres(max_connections="5")
    others = [psycopg.connect(server.address()) for _ in range(5)]
    told = {"run_dir": tmp_path / "run", "journal": server.address()}
    bound = 120.0 if waits else 0.3
    grading = Grading(slow, make_dataset(ITEMS), **told, max_outage=bound)
    while waits and "all its connections are in use" not in caplog.text:
        assert grading.thread.is_alive()
        time.sleep(0.01)
    if not waits:
        grading.thread.join(60)
    for one in others:
        one.close()
    result = grading.end()
    if waits:
        assert (result.calls, result.failed) == (2 * ITEMS, 0)
    else:
        assert "all its connections have been in use for" in str(result)
        assert "max_connections" in str(result)
        assert slow.requests == []


def test_tables_that_are_dropped_in_mid_run_stop_it_in_one_line(
    make_dataset, tmp_path: Path, slow, postgres
):
    grading = Grading(slow, make_dataset(ITEMS), run_dir=tmp_path / "run", journal=postgres)
    grading.after(30)
    query(postgres, "DROP TABLE rubricate_records")
    error = grading.end()
    assert "the tables were taken away" in str(error)
    assert len(str(error).splitlines()) == 1


def test_a_killed_process_loses_no_more_than_is_said(
    make_dataset: Callable[..., Any], tmp_path: Path, postgres
):
    from rubricate.run.journal import Database
    from rubricate.run.journal._postgres import MOST, PostgresJournal

    journal = PostgresJournal(Database(postgres, "r"))
    blocker = psycopg.connect(postgres)
    blocker.execute("LOCK TABLE rubricate_records")  # nothing can be written
    put = 0
    while not journal.is_full:
        journal.put(f"k{put}", {"status": "judged"})
        put += 1
    assert put == MOST
    blocker.close()
    journal.close()
    again = PostgresJournal(Database(postgres, "r"))
    assert len(again.get_many([f"k{n}" for n in range(put)])) == put
    again.close()
