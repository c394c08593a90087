"""The journal: durable, exclusive, and clear about what it cannot use."""

from __future__ import annotations

import asyncio
import math
import os
import random
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate.errors import InputError, JournalError
from rubricate.run.journal import Database, MemoryJournal, open_journal, to_json
from rubricate.run.journal._journal import BATCH
from rubricate.run.journal._sqlite import INTERVAL, SQLiteJournal
from rubricate.testing import Rule, ScriptedEndpoint

MET = {"reason": "r", "evidence": [], "verdict": "MET"}
RECORD = {"status": "judged", "label": "MET"}


def stored(path: Path) -> int:
    """How many records another reader would find on disk."""
    copy = sqlite3.connect(":memory:")
    source = sqlite3.connect(path)
    try:
        source.backup(copy)
        return copy.execute("SELECT count(*) FROM records").fetchone()[0]
    finally:
        source.close()
        copy.close()


def test_a_record_is_found_before_and_after_its_commit_and_in_the_next_process(tmp_path):
    path = tmp_path / "j.sqlite"
    with closing(SQLiteJournal(path)) as journal:
        journal.put("a", RECORD)
        assert journal.get_many(["a"]) == {"a": RECORD}
        journal.commit()
        assert journal.get_many(["a"]) == {"a": RECORD}
        assert journal.get_many(["b"]) == {}
    with closing(SQLiteJournal(path)) as journal:
        assert journal.get_many(["a"]) == {"a": RECORD}


@pytest.mark.parametrize("kind", ["file", "memory"])
def test_a_later_record_replaces_an_earlier_one(kind, tmp_path):
    made = MemoryJournal() if kind == "memory" else SQLiteJournal(tmp_path / "j.sqlite")
    with closing(made) as journal:
        journal.put("a", {"status": "failed", "label": None})
        journal.commit()
        journal.put("a", RECORD)
        assert journal.get_many(["a"]) == {"a": RECORD}


def test_records_are_committed_in_batches_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr("rubricate.run.journal._sqlite.INTERVAL", 3600.0)
    journal = SQLiteJournal(tmp_path / "j.sqlite")
    for index in range(BATCH):
        assert len(journal._waiting) == index
        journal.put(f"k{index}", RECORD)
    assert journal._waiting == {}
    journal._database.close()
    assert stored(tmp_path / "j.sqlite") == BATCH


def test_records_are_committed_after_a_bounded_time(tmp_path, monkeypatch):
    monkeypatch.setattr("rubricate.run.journal._sqlite.INTERVAL", 0.0)
    with closing(SQLiteJournal(tmp_path / "j.sqlite")) as journal:
        journal.put("a", RECORD)
        assert journal._waiting == {}


def test_a_batch_that_cannot_be_written_is_told_and_written_when_it_can_be(tmp_path, monkeypatch):
    # On a machine that stalls, a put would commit by itself, because the last commit is long ago.
    monkeypatch.setattr("rubricate.run.journal._sqlite.INTERVAL", math.inf)
    with closing(SQLiteJournal(tmp_path / "j.sqlite")) as journal:
        run = journal._database.execute
        run("CREATE TRIGGER full BEFORE INSERT ON records BEGIN SELECT RAISE(FAIL, 'full'); END")
        journal.put("a", {"status": "failed", "label": None}, b"first")
        with pytest.raises(JournalError, match="make room"):
            journal.commit()
        journal.put("a", RECORD, b"second")
        assert journal.get_many(["a"]) == {"a": RECORD}
        run("DROP TRIGGER full")
    with closing(SQLiteJournal(tmp_path / "j.sqlite")) as journal:
        assert journal.get_many(["a"]) == {"a": RECORD}
        assert journal.exchanges(["a"]) == {"a": b"firstsecond"}


def test_a_new_journal_finds_what_it_wrote_long_ago(tmp_path):
    with closing(SQLiteJournal(tmp_path / "j.sqlite")) as journal:
        keys = [f"k{index}" for index in range(10 * BATCH)]
        for key in keys:
            journal.put(key, RECORD)
        assert journal.get_many([*keys, "another"]) == dict.fromkeys(keys, RECORD)


REASONS = {
    "plain": "It says so in the first sentence, and again in the last one.",
    "quotes": 'It says "so" in C:\\new\n\tand in the last one. ' * 3,
    "other scripts": "因为第一句话这样说,最后一句话也这样说。" * 9,
    "half a pair": "It says so \ud83d in the first sentence, and again in the last one.",
    "short": "It does.",
    "long": "It says so in the first sentence. " * 400,
}


