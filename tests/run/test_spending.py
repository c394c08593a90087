"""What a run costs: one account, whatever commands and processes spend, and however they end."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from paid import MET, PRICE, graded, paid_dataset

import rubricate
from rubricate import PythonModel, Usage
from rubricate.analysis import list_runs
from rubricate.errors import RunStopped
from rubricate.judge import Completion
from rubricate.report import write_report
from rubricate.run._progress import Progress
from rubricate.run.journal import Price, _ledger
from rubricate.run.journal._ledger import Entry, Ledger, entry_of
from rubricate.run.results import Outcome
from rubricate.testing import ScriptedEndpoint
from rubricate.views import dollars

HERE = Path(__file__).parent


@pytest.fixture(autouse=True)
def _soon_dead(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends in this process begins when the others have ended: it waits less for their word."""
    monkeypatch.setattr(_ledger, "ALIVE", 1.0)


class Run:
    """A run in a folder, whose every request costs a cent and is counted where it is sent."""

    def __init__(self, folder: Path, journal: str | None = None) -> None:
        self.folder, self.journal = folder, journal
        self.bill = folder.with_name("bill")
        self.bill.touch()

    @property
    def billed(self) -> int:
        """Requests that were sent so far."""
        return self.bill.stat().st_size

    def _options(self, bound: float | None, more: dict[str, Any]) -> dict[str, Any]:
        folder = {"run_dir": str(self.folder), "journal": self.journal}
        return {**folder, "max_cost": bound, "concurrency": 4, **more}

    def begin(
        self, bound: float | None, *, items: int = 400, delay: float = 0.005, **more: Any
    ) -> subprocess.Popen[str]:
        """A process of its own."""
        options = json.dumps(self._options(bound, more))
        command = [sys.executable, "-c", "import paid; paid.main()", options]
        command += [str(self.bill), str(items), str(delay)]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=HERE)

    def end(
        self, bound: float | None, *, items: int = 400, delay: float = 0.001, **more: Any
    ) -> str:
        """What ended a run that nobody kills, in this process."""
        return graded(self._options(bound, more), self.bill, items, delay)

    def kill(self, bound: float | None, after: int, **more: Any) -> None:
        """Kill a command once so many requests were sent."""
        process, before = self.begin(bound, **more), self.billed
        while self.billed - before < after:
            assert process.poll() is None
            time.sleep(0.001)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(params=["file", "database"])
def run(request: pytest.FixtureRequest, tmp_path: Path) -> Run:
    journal = request.getfixturevalue("postgres") if request.param == "database" else None
    return Run(tmp_path / "run", journal)


def test_shards_repeated_commands_and_the_whole_run_spend_one_bound(run: Run):
    shards = [run.begin(1.0, shard=f"{number}/3") for number in (1, 2, 3)]
    ends = [one.communicate(timeout=60)[0] for one in shards]
    assert 95 <= run.billed <= 101
    assert any("the maximum cost of $1 is reached" in end for end in ends)
    before = run.billed
    assert "other commands or processes" in run.end(1.0, shard="2/3")
    assert "other commands or processes" in run.end(1.0)
    assert run.billed - before <= 101 - before
    before = run.billed
    run.end(1.5)
    assert 145 <= run.billed <= 151
    assert run.end(None) == "finished"
    assert run.billed == 400


def test_what_was_paid_without_a_bound_counts_when_one_is_given(run: Run):
    assert run.end(None, items=30) == "finished"
    assert "is reached" in run.end(0.5)
    assert 49 <= run.billed <= 51


@pytest.mark.parametrize("after", [1, 3, 20])
def test_a_killed_run_is_resumed_to_its_bound_and_not_beyond(tmp_path: Path, after: int):
    run = Run(tmp_path / "run")
    for _ in range(3):
        run.kill(1.0, after, delay=0.02)
    assert "is reached" in run.end(1.0)
    assert 85 <= run.billed <= 100


def test_a_killed_run_is_resumed_to_its_bound_in_a_database(tmp_path: Path, postgres: str):
    run = Run(tmp_path / "run", postgres)
    run.kill(1.0, 20, delay=0.02)
    assert "is reached" in run.end(1.0)
    assert 92 <= run.billed <= 100


