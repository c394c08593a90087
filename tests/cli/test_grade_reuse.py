"""What `rubricate grade` asks again and what it does not, and what it may spend."""

from __future__ import annotations

import json
import sqlite3
from typing import Any

import pytest


@pytest.fixture
def grade(rubricate, write_dataset):
    write_dataset()

    def run(endpoint, *options):
        judge = ("--judge", "m", "--base-url", endpoint.url, "--json")
        done = rubricate("grade", "data.json", *judge, *options)
        return done, json.loads(done.stdout) if done.stdout else None

    return run


def test_answers_are_shared_between_run_folders_unless_told_otherwise(grade, endpoint, tmp_path):
    def counts(*options):
        usage = grade(endpoint, *options)[1]["usage"]
        return usage["calls"], usage["cached"], usage["resumed"]

    assert counts("--run-dir", "a") == (4, 0, 0)
    assert counts("--run-dir", "b") == (0, 4, 0)
    assert counts("--run-dir", "b") == (0, 0, 4)
    assert counts("--run-dir", "c", "--no-cache") == (4, 0, 0)
    assert counts("--run-dir", "d", "--cache", "own") == (4, 0, 0)
    assert counts("--run-dir", "a", "--fresh") == (4, 0, 0)
    assert (tmp_path / "own" / "cache.sqlite").exists()
    assert (tmp_path / "a" / "journal-1.sqlite").exists()
    assert len(endpoint.requests) == 16
    done, _ = grade(endpoint, "--cache", "own", "--no-cache")
    assert done.stderr == "Error: --cache and --no-cache exclude each other: give one of them\n"


def test_a_home_that_cannot_be_written_costs_the_cache_and_no_more(rubricate, write_dataset):
    write_dataset()
    done = rubricate("grade", "data.json", XDG_CACHE_HOME="/dev/null/nowhere")
    assert done.returncode == 0


def test_an_estimate_writes_nothing_into_a_run_folder_that_may_be_read_only(
    rubricate, write_dataset, tmp_path, monkeypatch
):
    write_dataset()
    told = ("grade", "data.json", "--run-dir", "run", "--no-cache")
    assert rubricate(*told, "--quiet").returncode == 0
    connect = sqlite3.connect

    def refusing(path: object, **options: Any) -> sqlite3.Connection:
        """As in a folder that cannot be written: nothing but a file as it is can be opened."""
        if "immutable=1" not in str(path):
            raise sqlite3.OperationalError("disk I/O error")
        return connect(str(path), **options)

    monkeypatch.setattr("rubricate.run.journal._sqlite.sqlite3.connect", refusing)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run", *tmp_path.glob("run/*"))}
    shown = rubricate(*told, "--dry-run")
    assert (shown.returncode, shown.stderr) == (0, ""), shown
    assert "4 of them stored already" in shown.stdout
    after = {path: path.stat().st_mtime_ns for path in (tmp_path / "run", *tmp_path.glob("run/*"))}
    assert after == before
