"""Datasets that several threads use at once."""

from __future__ import annotations

import copy
import json
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from rubricate.dataset import json_dataset

RECORDS, THREADS = 13_000, 4
"""More than are read when a file is opened."""


@pytest.fixture(autouse=True)
def _often_switched() -> Iterator[None]:
    """Threads take turns after every few instructions."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"input": f"q{n}"}) + "\n" for n in range(RECORDS)))
    return path


def at_once(work: Callable[[int], Any]) -> list[Any]:
    ready = threading.Barrier(THREADS)

    def started(number: int) -> Any:
        ready.wait(30)
        return work(number)

    with ThreadPoolExecutor(THREADS) as pool:
        return list(pool.map(started, range(THREADS)))


def test_what_threads_write_into_samples_is_all_there(lines):
    dataset = json_dataset(lines)
    part = range(10_000, RECORDS)

    def write(number: int) -> None:
        for index in part[number::THREADS] if number % 2 else reversed(part[number::THREADS]):
            dataset[index].metadata = {"index": index}

    at_once(write)
    assert [dataset[index].metadata for index in part] == [{"index": index} for index in part]


def test_a_record_is_one_sample_in_all_threads(lines):
    dataset = json_dataset(lines)
    taken = at_once(lambda number: [dataset[index] for index in range(10_000, 11_000)])
    taken += [list(dataset)[10_000:11_000], dataset.samples[10_000:11_000]]
    for samples in zip(*taken, strict=True):
        assert len(set(map(id, samples))) == 1


def test_threads_share_the_list_of_samples(lines):
    dataset = json_dataset(lines)
    lists = at_once(lambda number: dataset.samples)
    assert len(set(map(id, lists))) == 1
    assert len(copy.deepcopy(dataset)) == RECORDS


def test_a_dataset_is_read_while_another_thread_takes_its_list(lines):
    dataset = json_dataset(lines)

    def read(number: int) -> int:
        if not number:
            return len(dataset.samples)
        return len([dataset[index] for index in range(RECORDS)][: len(dataset)])

    assert at_once(read) == [RECORDS] * THREADS