def test_a_run_that_is_killed_with_many_in_flight_counts_what_was_sent(tmp_path: Path):
    run = Run(tmp_path / "run")
    run.kill(1.0, 12, delay=5.0, concurrency=64)  # sent, and billed, and never answered
    sent = run.billed
    run.end(1.0)
    assert sent < run.billed <= 101
    assert run.billed >= 90


def test_a_killed_shard_keeps_the_others_from_nothing_but_what_it_may_have_sent(run: Run):
    other = run.begin(1.0, shard="2/2", delay=0.02)
    run.kill(1.0, 20, shard="1/2", delay=0.02)
    other.communicate(timeout=60)
    run.end(1.0)
    # 99 or 100 on a quiet machine; on a busy one the killed shard has reserved more at once.
    assert 70 <= run.billed <= 101


def test_a_new_beginning_has_a_new_account(run: Run):
    run.end(0.3)
    assert 29 <= run.billed <= 31
    run.end(0.3, fresh=True)
    assert 59 <= run.billed <= 62


def test_a_run_folder_that_is_moved_has_its_account_with_it(tmp_path: Path):
    run = Run(tmp_path / "run")
    run.end(0.3)
    moved = Run(tmp_path / "moved")
    shutil.copytree(run.folder, moved.folder)
    moved.end(0.4)
    assert 39 <= moved.billed <= 41


def test_answers_from_the_cache_cost_the_run_nothing(tmp_path: Path):
    cache = str(tmp_path / "cache")
    Run(tmp_path / "one").end(None, items=50, cache=cache)
    run = Run(tmp_path / "other")
    run.end(0.2, items=100, cache=cache)
    assert 69 <= run.billed <= 71


def test_a_run_that_takes_all_from_the_cache_has_a_known_cost_however_often_it_runs(
    make_dataset, tmp_path, endpoint
):
    options = {"base_url": endpoint.url, "cache": tmp_path / "cache"}
    rubricate.grade(make_dataset(2), "m", run_dir=tmp_path / "one", **options)
    for _ in range(2):
        again = rubricate.grade(make_dataset(2), "m", run_dir=tmp_path / "two", **options)
        assert again.calls == 0
        assert again.run_usage.cost == 0.0


def test_answers_without_an_account_are_reused_and_have_an_unknown_cost(run: Run):
    run.end(None, items=30)
    if run.journal is None:
        with closing(sqlite3.connect(run.folder / "journal.sqlite")) as database:
            database.execute("DROP TABLE spending")
    else:
        with psycopg.connect(run.journal) as connection:
            connection.execute("DELETE FROM rubricate_spending")
    assert run.end(None, items=30) == "finished"
    assert "what this run has paid so far is not known" in run.end(0.5)
    assert run.billed == 30


def test_a_damaged_journal_has_cost_what_can_be_read_of_it(tmp_path: Path):
    run = Run(tmp_path / "run")
    run.end(None, items=300)
    path = run.folder / "journal.sqlite"
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 20_000] = os.urandom(20_000)
    path.write_bytes(content)
    assert "is reached" in run.end(2.0)
    assert run.billed == 300


def test_an_entry_that_cannot_be_read_is_an_unknown_cost(tmp_path: Path):
    run = Run(tmp_path / "run")
    run.end(None, items=30)
    with closing(sqlite3.connect(run.folder / "journal.sqlite")) as database:
        database.execute("UPDATE spending SET usage = x'7b'")
        database.commit()
    assert "what this run has paid so far is not known" in run.end(0.5)
    assert run.billed == 30


PRICES = {"cheap": 0.01, "dear": 1.0, "dear too": 1.0, "as dear": 1.0}