@pytest.mark.parametrize("reason", REASONS.values(), ids=REASONS)
@pytest.mark.parametrize("store", ["file", "database"])
def test_a_reason_is_stored_once_and_read_as_it_was_given(tmp_path, request, store, reason):
    """In the reply, to which the record refers, also behind the replies of earlier attempts."""
    is_file = store == "file"
    place = tmp_path / "j" if is_file else Database(request.getfixturevalue("postgres"), "r")
    lines = [
        to_json({"reply": to_json({"reason": reason, "verdict": verdict}).decode()}) + b"\n"
        for verdict in ("UNMET", "MET")
    ]
    whole, other = ({**RECORD, "reason": text} for text in (reason, "Another reason, " * 9))
    for record, line in zip((other, whole), lines, strict=True):
        with closing(open_journal(place)) as journal:
            journal.put("a", record, line)
            journal.put("b", record)
    kept = {**whole, "reason": reason.encode("utf-8", "replace").decode()}
    with closing(open_journal(place, access="reading")) as journal:
        assert journal.get_many(["a", "b"]) == {"a": kept, "b": kept}
        assert journal.exchanges(["a"]) == {"a": b"".join(lines)}
        ((_, record, *_),) = journal._rows(["a"])
    assert (b'"reason":"' in record) == (reason == REASONS["short"])


def test_a_record_whose_reason_is_damaged_in_the_reply_is_damaged(tmp_path):
    reason = REASONS["plain"]
    with closing(SQLiteJournal(tmp_path / "j")) as journal:
        journal.put("a", {**RECORD, "reason": reason}, b"another reply")
        journal.put("b", {**RECORD, "reason": reason}, to_json(to_json(reason).decode()))
        journal.commit()
        change = "UPDATE records SET exchanges = CAST(replace(exchanges, 'last', 'lost') AS BLOB)"
        journal._database.execute(change)
        assert journal.get_many(["a", "b"]).keys() == {"a"}
        assert journal.damaged == 1


def test_a_journal_in_use_is_refused(tmp_path):
    with (
        closing(SQLiteJournal(tmp_path / "j.sqlite")),
        pytest.raises(JournalError, match="another process is grading into this run folder"),
    ):
        SQLiteJournal(tmp_path / "j.sqlite")


def test_a_journal_of_another_format_is_refused(tmp_path):
    with closing(SQLiteJournal(tmp_path / "j.sqlite")) as journal:
        journal._database.execute("PRAGMA user_version=99")
    with pytest.raises(JournalError, match="another version of rubricate"):
        SQLiteJournal(tmp_path / "j.sqlite")


def corrupt(make_dataset: Any, folder: Path, content: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "journal.sqlite").write_bytes(content)
    with pytest.raises(JournalError) as caught:
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=folder)
    return str(caught.value)


def test_a_file_that_is_no_journal_is_an_error_that_names_it_and_left_as_it_is(
    make_dataset, tmp_path
):
    path, content = tmp_path / "run" / "journal.sqlite", b"somebody's own file " * 100
    message = corrupt(make_dataset, tmp_path / "run", content)
    assert message.startswith(str(path))
    assert len(message.splitlines()) == 1
    assert path.read_bytes() == content


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_journal_is_an_error_that_names_it_or_is_read(tmp_path, seed: int, monkeypatch):
    monkeypatch.setattr("rubricate.run.journal._sqlite.time.time", lambda: 1.0)
    path = tmp_path / "j.sqlite"
    with closing(SQLiteJournal(path)) as journal:
        for index in range(200):
            journal.put(f"key {index}", RECORD)
    content = bytearray(path.read_bytes())
    chance = random.Random(seed)
    for _ in range(10 * seed):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    try:
        with closing(SQLiteJournal(path)) as journal:
            for index in range(200):
                journal.get_many([f"key {index}"])
                journal.put(f"key {index}", RECORD)
    except JournalError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 (it need not be raised)


