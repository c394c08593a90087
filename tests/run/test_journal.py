"""The journal: durable, exclusive, and clear about what it cannot use."""

from __future__ import annotations

import os
import random
import sqlite3
from pathlib import Path
from typing import Any

import pytest

import rubricate
from rubricate.errors import InputError, JournalError
from rubricate.run._journal import BATCH, Journal

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
    with Journal(path) as journal:
        journal.put("a", RECORD)
        assert journal.get("a") == RECORD
        journal.commit()
        assert journal.get("a") == RECORD
        assert journal.get("b") is None
    with Journal(path) as journal:
        assert journal.get("a") == RECORD


def test_a_failed_judgement_counts_as_not_there(tmp_path):
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("a", {"status": "failed", "label": None})
        assert journal.get("a") is None
        journal.commit()
        assert journal.get("a") is None


def test_a_later_record_replaces_an_earlier_one():
    with Journal(None) as journal:
        journal.put("a", {"status": "failed", "label": None})
        journal.commit()
        journal.put("a", RECORD)
        assert journal.get("a") == RECORD


def test_records_are_committed_in_batches_of_bounded_size(tmp_path, monkeypatch):
    monkeypatch.setattr("rubricate.run._journal.INTERVAL", 3600.0)
    journal = Journal(tmp_path / "j.sqlite")
    for index in range(BATCH):
        assert len(journal._waiting) == index
        journal.put(f"k{index}", RECORD)
    assert journal._waiting == {}
    journal._database.close()
    assert stored(tmp_path / "j.sqlite") == BATCH


def test_records_are_committed_after_a_bounded_time(tmp_path, monkeypatch):
    monkeypatch.setattr("rubricate.run._journal.INTERVAL", 0.0)
    with Journal(tmp_path / "j.sqlite") as journal:
        journal.put("a", RECORD)
        assert journal._waiting == {}


def test_a_journal_without_a_path_leaves_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with Journal(None) as journal:
        journal.put("a", RECORD)
        journal.commit()
        assert journal.get("a") == RECORD
    assert list(tmp_path.iterdir()) == []


def test_a_journal_in_use_is_refused(tmp_path):
    with (
        Journal(tmp_path / "j.sqlite"),
        pytest.raises(JournalError, match="another process is grading into this run folder"),
    ):
        Journal(tmp_path / "j.sqlite")


def test_a_journal_of_another_format_is_refused(tmp_path):
    with Journal(tmp_path / "j.sqlite") as journal:
        journal._database.execute("PRAGMA user_version=99")
    with pytest.raises(JournalError, match="another version of rubricate"):
        Journal(tmp_path / "j.sqlite")


def corrupt(make_dataset: Any, folder: Path, content: bytes) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "journal.sqlite").write_bytes(content)
    with pytest.raises(JournalError) as caught:
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=folder)
    return str(caught.value)


def test_a_file_that_is_no_journal_is_an_error_that_names_it(make_dataset, tmp_path):
    message = corrupt(make_dataset, tmp_path / "run", b"this is not a database " * 100)
    assert message.startswith(str(tmp_path / "run" / "journal.sqlite"))
    assert len(message.splitlines()) == 1


def test_a_file_that_is_no_journal_is_left_as_it_is(make_dataset, tmp_path):
    content = b"somebody's own file " * 100
    corrupt(make_dataset, tmp_path / "run", content)
    assert (tmp_path / "run" / "journal.sqlite").read_bytes() == content


@pytest.mark.parametrize("seed", range(30))
def test_a_damaged_journal_is_an_error_that_names_it_or_is_read(tmp_path, seed: int, monkeypatch):
    monkeypatch.setattr("rubricate.run._journal.time.time", lambda: 1.0)
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        for index in range(200):
            journal.put(f"key {index}", RECORD)
    content = bytearray(path.read_bytes())
    chance = random.Random(seed)
    for _ in range(10 * seed):
        content[chance.randrange(len(content))] = chance.randrange(256)
    path.write_bytes(content)
    try:
        with Journal(path) as journal:
            for index in range(200):
                journal.get(f"key {index}")
                journal.put(f"key {index}", RECORD)
    except JournalError as error:
        assert str(error).startswith(str(path))  # noqa: PT017 (it need not be raised)


def test_a_damaged_record_is_an_error_that_names_the_journal(tmp_path):
    path = tmp_path / "j.sqlite"
    with Journal(path) as journal:
        journal.put("a", RECORD)
        journal.commit()
        journal._database.execute("UPDATE records SET record = '{'")
        with pytest.raises(JournalError, match=r"j\.sqlite: the record a is damaged"):
            journal.get("a")


def test_a_run_folder_below_a_regular_file_is_an_input_error(make_dataset, tmp_path, endpoint):
    (tmp_path / "file").write_text("x")
    with pytest.raises(InputError, match="the run folder cannot be written") as caught:
        rubricate.grade(
            make_dataset(), "m", base_url=endpoint.url, run_dir=tmp_path / "file" / "run"
        )
    assert str(tmp_path / "file" / "run") in str(caught.value)
    assert endpoint.requests == []


def test_a_run_folder_that_is_a_regular_file_is_an_input_error(make_dataset, tmp_path):
    (tmp_path / "run").write_text("x")
    with pytest.raises(InputError, match="the run folder cannot be written"):
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=tmp_path / "run")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_run_folder_without_write_permission_is_an_input_error(make_dataset, tmp_path):
    (tmp_path / "run").mkdir(mode=0o500)
    with pytest.raises(InputError, match="Permission denied"):
        rubricate.grade(make_dataset(), lambda messages: MET, run_dir=tmp_path / "run")


def test_a_run_without_a_folder_leaves_no_file(make_dataset, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rubricate.grade(make_dataset(), lambda messages: MET)
    assert list(tmp_path.iterdir()) == []