@given(
    st.lists(
        st.tuples(
            st.integers(0, 3),
            st.sampled_from(["cheap", *PRICES, "answer", "answer", "commit", "killed"]),
        ),
        max_size=200,
    ),
    st.sampled_from([0.5, 2.0, 10.0]),
)
def test_no_choice_of_models_processes_and_kills_exceeds_a_bound_by_more_than_one_request(
    steps, bound
):
    """Every process asks a cheap and three dear models as it likes, and some die with requests in
    flight; nobody knows beforehand what a request costs."""
    rows: dict[str, tuple[Any, bool]] = {}

    def process() -> Any:
        async def exchange(decide: Any) -> None:
            decide({name: entry for name, entry in entries().items() if name != ledger.process})
            rows[ledger.process] = ledger.row(), True

        ledger, progress = Ledger(exchange), Progress(0)
        ledger.add(progress)
        return ledger, progress, []

    def entries() -> dict[str, Entry]:
        return {
            name: replace(entry_of(row, row.written), alive=is_alive)
            for name, (row, is_alive) in rows.items()
        }

    def heard() -> set[str]:
        kept = [account for entry in entries().values() for account in entry.requests.items()]
        return {name for name, account in kept if account.ended}

    async def play() -> None:
        processes, billed = [process() for _ in range(4)], 0.0
        lost = 0  # requests of killed processes to models of which nobody knows what they cost
        for index, step in steps:
            ledger, progress, flying = processes[index]
            if step in PRICES:
                try:
                    async with asyncio.timeout(0):
                        if await ledger.reserve(bound, price := Price(step)) == "granted":
                            flying.append(price)
                            billed += PRICES[step]
                except TimeoutError:
                    pass  # others may give something back
            elif step == "answer" and flying:
                price = flying.pop(0)
                progress.takes(usage := Usage(requests=1, cost=PRICES[price.account]))
                ledger.settle(price, usage, is_answered=True)
            elif step == "commit" and (row := ledger.due_row()) is not None:
                rows[ledger.process] = row, True
            elif step == "killed":
                known = heard()
                for name, account in ledger.requests.own.items():
                    lost += 0 if name in known else account.open + account.ended
                if ledger.process in rows:
                    rows[ledger.process] = rows[ledger.process][0], False
                processes[index] = process()
        assert billed <= bound + PRICES["dear"] * (1 + lost)
        for index, (ledger, _, _) in enumerate(processes):
            if ledger.process in rows:
                rows[ledger.process] = rows[ledger.process][0], False
            processes[index] = process()
        if heard() == {*PRICES}:
            shown = processes[0][0].total(entries().values())
            assert shown.cost >= billed - 1e-9

    asyncio.run(play())


def test_a_pause_of_the_process_allots_no_more_than_is_left(monkeypatch: pytest.MonkeyPatch):
    """What is in flight seems to take long where the process has stood still meanwhile."""
    clock = [0.0, 0.001]  # now, and how far each look moves it

    def monotonic() -> float:
        clock[0] += clock[1]
        return clock[0]

    async def exchange(decide: Any) -> None:
        decide({})

    async def play() -> float:
        ledger, progress = Ledger(exchange), Progress(0)
        ledger.add(progress)
        for _ in range(20):
            clock[1] = 10.0 if progress.usage.requests == 11 else 0.001
            if await ledger.reserve(0.12, price := Price("model")) != "granted":
                break
            progress.takes(Usage(requests=1, cost=0.01))
            ledger.settle(price, Usage(requests=1, cost=0.01), is_answered=True)
        return progress.usage.cost or 0.0

    monkeypatch.setattr("rubricate.run.journal._accounts.time.monotonic", monotonic)
    assert asyncio.run(play()) <= 0.12 + 1e-9


def test_what_was_paid_without_a_price_is_priced_by_its_tokens(tmp_path: Path):
    prices = tmp_path / "prices.yaml"
    prices.write_text("m: {input: 1000, output: 1000}\n")
    dataset = paid_dataset(40)
    with ScriptedEndpoint() as endpoint:
        told = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
        first = rubricate.grade(dataset, "m", limit=20, **told)
        tokens = first.usage.input_tokens + first.usage.output_tokens
        for bound in (tokens * 0.0009, tokens * 0.00125):
            with pytest.raises(RunStopped, match="is reached"):
                rubricate.grade(dataset, "m", max_cost=bound, prices=prices, **told)
        assert 24 <= len(endpoint.requests) <= 25