@pytest.mark.parametrize("cut_short", [False, True])
def test_of_a_damaged_journal_what_can_be_read_counts_and_the_rest_is_asked_again(
    make_dataset, tmp_path, endpoint, caplog, rows, cut_short
):
    folder = tmp_path / "run"
    options = {"base_url": endpoint.url, "run_dir": folder}
    rubricate.grade(make_dataset(40), "m", **options)
    path = folder / "journal.sqlite"
    content = path.read_bytes()
    pages = range(4096, len(content), 4096)
    of_records = [page for page in pages if b'"status":"judged"' in content[page : page + 4096]]
    page = of_records[len(of_records) // 2]
    rest = b"" if cut_short else bytes(4096) + content[page + 4096 :]
    damaged = content[:page] + rest
    path.write_bytes(damaged)
    result = rubricate.grade(make_dataset(40), "m", **options)
    assert result.failed == 0
    assert result.calls > 0 < result.resumed
    assert (folder / "journal-1.sqlite").read_bytes() == damaged
    (warning,) = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warning.startswith(f"{path}: it was damaged; {result.resumed} of its answers can be")
    assert rubricate.grade(make_dataset(40), "m", **options).calls == 0
    assert len(rows(folder)) == 80


def test_a_journal_of_which_nothing_can_be_read_costs_no_results(make_dataset, tmp_path, endpoint):
    folder = tmp_path / "run"
    options = {"base_url": endpoint.url, "run_dir": folder}
    rubricate.grade(make_dataset(20), "m", **options)
    path, results = folder / "journal.sqlite", (folder / "results.jsonl").read_bytes()
    path.write_bytes(path.read_bytes()[:4096])
    with pytest.raises(JournalError, match="malformed") as caught:
        rubricate.grade(make_dataset(20), "m", **options)
    assert str(path) in str(caught.value)
    assert (folder / "results.jsonl").read_bytes() == results
    assert sorted(folder.glob("*journal*")) == [path]


@pytest.mark.parametrize("fresh", [True, False])
def test_journals_are_opened_one_at_a_time(make_dataset, tmp_path, fresh):
    fcntl = pytest.importorskip("fcntl")
    rubricate.grade(make_dataset(2), lambda messages: MET, run_dir=tmp_path)
    handle = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)  # as a process that is about to move the journal aside
    judging = threading.Thread(
        target=rubricate.grade,
        args=(make_dataset(2), lambda messages: MET),
        kwargs={"run_dir": tmp_path, "fresh": fresh},
    )
    judging.start()
    judging.join(timeout=0.5)
    with closing(SQLiteJournal(tmp_path / "journal.sqlite")):  # nobody has it
        assert judging.is_alive()
    os.close(handle)
    judging.join(timeout=30)
    assert not judging.is_alive()
    assert (tmp_path / "journal-1.sqlite").exists() is fresh


@pytest.mark.parametrize("damage", ["record = '{'", "record = replace(record, 'MET', 'MEH')"])
def test_a_damaged_record_is_asked_again_and_counted(make_dataset, tmp_path, endpoint, damage):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    rubricate.grade(make_dataset(5), "m", **options)
    with sqlite3.connect(tmp_path / "run" / "journal.sqlite") as database:
        database.execute(f"UPDATE records SET {damage} WHERE key IN (SELECT min(key) FROM records)")
    database.close()
    result = rubricate.grade(make_dataset(5), "m", **options)
    assert (result.calls, result.resumed, result.damaged, result.failed) == (1, 9, 1, 0)
    assert "1, asked again" in str(result.summary())
    assert len(endpoint.requests) == 11


def test_fresh_moves_the_journal_aside_and_asks_everything_anew(make_dataset, tmp_path, endpoint):
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    for fresh, calls in ((False, 4), (True, 4), (False, 0)):
        assert rubricate.grade(make_dataset(2), "m", fresh=fresh, **options).calls == calls
    assert stored(tmp_path / "run" / "journal-1.sqlite") == 4


def test_a_journal_that_cannot_be_read_can_be_moved_aside(make_dataset, tmp_path, endpoint):
    content = b"no database " * 100
    message = corrupt(make_dataset, tmp_path / "run", content)
    assert "--fresh" in message
    options = {"base_url": endpoint.url, "run_dir": tmp_path / "run"}
    assert rubricate.grade(make_dataset(2), "m", fresh=True, **options).failed == 0
    assert (tmp_path / "run" / "journal-1.sqlite").read_bytes() == content


def test_fresh_does_not_take_a_journal_from_a_run_that_is_on(make_dataset, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    with (
        closing(SQLiteJournal(folder / "journal.sqlite")),
        pytest.raises(JournalError, match="another process is grading"),
    ):
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=folder, fresh=True)
    assert [path.name for path in folder.glob("*.sqlite")] == ["journal.sqlite"]


def test_records_are_committed_in_time_when_no_further_ones_come(make_dataset, tmp_path):
    async def main() -> int:
        asked = asyncio.Event()

        async def judge(messages: Any) -> dict[str, Any]:
            calls.append(1)
            if len(calls) > 3:
                asked.set()
                await asyncio.sleep(60)
            return MET

        grading = asyncio.create_task(
            rubricate.agrade(make_dataset(9), judge, run_dir=tmp_path, concurrency=1)
        )
        await asked.wait()
        await asyncio.sleep(2.5 * INTERVAL)
        in_wal = (tmp_path / "journal.sqlite-wal").read_bytes().count(b'"status":"judged"')
        grading.cancel()
        await asyncio.gather(grading, return_exceptions=True)
        return in_wal

    calls: list[int] = []
    assert asyncio.run(main()) >= 3


# The cache


def test_a_cache_serves_another_run_and_what_it_serves_costs_nothing(
    make_dataset, tmp_path, endpoint
):
    options = {"base_url": endpoint.url, "cache": tmp_path / "cache"}
    first = rubricate.grade(make_dataset(5), "m", run_dir=tmp_path / "a", **options)
    second = rubricate.grade(make_dataset(6), "m", run_dir=tmp_path / "b", **options)
    assert (first.calls, first.cached) == (10, 0)
    assert (second.calls, second.cached, second.resumed) == (2, 10, 0)
    assert (second.usage.requests, len(endpoint.requests)) == (2, 12)
    assert second.saved.input_tokens == first.usage.input_tokens > 0
    shown = str(second.summary())
    assert "10 more from the cache" in shown
    assert "stored answers" in shown
    again = rubricate.grade(make_dataset(6), "m", base_url=endpoint.url, run_dir=tmp_path / "b")
    assert (again.calls, again.resumed) == (0, 12)


def test_a_cache_keeps_no_failures_and_tells_models_apart(make_dataset, tmp_path):
    options = {"cache": tmp_path}
    with ScriptedEndpoint([Rule(reply="?")]) as endpoint:
        assert rubricate.grade(make_dataset(1), "m", base_url=endpoint.url, **options).failed == 2
    with ScriptedEndpoint() as endpoint:
        for model, cached in (("m", 0), ("other", 0), ("m", 2)):
            result = rubricate.grade(make_dataset(1), model, base_url=endpoint.url, **options)
            assert (result.cached, result.failed) == (cached, 0)


def test_fresh_does_not_read_the_cache(make_dataset, tmp_path, endpoint):
    options = {"base_url": endpoint.url, "cache": tmp_path}
    for fresh, calls in ((False, 2), (True, 2), (False, 0)):
        assert rubricate.grade(make_dataset(1), "m", fresh=fresh, **options).calls == calls


def test_several_runs_use_one_cache_at_once(make_dataset, tmp_path, endpoint):
    def work(number: int) -> None:
        options = {"base_url": endpoint.url, "cache": tmp_path / "cache"}
        run_dir = tmp_path / str(number)
        failed.append(rubricate.grade(make_dataset(40), "m", run_dir=run_dir, **options).failed)

    failed: list[int] = []
    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failed == [0, 0, 0]
    after = rubricate.grade(make_dataset(40), "m", base_url=endpoint.url, cache=tmp_path / "cache")
    assert (after.calls, after.cached) == (0, 80)


def test_a_cache_that_fails_on_the_way_is_given_up_and_no_answer_is_lost(
    make_dataset, tmp_path, monkeypatch
):
    commit = SQLiteJournal.commit

    def full(self: SQLiteJournal) -> None:
        if self._is_cache:
            raise JournalError("cache.sqlite: database or disk is full")
        commit(self)

    monkeypatch.setattr(SQLiteJournal, "commit", full)
    troubles: set[str | None] = set()
    result = rubricate.grade(
        make_dataset(40),
        lambda messages: MET,
        run_dir=tmp_path / "run",
        cache=tmp_path / "cache",
        on_progress=lambda progress: troubles.add(progress.trouble),
    )
    assert (result.calls, result.failed) == (80, 0)
    assert any("continuing without the cache" in trouble for trouble in troubles if trouble)


def test_a_new_cache_that_another_process_is_just_making_is_waited_for(tmp_path):
    """SQLite's own patience does not cover the switch to write-ahead mode."""
    path = tmp_path / "cache.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        ended = threading.Timer(0.2, other.execute, ["COMMIT"])
        ended.start()
        with closing(SQLiteJournal(path, "cache")) as journal:
            journal.put("key", RECORD)
        ended.join()
    assert stored(path) == 1


def test_a_cache_that_cannot_be_used_is_refused_in_one_line(make_dataset, tmp_path):
    (tmp_path / "cache.sqlite").write_bytes(b"no database " * 100)
    with pytest.raises(JournalError, match="--no-cache") as caught:
        rubricate.grade(make_dataset(), lambda messages: MET, cache=tmp_path)
    assert str(caught.value).startswith(str(tmp_path / "cache.sqlite"))


@pytest.mark.parametrize("run_dir", ["file", "file/run"])
def test_a_run_folder_that_cannot_be_made_is_an_input_error(
    make_dataset, tmp_path, endpoint, run_dir
):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="the run folder cannot be written") as caught:
        rubricate.grade(make_dataset(), "m", base_url=endpoint.url, run_dir=tmp_path / run_dir)
    assert str(tmp_path / run_dir) in str(caught.value)
    assert endpoint.requests == []


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_run_folder_without_write_permission_is_an_input_error(make_dataset, tmp_path):
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(InputError, match="Permission denied"):
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=tmp_path / "run")


def test_a_run_without_a_folder_leaves_no_file(make_dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rubricate.grade(make_dataset(), lambda messages: MET)
    assert list(tmp_path.iterdir()) == []