@pytest.mark.parametrize("bound", [None, 5.0])
def test_a_run_says_what_it_cost_in_all_and_what_its_last_command_paid(
    tmp_path: Path, bound: float | None
):
    calls = 0

    async def judge(messages: Any) -> Completion:
        nonlocal calls
        calls += 1
        return Completion(MET, Usage(requests=1, cost=PRICE))

    dataset = paid_dataset(30)
    model = PythonModel(judge, name="paid")
    for limit, paid, ever in ((20, 0.2, 0.2), (30, 0.1, 0.3), (30, 0.0, 0.3)):
        found = rubricate.grade(
            dataset, model, limit=limit, run_dir=tmp_path / "runs/r", max_cost=bound
        )
        summary = json.loads((tmp_path / "runs/r/summary.json").read_text())
        [listed] = list_runs(tmp_path / "runs").runs
        for now, in_all in (
            (found.usage.cost, found.run_usage.cost),
            (summary["usage"]["cost"], summary["usage"]["run_cost"]),
            (listed.cost, listed.run_cost),
        ):
            assert (now, in_all) == (pytest.approx(paid), pytest.approx(ever))
        both = f"${ever:.4f} in all, {dollars(paid)} of it by the last command"
        assert (both if paid != ever else f"${ever:.4f}") in str(found.summary())
    assert calls == 30
    write_report(tmp_path / "runs/r")
    page = (tmp_path / "runs/r/report.html").read_text()
    assert "$0.3000" in page
    assert "$0 by the last command" in page


def test_a_summary_of_an_earlier_version_has_cost_what_its_answers_did():
    report = {"judge": "m", "note": None, "run_dir": None, "stopped": None, "first_error": None}
    report |= {"verdicts": {"judged": 3, "failed": 0}, "not_run": 0, "errors": {}}
    for cost, ever in ((0.0, 0.25), (None, None)):
        usage = {"calls": 0, "resumed": 3, "cost": cost, "saved_cost": 0.25}
        assert Outcome.model_validate({**report, "usage": usage}).usage.run_cost == ever


def test_a_report_of_an_earlier_version_has_its_figures():
    report = {"judge": "m", "note": None, "run_dir": None, "stopped": None, "first_error": None}
    report |= {"calls": 4, "known": 2, "failed": 1, "not_run": 0, "errors": {"timeout": 1}}
    found = Outcome.model_validate({**report, "cost": 0.5, "run_cost": 0.75})
    assert found.verdicts == {"judged": 5, "failed": 1, "not_run": 0}
    usage = found.usage
    assert (usage.calls, usage.resumed, usage.cost, usage.run_cost) == (4, 2, 0.5, 0.75)


@pytest.mark.parametrize("bound", [None, 1.0])
@pytest.mark.parametrize("delay", [0.02, 0.5])
def test_what_is_shown_of_a_run_that_was_killed_is_not_less_than_what_was_billed(
    tmp_path: Path, bound: float | None, delay: float
):
    run = Run(tmp_path / "run")
    for after in (6, 10):
        run.kill(bound, after, delay=delay)
    killed = run.billed
    run.end(bound, items=60, delay=0.005)
    usage = json.loads((run.folder / "summary.json").read_text())["usage"]
    # Without a bound nothing is noted before it is sent: the last 0.2 s of a killed run may be
    # missing, in which quick answers came.
    missing = killed if bound is None and delay < 0.2 else 0
    # With one, it counts the 4 that are in flight, each for twice as much at most, and 3 % of what
    # is left; without, as many again as are in flight and were answered since the last entry.
    more = 2 * (8 + 3) if bound else 2 * (8 + 10)
    assert PRICE * (run.billed - missing - 0.1) <= usage["run_cost"]
    assert usage["run_cost"] <= PRICE * (run.billed + more + 0.1)
    assert usage["run_estimated_cost"] <= usage["run_cost"]


def test_a_report_of_an_earlier_version_counts_what_was_not_run_apart():
    report = {"judge": "m", "note": None, "run_dir": None, "stopped": "late", "first_error": None}
    report |= {"verdicts": {"judged": 3, "failed": 9}, "not_run": 7}
    report |= {"errors": {"server": 2, "not_run": 7}, "usage": {"calls": 5, "resumed": 0}}
    found = Outcome.model_validate(report)
    assert found.verdicts == {"judged": 3, "failed": 2, "not_run": 7}
    assert (found.failed, found.not_run, found.errors) == (2, 7, {"server": 2})
